/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases, releases and stale views from several threads, two and four.
 *
 * What must hold is guarded by ordinary words: the elements themselves and a guard word per part, written and read without
 * atomics while a lease says that one may. A lease that let two in shows as a wrong value, and as a race under
 * ThreadSanitizer. TENURE_TEST_SEED sets the seed.
 */
#include <pthread.h>

#include "worker_threads.h"

#define ROOTS 4
#define PARTS 4
#define PART_ELEMENTS 6

/* ---- Shared owners: readers, writers, parts ---------------------------------------------------------------------------------- */

/* Two splits of one owner: by columns, and the same again, so that they are of different splits. */
typedef struct root {
    tnr_tensor *tensor;
    tnr_view_mut whole;
    tnr_view_mut parts[2][PARTS];
    int writer[PARTS]; /* guard words: who writes this part, 0 nobody */
} root;

typedef struct shared_roots {
    root roots[ROOTS];
} shared_roots;

static void make_root(root *made, tnr_domain *domain)
{
    const int64_t shape[] = {PART_ELEMENTS, PARTS};
    memset(made, 0, sizeof(*made));
    OK(tnr_tensor_zeros(domain, TNR_I64, 2, shape, &made->tensor));
    OK(tnr_tensor_view_mut(made->tensor, &made->whole));
    for (int split = 0; split < 2; split++) {
        for (int part = 0; part < PARTS; part++) {
            OK(tnr_view_mut_select(&made->whole, 1, part, &made->parts[split][part]));
        }
        bool granted = false;
        OK(tnr_view_mut_split(made->parts[split], PARTS, &granted));
        assert_true(granted);
    }
}

/* All elements of a part are one value whenever nobody writes it. */
static void look(worker *me, const root *on, const int64_t *part, int number)
{
    const int64_t value = part[0];
    REQUIRE(on->writer[number] == 0, "a reader meets a writer's guard");
    for (int i = 1; i < PART_ELEMENTS; i++) {
        REQUIRE(part[i] == value, "a reader sees a half-written part");
    }
    REQUIRE(on->writer[number] == 0, "a writer came in beside a reader");
}

static void change(worker *me, root *on, int64_t *part, int number)
{
    REQUIRE(on->writer[number] == 0, "a writer meets a writer's guard");
    on->writer[number] = me->index + 1;
    const int64_t value = part[0] + 1;
    for (int i = 0; i < PART_ELEMENTS; i++) {
        REQUIRE(part[i] + 1 == value, "a writer sees another's half-written part");
        part[i] = value;
    }
    REQUIRE(on->writer[number] == me->index + 1, "a second writer came in");
    on->writer[number] = 0;
}

/* What is certain while this thread holds a lease: `writes` of the whole (part < 0) or of a part. */
static void try_beside(worker *me, root *on, bool writes, int split, int part)
{
    tnr_read_map reading;
    tnr_write_map writing;
    memset(&reading, 0, sizeof(reading));
    memset(&writing, 0, sizeof(writing));
    tnr_tensor *copy = on->tensor;
    switch (below(me, 4)) {
    case 0:
        REQUIRE(count(tnr_tensor_release(&copy)) == TNR_ERR_BUSY && copy == on->tensor, "released under a lease");
        break;
    case 1:
        REQUIRE(count(tnr_map_write(&on->whole, &writing)) == TNR_ERR_BUSY, "a writer of all beside a lease");
        break;
    case 2: {
        /* Readers go beside readers, if no part is being written. */
        const tnr_status status = count(tnr_map_read(&on->whole.view, &reading));
        const bool certain = writes || part < 0;
        REQUIRE(!certain || status == (writes ? TNR_ERR_BUSY : TNR_OK), "a reader of all beside a lease");
        REQUIRE(tnr_unmap_read(&reading) == TNR_OK, "unmap");
        break;
    }
    default: {
        const int other = part < 0 ? (int)below(me, PARTS) : part;
        const tnr_status status = count(tnr_map_write(&on->parts[part < 0 ? 0 : split][other], &writing));
        REQUIRE(status == TNR_ERR_BUSY, "a writer of a leased part");
        break;
    }
    }
}

