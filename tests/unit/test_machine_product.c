/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One contraction by several engines is that of one engine, bit for bit; and refused whole when one of them cannot take part. On a machine
 * of several nodes (tests/numa) they are the nodes' own; here also engines of one node.
 */
#include "support/team_test.h"

#include "engine/recipe_internal.h"

static tnr_domain *heap;
static tnr_topology *topology;

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    topology = make_topology(heap);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
    return 0;
}

/* Numbers whose sum depends on their order. */
static tnr_tensor *make_rough(tnr_dtype dtype, int rank, const int64_t *shape, uint64_t seed)
{
    tnr_tensor *tensor = NULL;
    tnr_write_map map;
    OK(tnr_tensor_zeros(heap, dtype, rank, shape, &tensor));
    const tnr_view_mut view = view_mut_of(tensor);
    int64_t count = dtype == TNR_C32 || dtype == TNR_C64 ? 2 : 1;
    for (int i = 0; i < rank; i++) {
        count *= shape[i];
    }
    OK(tnr_map_write(&view, &map));
    for (int64_t i = 0; i < count; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const double value = (double)(seed >> 40) / 1048576.0 - 8.0;
        if (dtype == TNR_F32 || dtype == TNR_C32) {
            ((float *)map.data)[i] = (float)value;
        } else {
            ((double *)map.data)[i] = value;
        }
    }
    OK(tnr_unmap_write(&map));
    return tensor;
}

static void expect_same_bytes(const tnr_tensor *one, const tnr_tensor *other)
{
    const tnr_view x = view_of(one);
    const tnr_view y = view_of(other);
    tnr_read_map a;
    tnr_read_map b;
    OK(tnr_map_read(&x, &a));
    OK(tnr_map_read(&y, &b));
    uint64_t bytes = tnr_dtype_size(x.dtype);
    for (int i = 0; i < x.rank; i++) {
        bytes *= (uint64_t)x.shape[i];
    }
    assert_memory_equal(a.data, b.data, (size_t)bytes);
    OK(tnr_unmap_read(&a));
    OK(tnr_unmap_read(&b));
}

/* ---- Several engines ------------------------------------------------------------------------------------------------------------ */

static tnr_engine *worker(int cpu)
{
    const tnr_cpu_set set = only(cpu);
    return make_team(heap, topology, &set);
}

static tnr_status together(const tnri_company *company, const tnr_view *a, const char *a_labels, const tnr_view *b,
                           const char *b_labels, const char *out_labels, const tnr_product_options *options,
                           const tnr_view_mut *out)
{
    const tnr_view *const operands[2] = {a, b};
    tnri_asked asked = {.op = "together",
                        .pair = true,
                        .labels = {a_labels, b_labels, out_labels},
                        .operands = operands,
                        .count = 2,
                        .out = &out->view};
    OK(tnri_asked_take(&asked, options, NULL));
    return tnri_asked_run_by(company, &asked, (tnri_target){.into = out});
}

/* What b alone has is summed first, into the first engine's scratch, from where all read it. */
static void what_one_operand_alone_has(void **state)
{
    (void)state;
    tnr_engine *single = NULL;
    OK(tnr_engine_create(heap, NULL, &single));
    tnri_company company = {.count = 3};
    for (int i = 0; i < company.count; i++) {
        const int cpu = usable_cpu(i % 2);
        company.engines[i] = worker(cpu != TNR_NONE ? cpu : usable_cpu(0));
    }
    tnr_tensor *a = make_rough(TNR_F64, 2, SHAPE(110, 270), 1);
    tnr_tensor *b = make_rough(TNR_F64, 3, SHAPE(270, 3, 100), 2);
    tnr_tensor *expected = make_rough(TNR_F64, 2, SHAPE(110, 100), 3);
    tnr_tensor *found = make_rough(TNR_F64, 2, SHAPE(110, 100), 4);
    const tnr_view a_view = view_of(a);
    const tnr_view b_view = view_of(b);
    const tnr_view_mut expected_view = view_mut_of(expected);
    const tnr_view_mut found_view = view_mut_of(found);
    OK(tnr_contract_into(single, &a_view, "ik", &b_view, "ktj", "ij", NULL, &expected_view));
    for (int turn = 0; turn < 2; turn++) { /* the second finds its scratch */
        OK(together(&company, &a_view, "ik", &b_view, "ktj", "ij", NULL, &found_view));
        expect_same_bytes(expected, found);
    }
    release(&a);
    release(&b);
    release(&expected);
    release(&found);
    for (int i = 0; i < company.count; i++) {
        OK(tnr_engine_destroy(&company.engines[i]));
    }
    OK(tnr_engine_destroy(&single));
}

