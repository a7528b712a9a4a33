/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines of a device in the hands of a program that errs: bad options, operands that do not fit or lie elsewhere, too much memory, things
 * closed in the wrong order or while work is in flight, two threads in one lane, exit with everything alive. Each is a clear error or
 * harmless, and what comes after works.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "scene.h"

static void bad_options(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 1, NULL);
    tnr_engine *const nothing = untouched();
    tnr_engine *made = nothing;
    char path[600];
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(NULL, of.s.lane[0], NULL, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(of.s.heap, NULL, NULL, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], NULL, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(of.s.heap, tnr_cuda_device_lane(of.s.device, 2), NULL, &made));
    options.size = 3;
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &options, &made));
    /* settings of a later version that this one does not know, and that are not zero */
    struct {
        tnr_cuda_engine_options known;
        uint64_t later[8];
    } longer = {.known = options, .later = {7}};
    longer.known.size = sizeof(longer);
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &longer.known, &made));
    options.size = sizeof(options);
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    options.cublas = path;
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &options, &made));
    options.cublas = NULL;
    options.output = of.s.heap;
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &options, &made));
    options.output = of.s.domain[TNR_CUDA_PINNED];
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &options, &made));
    options.output = NULL;
    /* a home that the host cannot reach */
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_engine_create(of.s.domain[TNR_CUDA_POOL], of.s.lane[0], &options, &made));
    assert_ptr_equal(made, nothing);
    assert_null(tnr_cuda_engine_lane(of.cpu));
    assert_null(tnr_cuda_engine_lane(NULL));
    assert_ptr_equal(tnr_cuda_engine_lane(of.engine), of.s.lane[0]);
    /* an engine of CPUs does not take the device's memory for its outputs */
    tnr_engine_options cpu = TNR_ENGINE_OPTIONS;
    cpu.output = of.s.domain[TNR_CUDA_POOL];
    EXPECT(TNR_ERR_RESIDENCY, tnr_engine_create(of.s.heap, &cpu, &made));
    assert_ptr_equal(made, nothing);
    stage_end(&of);
}

/* What the core looks at is told alike by both kinds of engines, and nothing was done. */
static void same_answers_as_cpus(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 2, NULL);
    tnr_tensor *a[2] = {scene_on_device(&of.s, TNR_CUDA_POOL, 12, 1), scene_counting(of.s.heap, 12, 1)};
    tnr_tensor *wide[2] = {NULL, NULL};
    OK(tnr_tensor_zeros(of.s.heap, TNR_F64, 1, SHAPE(12), &wide[1]));
    tnr_view view = view_of(wide[1]);
    OK(tnr_cuda_upload(of.s.lane[0], &view, of.s.domain[TNR_CUDA_POOL], &wide[0]));
    char said[2][8][TNR_ERROR_TEXT_BYTES];
    tnr_status answers[2][8];
    const uint64_t launches = scene_counts(&of.s).launches;
    for (int kind = 0; kind < 2; kind++) {
        tnr_engine *engine = kind == 0 ? of.engine : of.cpu;
        tnr_tensor *made = NULL;
        tnr_view x;
        tnr_view y;
        tnr_view six;
        tnr_view_mut out;
        tnr_view_mut later;
        int at = 0;
#define ANSWER(call)                                                                    \
    do {                                                                                \
        answers[kind][at] = (call);                                                     \
        (void)snprintf(said[kind][at++], TNR_ERROR_TEXT_BYTES, "%s", tnr_last_error()); \
    } while (0)
        OK(tnr_tensor_view(a[kind], &x));
        OK(tnr_tensor_view(wide[kind], &y));
        OK(tnr_tensor_region(a[kind], 1, SHAPE(6), SHAPE(1), 0, &six));
        OK(tnr_tensor_region_mut(a[kind], 1, SHAPE(6), SHAPE(1), 0, &out));
        OK(tnr_tensor_region_mut(a[kind], 1, SHAPE(6), SHAPE(1), 3, &later));
        ANSWER(tnr_add(engine, &x, &y, &made));                  /* dtypes */
        ANSWER(tnr_add(engine, &x, &six, &made));                /* shapes */
        ANSWER(tnr_neg_into(engine, &six, &later));              /* overlap */
        ANSWER(tnr_exp(engine, &x, &made));                      /* no such dtype */
        ANSWER(tnr_sum(engine, &x, (const int[]){3}, 1, &made)); /* no such axis */
        ANSWER(tnr_matmul(engine, &y, &y, NULL, &made));         /* no matrices */
        ANSWER(tnr_einsum(engine, "i,j->k", (const tnr_view *const[]){&y, &y}, 2, NULL, &made));
        ANSWER(tnr_broadcast(engine, &six, 2, SHAPE(6, INT64_MAX / 8), (const int[]){0}, &made)); /* too large */
        assert_null(made);
    }
    for (int at = 0; at < 8; at++) {
        assert_int_not_equal(answers[0][at], TNR_OK);
        assert_int_equal(answers[0][at], answers[1][at]);
        assert_string_equal(said[0][at], said[1][at]);
    }
    assert_int_equal(scene_counts(&of.s).launches, launches);
    EXPECT(TNR_ERR_ARGUMENT, tnr_neg(of.engine, NULL, &a[0]));
    tnr_tensor *made = NULL;
    view = view_of(a[0]);
    EXPECT(TNR_ERR_ARGUMENT, tnr_neg(NULL, &view, &made));
    release(&a[0]);
    EXPECT(TNR_ERR_STALE, tnr_neg(of.engine, &view, &made));
    release(&a[1]);
    release(&wide[0]);
    release(&wide[1]);
    stage_end(&of);
}