static void use_whole(worker *me, root *on, bool write)
{
    tnr_read_map reading;
    tnr_write_map writing;
    const tnr_status status =
        count(write ? tnr_map_write(&on->whole, &writing) : tnr_map_read(&on->whole.view, &reading));
    REQUIRE(status == TNR_OK || status == TNR_ERR_BUSY, "the whole");
    if (status != TNR_OK) {
        return;
    }
    for (int part = 0; part < PARTS; part++) {
        if (write) {
            change(me, on, (int64_t *)writing.data + part * PART_ELEMENTS, part);
        } else {
            look(me, on, (const int64_t *)reading.data + part * PART_ELEMENTS, part);
        }
    }
    if (below(me, 4) == 0) {
        try_beside(me, on, write, 0, -1);
    }
    if (below(me, 16) == 0) {
        (void)sched_yield();
    }
    REQUIRE((write ? tnr_unmap_write(&writing) : tnr_unmap_read(&reading)) == TNR_OK, "unmap");
}

static void use_part(worker *me, root *on, bool write)
{
    tnr_read_map reading;
    tnr_write_map writing;
    const int split = below(me, 8) == 0 ? 1 : 0;
    const int part = (int)below(me, PARTS);
    const tnr_view_mut *view = &on->parts[split][part];
    const tnr_status status = count(write ? tnr_map_write(view, &writing) : tnr_map_read(&view->view, &reading));
    REQUIRE(status == TNR_OK || status == TNR_ERR_BUSY, "a part");
    if (status != TNR_OK) {
        return;
    }
    if (write) {
        change(me, on, writing.data, part);
    } else {
        look(me, on, reading.data, part);
    }
    if (below(me, 4) == 0) {
        try_beside(me, on, write, split, part);
    }
    if (below(me, 16) == 0) {
        (void)sched_yield();
    }
    REQUIRE((write ? tnr_unmap_write(&writing) : tnr_unmap_read(&reading)) == TNR_OK, "unmap");
}

static void *lease_work(void *argument)
{
    worker *me = argument;
    shared_roots *shared = me->shared;
    for (int i = 0; i < me->operations; i++) {
        root *on = &shared->roots[below(me, ROOTS)];
        const bool write = below(me, 2) == 0;
        if (below(me, 3) == 0) {
            use_whole(me, on, write);
        } else {
            use_part(me, on, write);
        }
    }
    return NULL;
}

static void leases_exclude(int threads)
{
    static unsigned char region[256 * 1024];
    tnr_domain *heap = NULL;
    tnr_domain *arena = NULL;
    tnr_domain *pool = NULL;
    OK(tnr_heap_create(&heap));
    OK(tnr_arena_create(region, sizeof(region), NULL, &arena));
    OK(tnr_pool_create(heap, NULL, &pool));
    static shared_roots shared;
    tnr_domain *const domains[ROOTS] = {heap, arena, pool, heap};
    for (int i = 0; i < ROOTS; i++) {
        make_root(&shared.roots[i], domains[i]);
    }
    run_threads(threads, lease_work, &shared);
    assert_true(atomic_load(&answers[TNR_ERR_BUSY]) > 0);
    for (int i = 0; i < ROOTS; i++) {
        /* No lease was forgotten: a writer has it alone, and it goes. */
        tnr_write_map map;
        OK(tnr_map_write(&shared.roots[i].whole, &map));
        OK(tnr_unmap_write(&map));
        OK(tnr_tensor_release(&shared.roots[i].tensor));
    }
    OK(tnr_domain_close(&pool));
    OK(tnr_domain_close(&arena));
    OK(tnr_domain_close(&heap));
}

static void test_leases_exclude_two(void **state)
{
    (void)state;
    leases_exclude(2);
}

static void test_leases_exclude_four(void **state)
{
    (void)state;
    leases_exclude(4);
}

/* ---- Stale views of recycled slots ------------------------------------------------------------------------------------------- */

