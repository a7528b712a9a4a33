/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of contractions, tests/data/tccg24.txt. */
#ifndef TENURE_TESTS_BENCH_TCCG_H
#define TENURE_TESTS_BENCH_TCCG_H

#include <stdbool.h>
#include <stdio.h>

#include "ttgt.h"

typedef struct bench_tccg {
    bench_labelled list[3]; /* a, b, c, without data */
    char title[96];         /* labels of c, a and b */
} bench_tccg;

/*
 * The next one of the file; false: there is none. With `full` extents are as listed; else they are scaled down, those of thin groups
 * apart, until the case takes at most 64 MB and 1.5 Gflop.
 */
bool bench_tccg_read(FILE *file, bool full, bench_tccg *p);

#endif /* TENURE_TESTS_BENCH_TCCG_H */
