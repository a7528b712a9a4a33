/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases from several threads: nobody meets, nobody waits, and siblings are never in each other's way. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>

#include "support/lease_fixture.h"

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 3000

typedef struct job {
    tnr_view view;
    tnr_view_mut view_mut;
    int64_t number;
    uint64_t got;
    uint64_t busy;
    bool wrong;
} job;

static void run_threads(void *(*body)(void *), job *jobs, int count)
{
    pthread_t threads[THREADS];
    assert_true(count <= THREADS);
    for (int at = 0; at < count; at++) {
        assert_int_equal(pthread_create(&threads[at], NULL, body, &jobs[at]), 0);
    }
    for (int at = 0; at < count; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
        assert_false(jobs[at].wrong);
    }
}

/* Adds 1 to every element under a write lease: lost updates and torn reads would show, and so would a data race. */
static void *add_when_let_in(void *argument)
{
    job *own = argument;
    int64_t count = 0;
    own->wrong = tnr_view_count(&own->view, &count) != TNR_OK;
    while (own->got < ROUNDS && !own->wrong) {
        tnr_write_map write;
        tnr_read_map read;
        tnr_status status = tnr_map_write(&own->view_mut, &write);
        if (status == TNR_OK) {
            for (int64_t at = 0; at < count; at++) {
                ((double *)write.data)[at] += 1.0;
            }
            own->got++;
            own->wrong = tnr_unmap_write(&write) != TNR_OK;
        } else {
            own->busy++;
            own->wrong = status != TNR_ERR_BUSY;
        }
        status = tnr_map_read(&own->view, &read);
        if (status == TNR_OK) {
            const double *data = read.data;
            for (int64_t at = 1; at < count && !own->wrong; at++) {
                own->wrong = data[at] != data[0]; /* a whole update or none */
            }
            own->wrong = tnr_unmap_read(&read) != TNR_OK || own->wrong;
        } else {
            own->wrong = own->wrong || status != TNR_ERR_BUSY;
        }
    }
    return NULL;
}

static void threads_on_the_whole_never_meet(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    OK(tnr_tensor_zeros(heap, TNR_F64, 1, SHAPE(16), &tensor));
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) {
        jobs[at].view = view_of(tensor);
        jobs[at].view_mut = view_mut_of(tensor);
    }
    run_threads(add_when_let_in, jobs, THREADS);
    assert_true(host_of(tensor)[15] == (double)THREADS * ROUNDS);
    release(&tensor);
    close_domain(&heap);
}

static void threads_on_their_own_parts_are_never_busy(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    tnr_view_mut parts[THREADS];
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(8, THREADS), &tensor));
    split_columns(tensor, parts, THREADS);
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) {
        jobs[at].view = parts[at].view;
        jobs[at].view_mut = parts[at];
    }
    run_threads(add_when_let_in, jobs, THREADS);
    for (int at = 0; at < THREADS; at++) {
        assert_int_equal(jobs[at].busy, 0);
        assert_true(host_of(tensor)[8 * at + 7] == (double)ROUNDS);
    }
    release(&tensor);
    close_domain(&heap);
}

static void threads_on_shared_parts_and_the_whole_never_meet(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    tnr_view_mut parts[2];
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(8, 2), &tensor));
    split_columns(tensor, parts, 2);
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) { /* two to each part; the halves of a pair exclude each other */
        jobs[at].view = parts[at % 2].view;
        jobs[at].view_mut = parts[at % 2];
    }
    jobs[3].view = view_of(tensor); /* and one wants the whole: its halves differ, so it only writes equal ones */
    jobs[3].view_mut = view_mut_of(tensor);
    OK(tnr_view_mut_slice_axis(&jobs[3].view_mut, 1, (tnr_range){0, 1, 1}, &jobs[3].view_mut));
    OK(tnr_view_slice_axis(&jobs[3].view, 1, (tnr_range){0, 1, 1}, &jobs[3].view));
    run_threads(add_when_let_in, jobs, THREADS);
    assert_true(host_of(tensor)[0] == 3.0 * ROUNDS); /* jobs 0, 2 and 3 */
    assert_true(host_of(tensor)[8] == 1.0 * ROUNDS);
    release(&tensor);
    close_domain(&heap);
}

