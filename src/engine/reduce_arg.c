/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * argmax and argmin: where along one axis the best element is.
 *
 * Guarantees: the first of equal ones, the first NaN before all; any layouts; nothing is allocated but the result. Order
 * decides alone, so the result cannot depend on how work is cut.
 */
#include "reduce_internal.h"

/* Along the axis up to so many elements that lie side by side are looked at for many outputs at once all the same. */
#define SHORT_LINE 16

/* Outputs that are worth a lane's while side by side. */
#define COLUMN_GRAIN 64

#define PIECES_PER_LANE 4

/* Most blocks that one column of units is cut into, and the least rows times columns of a block. */
#define MOST_BLOCKS 12
#define LEAST_BLOCK 8192

static const tnri_reduce_table *const tables[TNRI_ISA_END] = TNRI_ISA_TABLES(tnri_reduce_kernels);

typedef struct job {
    const tnri_arg_kernel *kernel;
    tnri_reduce_units units; /* of the other axes */
    int64_t step;            /* along the axis, in bytes */
    int64_t rows;
    int64_t across;
    int64_t columns; /* most at a time */
    int64_t pieces;
    tnri_reduce_unit unit; /* second way: the outputs at hand, and what was found in each block */
    int64_t blocks;
    tnri_arg_best *best;
} job;

static void write_indices(const job *j, char *out, const tnri_arg_best *best, int64_t columns)
{
    const int64_t out_step = j->units.kept.strides[1][0];
    for (int64_t k = 0; k < columns; ++k) {
        *(int64_t *)(void *)(out + k * out_step) = best->index[k];
    }
}

static void do_run(const job *j, const char *a, char *out, int64_t outputs)
{
    tnri_arg_best best;
    for (int64_t i = 0; i < outputs; i += j->columns) {
        const int64_t columns = outputs - i < j->columns ? outputs - i : j->columns;
        j->kernel->look(a + i * j->across, j->step, 0, j->rows, j->across, columns, &best);
        write_indices(j, out + i * j->units.kept.strides[1][0], &best, columns);
    }
}

#if TNRI_THREADS

static void do_units(void *context, int64_t piece)
{
    const job *j = context;
    const int64_t end = (piece + 1) * j->units.count / j->pieces;
    for (int64_t u = piece * j->units.count / j->pieces; u < end; ++u) {
        const tnri_reduce_unit unit = tnri_reduce_unit_at(&j->units, u);
        do_run(j, unit.a, unit.out, unit.outputs);
    }
}

static void do_block(void *context, int64_t piece)
{
    const job *j = context;
    const int64_t first = j->rows / j->blocks * piece;
    const int64_t end = piece + 1 == j->blocks ? j->rows : first + j->rows / j->blocks;
    j->kernel->look(j->unit.a + first * j->step, j->step, first, end - first, j->across, j->unit.outputs,
                    &j->best[piece]);
}

/* Few outputs of many rows: rows in blocks, one unit after the other. */
static TNRI_NOINLINE void walk_blocks(tnr_engine *engine, int lanes, const job *whole)
{
    job j = *whole;
    tnri_arg_best best[MOST_BLOCKS];
    j.best = best;
    for (int64_t u = 0; u < j.units.count; ++u) {
        j.unit = tnri_reduce_unit_at(&j.units, u);
        tnri_engine_run(engine, lanes, j.blocks, do_block, &j);
        for (int64_t b = 1; b < j.blocks; ++b) {
            j.kernel->merge(&best[0], &best[b], j.unit.outputs);
        }
        write_indices(&j, j.unit.out, &best[0], j.unit.outputs);
    }
}

/* On several lanes: units, or, where they are few, blocks of rows. */
static void walk_lanes(tnr_engine *engine, int lanes, job *j, bool lines)
{
    const int64_t wanted = (int64_t)lanes * PIECES_PER_LANE;
    tnri_reduce_cut(&j->units, lines ? 1 : COLUMN_GRAIN, wanted);
    const int64_t row_work = lines ? 1 : j->units.run;
    const int64_t possible = j->rows / (LEAST_BLOCK / row_work + 1);
    if (j->units.count >= wanted / 2 || possible < 2 || j->kernel->merge == NULL) {
        j->pieces = j->units.count < wanted ? j->units.count : wanted;
        tnri_engine_run(engine, lanes, j->pieces, do_units, j);
        return;
    }
    if (lines) { /* one output a unit */
        tnri_reduce_cut(&j->units, 1, INT64_MAX);
    }
    j->blocks = possible < MOST_BLOCKS ? possible : MOST_BLOCKS;
    walk_blocks(engine, lanes, j);
}

