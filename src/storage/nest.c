/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loop nests: brings the axes of up to four operands into the order in which memory is walked best, and merges them.
 *
 * Guarantees: visits every index once; never touches data; no allocation. Offsets stay inside what the operands' layouts
 * reach, so no product here can overflow once the layouts were checked.
 * Does not choose kernels, and does not know which operand is written: operand 0 decides the order.
 */
#include "storage.h"

void tnri_nest_exchange(tnri_nest *nest, int a, int b)
{
    const int64_t extent = nest->shape[a];
    nest->shape[a] = nest->shape[b];
    nest->shape[b] = extent;
    for (int k = 0; k < nest->count; ++k) {
        const int64_t stride = nest->strides[k][a];
        nest->strides[k][a] = nest->strides[k][b];
        nest->strides[k][b] = stride;
    }
}

/* Does axis a belong inside axis b? By operand 0's step, then by the others' in turn. */
static bool belongs_inside(const tnri_nest *nest, int a, int b)
{
    for (int k = 0; k < nest->count; ++k) {
        const uint64_t step_a = tnri_magnitude(nest->strides[k][a]);
        const uint64_t step_b = tnri_magnitude(nest->strides[k][b]);
        if (step_a != step_b) {
            return step_a < step_b;
        }
    }
    return false;
}

static bool continues(const tnri_nest *nest, int inner, int outer)
{
    for (int k = 0; k < nest->count; ++k) {
        int64_t end;
        if (!tnri_mul_i64(nest->strides[k][inner], nest->shape[inner], &end) || nest->strides[k][outer] != end) {
            return false;
        }
    }
    return true;
}

bool tnri_nest_make(tnri_nest *nest, int rank, const int64_t *shape, int count, const tnri_nest_operand *operands)
{
    for (int i = 0; i < rank; ++i) { /* first of all: an empty operand's data and strides mean nothing */
        if (shape[i] == 0) {
            return false;
        }
    }
    nest->count = count;
    for (int k = 0; k < count; ++k) {
        nest->data[k] = (char *)operands[k].data;
    }
    int axes = 0;
    for (int i = 0; i < rank; ++i) {
        if (shape[i] == 1) {
            continue;
        }
        nest->shape[axes] = shape[i];
        const bool backwards = operands[0].strides[i] < 0;
        for (int k = 0; k < count; ++k) {
            int64_t stride = operands[k].strides[i] * (int64_t)operands[k].element_bytes;
            if (backwards) {
                nest->data[k] += stride * (shape[i] - 1);
                stride = -stride;
            }
            nest->strides[k][axes] = stride;
        }
        for (int a = axes; a > 0 && belongs_inside(nest, a, a - 1); --a) {
            tnri_nest_exchange(nest, a, a - 1);
        }
        ++axes;
    }
    int kept = 0;
    for (int i = 1; i < axes; ++i) {
        if (continues(nest, kept, i)) {
            nest->shape[kept] *= nest->shape[i];
            continue;
        }
        ++kept;
        nest->shape[kept] = nest->shape[i];
        for (int k = 0; k < count; ++k) {
            nest->strides[k][kept] = nest->strides[k][i];
        }
    }
    nest->rank = kept + 1;
    if (axes == 0) {
        nest->shape[0] = 1;
        for (int k = 0; k < count; ++k) {
            nest->strides[k][0] = (int64_t)operands[k].element_bytes;
        }
    }
    for (int i = 0; i < nest->rank; ++i) {
        nest->index[i] = 0;
    }
    return true;
}

bool tnri_nest_step(tnri_nest *nest, int first)
{
    for (int i = first; i < nest->rank; ++i) {
        ++nest->index[i];
        if (nest->index[i] < nest->shape[i]) {
            for (int k = 0; k < nest->count; ++k) {
                nest->data[k] += nest->strides[k][i];
            }
            return true;
        }
        nest->index[i] = 0;
        for (int k = 0; k < nest->count; ++k) {
            nest->data[k] -= nest->strides[k][i] * (nest->shape[i] - 1);
        }
    }
    return false;
}
