/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walking a view's elements in column-major order: one addition per step, whatever the strides. The cursor counts from
 * the view's first element and touches no memory but the descriptor. Offsets are added modulo 2^64, so a descriptor
 * made by no call leads to nonsense and not to undefined behaviour.
 */
#include "storage.h"

static int64_t wrapping(uint64_t value)
{
    return value <= INT64_MAX ? (int64_t)value : -(int64_t)(UINT64_MAX - value) - 1;
}

tnr_cursor tnr_cursor_begin(const tnr_view *view)
{
    tnr_cursor cursor = {.view = view};
    cursor.valid = view != NULL && view->rank >= 0 && view->rank <= TNR_MAX_RANK;
    for (int i = 0; cursor.valid && i < view->rank; i++) {
        cursor.valid = view->shape[i] > 0;
    }
    return cursor;
}

void tnr_cursor_next(tnr_cursor *cursor)
{
    if (cursor == NULL || !cursor->valid) {
        return;
    }
    const tnr_view *view = cursor->view;
    uint64_t offset = (uint64_t)cursor->offset;
    cursor->position++;
    for (int i = 0; i < view->rank; i++) {
        if (++cursor->index[i] < view->shape[i]) {
            cursor->offset = wrapping(offset + (uint64_t)view->strides[i]);
            return;
        }
        offset -= (uint64_t)view->strides[i] * (uint64_t)(view->shape[i] - 1);
        cursor->index[i] = 0;
    }
    cursor->offset = 0;
    cursor->valid = false;
}
