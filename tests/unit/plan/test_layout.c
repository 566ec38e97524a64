/* The lane layout: areas that never meet, sizes at their borders, hostile sizes. */
#include "plan_test.h"

#include "plan/gdr_layout.h"

enum { PART = 1 << 20, CTL_PART = 16 << 10 };

static gdr_shape_t shape(uint32_t nslots, uint32_t nwords)
{
    return (gdr_shape_t){
        .nslots = nslots, .nflags = nwords, .nchannels = nwords, .seg_chunks = nslots};
}

/* Every area holds what the accessors may ask for, and the areas follow one another. */
static void assert_apart(const gdr_layout_t *l)
{
    uint32_t last = l->depth - 1;
    const gdr_shape_t *s = &l->shape;

    assert_true(gdr_layout_flag(l, last, s->nflags) <= l->source_offset);
    assert_true(gdr_layout_source(l, last, s->nchannels) <= l->words_bytes);
    assert_true(gdr_layout_slot(l, last, s->nslots) <= l->slots_bytes);
    assert_true(gdr_layout_ctl_flag(l, last, s->nflags) <= l->ctl_credit_offset);
    assert_true(gdr_layout_ctl_credit(l, last, s->nchannels) <= l->ctl_flag_source_offset);
    assert_true(gdr_layout_ctl_flag_source(l, last, s->nchannels) <= l->ctl_credit_source_offset);
    assert_true(gdr_layout_ctl_credit_source(l, last, s->nflags) <= l->ctl_part_bytes);
    assert_int_equal(l->chunk_bytes % GDR_SLOT_ALIGN, 0);
    assert_int_equal(l->source_offset % GDR_WORD_BYTES, 0);
    assert_int_equal(l->ctl_credit_offset % GDR_WORD_BYTES, 0);
}

static void areas_are_apart(void **state)
{
    (void)state;
    for (uint32_t nslots = 1; nslots <= 200; nslots += 3)
        for (uint32_t depth = 1; depth <= 8; depth++) {
            gdr_shape_t s = shape(nslots, nslots);
            gdr_layout_t l;

            assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, depth, 256, 0, &l), GDR_OK);
            assert_true(l.depth <= depth);
            assert_apart(&l);
        }
}

/* Payload of one call must never be read as a flag by the next, of another algorithm. */
static void words_stay_where_they_are(void **state)
{
    gdr_shape_t small = shape(3, 2), large = shape(126, 126);
    gdr_layout_t a, b;

    (void)state;
    assert_int_equal(gdr_layout_make(&small, PART, CTL_PART, 4, 256, 0, &a), GDR_OK);
    assert_int_equal(gdr_layout_make(&large, PART, CTL_PART, 2, 256, 0, &b), GDR_OK);
    assert_int_equal(a.source_offset, b.source_offset);
    assert_int_equal(a.words_bytes, b.words_bytes);
    assert_int_equal(a.ctl_credit_offset, b.ctl_credit_offset);
    assert_int_equal(a.ctl_flag_source_offset, b.ctl_flag_source_offset);
    assert_int_equal(a.ctl_credit_source_offset, b.ctl_credit_source_offset);
}

/* Nor of a communicator that cuts the lane otherwise, or uses only its start. */
static void words_come_before_all_slots(void **state)
{
    enum { CTL_UNIT = 128, LANE = 64 << 10 };
    gdr_shape_t s = shape(3, 1);

    (void)state;
    for (uint64_t ctl = CTL_UNIT; ctl <= 8192; ctl += CTL_UNIT) {
        uint64_t first = 0;

        for (uint32_t parts = 4; parts >= 2; parts -= 2) {
            uint64_t lane = parts == 4 ? LANE : 16 * LANE;
            gdr_layout_t l;

            assert_int_equal(gdr_layout_make(&s, lane / parts, ctl / parts, 1, 256, 0, &l), GDR_OK);
            if (parts == 4)
                first = gdr_layout_slots(&l, parts, 0);
            assert_int_equal(gdr_layout_slots(&l, parts, 0), first);
            assert_int_equal(first % GDR_SLOT_ALIGN, 0);
            assert_true(gdr_layout_words(&l, parts) <= first);
            assert_true(gdr_layout_slots(&l, parts, parts) <= lane);
        }
    }
}

