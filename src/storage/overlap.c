/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proof that two views share no byte, from integers alone.
 *
 * NONE and SAME are always right; POSSIBLE means bytes in common or no proof. Order: empty; the very same elements;
 * byte intervals; residues; else POSSIBLE. Arithmetic that leaves 64 bits proves nothing.
 *
 * The rule behind intervals and residues. Split the axes of both views into any set L ("large") and the rest. Let G be
 * the gcd of the byte strides in L. The address of a byte is the sum of its view's address, multiples of strides in L,
 * steps of the rest, and a place inside the element; so modulo G the bytes of view a lie in an interval [A, A + wa):
 * A is a's address plus the lowest reach of its remaining axes, wa their whole reach plus one element. Those of view b
 * lie in [B, B + wb).
 * With r = (B - A) mod G in [0, G), bytes x = A + p, 0 <= p < wa, and y = B + q, 0 <= q < wb, agree modulo G only if
 * p - q is r plus a multiple of G. When wa <= r, then p - q < r, which leaves r - G and less; when also r + wb <= G,
 * then p - q > -wb >= r - G, which leaves none. So wa <= r and r + wb <= G prove the views apart.
 *
 * L empty (G = 0, no modulus) is the plain comparison of byte intervals; L = all axes is the gcd residue rule: two rows
 * of a column-major 2x2. Between them, with L the axes of the largest strides, lie blocks of rows: the upper and the
 * lower half of a matrix. Each axis joins L in order of falling stride, so at most 2 * TNR_MAX_RANK + 1 comparisons.
 */
#include "storage.h"

/* One axis longer than 1 of either operand, in bytes. */
typedef struct axis {
    uint64_t stride; /* magnitude */
    uint64_t reach;  /* (extent - 1) * stride */
    bool second;     /* of operand b */
} axis;

/* Bytes [low, low + width) that an operand covers with the axes not yet in L. */
typedef struct interval {
    uint64_t low;
    uint64_t width;
} interval;

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool is_empty(const tnri_lattice *lattice)
{
    for (int i = 0; i < lattice->rank; i++) {
        if (lattice->shape[i] == 0) {
            return true;
        }
    }
    return false;
}

static bool is_same(const tnri_lattice *a, const tnri_lattice *b)
{
    if (a->address != b->address || a->element_bytes != b->element_bytes || a->rank != b->rank) {
        return false;
    }
    for (int i = 0; i < a->rank; i++) {
        if (a->shape[i] != b->shape[i] || (a->shape[i] > 1 && a->strides[i] != b->strides[i])) {
            return false;
        }
    }
    return true;
}

/* Put the axes of one operand in their places among `*count` axes sorted by falling stride; false on overflow. */
static bool collect(const tnri_lattice *lattice, bool second, axis *axes, int *count, interval *bytes)
{
    bytes->low = lattice->address;
    bytes->width = (uint64_t)lattice->element_bytes;
    for (int i = 0; i < lattice->rank; i++) {
        const int64_t stride = lattice->strides[i];
        if (lattice->shape[i] == 1 || stride == 0) {
            continue; /* a stride of 0 adds nothing to a set of bytes */
        }
        axis next = {.stride = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride, .second = second};
        if (!tnri_mul_u64(next.stride, (uint64_t)lattice->element_bytes, &next.stride) ||
            !tnri_mul_u64(next.stride, (uint64_t)lattice->shape[i] - 1, &next.reach) ||
            !tnri_add_u64(bytes->width, next.reach, &bytes->width)) {
            return false;
        }
        if (stride < 0) {
            if (bytes->low < next.reach) {
                return false;
            }
            bytes->low -= next.reach;
        }
        int place = (*count)++;
        for (; place > 0 && axes[place - 1].stride < next.stride; place--) {
            axes[place] = axes[place - 1];
        }
        axes[place] = next;
    }
    uint64_t end;
    return tnri_add_u64(bytes->low, bytes->width, &end);
}

/* The rule above for one modulus; 0: none. */
static bool apart(interval a, interval b, uint64_t modulus)
{
    if (modulus == 0) {
        return a.low + a.width <= b.low || b.low + b.width <= a.low;
    }
    uint64_t residue;
    if (b.low >= a.low) {
        residue = (b.low - a.low) % modulus;
    } else {
        residue = (a.low - b.low) % modulus;
        residue = residue == 0 ? 0 : modulus - residue;
    }
    return a.width <= residue && b.width <= modulus - residue;
}

tnr_overlap tnri_lattice_overlap(const tnri_lattice *a, const tnri_lattice *b)
{
    if (is_empty(a) || is_empty(b)) {
        return TNR_OVERLAP_NONE;
    }
    if (is_same(a, b)) {
        return TNR_OVERLAP_SAME;
    }

    axis axes[2 * TNR_MAX_RANK];
    int count = 0;
    interval bytes[2];
    if (!collect(a, false, axes, &count, &bytes[0]) || !collect(b, true, axes, &count, &bytes[1])) {
        return TNR_OVERLAP_POSSIBLE;
    }
    uint64_t modulus = 0;
    for (int i = 0;; i++) {
        if (apart(bytes[0], bytes[1], modulus)) {
            return TNR_OVERLAP_NONE;
        }
        if (i == count) {
            return TNR_OVERLAP_POSSIBLE;
        }
        modulus = gcd(modulus, axes[i].stride);
        /* the interval's low end moves by a multiple of the modulus, so it may stay */
        bytes[axes[i].second ? 1 : 0].width -= axes[i].reach;
    }
}