/* Readers of part 0 on all threads while each writes its own part: nobody is ever in anybody's way. */
static void *read_one_write_another(void *argument)
{
    job *own = argument;
    for (int round = 0; round < ROUNDS && !own->wrong; round++) {
        tnr_read_map read;
        tnr_write_map write;
        own->wrong = tnr_map_read(&own->view, &read) != TNR_OK;
        own->wrong = own->wrong || tnr_map_write(&own->view_mut, &write) != TNR_OK;
        if (!own->wrong) {
            *(double *)write.data += *(const double *)read.data;
            own->wrong = tnr_unmap_read(&read) != TNR_OK || tnr_unmap_write(&write) != TNR_OK;
        }
    }
    return NULL;
}

static void threads_read_one_part_and_write_their_own(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(1, THREADS + 1));
    tnr_view_mut parts[THREADS + 1];
    split_columns(tensor, parts, THREADS + 1);
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) {
        jobs[at].view = parts[0].view;
        jobs[at].view_mut = parts[at + 1];
    }
    run_threads(read_one_write_another, jobs, THREADS);
    for (int at = 0; at < THREADS; at++) {
        assert_true(host_of(tensor)[at + 1] == at + 2.0 + ROUNDS);
    }
    release(&tensor);
    close_domain(&heap);
}

/* Each mapping copies all elements in and out: two writers at a time would lose some. */
static void *add_to_its_part(void *argument)
{
    job *own = argument;
    while (own->got < ROUNDS && !own->wrong) {
        tnr_write_map write;
        const tnr_status status = tnr_map_write(&own->view_mut, &write);
        if (status != TNR_OK) {
            own->wrong = status != TNR_ERR_BUSY;
            continue;
        }
        for (int at = 0; at < 8; at++) {
            ((double *)write.data)[at] += 1.0;
        }
        own->got++;
        own->wrong = tnr_unmap_write(&write) != TNR_OK;
    }
    return NULL;
}

static void threads_lose_nothing_where_mappings_are_not_coherent(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    test_memory memory = {.staging = true}; /* its counts are plain: the leases keep the threads apart */
    tnr_domain *domain = make_program_domain(heap, &memory, TNR_ACCESS_MAPPED);
    tnr_tensor *tensor = NULL;
    tnr_tensor *copy = NULL;
    tnr_view_mut parts[THREADS];
    OK(tnr_tensor_zeros(domain, TNR_F64, 2, SHAPE(8, THREADS), &tensor));
    split_columns(tensor, parts, THREADS);
    job jobs[THREADS];
    memset(jobs, 0, sizeof(jobs));
    for (int at = 0; at < THREADS; at++) {
        jobs[at].view_mut = parts[at];
    }
    run_threads(add_to_its_part, jobs, THREADS);
    const tnr_view view = view_of(tensor);
    OK(tnr_tensor_duplicate(&view, heap, &copy));
    for (int at = 0; at < 8 * THREADS; at++) {
        assert_true(host_of(copy)[at] == (double)ROUNDS);
    }
    release(&copy);
    release(&tensor);
    close_domain(&domain);
    assert_int_equal(memory.maps, memory.unmaps);
    close_domain(&heap);
}

/* Readers race with the owner's release: each gets the bytes or STALE, never something in between. */
static atomic_int gone;

