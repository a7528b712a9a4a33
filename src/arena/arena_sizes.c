/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How large an arena's region and bookkeeping must be for a stated need, and where both lie in what is given: the same
 * arithmetic, forwards and backwards. Takes and changes no memory.
 */
#include "arena_internal.h"
#include "tlsf_internal.h"

static uint64_t control_need(uint32_t rows, uint32_t max_blocks)
{
    return tnri_arena_head_bytes + tnri_tlsf_table_bytes(rows, max_blocks);
}

/* Smallest granule of at least `page` bytes of which a region of `bytes` bytes has no more than 32 bits can number. */
static uint64_t granule_of(uint64_t bytes, uint64_t page)
{
    uint64_t granule = tnri_max_u64(page, TNRI_UNIT);
    while (bytes / granule > TNRI_TLSF_MOST_UNITS) {
        granule *= 2;
    }
    return granule;
}

tnr_status tnri_arena_options(const char *op, const tnr_arena_options *given, tnr_arena_options *options)
{
    const tnr_arena_options defaults = TNR_ARENA_OPTIONS;
    *options = defaults;
    TNR_TRY(tnri_options_take(op, given, sizeof(*options), options, sizeof(*options)));
    TNR_REQUIRE(options->page == 0 || tnri_is_power_of_two(options->page), TNR_ERR_ARGUMENT,
                "%s: page %llu is no power of two", op, TNRI_LLU(options->page));
    TNR_REQUIRE(options->max_blocks <= TNRI_TLSF_MOST_BLOCKS, TNR_ERR_ARGUMENT, "%s: max_blocks %llu is above %llu", op,
                TNRI_LLU(options->max_blocks), TNRI_LLU(TNRI_TLSF_MOST_BLOCKS));
    return TNR_OK;
}

tnr_status tnr_block_need(uint64_t bytes, uint64_t count, tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "block_need: need must not be NULL");
    uint64_t rounded;
    uint64_t sum;
    TNR_REQUIRE(tnri_round_up(bytes, TNRI_UNIT, &rounded) && tnri_mul_u64(rounded, count, &sum), TNR_ERR_OVERFLOW,
                "block_need: %llu blocks of %llu bytes do not fit in 64 bits", TNRI_LLU(count), TNRI_LLU(bytes));
    need->bytes = sum;
    need->blocks = bytes != 0 ? count : 0; /* 0 bytes take no block */
    need->handles = 0;
    return TNR_OK;
}

static bool add_times(uint64_t sum, uint64_t term, uint64_t times, uint64_t *result)
{
    uint64_t product;
    return tnri_mul_u64(term, times, &product) && tnri_add_u64(sum, product, result);
}

tnr_status tnr_need_add(tnr_need *sum, const tnr_need *term, uint64_t times)
{
    TNR_REQUIRE(sum != NULL && term != NULL, TNR_ERR_ARGUMENT, "need_add: sum and term must not be NULL");
    tnr_need result;
    TNR_REQUIRE(add_times(sum->bytes, term->bytes, times, &result.bytes) &&
                    add_times(sum->blocks, term->blocks, times, &result.blocks) &&
                    add_times(sum->handles, term->handles, times, &result.handles),
                TNR_ERR_OVERFLOW, "need_add: the sum of needs does not fit in 64 bits");
    *sum = result;
    return TNR_OK;
}

/* Region for `blocks` blocks of `bytes` bytes in all with this granule; *control as if it lay elsewhere. */
static bool region_for(uint64_t bytes, uint64_t blocks, uint64_t max_blocks, uint64_t granule, bool inside,
                       uint64_t *region, uint64_t *control)
{
    uint64_t most;
    if (!add_times(bytes, granule - TNRI_UNIT, blocks, &most)) {
        return false;
    }
    /* No block loses more than granule - 64 to rounding, and the sum is a whole number of granules: round down. */
    const uint64_t granules = tnri_max_u64(most / granule, 1U);
    if (granules > TNRI_TLSF_MOST_UNITS) {
        /* Too fine a granule: any answer that makes granule_of choose a coarser one. */
        *region = granules * granule;
        *control = 0;
        return true;
    }
    uint64_t head = 0;
    *control = control_need(tnri_tlsf_rows((uint32_t)granules), (uint32_t)max_blocks);
    return (!inside || tnri_round_up(*control, granule, &head)) && add_times(head, granule, granules, region);
}

