/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Triangles of the first two axes: what stays is copied, the rest is zeroed, each element written once.
 *
 * A matrix is taken apart into its lines along the axis of the shorter steps; lines with the same part that stays go
 * together.
 */
#include "structure_internal.h"

#define PIECE_BYTES 65536 /* small matrices: so much of them is gone over, line after line, while it is in the cache */
#define SMALL_MATRIX 16384

static const tnri_rearrangement op_tril = {"tril", TNR_COPY_TRIL};
static const tnri_rearrangement op_triu = {"triu", TNR_COPY_TRIU};

typedef struct triangle {
    tnri_box box; /* all of output and input */
    bool upper;
    int64_t k;       /* held to where it matters */
    int line;        /* axis 0 or 1: the one along which lines lie */
    int64_t rows;    /* of the whole matrix */
    int64_t columns; /* likewise */
    int cut;         /* axis of the pieces */
    int64_t pieces;
} triangle;

static int64_t held_to(int64_t value, int64_t most) { return value < 0 ? 0 : value < most ? value : most; }

/* What stays of a line: [*begin, *end). Lower: i >= j - k. Upper: i <= j - k. */
static void kept_of_line(const triangle *t, int64_t at, int64_t *begin, int64_t *end)
{
    if (t->line == 0) { /* column j == at */
        const int64_t diagonal = at - t->k;
        *begin = t->upper ? 0 : held_to(diagonal, t->rows);
        *end = t->upper ? held_to(diagonal + 1, t->rows) : t->rows;
    } else { /* row i == at */
        const int64_t diagonal = at + t->k;
        *begin = t->upper ? held_to(diagonal, t->columns) : 0;
        *end = t->upper ? t->columns : held_to(diagonal + 1, t->columns);
    }
}

/* Part of some lines of one kind; `copied`, or zeroed. */
static void run_part(const tnri_box *lines, int axis, int64_t begin, int64_t end, bool copied)
{
    if (begin < end) {
        tnri_box part = *lines;
        if (!copied) {
            part.source = NULL;
        }
        tnri_box_narrow(&part, axis, begin, end - begin, 1);
        tnri_box_run(&part);
    }
}

/* Lines first..last-1 of `box`, which has those only. */
static void run_lines(const triangle *t, const tnri_box *box, int64_t first, int64_t last)
{
    const int across = 1 - t->line;
    const int64_t length = box->shape[t->line];
    for (int64_t at = first; at < last;) {
        int64_t begin;
        int64_t end;
        kept_of_line(t, at, &begin, &end);
        int64_t next = at + 1;
        for (int64_t next_begin = begin, next_end = end; next < last; ++next) {
            kept_of_line(t, next, &next_begin, &next_end);
            const bool both_empty = begin >= end && next_begin >= next_end;
            if (!both_empty && (next_begin != begin || next_end != end)) {
                break;
            }
        }
        if (begin >= end) {
            begin = 0;
            end = 0;
        }
        tnri_box lines = *box;
        tnri_box_narrow(&lines, across, at - first, next - at, 1);
        run_part(&lines, t->line, 0, begin, false);
        run_part(&lines, t->line, begin, end, true);
        run_part(&lines, t->line, end, length, false);
        at = next;
    }
}

static void run_piece(void *context, int64_t piece)
{
    const triangle *t = context;
    const int across = 1 - t->line;
    tnri_box part = t->box;
    int64_t begin;
    int64_t end;
    tnri_piece_of(t->box.shape[t->cut], t->pieces, piece, &begin, &end);
    tnri_box_narrow(&part, t->cut, begin, end - begin, 1);
    if (t->cut == across) {
        run_lines(t, &part, begin, end);
    } else {
        run_lines(t, &part, 0, t->box.shape[across]);
    }
}

static tnr_status compute(tnr_engine *engine, const tnr_view *a, int64_t k, bool upper, const tnri_call *call)
{
    const tnr_view *out = call->out;
    const uint64_t bytes = tnri_shape_extent_bytes(out->dtype, out->rank, out->shape);
    if (bytes == 0) {
        return TNR_OK;
    }
    triangle t = {.upper = upper, .rows = out->shape[0], .columns = out->shape[1], .cut = 1, .pieces = 1};
    t.k = k < -t.rows ? -t.rows : k > t.columns ? t.columns : k;
    tnri_box_make(&t.box, out, call->operands[0].data, call->operands[1].data, a->strides);
    if (tnri_is_device(engine)) {
        return tnri_device_triangle(engine, &t.box, t.k, upper);
    }
    const bool by_columns = tnri_magnitude(out->strides[0]) <= tnri_magnitude(out->strides[1]);
    t.line = (by_columns || out->shape[1] == 1) && out->shape[0] != 1 ? 0 : 1;
    const int across = 1 - t.line;
    const int lanes = tnri_engine_lanes(engine, tnri_move_time(bytes));
    const int cut = lanes > 1 ? tnri_box_cut_axis(&t.box, ~(UINT64_C(1) << t.line), lanes) : -1;
    const int batch = tnri_box_cut_axis(&t.box, ~UINT64_C(3), 1);
    t.cut = cut >= 0 ? cut : across;
    if (batch >= 0 && bytes / (uint64_t)out->shape[batch] <= SMALL_MATRIX && bytes >= 2 * PIECE_BYTES) {
        const int64_t most = (int64_t)(bytes / PIECE_BYTES);
        t.cut = batch;
        t.pieces = out->shape[batch] < most ? out->shape[batch] : most;
    } else if (cut >= 0) {
        const int64_t most = 8 * (int64_t)lanes; /* lines differ in what they cost */
        t.pieces = t.box.shape[cut] < most ? t.box.shape[cut] : most;
    }
    tnri_engine_run(engine, lanes, t.pieces, run_piece, &t);
    return TNR_OK;
}

static tnr_status inside(tnr_engine *engine, const tnri_rearrangement *op, const tnr_view *a, int64_t k,
                         tnri_target target)
{
    TNRI_CHECK_VIEW(op->name, "a", a);
    TNR_REQUIRE(a->rank >= 2, TNR_ERR_SHAPE, "%s: rank 2 or more expected, found %d", op->name, (int)a->rank);
    tnri_call call;
    call.inputs = 1;
    call.dtype = a->dtype;
    call.rank = a->rank;
    call.shape = a->shape;
    call.aliasing = TNRI_APART;
    call.operands[1].view = a;
    TNR_TRY(tnri_rearrange_begin(engine, op, &call, target));
    return tnri_rearrange_end(engine, op, &call, target, compute(engine, a, k, op == &op_triu, &call));
}

static tnr_status run(tnr_engine *engine, const tnri_rearrangement *op, const tnr_view *a, int64_t k,
                      tnri_target target)
{
    TNR_TRY(tnri_engine_enter(op->name, engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, op, a, k, target));
}

tnr_status tnr_tril(tnr_engine *engine, const tnr_view *a, int64_t k, tnr_tensor **out)
{
    return run(engine, &op_tril, a, k, (tnri_target){.made = out});
}

tnr_status tnr_tril_into(tnr_engine *engine, const tnr_view *a, int64_t k, const tnr_view_mut *out)
{
    return run(engine, &op_tril, a, k, (tnri_target){.into = out});
}

tnr_status tnr_triu(tnr_engine *engine, const tnr_view *a, int64_t k, tnr_tensor **out)
{
    return run(engine, &op_triu, a, k, (tnri_target){.made = out});
}

tnr_status tnr_triu_into(tnr_engine *engine, const tnr_view *a, int64_t k, const tnr_view_mut *out)
{
    return run(engine, &op_triu, a, k, (tnri_target){.into = out});
}
