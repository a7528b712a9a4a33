/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operands that are slices, on the short way through access (src/storage/access.c): what is granted, what is refused as on the
 * long way, and that no answer leaves a lease behind.
 */
#include "support/storage_test.h"
#include "tenure/tenure.h"

typedef struct scene {
    tnr_domain *heap;
    tnr_engine *engine;
    tnr_tensor *tensor; /* 0, 1, ... 63 */
    tnr_tensor *other;
    double *data;
} scene;

static void open_scene(scene *s)
{
    void *data = NULL;
    s->heap = make_heap();
    OK(tnr_engine_create(s->heap, NULL, &s->engine));
    OK(tnr_tensor_zeros(s->heap, TNR_F64, 1, SHAPE(64), &s->tensor));
    OK(tnr_tensor_zeros(s->heap, TNR_F64, 1, SHAPE(64), &s->other));
    OK(tnr_tensor_host_data_mut(s->tensor, &data));
    s->data = data;
    for (int i = 0; i < 64; ++i) {
        s->data[i] = i;
    }
}

/* Releasing needs an owner without leases: what was left behind would be TNR_ERR_BUSY here. */
static void close_scene(scene *s)
{
    OK(tnr_tensor_release(&s->tensor));
    OK(tnr_tensor_release(&s->other));
    OK(tnr_engine_destroy(&s->engine));
    OK(tnr_domain_close(&s->heap));
}

static tnr_view part(const tnr_tensor *tensor, int64_t begin, int64_t end, int64_t step)
{
    tnr_view view;
    OK(tnr_tensor_view(tensor, &view));
    OK(tnr_view_slice_axis(&view, 0, (tnr_range){begin, end, step}, &view));
    return view;
}

static tnr_view_mut part_mut(tnr_tensor *tensor, int64_t begin, int64_t end, int64_t step)
{
    tnr_view_mut view;
    OK(tnr_tensor_view_mut(tensor, &view));
    OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){begin, end, step}, &view));
    return view;
}

static void test_slices_of_one_owner(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    const tnr_view first = part(s.tensor, 0, 16, 1);
    const tnr_view second = part(s.tensor, 16, 32, 1);
    tnr_view_mut out = part_mut(s.tensor, 32, 48, 1);
    OK(tnr_add_into(s.engine, &first, &second, &out)); /* beside what is read */
    for (int i = 0; i < 16; ++i) {
        assert_true(s.data[32 + i] == 16.0 + 2 * i);
    }
    OK(tnr_add_into(s.engine, &out.view, &first, &out)); /* in place */
    for (int i = 0; i < 16; ++i) {
        assert_true(s.data[32 + i] == 16.0 + 3 * i);
    }
    out = part_mut(s.tensor, 33, 64, 2);
    const tnr_view even = part(s.tensor, 30, 62, 2);
    OK(tnr_add_into(s.engine, &even, &even, &out)); /* between what is read: the long way proves it */
    assert_true(s.data[63] == 2 * s.data[60]);
    close_scene(&s);
}

static void test_what_is_not_apart_is_refused(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    const tnr_view first = part(s.tensor, 0, 16, 1);
    tnr_view_mut out = part_mut(s.tensor, 8, 24, 1);
    EXPECT(TNR_ERR_OVERLAP, tnr_add_into(s.engine, &first, &first, &out));
    EXPECT(TNR_ERR_OVERLAP, tnr_copy_into(s.engine, &first, &out));
    out = part_mut(s.tensor, 0, 16, 1);
    EXPECT(TNR_ERR_OVERLAP, tnr_copy_into(s.engine, &first, &out)); /* a copy is not in place */
    tnr_view reversed = first;
    reversed.offset += 15;
    reversed.strides[0] = -1;
    EXPECT(TNR_ERR_OVERLAP, tnr_add_into(s.engine, &first, &reversed, &out));
    for (int i = 0; i < 64; ++i) {
        assert_true(s.data[i] == i);
    }
    close_scene(&s);
}

static void test_forged_slices_are_refused(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    const tnr_view good = part(s.tensor, 0, 16, 1);
    tnr_view_mut out = part_mut(s.other, 0, 16, 1);
    tnr_view bad = good;
    bad.offset = 49; /* one element beyond the end */
    EXPECT(TNR_ERR_BOUNDS, tnr_add_into(s.engine, &good, &bad, &out));
    bad = good;
    bad.strides[0] = -1; /* one before the beginning */
    EXPECT(TNR_ERR_BOUNDS, tnr_add_into(s.engine, &good, &bad, &out));
    bad = good;
    bad.strides[0] = INT64_MAX; /* leaves 64 bits */
    EXPECT(TNR_ERR_OVERFLOW, tnr_add_into(s.engine, &good, &bad, &out));
    bad = good;
    bad.window_begin = 8 * 64;
    EXPECT(TNR_ERR_BOUNDS, tnr_add_into(s.engine, &good, &bad, &out));
    tnr_view_mut twice = out;
    twice.view.strides[0] = 0; /* two indices on one element: may be read, not written */
    EXPECT(TNR_ERR_OVERLAP, tnr_add_into(s.engine, &good, &good, &twice));
    out = part_mut(s.tensor, 32, 48, 1);
    OK(tnr_add_into(s.engine, &good, &twice.view, &out));
    close_scene(&s);
}

static void test_stale_slices_are_refused(void **state)
{
    (void)state;
    scene s;
    open_scene(&s);
    const tnr_view stale = part(s.other, 3, 19, 1);
    tnr_view_mut out = part_mut(s.tensor, 0, 16, 1);
    const tnr_view good = part(s.tensor, 0, 16, 1);
    OK(tnr_tensor_release(&s.other));
    EXPECT(TNR_ERR_STALE, tnr_add_into(s.engine, &good, &stale, &out));
    OK(tnr_tensor_zeros(s.heap, TNR_F64, 1, SHAPE(64), &s.other));
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_of_one_owner),
        cmocka_unit_test(test_what_is_not_apart_is_refused),
        cmocka_unit_test(test_forged_slices_are_refused),
        cmocka_unit_test(test_stale_slices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
