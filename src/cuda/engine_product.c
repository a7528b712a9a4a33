/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products on a device. Which way one goes follows from dtype, extents, steps, alpha and from whether there is a cuBLAS:
 *
 *   k 0 or alpha 0        c = beta * c
 *   small; dot products   the library's kernel, which reads any layout: groups of several axes by tables of offsets
 *   else                  cuBLAS, by columns. An operand that is no matrix to it is packed first; a result that is none is made
 *                         beside and copied
 *
 * Guarantees: nothing is given to the lane before scratch is had. A cuBLAS that was named is used, or the product is an error.
 */
#include "engine_internal.h"

enum {
    LOOPS = 64, /* calls for the axes of a batch that are not one */
    GRAIN = 256,
    RANK = 4 * TNR_MAX_RANK
};

#define BLAS_BYTES (UINT64_C(32) << 20) /* of workspace */

static tnr_status status_of_rank(const tnri_cuda_engine *engine, int rank)
{
    TNR_REQUIRE(rank <= TNRI_KERNEL_RANK, TNR_ERR_UNSUPPORTED, "%s: %d axes in all, a device's kernels have %d",
                engine->op, rank, TNRI_KERNEL_RANK);
    return TNR_OK;
}

static bool is_one(tnr_c64 number) { return number.re == 1.0 && number.im == 0.0; }
static bool is_zero(tnr_c64 number) { return number.re == 0.0 && number.im == 0.0; }

/* Axes of several groups, one after the other, with steps in one operand. */
typedef struct axes_list {
    int rank;
    int64_t shape[RANK];
    int64_t strides[RANK];
} axes_list;

static void put_axes(axes_list *list, const tnri_device_axes *axes, const int64_t *strides)
{
    for (int at = 0; at < axes->rank; at++) {
        list->shape[list->rank] = axes->extents[at];
        list->strides[list->rank++] = strides[at];
    }
}

/* ---- c = beta * c ------------------------------------------------------------------------------------------------------------------------ */

static tnr_status scale(tnri_cuda_engine *engine, const tnri_device_product *p)
{
    static const int64_t still[RANK];
    axes_list c = {.rank = 0};
    put_axes(&c, &p->m, p->m.c);
    put_axes(&c, &p->n, p->n.c);
    put_axes(&c, &p->batch, p->batch.c);
    TNR_TRY(status_of_rank(engine, c.rank));
    const size_t width = tnr_dtype_size(p->dtype);
    const tnr_c64 zero = {0.0, 0.0};
    if (p->overwrite) {
        return tnri_engine_fill(engine, width, c.rank, c.shape, p->c, c.strides, &zero);
    }
    if (is_one(p->beta)) {
        return TNR_OK;
    }
    uint64_t number;
    TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_WORK, sizeof(tnr_c64), &number));
    const float single[2] = {(float)p->beta.re, (float)p->beta.im};
    const void *value = p->dtype == TNR_F32 || p->dtype == TNR_C32 ? (const void *)single : (const void *)&p->beta;
    TNR_TRY(tnri_engine_fill(engine, width, 0, NULL, (char *)(uintptr_t)number, NULL, value));
    const tnri_device_map map = {.op = engine->op,
                                 .code = TNRI_DO_MUL,
                                 .inputs = 2,
                                 .from = p->dtype,
                                 .to = p->dtype,
                                 .rank = c.rank,
                                 .shape = c.shape,
                                 .data = {p->c, p->c, (char *)(uintptr_t)number},
                                 .strides = {c.strides, c.strides, still},
                                 .widths = {width, width, width}};
    return tnri_engine_map(engine, &map);
}

/* ---- The library's kernel ------------------------------------------------------------------------------------------------------------------ */

/* Where tables of a group go, by operand; 0: it has one axis or none, or is not in that operand. */
typedef struct group_tables {
    uint64_t at[3];
} group_tables;

static bool group_has(int group, int operand)
{
    static const bool has[4][3] = {{true, false, true}, {false, true, true}, {true, true, false}, {true, true, true}};
    return has[group][operand];
}

static const int64_t *steps_of(const tnri_device_axes *axes, int operand)
{
    return operand == 0 ? axes->a : operand == 1 ? axes->b : axes->c;
}

