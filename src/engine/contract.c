/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contractions: labels to groups of axes (labels_internal.h), and these to a product (product_internal.h).
 *
 * A label that occurs several times in an operand is one axis whose step is the sum of theirs.
 */
#include "tenure/contract.h"
#include "labels_internal.h"

typedef struct labels {
    tnri_label of[TNRI_LABELS];
    int order[TNRI_LABELS]; /* as they were met first */
    int count;
} labels;

/* A label as a text, for failures. */
typedef struct label_name {
    char text[2];
} label_name;

static label_name name_of(char label) { return (label_name){{label, '\0'}}; }

static tnr_status number_of(const char *op, const char *name, char character, int *number)
{
    *number = tnri_label_number(character);
    TNR_REQUIRE(*number >= 0, TNR_ERR_ARGUMENT, "%s: labels of %s: character number %d is neither a letter nor a digit",
                op, name, (int)(unsigned char)character);
    return TNR_OK;
}

static tnr_status count_of(const char *op, const char *name, const char *text, size_t *count)
{
    TNR_REQUIRE(text != NULL, TNR_ERR_ARGUMENT, "%s: labels of %s are NULL", op, name);
    *count = 0;
    while (*count <= TNR_MAX_RANK && text[*count] != '\0') {
        ++*count;
    }
    return TNR_OK;
}

/* The labels of an operand and what its view says of them. */
static tnr_status read_operand(const char *op, const char *name, const tnr_view *view, const char *text, bool second,
                               labels *all)
{
    size_t count;
    TNR_TRY(count_of(op, name, text, &count));
    TNR_REQUIRE(count == (size_t)view->rank, TNR_ERR_SHAPE, "%s: %s has rank %d, and labels for %s%d axes", op, name,
                (int)view->rank, count > TNR_MAX_RANK ? "more than " : "",
                (int)(count > TNR_MAX_RANK ? (size_t)TNR_MAX_RANK : count));
    for (int i = 0; i < view->rank; ++i) {
        int number;
        TNR_TRY(number_of(op, name, text[i], &number));
        tnri_label *l = &all->of[number];
        if (!l->in_a && !l->in_b) {
            l->extent = view->shape[i];
            all->order[all->count++] = number;
        }
        TNR_REQUIRE(l->extent == view->shape[i], TNR_ERR_SHAPE, "%s: label %s has extents %lld and, in %s, %lld", op,
                    name_of(text[i]).text, TNRI_LL(l->extent), name, TNRI_LL(view->shape[i]));
        /* the step along an extent of 1 means nothing and may be anything */
        const int64_t step = view->shape[i] == 1 ? 0 : view->strides[i];
        if (second) {
            l->in_b = true;
            l->b += step;
        } else {
            l->in_a = true;
            l->a += step;
        }
    }
    return TNR_OK;
}

static tnr_status read_result(const char *op, const char *text, labels *all, int *rank, int64_t *shape)
{
    size_t count;
    TNR_TRY(count_of(op, "out", text, &count));
    TNR_REQUIRE(count <= TNR_MAX_RANK, TNR_ERR_SHAPE, "%s: labels of out are for more than %d axes", op, TNR_MAX_RANK);
    for (size_t i = 0; i < count; ++i) {
        int number;
        TNR_TRY(number_of(op, "out", text[i], &number));
        tnri_label *l = &all->of[number];
        TNR_REQUIRE(l->in_a || l->in_b, TNR_ERR_ARGUMENT, "%s: label %s of out is in neither operand", op,
                    name_of(text[i]).text);
        TNR_REQUIRE(!l->in_c, TNR_ERR_ARGUMENT, "%s: label %s is twice in out", op, name_of(text[i]).text);
        l->in_c = true;
        shape[i] = l->extent;
    }
    *rank = (int)count;
    return TNR_OK;
}

/* Operands are leased and nothing is written yet. */
static tnr_status compute(tnr_engine *engine, labels *all, const char *out_labels, const tnri_call *call,
                          tnri_product *product)
{
    tnri_product_clear(product);
    for (int i = 0; i < call->rank; ++i) {
        all->of[tnri_label_number(out_labels[i])].c = call->shape[i] == 1 ? 0 : call->out->strides[i];
    }
    for (int i = 0; i < all->count; ++i) {
        tnri_product_add_label(product, &all->of[all->order[i]]);
    }
    if (product->m.size == 0 || product->n.size == 0 || product->batch.size == 0) {
        return TNR_OK;
    }
    tnri_product_fuse(product);
    product->dtype = call->dtype;
    product->a = call->operands[1].data;
    product->b = call->operands[2].data;
    product->c = call->operands[0].data;
    return tnri_product_run(engine, product);
}

static tnr_status inside(tnr_engine *engine, const tnr_view *a, const char *a_labels, const tnr_view *b,
                         const char *b_labels, const char *out_labels, const tnr_product_options *options,
                         tnri_target target)
{
    static const char *const op = "contract";
    TNRI_CHECK_VIEW(op, "a", a);
    TNRI_CHECK_VIEW(op, "b", b);
    if (TNRI_UNLIKELY(a->dtype != b->dtype)) {
        return tnri_fail_dtype(op, a->dtype, b->dtype);
    }
    labels all = {.count = 0};
    int rank;
    int64_t shape[TNR_MAX_RANK];
    TNR_TRY(read_operand(op, "a", a, a_labels, false, &all));
    TNR_TRY(read_operand(op, "b", b, b_labels, true, &all));
    TNR_TRY(read_result(op, out_labels, &all, &rank, shape));
    TNR_TRY(tnri_check_into(op, target.into, a->dtype, rank, shape));
    if (TNRI_UNLIKELY(!tnri_has_product(a->dtype))) {
        return tnri_fail_unsupported(op, a->dtype);
    }
    tnri_product product;
    TNR_TRY(tnri_finish_take(op, options, a->dtype, target.into != NULL, &product.finish));
    tnri_call call;
    call.op = op;
    call.inputs = 2;
    call.dtype = a->dtype;
    call.rank = rank;
    call.shape = shape;
    call.reason = TNR_ALLOCATION_OUTPUT;
    call.aliasing = product.finish.overwrite ? TNRI_APART : TNRI_READ_BACK;
    call.operands[1].view = a;
    call.operands[2].view = b;
    TNR_TRY(tnri_call_begin(engine, &call, target));
    return tnri_call_end(&call, target, compute(engine, &all, out_labels, &call, &product));
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
