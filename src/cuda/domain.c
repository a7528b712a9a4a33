/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of a device's memory as domains: a table of functions for each way that the host reaches them.
 *
 * Guarantees: a block is refused rather than handed out after the device was lost; releasing never fails and never touches a
 * driver that is unloading, lost or inherited by fork. Managed blocks are mapped, and plain ones exposed to an MPI that takes them,
 * when no lane has work on them that this must not meet. Blocks of the stream-ordered pool are never exposed: other libraries cannot
 * take such addresses.
 */
#include "cuda_internal.h"

static const char *const NAMES[TNR_CUDA_MEMORY_END] = {"cuda pool", "cuda plain", "cuda pinned", "cuda managed"};

/* Names of domains that are ours: compared by address, which no program's table has. */
static const char *own_name(const tnr_domain *domain, tnr_cuda_memory first, tnr_cuda_memory last)
{
    const char *name = tnr_domain_name(domain);
    for (int memory = (int)first; memory <= (int)last; memory++) {
        if (name == NAMES[memory]) {
            return name;
        }
    }
    return NULL;
}

bool tnri_domain_is_pinned(const tnr_domain *domain)
{
    for (; domain != NULL; domain = domain->parent) {
        if (own_name(domain, TNR_CUDA_PINNED, TNR_CUDA_PINNED) != NULL) {
            return true;
        }
    }
    return false;
}

bool tnri_domain_is_device(const tnr_domain *domain)
{
    for (; domain != NULL; domain = domain->parent) {
        const char *name = own_name(domain, TNR_CUDA_POOL, TNR_CUDA_MANAGED);
        if (name != NULL) {
            return name != NAMES[TNR_CUDA_PINNED];
        }
    }
    return false;
}

tnri_cuda_domain *tnri_domain_of(const tnr_cuda_device *device, const tnr_domain *domain)
{
    for (; domain != NULL; domain = domain->parent) {
        for (tnri_cuda_domain *own = device->domains; own != NULL; own = own->next) {
            if (own->domain == domain) {
                return own;
            }
        }
    }
    return NULL;
}

/* ---- Table of functions -------------------------------------------------------------------------------------------------------------- */

static tnri_cuda_domain *domain_of_state(void *state) { return state; }

static tnr_status domain_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    static const char *const op = "allocate";
    tnri_cuda_domain *domain = domain_of_state(state);
    tnr_cuda_device *device = domain->device;
    TNR_REQUIRE(alignment <= 256 || domain->memory != TNR_CUDA_PINNED, TNR_ERR_UNSUPPORTED,
                "%s: alignment %llu; page-locked blocks start on multiples of 256", op, TNRI_LLU(alignment));
    TNR_TRY(tnri_device_enter(op, device));
    tnri_memory *memory;
    tnr_status status = tnri_memory_take(op, domain, bytes, &memory);
    if (status == TNR_OK) {
        block->address = (void *)(uintptr_t)memory->address;
        block->bytes = memory->bytes;
        block->tag = memory->address;
    }
    return tnri_device_leave(device, true, status);
}

static void domain_release(void *state, const tnr_block *block)
{
    tnr_cuda_device *device = domain_of_state(state)->device;
    bool current;
    if (tnri_device_enter_ended("release", device, &current) != TNR_OK) {
        return; /* a forked child: the memory is its parent's */
    }
    tnri_memory *memory = tnri_memory_find(device, block->tag);
    if (memory != NULL) {
        tnri_memory_release(memory, current);
    }
    (void)tnri_device_leave(device, current, TNR_OK);
}

/* The answer to a block that is none of the device's. */
static tnr_status leave_unknown(const char *op, tnr_cuda_device *device)
{
    return tnri_device_leave(device, true, tnri_fail(TNR_ERR_BACKEND, "%s: the block is not known", op));
}

/* Nothing that the lanes still have to do is in the way of one who reads, or writes, the block without them. */
static tnr_status settle(const char *op, tnr_cuda_device *device, const tnri_memory *memory, tnr_map_mode mode)
{
    if (mode == TNR_MAP_READ) {
        return tnri_lane_wait(op, &device->lanes[memory->written_in], memory->written, true);
    }
    for (int index = 0; index < device->lane_count; index++) {
        TNR_TRY(tnri_lane_wait(op, &device->lanes[index], memory->used[index], true));
    }
    return TNR_OK;
}