/* What only the host can do says so, by name of the call to make. */
static void the_hosts_calls(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 3, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 12, 1);
    tnr_tensor *made = NULL;
    tnr_view_mut view;
    tnr_read_map map;
    int32_t value = 0;
    OK(tnr_tensor_view_mut(a, &view));
    EXPECT(TNR_ERR_RESIDENCY, tnr_view_get(&view.view, SHAPE(0), &value));
    TEXT_HAS("tnr_cuda_download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_map_read(&view.view, &map));
    TEXT_HAS("tnr_cuda_download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_sum(of.cpu, &view.view, (const int[]){0}, 1, &made));
    TEXT_HAS("tnr_cuda_download");
    EXPECT(TNR_ERR_RESIDENCY, tnr_neg_into(of.cpu, &view.view, &view));
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_full(of.s.domain[TNR_CUDA_POOL], TNR_I32, 1, SHAPE(3), &value, &made));
    assert_null(made);
    scene_expect_counting(&of.s, a, 1);
    release(&a);
    stage_end(&of);
}

/* More than there is, or than a cap allows: the bytes are asked for once more, refused, and nothing stays behind. */
static void too_large(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 4, NULL);
    tnr_cuda_domain_options options = TNR_CUDA_DOMAIN_OPTIONS;
    tnr_cuda_engine_options engine_options = TNR_CUDA_ENGINE_OPTIONS;
    tnr_domain *small = NULL;
    tnr_engine *engine = NULL;
    options.max_bytes = 1 << 16;
    OK(tnr_cuda_domain_create(of.s.device, TNR_CUDA_POOL, &options, &small));
    engine_options.output = small;
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[1], &engine_options, &engine));
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 20000, 1);
    tnr_tensor *made = NULL;
    tnr_view view = view_of(a);
    EXPECT(TNR_ERR_MEMORY, tnr_neg(engine, &view, &made));
    assert_null(made);
    OK(tnr_tensor_region(a, 1, SHAPE(100), SHAPE(1), 0, &view));
    OK(tnr_to_contiguous(engine, &view, &made));
    scene_expect_counting(&of.s, made, 1);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&small)); /* a tensor of it lives, and the engine */
    release(&made);
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&small)); /* the engine makes outputs there */
    assert_non_null(small);
    OK(tnr_to_contiguous(engine, &view, &made));
    release(&made);
    OK(tnr_engine_destroy(&engine));
    OK(tnr_domain_close(&small));
    release(&a);
    stage_end(&of);
}

/* The engine's home, its device and its domains cannot go before it; it may go before its work is done. */
static void ended_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scene_seeds(20); seed++) {
        stage of;
        stage_begin(&of, seed, NULL);
        tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_PLAIN, 5000, 7);
        tnr_tensor *first = NULL;
        tnr_tensor *second = NULL;
        tnr_view view = view_of(a);
        OK(tnr_neg(of.engine, &view, &first));
        view = view_of(first);
        OK(tnr_neg(of.engine, &view, &second));
        EXPECT(TNR_ERR_BUSY, tnr_domain_close(&of.s.heap));
        EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&of.s.device));
        OK(tnr_engine_destroy(&of.engine)); /* with all of it in flight */
        assert_null(of.engine);
        OK(tnr_engine_destroy(&of.engine));
        release(&first);
        release(&a);
        scene_expect_counting(&of.s, second, 7);
        release(&second);
        stage_end(&of);
    }
}

