/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds whose topologies know no caches: bounded ones. */
#include "caches_internal.h"

tnr_status tnri_caches_of(const tnr_topology *topology, const tnr_cpu_set *cpus, uint64_t *l2, uint64_t *l3)
{
    (void)topology;
    (void)cpus;
    tnri_caches_guess(l2, l3);
    return TNR_OK;
}
