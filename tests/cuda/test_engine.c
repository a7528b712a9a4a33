/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines of a device, their rules: where operands may lie, who may call, what ends what, and what comes of each call of the driver that fails. */
#include <unistd.h>

#include "mirror.h"

#include "../../src/cuda/engine_internal.h"

/* ---- Rules ------------------------------------------------------------------------------------------------------------------------- */

/* CU-01: host memory is refused by name of the call to make, by engines of either kind, and nothing is read or moved. */
static void cu_01_placement_is_checked_before_data(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 3, NULL);
    const double ab[2][2] = {{1.0, 2.0}, {3.0, 4.0}};
    tnr_tensor *host[2] = {NULL, NULL};
    tnr_tensor *away[2] = {NULL, NULL};
    tnr_tensor *made = NULL;
    tnr_view h[2];
    tnr_view d[2];
    for (int i = 0; i < 2; ++i) {
        OK(tnr_tensor_from_column_major(of.s.heap, TNR_F64, 1, SHAPE(2), ab[i], sizeof(ab[i]), &host[i]));
        h[i] = view_of(host[i]);
        OK(tnr_cuda_upload(of.s.lane[0], &h[i], of.s.domain[TNR_CUDA_POOL], &away[i]));
        d[i] = view_of(away[i]);
    }
    EXPECT(TNR_ERR_RESIDENCY, tnr_add(of.cpu, &d[0], &d[1], &made));
    assert_non_null(strstr(tnr_last_error(), "download"));
    EXPECT(TNR_ERR_RESIDENCY, tnr_add(of.engine, &h[0], &h[1], &made));
    assert_non_null(strstr(tnr_last_error(), "tnr_cuda_upload"));
    EXPECT(TNR_ERR_RESIDENCY, tnr_add(of.engine, &d[0], &h[1], &made));
    tnr_view m[2];
    OK(tnr_tensor_region(away[0], 2, SHAPE(1, 2), SHAPE(1, 1), 0, &m[0]));
    OK(tnr_tensor_region(away[1], 2, SHAPE(2, 1), SHAPE(1, 2), 0, &m[1]));
    EXPECT(TNR_ERR_RESIDENCY, tnr_matmul(of.cpu, &m[0], &m[1], NULL, &made));
    const void *data = NULL;
    EXPECT(TNR_ERR_RESIDENCY, tnr_tensor_host_data(away[0], &data));
    OK(tnr_add(of.engine, &d[0], &d[1], &made));
    tnr_tensor *back = NULL;
    const tnr_view sum = view_of(made);
    OK(tnr_cuda_download(of.s.lane[1], &sum, of.s.heap, &back));
    OK(tnr_tensor_host_data(back, &data));
    assert_true(((const double *)data)[0] == 4.0 && ((const double *)data)[1] == 6.0);
    release(&back);
    release(&made);
    for (int i = 0; i < 2; ++i) {
        release(&host[i]);
        release(&away[i]);
    }
    stage_end(&of);
}

/* CU-08: zero elements are no launch; a batch of more than 65535 and axes longer than a grid's are all done. */
static void cu_08_sizes_of_launches(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 4, NULL);
    tnr_tensor *none = NULL;
    tnr_tensor *made = NULL;
    OK(tnr_cuda_zeros(of.s.lane[0], of.s.domain[TNR_CUDA_POOL], TNR_F32, 1, SHAPE(0), &none));
    tnr_view view = view_of(none);
    const uint64_t launches = scene_counts(&of.s).launches;
    OK(tnr_add(of.engine, &view, &view, &made));
    release(&made);
    OK(tnr_to_contiguous(of.engine, &view, &made));
    release(&made);
    assert_int_equal(scene_counts(&of.s).launches, launches);
    release(&none);
    tnr_tensor *batch = scene_on_device(&of.s, TNR_CUDA_POOL, INT64_C(2) * 65537, 0);
    OK(tnr_tensor_region(batch, 3, SHAPE(1, 2, 65537), SHAPE(2, 1, 2), 0, &view));
    OK(tnr_permute(of.engine, &view, (const int[]){1, 0, 2}, &made));
    scene_expect_counting(&of.s, made, 0);
    release(&made);
    release(&batch);
    tnr_tensor *bias = scene_on_device(&of.s, TNR_CUDA_POOL, 8, 0);
    tnr_tensor *rows = scene_on_device(&of.s, TNR_CUDA_POOL, INT64_C(8) * 131071, 0);
    tnr_view whole;
    tnr_view repeated;
    OK(tnr_tensor_region(rows, 2, SHAPE(8, 131071), SHAPE(1, 8), 0, &whole));
    OK(tnr_tensor_region(bias, 2, SHAPE(8, 131071), SHAPE(1, 0), 0, &repeated));
    OK(tnr_add(of.engine, &whole, &repeated, &made));
    tnr_tensor *back = NULL;
    view = view_of(made);
    OK(tnr_cuda_download(of.s.lane[0], &view, of.s.heap, &back));
    const void *data = NULL;
    OK(tnr_tensor_host_data(back, &data));
    for (int64_t i = 0; i < INT64_C(8) * 131071; ++i) {
        assert_int_equal(((const int32_t *)data)[i], (int32_t)(i + i % 8));
    }
    release(&back);
    release(&made);
    release(&rows);
    release(&bias);
    stage_end(&of);
}