/* While a ticket has a tensor, an engine may not have it in a way that conflicts. */
static void tickets_hold_their_ends(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 5, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 4000, 1);
    tnr_tensor *host = scene_counting(of.s.domain[TNR_CUDA_PINNED], 4000, 9);
    tnr_tensor *made = NULL;
    tnr_ticket *ticket = NULL;
    tnr_view_mut there;
    tnr_view_mut here;
    OK(tnr_tensor_view_mut(a, &there));
    OK(tnr_tensor_view_mut(host, &here));
    OK(tnr_cuda_upload_start(of.s.lane[1], &here.view, &there, &ticket));
    EXPECT(TNR_ERR_BUSY, tnr_neg(of.engine, &there.view, &made));
    EXPECT(TNR_ERR_BUSY, tnr_neg_into(of.engine, &there.view, &there));
    OK(tnr_ticket_wait(&ticket));
    OK(tnr_to_contiguous(of.engine, &there.view, &made));
    scene_expect_counting(&of.s, made, 9);
    release(&made);
    OK(tnr_cuda_download_start(of.s.lane[1], &there.view, &here, &ticket));
    OK(tnr_to_contiguous(of.engine, &there.view, &made)); /* two readers */
    EXPECT(TNR_ERR_BUSY, tnr_neg_into(of.engine, &there.view, &there));
    OK(tnr_ticket_wait(&ticket));
    release(&made);
    release(&a);
    release(&host);
    stage_end(&of);
}

/* Outputs in a program's pool over device memory and in managed memory; plans, machines and copies that are given the wrong side's operands. */
static void outputs_elsewhere(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 9, NULL);
    tnr_cuda_engine_options options = TNR_CUDA_ENGINE_OPTIONS;
    tnr_domain *pool = NULL;
    tnr_engine *engines[2] = {NULL, NULL};
    OK(tnr_pool_create(of.s.domain[TNR_CUDA_PLAIN], NULL, &pool));
    options.output = pool;
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &options, &engines[0]));
    options.output = of.s.domain[TNR_CUDA_MANAGED];
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[1], &options, &engines[1]));
    assert_ptr_equal(tnr_engine_output(engines[0]), pool);
    OK(tnr_domain_close(&pool)); /* a pool then only keeps nothing; what uses it goes on */
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 50, 1);
    tnr_tensor *host = scene_counting(of.s.heap, 50, 1);
    tnr_tensor *made[3] = {NULL, NULL, NULL};
    tnr_view view = view_of(a);
    OK(tnr_neg(engines[0], &view, &made[0]));
    view = view_of(made[0]); /* of a pool's block */
    OK(tnr_neg(engines[1], &view, &made[1]));
    view = view_of(made[1]);
    OK(tnr_to_contiguous(of.cpu, &view, &made[2])); /* where it lies, by CPUs */
    scene_expect_counting(&of.s, made[2], 1);

    tnr_plan *plan = NULL;
    tnr_tensor *none = NULL;
    tnr_view_mut there;
    const tnr_view near = view_of(host);
    view = view_of(a);
    OK(tnr_tensor_view_mut(a, &there));
    const tnr_view *const far[2] = {&view, &view};
    const tnr_view *const mixed[2] = {&view, &near};
    tnr_tensor *wide = NULL;
    tnr_tensor *narrow = NULL;
    OK(tnr_cast(of.engine, &view, TNR_F32, &wide));
    OK(tnr_cast(of.cpu, &near, TNR_F32, &narrow));
    const tnr_view wide_view = view_of(wide);
    const tnr_view narrow_view = view_of(narrow);
    const tnr_view *const both[2] = {&wide_view, &wide_view};
    const tnr_view *const one_near[2] = {&wide_view, &narrow_view};
    OK(tnr_plan_einsum(of.engine, "i,i->", both, 2, NULL, NULL, &plan));
    EXPECT(TNR_ERR_RESIDENCY, tnr_plan_run(plan, one_near, 2, &none));
    TEXT_HAS("tnr_cuda_upload");
    OK(tnr_plan_run(plan, both, 2, &none));
    release(&none);
    OK(tnr_plan_destroy(&plan));
    EXPECT(TNR_ERR_RESIDENCY, tnr_einsum(of.cpu, "i,i->", both, 2, NULL, &none));
    EXPECT(TNR_ERR_RESIDENCY, tnr_concatenate(of.engine, mixed, 2, 0, &none));
    EXPECT(TNR_ERR_RESIDENCY, tnr_concatenate(of.cpu, far, 2, 0, &none));
    EXPECT(TNR_ERR_RESIDENCY, tnr_copy_into(of.cpu, &near, &there));
    TEXT_HAS("tnr_cuda_upload_into");
    EXPECT(TNR_ERR_RESIDENCY, tnr_copy_into(of.engine, &near, &there));
    TEXT_HAS("tnr_cuda_upload");
    assert_null(none);
    tnr_tensor *all[] = {a, host, made[0], made[1], made[2], wide, narrow};
    for (size_t at = 0; at < sizeof(all) / sizeof(all[0]); at++) {
        release(&all[at]);
    }
    OK(tnr_engine_destroy(&engines[0]));
    OK(tnr_engine_destroy(&engines[1]));
    stage_end(&of);
}