static tnr_status write_tables(tnri_cuda_engine *engine, const tnri_device_axes *axes, int64_t width,
                               const group_tables *tables)
{
    tnri_offsets_layout layout;
    memset(&layout, 0, sizeof(layout));
    layout.count = axes->size;
    layout.rank = axes->rank;
    int words = 0;
    for (int at = 0; at < axes->rank; at++) {
        layout.words[words++] = axes->extents[at];
    }
    for (int operand = 0; operand < 3; operand++) {
        for (int at = 0; at < axes->rank && tables->at[operand] != 0; at++) {
            layout.words[words++] = steps_of(axes, operand)[at] * width;
        }
    }
    uint64_t at[3] = {tables->at[0], tables->at[1], tables->at[2]};
    void *parameters[] = {&layout, &at[0], &at[1], &at[2]};
    return tnri_engine_launch(engine, TNRI_KERNEL_offsets, tnri_map_blocks(layout.count, engine->multiprocessors),
                              parameters);
}

static tnr_status by_kernel(tnri_cuda_engine *engine, const tnri_device_product *p)
{
    const int64_t width = (int64_t)tnr_dtype_size(p->dtype);
    const tnri_device_axes *const groups[4] = {&p->m, &p->n, &p->k, &p->batch};
    group_tables tables[4];
    tnri_product_layout layout;
    memset(&layout, 0, sizeof(layout));
    tnri_product_group *const made[4] = {&layout.m, &layout.n, &layout.k, &layout.batch};
    uint64_t bytes = 0;
    for (int group = 0; group < 4; group++) {
        TNR_TRY(status_of_rank(engine, groups[group]->rank));
        made[group]->size = groups[group]->size;
        for (int operand = 0; operand < 3; operand++) {
            tables[group].at[operand] = 0;
            if (!group_has(group, operand)) {
                continue;
            }
            if (groups[group]->rank <= 1) {
                made[group]->step[operand] = groups[group]->rank == 1 ? steps_of(groups[group], operand)[0] * width : 0;
            } else {
                tables[group].at[operand] = ++bytes; /* places are told when memory is had */
                bytes += (uint64_t)groups[group]->size * sizeof(int64_t) + GRAIN - 1;
                bytes = bytes / GRAIN * GRAIN;
            }
        }
    }
    layout.alpha[0] = p->alpha.re;
    layout.alpha[1] = p->alpha.im;
    layout.beta[0] = p->beta.re;
    layout.beta[1] = p->beta.im;
    layout.overwrite = p->overwrite ? 1 : 0;
    layout.keep = is_one(p->beta) ? 1 : 0;
    layout.plain = is_one(p->alpha) ? 1 : 0;
    layout.conjugate_a = p->conjugate_a ? 1 : 0;
    layout.conjugate_b = p->conjugate_b ? 1 : 0;
    tnri_product_layout_finish(&layout, (int)p->dtype);
    const uint64_t partial_bytes = tnri_product_scratch_bytes(&layout, (int)p->dtype);
    uint64_t work = 0;
    if (bytes + partial_bytes != 0) {
        TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_WORK, bytes + partial_bytes, &work));
    }
    for (int group = 0; group < 4; group++) {
        for (int operand = 0; operand < 3; operand++) {
            if (tables[group].at[operand] != 0) {
                tables[group].at[operand] += work - 1;
                made[group]->table[operand] = (const int64_t *)(uintptr_t)tables[group].at[operand];
            }
        }
        if (groups[group]->rank > 1) {
            TNR_TRY(write_tables(engine, groups[group], width, &tables[group]));
        }
    }
    uint64_t c = (uint64_t)(uintptr_t)p->c;
    uint64_t a = (uint64_t)(uintptr_t)p->a;
    uint64_t b = (uint64_t)(uintptr_t)p->b;
    uint64_t partials = partial_bytes != 0 ? work + bytes : 0;
    uint64_t none = 0;
    const tnri_kernel first =
        layout.way == TNRI_PRODUCT_WAY_LINES ? TNRI_KERNEL_product_lines_f32 : TNRI_KERNEL_product_f32;
    void *parameters[] = {&layout, &c, &a, &b, &partials};
    TNR_TRY(tnri_engine_launch(engine, tnri_product_kernel_at(first, (int)p->dtype),
                               tnri_product_blocks(&layout, engine->multiprocessors), parameters));
    engine->device->counts.products++;
    if (partial_bytes == 0) {
        return TNR_OK;
    }
    void *joined[] = {&layout, &c, &none, &none, &partials};
    return tnri_engine_launch(engine, tnri_product_kernel_at(TNRI_KERNEL_product_join_f32, (int)p->dtype),
                              tnri_product_join_blocks(&layout, engine->multiprocessors), joined);
}

