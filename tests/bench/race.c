/* SPDX-License-Identifier: BSD-3-Clause */
/* Many ways to do the same, timed in turns: race.h. */
#define _POSIX_C_SOURCE 200809L

#include "race.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define SAMPLES 101
#define TURN_NS 100000.0
#define THREAD_TURN_NS 1000000.0 /* a thread's clock is a system call, after which predictors are cold */
#define LONG_NS 10e9 /* a round that takes longer is the only one */
#define SLOW_NS 20e6 /* from here on one run is one turn, and none is lost to waking anybody up */

void bench_enter(bench_field *field, void (*run)(void *), void *context, const char *name, ...)
{
    if (run == NULL || field->count == BENCH_RACERS) {
        return;
    }
    bench_racer *racer = &field->racers[field->count++];
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(racer->name, sizeof racer->name, name, arguments);
    va_end(arguments);
    racer->run = run;
    racer->context = context;
    racer->ns = 0.0;
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static double timed(const bench_racer *racer, int64_t each, clockid_t clock)
{
    const uint64_t start = now(clock);
    for (int64_t i = 0; i < each; ++i) {
        racer->run(racer->context);
    }
    return (double)(now(clock) - start) / (double)each;
}

/* Runs of a turn; 0: one, which takes so long that nothing has to be warmed. A clock's own cost does not count, nor does a cold start. */
static int64_t runs_of_turn(const bench_racer *racer, clockid_t clock)
{
    const double turn = clock == CLOCK_THREAD_CPUTIME_ID ? THREAD_TURN_NS : TURN_NS;
    int64_t runs = 1;
    for (;;) {
        const double each = timed(racer, runs, clock);
        if (each * (double)runs >= turn / 4) {
            return each >= SLOW_NS ? 0 : (int64_t)(turn / each) + 1;
        }
        runs *= 4;
    }
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

void bench_race(bench_field *field, double milliseconds, bool alone)
{
    static double samples[BENCH_RACERS][SAMPLES];
    const char *wish = getenv("TENURE_BENCH_CLOCK");
    const clockid_t clock =
        alone && wish != NULL && strcmp(wish, "thread") == 0 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    int64_t each[BENCH_RACERS] = {0};
    double all = 0.0;
    for (int i = 0; i < field->count; ++i) {
        each[i] = runs_of_turn(&field->racers[i], clock);
        all += timed(&field->racers[i], 1, clock);
    }
    const uint64_t begin = bench_now_ns();
    const int least = all < LONG_NS ? 3 : 1;
    int rounds = 0;
    while (rounds < SAMPLES && (rounds < least || (double)(bench_now_ns() - begin) < milliseconds * 1e6)) {
        for (int i = 0; i < field->count; ++i) {
            for (int64_t warm = 0; warm < each[i] / 8 + (each[i] != 0 ? 1 : 0); ++warm) { /* caches and predictors */
                field->racers[i].run(field->racers[i].context);
            }
            samples[i][rounds] = timed(&field->racers[i], each[i] == 0 ? 1 : each[i], clock);
        }
        ++rounds;
    }
    for (int i = 0; i < field->count; ++i) {
        qsort(samples[i], (size_t)rounds, sizeof(double), compare);
        field->racers[i].ns = samples[i][rounds / 10];
    }
}

int bench_fastest(const bench_field *field, int first)
{
    int best = -1;
    for (int i = first; i < field->count; ++i) {
        if (best < 0 || field->racers[i].ns < field->racers[best].ns) {
            best = i;
        }
    }
    return best;
}

void bench_score_add(bench_score *score, double ratio, const char *where)
{
    if (score->count == 0 || ratio < score->lowest) {
        score->lowest = ratio;
        (void)snprintf(score->where, sizeof score->where, "%s", where);
    }
    score->logs += log(ratio);
    ++score->count;
}

void bench_score_rows(const char *suite, const bench_score *score, const char *what, const char *peer)
{
    char name[256];
    if (score->count == 0) {
        return;
    }
    (void)snprintf(name, sizeof name, "%s: geometric mean of %d", what, score->count);
    bench_row(suite, name, "of the peer's speed", exp(score->logs / score->count), peer, 1.0, false);
    (void)snprintf(name, sizeof name, "%s: lowest, at %s", what, score->where);
    bench_row(suite, name, "of the peer's speed", score->lowest, peer, 1.0, false);
}
