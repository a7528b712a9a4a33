/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks: taking them, and giving them back when nothing in flight touches them.
 *
 * A released block is given back at once when no lane has work on it, else it *retires*: it waits in a queue of bounded length,
 * which is looked through before memory is taken. Where nobody can prove that work on it is over, and after the context was lost, it
 * is *quarantined*: counted and never used again, until tnri_memory_recover hears of a proof.
 *
 * Guarantees: given back once, and only then; a block that the driver refuses to take back is quarantined, never forgotten.
 */
#include "cuda_internal.h"

enum { GRAIN = 256 };

static tnri_memory **bucket_of(tnr_cuda_device *device, uint64_t address)
{
    return &device->buckets[address / GRAIN % TNRI_BUCKETS];
}

tnri_memory *tnri_memory_find(const tnr_cuda_device *device, uint64_t address)
{
    tnri_memory *memory = device->buckets[address / GRAIN % TNRI_BUCKETS];
    while (memory != NULL && memory->address != address) {
        memory = memory->next;
    }
    return memory;
}

/* ---- Giving back ---------------------------------------------------------------------------------------------------------------- */

static bool is_free_of_work(const tnri_memory *memory)
{
    bool over = true;
    for (int index = 0; index < memory->device->lane_count; index++) {
        over = tnri_lane_reached(&memory->device->lanes[index], memory->used[index]) && over;
    }
    return over;
}

static bool wait_for_work(const tnri_memory *memory)
{
    for (int index = 0; index < memory->device->lane_count; index++) {
        if (tnri_lane_wait("release", &memory->device->lanes[index], memory->used[index], false) != TNR_OK) {
            return false;
        }
    }
    return true;
}

/* The record goes; the bytes are the driver's, or gone with the context. */
static void forget(tnri_memory *memory)
{
    tnr_cuda_device *device = memory->device;
    if (memory->domain != NULL) {
        memory->domain->out_bytes -= memory->bytes;
    }
    if (memory->bound != NULL) {
        (void)tnr_domain_release(memory->bound, &memory->pages);
        if (memory->domain == NULL) {
            tnr_domain *bound = memory->bound;
            (void)tnr_domain_close(&bound); /* busy until its last block is back */
        }
    }
    tnri_store_give(&device->memory_store, memory);
}

static void quarantine(tnri_memory *memory)
{
    tnr_cuda_device *device = memory->device;
    memory->next = device->quarantined;
    device->quarantined = memory;
    device->counts.quarantined++;
    device->counts.quarantined_bytes += memory->bytes;
    device->counts.quarantined_ever++;
}

/* Nothing touches it any more. TNR_OK: the driver has it. */
static tnr_status hand_over(const tnri_memory *memory)
{
    static const char *const op = "release";
    tnr_cuda_device *device = memory->device;
    void *host = (void *)(uintptr_t)memory->address;
    switch (memory->kind) {
    case TNR_CUDA_POOL:
        (void)tnri_lane_begin(&device->lanes[TNRI_HOUSE]);
        return TNRI_CUDA(op, device, pool_give, memory->address, device->lanes[TNRI_HOUSE].stream);
    case TNR_CUDA_PINNED:
        return memory->bound != NULL ? TNRI_CUDA(op, device, host_unregister, host)
                                     : TNRI_CUDA(op, device, pinned_give, host);
    default:
        return TNRI_CUDA(op, device, memory_give, memory->address);
    }
}

static void give(tnri_memory *memory)
{
    if (hand_over(memory) == TNR_OK || memory->device->unloading) {
        forget(memory);
    } else {
        quarantine(memory);
    }
}

static bool retain(tnri_memory *memory)
{
    tnri_cuda_domain *domain = memory->domain;
    if (memory->kind != TNR_CUDA_PINNED || domain == NULL || memory->bytes > domain->retain_bytes ||
        domain->retained_bytes > domain->retain_bytes - memory->bytes) {
        return false;
    }
    tnri_memory **list = &domain->retained[tnri_lowest_bit(memory->bytes)];
    memory->next = *list;
    *list = memory;
    domain->retained_bytes += memory->bytes;
    domain->out_bytes -= memory->bytes;
    return true;
}

/* Free of work. */
static void settle(tnri_memory *memory)
{
    if (!retain(memory)) {
        give(memory);
    }
}

static void retire(tnri_memory *memory)
{
    tnr_cuda_device *device = memory->device;
    device->counts.retired++;
    if (device->counts.retiring >= (uint64_t)device->options.retirements) {
        tnri_memory *oldest = device->retiring;
        device->retiring = oldest->next;
        device->counts.retiring--;
        if (wait_for_work(oldest)) {
            settle(oldest);
        } else {
            quarantine(oldest);
        }
    }
    tnri_memory **end = &device->retiring;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    memory->next = NULL;
    *end = memory;
    device->counts.retiring++;
}