/* ---- Matrices for cuBLAS ------------------------------------------------------------------------------------------------------------------ */

/* One operand: rows, columns, and a batch of them. */
typedef struct matrix {
    const tnri_device_axes *rows;
    const tnri_device_axes *columns;
    const tnri_device_axes *batch;
    int operand; /* 0: a, 1: b, 2: c */
    uint64_t data;
    bool conjugate;
    bool fits; /* as it lies */
    bool turned;
    int64_t step;    /* from column to column, or from row to row */
    uint64_t packed; /* bytes */
} matrix;

/* The step of a group of one axis; false: it has several. */
static bool single(const tnri_device_axes *axes, int operand, int64_t *step)
{
    *step = axes->rank == 1 ? steps_of(axes, operand)[0] : 0;
    return axes->rank <= 1;
}

/* Lines of `length` neighbours, `count` of them. */
static bool lies_in_lines(int64_t length, int64_t step, int64_t count, int64_t line, int64_t *pitch)
{
    *pitch = count == 1 ? (length > 0 ? length : 1) : line;
    return (step == 1 || length == 1) && *pitch >= length && *pitch > 0 && *pitch <= INT32_MAX;
}

static void look(matrix *of)
{
    int64_t row;
    int64_t column;
    of->fits = false;
    of->turned = false;
    if (!single(of->rows, of->operand, &row) || !single(of->columns, of->operand, &column)) {
        return;
    }
    if (lies_in_lines(of->rows->size, row, of->columns->size, column, &of->step)) {
        of->fits = true;
    } else if (lies_in_lines(of->columns->size, column, of->rows->size, row, &of->step)) {
        of->fits = true;
        of->turned = true;
    }
}

/* Rows side by side, then columns, then the batch. */
static void packed_axes(const matrix *of, axes_list *away, axes_list *here)
{
    const tnri_device_axes *const groups[3] = {of->rows, of->columns, of->batch};
    int64_t step = 1;
    away->rank = 0;
    for (int group = 0; group < 3; group++) {
        put_axes(away, groups[group], steps_of(groups[group], of->operand));
    }
    here->rank = away->rank;
    for (int at = 0; at < away->rank; at++) {
        here->shape[at] = away->shape[at];
        here->strides[at] = step;
        step *= away->shape[at];
    }
}

static bool packed_bytes(matrix *of, uint64_t width)
{
    uint64_t bytes = width;
    return tnri_mul_u64(bytes, (uint64_t)of->rows->size, &bytes) &&
           tnri_mul_u64(bytes, (uint64_t)of->columns->size, &bytes) &&
           tnri_mul_u64(bytes, (uint64_t)of->batch->size, &bytes) && bytes <= (uint64_t)INT64_MAX / 8 &&
           tnri_round_up(bytes, GRAIN, &of->packed);
}

/* Between an operand's layout and a packed one. */
static tnr_status move(tnri_cuda_engine *engine, const matrix *of, tnr_dtype dtype, uint64_t packed, bool back)
{
    axes_list away;
    axes_list here;
    packed_axes(of, &away, &here);
    const size_t width = tnr_dtype_size(dtype);
    char *outside = (char *)(uintptr_t)of->data;
    char *inside = (char *)(uintptr_t)packed;
    engine->device->counts.packed++;
    if (of->conjugate) {
        const tnri_device_map map = {.op = engine->op,
                                     .code = TNRI_DO_CONJ,
                                     .inputs = 1,
                                     .from = dtype,
                                     .to = dtype,
                                     .rank = away.rank,
                                     .shape = away.shape,
                                     .data = {inside, outside},
                                     .strides = {here.strides, away.strides},
                                     .widths = {width, width}};
        return tnri_engine_map(engine, &map);
    }
    const tnri_device_copy copy = {.width = width,
                                   .rank = away.rank,
                                   .shape = away.shape,
                                   .target = back ? outside : inside,
                                   .target_strides = back ? away.strides : here.strides,
                                   .source = back ? inside : outside,
                                   .source_strides = back ? here.strides : away.strides};
    return tnri_engine_copy(engine, &copy);
}

/* The matrix is packed now: what it looks like to cuBLAS. */
static void become_packed(matrix *of, uint64_t address)
{
    of->data = address;
    of->conjugate = false;
    of->fits = true;
    of->turned = false;
    of->step = of->rows->size;
}

