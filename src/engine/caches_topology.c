/* SPDX-License-Identifier: BSD-3-Clause */
/* Second- and third-level caches of the CPUs that an engine works on. */
#include "caches_internal.h"

/* Of how many cores are these CPUs, in each third-level cache? */
static tnr_status count_cores(const tnr_topology *topology, const tnr_cpu_set *cpus, int16_t *cores)
{
    tnr_cpu_set seen = {{0}}; /* a core's number is below that of CPUs, and so is a cache's */
    for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu)) {
        tnr_cpu_info info;
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        if (info.l3 != TNR_NONE && info.l3 < TNR_MAX_CPUS && !tnr_cpu_set_has(&seen, info.core)) {
            TNR_TRY(tnr_cpu_set_add(&seen, info.core));
            ++cores[info.l3];
        }
    }
    return TNR_OK;
}

tnr_status tnri_caches_of(const tnr_topology *topology, const tnr_cpu_set *cpus, uint64_t *l2, uint64_t *l3)
{
    int16_t cores[TNR_MAX_CPUS] = {0};
    TNR_TRY(count_cores(topology, cpus, cores));
    uint64_t least_l2 = UINT64_MAX;
    uint64_t least_l3 = UINT64_MAX;
    for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu)) {
        tnr_cpu_info info;
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        uint64_t share = info.l3_bytes;
        if (info.l3 != TNR_NONE && info.l3 < TNR_MAX_CPUS && cores[info.l3] < info.l3_cores) {
            share = share / (uint64_t)info.l3_cores * (uint64_t)cores[info.l3];
        }
        least_l2 = tnri_min_u64(least_l2, info.l2_bytes);
        least_l3 = tnri_min_u64(least_l3, share);
    }
    if (least_l2 == 0 || least_l2 == UINT64_MAX) { /* a topology that knows no caches */
        tnri_caches_guess(&least_l2, &least_l3);
    }
    *l2 = least_l2;
    *l3 = least_l3;
    return TNR_OK;
}
