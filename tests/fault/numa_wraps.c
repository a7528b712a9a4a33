/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands between the library and the system in tests of faults of topologies and numa domains: numa_faults.h. */
#define _GNU_SOURCE /* MADV_POPULATE_WRITE */

#include "numa_faults.h"

#include <errno.h>

#include "arena/topology_internal.h"

numa_faults faults;

static bool fails_now(fault_call which)
{
    faults.calls++;
    const bool now = faults.fails[which] || (faults.counting && faults.calls == faults.call);
    if (now) {
        errno = faults.error;
    }
    return now;
}

/* hwloc's types are pointers to structs that this file need not know. Weak: a build without hwloc has none of these. */
#define WEAK __attribute__((weak))
int __real_madvise(void *address, size_t bytes, int advice);
int __real_hwloc_topology_init(void **topology) WEAK;
void __real_hwloc_topology_destroy(void *topology) WEAK;
int __real_hwloc_topology_load(void *topology) WEAK;
int __real_hwloc_topology_set_flags(void *topology, unsigned long flags) WEAK;
void *__real_hwloc_bitmap_alloc(void) WEAK;
void __real_hwloc_bitmap_free(void *set) WEAK;
int __real_hwloc_get_cpubind(void *topology, void *set, int flags) WEAK;
int __real_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags) WEAK;
int __real_hwloc_get_area_membind(void *topology, const void *address, size_t bytes, void *set, int *policy,
                                  int flags) WEAK;
void hwloc_bitmap_zero(void *set) WEAK;
int hwloc_bitmap_only(void *set, unsigned member) WEAK;
int __real_tnri_place_locate(uint64_t count, void **addresses, int *nodes);
bool __real_tnri_place_membind(tnr_node_set *set);
int __real_tnri_place_affinity(tnr_cpu_set *set);
int __real_tnri_place_prefer(void *address, uint64_t bytes, int node);
int __real_tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node);

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *address, size_t bytes);
int __wrap_madvise(void *address, size_t bytes, int advice);
int __wrap_hwloc_topology_init(void **topology);
void __wrap_hwloc_topology_destroy(void *topology);
int __wrap_hwloc_topology_load(void *topology);
int __wrap_hwloc_topology_set_flags(void *topology, unsigned long flags);
unsigned __wrap_hwloc_get_api_version(void);
void *__wrap_hwloc_bitmap_alloc(void);
void __wrap_hwloc_bitmap_free(void *set);
int __wrap_hwloc_get_cpubind(void *topology, void *set, int flags);
int __wrap_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags);
int __wrap_hwloc_get_area_membind(void *topology, const void *address, size_t bytes, void *set, int *policy, int flags);
int __wrap_tnri_place_locate(uint64_t count, void **addresses, int *nodes);
bool __wrap_tnri_place_membind(tnr_node_set *set);
int __wrap_tnri_place_affinity(tnr_cpu_set *set);
int __wrap_tnri_place_prefer(void *address, uint64_t bytes, int node);
int __wrap_tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node);

/* Mapped bytes less unmapped ones: pieces may go one by one. */
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (fails_now(CALL_MMAP)) {
        return MAP_FAILED;
    }
    void *mapped = __real_mmap(address, bytes, protection, flags, file, offset);
    faults.maps += mapped != MAP_FAILED ? (int64_t)bytes : 0;
    return mapped;
}

int __wrap_munmap(void *address, size_t bytes)
{
    if (fails_now(CALL_MUNMAP)) {
        return -1;
    }
    faults.maps -= (int64_t)bytes;
    return __real_munmap(address, bytes);
}

int __wrap_madvise(void *address, size_t bytes, int advice)
{
    if (advice == MADV_POPULATE_WRITE && fails_now(CALL_POPULATE)) {
        return -1;
    }
    faults.huge += advice == MADV_HUGEPAGE ? 1 : 0;
    if (advice == MADV_DONTNEED) {
        faults.given_up++;
        faults.maps -= (int64_t)bytes;
    }
    return __real_madvise(address, bytes, advice);
}

int __wrap_hwloc_topology_init(void **topology)
{
    if (fails_now(CALL_INIT)) {
        return -1;
    }
    faults.topologies++;
    return __real_hwloc_topology_init(topology);
}

void __wrap_hwloc_topology_destroy(void *topology)
{
    faults.topologies--;
    __real_hwloc_topology_destroy(topology);
}

int __wrap_hwloc_topology_load(void *topology)
{
    return fails_now(CALL_LOAD) ? -1 : __real_hwloc_topology_load(topology);
}

int __wrap_hwloc_topology_set_flags(void *topology, unsigned long flags)
{
    return fails_now(CALL_FLAGS) ? -1 : __real_hwloc_topology_set_flags(topology, flags);
}

unsigned __wrap_hwloc_get_api_version(void)
{
    return faults.version != 0 ? faults.version : __real_hwloc_get_api_version();
}

void *__wrap_hwloc_bitmap_alloc(void)
{
    if (fails_now(CALL_BITMAP)) {
        return NULL;
    }
    faults.bitmaps++;
    return __real_hwloc_bitmap_alloc();
}

void __wrap_hwloc_bitmap_free(void *set)
{
    faults.bitmaps -= set != NULL ? 1 : 0;
    __real_hwloc_bitmap_free(set);
}

int __wrap_hwloc_get_cpubind(void *topology, void *set, int flags)
{
    if (fails_now(CALL_CPUBIND)) {
        return -1;
    }
    if (faults.no_cpu) {
        hwloc_bitmap_zero(set);
        return 0;
    }
    return __real_hwloc_get_cpubind(topology, set, flags);
}

int __wrap_hwloc_set_area_membind(void *topology, const void *address, size_t bytes, const void *set, int policy,
                                  int flags)
{
    return fails_now(CALL_BIND) ? -1 : __real_hwloc_set_area_membind(topology, address, bytes, set, policy, flags);
}

int __wrap_hwloc_get_area_membind(void *topology, const void *address, size_t bytes, void *set, int *policy, int flags)
{
    if (fails_now(CALL_READ_BACK)) {
        return -1;
    }
    const int result = __real_hwloc_get_area_membind(topology, address, bytes, set, policy, flags);
    if (result == 0 && faults.other_node) {
        return hwloc_bitmap_only(set, 999);
    }
    return result;
}

int __wrap_tnri_place_locate(uint64_t count, void **addresses, int *nodes)
{
    if (fails_now(CALL_LOCATE)) {
        return faults.error;
    }
    const int error = __real_tnri_place_locate(count, addresses, nodes);
    for (uint64_t at = 0; faults.other_place && at < count; at++) {
        nodes[at] = 999;
    }
    return error;
}

bool __wrap_tnri_place_membind(tnr_node_set *set)
{
    if (faults.bound_elsewhere) {
        memset(set, 0, sizeof(*set));
        set->words[999 / 64] = UINT64_C(1) << (999 % 64);
        return true;
    }
    return __real_tnri_place_membind(set);
}

int __wrap_tnri_place_affinity(tnr_cpu_set *set)
{
    return fails_now(CALL_AFFINITY) ? faults.error : __real_tnri_place_affinity(set);
}

int __wrap_tnri_place_prefer(void *address, uint64_t bytes, int node)
{
    return fails_now(CALL_PREFER) ? faults.error : __real_tnri_place_prefer(address, bytes, node);
}

int __wrap_tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node)
{
    return fails_now(CALL_GATHER) ? faults.error : __real_tnri_place_gather(address, bytes, page, node);
}
