/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: a key and a recipe (recipe_internal.h) in one block where the engine's own lies, with the settings that the recipe does not have.
 *
 * Guarantees: an engine outlives its plans, for it counts them; a run checks its operands against the key and then does what an ordinary
 * call does that finds its recipe; scratch is the engine's, taken for the largest run when the plan is made, and never becomes less.
 */
#include "tenure/plan.h"
#include "recipe_internal.h"

struct tnr_plan {
    tnr_engine *engine;
    tnr_block record; /* this struct, the key, the recipe */
    bool made;        /* no output was told: runs may make new tensors */
    bool finished;    /* the end is more than a sum */
    tnri_finish finish;
    tnri_path path;
    uint64_t key_bytes;
};

static uint64_t *key_of(const tnr_plan *plan) { return (uint64_t *)(uintptr_t)(plan + 1); }

static tnri_recipe *recipe_of(const tnr_plan *plan)
{
    return (tnri_recipe *)(uintptr_t)((const char *)(plan + 1) + plan->key_bytes);
}

_Static_assert(sizeof(tnr_plan) % 8 == 0, "a key's words follow");

tnr_status tnr_plan_need(int operands, tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "plan_need: need is NULL");
    TNR_REQUIRE(operands >= 1 && operands <= TNR_EINSUM_OPERANDS, TNR_ERR_ARGUMENT,
                "plan_need: 1 to %d operands, found %d", TNR_EINSUM_OPERANDS, operands);
    return tnri_record_need(sizeof(tnr_plan) + TNRI_KEY_MOST((uint64_t)operands) + tnri_recipe_most(operands), need);
}

/* ---- Needs of given plans: what making takes, by the same sums ------------------------------------------------------------------------ */

static uint64_t record_bytes(const tnri_asked *asked, const tnri_made_of *of)
{
    return sizeof(tnr_plan) + tnri_key_bytes(asked) + tnri_recipe_room(of);
}

static tnr_status need_of(tnri_asked *asked, const tnr_product_options *product, const tnr_einsum_options *einsum,
                          tnr_need *need)
{
    tnri_made_of of;
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "%s: need is NULL", asked->op);
    TNR_TRY(tnri_asked_take(asked, product, einsum));
    TNR_TRY(tnri_made_of_take(asked, &of, NULL));
    int64_t count;
    uint64_t bytes;
    TNR_TRY(
        tnri_shape_bytes(asked->op, of.equation.dtype, of.equation.out_rank, of.equation.out_shape, &count, &bytes));
    const tnr_view out = {.dtype = of.equation.dtype, .rank = of.equation.out_rank};
    asked->out = &out;
    const tnr_status status = tnri_record_need(record_bytes(asked, &of), need);
    asked->out = NULL;
    return status;
}

tnr_status tnr_plan_contract_need(const tnr_view *a, const char *a_labels, const tnr_view *b, const char *b_labels,
                                  const char *out_labels, tnr_need *need)
{
    const tnr_view *const operands[2] = {a, b};
    tnri_asked asked = {.op = "plan_contract_need",
                        .pair = true,
                        .labels = {a_labels, b_labels, out_labels},
                        .operands = operands,
                        .count = 2};
    return need_of(&asked, NULL, NULL, need);
}

tnr_status tnr_plan_einsum_need(const char *equation, const tnr_view *const *operands, int count,
                                const tnr_einsum_options *options, tnr_need *need)
{
    tnri_asked asked = {
        .op = "plan_einsum_need", .labels = {equation, NULL, NULL}, .operands = operands, .count = count};
    tnr_einsum_options taken = TNR_EINSUM_OPTIONS;
    tnr_einsum_options *given = NULL;
    if (options != NULL) { /* the factors are of no account, and beta is not refused */
        TNR_REQUIRE(count >= 1 && count <= TNR_EINSUM_OPERANDS, TNR_ERR_ARGUMENT,
                    "%s: 1 to %d operands expected, found %d", asked.op, TNR_EINSUM_OPERANDS, count);
        TNR_TRY(tnri_einsum_options_take(asked.op, options, count, &taken));
        taken.alpha = (tnr_scalar){1.0, 0.0};
        taken.beta = (tnr_scalar){0.0, 0.0};
        given = &taken;
    }
    return need_of(&asked, NULL, given, need);
}

/* ---- Making ------------------------------------------------------------------------------------------------------------------------------ */

/*
 * No owner is asked, so nothing says that a layout's elements are anywhere: but they must be where some memory could be, so that sums
 * of steps stay numbers.
 */