static void foreign_and_host_memory(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 5, NULL);
    tnr_cuda_options options = SCENE_SMALL;
    tnr_cuda_device *other = NULL;
    tnr_domain *domain = NULL;
    options.driver = scene_driver();
    OK(tnr_cuda_device_open(of.s.heap, &options, &other));
    OK(tnr_cuda_domain_create(other, TNR_CUDA_POOL, NULL, &domain));
    tnr_tensor *foreign = NULL;
    tnr_tensor *pinned = NULL;
    tnr_tensor *made = NULL;
    OK(tnr_cuda_zeros(tnr_cuda_device_lane(other, 0), domain, TNR_F64, 1, SHAPE(3), &foreign));
    OK(tnr_tensor_zeros(of.s.domain[TNR_CUDA_PINNED], TNR_F64, 1, SHAPE(3), &pinned));
    tnr_view view = view_of(foreign);
    EXPECT(TNR_ERR_FOREIGN, tnr_neg(of.engine, &view, &made));
    assert_non_null(strstr(tnr_last_error(), "tnr_cuda_copy_between"));
    view = view_of(pinned);
    EXPECT(TNR_ERR_RESIDENCY, tnr_neg(of.engine, &view, &made));
    tnr_cuda_engine_options away = TNR_CUDA_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    away.output = domain;
    EXPECT(TNR_ERR_FOREIGN, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &away, &engine));
    TEXT_HAS("options.output \"cuda pool\"");
    TEXT_HAS("name a lane of the domain's own device object");
    away.output = of.s.heap;
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &away, &engine));
    away.output = of.s.domain[TNR_CUDA_PINNED];
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &away, &engine));
    EXPECT(TNR_ERR_RESIDENCY, tnr_cuda_engine_create(of.s.domain[TNR_CUDA_POOL], of.s.lane[0], NULL, &engine));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(NULL, of.s.lane[0], NULL, &engine));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_engine_create(of.s.heap, NULL, NULL, &engine));
    assert_null(engine);
    away.output = of.s.domain[TNR_CUDA_MANAGED];
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[1], &away, &engine));
    assert_ptr_equal(tnr_engine_output(engine), of.s.domain[TNR_CUDA_MANAGED]);
    assert_ptr_equal(tnr_cuda_engine_lane(engine), of.s.lane[1]);
    assert_null(tnr_cuda_engine_lane(of.cpu));
    assert_null(tnr_cuda_engine_lane(NULL));
    OK(tnr_engine_destroy(&engine));
    release(&foreign);
    release(&pinned);
    OK(tnr_domain_close(&domain));
    OK(tnr_cuda_device_close(&other));
    stage_end(&of);
}

/* Managed results are read and written by an engine of CPUs in place, which waits for the device. */
static void managed_memory_in_turns(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 6, NULL);
    tnr_tensor *one = scene_counting(of.s.domain[TNR_CUDA_MANAGED], 1000, 1);
    tnr_view_mut view;
    OK(tnr_tensor_view_mut(one, &view));
    OK(tnr_add_into(of.engine, &view.view, &view.view, &view));
    OK(tnr_neg_into(of.cpu, &view.view, &view));
    OK(tnr_neg_into(of.engine, &view.view, &view));
    tnr_read_map map;
    OK(tnr_map_read(&view.view, &map));
    for (int32_t i = 0; i < 1000; ++i) {
        assert_int_equal(((const int32_t *)map.data)[i], 2 * (i + 1));
    }
    EXPECT(TNR_ERR_BUSY, tnr_neg_into(of.engine, &view.view, &view)); /* while it is mapped */
    OK(tnr_unmap_read(&map));
    release(&one);
    stage_end(&of);
}

