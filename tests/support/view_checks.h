/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of views ask of a result, and of a refusal. */
#ifndef TENURE_TESTS_SUPPORT_VIEW_CHECKS_H
#define TENURE_TESTS_SUPPORT_VIEW_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/storage.h"
#include "support/views.h"

/* Shape, strides and offset of a view; and that it lies in its window. Strides of axes of extent 1 are not compared. */
static inline void expect(const tnr_view *view, int rank, const int64_t *shape, const int64_t *strides, int64_t offset)
{
    assert_int_equal(view->rank, rank);
    for (int i = 0; i < rank; i++) {
        assert_true(view->shape[i] == shape[i]);
        assert_true(shape[i] == 1 || view->strides[i] == strides[i]);
    }
    assert_true(view->offset == offset);
    int64_t count;
    assert_int_equal(tnri_layout_check("test", view->rank, view->shape, view->strides, view->offset,
                                       (int64_t)(view->window_bytes / tnr_dtype_size(view->dtype)), &count),
                     TNR_OK);
    assert_int_equal(view->generation, 7);
    assert_ptr_equal(view->root, (void *)(uintptr_t)16);
}

/* Elements of an i64 view in column-major order, read by a cursor. */
static inline void expect_elements(const tnr_view *view, const int64_t *memory, size_t count, const int64_t *wanted)
{
    size_t seen = 0;
    for (tnr_cursor cursor = tnr_cursor_begin(view); cursor.valid; tnr_cursor_next(&cursor)) {
        assert_true(seen < count);
        assert_true(cursor.position == (int64_t)seen);
        assert_true(memory[view->offset + cursor.offset] == wanted[seen]);
        seen++;
    }
    assert_int_equal(seen, count);
}

/* A failing call says why and leaves its result, which the call names `kept`, as it was. */
#define FAILS(call, status)                                  \
    do {                                                     \
        tnr_view kept;                                       \
        tnr_view before;                                     \
        memset(&kept, 0x5a, sizeof kept);                    \
        memcpy(&before, &kept, sizeof kept);                 \
        tnr_status ignored = tnr_set_error(TNR_ERR_IO, "-"); \
        (void)ignored;                                       \
        assert_int_equal((call), (status));                  \
        assert_memory_equal(&kept, &before, sizeof kept);    \
        assert_non_null(strstr(tnr_last_error(), "view_"));  \
    } while (0)

#endif /* TENURE_TESTS_SUPPORT_VIEW_CHECKS_H */
