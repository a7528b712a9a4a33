/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc changes its structures between major versions: headers of one with the library of another give garbage topologies
 * without an error. So the two numbers are compared before anything of hwloc is believed.
 */
#include <hwloc.h>

#include "arena.h"
#include "features_internal.h"

tnr_status tnri_hwloc_check(void) { return tnri_hwloc_version_check(HWLOC_API_VERSION, hwloc_get_api_version()); }
