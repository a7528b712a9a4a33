/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One product by several engines: the result is cut along one of its axes, and each engine makes a part of it in the same rounds.
 *
 * Guarantees: bit for bit the product of one engine, for no sum is cut otherwise and tiles are the same ones; nothing is written before
 * all engines have their scratch.
 */
#include "product_internal.h"
#include "team_internal.h"

/* Indices of a group's slowest axis, along which it can be cut without another layout of the parts. */
static int64_t slowest(const tnri_product_axes *axes) { return axes->rank == 0 ? 1 : axes->extents[axes->rank - 1]; }

static int64_t common_divisor(int64_t x, int64_t y)
{
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* Of how many of these indices all but the last part are multiples, for a part to be whole tiles. */
static int64_t unit_of(const tnri_product_axes *axes, int tile)
{
    return axes->rank == 0 ? 1 : tile / common_divisor(tile, axes->size / axes->extents[axes->rank - 1]);
}

/* Indices begin..end-1 of the slowest axis. The offsets of the first in each operand. */
static void cut(tnri_product_axes *axes, int64_t begin, int64_t end, int64_t *in_a, int64_t *in_b, int64_t *in_c)
{
    const int last = axes->rank - 1;
    axes->size = axes->size / axes->extents[last] * (end - begin);
    axes->extents[last] = end - begin;
    *in_a = begin * axes->a[last];
    *in_b = begin * axes->b[last];
    *in_c = begin * axes->c[last];
}

tnr_status tnri_product_run_by(const tnri_company *company, tnri_product *product, const void *a, const void *b,
                               void *c)
{
    const bool by_columns = product->n.size > product->m.size;
    const tnri_product_axes *whole = by_columns ? &product->n : &product->m;
    const int64_t unit = unit_of(whole, by_columns ? product->kernel->nr : product->kernel->mr);
    const int64_t most = slowest(whole) / unit;
    const int count = most < company->count ? (int)most : company->count;
    if (product->way != TNRI_PRODUCT_BLOCKS || count < 2) {
        return tnri_product_run(company->engines[0], product, a, b, c);
    }
    const int64_t element = (int64_t)tnr_dtype_size(product->dtype);
    tnri_product parts[TNRI_ENGINES_AT_ONCE];
    void *rooms[TNRI_ENGINES_AT_ONCE];
    for (int i = 0; i < count; ++i) {
        tnri_product *part = &parts[i];
        int64_t in_a;
        int64_t in_b;
        int64_t in_c;
        int64_t begin;
        int64_t end;
        *part = *product;
        tnri_product_part(slowest(whole), unit, count, i, &begin, &end);
        cut(by_columns ? &part->n : &part->m, begin, end, &in_a, &in_b, &in_c);
        part->a = (const char *)(product->turned ? b : a) + in_a * element;
        part->b = (const char *)(product->turned ? a : b) + in_b * element;
        part->c = (char *)c + in_c * element;
        tnri_product_choose_part(company->engines[i], part);
        TNR_TRY(tnri_engine_scratch(company->engines[i], tnri_product_scratch(part, part->lanes), &rooms[i]));
    }
    tnri_product_run_blocks(count, company->engines, parts, rooms);
    return TNR_OK;
}
