/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps run, stored and found again.
 *
 * A stored step is its head, and for a product what tnri_product has before and behind its groups of axes, each group's size, and of each
 * list of steps as many entries as the group has axes.
 */
#include "kernels/reduce_kernels.h"
#include "recipe_internal.h"
#include "reduce_internal.h"
#include "structure_internal.h"
#include "team_internal.h"

static const tnri_reduce_table *const reducers[TNRI_ISA_END] = TNRI_ISA_TABLES(tnri_reduce_kernels);

/* ---- Running one step --------------------------------------------------------------------------------------------------------------- */

static char *address_of(const tnri_run *run, char *span, tnri_place place)
{
    static const tnr_c64 double_one = {1.0, 0.0};
    static const tnr_c32 single_one = {1.0F, 0.0F};
    switch (place.where) {
    case TNRI_AT_OPERAND:
        return run->operands[place.at].data;
    case TNRI_IN_SPAN:
        return span + place.at;
    case TNRI_AT_ONE: /* is only read */
        return run->dtype == TNR_F32 || run->dtype == TNR_C32 ? (char *)(uintptr_t)&single_one
                                                              : (char *)(uintptr_t)&double_one;
    case TNRI_NOWHERE:
        break;
    }
    return NULL;
}

static tnr_status sum(const tnri_run *run, const tnri_step_sum *step, const char *source, char *target)
{
    tnr_view joined = {.dtype = run->dtype, .rank = step->rank};
    for (int i = 0; i < step->rank; ++i) {
        joined.shape[i] = step->shape[i];
        joined.strides[i] = step->strides[i];
    }
    if (tnri_is_device(run->engine)) {
        return tnri_device_reduce(run->engine, TNRI_REDUCE_SUM, &joined, step->spread, source, run->dtype, target);
    }
    tnri_reduce_walk(run->engine, 0, &reducers[run->engine->isa]->reducers[TNRI_REDUCE_SUM][run->dtype], &joined,
                     step->spread, source, target, tnr_dtype_size(run->dtype));
    return TNR_OK;
}

static tnr_status multiply(const tnri_run *run, char *span, tnri_step_product *step)
{
    if (step->last) { /* alpha and beta may be others than when it was made; conjugates are not */
        tnri_finish *finish = &step->product.finish;
        const bool conjugate_a = finish->conjugate_a;
        const bool conjugate_b = finish->conjugate_b;
        *finish = *run->finish;
        finish->conjugate_a = conjugate_a;
        finish->conjugate_b = conjugate_b;
    }
    const void *a = address_of(run, span, step->a);
    const void *b = address_of(run, span, step->b);
    void *c = address_of(run, span, step->c);
    if (tnri_is_device(run->engine) && step->b.where == TNRI_AT_ONE) {
        TNR_TRY(tnri_device_one(run->engine, run->dtype, &b));
    }
    return run->company != NULL ? tnri_product_run_by(run->company, &step->product, a, b, c)
                                : tnri_product_run(run->engine, &step->product, a, b, c);
}

static tnr_status run_sum(const tnri_run *run, char *span, const tnri_step_sum *step)
{
    const char *source = address_of(run, span, step->a);
    char *target = address_of(run, span, step->c);
    if (step->kind == TNRI_STEP_SUM) {
        return sum(run, step, source, target);
    }
    return tnri_copy_on_lanes(run->engine, tnr_dtype_size(run->dtype), step->rank, step->shape, target, step->spread,
                              source, step->strides);
}

/* ---- One after the other --------------------------------------------------------------------------------------------------------------- */

static TNRI_NOINLINE tnr_status make_and_multiply(const tnri_made_of *of, int number, const tnri_run *run, char *span)
{
    tnri_step_product step;
    tnri_step_product_make(run->engine, of, number, &step);
    return multiply(run, span, &step);
}

static TNRI_NOINLINE tnr_status make_and_sum(const tnri_made_of *of, int number, const tnri_run *run, char *span)
{
    tnri_step_sum step;
    tnri_sum_step_make(of, number, &step);
    return run_sum(run, span, &step);
}

/* Scratch of the product that a step is. */
static TNRI_NOINLINE uint64_t scratch_of(const tnr_engine *engine, const tnri_made_of *of, int number)
{
    if (!tnri_step_is_product(of, number)) {
        return 0;
    }
    tnri_step_product step;
    tnri_step_product_make(engine, of, number, &step);
    return tnri_product_scratch(&step.product, tnri_engine_most_lanes(engine));
}

tnr_status tnri_made_of_run(const tnri_made_of *of, const tnri_run *run)
{
    void *span = NULL;
    if (of->plan.bytes != 0 && of->steps > 1) {
        uint64_t behind = 0;
        for (int i = 0; i < of->steps; ++i) {
            behind = tnri_max_u64(behind, scratch_of(run->engine, of, i));
        }
        TNR_TRY(tnri_engine_hold(run->engine, of->plan.bytes, behind, &span));
    }
    tnr_status status = TNR_OK;
    for (int i = 0; i < of->steps && status == TNR_OK; ++i) {
        if (tnri_step_is_product(of, i)) {
            status = make_and_multiply(of, i, run, span);
        } else {
            status = make_and_sum(of, i, run, span);
        }
    }
    tnri_engine_let_go(run->engine);
    return status;
}

