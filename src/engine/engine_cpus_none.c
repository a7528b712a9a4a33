/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds without the family machine: engines take no topology. */
#include "team_internal.h"

tnr_status tnri_engine_cpus(const char *op, const tnr_engine_options *options, tnr_cpu_set *cpus)
{
    (void)options;
    (void)cpus;
    return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: topologies are left out of this build (TENURE_FAMILIES)", op);
}

tnr_status tnri_node_of_cpus(const tnr_topology *topology, const tnr_cpu_set *cpus, int *node)
{
    (void)topology;
    (void)cpus;
    *node = TNR_NONE;
    return TNR_OK;
}
