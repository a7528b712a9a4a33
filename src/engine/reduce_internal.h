/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of reductions share: which axes go, and outputs as work to be cut. */
#ifndef TENURE_ENGINE_REDUCE_INTERNAL_H
#define TENURE_ENGINE_REDUCE_INTERNAL_H

#include "kernels/reduce_kernels.h"

/* The axes that stay: rank and extents of the result. */
int tnri_reduce_shape(const tnr_view *a, uint64_t gone, int64_t *shape);

/*
 * Outputs in their order, cut along axis 0 of `kept` (operand 0 the source, operand 1 the output) into runs of at most `run`:
 * unit u is run u % runs of combination u / runs of the other axes.
 */
typedef struct tnri_reduce_units {
    tnri_nest kept;
    int64_t run;
    int64_t runs;
    int64_t count; /* of units */
} tnri_reduce_units;

/* One unit: where it begins, and how many outputs it has. */
typedef struct tnri_reduce_unit {
    const char *a;
    char *out;
    int64_t outputs;
} tnri_reduce_unit;

/* Cut into runs of a multiple of `grain`, at least `wanted` of them in all if there are enough outputs. */
void tnri_reduce_cut(tnri_reduce_units *units, int64_t grain, int64_t wanted);

tnri_reduce_unit tnri_reduce_unit_at(const tnri_reduce_units *units, int64_t number);

/* Axes on which the source stands still go outermost: where elements lie side by side decides the order. */
void tnri_reduce_still_last(tnri_nest *nest);

/* Nanoseconds that a reduction of so many terms takes one thread, about. */
uint64_t tnri_reduce_time(const tnr_engine *engine, int64_t terms, size_t width);

/*
 * All terms into all outputs; neither is empty. `spread`: strides of the output by the source's axes, 0 on those that go.
 * `lanes`: what tnri_engine_lanes said, or 0 to ask; the result is the same.
 */
void tnri_reduce_walk(tnr_engine *engine, int lanes, const tnri_reducer *reducer, const tnr_view *a,
                      const int64_t *spread, const char *source, char *target, size_t out_width);

/* The same of argmax and argmin: `out` is the layout of the result. */
void tnri_reduce_walk_arg(tnr_engine *engine, int lanes, const tnri_arg_kernel *kernel, const tnr_view *a, int axis,
                          const tnr_view *out, const char *source, char *target);

#endif /* TENURE_ENGINE_REDUCE_INTERNAL_H */
