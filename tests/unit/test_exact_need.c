/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole program in an arena of exactly what the tnr_*_need calls say: so many tensors, a group of so many slots, a pool, an engine with
 * its cache of plans, and scratch for these contractions. Everything works, again and again, in a sealed arena that is full; with one byte
 * less a creation is refused, and nothing else. Engines with workers: tests of the host alone.
 */
#include "support/storage_test.h"

#include "tenure/tenure.h"

enum { TENSORS = 5, SLOTS = 6, OUTPUTS = 2, POOL_BUFFERS = 2, POOL_BYTES = 1000, SIDE = 6, ROUNDS = 3 };

typedef struct program {
    tnr_dtype dtype;
    uint64_t cache; /* of plans */
    int plans;      /* prepared ones */
    tnr_topology *topology;
    int64_t shape[3];
} program;

static const char *const contraction[3] = {"abi", "bci", "aci"};
static const char chain[] = "abi,bci,cdi,dei->aei"; /* results of one size: a pool's buffers are of one class each */

static void add(tnr_need *sum, tnr_need term, uint64_t times) { OK(tnr_need_add(sum, &term, times)); }

static tnr_view shaped(const program *p)
{
    tnr_view view;
    OK(tnr_view_shaped(p->dtype, 3, p->shape, &view));
    return view;
}

static int workers_of(const tnr_topology *topology)
{
    tnr_topology_info info;
    if (topology == NULL) {
        return 0;
    }
    OK(tnr_topology_describe(topology, &info));
    return info.cores;
}

static uint64_t scratch_of(const program *p)
{
    const tnr_view view = shaped(p);
    const tnr_view *const list[4] = {&view, &view, &view, &view};
    tnr_need pair;
    tnr_need whole;
    OK(tnr_contract_need(&view, contraction[0], &view, contraction[1], contraction[2], workers_of(p->topology), &pair));
    OK(tnr_einsum_need(chain, list, 4, NULL, workers_of(p->topology), &whole));
    assert_true(pair.blocks <= 1 && whole.blocks == 1 && whole.bytes > 0);
    return whole.bytes > pair.bytes ? whole.bytes : pair.bytes;
}

static tnr_engine_options options_of(const program *p)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.topology = p->topology;
    options.plan_cache_bytes = p->cache;
    options.scratch_bytes = scratch_of(p);
    return options;
}

static uint64_t output_bytes(const program *p)
{
    uint64_t bytes;
    OK(tnr_pool_class_bytes(tnr_dtype_size(p->dtype) * SIDE * SIDE * SIDE, &bytes));
    return bytes;
}

static tnr_need need_of(const program *p)
{
    tnr_need sum = {0, 0, 0};
    tnr_need term;
    uint64_t bytes;
    const tnr_engine_options options = options_of(p);
    OK(tnr_tensor_need(p->dtype, 3, p->shape, TENSORS, &term));
    add(&sum, term, 1);
    OK(tnr_group_need(SLOTS, SLOTS, &term));
    add(&sum, term, 1);
    OK(tnr_engine_need(&options, OUTPUTS, &term));
    add(&sum, term, 1);
    OK(tnr_block_need(output_bytes(p), OUTPUTS, &term));
    term.handles = OUTPUTS;
    add(&sum, term, 1);
    OK(tnr_pool_need(POOL_BUFFERS, &term));
    add(&sum, term, 1);
    OK(tnr_pool_class_bytes(POOL_BYTES, &bytes));
    OK(tnr_block_need(bytes, POOL_BUFFERS, &term));
    term.handles = POOL_BUFFERS;
    add(&sum, term, 1);
    if (p->plans > 0) {
        const tnr_view view = shaped(p);
        const tnr_view *const list[4] = {&view, &view, &view, &view};
        OK(tnr_plan_contract_need(&view, contraction[0], &view, contraction[1], contraction[2], &term));
        add(&sum, term, 1);
        OK(tnr_plan_einsum_need(chain, list, 4, NULL, &term));
        add(&sum, term, 1);
    }
    return sum;
}

typedef struct made {
    tnr_domain *arena;
    tnr_tensor *tensors[TENSORS];
    tnr_group *group;
    tnr_domain *pool;
    tnr_engine *engine;
    tnr_plan *pair;
    tnr_plan *whole;
} made;

