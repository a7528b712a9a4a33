/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels to groups of axes (product_internal.h). What one operand alone has and the result lacks is summed before (einsum_plan.c).
 *
 * Guarantees: axes of a group come in the order of their steps in the result, else in the first operand that has them.
 */
#include "labels_internal.h"

int tnri_label_number(char character)
{
    if (character >= 'a' && character <= 'z') {
        return character - 'a';
    }
    if (character >= 'A' && character <= 'Z') {
        return 26 + character - 'A';
    }
    return character >= '0' && character <= '9' ? 52 + character - '0' : -1;
}

static int64_t distance(int64_t step) { return step < 0 ? -step : step; }

/* Put an axis where its step in the result, else in the operand, belongs in ascending order. */
static void add_axis(tnri_product_axes *axes, const tnri_label *l)
{
    axes->size *= l->extent;
    if (l->extent == 1) {
        return;
    }
    int at = axes->rank++;
    for (; at > 0; --at) {
        const int64_t before = axes->c[at - 1] != 0   ? axes->c[at - 1]
                               : axes->a[at - 1] != 0 ? axes->a[at - 1]
                                                      : axes->b[at - 1];
        const int64_t own = l->in_c ? l->c : l->a != 0 ? l->a : l->b;
        if (distance(before) <= distance(own)) {
            break;
        }
        axes->extents[at] = axes->extents[at - 1];
        axes->a[at] = axes->a[at - 1];
        axes->b[at] = axes->b[at - 1];
        axes->c[at] = axes->c[at - 1];
    }
    axes->extents[at] = l->extent;
    axes->a[at] = l->a;
    axes->b[at] = l->b;
    axes->c[at] = l->c;
}

/* Neighbours that are one axis in every operand become one. */
static void fuse(tnri_product_axes *axes)
{
    int last = 0;
    for (int i = 1; i < axes->rank; ++i) {
        const int64_t extent = axes->extents[last];
        if (axes->a[i] == axes->a[last] * extent && axes->b[i] == axes->b[last] * extent &&
            axes->c[i] == axes->c[last] * extent) {
            axes->extents[last] *= axes->extents[i];
            continue;
        }
        ++last;
        axes->extents[last] = axes->extents[i];
        axes->a[last] = axes->a[i];
        axes->b[last] = axes->b[i];
        axes->c[last] = axes->c[i];
    }
    axes->rank = axes->rank > 0 ? last + 1 : 0;
}

void tnri_product_add_label(tnri_product *product, const tnri_label *label)
{
    tnri_product_axes *axes = !label->in_c                 ? &product->k
                              : label->in_a && label->in_b ? &product->batch
                              : label->in_a                ? &product->m
                                                           : &product->n;
    add_axis(axes, label);
}

void tnri_product_clear(tnri_product *product)
{
    tnri_product_axes *const groups[] = {&product->m, &product->n, &product->k, &product->batch};
    for (int i = 0; i < 4; ++i) {
        groups[i]->rank = 0;
        groups[i]->size = 1;
    }
}

void tnri_product_fuse(tnri_product *product)
{
    fuse(&product->m);
    fuse(&product->n);
    fuse(&product->k);
    fuse(&product->batch);
}