/* Released at once behind a call: the bytes go when the device is done. Everything in its lane's order, in whatever lane. */
static void results_are_ordered_behind(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scene_seeds(40); ++seed) {
        stage of;
        stage_begin(&of, seed, NULL);
        tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 3000, 5);
        tnr_tensor *doubled = NULL;
        tnr_tensor *back = NULL;
        tnr_view view = view_of(a);
        OK(tnr_add(of.engine, &view, &view, &doubled));
        release(&a);
        view = view_of(doubled);
        OK(tnr_sub(of.engine, &view, &view, &back));
        release(&back);
        OK(tnr_cuda_duplicate(of.s.lane[1], &view, of.s.domain[TNR_CUDA_PLAIN], &back));
        release(&doubled);
        tnr_tensor *host = NULL;
        view = view_of(back);
        OK(tnr_cuda_download(of.s.lane[0], &view, of.s.heap, &host));
        const void *data = NULL;
        OK(tnr_tensor_host_data(host, &data));
        for (int32_t i = 0; i < 3000; ++i) {
            assert_int_equal(((const int32_t *)data)[i], 2 * (5 + i));
        }
        release(&host);
        release(&back);
        stage_end(&of);
    }
}

static void the_engine_holds_its_device(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 7, NULL);
    tnr_cuda_device *device = of.s.device;
    for (int memory = 0; memory < TNR_CUDA_MEMORY_END; ++memory) {
        OK(tnr_domain_close(&of.s.domain[memory]));
    }
    EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&of.s.device));
    TEXT_HAS("cuda_device_close: in use: 0 tickets, 1 engines, 0 domains, the tensors of 0 engines");
    assert_ptr_equal(of.s.device, device);
    tnr_engine_info info;
    OK(tnr_engine_describe(of.engine, &info));
    assert_string_equal(info.kind, "cuda");
    assert_string_equal(info.blas, "own");
    assert_int_equal(info.device, 0);
    OK(tnr_engine_destroy(&of.engine));
    OK(tnr_engine_destroy(&of.cpu));
    OK(tnr_cuda_device_close(&of.s.device));
    OK(tnr_domain_close(&of.s.heap));
    scene_expect_clean();
}

/* A result outlives its engine, and is given back to a device that is still open. */
static void results_outlive_the_engine(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 8, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 100, 1);
    tnr_tensor *made = NULL;
    const tnr_view view = view_of(a);
    OK(tnr_to_contiguous(of.engine, &view, &made));
    OK(tnr_engine_destroy(&of.engine));
    scene_expect_counting(&of.s, made, 1);
    EXPECT(TNR_ERR_BUSY, tnr_cuda_device_close(&of.s.device));
    TEXT_HAS("cuda_device_close: in use: 0 tickets, 0 engines, 4 domains, the tensors of 1 engines");
    release(&made);
    release(&a);
    stage_end(&of);
}

