/*
 * What the emulator's own tests share. Every case runs in a child process, so that it may crash,
 * hang or leave CUDA in any state; the test program itself never calls CUDA.
 *
 * In a child: CHECK, OK and IS end it with a message. In the test program: expect_... judge it.
 */
#ifndef CUDA_EMU_TEST_H
#define CUDA_EMU_TEST_H

#include <cuda.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            child_fail(__FILE__, __LINE__, #condition, 0, 0);                                      \
    } while (0)

#define IS(call, expected)                                                                         \
    do {                                                                                           \
        int got_ = (int)(call);                                                                    \
        if (got_ != (int)(expected))                                                               \
            child_fail(__FILE__, __LINE__, #call, got_, (int)(expected));                          \
    } while (0)

#define OK(call) IS(call, CUDA_SUCCESS)

typedef void body_fn(void);

/* Variables of a child's environment: "NAME=VALUE", ... */
#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_ENV   ENV(NULL)

void __attribute__((noreturn))
child_fail(const char *file, int line, const char *what, int got, int expected);

/* The child ends by itself and finds nothing wrong. */
void expect_ok(body_fn *body, const char *const *env);

/* As above, and its stderr holds `text`. */
void expect_ok_saying(body_fn *body, const char *const *env, const char *text);

/* As expect_ok, and its stderr stays empty. */
void expect_ok_silent(body_fn *body, const char *const *env);

/* The child dies of SIGSEGV and its stderr holds every one of `texts` (NULL ends). */
void expect_fault(body_fn *body, const char *const *env, const char *const *texts);

/*
 * Runs both bodies in processes of their own, joined by a socket each may read and write; returns
 * when both have ended well, fails this child otherwise. No CUDA before it in this process.
 */
typedef void pair_fn(int fd);
void run_pair(pair_fn *first, pair_fn *second);

/* Exactly `size` bytes, or the child fails. */
void send_bytes(int fd, const void *data, size_t size);
void receive_bytes(int fd, void *data, size_t size);

/* cuInit, primary context of device `ordinal` retained and current. */
CUcontext use_device(int ordinal);

/* An extra context on the device, current. */
CUcontext new_context(int ordinal);

/* A path in the build tree; valid until the next call. */
const char *built(const char *name);

double seconds(void);

#endif