/* What a program does at its start. The first failure's answer. */
static tnr_status create(const program *p, void *region, uint64_t bytes, const tnr_arena_options *options, made *m)
{
    const tnr_engine_options with = options_of(p);
    tnr_status status = tnr_arena_create(region, bytes, options, &m->arena);
    for (int i = 0; i < TENSORS && status == TNR_OK; i++) {
        status = tnr_tensor_zeros(m->arena, p->dtype, 3, p->shape, &m->tensors[i]);
    }
    status = status == TNR_OK ? tnr_group_create(m->arena, &m->group) : status;
    status = status == TNR_OK ? tnr_group_reserve(m->group, SLOTS, SLOTS) : status;
    status = status == TNR_OK ? tnr_pool_create(m->arena, NULL, &m->pool) : status;
    status = status == TNR_OK ? tnr_engine_create(m->arena, &with, &m->engine) : status;
    if (p->plans > 0 && status == TNR_OK) {
        const tnr_view compact = shaped(p);
        const tnr_view *const list[4] = {&compact, &compact, &compact, &compact};
        status = tnr_plan_contract(m->engine, &compact, contraction[0], &compact, contraction[1], NULL, contraction[2],
                                   NULL, &m->pair);
        status = status == TNR_OK ? tnr_plan_einsum(m->engine, chain, list, 4, NULL, NULL, &m->whole) : status;
    }
    /* The buffers of pools, which stay with them. */
    tnr_tensor *buffers[OUTPUTS + POOL_BUFFERS] = {NULL};
    for (int i = 0; i < OUTPUTS + POOL_BUFFERS && status == TNR_OK; i++) {
        status = i < OUTPUTS ? tnr_tensor_zeros(tnr_engine_pool(m->engine), p->dtype, 3, p->shape, &buffers[i])
                             : tnr_tensor_zeros(m->pool, TNR_BOOL, 1, SHAPE(POOL_BYTES), &buffers[i]);
    }
    for (int i = 0; i < OUTPUTS + POOL_BUFFERS; i++) {
        OK(tnr_tensor_release(&buffers[i]));
    }
    return status;
}

static void destroy(made *m)
{
    OK(tnr_plan_destroy(&m->pair));
    OK(tnr_plan_destroy(&m->whole));
    OK(tnr_engine_destroy(&m->engine));
    OK(tnr_domain_close(&m->pool));
    OK(tnr_group_release(&m->group));
    for (int i = 0; i < TENSORS; i++) {
        OK(tnr_tensor_release(&m->tensors[i]));
    }
    if (m->arena != NULL) {
        OK(tnr_arena_check(m->arena));
        OK(tnr_domain_close(&m->arena));
    }
}

/* All that the program does later, outputs out two at a time. */
static void work(const program *p, made *m)
{
    tnr_view view;
    tnr_tensor *one = NULL;
    tnr_tensor *two = NULL;
    OK(tnr_tensor_view(m->tensors[0], &view));
    const tnr_view *const list[4] = {&view, &view, &view, &view};
    tnr_view back;
    OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, TNR_END, -1}, &back));
    OK(tnr_contract(m->engine, &back, contraction[0], &view, contraction[1], contraction[2], NULL, &one));
    OK(tnr_contract(m->engine, &view, contraction[0], &back, contraction[1], contraction[2], NULL, &two));
    OK(tnr_tensor_release(&one));
    OK(tnr_einsum(m->engine, chain, list, 4, NULL, &one));
    OK(tnr_tensor_release(&two));
    OK(tnr_add(m->engine, &view, &back, &two));
    OK(tnr_tensor_release(&one));
    if (p->plans > 0) {
        OK(tnr_plan_run(m->pair, list, 2, &one));
        OK(tnr_tensor_release(&one));
        OK(tnr_plan_run(m->whole, list, 4, &one));
        OK(tnr_tensor_release(&one));
    }
    OK(tnr_tensor_release(&two));
    tnr_tensor *buffers[POOL_BUFFERS];
    for (int i = 0; i < POOL_BUFFERS; i++) {
        OK(tnr_tensor_zeros(m->pool, TNR_BOOL, 1, SHAPE(POOL_BYTES - i), &buffers[i]));
    }
    for (int i = 0; i < POOL_BUFFERS; i++) {
        OK(tnr_tensor_release(&buffers[i]));
    }
}