/* Work that nobody waits for, kept by nothing but the lane: the device's close waits for it. */
static void left_in_flight(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scene_seeds(20); seed++) {
        stage of;
        stage_begin(&of, seed, NULL);
        tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 3000, 1);
        tnr_view_mut view;
        OK(tnr_tensor_view_mut(a, &view));
        for (int turn = 0; turn < 9; turn++) {
            OK(tnr_neg_into(of.engine, &view.view, &view));
        }
        release(&a);
        stage_end(&of);
    }
}

/* ---- One lane, several users ------------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 150, COUNT = 700 };

typedef struct user {
    stage *of;
    bool computes;
    int busy;
    int wrong;
} user;

/* Either calls the engine or copies in its lane; a refused call is tried again. */
static void *use_lane(void *context)
{
    user *u = context;
    scene *s = &u->of->s;
    int32_t values[COUNT];
    for (int round = 0; round < ROUNDS; round++) {
        tnr_tensor *host = NULL;
        tnr_tensor *away = NULL;
        tnr_tensor *made = NULL;
        tnr_tensor *down = NULL;
        const void *data = NULL;
        tnr_view view;
        for (int at = 0; at < COUNT; at++) {
            values[at] = round + at;
        }
        bool good =
            tnr_tensor_from_column_major(s->heap, TNR_I32, 1, SHAPE(COUNT), values, sizeof(values), &host) == TNR_OK &&
            tnr_tensor_view(host, &view) == TNR_OK;
        tnr_status status = TNR_ERR_BUSY;
        tnr_cuda_lane *lane = s->lane[u->computes ? 1 : 0];
        while (good && status == TNR_ERR_BUSY) {
            status = tnr_cuda_upload(lane, &view, s->domain[TNR_CUDA_POOL], &away);
            u->busy += status == TNR_ERR_BUSY ? 1 : 0;
        }
        good = good && status == TNR_OK && tnr_tensor_view(away, &view) == TNR_OK;
        status = TNR_ERR_BUSY;
        while (good && u->computes && status == TNR_ERR_BUSY) {
            status = tnr_add(u->of->engine, &view, &view, &made);
            u->busy += status == TNR_ERR_BUSY ? 1 : 0;
        }
        good = good && (!u->computes || (status == TNR_OK && tnr_tensor_view(made, &view) == TNR_OK));
        status = TNR_ERR_BUSY;
        while (good && status == TNR_ERR_BUSY) {
            status = tnr_cuda_download(lane, &view, s->heap, &down);
            u->busy += status == TNR_ERR_BUSY ? 1 : 0;
        }
        good = good && status == TNR_OK && tnr_tensor_host_data(down, &data) == TNR_OK;
        for (int at = 0; good && at < COUNT; at++) {
            good = ((const int32_t *)data)[at] == (u->computes ? 2 : 1) * (round + at);
        }
        u->wrong += good ? 0 : 1;
        (void)tnr_tensor_release(&host);
        (void)tnr_tensor_release(&away);
        (void)tnr_tensor_release(&made);
        (void)tnr_tensor_release(&down);
    }
    return NULL;
}

