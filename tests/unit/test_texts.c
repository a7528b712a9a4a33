/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of failures that send people somewhere: which argument it was, what keeps a domain open, what took the room, where a
 * list goes wrong, and which call helps.
 */
#include "support/storage_test.h"
#include "tenure/tenure.h"

/* ---- Domains --------------------------------------------------------------------------------------------------------- */

static void expect_busy(tnr_domain *domain, const char *what)
{
    tnr_domain *closing = domain;
    EXPECT(TNR_ERR_BUSY, tnr_domain_close(&closing));
    assert_ptr_equal(closing, domain);
    TEXT_HAS(what);
    TEXT_HAS(tnr_domain_name(domain));
}

static void check_what_keeps(tnr_domain *domain)
{
    tnr_tensor *tensors[3] = {NULL, NULL, NULL};
    tnr_draft *draft = NULL;
    tnr_group *group = NULL;
    tnr_engine *engine = NULL;
    tnr_domain *pool = NULL;
    tnr_block blocks[2];
    for (int i = 0; i < 3; i++) {
        OK(tnr_tensor_zeros(domain, TNR_F64, 1, SHAPE(5), &tensors[i]));
    }
    expect_busy(domain, ": 3 tensors or drafts, 0 raw blocks, 0 domains over it, 0 others");
    OK(tnr_draft_begin(domain, TNR_F64, 1, SHAPE(5), &draft));
    expect_busy(domain, ": 4 tensors or drafts, 0 raw blocks, 0 domains over it, 0 others");
    for (int i = 0; i < 2; i++) {
        OK(tnr_domain_allocate(domain, 100, 0, &blocks[i]));
    }
    expect_busy(domain, ": 4 tensors or drafts, 2 raw blocks, 0 domains over it, 0 others");
    OK(tnr_draft_abandon(&draft));
    for (int i = 0; i < 3; i++) {
        OK(tnr_tensor_release(&tensors[i]));
    }
    expect_busy(domain, ": 0 tensors or drafts, 2 raw blocks, 0 domains over it, 0 others");
    OK(tnr_domain_release(domain, &blocks[0]));
    OK(tnr_domain_release(domain, &blocks[1]));
    OK(tnr_pool_create(domain, NULL, &pool));
    expect_busy(domain, ": 0 tensors or drafts, 0 raw blocks, 1 domains over it, 0 others");
    OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(5), &tensors[0]));
    expect_busy(domain, ": 0 tensors or drafts, 0 raw blocks, 1 domains over it, 0 others");
    close_domain(&pool); /* its record lives as long as the tensor */
    expect_busy(domain, ": 0 tensors or drafts, 0 raw blocks, 0 domains over it, 1 others");
    OK(tnr_tensor_release(&tensors[0]));
    OK(tnr_group_create(domain, &group));
    expect_busy(domain, ": 0 tensors or drafts, 0 raw blocks, 0 domains over it, 1 others (groups, ");
    OK(tnr_engine_create(domain, NULL, &engine));
    expect_busy(domain, ", 1 domains over it, 2 others (groups, engines, machines, topologies, closed pools");
    OK(tnr_group_release(&group));
    OK(tnr_engine_destroy(&engine));
}

static void what_keeps_a_domain_open_is_named_by_kind(void **state)
{
    (void)state;
    void *region;
    tnr_domain *heap = make_heap();
    tnr_domain *arena = make_arena(&region, 0);
    check_what_keeps(heap);
    check_what_keeps(arena);
    close_domain(&arena);
    close_domain(&heap);
    free(region);
}

/* An exported buffer is the program's block: of the heap, and of a pool's parent. */
static void exported_buffers_count_as_raw_blocks(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_domain *pool = NULL;
    tnr_tensor *tensor = NULL;
    tnr_exported exported;
    OK(tnr_pool_create(heap, NULL, &pool));
    OK(tnr_tensor_zeros(pool, TNR_F64, 1, SHAPE(5), &tensor));
    OK(tnr_tensor_export(&tensor, &exported));
    expect_busy(heap, ": 0 tensors or drafts, 1 raw blocks, 1 domains over it, 0 others");
    close_domain(&pool);
    expect_busy(heap, ": 0 tensors or drafts, 1 raw blocks, 0 domains over it, 0 others");
    OK(tnr_exported_free(&exported));
    close_domain(&heap);
}

static void an_arena_without_room_for_handles_says_so(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char region[65536];
    tnr_domain *arena = NULL;
    tnr_tensor *tensor = NULL;
    tnr_block all;
    OK(tnr_arena_create(region, sizeof(region), NULL, &arena));
    tnr_domain_statistics statistics;
    OK(tnr_domain_statistics_get(arena, &statistics));
    OK(tnr_domain_allocate(arena, statistics.largest_free, 0, &all));
    EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(5), &tensor));
    TEXT_HAS("no room for the handles of 16 tensors");
    TEXT_HAS("arena: no room for ");
    TEXT_HAS("largest free block");
    OK(tnr_domain_release(arena, &all));
    /* With handles in place it is the bytes that find no room, and nothing is said of handles. */
    OK(tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(5), &tensor));
    tnr_tensor *large = NULL;
    EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(arena, TNR_F64, 1, SHAPE(65536), &large));
    TEXT_HAS("arena: no room for 524288 bytes");
    assert_null(strstr(tnr_last_error(), "handles"));
    OK(tnr_tensor_release(&tensor));
    close_domain(&arena);

    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.handles = 100000;
    EXPECT(TNR_ERR_MEMORY, tnr_arena_create(region, sizeof(region), &options, &arena));
    TEXT_HAS("no room for the handles of ");
}

