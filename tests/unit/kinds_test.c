/* mpi_assert_memory_alloc_kinds: what is a promise that there is no device memory. */
#include "mca/kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void promises(void **state)
{
    static const char *const good[] = {
        "mpi",        "system",           "mpi,system",
        "system,mpi", " system , mpi ",   "mpi:alloc_mem,mpi:win_allocate,mpi:win_allocate_shared",
        "cuda:host",  "system,cuda:host", "system,system"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!gdr_kinds_promise_host(good[i]))
            fail_msg("\"%s\" is a promise", good[i]);
}

/* Kinds with device memory, kinds that are unknown, and what is no list. */
static void no_promises(void **state)
{
    static const char *const bad[] = {"",
                                      " ",
                                      ",",
                                      "mpi,",
                                      ",mpi",
                                      "mpi,,system",
                                      "cuda",
                                      "cuda:device",
                                      "cuda:managed",
                                      "cuda:host:device",
                                      "cuda:host,cuda:device",
                                      "mpi,system,cuda",
                                      "system:device",
                                      "mpi:",
                                      "mpi:alloc_mem:x",
                                      ":",
                                      "rocm:host",
                                      "level_zero:host",
                                      "hip",
                                      "MPI,System",
                                      "sys\ntem",
                                      "mpi system",
                                      "mpi;system",
                                      "systemm",
                                      "syste",
                                      "true",
                                      "\xff\xfe",
                                      "%s%n"};
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (gdr_kinds_promise_host(bad[i]))
            fail_msg("\"%s\" is no promise", bad[i]);
    memset(text, ',', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_false(gdr_kinds_promise_host(text));
    memset(text, 'm', sizeof(text) - 1);
    assert_false(gdr_kinds_promise_host(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises),
        cmocka_unit_test(no_promises),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
