/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of domains, tensors and groups share: checks that show the library's own text, small tensors, and a
 * program's domain that counts every call and fails on demand.
 */
#ifndef TENURE_TESTS_SUPPORT_STORAGE_TEST_H
#define TENURE_TESTS_SUPPORT_STORAGE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tenure/group.h"

/* ---- Checks ---------------------------------------------------------------------------------------------------------- */

static inline void check_status(tnr_status found, tnr_status expected, const char *call, const char *file, int line)
{
    if (found != expected) {
        print_error("%s:%d: %s\n    answered \"%s\", expected \"%s\"; last error: %s\n", file, line, call,
                    tnr_status_name(found), tnr_status_name(expected), tnr_last_error());
        _fail(file, line);
    }
}

#define EXPECT(expected, call) check_status((call), (expected), #call, __FILE__, __LINE__)
#define OK(call) EXPECT(TNR_OK, call)

/* The text of the last failure names all that is asked for. */
static inline void check_text(const char *part, const char *file, int line)
{
    if (strstr(tnr_last_error(), part) == NULL) {
        print_error("%s:%d: \"%s\" does not contain \"%s\"\n", file, line, tnr_last_error(), part);
        _fail(file, line);
    }
}

#define TEXT_HAS(part) check_text((part), __FILE__, __LINE__)

/* Literals for the calls' array parameters. */
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

/* A pointer value that no failing call may replace. */
static inline void *untouched(void)
{
    static char place;
    return &place;
}

/* ---- Homes ----------------------------------------------------------------------------------------------------------- */

static inline tnr_domain *make_heap(void)
{
    tnr_domain *heap = NULL;
    OK(tnr_heap_create(&heap));
    return heap;
}

#define ARENA_REGION_BYTES ((size_t)1 << 20)

/* An arena in a region of ARENA_REGION_BYTES that the test frees. */
static inline tnr_domain *make_arena(void **region, uint64_t max_blocks)
{
    tnr_domain *arena = NULL;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = max_blocks;
    *region = aligned_alloc(64, ARENA_REGION_BYTES);
    assert_non_null(*region);
    OK(tnr_arena_create(*region, ARENA_REGION_BYTES, &options, &arena));
    return arena;
}

/* ---- A program's domain ---------------------------------------------------------------------------------------------- */

/*
 * Its memory, kept by the test. `fail_*`: the call of that number from now on answers TNR_ERR_MEMORY or TNR_ERR_IO (0:
 * none). Behind mapped and unreachable access, block.address is no pointer, so that using it as one is found out.
 */
typedef struct test_memory {
    tnr_host_access access;
    int opens;
    int closes;
    uint64_t allocates;
    uint64_t releases;
    uint64_t maps;
    uint64_t unmaps;
    uint64_t last_alignment;
    uint64_t fail_allocate;
    uint64_t fail_map;
    uint64_t fail_unmap;
    uint64_t short_by; /* answer so many bytes fewer than asked for */
    bool silent;       /* fail without tnr_set_error */
    bool map_to_null;  /* map answers success and no pointer */
    bool staging;      /* every mapping is a copy of its own, written back as a whole: not coherent */
    size_t askew;      /* answer addresses and mappings so many bytes further on */
    tnr_map_mode last_mode;
    int mapped[2]; /* mappings that are live, by mode */
    tnr_status open_answer;
    bool state_was_zero;
    bool state_was_aligned;
} test_memory;

/* Private state of the domain: where its memory is. */
typedef struct test_state {
    test_memory *memory;
    unsigned char filler[100];
} test_state;

static inline bool test_fails(uint64_t *countdown) { return *countdown != 0 && --*countdown == 0; }

static inline tnr_status test_open(void *state, const void *config)
{
    test_state *own = state;
    test_memory *memory = *(test_memory *const *)config;
    memory->opens++;
    memory->state_was_zero = own->memory == NULL;
    for (size_t at = 0; at < sizeof(own->filler); at++) {
        memory->state_was_zero = memory->state_was_zero && own->filler[at] == 0;
    }
    memory->state_was_aligned = (uintptr_t)state % 64 == 0;
    own->memory = memory;
    return memory->open_answer == TNR_OK ? TNR_OK : tnr_set_error(memory->open_answer, "test domain: open refuses");
}