/* What integers must not meet is found on the device, and told as an engine of CPUs tells it; nothing was written. */
static void refusals_that_look_at_values(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 9, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 12, -5); /* -5 .. 6: zero at 5 */
    tnr_tensor *made = NULL;
    tnr_view view;
    OK(tnr_tensor_region(a, 2, SHAPE(3, 4), SHAPE(1, 3), 0, &view));
    EXPECT(TNR_ERR_NUMERIC, tnr_div(of.engine, &view, &view, &made));
    assert_non_null(strstr(tnr_last_error(), "[2, 1] of b"));
    EXPECT(TNR_ERR_NUMERIC, tnr_pow(of.engine, &view, &view, &made));
    assert_non_null(strstr(tnr_last_error(), "[0, 0] of b"));
    EXPECT(TNR_ERR_NUMERIC, tnr_rem(of.engine, &view, &view, &made));
    tnr_view indices;
    OK(tnr_tensor_region(a, 2, SHAPE(1, 5), SHAPE(1, 1), 7, &indices)); /* 2, 3, 4, 5, 6 */
    tnr_index_options options = TNR_INDEX_OPTIONS;
    options.axis_count = 1;
    options.axes[0] = 0;
    options.window[0] = 1;
    options.window[1] = 4;
    options.collapsed[0] = true;
    options.window_axes[0] = 0;
    const tnr_status on_device = tnr_gather(of.engine, &view, &indices, &options, &made);
    char said[TNR_ERROR_TEXT_BYTES];
    (void)snprintf(said, sizeof(said), "%s", tnr_last_error());
    tnr_tensor *host = scene_counting(of.s.heap, 12, -5);
    tnr_view on_host;
    tnr_view host_indices;
    OK(tnr_tensor_region(host, 2, SHAPE(3, 4), SHAPE(1, 3), 0, &on_host));
    OK(tnr_tensor_region(host, 2, SHAPE(1, 5), SHAPE(1, 1), 7, &host_indices));
    assert_int_equal(tnr_gather(of.cpu, &on_host, &host_indices, &options, &made), on_device);
    assert_string_equal(tnr_last_error(), said);
    assert_null(made);
    release(&host);
    release(&a);
    stage_end(&of);
}

/* A call gives its work to the lane and returns: nothing has run, and nobody waited, but where a value decides. */
static void calls_do_not_wait(void **state)
{
    (void)state;
    NEEDS_FAKE();
    stage of;
    stage_begin(&of, 15, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 1000, 1);
    tnr_tensor *made[6] = {NULL};
    const tnr_view view = view_of(a);
    tnr_view square;
    OK(tnr_tensor_region(a, 2, SHAPE(30, 33), SHAPE(1, 30), 0, &square));
    OK(tnr_neg(of.engine, &view, &made[5])); /* modules are loaded now */
    OK(tnr_cuda_synchronize(of.s.device));
    scene_fake()->eagerness = 0;
    const uint64_t run = scene_fake()->run;
    const uint64_t waits = scene_counts(&of.s).host_waits;
    OK(tnr_add(of.engine, &view, &view, &made[0]));
    OK(tnr_permute(of.engine, &square, NULL, &made[1]));
    OK(tnr_sum(of.engine, &square, (const int[]){0}, 1, &made[2]));
    OK(tnr_tril(of.engine, &square, 0, &made[3]));
    assert_int_equal(scene_counts(&of.s).host_waits, waits);
    assert_int_equal(scene_fake()->run, run);
    OK(tnr_div(of.engine, &view, &view, &made[4]));
    assert_int_equal(scene_counts(&of.s).host_waits, waits + 1);
    for (int i = 0; i < 6; ++i) {
        release(&made[i]);
    }
    release(&a);
    stage_end(&of);
}

/* CU-04: an engine that lives until the driver unloads is ended without a word, tensors and all. */
static void cu_04_ends_while_the_driver_unloads(void **state)
{
    (void)state;
    NEEDS_FAKE();
    stage of;
    stage_begin(&of, 16, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 1000, 1);
    tnr_tensor *made = NULL;
    const tnr_view view = view_of(a);
    OK(tnr_neg(of.engine, &view, &made));
    scene_fake()->unloading = true;
    release(&made);
    OK(tnr_engine_destroy(&of.engine));
    OK(tnr_engine_destroy(&of.cpu));
    release(&a);
    scene_close(&of.s);
}

