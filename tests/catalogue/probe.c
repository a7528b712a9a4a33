/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test's own domain: memory of the C library, direct, mapped or out of reach, that fails on order and notices misuse.
 * A mapping is a copy: reading a read mapping after unmap, or forgetting to unmap a written one, shows.
 */
#include "catalogue/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PROBE_BLOCKS 512

typedef struct probe_block {
    void *memory;
    void *copy; /* of a live mapping */
    uint64_t bytes;
} probe_block;

typedef struct probe_state {
    catalogue_probe *probe;
    probe_block blocks[PROBE_BLOCKS];
} probe_state;

static tnr_status probe_open(void *state, const void *config)
{
    catalogue_probe *probe;
    memcpy(&probe, config, sizeof probe);
    ((probe_state *)state)->probe = probe;
    return TNR_OK;
}

static bool falls_due(int64_t *countdown)
{
    if (*countdown == 0) {
        return false;
    }
    --*countdown;
    return *countdown == 0;
}

static tnr_status probe_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    probe_state *all = state;
    if (falls_due(&all->probe->fail_allocate)) {
        return tnr_set_error(TNR_ERR_MEMORY, "probe: allocation refused on order");
    }
    for (size_t i = 0; i < PROBE_BLOCKS; ++i) {
        if (all->blocks[i].memory == NULL) {
            const uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
            void *memory = aligned_alloc((size_t)alignment, (size_t)rounded);
            if (memory == NULL) {
                break;
            }
            memset(memory, 0xFF, (size_t)rounded); /* buffers come dirty */
            all->blocks[i] = (probe_block){memory, NULL, rounded};
            ++all->probe->live;
            block->address = all->probe->access == TNR_ACCESS_DIRECT ? memory : (void *)(uintptr_t)(64 * (i + 1));
            block->bytes = rounded;
            block->tag = i;
            return TNR_OK;
        }
    }
    return tnr_set_error(TNR_ERR_MEMORY, "probe: full");
}

static void probe_release(void *state, const tnr_block *block)
{
    probe_state *all = state;
    if (block->tag >= PROBE_BLOCKS || all->blocks[block->tag].memory == NULL || all->blocks[block->tag].copy != NULL) {
        ++all->probe->misuse;
        return;
    }
    free(all->blocks[block->tag].memory);
    all->blocks[block->tag].memory = NULL;
    --all->probe->live;
}

static tnr_status probe_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    (void)mode;
    probe_state *all = state;
    probe_block *found = &all->blocks[block->tag];
    if (found->memory == NULL || found->copy != NULL) {
        ++all->probe->misuse;
        return tnr_set_error(TNR_ERR_BACKEND, "probe: mapped twice, or not a block");
    }
    if (falls_due(&all->probe->fail_map)) {
        return tnr_set_error(TNR_ERR_BACKEND, "probe: mapping refused on order");
    }
    found->copy = aligned_alloc(64, (size_t)((found->bytes + 63) / 64 * 64));
    assert_non_null(found->copy);
    memcpy(found->copy, found->memory, (size_t)found->bytes);
    *host = found->copy;
    ++all->probe->open_maps;
    ++all->probe->maps;
    if (all->probe->on_map != NULL) {
        all->probe->on_map(all->probe->context);
    }
    return TNR_OK;
}

static tnr_status probe_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    probe_state *all = state;
    probe_block *found = &all->blocks[block->tag];
    if (found->copy == NULL || host != found->copy) {
        ++all->probe->misuse;
        return tnr_set_error(TNR_ERR_BACKEND, "probe: unmap of what is not mapped");
    }
    const bool fails = falls_due(&all->probe->fail_unmap);
    if (all->probe->on_unmap != NULL) {
        all->probe->on_unmap(all->probe->context);
    }
    if (mode == TNR_MAP_WRITE && !fails) {
        memcpy(found->memory, found->copy, (size_t)found->bytes);
    } else if (mode == TNR_MAP_READ && memcmp(found->memory, found->copy, (size_t)found->bytes) != 0) {
        ++all->probe->misuse; /* somebody wrote through a read mapping */
    }
    free(found->copy);
    found->copy = NULL;
    --all->probe->open_maps;
    return fails ? tnr_set_error(TNR_ERR_BACKEND, "probe: unmap fails on order") : TNR_OK;
}

static const tnr_domain_ops direct_ops = {
    .size = sizeof(probe_state),
    .name = "probe",
    .open = probe_open,
    .allocate = probe_allocate,
    .release = probe_release,
};

static const tnr_domain_ops mapped_ops = {
    .size = sizeof(probe_state),
    .name = "mapped probe",
    .open = probe_open,
    .allocate = probe_allocate,
    .release = probe_release,
    .map = probe_map,
    .unmap = probe_unmap,
};

void catalogue_probe_domain(tnr_domain *home, catalogue_probe *probe, tnr_domain **domain)
{
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = probe->access == TNR_ACCESS_MAPPED ? &mapped_ops : &direct_ops;
    config.config = &probe;
    config.access = probe->access;
    if (probe->access == TNR_ACCESS_NONE) {
        config.placement = (tnr_placement){TNR_MEMORY_DEVICE, 0, TNR_NONE};
    } else if (probe->access == TNR_ACCESS_MAPPED) {
        config.placement = (tnr_placement){TNR_MEMORY_MANAGED, 0, TNR_NONE};
    }
    catalogue_ok(tnr_domain_create(home, &config, domain), "probe domain");
}