/* ---- Stored ------------------------------------------------------------------------------------------------------------------------------ */

typedef struct stored_step {
    tnri_place a, b, c;
    uint32_t bytes; /* to the next */
    uint8_t kind;
    uint8_t last;
    uint8_t ranks[4]; /* of the groups; of a sum the first */
} stored_step;

enum {
    BEFORE_BYTES = offsetof(tnri_product, m),
    BEHIND = offsetof(tnri_product, batch) + sizeof(tnri_product_axes),
    BEHIND_BYTES = sizeof(tnri_product) - BEHIND
};

_Static_assert(sizeof(stored_step) % 8 == 0 && BEFORE_BYTES % 8 == 0 && BEHIND_BYTES % 8 == 0, "all is aligned");

#define AXIS_BYTES (4 * sizeof(int64_t)) /* of a group: extent and three steps */
/* Of a product without axes, but for one more of m, of n and of k (tnri_product_prepare). */
#define PRODUCT_BYTES (sizeof(stored_step) + BEFORE_BYTES + BEHIND_BYTES + 4 * sizeof(int64_t) + 3 * AXIS_BYTES)
#define SUM_AXIS_BYTES (3 * sizeof(int64_t)) /* extent, step, step */

/* One list of a group's numbers, and where the next one is. */
static inline char *put_numbers(char *to, const int64_t *numbers, int count)
{
    memcpy(to, numbers, (size_t)count * sizeof *numbers);
    return to + (size_t)count * sizeof *numbers;
}

static inline const char *get_numbers(const char *from, int64_t *numbers, int count)
{
    for (int i = 0; i < count; ++i) { /* mostly one or none */
        memcpy(&numbers[i], from + (size_t)i * sizeof *numbers, sizeof *numbers);
    }
    return from + (size_t)count * sizeof *numbers;
}

/* Axis by axis. */
static char *put_axes(char *at, const tnri_product_axes *axes)
{
    at = put_numbers(at, &axes->size, 1);
    for (int i = 0; i < axes->rank; ++i) {
        at = put_numbers(at, (const int64_t[]){axes->extents[i], axes->a[i], axes->b[i], axes->c[i]}, 4);
    }
    return at;
}

static inline const char *get_axes(const char *at, int rank, tnri_product_axes *axes)
{
    axes->rank = rank;
    memcpy(&axes->size, at, sizeof axes->size);
    at += sizeof axes->size;
    for (int i = 0; i < rank; ++i, at += AXIS_BYTES) { /* mostly one or none */
        int64_t axis[4];
        memcpy(axis, at, AXIS_BYTES);
        axes->extents[i] = axis[0];
        axes->a[i] = axis[1];
        axes->b[i] = axis[2];
        axes->c[i] = axis[3];
    }
    return at;
}

/* The step at `to`, whose numbers end at `at`; how many bytes it takes. */
static uint64_t put_head(stored_step *head, char *to, const char *at)
{
    head->bytes = (uint32_t)(at - to);
    memcpy(to, head, sizeof *head);
    return head->bytes;
}

static uint64_t store_product(const tnri_step_product *step, char *to)
{
    const tnri_product *p = &step->product;
    const tnri_product_axes *const groups[4] = {&p->m, &p->n, &p->k, &p->batch};
    stored_step head = {
        .a = step->a, .b = step->b, .c = step->c, .kind = TNRI_STEP_PRODUCT, .last = (uint8_t)step->last};
    char *at = to + sizeof head;
    memcpy(at, p, BEFORE_BYTES);
    at += BEFORE_BYTES;
    memcpy(at, (const char *)p + BEHIND, BEHIND_BYTES);
    at += BEHIND_BYTES;
    for (int i = 0; i < 4; ++i) {
        head.ranks[i] = (uint8_t)groups[i]->rank;
        at = put_axes(at, groups[i]);
    }
    return put_head(&head, to, at);
}

static uint64_t store_sum(const tnri_step_sum *step, char *to)
{
    stored_step head = {.a = step->a,
                        .b = {0, TNRI_NOWHERE},
                        .c = step->c,
                        .kind = (uint8_t)step->kind,
                        .ranks = {(uint8_t)step->rank}};
    char *at = put_numbers(to + sizeof head, step->shape, step->rank);
    at = put_numbers(at, step->strides, step->rank);
    at = put_numbers(at, step->spread, step->rank);
    return put_head(&head, to, at);
}