/* Scratch is kept, capped and counted; without room for it nothing is written and nothing stays. */
static void scratch_is_kept_and_capped(void **state)
{
    (void)state;
    stage of;
    tnr_cuda_engine_options options = stage_options("off");
    stage_begin(&of, 17, &options);
    tnr_tensor *a = NULL;
    tnr_tensor *made = NULL;
    OK(tnr_cuda_zeros(of.s.lane[0], of.s.domain[TNR_CUDA_POOL], TNR_F64, 2, SHAPE(40, 40), &a));
    const tnr_view view = view_of(a);
    const tnr_view *const three[3] = {&view, &view, &view};
    OK(tnr_einsum(of.engine, "ij,jk,kl->il", three, 3, NULL, &made));
    release(&made);
    const tnri_cuda_engine *inside = tnr_engine_provider.state(of.engine, &tnri_cuda_engines);
    const uint64_t kept = inside->kept_bytes;
    assert_true(kept >= 40 * 40 * sizeof(double));
    OK(tnr_einsum(of.engine, "ij,jk,kl->il", three, 3, NULL, &made));
    release(&made);
    assert_int_equal(inside->kept_bytes, kept);
    OK(tnr_engine_destroy(&of.engine));
    options.scratch_max_bytes = 4096;
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &options, &of.engine));
    EXPECT(TNR_ERR_MEMORY, tnr_einsum(of.engine, "ij,jk,kl->il", three, 3, NULL, &made));
    assert_null(made);
    tnr_plan *plan = untouched();
    EXPECT(TNR_ERR_MEMORY, tnr_plan_einsum(of.engine, "ij,jk,kl->il", three, 3, NULL, NULL, &plan));
    TEXT_HAS("plan_einsum: ");
    assert_ptr_equal(plan, untouched());
    OK(tnr_neg(of.engine, &view, &made));
    release(&made);
    release(&a);
    stage_end(&of);
}

/* Plans (plan.h) work with an engine of a device, and keep it. */
static void plans_are_run_on_the_device(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 18, NULL);
    double values[6] = {1, 2, 3, 4, 5, 6};
    tnr_tensor *host = NULL;
    tnr_tensor *a = NULL;
    tnr_tensor *made = NULL;
    tnr_plan *plan = NULL;
    OK(tnr_tensor_from_column_major(of.s.heap, TNR_F64, 2, SHAPE(2, 3), values, sizeof(values), &host));
    tnr_view view = view_of(host);
    OK(tnr_cuda_upload(of.s.lane[0], &view, of.s.domain[TNR_CUDA_POOL], &a));
    release(&host);
    view = view_of(a);
    const tnr_view *const two[2] = {&view, &view};
    OK(tnr_plan_einsum(of.engine, "ij,kj->ik", two, 2, NULL, NULL, &plan));
    EXPECT(TNR_ERR_BUSY, tnr_engine_destroy(&of.engine));
    for (int round = 0; round < 3; ++round) {
        OK(tnr_plan_run(plan, two, 2, &made));
        view = view_of(made);
        OK(tnr_cuda_download(of.s.lane[1], &view, of.s.heap, &host));
        const void *data = NULL;
        OK(tnr_tensor_host_data(host, &data));
        const double expected[4] = {35, 44, 44, 56};
        assert_memory_equal(data, expected, sizeof(expected));
        release(&host);
        release(&made);
        view = view_of(a);
    }
    OK(tnr_plan_destroy(&plan));
    release(&a);
    stage_end(&of);
}

/* The lane is one thread's: an engine whose lane is taken refuses, and so does a copy while the engine is inside. */
static void a_lane_is_one_threads(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 10, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 10, 1);
    tnr_tensor *made = NULL;
    const tnr_view view = view_of(a);
    OK(tnri_lane_enter("test", of.s.lane[0]));
    EXPECT(TNR_ERR_BUSY, tnr_neg(of.engine, &view, &made));
    tnri_lane_leave(of.s.lane[0]);
    OK(tnr_neg(of.engine, &view, &made));
    release(&made);
    release(&a);
    stage_end(&of);
}

typedef struct inherited {
    stage *of;
    const tnr_view *view;
} inherited;

static void use_inherited(void *context)
{
    inherited *from = context;
    tnr_tensor *more = NULL;
    tnr_engine *engine = NULL;
    int wrong = tnr_neg(from->of->engine, from->view, &more) != TNR_ERR_BACKEND ? 1 : 0;
    wrong |= tnr_cuda_engine_create(from->of->s.heap, from->of->s.lane[1], NULL, &engine) != TNR_ERR_BACKEND ? 2 : 0;
    wrong |= tnr_engine_destroy(&from->of->engine) != TNR_OK ? 4 : 0;
    _exit(wrong);
}

/* A forked child may not use the engine, and may end it. */
static void a_forked_child(void **state)
{
    (void)state;
    NEEDS_FAKE();
    stage of;
    char said[64];
    stage_begin(&of, 12, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 10, 1);
    tnr_tensor *made = NULL;
    const tnr_view view = view_of(a);
    OK(tnr_neg(of.engine, &view, &made));
    inherited from = {&of, &view};
    assert_int_equal(scene_in_child(use_inherited, &from, said, sizeof(said)), 0);
    assert_string_equal(said, "");
    release(&made);
    release(&a);
    stage_end(&of);
}