static tnr_status domain_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    static const char *const op = "map";
    tnr_cuda_device *device = domain_of_state(state)->device;
    TNR_TRY(tnri_device_enter(op, device));
    const tnri_memory *memory = tnri_memory_find(device, block->tag);
    if (memory == NULL) {
        return leave_unknown(op, device);
    }
    const tnr_status status =
        !device->info.concurrent_managed ? tnri_lanes_wait(op, device) : settle(op, device, memory, mode);
    if (status == TNR_OK) {
        device->managed_maps++;
        *host = (void *)(uintptr_t)memory->address;
    }
    return tnri_device_leave(device, true, status);
}

static tnr_status domain_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    (void)block;
    (void)mode;
    (void)host;
    tnr_cuda_device *device = domain_of_state(state)->device;
    TNR_TRY(tnri_device_here("unmap", device));
    (void)pthread_mutex_lock(&device->mutex);
    device->managed_maps--; /* what the device does later sees what the host wrote */
    (void)pthread_mutex_unlock(&device->mutex);
    return TNR_OK;
}

/* Is the device's context the calling thread's own, as the program left it? */
static bool is_current(const tnr_cuda_device *device)
{
    CUcontext current = NULL;
    return device->driver.context_current(&current) == CUDA_SUCCESS && current == device->context;
}

/*
 * Plain memory for an MPI that takes it: the address that the driver knows it by. Only in threads where the device is current: MPI looks there,
 * and Open MPI makes what it once found current so again, which changes nothing then.
 */
static tnr_status domain_expose(void *state, const tnr_block *block, tnr_map_mode mode, void **address)
{
    static const char *const op = "expose";
    tnr_cuda_device *device = domain_of_state(state)->device;
    TNR_TRY(tnri_device_here(op, device));
    TNR_REQUIRE(is_current(device), TNR_ERR_UNSUPPORTED,
                "%s: the device is not current in this thread, where a transport looks for it", op);
    TNR_TRY(tnri_device_enter(op, device));
    const tnri_memory *memory = tnri_memory_find(device, block->tag);
    if (memory == NULL) {
        return leave_unknown(op, device);
    }
    const tnr_status status = settle(op, device, memory, mode);
    if (status == TNR_OK) {
        *address = (void *)(uintptr_t)memory->address;
    }
    return tnri_device_leave(device, true, status);
}

static void domain_conceal(void *state, const tnr_block *block, tnr_map_mode mode)
{
    (void)state;
    (void)block;
    (void)mode; /* the transport is done: what goes into a lane later comes after it */
}

static void domain_statistics(void *state, tnr_domain_statistics *statistics)
{
    tnri_cuda_domain *domain = domain_of_state(state);
    tnr_cuda_device *device = domain->device;
    if (tnri_device_here("statistics", device) != TNR_OK) {
        return;
    }
    (void)pthread_mutex_lock(&device->mutex);
    if (domain->max_bytes != UINT64_MAX) {
        statistics->capacity = domain->max_bytes;
        statistics->free_bytes = domain->max_bytes - tnri_min_u64(domain->out_bytes, domain->max_bytes);
        statistics->largest_free = statistics->free_bytes;
    }
    (void)pthread_mutex_unlock(&device->mutex);
}

