/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one strided copy: every named copy of the library ends here.
 *
 * Guarantees: writes each element of the target layout once and nothing else; reads any source layout, overlapping
 * elements included; any alignment that the dtype itself needs. Runs that are compact on both sides go by memcpy; where
 * target and source step least along different axes, those two are copied in cache-line tiles (the blocking of Lam,
 * Rothberg and Wolf, "The cache performance and optimizations of blocked algorithms", ASPLOS 1991).
 * Does not check anything, take leases, or use streaming stores.
 */
#include "storage.h"

/* Words that may alias any dtype. A c32 is aligned as its float, so eight bytes may start on a multiple of four. */
typedef uint8_t word1 __attribute__((may_alias));
typedef uint32_t word4 __attribute__((may_alias));
typedef uint64_t word8 __attribute__((may_alias, aligned(4)));
typedef struct word16 {
    uint64_t low;
    uint64_t high;
} __attribute__((may_alias, aligned(8))) word16;

/* Columns of one band of a transposition; a multiple of every SIDE. */
#define BAND 128

#define WORD word1
#define NAME(x) x##_1
#define SIDE 64
#include "copy.tmpl.h"

#define WORD word4
#define NAME(x) x##_4
#define SIDE 16
#include "copy.tmpl.h"

#define WORD word8
#define NAME(x) x##_8
#define SIDE 8
#include "copy.tmpl.h"

#define WORD word16
#define NAME(x) x##_16
#define SIDE 4
#include "copy.tmpl.h"

typedef void (*plane_kernel)(const tnri_nest *nest, bool transposed);

/* By the bytes of an element. */
static const plane_kernel planes[17] = {[1] = plane_1, [4] = plane_4, [8] = plane_8, [16] = plane_16};

/*
 * Axis along which the source has its neighbours, when that is another than axis 0 and tiles pay: 0 when they do not.
 */
static int transposed_axis(const tnri_nest *nest)
{
    const int64_t line = 64;
    int best = 0;
    int64_t step = nest->strides[1][0] < 0 ? -nest->strides[1][0] : nest->strides[1][0];
    if (step == 0) {
        return 0;
    }
    for (int i = 1; i < nest->rank; ++i) {
        const int64_t other = nest->strides[1][i] < 0 ? -nest->strides[1][i] : nest->strides[1][i];
        if (other != 0 && other < step && other < line) {
            step = other;
            best = i;
        }
    }
    return best;
}

void tnri_copy_elements(size_t element_bytes, int rank, const int64_t *shape, void *target,
                        const int64_t *target_strides, const void *source, const int64_t *source_strides)
{
    tnri_nest nest;
    const tnri_nest_operand operands[2] = {{target, target_strides, element_bytes},
                                           {source, source_strides, element_bytes}};
    if (!tnri_nest_make(&nest, rank, shape, 2, operands)) {
        return;
    }
    const int axis = transposed_axis(&nest);
    if (axis > 1) {
        tnri_nest_exchange(&nest, 1, axis);
    }
    const plane_kernel plane = planes[element_bytes];
    do {
        plane(&nest, axis != 0);
    } while (tnri_nest_step(&nest, 2));
}
