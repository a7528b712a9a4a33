/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Offsets of a group's indices, tabled: what lets any layout be packed, and parts of a product begin anywhere. And what such tables tell of
 * the layout.
 */
#include "product_internal.h"

void tnri_product_offsets(const tnri_product_axes *axes, const int64_t *first_steps, const int64_t *second_steps,
                          int64_t first, int64_t count, int64_t *first_offsets, int64_t *second_offsets)
{
    int64_t index[TNRI_PRODUCT_RANK];
    index[0] = 0; /* of a group without axes, too */
    int64_t rest = first;
    int64_t x = 0;
    int64_t y = 0;
    for (int i = 0; i < axes->rank; ++i) {
        index[i] = rest % axes->extents[i];
        rest /= axes->extents[i];
        x += index[i] * first_steps[i];
        y += index[i] * second_steps[i];
    }
    for (int64_t done = 0; done < count;) {
        /* a run along the first axis */
        const int64_t left = axes->rank > 0 ? axes->extents[0] - index[0] : 1;
        const int64_t run = left < count - done ? left : count - done;
        const int64_t dx = axes->rank > 0 ? first_steps[0] : 0;
        const int64_t dy = axes->rank > 0 ? second_steps[0] : 0;
        for (int64_t i = 0; i < run; ++i) {
            first_offsets[done + i] = x + i * dx;
            second_offsets[done + i] = y + i * dy;
        }
        done += run;
        if (done == count) {
            return;
        }
        x -= index[0] * dx; /* to the beginning of the next run */
        y -= index[0] * dy;
        index[0] = 0;
        for (int i = 1; i < axes->rank; ++i) {
            x += first_steps[i];
            y += second_steps[i];
            if (++index[i] < axes->extents[i]) {
                break;
            }
            x -= index[i] * first_steps[i];
            y -= index[i] * second_steps[i];
            index[i] = 0;
        }
    }
}

bool tnri_offsets_regular(const int64_t *offsets, int64_t count, int64_t *step)
{
    *step = count > 1 ? offsets[1] - offsets[0] : 0;
    for (int64_t i = 2; i < count; ++i) {
        if (offsets[i] - offsets[i - 1] != *step) {
            return false;
        }
    }
    return true;
}

bool tnri_offsets_micro_unit(const int64_t *offsets, int64_t count, int width)
{
    for (int64_t i = 0; i < count; i += width) {
        if (!tnri_offsets_unit(offsets + i, count - i < width ? count - i : width)) {
            return false;
        }
    }
    return true;
}

bool tnri_offsets_micro_regular(const int64_t *offsets, int64_t count, int width, int64_t *step)
{
    for (int64_t i = 0; i + width <= count; i += width) {
        int64_t own;
        if (!tnri_offsets_regular(offsets + i, width, &own) || (i > 0 && own != *step)) {
            return false;
        }
        *step = own;
    }
    return count >= width;
}