static tnr_status pool_open(const char *op, tnri_cuda_domain *domain)
{
    tnr_cuda_device *device = domain->device;
    CUmemPoolProps properties;
    memset(&properties, 0, sizeof(properties));
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device->handle;
    cuuint64_t threshold = domain->retain_bytes;
    TNR_TRY(TNRI_CUDA(op, device, pool_create, &domain->pool, &properties));
    const tnr_status status =
        TNRI_CUDA(op, device, pool_set, domain->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    if (status != TNR_OK) {
        (void)TNRI_CUDA(op, device, pool_destroy, domain->pool);
    }
    return status;
}

static tnr_status domain_open(void *state, const void *config)
{
    static const char *const op = "cuda_domain_create";
    tnri_cuda_domain *domain = domain_of_state(state);
    memcpy(domain, config, sizeof(*domain));
    tnr_cuda_device *device = domain->device;
    TNR_TRY(tnri_device_enter(op, device));
    tnr_status status = domain->memory == TNR_CUDA_POOL ? pool_open(op, domain) : TNR_OK;
    if (status == TNR_OK) {
        domain->next = device->domains;
        device->domains = domain;
        device->domain_count++;
    }
    return tnri_device_leave(device, true, status);
}

static void domain_close(void *state)
{
    tnri_cuda_domain *domain = domain_of_state(state);
    tnr_cuda_device *device = domain->device;
    tnr_domain *bound = domain->bound;
    bool current;
    if (tnri_device_enter_ended("domain_close", device, &current) != TNR_OK) {
        return;
    }
    tnri_memory_forget(domain, current);
    if (current && domain->pool != NULL) {
        (void)TNRI_CUDA("domain_close", device, pool_destroy, domain->pool);
    }
    tnri_cuda_domain **at = &device->domains;
    while (*at != domain) {
        at = &(*at)->next;
    }
    *at = domain->next;
    device->domain_count--;
    device->orphan_count -= domain->orphan ? 1 : 0;
    (void)tnri_device_leave(device, current, TNR_OK);
    (void)tnr_domain_close(&bound); /* busy: quarantined pages live, and the last of them closes it */
}

/* ---- Making --------------------------------------------------------------------------------------------------------------------------- */

/* Pages of the node near the device, when the program gave a topology in which it may use that. */
static tnr_status bind_near(tnri_cuda_domain *own, tnr_topology *topology)
{
    const int node = own->device->info.numa_node;
    tnr_node_info info;
    if (node < 0 || tnr_topology_node(topology, node, &info) != TNR_OK) {
        return TNR_OK; /* not known, or not for this process: where the driver puts it */
    }
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.best_effort = true;
    return tnr_numa_create(own->device->home, topology, node, &options, &own->bound);
}

static tnr_status options_take(const char *op, tnr_cuda_device *device, const tnr_cuda_domain_options *given,
                               tnri_cuda_domain *own)
{
    tnr_cuda_domain_options options = TNR_CUDA_DOMAIN_OPTIONS;
    TNR_TRY(tnr_provider.options_take(op, given, sizeof(options), &options, sizeof(options)));
    own->max_bytes = options.max_bytes != 0          ? options.max_bytes
                     : own->memory <= TNR_CUDA_PLAIN ? device->info.total_bytes
                                                     : UINT64_MAX;
    own->retain_bytes = options.retain_bytes != 0 ? options.retain_bytes : UINT64_C(256) << 20;
    return options.topology != NULL && own->memory == TNR_CUDA_PINNED ? bind_near(own, options.topology) : TNR_OK;
}

tnr_status tnr_cuda_domain_create(tnr_cuda_device *device, tnr_cuda_memory memory,
                                  const tnr_cuda_domain_options *options, tnr_domain **domain)
{
    static const char *const op = "cuda_domain_create";
    TNR_REQUIRE(device != NULL && domain != NULL, TNR_ERR_ARGUMENT, "%s: device and domain must not be NULL", op);
    TNR_REQUIRE(memory >= TNR_CUDA_POOL && memory < TNR_CUDA_MEMORY_END, TNR_ERR_ARGUMENT,
                "%s: %d is no kind of memory", op, (int)memory);
    TNR_TRY(tnri_device_here(op, device));
    TNR_REQUIRE(memory != TNR_CUDA_MANAGED || device->info.managed, TNR_ERR_UNSUPPORTED,
                "%s: the device has no managed memory", op);
    const bool pool = memory == TNR_CUDA_POOL && device->info.pools;
    tnri_cuda_domain own = {.device = device, .memory = memory == TNR_CUDA_POOL && !pool ? TNR_CUDA_PLAIN : memory};
    own.maker = &own;
    TNR_TRY(options_take(op, device, options, &own));
    tnr_domain_ops ops = {
        .size = sizeof(tnri_cuda_domain),
        .name = NAMES[own.memory],
        .open = domain_open,
        .close = domain_close,
        .allocate = domain_allocate,
        .release = domain_release,
        .statistics = domain_statistics,
    };
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    config.config = &own;
    config.placement.device = device->info.ordinal;
    if (memory <= TNR_CUDA_PLAIN) {
        config.placement.kind = TNR_MEMORY_DEVICE;
        config.access = TNR_ACCESS_NONE;
        ops.read = tnri_box_read;
        ops.write = tnri_box_write;
        ops.expose = own.memory == TNR_CUDA_PLAIN ? domain_expose : NULL;
        ops.conceal = own.memory == TNR_CUDA_PLAIN ? domain_conceal : NULL;
    } else if (memory == TNR_CUDA_PINNED) {
        config.placement.kind = TNR_MEMORY_PINNED;
        config.placement.cpu_affinity = tnr_domain_placement(own.bound).cpu_affinity;
    } else {
        config.placement.kind = TNR_MEMORY_MANAGED;
        config.access = TNR_ACCESS_MAPPED;
        config.coherent_maps = true;
        ops.map = domain_map;
        ops.unmap = domain_unmap;
    }
    tnr_domain *made = NULL;
    const tnr_status status = tnr_domain_create(device->home, &config, &made);
    if (status != TNR_OK) {
        (void)tnr_domain_close(&own.bound);
        return status;
    }
    (void)pthread_mutex_lock(&device->mutex);
    for (tnri_cuda_domain *at = device->domains; at != NULL; at = at->next) {
        at->domain = at->domain == NULL && at->maker == &own ? made : at->domain;
    }
    (void)pthread_mutex_unlock(&device->mutex);
    *domain = made;
    return TNR_OK;
}

/* ---- Asking ----------------------------------------------------------------------------------------------------------------------------- */

static tnr_status find(const char *op, tnr_cuda_device *device, const tnr_domain *domain, tnri_cuda_domain **own)
{
    *own = tnri_domain_of(device, domain);
    TNR_REQUIRE(*own != NULL, TNR_ERR_FOREIGN, "%s: %s is no domain of this device object", op,
                tnr_domain_name(domain));
    return TNR_OK;
}

static tnr_status describe(const char *op, tnri_cuda_domain *own, tnr_cuda_domain_info *info)
{
    memset(info, 0, sizeof(*info));
    info->memory = own->memory;
    info->exportable = own->memory == TNR_CUDA_PLAIN;
    info->out_bytes = own->out_bytes;
    info->retained_bytes = own->retained_bytes;
    info->max_bytes = own->max_bytes;
    info->retain_bytes = own->retain_bytes;
    if (own->pool != NULL) {
        cuuint64_t reserved = 0;
        cuuint64_t used = 0;
        TNR_TRY(TNRI_CUDA(op, own->device, pool_get, own->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
        TNR_TRY(TNRI_CUDA(op, own->device, pool_get, own->pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        info->retained_bytes = reserved - tnri_min_u64(used, reserved);
    }
    return TNR_OK;
}

tnr_status tnr_cuda_domain_describe(tnr_cuda_device *device, const tnr_domain *domain, tnr_cuda_domain_info *info)
{
    static const char *const op = "cuda_domain_describe";
    TNR_REQUIRE(device != NULL && domain != NULL && info != NULL, TNR_ERR_ARGUMENT,
                "%s: device, domain and info must not be NULL", op);
    TNR_TRY(tnri_device_enter(op, device));
    tnri_cuda_domain *own;
    tnr_cuda_domain_info found;
    tnr_status status = find(op, device, domain, &own);
    status = status == TNR_OK ? describe(op, own, &found) : status;
    if (status == TNR_OK) {
        *info = found;
    }
    return tnri_device_leave(device, true, status);
}

tnr_status tnr_cuda_domain_trim(tnr_cuda_device *device, tnr_domain *domain, uint64_t keep_bytes)
{
    static const char *const op = "cuda_domain_trim";
    TNR_REQUIRE(device != NULL && domain != NULL, TNR_ERR_ARGUMENT, "%s: device and domain must not be NULL", op);
    TNR_TRY(tnri_device_enter(op, device));
    tnri_cuda_domain *own;
    tnr_status status = find(op, device, domain, &own);
    status = status == TNR_OK ? tnri_lanes_wait(op, device) : status;
    if (status == TNR_OK) {
        tnri_memory_drain(device, true);
        tnri_memory_trim(own, keep_bytes);
        status = tnri_lane_wait(op, &device->lanes[TNRI_HOUSE], device->lanes[TNRI_HOUSE].issued, false);
    }
    if (status == TNR_OK && own->pool != NULL) {
        status = TNRI_CUDA(op, device, pool_trim, own->pool, keep_bytes);
    }
    return tnri_device_leave(device, true, status);
}