static inline void test_close(void *state)
{
    test_state *own = state;
    own->memory->closes++;
}

static inline tnr_status test_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    test_memory *memory = ((test_state *)state)->memory;
    if (test_fails(&memory->fail_allocate)) {
        return memory->silent ? TNR_ERR_MEMORY : tnr_set_error(TNR_ERR_MEMORY, "test domain: allocate fails on demand");
    }
    void *bytes_of = NULL;
    if (bytes <= ((uint64_t)1 << 30)) {
        bytes_of = aligned_alloc((size_t)alignment, (size_t)((bytes + alignment - 1) / alignment * alignment));
    }
    if (bytes_of == NULL) {
        return tnr_set_error(TNR_ERR_MEMORY, "test domain: no such block");
    }
    memory->allocates++;
    memory->last_alignment = alignment;
    block->address = memory->access != TNR_ACCESS_DIRECT ? (void *)(uintptr_t)(64 * memory->allocates)
                     : memory->map_to_null               ? NULL
                                                         : (char *)bytes_of + memory->askew;
    block->bytes = bytes - memory->short_by;
    block->tag = (uint64_t)(uintptr_t)bytes_of;
    return TNR_OK;
}

static inline void test_release(void *state, const tnr_block *block)
{
    test_memory *memory = ((test_state *)state)->memory;
    memory->releases++;
    free((void *)(uintptr_t)block->tag); /* NOLINT: what allocate kept there */
}

static inline tnr_status test_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    test_memory *memory = ((test_state *)state)->memory;
    if (test_fails(&memory->fail_map)) {
        return memory->silent ? TNR_ERR_IO : tnr_set_error(TNR_ERR_IO, "test domain: map fails on demand");
    }
    memory->maps++;
    memory->last_mode = mode;
    memory->mapped[mode]++;
    char *bytes = (char *)(uintptr_t)block->tag; /* NOLINT: what allocate kept there */
    if (memory->staging) {
        bytes = memcpy(aligned_alloc(64, (size_t)(block->bytes + 63) / 64 * 64), bytes, (size_t)block->bytes);
    }
    *host = memory->map_to_null ? NULL : bytes + memory->askew;
    return TNR_OK;
}

static inline tnr_status test_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    test_memory *memory = ((test_state *)state)->memory;
    memory->unmaps++;
    if (memory->staging) {
        if (mode == TNR_MAP_WRITE) {
            memcpy((void *)(uintptr_t)block->tag, host, (size_t)block->bytes); /* NOLINT: what allocate kept there */
        }
        free(host);
        host = (void *)(uintptr_t)block->tag; /* NOLINT: what allocate kept there */
    }
    if (test_fails(&memory->fail_unmap)) {
        memory->mapped[mode]--;
        return memory->silent ? TNR_ERR_IO : tnr_set_error(TNR_ERR_IO, "test domain: unmap fails on demand");
    }
    return (uint64_t)(uintptr_t)host == block->tag + memory->askew && memory->mapped[mode]-- > 0
               ? TNR_OK
               : tnr_set_error(TNR_ERR_BACKEND, "test domain: unmap of what was not mapped");
}

static inline tnr_domain_ops test_ops(tnr_host_access access)
{
    const bool mapped = access == TNR_ACCESS_MAPPED;
    const tnr_domain_ops ops = {
        .size = sizeof(test_state),
        .name = "test",
        .open = test_open,
        .close = test_close,
        .allocate = test_allocate,
        .release = test_release,
        .map = mapped ? test_map : NULL,
        .unmap = mapped ? test_unmap : NULL,
    };
    return ops;
}