void tnri_memory_release(tnri_memory *memory, bool current)
{
    tnr_cuda_device *device = memory->device;
    tnri_memory **at = bucket_of(device, memory->address);
    while (*at != memory) {
        at = &(*at)->next;
    }
    *at = memory->next;
    if (device->gone || device->unloading) {
        forget(memory); /* the bytes went with the context */
        return;
    }
    const bool asked = current && device->poison == TNR_OK;
    const bool over = asked && is_free_of_work(memory);
    if (over) {
        settle(memory);
    } else if (!asked || device->poison != TNR_OK) { /* asking may have told of a lost context */
        quarantine(memory);
    } else {
        retire(memory);
    }
}

void tnri_memory_drain(tnr_cuda_device *device, bool wait)
{
    tnri_memory *list = device->retiring;
    tnri_memory **kept = &device->retiring;
    device->retiring = NULL;
    device->counts.retiring = 0;
    while (list != NULL) {
        tnri_memory *memory = list;
        list = memory->next;
        const bool over = wait ? wait_for_work(memory) : is_free_of_work(memory);
        if (over) {
            settle(memory);
        } else if (wait || device->poison != TNR_OK) {
            quarantine(memory);
        } else {
            memory->next = NULL;
            *kept = memory;
            kept = &memory->next;
            device->counts.retiring++;
        }
    }
}

void tnri_memory_trim(tnri_cuda_domain *domain, uint64_t keep)
{
    for (int power = 63; power >= 0; power--) {
        while (domain->retained_bytes > keep && domain->retained[power] != NULL) {
            tnri_memory *memory = domain->retained[power];
            domain->retained[power] = memory->next;
            domain->retained_bytes -= memory->bytes;
            domain->out_bytes += memory->bytes;
            give(memory);
        }
    }
}

void tnri_memory_forget(tnri_cuda_domain *domain, bool current)
{
    tnr_cuda_device *device = domain->device;
    if (current) {
        tnri_memory_drain(device, true);
        tnri_memory_trim(domain, 0);
    }
    for (int power = 0; power < 64; power++) { /* not asked: the context is lost */
        while (domain->retained[power] != NULL) {
            tnri_memory *memory = domain->retained[power];
            domain->retained[power] = memory->next;
            domain->out_bytes += memory->bytes;
            if (device->gone || device->unloading) {
                forget(memory);
            } else {
                quarantine(memory);
            }
        }
    }
    tnri_memory *lists[] = {device->retiring, device->quarantined};
    for (int list = 0; list < 2; list++) {
        for (tnri_memory *memory = lists[list]; memory != NULL; memory = memory->next) {
            memory->domain = memory->domain == domain ? NULL : memory->domain;
        }
    }
}

void tnri_memory_recover(tnr_cuda_device *device, bool gone)
{
    tnri_memory *list = device->quarantined;
    const uint64_t ever = device->counts.quarantined_ever;
    device->quarantined = NULL;
    while (list != NULL) {
        tnri_memory *memory = list;
        list = memory->next;
        device->counts.quarantined--;
        device->counts.quarantined_bytes -= memory->bytes;
        if (gone) {
            forget(memory);
        } else {
            give(memory);
        }
    }
    while (gone && device->retiring != NULL) {
        tnri_memory *memory = device->retiring;
        device->retiring = memory->next;
        device->counts.retiring--;
        forget(memory);
    }
    device->counts.quarantined_ever = ever;
}

/* ---- Taking ------------------------------------------------------------------------------------------------------------------------- */

static tnr_status take_bound(const char *op, tnri_memory *memory)
{
    tnr_block pages;
    tnr_status status = tnr_domain_allocate(memory->bound, memory->bytes, GRAIN, &pages);
    if (status != TNR_OK) {
        memory->bound = NULL;
        return status;
    }
    status = TNRI_CUDA(op, memory->device, host_register, pages.address, memory->bytes, CU_MEMHOSTREGISTER_PORTABLE);
    if (status != TNR_OK) {
        (void)tnr_domain_release(memory->bound, &pages);
        return status;
    }
    memory->pages = pages;
    memory->address = (uint64_t)(uintptr_t)pages.address;
    return TNR_OK;
}

static tnr_status ask_driver(const char *op, tnri_memory *memory)
{
    tnr_cuda_device *device = memory->device;
    tnr_cuda_lane *house = &device->lanes[TNRI_HOUSE];
    CUdeviceptr address = 0;
    void *host = NULL;
    memory->bound = memory->domain->bound;
    switch (memory->kind) {
    case TNR_CUDA_POOL:
        TNR_TRY(TNRI_CUDA(op, device, pool_take, &address, memory->bytes, memory->domain->pool, house->stream));
        (void)tnri_lane_begin(house); /* whoever uses it comes behind what the house lane does now */
        tnri_lane_note(house, memory, true);
        break;
    case TNR_CUDA_PINNED:
        if (memory->bound != NULL) {
            return take_bound(op, memory);
        }
        TNR_TRY(TNRI_CUDA(op, device, pinned_take, &host, memory->bytes, CU_MEMHOSTALLOC_PORTABLE));
        address = (CUdeviceptr)(uintptr_t)host;
        break;
    case TNR_CUDA_MANAGED:
        TNR_TRY(TNRI_CUDA(op, device, managed_take, &address, memory->bytes, CU_MEM_ATTACH_GLOBAL));
        break;
    default:
        TNR_TRY(TNRI_CUDA(op, device, memory_take, &address, memory->bytes));
        break;
    }
    memory->address = address;
    return TNR_OK;
}

