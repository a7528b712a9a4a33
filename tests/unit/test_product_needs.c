/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What products were said to need is enough on any number of workers and wherever the caller is: one worker's caller may be on another
 * core, and then there are two lanes.
 */
#include "support/team_test.h"

#include "engine/product_internal.h"
#include "engine/team_internal.h"

static tnr_domain *heap;
static tnr_topology *topology;

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    if (tnr_topology_create(heap, NULL, &topology) != TNR_OK) {
        print_message("no workers: %s\n", tnr_last_error());
        topology = NULL;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (topology != NULL) {
        OK(tnr_topology_destroy(&topology));
    }
    close_domain(&heap);
    return 0;
}

static tnr_engine *engine_of(int workers, uint64_t scratch)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    options.scratch_bytes = scratch;
    options.topology = workers > 0 ? topology : NULL;
    options.workers = workers;
    OK(tnr_engine_create(heap, &options, &engine));
    return engine;
}

static int most_workers(void)
{
    tnr_cpu_set cores;
    OK(tnr_topology_cores(topology, &cores));
    return tnr_cpu_set_count(&cores);
}

enum { N = 150 }; /* enough to be shared out to a worker elsewhere */

/* A product, a contraction whose operands do not lie regularly, an einsum; and both kinds of plan. */
static void compute(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out, tnr_plan *const plans[2])
{
    const tnr_view *const list[3] = {a, a, a};
    OK(tnr_matmul_into(engine, a, a, NULL, out));
    OK(tnr_contract_into(engine, a, "ki", a, "jk", "ji", NULL, out));
    OK(tnr_einsum_into(engine, "ab,bc,cd->da", list, 3, NULL, out));
    OK(tnr_plan_run_into(plans[0], list, 2, out));
    OK(tnr_plan_run_into(plans[1], list, 3, out));
}

static void on_workers(int workers)
{
    tnr_tensor *ones = make_ones(heap, N);
    tnr_tensor *result = make_ones(heap, N);
    const tnr_view a = view_of(ones);
    const tnr_view_mut out = view_mut_of(result);
    const tnr_view *const list[3] = {&a, &a, &a};
    tnr_contraction_path path;
    tnr_need need;
    OK(tnr_einsum_path("ab,bc,cd->da", list, 3, NULL, &path));
    OK(tnr_matmul_need(TNR_F64, N, N, N, workers, &need));
    const uint64_t plain = need.bytes;
    const tnr_cpu_set before = affinity();
    for (int place = 0; place < 3;
         place++) { /* anywhere; on the first CPU; on the second, where another worker is or none */
        for (int planned = 0; planned < 2; planned++) {
            tnr_engine *engine = engine_of(workers, planned == 0 ? plain + path.intermediate_bytes : 0);
            tnr_plan *plans[2] = {NULL, NULL};
            OK(tnr_plan_contract(engine, &a, "ki", &a, "jk", &out.view, "ji", NULL, &plans[0]));
            OK(tnr_plan_einsum(engine, "ab,bc,cd->da", list, 3, &out.view, NULL, &plans[1]));
            const tnr_domain_statistics made = statistics_of(heap);
            if (place > 0 && usable_cpu(place - 1) != TNR_NONE) {
                const tnr_cpu_set one = only(usable_cpu(place - 1));
                (void)bind_to(&one);
            }
            for (int round = 0; round < 2; round++) {
                compute(engine, &a, &out, plans);
            }
            (void)bind_to(&before);
            const tnr_domain_statistics after = statistics_of(heap);
            assert_memory_equal(&made, &after, sizeof made);
            assert_true(all_are(result, N, (double)N * N));
            OK(tnr_plan_destroy(&plans[0]));
            OK(tnr_plan_destroy(&plans[1]));
            OK(tnr_engine_destroy(&engine));
        }
    }
    release(&ones);
    release(&result);
}

static void needs_hold_without_workers(void **state)
{
    (void)state;
    on_workers(0);
}

static void needs_hold_on_any_number_of_workers(void **state)
{
    (void)state;
    if (topology == NULL) {
        print_message("skipped: no topology to be had\n");
        skip();
    }
    for (int workers = 1; workers <= most_workers(); workers++) {
        on_workers(workers);
    }
}

/* The one rule by which all of them reckon. */
static void no_call_is_told_more_lanes_than_the_most(void **state)
{
    (void)state;
    assert_int_equal(tnri_most_lanes(0), 1);
    assert_int_equal(tnri_most_lanes(1), 2);
    assert_int_equal(tnri_most_lanes(2), 2);
    assert_int_equal(tnri_most_lanes(48), 48);
    if (topology == NULL) {
        print_message("skipped: no topology to be had\n");
        skip();
    }
    const tnr_cpu_set before = affinity();
    for (int workers = 0; workers <= most_workers(); workers++) {
        tnr_engine *engine = engine_of(workers, 0);
        assert_int_equal(tnri_engine_most_lanes(engine), tnri_most_lanes(workers));
        int most = 0;
        for (int cpu = 0; usable_cpu(cpu) != TNR_NONE && cpu < 8; cpu++) {
            const tnr_cpu_set one = only(usable_cpu(cpu));
            (void)bind_to(&one);
            for (uint64_t nanoseconds = 1; nanoseconds < UINT64_C(1) << 50; nanoseconds *= 3) {
                const int lanes = tnri_engine_lanes(engine, nanoseconds);
                most = lanes > most ? lanes : most;
            }
            (void)bind_to(&before);
        }
        assert_true(most >= 1 && most <= tnri_engine_most_lanes(engine));
        OK(tnr_engine_destroy(&engine));
    }
    /* more workers need more; and no number less */
    tnr_need fewer = {0, 0, 0};
    for (int workers = 0; workers < 5; workers++) {
        tnr_need need;
        OK(tnr_matmul_need(TNR_C64, N, N, N, workers, &need));
        assert_true(need.bytes > fewer.bytes || (workers == 2 && need.bytes == fewer.bytes));
        fewer = need;
    }
}

/* Whatever the tile, also one that divides nothing, blocks take no more than what was told for all sources of kernels. */
static void no_tile_takes_more_than_was_told(void **state)
{
    (void)state;
    const int depth = tnri_product_kernel_of(tnri_isa_best(), TNR_F64)->depth;
    for (int mr = 2; mr <= TNRI_PRODUCT_TILE; mr += 2) {
        for (int nr = 1; nr <= TNRI_PRODUCT_TILE; nr++) {
            const tnri_product_kernel kernel = {.mr = mr, .nr = nr, .step = 2, .depth = depth};
            static const int64_t extents[] = {1, 47, 48, 49, 96, 97, 480, 1000, 5000};
            for (size_t i = 0; i < 81; i++) {
                const int64_t m = extents[i / 9];
                const int64_t n = extents[i % 9];
                for (int64_t k = 1; k < 2000; k = k * 5 + 1) {
                    const tnri_product_blocks blocks = tnri_product_choose_blocks(&kernel, TNR_F64, m, n, k);
                    assert_true(blocks.shared_bytes + 3 * blocks.lane_bytes <= tnri_product_bytes(TNR_F64, m, n, k, 3));
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_hold_without_workers),
        cmocka_unit_test(needs_hold_on_any_number_of_workers),
        cmocka_unit_test(no_call_is_told_more_lanes_than_the_most),
        cmocka_unit_test(no_tile_takes_more_than_was_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
