/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TBLIS when it is there: tblis.h. Its tensors are filled by its own functions; of their layout only the most that they may take is
 * known here.
 */
#include "tblis.h"

#include <stddef.h>

#include "bench.h"

/* Room for one of its tensors: type, conjugation, scalar, data, rank, extents, strides. */
typedef struct tblis_tensor {
    max_align_t room[16];
} tblis_tensor;

static struct tblis {
    void (*fill)(tblis_tensor *, double, unsigned, ptrdiff_t *, double *, ptrdiff_t *);
    void (*multiply)(const void *, const void *, const tblis_tensor *, const char *, const tblis_tensor *, const char *,
                     tblis_tensor *, const char *);
    void (*threads)(unsigned);
} tblis;

bool bench_tblis_open(const char *suite)
{
    void *library = bench_library(suite, "TBLIS_LIB", NULL);
    if (library == NULL) {
        return false;
    }
    if (!bench_function(library, "tblis_init_tensor_scaled_d", &tblis.fill) ||
        !bench_function(library, "tblis_tensor_mult", &tblis.multiply) ||
        !bench_function(library, "tblis_set_num_threads", &tblis.threads)) {
        bench_note(suite, "TBLIS_LIB lacks a function of TBLIS's C interface: its rows are left out");
        return false;
    }
    bench_note(suite, "peer: TBLIS, kernels as it chooses (TBLIS_VERBOSE=1 prints which)");
    return true;
}

void bench_tblis_threads(int threads) { tblis.threads((unsigned)threads); }

void bench_tblis_run(void *context)
{
    const bench_tblis_operand *operands = context;
    tblis_tensor tensors[3];
    ptrdiff_t shapes[3][BENCH_TBLIS_RANK];
    ptrdiff_t strides[3][BENCH_TBLIS_RANK];
    for (int i = 0; i < 3; ++i) { /* anew for each call: it changes the scalar of the result */
        ptrdiff_t step = 1;
        for (int axis = 0; axis < operands[i].rank; ++axis) {
            shapes[i][axis] = operands[i].shape[axis];
            strides[i][axis] = step;
            step *= operands[i].shape[axis];
        }
        tblis.fill(&tensors[i], i == 2 ? 0.0 : 1.0, (unsigned)operands[i].rank, shapes[i], operands[i].data,
                   strides[i]);
    }
    tblis.multiply(NULL, NULL, &tensors[0], operands[0].labels, &tensors[1], operands[1].labels, &tensors[2],
                   operands[2].labels);
}