static void a_lane_shared_by_threads(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 6, NULL);
    user users[2] = {{.of = &of, .computes = true}, {.of = &of, .computes = false}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_lane, &users[1]), 0);
    (void)use_lane(&users[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    print_message("refused: %d and %d\n", users[0].busy, users[1].busy);
    assert_int_equal(users[0].wrong, 0);
    assert_int_equal(users[1].wrong, 0);
    stage_end(&of);
}

enum { SHARED_ROUNDS = 200, MOST_ROUNDS = 1000000 };

/* Two threads at one engine, and a third that waits for its lane again and again. */
typedef struct sharer {
    stage *of;
    tnr_engine *engine;
    tnr_tensor *mine;
    atomic_int *done; /* rounds of both */
    int number;
    int wrong;
    int refused;
    int waits;
} sharer;

static bool is_over(const sharer *u)
{
    return atomic_load(&u->done[0]) >= SHARED_ROUNDS && atomic_load(&u->done[1]) >= SHARED_ROUNDS;
}

/* Until both have done their rounds: one that is kept out keeps the other at it. */
static void *share_engine(void *context)
{
    sharer *u = context;
    tnr_view_mut view;
    u->wrong += tnr_tensor_view_mut(u->mine, &view) != TNR_OK ? 1 : 0;
    for (int round = 0; !is_over(u) && u->wrong == 0; round++) {
        for (int twice = 0; twice < 2; twice++) {
            tnr_status status = TNR_ERR_BUSY;
            while (status == TNR_ERR_BUSY) {
                status = tnr_neg_into(u->engine, &view.view, &view);
                u->refused += status == TNR_ERR_BUSY ? 1 : 0;
            }
            u->wrong += status != TNR_OK || round > MOST_ROUNDS ? 1 : 0;
        }
        (void)atomic_fetch_add(&u->done[u->number], 1);
        (void)sched_yield(); /* one that never pauses leaves little room to one that is refused */
    }
    return NULL;
}

static void *wait_for_lane(void *context)
{
    sharer *u = context;
    while (!is_over(u) && u->wrong == 0) {
        u->wrong += tnr_cuda_lane_synchronize(u->of->s.lane[0]) != TNR_OK ? 1 : 0;
        u->waits++;
        (void)sched_yield();
    }
    return NULL;
}

static void share(bool one_lane)
{
    stage of;
    tnr_engine *second = NULL;
    atomic_int done[2] = {0, 0};
    pthread_t threads[3];
    sharer sharers[3];
    stage_begin(&of, 10, NULL);
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[1], NULL, &second));
    for (int at = 0; at < 3; at++) {
        sharers[at] = (sharer){.of = &of, .done = done, .number = at};
        sharers[at].engine = at == 1 && !one_lane ? second : of.engine;
        sharers[at].mine = at < 2 ? scene_on_device(&of.s, TNR_CUDA_POOL, 50, 100 * at) : NULL;
    }
    for (int at = 0; at < 3; at++) {
        assert_int_equal(pthread_create(&threads[at], NULL, at < 2 ? share_engine : wait_for_lane, &sharers[at]), 0);
    }
    for (int at = 0; at < 3; at++) {
        assert_int_equal(pthread_join(threads[at], NULL), 0);
        assert_int_equal(sharers[at].wrong, 0);
    }
    print_message("%d and %d rounds, refused %d and %d, %d waits\n", atomic_load(&done[0]), atomic_load(&done[1]),
                  sharers[0].refused, sharers[1].refused, sharers[2].waits);
    for (int at = 0; at < 2; at++) {
        scene_expect_counting(&of.s, sharers[at].mine, 100 * at); /* an even number of times */
        release(&sharers[at].mine);
    }
    OK(tnr_engine_destroy(&second));
    stage_end(&of);
}

/* Neither of two threads that try again keeps the other one out, and one that waits refuses nobody. */
static void an_engine_shared_by_threads(void **state)
{
    (void)state;
    share(true);
}

/* In a lane each: nobody is refused, and they take turns at the device object. */
static void a_device_shared_by_threads(void **state)
{
    (void)state;
    share(false);
}

