/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tenure.h
 * All of the core: tensors whose owner, place and copies are always known.
 *
 * One owner per allocation, many descriptors; bytes never move unless a call says so by name; nothing is allocated
 * unless a call says from where. Read the headers in this order.
 */
#ifndef TENURE_TENURE_H
#define TENURE_TENURE_H

#include "tenure/version.h"

#include "tenure/status.h"

#include "tenure/features.h"

#include "tenure/dtype.h"

#include "tenure/domain.h"

#include "tenure/view.h"

#include "tenure/tensor.h"

#include "tenure/group.h"

#include "tenure/engine.h"

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

#endif /* TENURE_TENURE_H */
