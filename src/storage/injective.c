/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proof that no two indices of a layout land on one element.
 *
 * Order of proof, each step only when the one before did not decide:
 *   1. empty: nothing coincides;
 *   2. sorted spans: taken by growing |stride|, each stride exceeds the reach of all smaller axes together;
 *   3. exactly two axes longer than 1: the exact gcd rule;
 *   4. at most 4096 elements: look at all of them;
 *   5. no proof: false, though the elements may be distinct.
 * True is always right. False is exact in steps 3 and 4.
 *
 * Signs never matter: turning an axis round permutes the elements. The usual layouts (compact, slices of compact) are
 * decided in one pass without sorting, since this runs on every write.
 */
#include "storage.h"

/* Most elements that are looked at one by one. */
#define ENUMERATION_LIMIT 4096

/*
 * Widest span, in units of the strides' gcd, for which enumeration marks a bitmap (4 KiB of stack); wider ones sort, so many elements
 * at a time (32 KiB). Small builds need 1 and 2 KiB.
 */
#if TNRI_SMALL
#define BITMAP_BITS 8192U
#define SORTED_AT_ONCE 256
#else
#define BITMAP_BITS 32768U
#define SORTED_AT_ONCE ENUMERATION_LIMIT
#endif

/* An axis longer than 1: extent >= 2, |stride|. */
typedef struct axis {
    uint64_t extent;
    uint64_t stride;
} axis;

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* reach + (extent - 1) * stride, held at the largest value: no stride exceeds it, so a held reach proves nothing. */
static uint64_t reach_with(uint64_t reach, uint64_t extent, uint64_t stride)
{
    uint64_t step;
    if (!tnri_mul_u64(extent - 1, stride, &step) || !tnri_add_u64(reach, step, &reach)) {
        return UINT64_MAX;
    }
    return reach;
}

/* Offset of the next index, first axis fastest; index starts as zeros and offset as 0. The caller counts the steps. */
static uint64_t next_offset(int rank, const axis *axes, uint64_t *index, uint64_t offset)
{
    for (int i = 0; i < rank; i++) {
        if (++index[i] < axes[i].extent) {
            return offset + axes[i].stride;
        }
        offset -= (axes[i].extent - 1) * axes[i].stride;
        index[i] = 0;
    }
    return offset;
}

static bool distinct_by_bitmap(int rank, const axis *axes, uint64_t count, uint64_t span)
{
    uint64_t seen[BITMAP_BITS / 64];
    uint64_t index[TNR_MAX_RANK] = {0};
    memset(seen, 0, (size_t)((span + 63) / 64) * sizeof seen[0]);
    uint64_t offset = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bit = (uint64_t)1 << (offset % 64);
        if ((seen[offset / 64] & bit) != 0) {
            return false;
        }
        seen[offset / 64] |= bit;
        offset = next_offset(rank, axes, index, offset);
    }
    return true;
}

/* Let the entry at `at` sink until no child is larger. */
static void sink(uint64_t *heap, size_t at, size_t count)
{
    const uint64_t value = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && heap[child + 1] > heap[child]) {
            child++;
        }
        if (heap[child] <= value) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

/* Heap sort; false where two are equal. */
static bool sort(uint64_t *list, size_t count)
{
    for (size_t i = count / 2; i-- > 0;) {
        sink(list, i, count);
    }
    for (size_t left = count; left > 1; left--) {
        const uint64_t largest = list[0];
        list[0] = list[left - 1];
        sink(list, 0, left - 1);
        if (list[0] == largest) {
            return false;
        }
        list[left - 1] = largest;
    }
    return true;
}

static bool is_listed(const uint64_t *sorted, size_t count, uint64_t value)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        if (sorted[middle] == value) {
            return true;
        }
        if (sorted[middle] < value) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return false;
}

/*
 * Spans without bound: sort the offsets, as many as the list holds, and look up those that come after them. Only for layouts that no
 * usual transform makes; kept out of line so that nobody else pays for the frame.
 */
__attribute__((noinline)) static bool distinct_by_sorting(int rank, const axis *axes, uint64_t count)
{
    uint64_t list[SORTED_AT_ONCE];
    uint64_t index[TNR_MAX_RANK] = {0};
    uint64_t offset = 0;
    for (uint64_t first = 0; first < count; first += SORTED_AT_ONCE) {
        size_t listed = 0;
        for (; listed < SORTED_AT_ONCE && first + listed < count; listed++) {
            list[listed] = offset;
            offset = next_offset(rank, axes, index, offset);
        }
        if (!sort(list, listed)) {
            return false;
        }
        uint64_t later[TNR_MAX_RANK];
        memcpy(later, index, sizeof later);
        uint64_t at = offset;
        for (uint64_t i = first + listed; i < count; i++) {
            if (is_listed(list, listed, at)) {
                return false;
            }
            at = next_offset(rank, axes, later, at);
        }
    }
    return true;
}

/*
 * Two axes (m, a) and (n, b): two indices coincide iff i * a == j * b for some |i| < m, |j| < n, not both 0. All
 * solutions are multiples of i = b / g, j = a / g with g = gcd(a, b), so the smallest one decides.
 */
static bool distinct_pair(axis first, axis second)
{
    const uint64_t g = gcd(first.stride, second.stride);
    return second.stride / g >= first.extent || first.stride / g >= second.extent;
}

/* Steps 2 to 5 for layouts whose axes are not in order. */
static bool distinct_unordered(int rank, const int64_t *shape, const int64_t *strides)
{
    axis axes[TNR_MAX_RANK];
    int used = 0;
    uint64_t count = 1;
    uint64_t common = 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 1) {
            continue;
        }
        const axis next = {.extent = (uint64_t)shape[i], .stride = tnri_magnitude(strides[i])};
        if (next.stride == 0) {
            return false;
        }
        int place = used++;
        for (; place > 0 && axes[place - 1].stride > next.stride; place--) {
            axes[place] = axes[place - 1];
        }
        axes[place] = next;
        if (!tnri_mul_u64(count, next.extent, &count)) {
            count = UINT64_MAX;
        }
    }

    bool sorted = true;
    uint64_t reach = 0;
    for (int i = 0; i < used; i++) {
        sorted = sorted && axes[i].stride > reach;
        reach = reach_with(reach, axes[i].extent, axes[i].stride);
    }
    if (sorted) {
        return true;
    }
    if (used == 2) {
        return distinct_pair(axes[0], axes[1]);
    }
    if (count > ENUMERATION_LIMIT || reach == UINT64_MAX) {
        return false;
    }

    for (int i = 0; i < used; i++) {
        common = gcd(common, axes[i].stride);
    }
    for (int i = 0; i < used; i++) {
        axes[i].stride /= common;
    }
    const uint64_t span = reach / common + 1;
    if (span < count) {
        return false; /* more elements than places */
    }
    return span <= BITMAP_BITS ? distinct_by_bitmap(used, axes, count, span) : distinct_by_sorting(used, axes, count);
}

bool tnri_is_distinct(int rank, const int64_t *shape, const int64_t *strides)
{
    uint64_t reach = 0;
    bool ordered = true;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0) {
            return true;
        }
        if (shape[i] > 1 && ordered) {
            const uint64_t stride = tnri_magnitude(strides[i]);
            ordered = stride > reach;
            reach = reach_with(reach, (uint64_t)shape[i], stride);
        }
    }
    return ordered || distinct_unordered(rank, shape, strides);
}
