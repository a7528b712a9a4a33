/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Views outlive their owners on other threads: whatever is asked through one while its owner goes is answered with OK, BUSY or
 * STALE, never with another owner's bytes and never with a crash. Threads share views by value under a lock; only the library
 * is raced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tenure/tenure.h"

enum { OWNERS = 2000, ASKERS = 2 };

static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;
static tnr_view_mut published;
static atomic_bool stop;
static atomic_int wrong;

static bool fine(tnr_status status) { return status == TNR_OK || status == TNR_ERR_BUSY || status == TNR_ERR_STALE; }

static void ask_everything(const tnr_view_mut *all)
{
    const int64_t corner[2] = {3, 3};
    double value = 0;
    tnr_overlap overlap;
    tnr_status status = tnr_view_overlap(&all->view, &all->view, &overlap);
    wrong += !fine(status) || (status == TNR_OK && overlap != TNR_OVERLAP_SAME);
    tnr_view_mut parts[2];
    bool granted = false;
    const tnr_range left = {0, 2, 1};
    const tnr_range right = {2, 4, 1};
    wrong += tnr_view_mut_slice_axis(all, 1, left, &parts[0]) != TNR_OK;
    wrong += tnr_view_mut_slice_axis(all, 1, right, &parts[1]) != TNR_OK;
    status = tnr_view_mut_split(parts, 2, &granted);
    wrong += !fine(status) || (status == TNR_OK && !granted);
    if (granted) {
        tnr_write_map map;
        status = tnr_map_write(&parts[1], &map);
        wrong += !fine(status);
        if (status == TNR_OK) {
            wrong += ((double *)map.data)[0] != 7.0;
            wrong += tnr_unmap_write(&map) != TNR_OK;
        }
    }
    status = tnr_view_get(&all->view, corner, &value);
    wrong += !fine(status) || (status == TNR_OK && value != 7.0);
}

static void *asker(void *unused)
{
    (void)unused;
    while (!stop) {
        pthread_mutex_lock(&publishing);
        const tnr_view_mut all = published;
        pthread_mutex_unlock(&publishing);
        ask_everything(&all);
    }
    return NULL;
}

static void owners_go_while_their_views_are_used(void **state)
{
    (void)state;
    const int64_t shape[2] = {4, 4};
    const double seven = 7.0;
    tnr_domain *heap = NULL;
    tnr_domain *pool = NULL;
    tnr_tensor *current = NULL;
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(tnr_pool_create(heap, NULL, &pool), TNR_OK);
    assert_int_equal(tnr_tensor_full(pool, TNR_F64, 2, shape, &seven, &current), TNR_OK);
    assert_int_equal(tnr_tensor_view_mut(current, &published), TNR_OK);
    stop = false;
    wrong = 0;
    pthread_t threads[ASKERS];
    for (int at = 0; at < ASKERS; at++) {
        assert_int_equal(pthread_create(&threads[at], NULL, asker, NULL), 0);
    }
    for (int round = 0; round < OWNERS; round++) {
        tnr_tensor *next = NULL;
        tnr_view_mut view;
        assert_int_equal(tnr_tensor_full(pool, TNR_F64, 2, shape, &seven, &next), TNR_OK);
        assert_int_equal(tnr_tensor_view_mut(next, &view), TNR_OK);
        pthread_mutex_lock(&publishing);
        published = view;
        pthread_mutex_unlock(&publishing);
        tnr_status status;
        while ((status = tnr_tensor_release(&current)) == TNR_ERR_BUSY) {
        }
        assert_int_equal(status, TNR_OK);
        current = next;
    }
    stop = true;
    for (int at = 0; at < ASKERS; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(tnr_tensor_release(&current), TNR_OK);
    assert_int_equal(tnr_domain_close(&pool), TNR_OK);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

/* A split of malformed views is refused and marks nothing. */
static void a_split_checks_its_parts(void **state)
{
    (void)state;
    const int64_t shape[2] = {4, 4};
    tnr_domain *heap = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view_mut whole;
    bool granted = true;
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(tnr_tensor_zeros(heap, TNR_F64, 2, shape, &tensor), TNR_OK);
    assert_int_equal(tnr_tensor_view_mut(tensor, &whole), TNR_OK);
    tnr_view_mut bad = whole;
    bad.view.shape[0] = 0;
    bad.view.shape[1] = -5;
    assert_int_equal(tnr_view_mut_split(&bad, 1, &granted), TNR_ERR_ARGUMENT);
    bad = whole;
    bad.view.offset = 1000;
    assert_int_equal(tnr_view_mut_split(&bad, 1, &granted), TNR_ERR_BOUNDS);
    bad = whole;
    bad.view.window_begin = UINT64_MAX / 2 + 1;
    assert_int_equal(tnr_view_mut_split(&bad, 1, &granted), TNR_ERR_BOUNDS);
    bad = whole;
    bad.view.window_begin = 3;
    assert_int_equal(tnr_view_mut_split(&bad, 1, &granted), TNR_ERR_BOUNDS);
    assert_true(granted);
    assert_true(bad.view.split == 0);
    /* An address that is not the owner's is refused where bytes are touched. */
    double value;
    const int64_t origin[2] = {0, 0};
    bad = whole;
    bad.view.base += 8;
    assert_int_equal(tnr_view_get(&bad.view, origin, &value), TNR_ERR_BOUNDS);
    bad = whole;
    bad.view.shape[0] = INT64_MIN;
    assert_int_not_equal(tnr_view_get(&bad.view, origin, &value), TNR_OK);
    assert_int_equal(tnr_tensor_release(&tensor), TNR_OK);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_go_while_their_views_are_used),
        cmocka_unit_test(a_split_checks_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