static tnr_status check_layout(const char *op, const tnr_view *view, bool write)
{
    int64_t count;
    uint64_t bytes;
    int64_t low;
    int64_t high;
    TNR_TRY(tnri_shape_bytes(op, view->dtype, view->rank, view->shape, &count, &bytes));
    if (count == 0) {
        return TNR_OK;
    }
    TNR_TRY(tnri_reach(op, view->rank, view->shape, view->strides, &low, &high));
    TNR_REQUIRE(low > -(INT64_MAX >> 5) && high < INT64_MAX >> 5, TNR_ERR_OVERFLOW,
                "%s: an operand reaches further than 63 bits of bytes", op);
    TNR_REQUIRE(!write || tnri_is_distinct(view->rank, view->shape, view->strides), TNR_ERR_OVERLAP,
                "%s: two indices of the output may fall on one element", op);
    return TNR_OK;
}

/* The layout that runs write: that of a new tensor, unless the caller has told one. */
static tnr_status take_out(const tnri_asked *asked, const tnri_equation *e, tnr_view *out)
{
    if (asked->out != NULL) {
        return check_layout(asked->op, asked->out, true);
    }
    int64_t count;
    uint64_t bytes;
    TNR_TRY(tnri_shape_bytes(asked->op, e->dtype, e->out_rank, e->out_shape, &count, &bytes));
    *out = (tnr_view){.dtype = e->dtype, .rank = e->out_rank};
    for (int i = 0; i < e->out_rank; ++i) {
        out->shape[i] = e->out_shape[i];
    }
    tnri_compact_strides(out->rank, out->shape, out->strides);
    return TNR_OK;
}

/* The record, then the scratch: on failure the engine has no more than before. */
static tnr_status make(tnr_engine *engine, const tnri_asked *asked, const tnri_made_of *of, const tnri_path *path,
                       tnr_plan **plan)
{
    tnr_block record;
    const uint64_t key_bytes = tnri_key_bytes(asked);
    tnr_status status = tnri_record_take(engine->domain, record_bytes(asked, of), &record);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        return tnri_failed_in(asked->op, NULL, status);
    }
    tnr_plan *made = record.address;
    made->engine = engine;
    made->record = record;
    made->finish = asked->finish;
    made->finished = !asked->finish.plain || asked->conjugate != 0;
    made->path = *path;
    made->key_bytes = key_bytes;
    tnri_recipe *recipe = recipe_of(made);
    tnri_recipe_make(engine, of, recipe);
    if (tnri_key_make(asked, key_of(made)) != key_bytes || key_bytes == 0) {
        status = tnri_fail(TNR_ERR_ARGUMENT, "%s: a path of other numbers than the operands'", asked->op);
    } else {
        status = tnri_engine_reserve(engine, recipe->span, recipe->behind);
    }
    if (status != TNR_OK) {
        tnri_record_give(engine->domain, &record);
        return status;
    }
    atomic_fetch_add_explicit(&engine->plan_count, 1U, memory_order_relaxed);
    *plan = made;
    return TNR_OK;
}

static tnr_status make_inside(tnr_engine *engine, const tnri_asked *wanted, tnr_plan **plan)
{
    tnri_asked asked = *wanted;
    tnri_made_of of;
    tnri_path path;
    tnr_view out;
    for (int i = 0; i < asked.count; ++i) {
        TNR_TRY(check_layout(asked.op, asked.operands[i], false));
    }
    TNR_TRY(tnri_made_of_take(&asked, &of, &path));
    TNR_TRY(take_out(&asked, &of.equation, &out));
    if (wanted->out == NULL) {
        asked.out = &out;
    }
    of.out_strides = asked.out->strides;
    TNR_TRY(make(engine, &asked, &of, &path, plan));
    (*plan)->made = wanted->out == NULL;
    return TNR_OK;
}

tnr_status tnr_plan_contract(tnr_engine *engine, const tnr_view *a, const char *a_labels, const tnr_view *b,
                             const char *b_labels, const tnr_view *out, const char *out_labels,
                             const tnr_product_options *options, tnr_plan **plan)
{
    const tnr_view *const operands[2] = {a, b};
    tnri_asked asked = {.op = "plan_contract",
                        .pair = true,
                        .labels = {a_labels, b_labels, out_labels},
                        .operands = operands,
                        .count = 2,
                        .out = out};
    TNR_REQUIRE(plan != NULL, TNR_ERR_ARGUMENT, "plan_contract: plan is NULL");
    TNR_TRY(tnri_engine_enter(asked.op, engine, true));
    tnr_status status = tnri_asked_take(&asked, options, NULL);
    if (status == TNR_OK) {
        status = make_inside(engine, &asked, plan);
    }
    return tnri_engine_leave(engine, status);
}