tnr_status tnr_arena_bytes(const tnr_need *need, const tnr_arena_options *given, uint64_t *region_bytes,
                           uint64_t *control_bytes, uint64_t *max_blocks)
{
    tnr_arena_options taken;
    const tnr_arena_options *const options = &taken;
    TNR_REQUIRE(need != NULL && region_bytes != NULL && control_bytes != NULL && max_blocks != NULL, TNR_ERR_ARGUMENT,
                "arena_bytes: need and results must not be NULL");
    TNR_TRY(tnri_arena_options("arena_bytes", given, &taken));

    uint64_t chunks = 0;
    uint64_t chunk_bytes = 0;
    uint64_t bytes;
    uint64_t blocks;
    const uint64_t handles = tnri_max_u64(need->handles, options->handles);
    TNR_REQUIRE(tnri_slab_need(handles, &chunk_bytes, &chunks) && tnri_add_u64(need->bytes, chunk_bytes, &bytes) &&
                    tnri_add_u64(need->blocks, chunks, &blocks) && blocks <= TNRI_TLSF_MOST_BLOCKS,
                TNR_ERR_OVERFLOW,
                "arena_bytes: %llu bytes in %llu blocks and %llu handles are more than an arena can hold",
                TNRI_LLU(need->bytes), TNRI_LLU(need->blocks), TNRI_LLU(need->handles));
    const uint64_t limit = options->max_blocks != 0 ? options->max_blocks : tnri_max_u64(blocks, 1U);
    TNR_REQUIRE(limit >= blocks, TNR_ERR_ARGUMENT, "arena_bytes: max_blocks is %llu, the need has %llu blocks",
                TNRI_LLU(limit), TNRI_LLU(blocks));

    const bool inside = options->control == NULL;
    uint64_t region = 0;
    uint64_t control = 0;
    uint64_t granule = granule_of(0, options->page);
    for (;;) {
        TNR_REQUIRE(granule != 0 && region_for(bytes, blocks, limit, granule, inside, &region, &control),
                    TNR_ERR_OVERFLOW, "arena_bytes: the region does not fit in 64 bits");
        const uint64_t chosen = granule_of(region, options->page);
        if (chosen <= granule) {
            if (chosen < granule) {
                /* Just small enough for a finer granule, which needs more: make it too large for that one. */
                region = (TNRI_TLSF_MOST_UNITS + UINT64_C(1)) * chosen;
            }
            break;
        }
        granule = chosen;
    }
    *region_bytes = region;
    *control_bytes = inside ? 0 : control;
    *max_blocks = limit;
    return TNR_OK;
}

/*
 * Most granules that fit into [region, end). Fewer rows leave more room for granules but serve fewer of them: the best
 * number of rows wins, so that a larger region never holds less.
 */
static void place(tnri_arena_layout *at, uint64_t region, uint64_t end, uint32_t max_blocks, bool inside)
{
    at->granules = 0;
    for (uint32_t rows = 1; rows <= TNRI_TLSF_MOST_ROWS; rows++) {
        const uint64_t head = inside ? control_need(rows, max_blocks) : 0;
        uint64_t control = region;
        uint64_t base;
        if ((inside && !tnri_round_up(region, TNRI_UNIT, &control)) || !tnri_add_u64(control, head, &base) ||
            !tnri_round_up(base, at->granule, &base) || base >= end) {
            break;
        }
        const uint64_t granules = tnri_min_u64((end - base) / at->granule, tnri_tlsf_most_units(rows));
        if (granules > at->granules) {
            at->granules = (uint32_t)granules;
            at->rows = tnri_tlsf_rows((uint32_t)granules);
            at->control = control;
            at->base = base;
        }
    }
}

tnr_status tnri_arena_lay_out(uint64_t region, uint64_t bytes, const tnr_arena_options *options, uint32_t max_blocks,
                              tnri_arena_layout *at)
{
    uint64_t end;
    TNR_REQUIRE(bytes <= SIZE_MAX && tnri_add_u64(region, bytes, &end) && end - 1U <= UINTPTR_MAX, TNR_ERR_OVERFLOW,
                "arena_create: a region of %llu bytes leaves the address space", TNRI_LLU(bytes));
    const bool inside = options->control == NULL;
    at->granule = granule_of(bytes, options->page);
    place(at, region, end, max_blocks, inside);
    TNR_REQUIRE(at->granules != 0, TNR_ERR_ARGUMENT,
                "arena_create: %llu bytes have no room for %s one granule of %llu bytes", TNRI_LLU(bytes),
                inside ? "the bookkeeping and" : "", TNRI_LLU(at->granule));
    if (inside) {
        return TNR_OK;
    }
    const uint64_t control = (uint64_t)(uintptr_t)options->control;
    uint64_t control_end;
    const uint64_t head = control_need(at->rows, max_blocks);
    TNR_REQUIRE(tnri_add_u64(control, options->control_bytes, &control_end) &&
                    tnri_round_up(control, TNRI_UNIT, &at->control) && at->control <= control_end &&
                    control_end - at->control >= head,
                TNR_ERR_ARGUMENT,
                "arena_create: control has %llu bytes, the bookkeeping needs %llu from a multiple of 64",
                TNRI_LLU(options->control_bytes), TNRI_LLU(head));
    TNR_REQUIRE(at->control + head <= region || at->control >= end, TNR_ERR_OVERLAP,
                "arena_create: control lies in the region");
    return TNR_OK;
}
