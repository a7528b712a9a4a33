/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scratch of contractions and einsum, before there is an engine. Pure. What a call takes is never more: of the products on its path the
 * largest is counted as if it were packed, which layouts may spare it.
 */
#include "einsum_internal.h"
#include "team_internal.h"

static uint64_t labels_of(const tnri_equation *e, const tnri_einsum_plan *plan, int value)
{
    return value == TNR_NONE ? e->out : value < e->count ? e->operands[value] : plan->values[value].labels;
}

/* Indices of a set of labels. */
static tnr_status indices(const char *op, const tnri_equation *e, uint64_t labels, int64_t *count)
{
    *count = 1;
    for (uint64_t rest = labels & e->longer; rest != 0; rest &= rest - 1) {
        TNR_REQUIRE(tnri_mul_i64(*count, e->extents[tnri_lowest_bit(rest)], count), TNR_ERR_OVERFLOW,
                    "%s: the rows, the columns or the sums of a product do not fit 63 bits", op);
    }
    return TNR_OK;
}

/* What one product takes, none of whose groups is empty. */
static tnr_status product_bytes(const char *op, const tnri_equation *e, const tnri_einsum_plan *plan,
                                const tnri_einsum_op *product, int lanes, uint64_t *bytes)
{
    const uint64_t a = labels_of(e, plan, product->a);
    const uint64_t b = labels_of(e, plan, product->b);
    const uint64_t c = labels_of(e, plan, product->to);
    int64_t m;
    int64_t n;
    int64_t k;
    TNR_TRY(indices(op, e, a & c & ~b, &m));
    TNR_TRY(indices(op, e, b & c & ~a, &n));
    TNR_TRY(indices(op, e, (a | b) & ~c, &k));
    *bytes = tnri_product_bytes(e->dtype, m, n, k, lanes);
    return TNR_OK;
}

static tnr_status need_of(const char *op, const tnri_equation *e, const tnri_einsum_plan *plan, int workers,
                          tnr_need *need)
{
    TNR_REQUIRE(workers >= 0 && workers <= TNR_MAX_CPUS, TNR_ERR_ARGUMENT, "%s: %d workers", op, workers);
    int64_t count;
    uint64_t result;
    TNR_TRY(tnri_shape_bytes(op, e->dtype, e->out_rank, e->out_shape, &count, &result)); /* or no call makes it */
    uint64_t behind = 0;
    for (int i = 0; i < plan->count && !e->empty; ++i) {
        if (plan->ops[i].b != TNR_NONE) { /* sums, copies and factors take none */
            uint64_t bytes;
            TNR_TRY(product_bytes(op, e, plan, &plan->ops[i], tnri_most_lanes(workers), &bytes));
            behind = tnri_max_u64(behind, bytes);
        }
    }
    uint64_t sum;
    TNR_REQUIRE(tnri_add_u64(plan->bytes, behind, &sum) && sum <= (uint64_t)INT64_MAX, TNR_ERR_OVERFLOW,
                "%s: scratch of %llu and %llu bytes does not fit 63 bits", op, TNRI_LLU(plan->bytes), TNRI_LLU(behind));
    return tnr_block_need(sum, 1, need);
}

tnr_status tnr_einsum_need(const char *equation, const tnr_view *const *operands, int count,
                           const tnr_einsum_options *options, int workers, tnr_need *need)
{
    static const char *const op = "einsum_need";
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "%s: need is NULL", op);
    tnri_equation e;
    tnri_path path;
    tnri_einsum_plan plan;
    TNR_TRY(tnri_einsum_consider(op, equation, operands, count, options, &e, &path, &plan));
    return need_of(op, &e, &plan, workers, need);
}

tnr_status tnr_contract_need(const tnr_view *a, const char *a_labels, const tnr_view *b, const char *b_labels,
                             const char *out_labels, int workers, tnr_need *need)
{
    static const char *const op = "contract_need";
    static const char *const names[2] = {"a", "b"};
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "%s: need is NULL", op);
    const tnr_view *const operands[2] = {a, b};
    const char *const labels[3] = {a_labels, b_labels, out_labels};
    tnri_equation e;
    tnri_path path;
    tnri_einsum_plan plan;
    TNR_TRY(tnri_operands_check(op, operands, 2, names));
    TNR_TRY(tnri_equation_of_pair(op, labels, operands, &e));
    if (!tnri_has_product(e.dtype)) {
        return tnri_fail_unsupported(op, e.dtype);
    }
    tnri_path_of_pair(&path);
    TNR_TRY(tnri_einsum_plan_make(op, &e, &path, false, &plan));
    return need_of(op, &e, &plan, workers, need);
}