#define POSTED 64
#define OWNED 8

/* A view somebody once had, and the value that all elements of its owner have. */
typedef struct post {
    pthread_mutex_t lock;
    tnr_view_mut view;
    int64_t value;
} post;

typedef struct board {
    tnr_domain *domains[3];
    post posts[POSTED];
} board;

typedef struct owned {
    tnr_tensor *tensor;
    int64_t value;
} owned;

static void post_view(worker *me, board *on, const tnr_view_mut *view, int64_t value)
{
    post *at = &on->posts[below(me, POSTED)];
    pthread_mutex_lock(&at->lock);
    at->view = *view;
    at->value = value;
    pthread_mutex_unlock(&at->lock);
}

/* A tensor whose every element is its number; it never changes while a view of it may be read. */
static bool make_owned(worker *me, board *on, owned *made, int64_t value)
{
    const int64_t shape[] = {(int64_t)below(me, 12) + 1};
    tnr_draft *draft = NULL;
    const tnr_status status = count(tnr_draft_begin(on->domains[below(me, 3)], TNR_I64, 1, shape, &draft));
    if (status == TNR_ERR_MEMORY) {
        return false;
    }
    tnr_view_mut view;
    tnr_write_map map;
    REQUIRE(status == TNR_OK && tnr_draft_view(draft, &view) == TNR_OK, "draft");
    /* Nobody but this thread knows the draft, so nothing is in the way. */
    REQUIRE(count(tnr_map_write(&view, &map)) == TNR_OK, "map_write of a draft");
    for (int64_t i = 0; i < shape[0]; i++) {
        ((int64_t *)map.data)[i] = value;
    }
    REQUIRE(tnr_unmap_write(&map) == TNR_OK, "unmap_write");
    if (below(me, 8) == 0) {
        post_view(me, on, &view, -1); /* of a draft: never to be read */
    }
    tnr_status committed;
    do {
        committed = count(tnr_draft_commit(&draft, &made->tensor));
    } while (committed == TNR_ERR_BUSY);
    REQUIRE(committed == TNR_OK && tnr_tensor_view_mut(made->tensor, &view) == TNR_OK, "commit");
    made->value = value;
    post_view(me, on, &view, value);
    return true;
}

/* Let go of a tensor in one of the ways there are; others may be reading it through posted views. */
static void let_go(worker *me, board *on, owned *tensor)
{
    tnr_status status;
    const uint64_t how = below(me, 4);
    do {
        tnr_exported exported;
        tnr_group *group = NULL;
        if (how == 0) {
            status = count(tnr_tensor_export(&tensor->tensor, &exported));
            REQUIRE(status != TNR_OK || tnr_exported_free(&exported) == TNR_OK, "exported_free");
        } else if (how == 1) {
            status = count(tnr_group_from_tensors(on->domains[0], &tensor->tensor, 1, &group));
            if (status == TNR_OK) {
                tnr_slot slot;
                tnr_view_mut view;
                REQUIRE(tnr_group_slot(group, 0, &slot) == TNR_OK && tnr_group_view_mut(group, slot, &view) == TNR_OK,
                        "slot");
                post_view(me, on, &view, tensor->value);
                while (tnr_group_release(&group) == TNR_ERR_BUSY) {
                    (void)sched_yield();
                }
            }
        } else {
            status = count(tnr_tensor_release(&tensor->tensor));
        }
    } while (status == TNR_ERR_BUSY || status == TNR_ERR_MEMORY);
    REQUIRE(status == TNR_OK && tensor->tensor == NULL, "letting go");
}

