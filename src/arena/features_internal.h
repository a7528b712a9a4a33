/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run-time half of the feature report: does the hwloc that runs fit the one whose headers were compiled in?
 */
#ifndef TENURE_ARENA_FEATURES_INTERNAL_H
#define TENURE_ARENA_FEATURES_INTERNAL_H

#include "tenure/status.h"

/* TNR_ERR_BACKEND when the major parts (bits 16 and up) of two hwloc API versions differ. Pure, so that a test can name
 * any two. */
tnr_status tnri_hwloc_version_check(unsigned built, unsigned running);

#endif /* TENURE_ARENA_FEATURES_INTERNAL_H */
