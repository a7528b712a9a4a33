/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the benches share: a clock, samples and their quantiles, and one way to print. Each line of output is a JSON
 * object, either a row
 *   {"suite", "case", "unit", "ours", "peer", "peer_value", "ratio"}      ratio above 1: we are ahead
 * or a remark {"suite", "note"}. Figures of one run compare with each other only.
 */
#ifndef TENURE_TESTS_BENCH_H
#define TENURE_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Suites, one per file bench_<name>.c. 0 when the suite ran. */
int bench_arena(void);
int bench_pool(void);
int bench_dispatch(void);
int bench_elementwise(void);
int bench_reduce(void);
int bench_permute(void);
int bench_gemm(void);
int bench_contract(void);
int bench_einsum(void);
int bench_copy(void);
int bench_cuda(void);

void bench_row(const char *suite, const char *name, const char *unit, double ours, const char *peer, double peer_value,
               bool smaller_is_better);
void bench_note(const char *suite, const char *text);

/* Monotonic, in nanoseconds. */
uint64_t bench_now_ns(void);

/*
 * A finer clock for single calls: the time-stamp counter where there is one, else bench_now_ns. bench_ns_per_tick
 * measures once how long a tick is.
 */
static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_ia32_rdtsc();
#else
    return bench_now_ns();
#endif
}
double bench_ns_per_tick(void);

/* Sort samples, then read quantiles (0..1) from them. */
void bench_sort(uint32_t *samples, size_t count);
double bench_quantile(const uint32_t *sorted, size_t count, double quantile);

/*
 * A peer's library: the file that the environment variable names, or `fallback` when it is not set. Symbols stay its
 * own. NULL, and a remark, when there is none; a suite then leaves the peer's rows out.
 */
void *bench_library(const char *suite, const char *variable, const char *fallback);

/* Address of a function of a library as a pointer to function, written to *function; false when it is missing. */
bool bench_function(void *library, const char *name, void *function);

/* xorshift; never 0 for a seed that is not 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

#endif /* TENURE_TESTS_BENCH_H */
