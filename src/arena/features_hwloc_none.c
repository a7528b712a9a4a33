/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds without hwloc: nothing can differ. */
#include "arena.h"
#include "features_internal.h"

tnr_status tnri_hwloc_check(void) { return TNR_OK; }