static void engines_together_make_what_one_makes(void **state)
{
    (void)state;
    /* m, n, k; the batch: rows cut, columns cut, both too few to be cut, deep, and so small that one makes it alone */
    static const int64_t sizes[][4] = {{50, 45, 40, 1}, {200, 20, 300, 1}, {20, 210, 300, 1}, {110, 100, 270, 1},
                                       {3, 2, 600, 1},  {8, 8, 8, 1},      {40, 30, 50, 3},   {97, 1, 400, 1}};
    static const tnr_dtype dtypes[] = {TNR_F32, TNR_F64, TNR_C32, TNR_C64};
    tnr_engine *single = NULL;
    OK(tnr_engine_create(heap, NULL, &single));
    tnri_company company = {.count = 3};
    for (int i = 0; i < company.count; i++) {
        const int cpu = usable_cpu(i % 2);
        company.engines[i] = worker(cpu != TNR_NONE ? cpu : usable_cpu(0));
    }
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int d = 0; d < 4; d++) {
            const int64_t *z = sizes[s];
            const int64_t a_shape[3] = {z[3], z[0], z[2]};
            const int64_t b_shape[3] = {z[3], z[1], z[2]};
            const int64_t c_shape[3] = {z[3], z[0], z[1]};
            tnr_tensor *a = make_rough(dtypes[d], 3, a_shape, 1 + s);
            tnr_tensor *b = make_rough(dtypes[d], 3, b_shape, 101 + s);
            tnr_tensor *expected = make_rough(dtypes[d], 3, c_shape, 201 + s);
            tnr_tensor *found = make_rough(dtypes[d], 3, c_shape, 201 + s);
            const tnr_view a_view = view_of(a);
            const tnr_view b_view = view_of(b);
            const tnr_view_mut expected_view = view_mut_of(expected);
            const tnr_view_mut found_view = view_mut_of(found);
            tnr_product_options options = TNR_PRODUCT_OPTIONS;
            options.conjugate_b = true;
            options.alpha.re = 0.75;
            options.beta.re = s % 2 == 0 ? 0.0 : -1.5;
            OK(tnr_contract_into(single, &a_view, "xik", &b_view, "xjk", "xij", &options, &expected_view));
            OK(together(&company, &a_view, "xik", &b_view, "xjk", "xij", &options, &found_view));
            expect_same_bytes(expected, found);
            release(&a);
            release(&b);
            release(&expected);
            release(&found);
        }
    }
    for (int i = 0; i < company.count; i++) {
        OK(tnr_engine_destroy(&company.engines[i]));
    }
    OK(tnr_engine_destroy(&single));
}

/* The second engine's domain is full: the first writes nothing. */
static void an_engine_without_room_stops_all_before_the_first_write(void **state)
{
    (void)state;
    const int64_t shape[2] = {240, 240};
    tnr_need need;
    OK(tnr_engine_need(NULL, 4, &need));
    uint64_t bytes;
    uint64_t control;
    uint64_t blocks;
    OK(tnr_arena_bytes(&need, NULL, &bytes, &control, &blocks));
    void *region = test_malloc((size_t)bytes + 4096);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = blocks;
    tnr_domain *arena = NULL;
    OK(tnr_arena_create(region, bytes + 4096, &options, &arena));
    tnri_company company = {.count = 2};
    OK(tnr_engine_create(heap, NULL, &company.engines[0]));
    OK(tnr_engine_create(arena, NULL, &company.engines[1]));
    tnr_tensor *a = make_rough(TNR_F64, 2, shape, 1);
    tnr_tensor *before = make_rough(TNR_F64, 2, shape, 2);
    tnr_tensor *c = make_rough(TNR_F64, 2, shape, 2);
    const tnr_view view = view_of(a);
    const tnr_view_mut out = view_mut_of(c);
    EXPECT(TNR_ERR_MEMORY, together(&company, &view, "ik", &view, "kj", "ij", NULL, &out));
    expect_same_bytes(before, c);
    release(&a);
    release(&before);
    release(&c);
    OK(tnr_engine_destroy(&company.engines[0]));
    OK(tnr_engine_destroy(&company.engines[1]));
    close_domain(&arena);
    test_free(region);
}

