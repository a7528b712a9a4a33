/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an engine takes its CPUs' caches to be, and from where on outputs are written past them.
 *
 * A streaming store saves the read of the line that it overwrites, and leaves the result in memory instead of a cache. Which
 * is better between the second-level cache and memory depends on the third level. Measured, f64 add alone, and add with a sum
 * that reads its result again, time with plain over time with streaming stores:
 *
 *   Zen 3, 512 KiB L2, 32 MiB L3   3 to 12 MiB touched: 1.0, 0.6   24 MiB: 1.5, 0.8   48 MiB: 1.4, 1.2   393 MiB: 1.8, 1.3
 *   Emerald Rapids, 2 MiB L2, 260 MiB L3 that strangers share      192 MiB: 1.9, 1.0  768 MiB: 1.5
 *
 * So plain stores while all that is touched fits in three quarters of a third-level cache, streaming ones beyond; and of a
 * third-level cache that is huge beside the second, as those of large servers are, no more is counted than 64 second-level
 * ones: one engine cannot hope to have it for itself. Nor can it of one that cores share which are not the engine's: it reckons
 * with its cores' part, be the others another engine's, another process's, or idle now.
 */
#include "caches_internal.h"

enum { SHARE = 64, WITHOUT_THIRD = 8 };

bool tnri_engine_streams(const tnr_engine *engine, uint64_t bytes)
{
    if (engine->l3_bytes == 0) {
        return bytes / WITHOUT_THIRD > engine->l2_bytes;
    }
    const uint64_t share = tnri_min_u64(engine->l3_bytes, engine->l2_bytes * SHARE);
    return bytes > share - share / 4;
}

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
