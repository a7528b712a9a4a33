/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordinary calls of contractions and einsum: what is asked for, its recipe from the cache or made now, leases of all operands and the
 * output, and then one step after the other. The last one writes the output; before it only scratch is written.
 */
#include "recipe_internal.h"

/* ---- What is asked for ------------------------------------------------------------------------------------------------------------- */

/* A contraction's settings as an einsum's. */
static tnr_status take_product(tnri_asked *asked, const tnr_product_options *options)
{
    tnr_product_options taken = TNR_PRODUCT_OPTIONS;
    TNR_TRY(tnri_options_take(asked->op, options, sizeof taken, &taken, sizeof taken));
    asked->options.conjugate = (uint64_t)taken.conjugate_a | (uint64_t)taken.conjugate_b << 1;
    asked->options.alpha = taken.alpha;
    asked->options.beta = taken.beta;
    return TNR_OK;
}

tnr_status tnri_asked_take(tnri_asked *asked, const tnr_product_options *product, const tnr_einsum_options *einsum)
{
    static const tnr_einsum_options defaults = TNR_EINSUM_OPTIONS;
    static const char *const names[] = {"a", "b"};
    TNR_TRY(tnri_operands_check(asked->op, asked->operands, asked->count, asked->pair ? names : NULL));
    if (asked->out != NULL) {
        TNRI_CHECK_VIEW(asked->op, "out", asked->out);
    }
    const tnr_dtype dtype = asked->operands[0]->dtype;
    if (asked->out != NULL && TNRI_UNLIKELY(asked->out->dtype != dtype)) { /* no part of a key */
        return tnri_fail_out_dtype(asked->op, dtype, asked->out->dtype);
    }
    asked->options = defaults;
    if (asked->pair) {
        TNR_TRY(take_product(asked, product));
    } else {
        TNR_TRY(tnri_einsum_options_take(asked->op, einsum, asked->count, &asked->options));
    }
    asked->conjugate = tnri_is_complex(dtype) ? asked->options.conjugate : 0;
    tnr_product_options factors = TNR_PRODUCT_OPTIONS;
    factors.alpha = asked->options.alpha;
    factors.beta = asked->options.beta;
    return tnri_finish_take(asked->op, &factors, dtype, asked->out != NULL, &asked->finish);
}

/* ---- Operands and output -------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_held_begin(const char *op, tnr_engine *engine, const tnr_view *const *operands, int count,
                           bool overwrite, int rank, const int64_t *shape, tnri_target target, tnri_held *held)
{
    held->count = count;
    for (int i = 1; i <= count; ++i) {
        held->operands[i].view = operands[i - 1];
        held->operands[i].write = false;
    }
    if (tnri_is_device(engine)) {
        const tnri_aliasing aliasing = overwrite || target.into == NULL ? TNRI_APART : TNRI_READ_BACK;
        const tnri_device_frame frame = {
            op,    held->operands,        count,        aliasing, target.into, operands[0]->dtype, rank,
            shape, TNR_ALLOCATION_OUTPUT, &held->output};
        TNR_TRY(tnri_device_begin(engine, &frame));
        held->out_strides = held->operands[0].view->strides;
        return TNR_OK;
    }
    if (target.into != NULL) {
        held->operands[0].view = &target.into->view;
        held->operands[0].write = true;
        held->out_strides = target.into->view.strides;
        return tnri_access_begin(op, held->operands, 1 + count, overwrite ? TNRI_APART : TNRI_READ_BACK);
    }
    TNR_TRY(tnri_access_begin(op, held->operands + 1, count, TNRI_APART));
    const tnr_status status =
        tnri_output_begin(op, engine->output, operands[0]->dtype, rank, shape, TNR_ALLOCATION_OUTPUT, &held->output);
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        (void)tnri_access_end(held->operands + 1, count);
        return status;
    }
    held->operands[0].view = &held->output.view;
    held->operands[0].data = held->output.data;
    held->out_strides = held->output.view.strides;
    return TNR_OK;
}

/* Inputs first: when one of them cannot be given back, the new tensor is not made. */
tnr_status tnri_held_end(tnr_engine *engine, tnri_held *held, tnri_target target, tnr_status status)
{
    if (tnri_is_device(engine)) {
        return tnri_device_end(engine, held->operands, held->count, &held->output, target, status);
    }
    if (target.into != NULL) {
        const tnr_status ended = tnri_access_end(held->operands, 1 + held->count);
        return status == TNR_OK ? ended : status;
    }
    const tnr_status ended = tnri_access_end(held->operands + 1, held->count);
    return tnri_output_end(&held->output, status == TNR_OK ? ended : status, target.made);
}

