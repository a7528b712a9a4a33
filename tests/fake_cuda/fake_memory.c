/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake's memory: addresses that the host may not touch, bytes elsewhere; pools; page-locked and managed memory. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_internal.h"

enum { FRESH = 0xCB, GONE = 0xDD, GAP = 4096, PAGE = 4096, SPARSE_FROM = 1 << 20, ENDS = 1 << 16 };
#define RANGE (UINT64_C(1) << 37)

static char *forbidden; /* RANGE bytes that nobody may touch */
static uint64_t next;

void fake_memory_reset(void)
{
    if (forbidden == NULL) {
        void *range = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        forbidden = range == MAP_FAILED ? NULL : range;
    }
    next = GAP;
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------------------------- */

static uint64_t pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

/* NULL when there is no room. */
static char *bytes_take(uint64_t bytes)
{
    if (bytes < SPARSE_FROM) {
        return aligned_alloc(PAGE, pages(bytes));
    }
    void *taken = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return taken == MAP_FAILED ? NULL : taken;
}

static void bytes_give(char *taken, uint64_t bytes)
{
    if (bytes < SPARSE_FROM || taken == NULL) {
        free(taken);
    } else {
        (void)munmap(taken, pages(bytes));
    }
}

static void poison(char *taken, uint64_t bytes, int with)
{
    if (bytes < SPARSE_FROM) {
        memset(taken, with, bytes);
    } else {
        memset(taken, with, ENDS);
        memset(taken + bytes - ENDS, with, ENDS);
    }
}

bool fake_memory_is_forbidden(uint64_t address)
{
    const uint64_t first = (uint64_t)(uintptr_t)forbidden;
    return forbidden != NULL && address >= first && address - first < RANGE;
}

bool fake_memory_is_reached(const fake_memory *memory, int device)
{
    return memory->object.device == device || (memory->pool != NULL && (memory->pool->peers >> device & 1U) != 0);
}

/* ---- Allocations ----------------------------------------------------------------------------------------------------------------- */

fake_memory *fake_memory_at(uint64_t address)
{
    for (fake_object *at = fake_objects; at != NULL; at = at->next) {
        fake_memory *memory = (fake_memory *)at;
        if (at->kind == FAKE_MEMORY && address >= memory->address && address - memory->address < memory->bytes) {
            return memory;
        }
    }
    return NULL;
}

static fake_memory *find_memory(uint64_t address, fake_kind kind)
{
    for (fake_object *at = fake_objects; at != NULL; at = at->next) {
        fake_memory *memory = (fake_memory *)at;
        if (at->kind == kind && memory->address == address) {
            if (at->alive) {
                return memory;
            }
            if (kind == FAKE_MEMORY && !memory->managed) {
                break; /* such addresses are never used again */
            }
        }
    }
    return NULL;
}

static fake_memory *make_memory(uint64_t bytes, bool managed)
{
    char *shadow = bytes_take(bytes);
    if (shadow == NULL || bytes > RANGE - next) {
        bytes_give(shadow, bytes);
        return NULL;
    }
    fake_memory *made = fake_new(FAKE_MEMORY, fake_current(), sizeof(fake_memory));
    made->bytes = bytes;
    made->taken = bytes;
    made->managed = managed;
    made->shadow = shadow;
    poison(shadow, bytes, FRESH);
    if (managed) {
        made->address = (uint64_t)(uintptr_t)made->shadow;
    } else {
        made->address = (uint64_t)(uintptr_t)(forbidden + next);
        next += (bytes + 2 * GAP - 1) / GAP * GAP;
    }
    fake.live_bytes += bytes;
    return made;
}

void fake_memory_drop(fake_memory *memory)
{
    if (memory->object.kind == FAKE_MEMORY || memory->object.kind == FAKE_PINNED) {
        bytes_give(memory->shadow, memory->taken);
    }
    memory->shadow = NULL;
}

void fake_memory_end(fake_memory *memory)
{
    if (!memory->ended) {
        memory->ended = true;
        poison(memory->shadow, memory->bytes, GONE);
        if (memory->pool != NULL) {
            memory->pool->used -= memory->bytes;
        }
    }
}

static bool has_room(uint64_t bytes)
{
    return bytes <= fake.memory_bytes && fake_contexts[fake_current()].used_bytes <= fake.memory_bytes - bytes;
}

static CUresult take_plain(CUdeviceptr *address, size_t bytes, bool managed)
{
    if (bytes == 0 || forbidden == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!has_room(bytes)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    fake_memory *made = make_memory(bytes, managed);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->born = true;
    fake_contexts[made->object.device].used_bytes += bytes;
    *address = made->address;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    FAKE_BEGIN("cuMemAlloc_v2", true);
    return fake_leave(take_plain(address, bytes, false));
}

FAKE_API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuMemAllocManaged", true);
    return fake_leave(take_plain(address, bytes, true));
}

FAKE_API CUresult cuMemFree(CUdeviceptr address)
{
    FAKE_BEGIN("cuMemFree_v2", true);
    fake_memory *memory = find_memory(address, FAKE_MEMORY);
    if (memory == NULL || memory->pool != NULL) {
        fake_blame(&fake.double_free, "memory is freed that is none, or in the wrong way");
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (fake_is_queued(address, memory->bytes)) {
        fake_blame(&fake.use_after_free, "memory is freed with copies queued on it");
    }
    fake_contexts[memory->object.device].used_bytes -= memory->bytes;
    fake.live_bytes -= memory->bytes;
    fake_memory_end(memory);
    fake_bury(&memory->object);
    if (memory->managed) {
        fake_memory_drop(memory);
        memory->address = 0;
        memory->bytes = 0;
    }
    return fake_leave(CUDA_SUCCESS);
}

/* ---- Pools ----------------------------------------------------------------------------------------------------------------------- */

FAKE_API CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    FAKE_BEGIN("cuMemPoolCreate", true);
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || properties->location.id != fake_current()) {
        fake_blame(&fake.misuse, "a pool of a kind or place that the fake does not know");
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *pool = fake_new(FAKE_POOL, fake_current(), sizeof(fake_pool));
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
    FAKE_BEGIN("cuMemPoolDestroy", true);
    fake_pool *pool = fake_find(FAKE_POOL, handle, "a pool is destroyed twice");
    if (pool == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    fake_contexts[pool->object.device].used_bytes -= pool->reserved;
    fake_bury(&pool->object); /* what is out of it stays valid */
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void *value)
{
    FAKE_BEGIN("cuMemPoolSetAttribute", true);
    fake_pool *pool = fake_find(FAKE_POOL, handle, "a setting of no pool");
    if (pool == NULL || which != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    pool->threshold = *(cuuint64_t *)value;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute which, void *value)
{
    FAKE_BEGIN("cuMemPoolGetAttribute", true);
    const fake_pool *pool = fake_find(FAKE_POOL, handle, "a question about no pool");
    if (pool == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *(cuuint64_t *)value = which == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? pool->reserved : pool->used;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    FAKE_BEGIN("cuMemPoolTrimTo", true);
    fake_pool *pool = fake_find(FAKE_POOL, handle, "no pool is trimmed");
    if (pool == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    const uint64_t least = pool->used > keep ? pool->used : keep;
    if (pool->reserved > least) {
        fake_contexts[pool->object.device].used_bytes -= pool->reserved - least;
        pool->reserved = least;
    }
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *access, size_t count)
{
    FAKE_BEGIN("cuMemPoolSetAccess", false);
    fake_pool *pool = fake_find(FAKE_POOL, handle, "access to no pool");
    if (pool == NULL || count != 1) {
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    pool->peers |= 1U << access->location.id;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool handle, CUstream behind)
{
    FAKE_BEGIN("cuMemAllocFromPoolAsync", true);
    fake_pool *pool = fake_find(FAKE_POOL, handle, "memory is taken from no pool");
    fake_stream *stream = fake_find(FAKE_STREAM, behind, "memory is taken in no stream");
    if (pool == NULL || stream == NULL || bytes == 0 || forbidden == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    const uint64_t spare = pool->reserved - pool->used;
    const uint64_t more = bytes > spare ? bytes - spare : 0;
    if (!has_room(more)) {
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    fake_memory *made = make_memory(bytes, false);
    if (made == NULL) {
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->pool = pool;
    pool->used += bytes;
    pool->reserved += more;
    fake_contexts[made->object.device].used_bytes += more;
    fake_op *op = fake_op_new();
    op->what = FAKE_TAKE;
    op->memory = made;
    fake_push(stream, op);
    *address = made->address;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream behind)
{
    FAKE_BEGIN("cuMemFreeAsync", true);
    fake_memory *memory = find_memory(address, FAKE_MEMORY);
    fake_stream *stream = fake_find(FAKE_STREAM, behind, "memory is freed in no stream");
    if (stream == NULL || memory == NULL || memory->managed) {
        fake_blame(&fake.double_free, "memory is freed that is none, or in the wrong way");
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    fake_op *op = fake_op_new();
    op->what = FAKE_GIVE;
    op->memory = memory;
    fake_push(stream, op);
    fake.live_bytes -= memory->bytes;
    fake_bury(&memory->object);
    return fake_leave(CUDA_SUCCESS);
}

/* ---- Page-locked memory --------------------------------------------------------------------------------------------------------------- */

bool fake_is_locked(uint64_t address, uint64_t bytes, bool *partly)
{
    for (fake_object *at = fake_objects; at != NULL; at = at->next) {
        const fake_memory *memory = (fake_memory *)at;
        const bool here = at->kind >= FAKE_PINNED || (at->kind == FAKE_MEMORY && memory->managed);
        if (!here || !at->alive || address >= memory->address + memory->bytes || memory->address >= address + bytes) {
            continue;
        }
        if (address >= memory->address && bytes <= memory->bytes - (address - memory->address)) {
            return true;
        }
        *partly = true;
    }
    return false;
}

FAKE_API CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuMemHostAlloc", true);
    if (bytes > fake.memory_bytes) {
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    char *shadow = bytes_take(bytes);
    if (shadow == NULL) {
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    fake_memory *made = fake_new(FAKE_PINNED, fake_current(), sizeof(fake_memory));
    made->bytes = bytes;
    made->taken = bytes;
    made->shadow = shadow;
    poison(shadow, bytes, FRESH);
    made->address = (uint64_t)(uintptr_t)made->shadow;
    *address = made->shadow;
    return fake_leave(CUDA_SUCCESS);
}

static CUresult unlock(void *address, fake_kind kind)
{
    fake_memory *memory = find_memory((uint64_t)(uintptr_t)address, kind);
    if (memory == NULL) {
        fake_blame(&fake.double_free, "page-locked memory is given back that is none");
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (fake_is_queued(memory->address, memory->bytes)) {
        fake_blame(&fake.use_after_free, "page-locked memory is given back with copies queued on it");
    }
    fake_bury(&memory->object);
    fake_memory_drop(memory);
    memory->bytes = 0;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemFreeHost(void *address)
{
    FAKE_BEGIN("cuMemFreeHost", true);
    return fake_leave(unlock(address, FAKE_PINNED));
}

FAKE_API CUresult cuMemHostRegister(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuMemHostRegister_v2", true);
    bool partly = false;
    if (fake_is_locked((uint64_t)(uintptr_t)address, bytes, &partly) || partly) {
        return fake_leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
    fake_memory *made = fake_new(FAKE_REGISTERED, fake_current(), sizeof(fake_memory));
    made->address = (uint64_t)(uintptr_t)address;
    made->bytes = bytes;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuMemHostUnregister(void *address)
{
    FAKE_BEGIN("cuMemHostUnregister", true);
    return fake_leave(unlock(address, FAKE_REGISTERED));
}