/* After the device is lost every call answers with the first error; the engine can be ended, and then the device. */
static void a_lost_device(void **state)
{
    (void)state;
    NEEDS_FAKE();
    stage of;
    stage_begin(&of, 13, NULL);
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 10, 1);
    tnr_tensor *made = NULL;
    const tnr_view view = view_of(a);
    OK(tnr_neg(of.engine, &view, &made));
    release(&made);
    scene_fake()->fail_entry = "cuLaunchKernel";
    scene_fake()->fail_at = 1;
    scene_fake()->fail_code = 700;
    scene_fake()->fail_fatal = true;
    EXPECT(TNR_ERR_BACKEND, tnr_neg(of.engine, &view, &made));
    EXPECT(TNR_ERR_BACKEND, tnr_neg(of.engine, &view, &made));
    assert_non_null(strstr(tnr_last_error(), "poisoned"));
    assert_null(made);
    release(&a);
    OK(tnr_engine_destroy(&of.engine));
    OK(tnr_engine_destroy(&of.cpu));
    scene_close(&of.s);
    assert_int_equal(scene_depth(), 0);
}

/* ---- Faults --------------------------------------------------------------------------------------------------------------------------- */

/* One use on a new device object and engine, while the n-th call of the driver fails. Answers whether there is such a call. */
static bool fail_call(const catalogue_op *op, tnr_dtype dtype, uint64_t n, int code, int *refused)
{
    stage of;
    const tnr_cuda_engine_options options = stage_options(dtype == TNR_C32 ? scene_blas() : "off");
    stage_begin(&of, 21, &options);
    catalogue_random draws = {21 * 7919 + 1};
    tnri_cuda_engine *inside = tnr_engine_provider.state(of.engine, &tnri_cuda_engines);
    inside->blas_from = 0.0;
    inside->pack_from = 1;
    const catalogue_call use = catalogue_plain_call(op, dtype);
    catalogue_operand inputs[CATALOGUE_INPUTS];
    mirrored in[CATALOGUE_INPUTS] = {{.tensor = NULL}};
    tnr_view views[CATALOGUE_INPUTS];
    for (int i = 0; i < op->arity; ++i) {
        catalogue_input_make(&draws, of.s.heap, &use, i, op->layouts, false, &inputs[i]);
        mirror_up(&of, &inputs[i], of.s.domain[TNR_CUDA_POOL], false, &in[i]);
        views[i] = in[i].view.view;
    }
    catalogue_array expected = catalogue_expect(&use, inputs, NULL);
    scene_fake()->fail_entry = NULL;
    scene_fake()->fail_code = code;
    scene_fake()->fail_at = n;
    bool fired = true;
    for (int round = 0; round < 2; ++round) { /* and then it works */
        tnr_tensor *made = NULL;
        const tnr_status status = op->make(of.engine, &use, views, &made);
        fired = scene_fake()->faults != 0;
        scene_fake()->fail_at = 0;
        assert_true(status == TNR_OK || (fired && round == 0) || status == TNR_ERR_UNSUPPORTED);
        assert_true((status == TNR_OK) == (made != NULL));
        *refused += status != TNR_OK ? 1 : 0;
        if (made != NULL) {
            mirror_check(&of, &use, &made, &expected);
        }
        scene_expect_clean();
    }
    catalogue_array_free(&expected);
    for (int i = 0; i < op->arity; ++i) {
        catalogue_operand_free(&inputs[i]);
        release(&in[i].tensor);
    }
    stage_end(&of);
    return fired;
}

/* For every call that an operation makes: it says so, or did without; nothing stays behind, and the next one works. */
static void fail_each_call(const char *name, tnr_dtype dtype, int code)
{
    const catalogue_op *op = NULL;
    for (int o = 0; (op = catalogue_op_at(o)) != NULL && strcmp(op->name, name) != 0; ++o) {
    }
    if (op == NULL) {
        fail_msg("no operation %s", name);
        return;
    }
    int refused = 0;
    uint64_t n = 1;
    while (fail_call(op, dtype, n, code, &refused)) {
        assert_true(++n < 1000);
    }
    print_message("%s: %llu calls, %d answers\n", name, (unsigned long long)n - 1, refused);
    assert_true(refused > 1);
}

