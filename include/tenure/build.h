/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file build.h
 * Do the headers that a program was compiled with and the library that runs fit each other?
 */
#ifndef TENURE_BUILD_H
#define TENURE_BUILD_H

#include "tenure/features.h"
#include "tenure/group.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What these headers say; the library's own answer comes from the same lines. */
static inline tnr_build tnr_build_of_headers(void)
{
    tnr_build build;
    build.size = sizeof(build);
    build.version_major = TNR_VERSION_MAJOR;
    build.version_minor = TNR_VERSION_MINOR;
    build.max_rank = TNR_MAX_RANK;
    build.view_bytes = sizeof(tnr_view);
    build.exported_bytes = sizeof(tnr_exported);
    build.ledger_bytes = sizeof(tnr_ledger);
    build.descriptor_bytes = sizeof(tnr_descriptor);
    return build;
}

/** Do these headers and the library that runs fit each other? Call it once at start. See tnr_features_check. */
static inline tnr_status tnr_check_build(void)
{
    const tnr_build build = tnr_build_of_headers();
    return tnr_features_check(&build);
}

#ifdef __cplusplus
}
#endif

#endif /* TENURE_BUILD_H */
