/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of caches that kernels reckon with. */
#ifndef TENURE_ENGINE_CACHES_INTERNAL_H
#define TENURE_ENGINE_CACHES_INTERNAL_H

#include "engine_internal.h"

/* The least second and third level of these CPUs; guessed where the topology does not know. *l3 may be 0: none. */
tnr_status tnri_caches_of(const tnr_topology *topology, const tnr_cpu_set *cpus, uint64_t *l2, uint64_t *l3);

/* Without a topology: what the C library says of the machine (caches_sysconf.c), or what is likely (caches_likely.c). */
void tnri_caches_guess(uint64_t *l2, uint64_t *l3);

#endif /* TENURE_ENGINE_CACHES_INTERNAL_H */
