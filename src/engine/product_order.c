/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In which order a product by blocks takes the axes of its groups: so that packing reads and writes lines as a whole, where neighbours in an
 * operand are none in the other one or in the result.
 *
 * Guarantees: the order depends on dtype, extents and steps, never on the number of lanes.
 */
#include "product_internal.h"

static void move_step(int64_t *steps, int from, int to)
{
    const int64_t step = steps[from];
    for (int at = from; at > to; --at) {
        steps[at] = steps[at - 1];
    }
    steps[to] = step;
}

/* Axis `from` comes at `to`, before others. */
static void move_axis(tnri_product_axes *axes, int from, int to)
{
    move_step(axes->extents, from, to);
    move_step(axes->a, from, to);
    move_step(axes->b, from, to);
    move_step(axes->c, from, to);
}

/* The first axis becomes two, the first of which has `part` indices, a divisor. */
static void split_first(tnri_product_axes *axes, int64_t part)
{
    const int last = axes->rank++;
    axes->extents[last] = axes->extents[0] / part;
    axes->a[last] = axes->a[0] * part;
    axes->b[last] = axes->b[0] * part;
    axes->c[last] = axes->c[0] * part;
    axes->extents[0] = part;
    move_axis(axes, last, 1);
}

/* The largest divisor of so many indices up to `most` that is a multiple of `unit`; 0: there is none. */
static int64_t divisor(int64_t extent, int64_t most, int64_t unit)
{
    int64_t found = 0;
    for (int64_t part = unit; part <= most; part += unit) {
        found = extent % part == 0 ? part : found;
    }
    return found;
}

/* The first axis, from `first` on, along which elements of an operand are neighbours; the rank: there is none. */
static int unit_axis(const tnri_product_axes *axes, const int64_t *in_operand, int first)
{
    int at = first;
    while (at < axes->rank && in_operand[at] != 1) {
        ++at;
    }
    return at;
}

/*
 * Where neighbours in the result are none in the operand, its neighbours come next, after so few of the former that a second-level
 * cache holds lines of both as a whole: packing reads and writes them so.
 */
static void bring_near(tnri_product_axes *axes, const int64_t *in_operand, const int64_t *in_c, int64_t fitting,
                       int tile)
{
    if (axes->rank < 2 || in_operand[0] == 1 || in_c[0] != 1) {
        return;
    }
    const int near = unit_axis(axes, in_operand, 1);
    if (near == axes->rank) {
        return;
    }
    move_axis(axes, near, 1);
    const int64_t most = fitting < tile ? tile : fitting;
    if (axes->extents[0] > most && axes->rank < TNRI_PRODUCT_RANK) {
        const int64_t whole = divisor(axes->extents[0], most, tile);
        const int64_t part = whole != 0 ? whole : divisor(axes->extents[0], most, 4);
        if (part != 0) {
            split_first(axes, part);
            move_axis(axes, 2, 1); /* the operand's neighbours first again */
        }
    }
}

#define LINES_FROM 4 /* that are packed at once across rows */

/*
 * Neighbours in the result are none in a, while those in a are along some other axis, which becomes the last: the former are rows of a
 * tile, the latter lines that are packed as a whole. Not for so few of either that tiles or lines would be mostly empty.
 */
static bool put_across(const tnri_product_kernel *kernel, tnri_product_axes *m)
{
    if (m->rank < 2 || m->a[0] == 1 || m->c[0] != 1) {
        return false;
    }
    const int near = unit_axis(m, m->a, 1);
    if (near == m->rank || m->extents[near] < LINES_FROM || m->size / m->extents[near] < kernel->step) {
        return false;
    }
    for (int at = near; at + 1 < m->rank; ++at) {
        move_axis(m, at + 1, at);
    }
    return true;
}

#define DEPTH_RUN 16 /* of neighbours of one operand along k, where the other's are along another axis */

/* An operand so many times larger than the other is most of what is packed: the order is its alone. */
#define MUCH_LARGER 2

/*
 * A part of k is to have runs of neighbours of both operands, else their lines would be read for a few elements each: a run of the larger
 * one's, which is its axis or divides it, then the other one's axis, then the rest. Where nothing divides the larger one's axis in such
 * runs, or the other one is small beside it or has no axis of its own, the larger one's axis comes first as a whole. Of two that are as
 * large b comes first: its micro-panels are the narrower ones, whose elements cost more where they are no neighbours.
 */
static void order_depth(tnri_product_axes *k, int64_t m, int64_t n)
{
    const int64_t *in_larger = m > n ? k->a : k->b;
    const int64_t *in_smaller = m > n ? k->b : k->a;
    const bool for_both = m > n ? m / MUCH_LARGER < n : n / MUCH_LARGER < m;
    const int of_larger = unit_axis(k, in_larger, 0);
    const int of_smaller = unit_axis(k, in_smaller, 0);
    const int first = of_larger < k->rank ? of_larger : of_smaller;
    if (first == k->rank) {
        return;
    }
    move_axis(k, first, 0);
    const int64_t run = divisor(k->extents[0], DEPTH_RUN, 4);
    const bool whole = run == k->extents[0];
    if (!for_both || of_smaller == k->rank || of_smaller == first || run == 0 ||
        (!whole && k->rank == TNRI_PRODUCT_RANK)) {
        return;
    }
    move_axis(k, of_smaller > first ? of_smaller : of_smaller + 1, 1);
    if (!whole) {
        split_first(k, run);
        move_axis(k, 2, 1); /* the smaller one's axis before the rest of the larger one's */
    }
}

void tnri_product_order(tnri_product *product)
{
    const tnri_product_kernel *kernel = product->kernel;
    order_depth(&product->k, product->m.size, product->n.size);
    product->across = product->blocks.one_block && put_across(kernel, &product->m);
    if (!product->across) {
        const int64_t lines = tnri_product_rows_bytes(kernel->depth) / (product->blocks.kc * TNRI_PRODUCT_LINE);
        bring_near(&product->m, product->m.a, product->m.c, lines, kernel->mr);
        bring_near(&product->n, product->n.b, product->n.c, lines, kernel->nr);
    }
}