/* The defaults: 64 ranks' direct two-shot keeps four contexts. */
static void defaults_serve_64_ranks(void **state)
{
    gdr_shape_t s = shape(126, 126);
    gdr_layout_t l;

    (void)state;
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, 1024, 0, &l), GDR_OK);
    assert_int_equal(l.depth, 4);
    assert_true(l.chunk_bytes >= 1024);
}

static void depth_gives_way_to_chunks(void **state)
{
    gdr_shape_t s = shape(10, 10);
    uint64_t slots = PART - 8192; /* two areas of words, of a quarter of CTL_PART each */
    gdr_layout_t l;

    (void)state;
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, slots / 40 / 256 * 256, 0, &l), GDR_OK);
    assert_int_equal(l.depth, 4);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, slots / 40 + 256, 0, &l), GDR_OK);
    assert_int_equal(l.depth, 3);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, slots / 10 / 256 * 256, 0, &l), GDR_OK);
    assert_int_equal(l.depth, 1);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, slots / 10 + 256, 0, &l),
                     GDR_ERR_UNSUPPORTED);
}

static void depth_gives_way_to_words(void **state)
{
    gdr_shape_t s = shape(1, 256); /* 512 words in each area */
    gdr_layout_t l;

    (void)state;
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, 256, 0, &l), GDR_OK);
    assert_int_equal(l.depth, 2);
    s = shape(1, 512);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, 256, 0, &l), GDR_OK);
    assert_int_equal(l.depth, 1);
    assert_apart(&l);
    s = shape(1, 513);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, 256, 0, &l), GDR_ERR_UNSUPPORTED);
}

static void chunks_keep_their_limit(void **state)
{
    gdr_shape_t s = shape(3, 2);
    gdr_layout_t l;

    (void)state;
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, 256, 5000, &l), GDR_OK);
    assert_int_equal(l.chunk_bytes, 4864);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, 0, 255, &l), GDR_ERR_UNSUPPORTED);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 4, 1024, 512, &l), GDR_ERR_UNSUPPORTED);
}

static void hostile_sizes_are_refused(void **state)
{
    static const uint64_t sizes[] = {0, 1, 255, 8192, 8447, UINT64_MAX, UINT64_MAX - 255};
    gdr_shape_t s = shape(UINT32_MAX, UINT32_MAX);
    gdr_layout_t l = {.depth = 77};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
            if (gdr_layout_make(&s, sizes[i], sizes[j], UINT32_MAX, sizes[j], sizes[i], &l) ==
                GDR_OK)
                assert_apart(&l);
    l.depth = 77;
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, 0, 256, 0, &l), GDR_ERR_INVALID);
    assert_int_equal(gdr_layout_make(&s, PART, CTL_PART, UINT32_MAX, 256, 0, &l),
                     GDR_ERR_UNSUPPORTED);
    s = shape(1, 1);
    assert_int_equal(gdr_layout_make(&s, 8192 + 255, CTL_PART, 1, 0, 0, &l), GDR_ERR_UNSUPPORTED);
    assert_int_equal(l.depth, 77); /* nothing is set on an error */
    assert_int_equal(gdr_layout_make(&s, 8192 + 256, CTL_PART, UINT32_MAX, 0, 0, &l), GDR_OK);
    assert_int_equal(l.depth, 1);
    assert_int_equal(l.chunk_bytes, 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas_are_apart),           cmocka_unit_test(words_stay_where_they_are),
        cmocka_unit_test(defaults_serve_64_ranks),   cmocka_unit_test(depth_gives_way_to_chunks),
        cmocka_unit_test(depth_gives_way_to_words),  cmocka_unit_test(chunks_keep_their_limit),
        cmocka_unit_test(hostile_sizes_are_refused), cmocka_unit_test(words_come_before_all_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
