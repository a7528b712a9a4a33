/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file status.h
 * What a call answers, and the text of the last failure.
 *
 * Every call that can fail returns a tnr_status. Results come through the last parameters and are written only on
 * success. No call prints, exits, aborts or raises a signal on bad input. On failure nothing has changed: whatever the
 * caller passed in is still the caller's, as it was.
 */
#ifndef TENURE_STATUS_H
#define TENURE_STATUS_H

#include "tenure/version.h"

#if defined(TNR_STATIC) || !defined(__GNUC__)
#define TNR_API
#else
#define TNR_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define TNR_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TNR_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The one list of answers: X(constant, value, name, meaning). It makes the enum below, the names, the texts and the
 * table in docs/errors.md.
 */
#define TNR_STATUS_MAP(X)                                                                           \
    X(TNR_OK, 0, "ok", "done")                                                                      \
    X(TNR_ERR_ARGUMENT, 1, "argument", "a null, malformed, negative or out-of-range argument")      \
    X(TNR_ERR_DTYPE, 2, "dtype", "a dtype that does not fit the operation or its partner")          \
    X(TNR_ERR_SHAPE, 3, "shape", "extents, ranks or lengths that do not agree")                     \
    X(TNR_ERR_BOUNDS, 4, "bounds", "an index, axis or view that leaves what it indexes")            \
    X(TNR_ERR_OVERFLOW, 5, "overflow", "a count, size, stride or offset that 64 bits cannot hold")  \
    X(TNR_ERR_LAYOUT, 6, "layout", "strides that the call cannot accept without a copy")            \
    X(TNR_ERR_OVERLAP, 7, "overlap", "two written elements, or a written and a read one, coincide") \
    X(TNR_ERR_MEMORY, 8, "memory", "the named domain has no room for the request")                  \
    X(TNR_ERR_BUSY, 9, "busy", "a live lease, user or thread is in the way")                        \
    X(TNR_ERR_STALE, 10, "stale", "the owner behind a handle or view is gone")                      \
    X(TNR_ERR_VACANT, 11, "vacant", "the slot was taken earlier")                                   \
    X(TNR_ERR_FOREIGN, 12, "foreign", "the object belongs to another domain, group or rank")        \
    X(TNR_ERR_RESIDENCY, 13, "residency", "the bytes are not where this call can touch them")       \
    X(TNR_ERR_UNSUPPORTED, 14, "unsupported", "the operation does not exist for this combination")  \
    X(TNR_ERR_NUMERIC, 15, "numeric", "a value for which the operation has no result")              \
    X(TNR_ERR_BACKEND, 16, "backend", "a lower library or the operating system failed")             \
    X(TNR_ERR_MPI, 17, "mpi", "an MPI call failed")                                                 \
    X(TNR_ERR_PEER, 18, "peer", "another rank refused")                                             \
    X(TNR_ERR_IO, 19, "io", "reading or writing a file failed")

#define TNR_STATUS_ENUM_(constant, value, name, meaning) constant = value,
typedef enum tnr_status { TNR_STATUS_MAP(TNR_STATUS_ENUM_) } tnr_status;
#undef TNR_STATUS_ENUM_

/** Short name of a status ("shape"); "unknown" for a value outside the list. Never NULL. Thread-safe. */
TNR_API const char *tnr_status_name(tnr_status status);

/** One line that says what a status means. Never NULL. Thread-safe. */
TNR_API const char *tnr_status_text(tnr_status status);

/**
 * Text of the last failure in the calling thread: operation, what was expected, what was found.
 *
 * Success does not clear it. "" before the first failure. The text stays valid until the next failing call of the same
 * thread. Builds without threads keep one text for the program.
 */
TNR_API const char *tnr_last_error(void);

/**
 * Record a failure text for the calling thread and give the status back.
 *
 * For programs that supply their own domain: `return tnr_set_error(TNR_ERR_MEMORY, "window: no slice left");`.
 * @param text copied, cut at TNR_ERROR_TEXT_BYTES - 1 bytes; NULL leaves only the status's meaning.
 */
TNR_API tnr_status tnr_set_error(tnr_status status, const char *text);

/** Room for one failure text, its terminating zero included. */
#define TNR_ERROR_TEXT_BYTES 320

#ifdef __cplusplus
}
#endif

#endif /* TENURE_STATUS_H */