/* ---- The batch ----------------------------------------------------------------------------------------------------------------------------- */

/* Which of the batch's axes calls of batched products go along; the others are gone over by calls. */
static int widest_axis(const tnri_device_axes *batch)
{
    int widest = 0;
    for (int at = 1; at < batch->rank; at++) {
        widest = batch->extents[at] > batch->extents[widest] ? at : widest;
    }
    return widest;
}

/* One step of the batch: packed operands have it side by side in the order of its axes. */
static int64_t batch_step(const matrix *of, bool packed, int axis)
{
    if (!packed) {
        return steps_of(of->batch, of->operand)[axis];
    }
    int64_t step = of->rows->size * of->columns->size;
    for (int at = 0; at < axis; at++) {
        step *= of->batch->extents[at];
    }
    return step;
}

typedef struct laid_out {
    matrix left;
    matrix right;
    matrix result;
    bool packed[3]; /* left, right, result */
} laid_out;

static tnr_status run_batches(tnri_cuda_engine *engine, const tnri_device_product *p, const laid_out *of)
{
    const tnri_device_axes *batch = &p->batch;
    const uint64_t width = tnr_dtype_size(p->dtype);
    const matrix *const matrices[3] = {&of->left, &of->right, &of->result};
    const int along = widest_axis(batch);
    const int64_t extent = batch->rank > 0 ? batch->extents[along] : 1;
    const int64_t calls = batch->size / extent;
    const bool flat = of->packed[0] && of->packed[1] && of->packed[2];
    tnri_blas_product call = {.dtype = p->dtype,
                              .transpose_a = of->left.turned ? (of->left.conjugate ? 2 : 1) : 0,
                              .transpose_b = of->right.turned ? (of->right.conjugate ? 2 : 1) : 0,
                              .m = (int)of->left.rows->size,
                              .n = (int)of->right.columns->size,
                              .k = (int)p->k.size,
                              .alpha = p->alpha,
                              .beta = p->beta,
                              .a_step = (int)of->left.step,
                              .b_step = (int)of->right.step,
                              .c_step = (int)of->result.step,
                              .batch = (int)(flat ? batch->size : extent)};
    if (batch->rank > 0) {
        const int axis = flat ? 0 : along;
        call.a_batch = batch_step(&of->left, of->packed[0], axis);
        call.b_batch = batch_step(&of->right, of->packed[1], axis);
        call.c_batch = batch_step(&of->result, of->packed[2], axis);
    }
    for (int64_t number = 0; number < (flat ? 1 : calls); number++) {
        uint64_t at[3] = {of->left.data, of->right.data, of->result.data};
        int64_t left = number;
        for (int axis = 0; axis < batch->rank && !flat; axis++) {
            if (axis == along) {
                continue;
            }
            const int64_t index = left % batch->extents[axis];
            left /= batch->extents[axis];
            for (int which = 0; which < 3; which++) {
                at[which] += (uint64_t)(index * batch_step(matrices[which], of->packed[which], axis)) * width;
            }
        }
        call.a = at[0];
        call.b = at[1];
        call.c = at[2];
        tnri_engine_batch(engine);
        TNR_TRY(tnri_blas_run(engine->op, engine->device, &engine->blas, &call));
    }
    return TNR_OK;
}

/* ---- cuBLAS ---------------------------------------------------------------------------------------------------------------------------------- */

/* m * n * k * batch, or enough to choose by. */
static double work_of(const tnri_device_product *p)
{
    return (double)p->m.size * (double)p->n.size * (double)p->k.size * (double)p->batch.size;
}

/* Is there a cuBLAS, now? What it is given of the device is had between finding it and beginning. */
static tnr_status blas_ready(tnri_cuda_engine *engine, bool *ready)
{
    tnri_blas *blas = &engine->blas;
    if (blas->state == TNRI_BLAS_UNTRIED && engine->scratch_max_bytes < BLAS_BYTES) {
        blas->state = TNRI_BLAS_NONE; /* it would take memory of its own */
    }
    TNR_TRY(tnri_blas_find(engine->op, blas));
    if (blas->state == TNRI_BLAS_FOUND) {
        TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_BLAS, BLAS_BYTES, &blas->workspace));
        blas->workspace_bytes = BLAS_BYTES;
        const tnr_status status = tnri_blas_begin(engine->op, engine->lane, blas);
        if (blas->state != TNRI_BLAS_READY) {
            tnri_engine_drop(engine, TNRI_KEPT_BLAS);
        }
        TNR_TRY(status);
    }
    *ready = blas->state == TNRI_BLAS_READY;
    return TNR_OK;
}