/* A lane is waited for alone: what was given to it is over then, and a second look costs nothing. */
static void waiting_for_a_lane(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scene_seeds(20); seed++) {
        stage of;
        stage_begin(&of, seed, NULL);
        tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 1000, 1);
        tnr_tensor *made = NULL;
        const tnr_view view = view_of(a);
        tnr_cuda_lane *lane = tnr_cuda_engine_lane(of.engine);
        EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_lane_synchronize(NULL));
        OK(tnr_neg(of.engine, &view, &made));
        const tnr_cuda_statistics before = scene_counts(&of.s);
        OK(tnr_cuda_lane_synchronize(lane));
        tnr_cuda_statistics counts = scene_counts(&of.s);
        assert_true(counts.host_waits == before.host_waits + 1 || scene_fake() == NULL);
        assert_int_equal(counts.synchronises, before.synchronises); /* by an event */
        OK(tnr_cuda_lane_synchronize(lane));
        assert_int_equal(scene_counts(&of.s).host_waits, counts.host_waits);
        tnr_view_mut again = view_mut_of(made);
        OK(tnr_neg_into(of.engine, &view, &again));
        if (scene_fake() != NULL) { /* no event can be waited for: the lane itself is */
            scene_fake()->fail_entry = "cuEventSynchronize";
            scene_fake()->fail_code = 400;
            scene_fake()->fail_at = 1;
            OK(tnr_cuda_lane_synchronize(lane));
            assert_int_equal(scene_counts(&of.s).synchronises, counts.synchronises + 1);
            assert_int_equal(scene_fake()->faults, 1);
        }
        release(&made);
        release(&a);
        stage_end(&of);
    }
}

/* Engines in one lane and in two, and one of CPUs, take turns at one tensor: the order is that of the calls. */
static void engines_take_turns(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scene_seeds(30); seed++) {
        stage of;
        tnr_engine *others[2] = {NULL, NULL};
        stage_begin(&of, seed, NULL);
        OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[0], NULL, &others[0]));
        OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[1], NULL, &others[1]));
        tnr_tensor *one = scene_counting(of.s.domain[TNR_CUDA_MANAGED], 900, 3);
        tnr_view_mut view;
        OK(tnr_tensor_view_mut(one, &view));
        tnr_engine *const turns[6] = {of.engine, others[1], others[0], of.cpu, others[1], of.engine};
        for (int turn = 0; turn < 6; turn++) {
            OK(tnr_neg_into(turns[turn], &view.view, &view));
            if (turn == 2) {
                OK(tnr_add_into(others[1], &view.view, &view.view, &view));
            }
        }
        tnr_read_map map;
        OK(tnr_map_read(&view.view, &map));
        for (int32_t at = 0; at < 900; at++) {
            assert_int_equal(((const int32_t *)map.data)[at], 2 * (3 + at));
        }
        OK(tnr_unmap_read(&map));
        release(&one);
        OK(tnr_engine_destroy(&others[0]));
        OK(tnr_engine_destroy(&others[1]));
        stage_end(&of);
    }
}

/* ---- At exit ------------------------------------------------------------------------------------------------------------------------ */

static stage late;
static tnr_tensor *late_tensor;
static int late_mode;

static void end_late(void)
{
    if (late_mode == 1) {
        scene_fake()->unloading = true;
    }
    bool good = tnr_tensor_release(&late_tensor) == TNR_OK && tnr_engine_destroy(&late.engine) == TNR_OK &&
                tnr_engine_destroy(&late.cpu) == TNR_OK;
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
        good = good && tnr_domain_close(&late.s.domain[memory]) == TNR_OK;
    }
    if (!good || tnr_cuda_device_close(&late.s.device) != TNR_OK || tnr_domain_close(&late.s.heap) != TNR_OK) {
        _exit(3);
    }
}

static void leave_late(void *context)
{
    (void)context;
    stage_begin(&late, 1, NULL);
    tnr_tensor *a = scene_on_device(&late.s, TNR_CUDA_POOL, 3000, 1);
    const tnr_view view = view_of(a);
    OK(tnr_neg(late.engine, &view, &late_tensor)); /* in flight at exit */
    release(&a);
    if (late_mode < 2) {
        (void)atexit(end_late);
    }
}

/* CU-04: an engine ended in an atexit handler, with the driver there, unloading, or never ended: exit 0, no word. */
static void cu_04_exit_is_quiet(void **state)
{
    (void)state;
    NEEDS_FAKE();
    for (late_mode = 0; late_mode < 3; late_mode++) {
        char said[64];
        assert_int_equal(scene_in_child(leave_late, NULL, said, sizeof(said)), 0);
        assert_string_equal(said, "");
    }
}

