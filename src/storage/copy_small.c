/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The strided copy in little code, for small builds: what copy.c, copy_plan.c and their kernels do, one element after another in the
 * target's order, and whole runs where both sides have them. Pieces are runs along the outermost axis.
 */
#include "storage.h"

const tnri_copy_kernels *tnri_copy_kernels_of(tnri_isa isa)
{
    (void)isa;
    return NULL;
}

void tnri_copy_plan_make(tnri_copy_plan *plan, const tnri_copy_kernels *kernels, bool streams, size_t element_bytes,
                         int rank, const int64_t *shape, void *target, const int64_t *target_strides,
                         const void *source, const int64_t *source_strides)
{
    (void)streams;
    const tnri_nest_operand operands[2] = {{target, target_strides, element_bytes},
                                           {source, source_strides, element_bytes}};
    plan->kernels = kernels;
    plan->mode = TNRI_COPY_PLAIN;
    plan->blocks = 0;
    plan->bytes = 0;
    if (tnri_nest_make(&plan->nest, rank, shape, 2, operands)) {
        plan->shift = (int)tnri_lowest_bit(element_bytes);
        plan->blocks = plan->nest.shape[plan->nest.rank - 1];
        plan->bytes = element_bytes;
        for (int i = 0; i < plan->nest.rank; ++i) {
            plan->bytes *= (uint64_t)plan->nest.shape[i];
        }
    }
}

static void copy_row(char *target, int64_t target_step, const char *source, int64_t source_step, int64_t count,
                     int shift)
{
    const size_t width = (size_t)1 << shift;
    if (target_step == (int64_t)width && source_step == (int64_t)width) {
        memcpy(target, source, (size_t)count << shift);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        switch (shift) { /* memcpy of a size that the compiler knows */
        case 0:
            *target = *source;
            break;
        case 2:
            memcpy(target, source, 4);
            break;
        case 3:
            memcpy(target, source, 8);
            break;
        default:
            memcpy(target, source, width);
            break;
        }
        target += target_step;
        source += source_step;
    }
}

void tnri_copy_plan_run(const tnri_copy_plan *plan, int64_t piece, int64_t pieces)
{
    if (plan->blocks == 0) {
        return;
    }
    tnri_nest nest = plan->nest;
    const int last = nest.rank - 1;
    const int64_t begin = plan->blocks * piece / pieces;
    const int64_t end = plan->blocks * (piece + 1) / pieces;
    if (begin == end) {
        return;
    }
    nest.shape[last] = end - begin;
    for (int k = 0; k < 2; ++k) {
        nest.data[k] += nest.strides[k][last] * begin;
    }
    do {
        copy_row(nest.data[0], nest.strides[0][0], nest.data[1], nest.strides[1][0], nest.shape[0], plan->shift);
    } while (tnri_nest_step(&nest, 1));
}

void tnri_copy_elements(size_t element_bytes, int rank, const int64_t *shape, void *target,
                        const int64_t *target_strides, const void *source, const int64_t *source_strides)
{
    tnri_copy_plan plan;
    tnri_copy_plan_make(&plan, NULL, false, element_bytes, rank, shape, target, target_strides, source, source_strides);
    tnri_copy_plan_run(&plan, 0, 1);
}
