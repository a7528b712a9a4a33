/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this library was built with. The words come from the configure step (features_config.h), which printed the same.
 */
#include "tenure/features.h"

#include "base.h"
#include "features_config.h"
#include "features_internal.h"

void tnr_features(tnr_feature_set *features)
{
    if (features == NULL) {
        return;
    }
    *features = (tnr_feature_set){
        .version = TNR_VERSION_STRING,
        .max_rank = TNR_MAX_RANK,
        .bounded = TNRI_CONFIG_BOUNDED,
        .threads = TNRI_CONFIG_THREADS,
#ifdef NDEBUG
        .debug = false,
#else
        .debug = true,
#endif
        .hwloc = TNRI_CONFIG_HWLOC,
        .blis = TNRI_CONFIG_BLIS,
        .mpi = TNRI_CONFIG_MPI,
        .cuda = TNRI_CONFIG_CUDA,
        .sanitize = TNRI_CONFIG_SANITIZE,
        .vector_math = TNRI_CONFIG_VECTOR_MATH,
    };
}

tnr_status tnri_hwloc_version_check(unsigned built, unsigned running)
{
    TNR_REQUIRE(
        built >> 16 == running >> 16, TNR_ERR_BACKEND,
        "features_check: built against hwloc API version %d, expected the same major version at run time, found %d",
        (int)(built >> 16), (int)(running >> 16));
    return TNR_OK;
}