/* Everything that is kept anywhere, for the sake of one request. */
static void give_all_back(tnr_cuda_device *device)
{
    device->counts.out_of_memory_retries++;
    tnri_memory_drain(device, true);
    for (tnri_cuda_domain *domain = device->domains; domain != NULL; domain = domain->next) {
        tnri_memory_trim(domain, 0);
        if (domain->pool != NULL) {
            /* frees are work of the house lane: what they give back is had when that has run */
            (void)tnri_lane_wait("allocate", &device->lanes[TNRI_HOUSE], device->lanes[TNRI_HOUSE].issued, false);
            (void)TNRI_CUDA("allocate", device, pool_trim, domain->pool, 0);
        }
    }
}

enum { CAP_BYTES = TNRI_DIGITS + 1 };

static const char *cap_of(const tnri_cuda_domain *domain, char *room)
{
    if (domain->max_bytes == UINT64_MAX) {
        return "none";
    }
    room[tnri_put_decimal(room, domain->max_bytes)] = '\0';
    return room;
}

static tnr_status take_new(const char *op, tnri_memory *memory)
{
    tnr_cuda_device *device = memory->device;
    tnri_cuda_domain *domain = memory->domain;
    char cap[CAP_BYTES];
    if (domain->out_bytes > domain->max_bytes || memory->bytes > domain->max_bytes - domain->out_bytes) {
        tnri_memory_drain(device, true);
    }
    TNR_REQUIRE(domain->out_bytes <= domain->max_bytes && memory->bytes <= domain->max_bytes - domain->out_bytes,
                TNR_ERR_MEMORY, "%s: %llu bytes asked for, %llu are out, the cap is %s", op, TNRI_LLU(memory->bytes),
                TNRI_LLU(domain->out_bytes), cap_of(domain, cap));
    tnr_status status = ask_driver(op, memory);
    if (status == TNR_ERR_MEMORY) {
        give_all_back(device);
        status = device->poison != TNR_OK ? device->poison : ask_driver(op, memory);
        if (status == TNR_ERR_MEMORY) {
            return tnri_fail(
                status,
                "%s: the driver has no room for %llu bytes, with %llu of this domain out (cap: %s) and all "
                "that was kept given back",
                op, TNRI_LLU(memory->bytes), TNRI_LLU(domain->out_bytes), cap_of(domain, cap));
        }
    }
    return status;
}

static tnr_status round_bytes(const char *op, tnr_cuda_memory kind, uint64_t bytes, uint64_t *rounded)
{
    bool fits = tnri_round_up(bytes, GRAIN, rounded);
    if (fits && kind == TNR_CUDA_PINNED && !tnri_is_power_of_two(*rounded)) {
        const unsigned power = (unsigned)tnri_highest_bit(*rounded) + 1U;
        fits = power < 64;
        *rounded = UINT64_C(1) << (fits ? power : 0U);
    }
    TNR_REQUIRE(fits, TNR_ERR_OVERFLOW, "%s: %llu bytes do not fit in 64 bits when rounded up", op, TNRI_LLU(bytes));
    return TNR_OK;
}

static tnr_status take_kind(const char *op, tnri_cuda_domain *domain, tnr_cuda_memory kind, uint64_t bytes,
                            tnri_memory **memory)
{
    tnr_cuda_device *device = domain->device;
    uint64_t rounded;
    TNR_TRY(round_bytes(op, kind, bytes, &rounded));
    tnri_memory_drain(device, false);
    tnri_memory *taken = domain->retained[kind == TNR_CUDA_PINNED ? tnri_lowest_bit(rounded) : 0];
    if (taken != NULL) {
        domain->retained[tnri_lowest_bit(rounded)] = taken->next;
        domain->retained_bytes -= rounded;
    } else {
        void *item;
        TNR_TRY(tnri_store_take(&device->memory_store, device->home, &item));
        taken = item;
        taken->device = device;
        taken->domain = domain;
        taken->kind = kind;
        taken->bytes = rounded;
        const tnr_status status = take_new(op, taken);
        if (status != TNR_OK) {
            tnri_store_give(&device->memory_store, item);
            return status;
        }
    }
    domain->out_bytes += rounded;
    tnri_memory **bucket = bucket_of(device, taken->address);
    taken->next = *bucket;
    *bucket = taken;
    *memory = taken;
    return TNR_OK;
}

tnr_status tnri_memory_take(const char *op, tnri_cuda_domain *domain, uint64_t bytes, tnri_memory **memory)
{
    return take_kind(op, domain, domain->memory, bytes, memory);
}

tnr_status tnri_memory_take_pinned(const char *op, tnri_cuda_domain *domain, uint64_t bytes, tnri_memory **memory)
{
    return take_kind(op, domain, TNR_CUDA_PINNED, bytes, memory);
}