static void *read_until_stale(void *argument)
{
    job *own = argument;
    for (;;) {
        tnr_read_map read;
        const tnr_status status = tnr_map_read(&own->view, &read);
        if (status == TNR_ERR_STALE) {
            return NULL;
        }
        if (status != TNR_OK && status != TNR_ERR_BUSY) {
            own->wrong = true;
            return NULL;
        }
        if (status == TNR_OK) {
            own->wrong = own->wrong || ((const double *)read.data)[31] != 32.0 || atomic_load(&gone) != 0;
            own->wrong = tnr_unmap_read(&read) != TNR_OK || own->wrong;
        }
    }
}

static void release_waits_for_no_reader_and_no_reader_sees_freed_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        fixture f = start();
        job jobs[2];
        pthread_t threads[2];
        memset(jobs, 0, sizeof(jobs));
        atomic_store(&gone, 0);
        for (int at = 0; at < 2; at++) {
            jobs[at].view = view_of(f.tensor);
            assert_int_equal(pthread_create(&threads[at], NULL, read_until_stale, &jobs[at]), 0);
        }
        tnr_status status;
        do {
            status = tnr_tensor_release(&f.tensor);
        } while (status == TNR_ERR_BUSY);
        atomic_store(&gone, 1);
        for (int at = 0; at < 2; at++) {
            assert_int_equal(pthread_join(threads[at], NULL), 0);
            assert_false(jobs[at].wrong);
        }
        OK(status);
        close_domain(&f.heap);
    }
}

/* Tensors are made and released on every thread at once, in one domain. */
static void *make_and_release(void *argument)
{
    job *own = argument;
    for (int round = 0; round < ROUNDS && !own->wrong; round++) {
        tnr_tensor *made = NULL;
        tnr_read_map read;
        own->wrong = tnr_tensor_duplicate(&own->view, own->view.root == NULL ? NULL : (tnr_domain *)(uintptr_t)own->got,
                                          &made) != TNR_OK;
        if (!own->wrong) {
            tnr_view view;
            own->wrong = tnr_tensor_view(made, &view) != TNR_OK || tnr_map_read(&view, &read) != TNR_OK;
            own->wrong = own->wrong || ((const double *)read.data)[31] != 32.0;
            own->wrong = own->wrong || tnr_unmap_read(&read) != TNR_OK || tnr_tensor_release(&made) != TNR_OK;
        }
    }
    return NULL;
}

static void threads_make_tensors_in_one_domain(void **state)
{
    (void)state;
    fixture f = start();
    void *region;
    tnr_domain *arena = make_arena(&region, 0);
    tnr_domain *pool = NULL;
    OK(tnr_pool_create(arena, NULL, &pool));
    tnr_domain *domains[3] = {f.heap, arena, pool};
    for (int index = 0; index < 3; index++) {
        job jobs[THREADS];
        memset(jobs, 0, sizeof(jobs));
        for (int at = 0; at < THREADS; at++) {
            jobs[at].view = view_of(f.tensor);
            jobs[at].got = (uint64_t)(uintptr_t)domains[index];
        }
        const tnr_ledger before = ledger_of(domains[index]);
        run_threads(make_and_release, jobs, THREADS);
        const tnr_ledger after = ledger_of(domains[index]);
        assert_int_equal(after.copies[TNR_COPY_DUPLICATE].count - before.copies[TNR_COPY_DUPLICATE].count,
                         THREADS * ROUNDS);
        assert_int_equal(after.releases - before.releases, THREADS * ROUNDS);
    }
    close_domain(&pool);
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
    finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_on_the_whole_never_meet),
        cmocka_unit_test(threads_on_their_own_parts_are_never_busy),
        cmocka_unit_test(threads_on_shared_parts_and_the_whole_never_meet),
        cmocka_unit_test(threads_read_one_part_and_write_their_own),
        cmocka_unit_test(threads_lose_nothing_where_mappings_are_not_coherent),
        cmocka_unit_test(release_waits_for_no_reader_and_no_reader_sees_freed_bytes),
        cmocka_unit_test(threads_make_tensors_in_one_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
