/* SPDX-License-Identifier: BSD-3-Clause */
/* TBLIS through its C interface, when TBLIS_LIB names its library: contractions of whole f64 tensors. */
#ifndef TENURE_TESTS_BENCH_TBLIS_H
#define TENURE_TESTS_BENCH_TBLIS_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_TBLIS_RANK = 8 };

/* Column-major f64 with one label per axis. */
typedef struct bench_tblis_operand {
    int rank;
    int64_t shape[BENCH_TBLIS_RANK];
    char labels[BENCH_TBLIS_RANK + 1];
    double *data;
} bench_tblis_operand;

/* False, and a remark, when it is not there. */
bool bench_tblis_open(const char *suite);

void bench_tblis_threads(int threads);

/* operands[2] = operands[0] operands[1], summed over the labels that it lacks; context is an array of three bench_tblis_operand. */
void bench_tblis_run(void *context);

#endif /* TENURE_TESTS_BENCH_TBLIS_H */