tnr_status tnr_plan_einsum(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                           const tnr_view *out, const tnr_einsum_options *options, tnr_plan **plan)
{
    tnri_asked asked = {.op = "plan_einsum",
                        .pair = false,
                        .labels = {equation, NULL, NULL},
                        .operands = operands,
                        .count = count,
                        .out = out};
    TNR_REQUIRE(plan != NULL, TNR_ERR_ARGUMENT, "plan_einsum: plan is NULL");
    TNR_TRY(tnri_engine_enter(asked.op, engine, true));
    tnr_status status = tnri_asked_take(&asked, NULL, options);
    if (status == TNR_OK) {
        status = make_inside(engine, &asked, plan);
    }
    return tnri_engine_leave(engine, status);
}

tnr_status tnr_plan_destroy(tnr_plan **plan)
{
    if (plan == NULL || *plan == NULL) {
        return TNR_OK;
    }
    tnr_engine *engine = (*plan)->engine;
    TNR_TRY(tnri_engine_enter("plan_destroy", engine, true));
    const tnr_block record = (*plan)->record;
    tnri_record_give(engine->domain, &record);
    atomic_fetch_sub_explicit(&engine->plan_count, 1U, memory_order_relaxed);
    *plan = NULL;
    return tnri_engine_leave(engine, TNR_OK);
}

/* ---- Running ------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status run_inside(const char *op, const tnr_plan *plan, const tnr_view *const *operands, int count,
                             tnri_target target)
{
    const tnr_view *out = target.into != NULL ? &target.into->view : NULL;
    if (out != NULL) {
        TNRI_CHECK_VIEW(op, "out", out);
    }
    TNR_REQUIRE(out != NULL || plan->made, TNR_ERR_LAYOUT, "%s: the plan was made for a view: tnr_plan_run_into", op);
    TNR_TRY(tnri_key_check(op, key_of(plan), operands, count, out));
    const tnri_recipe *recipe = recipe_of(plan);
    tnri_held held;
    TNR_TRY(tnri_held_begin(op, plan->engine, operands, count, plan->finish.overwrite ? TNRI_APART : TNRI_READ_BACK,
                            recipe->rank, recipe->shape, target, &held));
    const tnri_run run = {plan->engine, NULL, operands[0]->dtype, &plan->finish, held.operands};
    return tnri_held_end(plan->engine, &held, target, tnri_recipe_run(recipe, &run));
}

static tnr_status run(const char *op, const tnr_plan *plan, const tnr_view *const *operands, int count,
                      tnri_target target)
{
    TNR_REQUIRE(plan != NULL, TNR_ERR_ARGUMENT, "%s: plan is NULL", op);
    TNR_TRY(tnri_engine_enter(op, plan->engine, tnri_target_named(&target)));
    return tnri_engine_leave(plan->engine, run_inside(op, plan, operands, count, target));
}

tnr_status tnr_plan_run_into(tnr_plan *plan, const tnr_view *const *operands, int count, const tnr_view_mut *out)
{
    return run("plan_run_into", plan, operands, count, (tnri_target){.into = out});
}

tnr_status tnr_plan_run(tnr_plan *plan, const tnr_view *const *operands, int count, tnr_tensor **out)
{
    return run("plan_run", plan, operands, count, (tnri_target){.made = out});
}

/* ---- The path -------------------------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_plan_path(const tnr_plan *plan, tnr_contraction_path *path)
{
    static const char *const op = "plan_path";
    TNR_REQUIRE(plan != NULL && path != NULL, TNR_ERR_ARGUMENT, "plan_path: plan or path is NULL");
    tnr_view views[TNR_EINSUM_OPERANDS];
    const tnr_view *operands[TNR_EINSUM_OPERANDS];
    const char *equation;
    const int count = tnri_key_operands(key_of(plan), views, &equation);
    for (int i = 0; i < count; ++i) {
        operands[i] = &views[i];
    }
    tnri_equation e;
    tnri_einsum_plan made;
    TNR_TRY(tnri_equation_read(op, equation, operands, count, &e));
    TNR_TRY(tnri_einsum_plan_make(op, &e, &plan->path, plan->finished, &made));
    tnri_path_report(&e, &plan->path, &made, path);
    return TNR_OK;
}