#endif

void tnri_reduce_walk_arg(tnr_engine *engine, int lanes, const tnri_arg_kernel *kernel, const tnr_view *a, int axis,
                          const tnr_view *out, const char *source, char *target)
{
    const int64_t width = (int64_t)tnr_dtype_size(a->dtype);
    int64_t shape[TNR_MAX_RANK];
    int64_t strides[TNR_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < a->rank; ++i) {
        if (i != axis) {
            shape[rank] = a->shape[i];
            strides[rank] = a->strides[i];
            ++rank;
        }
    }
    job j;
    const tnri_nest_operand list[2] = {{source, strides, (size_t)width}, {target, out->strides, sizeof(int64_t)}};
    tnri_nest *kept = &j.units.kept;
    if (!tnri_nest_make(kept, rank, shape, 2, list)) {
        return;
    }
    tnri_reduce_still_last(kept);
    int64_t terms = a->shape[axis];
    for (int i = 0; i < rank; ++i) {
        terms *= shape[i];
    }
    j.kernel = kernel;
    j.rows = a->shape[axis];
    j.step = j.rows == 1 ? 0 : a->strides[axis] * width;
    j.across = kept->strides[0][0];
    const int64_t step = j.step < 0 ? -j.step : j.step;
    const bool lines = kept->shape[0] == 1 || (step < j.across && j.rows > SHORT_LINE);
    j.columns = lines ? 1 : ARG_COLUMNS;
#if TNRI_THREADS
    if (lanes == 0) {
        lanes = tnri_engine_lanes(engine, 2 * tnri_reduce_time(engine, terms, (size_t)width));
    }
    if (lanes > 1) {
        walk_lanes(engine, lanes, &j, lines);
        return;
    }
#else
    (void)engine;
    (void)lanes;
    (void)terms;
#endif
    do {
        do_run(&j, kept->data[0], kept->data[1], kept->shape[0]);
    } while (tnri_nest_step(kept, 1));
}

static tnr_status inside(const char *op, tnr_engine *engine, bool smallest, const tnr_view *a, int axis,
                         tnri_target target)
{
    TNRI_CHECK_VIEW(op, "a", a);
    uint64_t gone;
    TNR_TRY(tnri_axes_enter(op, &axis, 1, a->rank, &gone));
    const tnri_reduce_table *table = tables[engine->isa];
    const tnri_arg_kernel *kernel = smallest ? &table->argmin[a->dtype] : &table->argmax[a->dtype];
    if (kernel->look == NULL) {
        return tnri_fail_unsupported(op, a->dtype);
    }
    int64_t shape[TNR_MAX_RANK];
    const int rank = tnri_reduce_shape(a, gone, shape);
    TNR_TRY(tnri_check_into(op, target.into, TNR_I64, rank, shape));
    TNR_REQUIRE(a->shape[axis] != 0, TNR_ERR_SHAPE, "%s: no element along axis %d, whose extent is 0", op, axis);
    tnri_call call;
    call.op = op;
    call.inputs = 1;
    call.dtype = TNR_I64;
    call.rank = rank;
    call.shape = shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    tnr_status status = TNR_OK;
    if (tnri_is_device(engine)) {
        status = tnri_device_arg(engine, smallest, a, axis, call.out, call.operands[1].data, call.operands[0].data);
    } else {
        tnri_reduce_walk_arg(engine, 0, kernel, a, axis, call.out, call.operands[1].data, call.operands[0].data);
    }
    return tnri_call_end(engine, &call, target, status);
}

static tnr_status run(const char *op, tnr_engine *engine, bool smallest, const tnr_view *a, int axis,
                      tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(op, engine, smallest, a, axis, target));
}

tnr_status tnr_argmax(tnr_engine *engine, const tnr_view *a, int axis, tnr_tensor **out)
{
    return run("argmax", engine, false, a, axis, (tnri_target){.made = out});
}

tnr_status tnr_argmax_into(tnr_engine *engine, const tnr_view *a, int axis, const tnr_view_mut *out)
{
    return run("argmax", engine, false, a, axis, (tnri_target){.into = out});
}

tnr_status tnr_argmin(tnr_engine *engine, const tnr_view *a, int axis, tnr_tensor **out)
{
    return run("argmin", engine, true, a, axis, (tnri_target){.made = out});
}

tnr_status tnr_argmin_into(tnr_engine *engine, const tnr_view *a, int axis, const tnr_view_mut *out)
{
    return run("argmin", engine, true, a, axis, (tnri_target){.into = out});
}