/* A program's domain whose calls go to *memory. The table is gone when this returns: the library has copied it. */
static inline tnr_status create_program_domain(tnr_domain *home, test_memory *memory, tnr_host_access access,
                                               tnr_domain **domain)
{
    const tnr_domain_ops ops = test_ops(access);
    memory->access = access;
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &memory;
    config.access = access;
    config.coherent_maps = access == TNR_ACCESS_MAPPED && !memory->staging;
    if (access == TNR_ACCESS_NONE) {
        config.placement.kind = TNR_MEMORY_DEVICE;
        config.placement.device = 3;
    }
    return tnr_domain_create(home, &config, domain);
}

static inline tnr_domain *make_program_domain(tnr_domain *home, test_memory *memory, tnr_host_access access)
{
    tnr_domain *domain = NULL;
    OK(create_program_domain(home, memory, access, &domain));
    return domain;
}

/* ---- Tensors --------------------------------------------------------------------------------------------------------- */

/* f64 tensor in a host-direct or mapped domain, elements 1, 2, 3, ... in memory order. */
static inline tnr_tensor *make_counting(tnr_domain *domain, int rank, const int64_t *shape)
{
    tnr_tensor *tensor = NULL;
    tnr_view_mut view;
    tnr_write_map map;
    int64_t count;
    OK(tnr_tensor_zeros(domain, TNR_F64, rank, shape, &tensor));
    OK(tnr_tensor_view_mut(tensor, &view));
    OK(tnr_view_count(&view.view, &count));
    OK(tnr_map_write(&view, &map));
    for (int64_t at = 0; at < count; at++) {
        ((double *)map.data)[at] = (double)(at + 1);
    }
    OK(tnr_unmap_write(&map));
    return tensor;
}

static inline void release(tnr_tensor **tensor)
{
    OK(tnr_tensor_release(tensor));
    assert_null(*tensor);
}

static inline tnr_view view_of(const tnr_tensor *tensor)
{
    tnr_view view;
    OK(tnr_tensor_view(tensor, &view));
    return view;
}

static inline tnr_view_mut view_mut_of(tnr_tensor *tensor)
{
    tnr_view_mut view;
    OK(tnr_tensor_view_mut(tensor, &view));
    return view;
}

static inline const double *host_of(const tnr_tensor *tensor)
{
    const void *data = untouched();
    OK(tnr_tensor_host_data(tensor, &data));
    return data;
}

static inline tnr_domain_statistics statistics_of(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics;
}

/*
 * What is out and what is free is as before. History may have grown: a call that fails half way has taken blocks and given
 * them back, and peak_bytes and allocations say so; failures count the refusal itself.
 */
static inline void check_statistics(tnr_domain *domain, const tnr_domain_statistics *before, const char *file, int line)
{
    const tnr_domain_statistics after = statistics_of(domain);
    if (after.blocks != before->blocks || after.bytes != before->bytes || after.capacity != before->capacity ||
        after.free_bytes != before->free_bytes || after.largest_free != before->largest_free ||
        after.allocations < before->allocations || after.peak_bytes < before->peak_bytes) {
        print_error(
            "%s:%d: %s: %llu blocks of %llu bytes, were %llu of %llu; %llu free, were %llu; largest %llu, was %llu\n",
            file, line, tnr_domain_name(domain), (unsigned long long)after.blocks, (unsigned long long)after.bytes,
            (unsigned long long)before->blocks, (unsigned long long)before->bytes, (unsigned long long)after.free_bytes,
            (unsigned long long)before->free_bytes, (unsigned long long)after.largest_free,
            (unsigned long long)before->largest_free);
        _fail(file, line);
    }
}

#define SAME_STATISTICS(domain, before) check_statistics((domain), (before), __FILE__, __LINE__)

static inline tnr_ledger ledger_of(tnr_domain *domain)
{
    tnr_ledger ledger;
    OK(tnr_ledger_get(domain, &ledger));
    return ledger;
}

static inline void close_domain(tnr_domain **domain)
{
    OK(tnr_domain_close(domain));
    assert_null(*domain);
}

#endif /* TENURE_TESTS_SUPPORT_STORAGE_TEST_H */