/* ---- The call ------------------------------------------------------------------------------------------------------------------------------ */

/* By what is in the cache. */
static TNRI_NOINLINE tnr_status run_found(tnr_engine *engine, const tnri_asked *asked, const tnri_recipe *recipe,
                                          tnri_target target)
{
    tnri_held held;
    TNR_TRY(tnri_held_begin(asked->op, engine, asked->operands, asked->count, asked->finish.overwrite, recipe->rank,
                            recipe->shape, target, &held));
    const tnri_run run = {engine, NULL, asked->operands[0]->dtype, &asked->finish, held.operands};
    return tnri_held_end(engine, &held, target, tnri_recipe_run(recipe, &run));
}

/* Keys are long, and of no use while something is planned or run: each of these two has one in a frame of its own. */
static TNRI_NOINLINE const tnri_recipe *find(tnr_engine *engine, const tnri_asked *asked)
{
    uint64_t key[TNRI_KEY_MOST((size_t)TNR_EINSUM_OPERANDS) / sizeof(uint64_t)];
    const uint64_t bytes = tnri_key_make(asked, key);
    return bytes != 0 ? tnri_plan_cache_find(engine->plans, key, bytes) : NULL;
}

static TNRI_NOINLINE tnri_recipe *room_for(tnr_engine *engine, const tnri_asked *asked, uint64_t room)
{
    uint64_t key[TNRI_KEY_MOST((size_t)TNR_EINSUM_OPERANDS) / sizeof(uint64_t)];
    const uint64_t bytes = tnri_key_make(asked, key);
    return bytes != 0 ? tnri_plan_cache_room(engine->plans, key, bytes, room) : NULL;
}

/* By what is planned now; and remember it where that is wanted. */
static TNRI_NOINLINE tnr_status run_anew(tnr_engine *engine, const tnri_company *company, const tnri_asked *asked,
                                         bool remember, tnri_target target)
{
    tnri_made_of of;
    TNR_TRY(tnri_made_of_take(asked, &of, NULL));
    tnri_held held;
    TNR_TRY(tnri_held_begin(asked->op, engine, asked->operands, asked->count, asked->finish.overwrite,
                            of.equation.out_rank, of.equation.out_shape, target, &held));
    of.out_strides = held.out_strides;
    const tnri_run run = {engine, company, of.equation.dtype, &asked->finish, held.operands};
    tnri_recipe *recipe = remember ? room_for(engine, asked, tnri_recipe_room(&of)) : NULL;
    if (recipe == NULL) {
        return tnri_held_end(engine, &held, target, tnri_made_of_run(&of, &run));
    }
    tnri_recipe_make(engine, &of, recipe);
    tnri_plan_cache_keep(engine->plans, recipe);
    return tnri_held_end(engine, &held, target, tnri_recipe_run(recipe, &run));
}

tnr_status tnri_asked_run(tnr_engine *engine, const tnri_asked *asked, tnri_target target)
{
    const tnri_recipe *recipe = engine->plans != NULL ? find(engine, asked) : NULL;
    return recipe != NULL ? run_found(engine, asked, recipe, target)
                          : run_anew(engine, NULL, asked, engine->plans != NULL, target);
}

tnr_status tnri_asked_run_by(const tnri_company *company, const tnri_asked *asked, tnri_target target)
{
    return run_anew(company->engines[0], company, asked, false, target);
}

/* ---- Einsum -------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status inside(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                         const tnr_einsum_options *options, tnri_target target)
{
    tnri_asked asked = {.op = "einsum",
                        .labels = {equation, NULL, NULL},
                        .operands = operands,
                        .count = count,
                        .out = target.into != NULL ? &target.into->view : NULL};
    TNR_TRY(tnri_asked_take(&asked, NULL, options));
    return tnri_asked_run(engine, &asked, target);
}

static tnr_status run(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                      const tnr_einsum_options *options, tnri_target target)
{
    TNR_TRY(tnri_engine_enter("einsum", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, equation, operands, count, options, target));
}

tnr_status tnr_einsum(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                      const tnr_einsum_options *options, tnr_tensor **out)
{
    return run(engine, equation, operands, count, options, (tnri_target){.made = out});
}

tnr_status tnr_einsum_into(tnr_engine *engine, const char *equation, const tnr_view *const *operands, int count,
                           const tnr_einsum_options *options, const tnr_view_mut *out)
{
    return run(engine, equation, operands, count, options, (tnri_target){.into = out});
}
