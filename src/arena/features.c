/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this library was built with. The words come from the configure step (features_config.h), which printed the same.
 */
#include "tenure/tenure.h"

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

tnr_status tnr_features_check(const tnr_build *build)
{
    TNR_REQUIRE(build != NULL, TNR_ERR_ARGUMENT, "features_check: build must not be NULL");
    const tnr_build ours = tnr_build_of_headers();
    TNR_REQUIRE(build->size == ours.size && build->version_major == ours.version_major &&
                    build->version_minor == ours.version_minor,
                TNR_ERR_ARGUMENT, "features_check: headers of version %d.%d, library of version %s", build->version_major,
                build->version_minor, TNR_VERSION_STRING);
    TNR_REQUIRE(build->max_rank == ours.max_rank, TNR_ERR_ARGUMENT,
                "features_check: headers with TNR_MAX_RANK %d, expected the library's %d", build->max_rank, ours.max_rank);
    TNR_REQUIRE(build->view_bytes == ours.view_bytes && build->exported_bytes == ours.exported_bytes &&
                    build->ledger_bytes == ours.ledger_bytes && build->descriptor_bytes == ours.descriptor_bytes,
                TNR_ERR_ARGUMENT, "features_check: the headers' structs do not have the library's sizes");
    return tnri_hwloc_check();
}
