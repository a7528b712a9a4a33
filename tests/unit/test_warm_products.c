/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 1,000 warm products, contractions, einsums and runs of plans of sizes 1 to 300, of every dtype, into views and as new tensors through the
 * pool: neither the C library's allocator is called nor a domain asked for a block. So too on the first calls of a thread that has made
 * none before, and on engines with workers.
 */
#include <pthread.h>

#include "support/storage_test.h"
#include "tenure/tenure.h"

#include "support/heap_watch.h"

#if defined(WATCH_BY_HOOKS)
enum { CALLS = 100 }; /* under a sanitizer all is slow */
#else
enum { CALLS = 1000 };
#endif
enum { MOST = 300, DTYPES = 4 };

static const tnr_dtype dtypes[DTYPES] = {TNR_F32, TNR_F64, TNR_C32, TNR_C64};

typedef struct scene {
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_engine *engine;
    tnr_tensor *tensors[DTYPES][3]; /* MOST x MOST */
    tnr_tensor *small[3];           /* 4x4x4x4 */
    tnr_plan *plan;
    int failures;
    unsigned long calls;
} scene;

/* The corner of a tensor, some turned, some backwards. */
static tnr_status corner_of(tnr_tensor *tensor, int64_t rows, int64_t columns, int way, tnr_view_mut *view)
{
    static const int turned[2] = {1, 0};
    tnr_status status = tnr_tensor_view_mut(tensor, view);
    const int64_t extents[2] = {way % 2 == 0 ? rows : columns, way % 2 == 0 ? columns : rows};
    for (int axis = 0; axis < 2 && status == TNR_OK; axis++) {
        const tnr_range range = {0, extents[axis], 1};
        status = tnr_view_mut_slice_axis(view, axis, range, view);
    }
    if (status == TNR_OK && way % 2 == 1) {
        status = tnr_view_mut_permute(view, turned, view);
    }
    if (status == TNR_OK && way >= 2) {
        status = tnr_view_mut_slice_axis(view, 0, (tnr_range){0, TNR_END, -1}, view);
    }
    return status;
}

static bool one_round(scene *s, int number)
{
    tnr_tensor *const *of = s->tensors[number % DTYPES];
    const unsigned mixed = (unsigned)number * 2654435761U;
    const int64_t m = 1 + number % MOST;
    const int64_t n = 1 + mixed / 7 % (number % 10 == 0 ? MOST : 20);
    const int64_t k = 1 + mixed / 1000 % (number % 15 == 0 ? MOST : 20);
    tnr_view_mut a;
    tnr_view_mut b;
    tnr_view_mut c;
    bool good = corner_of(of[0], m, k, number % 4, &a) == TNR_OK &&
                corner_of(of[1], k, n, number / 4 % 4, &b) == TNR_OK &&
                corner_of(of[2], m, n, number / 16 % 4, &c) == TNR_OK;
    const tnr_view *const list[2] = {&a.view, &b.view};
    tnr_tensor *made[3] = {NULL, NULL, NULL};
    good = good && tnr_matmul_into(s->engine, list[0], list[1], NULL, &c) == TNR_OK;
    good = good && tnr_contract_into(s->engine, list[0], "ik", list[1], "kj", "ij", NULL, &c) == TNR_OK;
    good = good && tnr_einsum_into(s->engine, "ik,kj->ij", list, 2, NULL, &c) == TNR_OK;
    good = good && tnr_matmul(s->engine, list[0], list[1], NULL, &made[0]) == TNR_OK;
    good = good && tnr_contract(s->engine, list[0], "ik", list[1], "kj", "ji", NULL, &made[1]) == TNR_OK;
    if (number % 4 == 0) { /* with intermediates: b as well as its transpose */
        tnr_view turned;
        good = good && tnr_view_permute(list[1], NULL, &turned) == TNR_OK;
        const tnr_view *const three[3] = {list[0], list[1], &turned};
        good = good && tnr_einsum(s->engine, "ab,bc,cd->ad", three, 3, NULL, &made[2]) == TNR_OK;
    }
    for (int i = 0; i < 3; i++) {
        good = tnr_tensor_release(&made[i]) == TNR_OK && good;
    }
    tnr_view small[2];
    tnr_view_mut into;
    good = good && tnr_tensor_view(s->small[0], &small[0]) == TNR_OK &&
           tnr_tensor_view(s->small[1], &small[1]) == TNR_OK && tnr_tensor_view_mut(s->small[2], &into) == TNR_OK;
    const tnr_view *const smalls[2] = {&small[0], &small[1]};
    return good && tnr_plan_run_into(s->plan, smalls, 2, &into) == TNR_OK;
}

