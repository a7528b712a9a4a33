/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test programs of several ranks: each test runs on all of them, with a barrier before and after. A check that fails on one rank says
 * where, and ends the whole job, because the others may be waiting for that rank.
 */
#ifndef TENURE_TESTS_MPI_RANKS_H
#define TENURE_TESTS_MPI_RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenure/mpi.h"
#include "tenure/tenure.h"

extern int ranks_me; /* in MPI_COMM_WORLD */
extern int ranks_size;

typedef struct rank_test {
    const char *name;
    void (*run)(void);
} rank_test;

#define RANK_TEST(function) \
    {                       \
#function, function \
    }

/* Initialise MPI at this level (MPI_THREAD_FUNNELED, ...), run all tests, finalise. The exit status of main. */
int ranks_main(int argc, char **argv, int level, const rank_test *tests, size_t count);

/* End the job: this rank's check failed. */
void ranks_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4), noreturn));

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) {                                           \
            ranks_fail(__FILE__, __LINE__, "not so: %s", #condition); \
        }                                                             \
    } while (0)

/* A call that must answer this status; its text is printed when it does not. */
#define CHECK_STATUS(expected, call)                                                              \
    do {                                                                                          \
        const tnr_status status_ = (call);                                                        \
        if (status_ != (expected)) {                                                              \
            ranks_fail(__FILE__, __LINE__, "%s: %s, not %s: %s", #call, tnr_status_name(status_), \
                       tnr_status_name(expected), tnr_last_error());                              \
        }                                                                                         \
    } while (0)
#define CHECK_OK(call) CHECK_STATUS(TNR_OK, call)

/* The text of the last failure has these words. */
#define CHECK_TEXT(words)                                                                         \
    do {                                                                                          \
        if (strstr(tnr_last_error(), (words)) == NULL) {                                          \
            ranks_fail(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", (words), tnr_last_error()); \
        }                                                                                         \
    } while (0)

/* The same seed on every rank: TENURE_TEST_SEED, or one of the time, printed by rank 0. */
unsigned long long ranks_seed(void);

#endif /* TENURE_TESTS_MPI_RANKS_H */
