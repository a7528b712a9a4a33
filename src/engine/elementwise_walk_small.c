/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of an elementwise kernel over its operands in small builds: plane by plane in the output's order, on the calling thread. */
#include "elementwise_internal.h"
#include "fp_control_internal.h"

void tnri_elementwise_walk(tnr_engine *engine, const tnri_index_space *space, tnri_plane_kernel kernel,
                           const tnri_operation *op)
{
    (void)engine;
    tnri_nest nest;
    if (!tnri_nest_make(&nest, space->rank, space->shape, space->operands, space->list)) {
        return;
    }
    tnri_plane plane = {.operands = nest.count, .count = nest.shape[0], .lines = nest.rank > 1 ? nest.shape[1] : 1};
    for (int k = 0; k < nest.count; ++k) {
        plane.step[k] = nest.strides[k][0];
        plane.jump[k] = nest.rank > 1 ? nest.strides[k][1] : 0;
    }
    const tnri_fp_control before = tnri_fp_control_get();
    if (op->to_nearest) {
        tnri_fp_control_set(tnri_fp_control_nearest(before));
    }
    do {
        for (int k = 0; k < nest.count; ++k) {
            plane.data[k] = nest.data[k];
        }
        kernel(&plane);
    } while (tnri_nest_step(&nest, 2));
    if (op->to_nearest) {
        tnri_fp_control_set(before);
    }
}

bool tnri_elementwise_scan(tnr_engine *engine, int rank, const int64_t *shape, const tnri_nest_operand *operand,
                           tnri_run_scan scan)
{
    (void)engine;
    tnri_nest nest;
    if (!tnri_nest_make(&nest, rank, shape, 1, operand)) {
        return false;
    }
    do {
        if (scan(nest.data[0], nest.strides[0][0], nest.shape[0]) >= 0) {
            return true;
        }
    } while (tnri_nest_step(&nest, 1));
    return false;
}
