/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of temporaries whose lifetimes are known beforehand, in one span of memory. */
#ifndef TENURE_ENGINE_SPAN_INTERNAL_H
#define TENURE_ENGINE_SPAN_INTERNAL_H

#include "../arena/base.h"

/* One temporary: alive from operation `first` to operation `last`, both included. */
typedef struct tnri_temporary {
    uint64_t bytes;
    int first;
    int last;
    uint64_t place; /* set by tnri_span_place: a multiple of TNRI_UNIT */
} tnri_temporary;

/*
 * Give each a place, so that no two that are alive at one time share bytes, and tell the span's bytes; false when these do not fit 63
 * bits. At most TNRI_SPAN_TEMPORARIES. The largest first, each into the tightest gap between those that it meets; O(count^2), for each of
 * the few orders that are tried.
 */
bool tnri_span_place(tnri_temporary *temporaries, int count, uint64_t *bytes);

#define TNRI_SPAN_TEMPORARIES (4 * TNR_EINSUM_OPERANDS)

#endif /* TENURE_ENGINE_SPAN_INTERNAL_H */