static void each_call_of_the_driver_fails(void **state)
{
    (void)state;
    NEEDS_FAKE();
    static const struct use {
        const char *name;
        tnr_dtype dtype;
    } uses[] = {{"add", TNR_F64},    {"div", TNR_I32},    {"exp", TNR_F32},     {"sum", TNR_F32},
                {"pad", TNR_I64},    {"gather", TNR_F64}, {"scatter", TNR_I32}, {"concatenate", TNR_F32},
                {"matmul", TNR_C64}, {"einsum", TNR_F32}, {"matmul", TNR_C32}};
    for (size_t at = 0; at < sizeof(uses) / sizeof(uses[0]); ++at) {
        fail_each_call(uses[at].name, uses[at].dtype, 2);   /* out of memory */
        fail_each_call(uses[at].name, uses[at].dtype, 400); /* an invalid handle: the context lives */
    }
}

/* ---- The machine ---------------------------------------------------------------------------------------------------------------------- */

static void registered_with_a_machine(void **state)
{
    (void)state;
    stage of;
    stage_begin(&of, 14, NULL);
    tnr_topology *topology = NULL;
    tnr_machine *machine = NULL;
    tnr_engine *found = NULL;
    tnr_engine *second = NULL;
    if (tnr_topology_create(of.s.heap, NULL, &topology) != TNR_OK) {
        print_message("skipped: this build reads no topology\n");
        stage_end(&of);
        skip();
    }
    OK(tnr_machine_create(of.s.heap, topology, NULL, &machine));
    EXPECT(TNR_ERR_BOUNDS, tnr_machine_device(machine, 0, &found));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_register(machine, of.cpu));
    OK(tnr_machine_register(machine, of.engine));
    EXPECT(TNR_ERR_BUSY, tnr_machine_register(machine, of.engine));
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[1], NULL, &second));
    EXPECT(TNR_ERR_BUSY, tnr_machine_register(machine, second)); /* of the same device */
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_unregister(machine, second));
    OK(tnr_engine_destroy(&second));
    assert_int_equal(tnr_machine_devices(machine), 1);
    OK(tnr_machine_device(machine, 0, &found));
    assert_ptr_equal(found, of.engine);
    EXPECT(TNR_ERR_BUSY, tnr_engine_destroy(&of.engine));
    tnr_tensor *a = scene_on_device(&of.s, TNR_CUDA_POOL, 10, 1);
    const tnr_view view = view_of(a);
    const tnr_view *const list[1] = {&view};
    OK(tnr_machine_route(machine, TNR_ROUTE_DOMINANT, list, 1, TNR_NONE, &found, NULL));
    assert_ptr_not_equal(found, of.engine); /* routing never chooses a device by itself */
    tnr_tensor *made = NULL;
    EXPECT(TNR_ERR_RESIDENCY, tnr_neg(found, &view, &made));
    release(&a);
    OK(tnr_machine_unregister(machine, of.engine));
    OK(tnr_machine_register(machine, of.engine));
    OK(tnr_machine_destroy(&machine)); /* forgets it */
    OK(tnr_topology_destroy(&topology));
    stage_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cu_01_placement_is_checked_before_data),
        cmocka_unit_test(cu_08_sizes_of_launches),
        cmocka_unit_test(foreign_and_host_memory),
        cmocka_unit_test(managed_memory_in_turns),
        cmocka_unit_test(results_are_ordered_behind),
        cmocka_unit_test(the_engine_holds_its_device),
        cmocka_unit_test(results_outlive_the_engine),
        cmocka_unit_test(refusals_that_look_at_values),
        cmocka_unit_test(calls_do_not_wait),
        cmocka_unit_test(cu_04_ends_while_the_driver_unloads),
        cmocka_unit_test(scratch_is_kept_and_capped),
        cmocka_unit_test(plans_are_run_on_the_device),
        cmocka_unit_test(a_lane_is_one_threads),
        cmocka_unit_test(a_forked_child),
        cmocka_unit_test(a_lost_device),
        cmocka_unit_test(each_call_of_the_driver_fails),
        cmocka_unit_test(registered_with_a_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