static void all_rounds(scene *s)
{
    for (int i = 0; i < CALLS; i++) {
        s->failures += one_round(s, i) ? 0 : 1;
    }
}

static void *all_rounds_watched(void *argument)
{
    scene *s = argument;
    const unsigned long before = library_calls;
    all_rounds(s);
    s->calls = library_calls - before;
    return NULL;
}

static void open_scene(scene *s, int workers)
{
    memset(s, 0, sizeof *s);
    s->heap = make_heap();
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    if (workers > 0) {
        OK(tnr_topology_create(s->heap, NULL, &s->topology));
        options.topology = s->topology;
    }
    OK(tnr_engine_create(s->heap, &options, &s->engine));
    for (int d = 0; d < DTYPES; d++) {
        for (int i = 0; i < 3; i++) {
            OK(tnr_tensor_zeros(s->heap, dtypes[d], 2, SHAPE(MOST, MOST), &s->tensors[d][i]));
        }
    }
    for (int i = 0; i < 3; i++) {
        s->small[i] = make_counting(s->heap, 4, SHAPE(4, 4, 4, 4));
    }
    const tnr_view small = view_of(s->small[0]);
    OK(tnr_plan_contract(s->engine, &small, "abcd", &small, "cdef", NULL, "abef", NULL, &s->plan));
}

static void close_scene(scene *s)
{
    for (int d = 0; d < DTYPES; d++) {
        for (int i = 0; i < 3; i++) {
            release(&s->tensors[d][i]);
        }
    }
    for (int i = 0; i < 3; i++) {
        release(&s->small[i]);
    }
    OK(tnr_plan_destroy(&s->plan));
    OK(tnr_engine_destroy(&s->engine));
    if (s->topology != NULL) {
        OK(tnr_topology_destroy(&s->topology));
    }
    close_domain(&s->heap);
}

static void check_calls(const scene *s, const tnr_domain_statistics *before)
{
    const tnr_domain_statistics after = statistics_of(s->heap);
    if (s->calls != 0) {
        print_error("%lu calls of the C library's allocator\n", s->calls);
    }
    assert_int_equal(s->calls, 0);
    assert_int_equal(s->failures, 0);
    assert_memory_equal(before, &after, sizeof after);
}

static void warm_calls(int workers)
{
    scene s;
    open_scene(&s, workers);
    all_rounds(&s);
    const tnr_domain_statistics before = statistics_of(s.heap);
    (void)all_rounds_watched(&s);
    check_calls(&s, &before);
    pthread_t thread; /* whose first call is watched */
    assert_int_equal(pthread_create(&thread, NULL, all_rounds_watched, &s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_calls(&s, &before);
    close_scene(&s);
}

static void a_thousand_warm_calls_allocate_nothing(void **state)
{
    (void)state;
    warm_calls(0);
}

static void a_thousand_warm_calls_on_workers_allocate_nothing(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_topology *topology = NULL;
    const bool has_workers = tnr_topology_create(heap, NULL, &topology) == TNR_OK;
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
    if (!has_workers) {
        print_message("skipped: no topology to be had\n");
        skip();
    }
    warm_calls(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watch_sees_an_allocation),
        cmocka_unit_test(a_thousand_warm_calls_allocate_nothing),
        cmocka_unit_test(a_thousand_warm_calls_on_workers_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