/* ---- Sizes and strides ------------------------------------------------------------------------------------------------------------------- */

/* CU-08: more than 2^31 elements: every one is reached. Only where there is a device's memory. */
static void cu_08_more_than_32_bits(void **state)
{
    (void)state;
    tnr_cuda_device_info info;
    stage of;
    stage_begin(&of, 7, NULL);
    OK(tnr_cuda_device_describe(of.s.device, &info));
    const int64_t count = (INT64_C(1) << 31) + 1024;
    if (scene_fake() != NULL || info.total_bytes < UINT64_C(24) << 30) {
        stage_end(&of);
        print_message("skipped: 8 GiB of a device's memory are needed, and a device that computes\n");
        skip();
        return;
    }
    const float one = 1.0F;
    tnr_tensor *host = NULL;
    tnr_tensor *scalar = NULL;
    tnr_tensor *filled = NULL;
    tnr_tensor *sums = NULL;
    tnr_view view;
    OK(tnr_tensor_full(of.s.heap, TNR_F32, 0, NULL, &one, &host));
    view = view_of(host);
    OK(tnr_cuda_upload(of.s.lane[0], &view, of.s.domain[TNR_CUDA_POOL], &scalar));
    release(&host);
    view = view_of(scalar);
    OK(tnr_broadcast(of.engine, &view, 1, &count, NULL, &filled));
    OK(tnr_tensor_region(filled, 2, SHAPE(1024, count / 1024), SHAPE(1, 1024), 0, &view));
    OK(tnr_sum(of.engine, &view, (const int[]){0}, 1, &sums));
    view = view_of(sums);
    OK(tnr_cuda_download(of.s.lane[0], &view, of.s.heap, &host));
    const void *data = NULL;
    OK(tnr_tensor_host_data(host, &data));
    for (int64_t at = 0; at < count / 1024; at++) {
        assert_true(((const float *)data)[at] == 1024.0F);
    }
    release(&host);
    release(&sums);
    release(&filled);
    release(&scalar);
    stage_end(&of);
}

/* CU-09: a fill writes its elements and not the next one; work on strided views leaves what lies between. */
static void cu_09_what_lies_between(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 8, NULL);
    tnr_tensor *room = scene_on_device(&of.s, TNR_CUDA_POOL, 1001, 5000);
    tnr_tensor *value = scene_on_device(&of.s, TNR_CUDA_POOL, 1, 7);
    tnr_tensor *host = NULL;
    tnr_view seven;
    tnr_view_mut part;
    OK(tnr_tensor_region(value, 0, NULL, NULL, 0, &seven));
    OK(tnr_tensor_region_mut(room, 1, SHAPE(1000), SHAPE(1), 0, &part));
    OK(tnr_broadcast_into(of.engine, &seven, NULL, &part));
    OK(tnr_tensor_region_mut(room, 2, SHAPE(2, 3), SHAPE(1, 4), 1, &part));
    OK(tnr_add_into(of.engine, &part.view, &part.view, &part));
    tnr_view all = view_of(room);
    OK(tnr_cuda_download(of.s.lane[1], &all, of.s.heap, &host));
    const void *data = NULL;
    OK(tnr_tensor_host_data(host, &data));
    for (int at = 0; at < 1001; at++) {
        const bool doubled = at == 1 || at == 2 || at == 5 || at == 6 || at == 9 || at == 10;
        assert_int_equal(((const int32_t *)data)[at], at == 1000 ? 6000 : doubled ? 14 : 7);
    }
    release(&host);
    release(&room);
    release(&value);
    stage_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options),
        cmocka_unit_test(same_answers_as_cpus),
        cmocka_unit_test(the_hosts_calls),
        cmocka_unit_test(too_large),
        cmocka_unit_test(ended_in_any_order),
        cmocka_unit_test(tickets_hold_their_ends),
        cmocka_unit_test(outputs_elsewhere),
        cmocka_unit_test(left_in_flight),
        cmocka_unit_test(a_lane_shared_by_threads),
        cmocka_unit_test(an_engine_shared_by_threads),
        cmocka_unit_test(a_device_shared_by_threads),
        cmocka_unit_test(waiting_for_a_lane),
        cmocka_unit_test(engines_take_turns),
        cmocka_unit_test(cu_04_exit_is_quiet),
        cmocka_unit_test(cu_08_more_than_32_bits),
        cmocka_unit_test(cu_09_what_lies_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