/* Use a view that may be of a tensor gone long ago. */
static void use_posted(worker *me, board *on)
{
    post *at = &on->posts[below(me, POSTED)];
    pthread_mutex_lock(&at->lock);
    const tnr_view_mut view = at->view;
    const int64_t value = at->value;
    pthread_mutex_unlock(&at->lock);
    if (view.view.root == NULL) {
        return;
    }
    const int64_t index[] = {0};
    int64_t found = value;
    tnr_status status = TNR_OK;
    switch (below(me, 4)) {
    case 0: {
        tnr_read_map map;
        status = count(tnr_map_read(&view.view, &map));
        if (status == TNR_OK) {
            for (int64_t i = 0; i < view.view.shape[0]; i++) {
                found = found == value ? ((const int64_t *)map.data)[i] : found;
            }
            REQUIRE(tnr_unmap_read(&map) == TNR_OK, "unmap_read");
        }
        break;
    }
    case 1: {
        /* The same value again: what is written is a race unless the lease is exclusive. */
        if (value == -1) {
            return;
        }
        status = count(tnr_view_set(&view, index, &value));
        break;
    }
    case 2: {
        tnr_tensor *copy = NULL;
        status = count(tnr_tensor_duplicate(&view.view, on->domains[0], &copy));
        if (status == TNR_OK) {
            const void *data = NULL;
            REQUIRE(tnr_tensor_host_data(copy, &data) == TNR_OK, "host_data");
            found = *(const int64_t *)data;
            REQUIRE(tnr_tensor_release(&copy) == TNR_OK, "release of a copy");
        }
        break;
    }
    default:
        status = count(tnr_view_get(&view.view, index, &found));
        break;
    }
    REQUIRE(status == TNR_OK || status == TNR_ERR_BUSY || status == TNR_ERR_STALE, "a posted view");
    REQUIRE(status != TNR_OK || value != -1, "a draft was read");
    REQUIRE(status != TNR_OK || found == value, "a stale view read another tensor's bytes");
}

static void *recycle_work(void *argument)
{
    worker *me = argument;
    board *on = me->shared;
    owned mine[OWNED];
    memset(mine, 0, sizeof(mine));
    for (int i = 0; i < me->operations; i++) {
        owned *tensor = &mine[below(me, OWNED)];
        if (below(me, 3) != 0) {
            use_posted(me, on);
        } else if (tensor->tensor == NULL) {
            (void)make_owned(me, on, tensor, (int64_t)i * MOST_THREADS + me->index);
        } else {
            let_go(me, on, tensor);
        }
    }
    for (int i = 0; i < OWNED; i++) {
        if (mine[i].tensor != NULL) {
            let_go(me, on, &mine[i]);
        }
    }
    return NULL;
}

static void stale_views_are_refused(int threads)
{
    static unsigned char region[64 * 1024];
    static board shared;
    memset(&shared, 0, sizeof(shared));
    tnr_domain *pool = NULL;
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = 512;
    OK(tnr_heap_create(&shared.domains[0]));
    OK(tnr_arena_create(region, sizeof(region), NULL, &shared.domains[1]));
    OK(tnr_pool_create(shared.domains[1], &options, &pool));
    shared.domains[2] = pool;
    for (int i = 0; i < POSTED; i++) {
        pthread_mutex_init(&shared.posts[i].lock, NULL);
    }
    run_threads(threads, recycle_work, &shared);
    assert_true(atomic_load(&answers[TNR_ERR_STALE]) > 0);
    tnr_pool_statistics now;
    OK(tnr_pool_statistics_get(pool, &now));
    assert_int_equal(now.in_flight, 0);
    assert_true(now.capacity_bytes <= 512);
    OK(tnr_arena_check(shared.domains[1]));
    OK(tnr_domain_close(&pool));
    OK(tnr_domain_close(&shared.domains[1]));
    OK(tnr_domain_close(&shared.domains[0]));
    for (int i = 0; i < POSTED; i++) {
        pthread_mutex_destroy(&shared.posts[i].lock);
    }
}

static void test_stale_views_two(void **state)
{
    (void)state;
    stale_views_are_refused(2);
}

static void test_stale_views_four(void **state)
{
    (void)state;
    stale_views_are_refused(4);
}

int main(void)
{
    take_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leases_exclude_two),
        cmocka_unit_test(test_leases_exclude_four),
        cmocka_unit_test(test_stale_views_two),
        cmocka_unit_test(test_stale_views_four),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