/* ---- Operations ------------------------------------------------------------------------------------------------------ */

static void a_wrong_operand_names_the_call_that_helps(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_engine *engine = NULL;
    tnr_tensor *four = NULL;
    tnr_tensor *rows = NULL;
    tnr_tensor *whole = NULL;
    tnr_tensor *made = untouched();
    tnr_view f;
    tnr_view r;
    tnr_view i;
    OK(tnr_engine_create(heap, NULL, &engine));
    OK(tnr_tensor_zeros(heap, TNR_F64, 1, SHAPE(4), &four));
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(4, 3), &rows));
    OK(tnr_tensor_zeros(heap, TNR_I32, 1, SHAPE(4), &whole));
    OK(tnr_tensor_view(four, &f));
    OK(tnr_tensor_view(rows, &r));
    OK(tnr_tensor_view(whole, &i));
    EXPECT(TNR_ERR_SHAPE, tnr_add(engine, &r, &f, &made));
    TEXT_HAS("add: b has rank 1, expected 2: tnr_view_broadcast");
    EXPECT(TNR_ERR_SHAPE, tnr_clamp(engine, &r, &r, &f, &made));
    TEXT_HAS("clamp: high has rank 1, expected 2: tnr_view_broadcast");
    tnr_view turned;
    OK(tnr_view_permute(&r, NULL, &turned));
    EXPECT(TNR_ERR_SHAPE, tnr_add(engine, &r, &turned, &made));
    TEXT_HAS("add: b has extent 3 on axis 0, expected 4: tnr_view_broadcast");
    EXPECT(TNR_ERR_DTYPE, tnr_add(engine, &f, &i, &made));
    TEXT_HAS("expected f64, found i32: tnr_cast");
    assert_ptr_equal(made, untouched());

    /* What it says helps: repeat the column, cast the integers. */
    tnr_view repeated;
    tnr_tensor *cast = NULL;
    OK(tnr_view_broadcast(&f, 2, r.shape, (const int[]){0}, &repeated));
    OK(tnr_add(engine, &r, &repeated, &made));
    OK(tnr_tensor_release(&made));
    OK(tnr_cast(engine, &i, TNR_F64, &cast));
    OK(tnr_tensor_view(cast, &i));
    OK(tnr_add(engine, &f, &i, &made));
    OK(tnr_tensor_release(&made));
    OK(tnr_tensor_release(&cast));
    OK(tnr_tensor_release(&whole));
    OK(tnr_tensor_release(&rows));
    OK(tnr_tensor_release(&four));
    OK(tnr_engine_destroy(&engine));
    close_domain(&heap);
}

static void a_wrong_output_is_called_out(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_engine *engine = NULL;
    tnr_tensor *rows = NULL;
    tnr_view_mut r;
    const int axis = 0;
    OK(tnr_engine_create(heap, NULL, &engine));
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(4, 3), &rows));
    OK(tnr_tensor_view_mut(rows, &r));
    const tnr_view *a = &r.view;
    EXPECT(TNR_ERR_DTYPE, tnr_compare_into(engine, TNR_COMPARE_LESS, a, a, &r));
    TEXT_HAS("compare: out is f64, expected bool");
    EXPECT(TNR_ERR_DTYPE, tnr_argmax_into(engine, a, 0, &r));
    TEXT_HAS(": out is f64, expected i64");
    EXPECT(TNR_ERR_SHAPE, tnr_sum_into(engine, a, &axis, 1, &r));
    TEXT_HAS("sum: out has rank 2, expected 1");
    assert_null(strstr(tnr_last_error(), "broadcast")); /* which no output can be */
    OK(tnr_tensor_release(&rows));
    OK(tnr_engine_destroy(&engine));
    close_domain(&heap);
}

/* ---- Lists of CPUs --------------------------------------------------------------------------------------------------- */

static void a_list_of_cpus_goes_wrong_at_a_character(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int character;
    } rows[] = {
        {"", 1},           {",", 1},
        {"0,", 3},         {"0,,1", 3},
        {"0-3,8,x", 7},    {"0-3,8,10-x", 10},
        {"0-3,9-8", 7},    {"3-1", 3},
        {"0-6:0", 5},      {"0-6:", 5},
        {"3:2", 2},        {" 0", 1},
        {"0 ", 2},         {"1-3,5-9:2:2", 10},
        {"0x3", 2},        {"12,34-", 7},
        {"100-200:-1", 9},
    };
    tnr_cpu_set set;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char expected[40];
        (void)snprintf(expected, sizeof(expected), "wrong from character %d on", rows[i].character);
        EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_parse(rows[i].list, &set));
        TEXT_HAS(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_keeps_a_domain_open_is_named_by_kind),
        cmocka_unit_test(exported_buffers_count_as_raw_blocks),
        cmocka_unit_test(an_arena_without_room_for_handles_says_so),
        cmocka_unit_test(a_wrong_operand_names_the_call_that_helps),
        cmocka_unit_test(a_wrong_output_is_called_out),
        cmocka_unit_test(a_list_of_cpus_goes_wrong_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