/* Of the head at `from`. */
static void load_product(const stored_step *head, const char *from, tnri_step_product *step)
{
    const char *at = from + sizeof *head;
    tnri_product *p = &step->product;
    step->a = head->a;
    step->b = head->b;
    step->c = head->c;
    step->last = head->last != 0;
    memcpy(p, at, BEFORE_BYTES);
    at += BEFORE_BYTES;
    memcpy((char *)p + BEHIND, at, BEHIND_BYTES);
    at += BEHIND_BYTES;
    at = get_axes(at, head->ranks[0], &p->m);
    at = get_axes(at, head->ranks[1], &p->n);
    at = get_axes(at, head->ranks[2], &p->k);
    (void)get_axes(at, head->ranks[3], &p->batch);
}

static void load_sum(const stored_step *head, const char *from, tnri_step_sum *step)
{
    step->kind = (tnri_step_kind)head->kind;
    step->a = head->a;
    step->c = head->c;
    step->rank = head->ranks[0];
    const char *at = get_numbers(from + sizeof *head, step->shape, step->rank);
    at = get_numbers(at, step->strides, step->rank);
    (void)get_numbers(at, step->spread, step->rank);
}

/* ---- Recipes ------------------------------------------------------------------------------------------------------------------------------- */

static uint64_t room(int operands, uint64_t labels, uint64_t axes)
{
    const uint64_t products = operands > 1 ? (uint64_t)operands - 1 : 1;
    const uint64_t sums = (uint64_t)operands;
    return sizeof(tnri_recipe) + products * (PRODUCT_BYTES + labels * AXIS_BYTES) + sums * sizeof(stored_step) +
           axes * SUM_AXIS_BYTES;
}

uint64_t tnri_recipe_room(const tnri_made_of *of)
{
    uint64_t axes = 0;
    for (int i = 0; i < of->equation.count; ++i) {
        axes += of->equation.ranks[i];
    }
    return room(of->equation.count, (uint64_t)of->equation.labels, axes);
}

uint64_t tnri_recipe_most(int operands)
{
    const uint64_t axes = (uint64_t)operands * TNR_MAX_RANK;
    return room(operands, axes < TNRI_LABELS ? axes : TNRI_LABELS, axes);
}

static TNRI_NOINLINE uint64_t make_and_store_product(const tnr_engine *engine, const tnri_made_of *of, int number,
                                                     char *to, uint64_t *behind)
{
    tnri_step_product step;
    tnri_step_product_make(engine, of, number, &step);
    *behind = tnri_max_u64(*behind, tnri_product_scratch(&step.product, tnri_engine_most_lanes(engine)));
    return store_product(&step, to);
}

static TNRI_NOINLINE uint64_t make_and_store_sum(const tnri_made_of *of, int number, char *to)
{
    tnri_step_sum step;
    tnri_sum_step_make(of, number, &step);
    return store_sum(&step, to);
}

void tnri_recipe_make(const tnr_engine *engine, const tnri_made_of *of, tnri_recipe *recipe)
{
    uint64_t bytes = sizeof *recipe;
    uint64_t behind = 0;
    for (int i = 0; i < of->steps; ++i) {
        char *to = (char *)recipe + bytes;
        bytes += tnri_step_is_product(of, i) ? make_and_store_product(engine, of, i, to, &behind)
                                             : make_and_store_sum(of, i, to);
    }
    recipe->bytes = bytes;
    recipe->span = of->steps > 1 ? of->plan.bytes : 0;
    recipe->behind = behind;
    recipe->steps = of->steps;
    recipe->rank = of->equation.out_rank;
    for (int i = 0; i < recipe->rank; ++i) {
        recipe->shape[i] = of->equation.out_shape[i];
    }
}

static TNRI_NOINLINE tnr_status load_and_multiply(const stored_step *head, const char *from, const tnri_run *run,
                                                  char *span)
{
    tnri_step_product step;
    load_product(head, from, &step);
    return multiply(run, span, &step);
}

static TNRI_NOINLINE tnr_status load_and_sum(const stored_step *head, const char *from, const tnri_run *run, char *span)
{
    tnri_step_sum step;
    load_sum(head, from, &step);
    return run_sum(run, span, &step);
}

tnr_status tnri_recipe_run(const tnri_recipe *recipe, const tnri_run *run)
{
    void *span = NULL;
    if (recipe->span != 0) {
        TNR_TRY(tnri_engine_hold(run->engine, recipe->span, recipe->behind, &span));
    }
    const char *at = (const char *)(recipe + 1);
    tnr_status status = TNR_OK;
    for (int i = 0; i < recipe->steps && status == TNR_OK; ++i) {
        stored_step head;
        memcpy(&head, at, sizeof head);
        if (head.kind == TNRI_STEP_PRODUCT) {
            status = load_and_multiply(&head, at, run, span);
        } else {
            status = load_and_sum(&head, at, run, span);
        }
        at += head.bytes;
    }
    tnri_engine_let_go(run->engine);
    return status;
}