/* ---- A machine's ------------------------------------------------------------------------------------------------------------------ */

static void all_nodes_of_a_machine_make_what_one_makes(void **state)
{
    (void)state;
    const int64_t a_shape[2] = {110, 260};
    const int64_t b_shape[2] = {260, 130};
    const int64_t c_shape[2] = {110, 130};
    tnr_machine *machine = NULL;
    tnr_engine *single = NULL;
    OK(tnr_machine_create(heap, topology, NULL, &machine));
    OK(tnr_engine_create(heap, NULL, &single));
    tnr_tensor *a = make_rough(TNR_F64, 2, a_shape, 1);
    tnr_tensor *b = make_rough(TNR_F64, 2, b_shape, 2);
    tnr_tensor *expected = make_rough(TNR_F64, 2, c_shape, 3);
    tnr_tensor *found = make_rough(TNR_F64, 2, c_shape, 3);
    const tnr_view a_view = view_of(a);
    const tnr_view b_view = view_of(b);
    const tnr_view_mut expected_view = view_mut_of(expected);
    const tnr_view_mut found_view = view_mut_of(found);
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.beta.re = 1.0;
    OK(tnr_matmul_into(single, &a_view, &b_view, &options, &expected_view));
    OK(tnr_machine_matmul_into(machine, &a_view, &b_view, &options, &found_view));
    expect_same_bytes(expected, found);
    OK(tnr_contract_into(single, &b_view, "kj", &a_view, "ik", "ij", NULL, &expected_view));
    OK(tnr_machine_contract_into(machine, &b_view, "kj", &a_view, "ik", "ij", NULL, &found_view));
    expect_same_bytes(expected, found);
    release(&a);
    release(&b);
    release(&expected);
    release(&found);
    OK(tnr_engine_destroy(&single));
    OK(tnr_machine_destroy(&machine));
}

static void refuses_what_one_engine_refuses(void **state)
{
    (void)state;
    const int64_t shape[2] = {4, 5};
    const int64_t square[2] = {4, 4};
    tnr_machine *machine = NULL;
    OK(tnr_machine_create(heap, topology, NULL, &machine));
    tnr_tensor *a = make_rough(TNR_F64, 2, shape, 1);
    tnr_tensor *b = make_rough(TNR_F64, 2, square, 1);
    tnr_tensor *c = make_rough(TNR_F64, 2, square, 2);
    const tnr_view a_view = view_of(a);
    const tnr_view b_view = view_of(b);
    const tnr_view_mut out = view_mut_of(c);
    const tnr_view_mut same = view_mut_of(b);
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_matmul_into(NULL, &b_view, &b_view, NULL, &out));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_matmul_into(machine, NULL, &a_view, NULL, &out));
    EXPECT(TNR_ERR_ARGUMENT, tnr_machine_matmul_into(machine, &b_view, &b_view, NULL, NULL));
    EXPECT(TNR_ERR_SHAPE, tnr_machine_matmul_into(machine, &a_view, &a_view, NULL, &out));
    EXPECT(TNR_ERR_SHAPE, tnr_machine_contract_into(machine, &a_view, "ik", &b_view, "kj", "ij", NULL, &out));
    EXPECT(TNR_ERR_OVERLAP, tnr_machine_matmul_into(machine, &b_view, &b_view, NULL, &same));
    /* A thread is inside of one of them; and all can be entered again after a refusal. */
    tnr_engine *last = NULL;
    OK(tnr_machine_engine(machine, tnr_machine_node_at(machine, tnr_machine_nodes(machine) - 1), &last));
    OK(tnri_engine_enter("test", last, true));
    EXPECT(TNR_ERR_BUSY, tnr_machine_matmul_into(machine, &b_view, &b_view, NULL, &out));
    OK(tnri_engine_leave(last, TNR_OK));
    OK(tnr_machine_matmul_into(machine, &b_view, &b_view, NULL, &out));
    release(&a);
    release(&b);
    release(&c);
    OK(tnr_machine_destroy(&machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(engines_together_make_what_one_makes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_one_operand_alone_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_engine_without_room_stops_all_before_the_first_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_nodes_of_a_machine_make_what_one_makes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_one_engine_refuses, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
