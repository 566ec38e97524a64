/* What becomes of the environment's list of UCX transports. */
#include "ucx_glue/ucx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *tls, gdr_ucx_tls_t verdict, const char *value)
{
    char got[64] = "untouched";

    assert_int_equal(gdr_ucx_tls_fix(tls, got, sizeof(got)), verdict);
    assert_string_equal(got, value != NULL ? value : "untouched");
}

static void leaves_what_has_cuda(void **state)
{
    (void)state;
    expect(NULL, GDR_UCX_TLS_KEEP, NULL);
    expect("", GDR_UCX_TLS_KEEP, NULL);
    expect("all", GDR_UCX_TLS_KEEP, NULL);
    expect("rc,cuda,self", GDR_UCX_TLS_KEEP, NULL);
    expect("cuda_copy,cuda_ipc,tcp", GDR_UCX_TLS_KEEP, NULL);
    expect("^ud,dc", GDR_UCX_TLS_KEEP, NULL);
}

static void adds_cuda_where_it_is_left_out(void **state)
{
    (void)state;
    expect("tcp", GDR_UCX_TLS_REPLACE, "tcp,cuda_copy,cuda_ipc");
    expect("rc,sm,self", GDR_UCX_TLS_REPLACE, "rc,sm,self,cuda_copy,cuda_ipc");
    expect("posix,cuda_ipc", GDR_UCX_TLS_REPLACE, "posix,cuda_ipc,cuda_copy");
    expect("cuda_copying,tcp", GDR_UCX_TLS_REPLACE, "cuda_copying,tcp,cuda_copy,cuda_ipc");
}

static void takes_exclusions_of_cuda_back(void **state)
{
    (void)state;
    expect("^cuda", GDR_UCX_TLS_REPLACE, "all");
    expect("^cuda_copy,cuda_ipc", GDR_UCX_TLS_REPLACE, "all");
    expect("^ud,cuda,dc", GDR_UCX_TLS_REPLACE, "^ud,dc");
    expect("^cuda_copy,sysv", GDR_UCX_TLS_REPLACE, "^sysv");
}

static void names_a_missing_cuda_ipc(void **state)
{
    (void)state;
    expect("rc,self,cuda_copy", GDR_UCX_TLS_NO_IPC, NULL);
    expect("^cuda_ipc", GDR_UCX_TLS_NO_IPC, NULL);
}

static void leaves_what_is_too_long(void **state)
{
    char tls[64];

    (void)state;
    memset(tls, 'x', sizeof(tls));
    tls[63] = '\0';
    expect(tls, GDR_UCX_TLS_TOO_LONG, NULL);
    tls[64 - sizeof(",cuda_copy,cuda_ipc")] = '\0';
    {
        char got[64] = "";
        assert_int_equal(gdr_ucx_tls_fix(tls, got, sizeof(got)), GDR_UCX_TLS_REPLACE);
        assert_int_equal(strlen(got), 63);
    }
}

static void knows_whether_posix_is_in(void **state)
{
    (void)state;
    assert_true(gdr_ucx_tls_has_posix(NULL));
    assert_true(gdr_ucx_tls_has_posix(""));
    assert_true(gdr_ucx_tls_has_posix("all"));
    assert_true(gdr_ucx_tls_has_posix("tcp,sm"));
    assert_true(gdr_ucx_tls_has_posix("^sysv"));
    assert_false(gdr_ucx_tls_has_posix("^posix"));
    assert_false(gdr_ucx_tls_has_posix("rc,self,cuda_copy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_what_has_cuda),
        cmocka_unit_test(adds_cuda_where_it_is_left_out),
        cmocka_unit_test(takes_exclusions_of_cuda_back),
        cmocka_unit_test(names_a_missing_cuda_ipc),
        cmocka_unit_test(leaves_what_is_too_long),
        cmocka_unit_test(knows_whether_posix_is_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
