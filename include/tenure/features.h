/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file features.h
 * What the library that runs was built with: the same facts that the configure step printed. And what of the binary interface
 * stays while versions change.
 *
 * Structs across versions:
 *
 * - Settings (tnr_*_options, tnr_domain_config) begin with their `size`. A program built with a newer header is served as long
 *   as what this library does not know is zero there, and so is one built with an older header since 0.1: new settings come at
 *   the end, and zero means what the library did before.
 * - Answers (tnr_*_info, tnr_*_statistics, tnr_residence, tnr_descriptor, tnr_feature_set) end in `reserved` words that are
 *   zero. A later version may give them names; it moves nothing that is before them, and neither size nor offsets change.
 * - Values that programs keep and hand back (tnr_view, tnr_exported, tnr_block, tnr_slot, tnr_need, sets of CPUs and nodes) and
 *   tnr_ledger stay as they are within a minor version. tnr_features_check compares those that depend on the build.
 * - Enums grow at their end, before the ..._END if there is one; no constant's value changes.
 */
#ifndef TENURE_FEATURES_H
#define TENURE_FEATURES_H

#include "tenure/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Build facts. Strings are static and never NULL; "off" where a part is not built in. */
typedef struct tnr_feature_set {
    const char *version;     /**< library version, "MAJOR.MINOR.PATCH" */
    int max_rank;            /**< TNR_MAX_RANK of the library; compare with the header's */
    bool bounded;            /**< built for bounded memory: no malloc, no threads, no stdio */
    bool threads;            /**< several threads may use the library at once */
    bool debug;              /**< fills fresh and freed memory with patterns */
    const char *hwloc;       /**< hwloc version built in, or "off" */
    const char *blis;        /**< BLIS version built in, or "off" */
    const char *mpi;         /**< MPI standard found when configured, or "off" */
    const char *cuda;        /**< CUDA toolkit found when configured, or "off" */
    const char *sanitize;    /**< sanitizers compiled in, or "off" */
    const char *vector_math; /**< where vector exp, sin, ... come from: "libmvec", "SLEEF" and its version, or "off" */
    const char *reserved[7]; /**< NULL */
} tnr_feature_set;

/** Fill *features. Never fails. Thread-safe. */
TNR_API void tnr_features(tnr_feature_set *features);

/** What the headers of a program say that must agree with the library; tnr_build_of_headers fills it. */
typedef struct tnr_build {
    size_t size; /**< sizeof(tnr_build) */
    int version_major;
    int version_minor;
    int max_rank;
    size_t view_bytes;
    size_t exported_bytes;
    size_t ledger_bytes;
    size_t descriptor_bytes;
} tnr_build;

/**
 * Compare what the library was built against with what runs. Programs call tnr_check_build() of tenure.h.
 *
 * TNR_ERR_ARGUMENT when the program's headers are not the library's in version, rank limit or struct sizes;
 * TNR_ERR_BACKEND when hwloc's major API version differs from the one built in. Thread-safe.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_features_check(const tnr_build *build);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_FEATURES_H */
