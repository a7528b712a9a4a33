/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded builds, and systems whose pages we do not know: no numa domain of any kind. */
#include "arena.h"
#include "tenure/topology.h"

tnr_status tnr_numa_need(tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "numa_need: need must not be NULL");
    return tnri_record_need(0, need);
}

tnr_status tnr_numa_create(tnr_domain *home, tnr_topology *topology, int node, const tnr_numa_options *options,
                           tnr_domain **domain)
{
    (void)options;
    TNR_REQUIRE(home != NULL && topology != NULL && domain != NULL, TNR_ERR_ARGUMENT,
                "numa_create: home, topology and domain must not be NULL");
    TNR_TRY(tnri_topology_node_check("numa_create", topology, node));
    return tnri_fail(TNR_ERR_UNSUPPORTED,
                     "numa_create: this build takes no pages from the system; use tnr_arena_create");
}

tnr_status tnr_numa_describe(const tnr_domain *domain, tnr_numa_info *info)
{
    (void)info;
    return tnri_fail(TNR_ERR_ARGUMENT, "numa_describe: needs a numa domain, not %s", tnr_domain_name(domain));
}
