/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's domain over malloc for the tests of pools: it counts, has a capacity, fails on demand, remembers the
 * order in which buffers come back, and notices a buffer that comes back twice or never was its own.
 */
#ifndef TENURE_TESTS_COUNTED_PARENT_H
#define TENURE_TESTS_COUNTED_PARENT_H

#include <stdatomic.h>
#include <stdlib.h>

#include "tenure/domain.h"

enum { COUNTED_LOG = 4096 };

typedef struct counted_parent {
    uint64_t capacity;    /* 0: no limit */
    uint64_t fail_at;     /* this call of allocate fails; 0: none */
    tnr_status fail_with; /* TNR_OK stands for TNR_ERR_MEMORY */
    _Atomic uint64_t calls;
    _Atomic uint64_t releases;
    _Atomic uint64_t out;
    _Atomic uint64_t out_bytes;
    _Atomic uint64_t faults; /* releases of what is not out */
    _Atomic uint64_t last_alignment;
    void *log[COUNTED_LOG]; /* addresses in the order of their release */
    void (*on_release)(void *context);
    void *context;
} counted_parent;

#define COUNTED_MAGIC UINT64_C(0x70617265)

typedef struct counted_state {
    counted_parent *counts;
} counted_state;

static inline tnr_status counted_open(void *state, const void *config)
{
    counted_parent *const *counts = config;
    ((counted_state *)state)->counts = *counts;
    return TNR_OK;
}

static inline tnr_status counted_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    counted_parent *counts = ((counted_state *)state)->counts;
    const uint64_t call = atomic_fetch_add(&counts->calls, 1) + 1;
    counts->last_alignment = alignment;
    if (call == counts->fail_at) {
        const tnr_status status = counts->fail_with != TNR_OK ? counts->fail_with : TNR_ERR_MEMORY;
        return tnr_set_error(status, "counted: told to fail");
    }
    if (counts->capacity != 0 && atomic_load(&counts->out_bytes) + bytes > counts->capacity) {
        return tnr_set_error(TNR_ERR_MEMORY, "counted: full");
    }
    void *address = aligned_alloc((size_t)alignment, (size_t)((bytes + alignment - 1) / alignment * alignment));
    if (address == NULL) {
        return TNR_ERR_MEMORY;
    }
    atomic_fetch_add(&counts->out, 1);
    atomic_fetch_add(&counts->out_bytes, bytes);
    block->address = address;
    block->bytes = bytes;
    block->tag = COUNTED_MAGIC ^ (uint64_t)(uintptr_t)address;
    return TNR_OK;
}

static inline void counted_release(void *state, const tnr_block *block)
{
    counted_parent *counts = ((counted_state *)state)->counts;
    if (block->tag != (COUNTED_MAGIC ^ (uint64_t)(uintptr_t)block->address) || block->allocation == 0) {
        atomic_fetch_add(&counts->faults, 1);
        return;
    }
    const uint64_t release = atomic_fetch_add(&counts->releases, 1);
    if (release < COUNTED_LOG) {
        counts->log[release] = block->address;
    }
    atomic_fetch_sub(&counts->out, 1);
    atomic_fetch_sub(&counts->out_bytes, block->bytes);
    free(block->address);
    if (counts->on_release != NULL) {
        counts->on_release(counts->context);
    }
}

static inline tnr_status counted_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    (void)mode;
    counted_parent *counts = ((counted_state *)state)->counts;
    if (block->tag != (COUNTED_MAGIC ^ (uint64_t)(uintptr_t)block->address)) {
        atomic_fetch_add(&counts->faults, 1);
        return TNR_ERR_BACKEND;
    }
    *host = block->address;
    return TNR_OK;
}

static inline tnr_status counted_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    void *same;
    const tnr_status status = counted_map(state, block, mode, &same);
    return status == TNR_OK && same == host ? TNR_OK : TNR_ERR_BACKEND;
}

/* A domain in `home` over *counts, which must outlive it. */
static inline tnr_status counted_create(tnr_domain *home, counted_parent *counts, tnr_host_access access,
                                        tnr_domain **domain)
{
    static const tnr_domain_ops direct = {.size = sizeof(counted_state),
                                          .name = "counted",
                                          .open = counted_open,
                                          .allocate = counted_allocate,
                                          .release = counted_release};
    static const tnr_domain_ops mapped = {.size = sizeof(counted_state),
                                          .name = "counted",
                                          .open = counted_open,
                                          .allocate = counted_allocate,
                                          .release = counted_release,
                                          .map = counted_map,
                                          .unmap = counted_unmap};
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = access == TNR_ACCESS_MAPPED ? &mapped : &direct;
    config.config = &counts;
    config.access = access;
    config.placement.cpu_affinity = 3;
    return tnr_domain_create(home, &config, domain);
}

#endif /* TENURE_TESTS_COUNTED_PARENT_H */