/* Tensors into the group, as many as it has slots for. A slot is never free again, so once. */
static void fill_group(made *m)
{
    tnr_slot slot;
    for (int i = 1; i < TENSORS; i++) {
        OK(tnr_group_append(m->group, &m->tensors[i], &slot));
    }
}

static void check_program(const program *p)
{
    const tnr_need need = need_of(p);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    uint64_t bytes;
    uint64_t control;
    options.handles = need.handles;
    OK(tnr_arena_bytes(&need, &options, &bytes, &control, &options.max_blocks));
    unsigned char *region = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(region);

    made whole = {0};
    assert_int_equal(create(p, region, bytes, &options, &whole), TNR_OK);
    OK(tnr_arena_seal(whole.arena));
    const tnr_domain_statistics before = statistics_of(whole.arena);
    for (int round = 0; round < ROUNDS; round++) {
        work(p, &whole);
    }
    fill_group(&whole);
    const tnr_domain_statistics after = statistics_of(whole.arena);
    assert_memory_equal(&before, &after, sizeof before); /* nobody asked it for anything */
    tnr_block block;
    assert_int_equal(after.free_bytes, 0);
    EXPECT(TNR_ERR_MEMORY, tnr_domain_allocate(whole.arena, after.free_bytes + 1, 0, &block));
    destroy(&whole);

    made less = {0};
    const tnr_status status = create(p, region, bytes - 1, &options, &less);
    assert_true(status == TNR_ERR_MEMORY || (less.arena == NULL && status == TNR_ERR_ARGUMENT));
    destroy(&less);
    tnr_arena_options fewer = options;
    fewer.max_blocks--;
    assert_int_equal(create(p, region, bytes, &fewer, &less), TNR_ERR_MEMORY);
    destroy(&less);
    free(region);
}

static void each_program(tnr_topology *topology)
{
    static const tnr_dtype dtypes[3] = {TNR_F32, TNR_F64, TNR_C64};
    static const uint64_t caches[3] = {0, 4096, 20000};
    for (int d = 0; d < 3; d++) {
        for (int c = 0; c < 3; c++) {
            for (int plans = 0; plans < 2; plans++) {
                const program p = {dtypes[d], caches[c], plans, topology, {SIDE, SIDE, SIDE}};
                check_program(&p);
            }
        }
    }
}

static void on_the_calling_thread(void **state)
{
    (void)state;
    each_program(NULL);
}

static void with_workers(void **state)
{
    (void)state;
    tnr_feature_set features;
    tnr_features(&features);
    if (!features.threads) {
        skip();
    }
    tnr_domain *heap = make_heap();
    tnr_topology *topology = NULL;
    OK(tnr_topology_create(heap, NULL, &topology));
    each_program(topology);
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
}

/* The needs of contractions: never less than what a call takes, whatever the layouts, and exact where operands are packed. */
static void scratch_is_what_calls_take(void **state)
{
    (void)state;
    enum { LARGE = 40 };
    tnr_domain *heap = make_heap();
    tnr_tensor *tensor = NULL;
    tnr_view view;
    tnr_view turned;
    OK(tnr_tensor_zeros(heap, TNR_F64, 3, SHAPE(LARGE, LARGE, 3), &tensor));
    OK(tnr_tensor_view(tensor, &view));
    OK(tnr_view_slice_axis(&view, 0, (tnr_range){0, TNR_END, -1}, &turned));
    const tnr_view *const list[4] = {&view, &turned, &view, &turned};
    static const char *const equations[] = {"abi,bci,cdi,dei->aei", "abi,bcj,cdi,dej->ae", "abi,cdj,bei,cfj->a",
                                            "abi,abi,abi,abi->abi", "abi,bci,adj,dek->"};
    tnr_need need;
    for (size_t i = 0; i < sizeof equations / sizeof equations[0]; i++) {
        tnr_engine_options options = TNR_ENGINE_OPTIONS;
        tnr_engine *engine = NULL;
        tnr_tensor *out = NULL;
        OK(tnr_einsum_need(equations[i], list, 4, NULL, 0, &need));
        options.scratch_bytes = need.bytes;
        OK(tnr_engine_create(heap, &options, &engine));
        const tnr_ledger before = ledger_of(heap);
        OK(tnr_einsum(engine, equations[i], list, 4, NULL, &out));
        const tnr_ledger after = ledger_of(heap);
        assert_int_equal(after.allocations[TNR_ALLOCATION_SCRATCH].count,
                         before.allocations[TNR_ALLOCATION_SCRATCH].count);
        OK(tnr_tensor_release(&out));
        OK(tnr_engine_destroy(&engine));
    }
    tnr_need matmul;
    OK(tnr_contract_need(&view, "abi", &view, "bci", "aci", 3, &need));
    OK(tnr_matmul_need(TNR_F64, LARGE, LARGE, LARGE, 3, &matmul));
    assert_true(need.bytes == matmul.bytes && need.blocks == matmul.blocks);
    OK(tnr_contract_need(&view, "abi", &view, "cdi", "abcdi", 3, &need));
    OK(tnr_matmul_need(TNR_F64, LARGE * LARGE, LARGE * LARGE, 1, 3, &matmul));
    assert_int_equal(need.bytes, matmul.bytes);
    OK(tnr_einsum_need("abi->ba", list, 1, NULL, 0, &need));
    assert_int_equal(need.bytes + need.blocks, 0);
    release(&tensor);
    close_domain(&heap);
}

