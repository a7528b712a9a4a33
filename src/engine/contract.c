/* SPDX-License-Identifier: BSD-3-Clause */
/* Contractions of two: an einsum of one pair (recipe_internal.h), whose labels stand apart. */
#include "tenure/contract.h"
#include "recipe_internal.h"

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const char *a_labels, const tnr_view *b,
                         const char *b_labels, const char *out_labels, const tnr_product_options *options,
                         tnri_target target)
{
    const tnr_view *const operands[2] = {a, b};
    tnri_asked asked = {.op = "contract",
                        .pair = true,
                        .labels = {a_labels, b_labels, out_labels},
                        .operands = operands,
                        .count = 2,
                        .out = target.into != NULL ? &target.into->view : NULL};
    TNR_TRY(tnri_asked_take(&asked, options, NULL));
    return tnri_asked_run(engine, &asked, target);
}

static tnr_status run(tnr_engine *engine, const tnr_view *a, const char *a_labels, const tnr_view *b,
                      const char *b_labels, const char *out_labels, const tnr_product_options *options,
                      tnri_target target)
{
    TNR_TRY(tnri_engine_enter("contract", engine, tnri_target_named(&target)));
    return tnri_engine_leave(engine, inside(engine, a, a_labels, b, b_labels, out_labels, options, target));
}

tnr_status tnr_contract(tnr_engine *engine, const tnr_view *a, const char *a_labels, const tnr_view *b,
                        const char *b_labels, const char *out_labels, const tnr_product_options *options,
                        tnr_tensor **out)
{
    return run(engine, a, a_labels, b, b_labels, out_labels, options, (tnri_target){.made = out});
}

tnr_status tnr_contract_into(tnr_engine *engine, const tnr_view *a, const char *a_labels, const tnr_view *b,
                             const char *b_labels, const char *out_labels, const tnr_product_options *options,
                             const tnr_view_mut *out)
{
    return run(engine, a, a_labels, b, b_labels, out_labels, options, (tnri_target){.into = out});
}
