/* SPDX-License-Identifier: BSD-3-Clause */
/* Do a program's headers and this library fit each other? Here, because views and descriptors are this room's. */
#include "tenure/build.h"

#include "storage.h"

tnr_status tnr_features_check(const tnr_build *build)
{
    TNR_REQUIRE(build != NULL, TNR_ERR_ARGUMENT, "features_check: build must not be NULL");
    const tnr_build ours = tnr_build_of_headers();
    TNR_REQUIRE(build->size == ours.size && build->version_major == ours.version_major &&
                    build->version_minor == ours.version_minor,
                TNR_ERR_ARGUMENT, "features_check: headers of version %d.%d, library of version %s",
                build->version_major, build->version_minor, TNR_VERSION_STRING);
    TNR_REQUIRE(build->max_rank == ours.max_rank, TNR_ERR_ARGUMENT,
                "features_check: headers with TNR_MAX_RANK %d, expected the library's %d", build->max_rank,
                ours.max_rank);
    TNR_REQUIRE(build->view_bytes == ours.view_bytes && build->exported_bytes == ours.exported_bytes &&
                    build->ledger_bytes == ours.ledger_bytes && build->descriptor_bytes == ours.descriptor_bytes,
                TNR_ERR_ARGUMENT, "features_check: the headers' structs do not have the library's sizes");
    return tnri_hwloc_check();
}
