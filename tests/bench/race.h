/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any number of ways to do the same, timed in turns, and the score of ours against the best of the others over many cases.
 */
#ifndef TENURE_TESTS_BENCH_RACE_H
#define TENURE_TESTS_BENCH_RACE_H

#include <stdbool.h>

enum { BENCH_RACERS = 10 };

typedef struct bench_racer {
    char name[64];
    void (*run)(void *);
    void *context;
    double ns; /* of one run, after bench_race: the tenth percentile of rounds */
} bench_racer;

typedef struct bench_field {
    bench_racer racers[BENCH_RACERS]; /* the first is ours */
    int count;
} bench_field;

/* Add one; printf-like name. Nothing happens when run is NULL or the field is full. */
void bench_enter(bench_field *field, void (*run)(void *), void *context, const char *name, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/*
 * Round after round, each racer in its turn: short runs are repeated until a turn has some 0.1 ms (1 ms by a thread's clock), after some
 * that do not count, so that sleeping threads are awake and caches warm. At least three rounds (one where it takes 10 s), then until all
 * together took so long. The tenth percentile counts, for all alike: on a core whose other hardware thread is someone else's the median
 * of code that keeps all units busy is up to twice as much.
 *
 * `alone`: all of it happens on the calling thread. Then TENURE_BENCH_CLOCK=thread counts that thread's processor time in place
 * of the clock's: for machines that have other work to do.
 */
void bench_race(bench_field *field, double milliseconds, bool alone);

/* Number of the fastest among those from `first` on; -1: there are none. */
int bench_fastest(const bench_field *field, int first);

/* ---- Scores ------------------------------------------------------------------------------------------------------------ */

typedef struct bench_score {
    double logs;
    double lowest;
    char where[96];
    int count;
} bench_score;

/* A ratio above 1: ours is faster. */
void bench_score_add(bench_score *score, double ratio, const char *where);

/* Two rows: geometric mean and lowest ratio. None when nothing was added. */
void bench_score_rows(const char *suite, const bench_score *score, const char *what, const char *peer);

#endif /* TENURE_TESTS_BENCH_RACE_H */