static void needs_are_checked(void **state)
{
    (void)state;
    const tnr_view view = {.dtype = TNR_F64, .rank = 2, .shape = {3, 3}};
    const tnr_view whole = {.dtype = TNR_I32, .rank = 2, .shape = {3, 3}};
    const tnr_view huge = {.dtype = TNR_F64, .rank = 2, .shape = {INT64_MAX, INT64_MAX}};
    const tnr_view wide = {.dtype = TNR_F64, .rank = 2, .shape = {INT64_C(1) << 30, INT64_C(1) << 30}};
    const tnr_view none = {.dtype = TNR_F64, .rank = 2, .shape = {0, 3}};
    const tnr_view *const list[2] = {&view, &view};
    const tnr_view *const wholes[2] = {&whole, &whole};
    const tnr_view *const huges[2] = {&huge, &huge};
    const tnr_view *const wides[2] = {&wide, &wide};
    const tnr_view *const holes[2] = {&view, NULL};
    tnr_need need = {7, 7, 7};
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_need("ab,bc->ac", list, 2, NULL, 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_need("ab,bc->ac", NULL, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_need("ab,bc->ac", holes, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_need(NULL, list, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_need("ab,bc", list, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_need("ab,bc->ac", list, 2, NULL, -1, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_need("ab,bc->ac", list, 2, NULL, TNR_MAX_CPUS + 1, &need));
    EXPECT(TNR_ERR_SHAPE, tnr_einsum_need("ab,b->a", list, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_einsum_need("ab,bc->ac", wholes, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_OVERFLOW, tnr_einsum_need("ab,cd->ac", huges, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract_need(NULL, "ab", &view, "bc", "ac", 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract_need(&view, NULL, &view, "bc", "ac", 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract_need(&view, "ab", &view, "bc", NULL, 0, &need));
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract_need(&view, "ab", &view, "bc", "ac", 0, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract_need(&view, "ab", &view, "bc", "aa", 0, &need));
    EXPECT(TNR_ERR_DTYPE, tnr_contract_need(&view, "ab", &whole, "bc", "ac", 0, &need));
    EXPECT(TNR_ERR_OVERFLOW, tnr_contract_need(&huge, "ab", &huge, "ab", "", 0, &need));
    EXPECT(TNR_ERR_OVERFLOW, tnr_contract_need(&wide, "ab", &wide, "cd", "abcd", 0, &need)); /* a result of 2^120 */
    EXPECT(TNR_ERR_OVERFLOW, tnr_einsum_need("ab,cd->abcd", wides, 2, NULL, 0, &need));
    EXPECT(TNR_ERR_OVERFLOW, tnr_plan_contract_need(&wide, "ab", &wide, "cd", "abcd", &need));
    EXPECT(TNR_ERR_OVERFLOW, tnr_plan_einsum_need("ab,cd->abcd", wides, 2, NULL, &need));
    assert_true(need.bytes == 7 && need.blocks == 7 && need.handles == 7);
    OK(tnr_contract_need(&none, "ab", &view, "bc", "ac", 0, &need));
    assert_true(need.bytes == 0 && need.blocks == 0 && need.handles == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_calling_thread),
        cmocka_unit_test(with_workers),
        cmocka_unit_test(scratch_is_what_calls_take),
        cmocka_unit_test(needs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