/* Which operands are packed; false: the library's kernel had better make it. */
static bool lay_out(const tnri_cuda_engine *engine, const tnri_device_product *p, laid_out *of)
{
    const matrix a = {.rows = &p->m,
                      .columns = &p->k,
                      .batch = &p->batch,
                      .operand = 0,
                      .data = (uint64_t)(uintptr_t)p->a,
                      .conjugate = p->conjugate_a};
    const matrix b = {.rows = &p->k,
                      .columns = &p->n,
                      .batch = &p->batch,
                      .operand = 1,
                      .data = (uint64_t)(uintptr_t)p->b,
                      .conjugate = p->conjugate_b};
    const uint64_t width = tnr_dtype_size(p->dtype);
    of->result =
        (matrix){.rows = &p->m, .columns = &p->n, .batch = &p->batch, .operand = 2, .data = (uint64_t)(uintptr_t)p->c};
    of->left = a;
    of->right = b;
    look(&of->result);
    if (of->result.fits && of->result.turned) { /* the transposed product: right and left change places */
        of->left = b;
        of->left.rows = &p->n;
        of->left.columns = &p->k;
        of->right = a;
        of->right.rows = &p->k;
        of->right.columns = &p->m;
        of->result.rows = &p->n;
        of->result.columns = &p->m;
        of->result.turned = false;
    }
    matrix *const matrices[3] = {&of->left, &of->right, &of->result};
    const int64_t uses[3] = {of->right.columns->size, of->left.rows->size, p->k.size};
    const int along = widest_axis(&p->batch);
    const bool loops = p->batch.rank <= 1 || p->batch.size / p->batch.extents[along] <= LOOPS;
    for (int which = 0; which < 3; which++) {
        matrix *one = matrices[which];
        if (which < 2) {
            look(one);
        }
        of->packed[which] = !one->fits || !loops || (one->conjugate && !one->turned);
        if (one->rows->size > INT32_MAX || one->columns->size > INT32_MAX ||
            one->rows->rank + one->columns->rank + one->batch->rank > RANK ||
            one->rows->rank + one->columns->rank + one->batch->rank > TNRI_KERNEL_RANK ||
            (of->packed[which] && (uses[which] < engine->pack_from || !packed_bytes(one, width)))) {
            return false;
        }
    }
    return p->batch.size <= INT32_MAX;
}

static tnr_status by_blas(tnri_cuda_engine *engine, const tnri_device_product *p, laid_out *of)
{
    matrix *const matrices[3] = {&of->left, &of->right, &of->result};
    const matrix outside = of->result;
    uint64_t bytes = 0;
    for (int which = 0; which < 3; which++) {
        TNR_REQUIRE(!of->packed[which] || tnri_add_u64(bytes, matrices[which]->packed, &bytes), TNR_ERR_OVERFLOW,
                    "%s: packed operands do not fit 64 bits", engine->op);
    }
    uint64_t at = 0;
    if (bytes != 0) {
        TNR_TRY(tnri_engine_keep(engine, TNRI_KEPT_WORK, bytes, &at));
    }
    for (int which = 0; which < 3; which++) {
        if (of->packed[which]) {
            if (which < 2 || !p->overwrite) {
                TNR_TRY(move(engine, matrices[which], p->dtype, at, false));
            }
            become_packed(matrices[which], at);
            at += matrices[which]->packed;
        }
    }
    TNR_TRY(run_batches(engine, p, of));
    return of->packed[2] ? move(engine, &outside, p->dtype, of->result.data, true) : TNR_OK;
}

tnr_status tnri_engine_product(void *state, const tnri_device_product *p)
{
    tnri_cuda_engine *engine = state;
    if (p->k.size == 0 || is_zero(p->alpha)) {
        return scale(engine, p);
    }
    laid_out of;
    if (work_of(p) >= engine->blas_from && (p->m.size > 1 || p->n.size > 1) && lay_out(engine, p, &of)) {
        bool ready;
        TNR_TRY(blas_ready(engine, &ready));
        if (ready) {
            return by_blas(engine, p, &of);
        }
    }
    return by_kernel(engine, p);
}
