/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that every machine has: hand-written loops at the machine's best instruction set, on one thread or on two that are
 * pinned to two CPUs; and NumPy in a child process, where python3 has it.
 */
#ifndef TENURE_TESTS_BENCH_LOOPS_H
#define TENURE_TESTS_BENCH_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_loops {
    const char *name; /* of the instruction set */
    void (*copy)(double *to, const double *a, const double *b, int64_t count);
    void (*add)(double *to, const double *a, const double *b, int64_t count);
    void (*copy_stream)(double *to, const double *a, const double *b, int64_t count); /* NULL: there is none */
    void (*add_stream)(double *to, const double *a, const double *b, int64_t count);
    double (*sum)(const double *a, int64_t count);
} bench_loops;

/* The best that this machine runs. */
const bench_loops *bench_loops_best(void);

/* Bind this thread to the first CPU that it may use, or undo that. */
void bench_pin_first(bool on);

/* ---- Two threads: the halves of a loop, the second on a thread that spins between calls ------------------------------ */

/* False when the process may use only one CPU. */
bool bench_pair_open(void);
void bench_pair_close(void);
void bench_pair_run(void (*loop)(double *, const double *, const double *, int64_t), double *to, const double *a,
                    const double *b, int64_t count);
double bench_pair_sum(double (*loop)(const double *, int64_t), const double *a, int64_t count);

/* ---- NumPy ----------------------------------------------------------------------------------------------------------- */

/* Start python3, its BLAS on so many threads (1 or 2), bound as this thread is; false, and a remark, where it or NumPy is missing. */
bool bench_numpy_open(const char *suite, int threads);
void bench_numpy_close(void);

/*
 * Median nanoseconds of one evaluation of a Python expression on arrays a, b and out of `count` float64 (NumPy is np), e.g.
 * "np.add(a, b, out)". 0 when NumPy is not there. With a count of 0 the arrays are those that bench_numpy_set made.
 */
double bench_numpy(const char *expression, int64_t count);

/* Run a Python statement of one line, e.g. "a = np.ones(7)". False when NumPy is not there or the statement failed. */
bool bench_numpy_set(const char *statement);

/* ---- Measuring -------------------------------------------------------------------------------------------------------- */

/*
 * Medians of two things measured in turns, so that a slow moment of the machine meets both. Each call of a function is one
 * evaluation; `each` evaluations are timed together, about `milliseconds` in all.
 */
typedef struct bench_pairing {
    double ours_ns; /* of one evaluation */
    double peer_ns; /* 0 when peer was NULL */
} bench_pairing;

bench_pairing bench_in_turns(void (*ours)(void *), void (*peer)(void *), void *context, double milliseconds);

#endif /* TENURE_TESTS_BENCH_LOOPS_H */
