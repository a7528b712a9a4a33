/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an engine remembers of ordinary calls: what is a hit and what is not, that the oldest plans make room, that results are the same
 * with any cache and with none, that failing calls leave no trace, and that its need is exact.
 */
#include "support/einsum_test.h"

#include "engine/recipe_internal.h"

static tnr_domain *heap;

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_domain(&heap);
    return 0;
}

static tnr_engine *engine_with(tnr_domain *domain, uint64_t bytes)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    options.plan_cache_bytes = bytes;
    OK(tnr_engine_create(domain, &options, &engine));
    return engine;
}

static tnr_plan_cache_info info_of(tnr_engine *engine)
{
    tnr_plan_cache_info info;
    OK(tnr_engine_plans(engine, &info));
    for (int i = 0; i < 8; i++) {
        assert_int_equal(info.reserved[i], 0);
    }
    return info;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------------------------------- */

/* One way to ask, of which each test changes one thing. */
typedef struct question {
    const char *a, *b, *out;
    tnr_view views[2];
    tnr_view_mut into;
    tnr_product_options options;
    bool made;
} question;

/* Did the cache have it? */
static bool is_hit(tnr_engine *engine, const question *q)
{
    const tnr_plan_cache_info before = info_of(engine);
    if (q->made) {
        tnr_tensor *made = NULL;
        OK(tnr_contract(engine, &q->views[0], q->a, &q->views[1], q->b, q->out, &q->options, &made));
        release(&made);
    } else {
        OK(tnr_contract_into(engine, &q->views[0], q->a, &q->views[1], q->b, q->out, &q->options, &q->into));
    }
    const tnr_plan_cache_info after = info_of(engine);
    assert_int_equal(after.hits + after.misses, before.hits + before.misses + 1);
    assert_int_equal(after.plans - before.plans, after.misses - before.misses);
    assert_int_equal(after.evicted, 0);
    return after.hits > before.hits;
}

#define IS_NEW(question)                           \
    do {                                           \
        assert_false(is_hit(engine, &(question))); \
        assert_true(is_hit(engine, &(question)));  \
    } while (0)

static void a_plan_is_found_by_all_that_it_depends_on(void **state)
{
    (void)state;
    tnr_engine *engine = engine_with(heap, TNR_PLAN_CACHE_BYTES);
    tnr_tensor *tensors[3];
    for (int i = 0; i < 3; i++) {
        tensors[i] = make_counting(heap, 3, SHAPE(4, 4, 1));
    }
    question plain = {.a = "ikx", .b = "kjy", .out = "ijx", .options = TNR_PRODUCT_OPTIONS};
    plain.views[0] = view_of(tensors[0]);
    plain.views[1] = view_of(tensors[1]);
    plain.into = view_mut_of(tensors[2]);
    IS_NEW(plain);

    question q = plain; /* other data, the same plan */
    q.views[1] = view_of(tensors[0]);
    assert_true(is_hit(engine, &q));
    q.views[0].strides[2] = 12345; /* along an extent of 1 */
    q.into.view.strides[2] = -3;
    assert_true(is_hit(engine, &q));

    q = plain;
    q.a = "kix";
    IS_NEW(q);
    q = plain;
    q.out = "ijy";
    IS_NEW(q);
    q = plain;
    q.b = "ljy";
    IS_NEW(q);
    q = plain;
    q.made = true;
    IS_NEW(q);
    q = plain;
    const int turned[3] = {1, 0, 2};
    OK(tnr_view_permute(&plain.views[0], turned, &q.views[0]));
    IS_NEW(q);
    q = plain;
    OK(tnr_view_slice_axis(&plain.views[1], 0, (tnr_range){0, TNR_END, -1}, &q.views[1]));
    IS_NEW(q);
    q = plain;
    OK(tnr_view_mut_permute(&plain.into, turned, &q.into));
    IS_NEW(q);
    q = plain;
    OK(tnr_view_slice_axis(&plain.views[0], 0, (tnr_range){0, 3, 1}, &q.views[0]));
    OK(tnr_view_mut_slice_axis(&plain.into, 0, (tnr_range){0, 3, 1}, &q.into));
    IS_NEW(q);
    q = plain; /* conjugates of real numbers are nothing */
    q.options.conjugate_a = true;
    assert_true(is_hit(engine, &q));

    q = plain; /* alpha and beta by what they are, not by how much */
    q.options.alpha.re = 2.5;
    IS_NEW(q);
    q.options.alpha.re = -7.0;
    assert_true(is_hit(engine, &q));
    q.options.alpha.re = 0.0;
    IS_NEW(q);
    q.options.alpha.re = 1.0;
    q.options.beta.re = 1.0;
    IS_NEW(q);
    q.options.beta.re = 0.25;
    IS_NEW(q);
    q.options.beta.re = 0.75;
    assert_true(is_hit(engine, &q));

    tnr_tensor *singles[3];
    for (int i = 0; i < 3; i++) {
        OK(tnr_tensor_zeros(heap, TNR_C32, 3, SHAPE(4, 4, 1), &singles[i]));
    }
    q = plain;
    q.views[0] = view_of(singles[0]);
    q.views[1] = view_of(singles[1]);
    q.into = view_mut_of(singles[2]);
    IS_NEW(q);
    q.options.conjugate_b = true;
    IS_NEW(q);

    /* an einsum of the same labels sums what one operand alone has first: another plan */
    const tnr_view *const list[2] = {&plain.views[0], &plain.views[1]};
    const tnr_plan_cache_info before = info_of(engine);
    for (int mode = 0; mode <= TNR_EINSUM_LEFT_TO_RIGHT; mode++) {
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        options.mode = (tnr_einsum_mode)mode;
        for (int i = 0; i < 3; i++) {
            OK(tnr_einsum_into(engine, "ikx,kjy->ijx", list, 2, &options, &plain.into));
        }
    }
    const tnr_einsum_step steps[2] = {{.a = 0, .b = 1}, {.a = 1, .b = 0}};
    for (int way = 0; way < 2; way++) {
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        options.steps = &steps[way];
        options.step_count = 1;
        for (int i = 0; i < 3; i++) {
            OK(tnr_einsum_into(engine, "ikx,kjy->ijx", list, 2, &options, &plain.into));
        }
    }
    const tnr_plan_cache_info after = info_of(engine);
    assert_int_equal(after.misses - before.misses, 6);
    assert_int_equal(after.hits - before.hits, 12);
    OK(tnr_engine_destroy(&engine));
    for (int i = 0; i < 3; i++) {
        release(&tensors[i]);
        release(&singles[i]);
    }
}

/* The dtype of the output is no part of what a plan depends on: it is refused before one is looked for. */
static void an_output_of_another_dtype_is_refused_when_the_plan_is_known(void **state)
{
    (void)state;
    tnr_engine *engine = engine_with(heap, TNR_PLAN_CACHE_BYTES);
    const int64_t shape[2] = {8, 8};
    const tnr_dtype dtypes[3] = {TNR_F64, TNR_F64, TNR_F32};
    tnr_tensor *tensors[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        OK(tnr_tensor_zeros(heap, dtypes[i], 2, shape, &tensors[i]));
    }
    const tnr_view a = view_of(tensors[0]);
    const tnr_view *const operands[2] = {&a, &a};
    const tnr_view_mut out = view_mut_of(tensors[1]);
    const tnr_view_mut narrow = view_mut_of(tensors[2]);
    OK(tnr_contract_into(engine, &a, "ik", &a, "jk", "ij", NULL, &out));
    EXPECT(TNR_ERR_DTYPE, tnr_contract_into(engine, &a, "ik", &a, "jk", "ij", NULL, &narrow));
    OK(tnr_einsum_into(engine, "ik,jk->ij", operands, 2, NULL, &out));
    EXPECT(TNR_ERR_DTYPE, tnr_einsum_into(engine, "ik,jk->ij", operands, 2, NULL, &narrow));
    for (int i = 0; i < 3; i++) {
        release(&tensors[i]);
    }
    OK(tnr_engine_destroy(&engine));
}

static void what_fails_leaves_no_trace(void **state)
{
    (void)state;
    tnr_engine *engine = engine_with(heap, TNR_PLAN_CACHE_BYTES);
    tnr_tensor *tensor = make_counting(heap, 2, SHAPE(4, 4));
    tnr_tensor *out = make_counting(heap, 2, SHAPE(4, 4));
    const tnr_view view = view_of(tensor);
    const tnr_view_mut into = view_mut_of(out);
    const tnr_plan_cache_info before = info_of(engine);
    EXPECT(TNR_ERR_SHAPE, tnr_contract_into(engine, &view, "i", &view, "kj", "ij", NULL, &into));
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract_into(engine, &view, "i,", &view, "kj", "ij", NULL, &into));
    EXPECT(TNR_ERR_ARGUMENT, tnr_contract_into(engine, &view, "ik,kj->ij", &view, "", "", NULL, &into));
    EXPECT(TNR_ERR_OVERLAP,
           tnr_contract_into(engine, &view, "ik", &view, "kj", "ij", NULL, &(tnr_view_mut){.view = view}));
    tnr_read_map map;
    OK(tnr_map_read(&into.view, &map));
    EXPECT(TNR_ERR_BUSY, tnr_contract_into(engine, &view, "ik", &view, "kj", "ij", NULL, &into));
    OK(tnr_unmap_read(&map));
    const tnr_plan_cache_info after = info_of(engine);
    assert_memory_equal(&before, &after, sizeof before);
    /* found, and refused all the same */
    OK(tnr_contract_into(engine, &view, "ik", &view, "kj", "ij", NULL, &into));
    EXPECT(TNR_ERR_OVERLAP,
           tnr_contract_into(engine, &view, "ik", &view, "kj", "ij", NULL, &(tnr_view_mut){.view = view}));
    tnr_view stale = view;
    release(&tensor);
    EXPECT(TNR_ERR_STALE, tnr_contract_into(engine, &stale, "ik", &stale, "kj", "ij", NULL, &into));
    EXPECT(TNR_ERR_ARGUMENT, tnr_engine_plans(engine, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_engine_plans(NULL, &(tnr_plan_cache_info){0}));
    OK(tnr_engine_destroy(&engine));
    release(&out);
}

/* ---- The ring ------------------------------------------------------------------------------------------------------------------------------ */

enum { MODELLED = 1500 };

static uint64_t key_words(uint64_t number) { return 1 + number * 7 % 40; }

static void make_key(uint64_t number, uint64_t *key)
{
    for (uint64_t i = 0; i < key_words(number); i++) {
        key[i] = i == 0 ? number : number * i % 3; /* alike but for the first word */
    }
}

/* Entries of any sizes: those that are found are the last ones that came, whole, and as many as there is room for. */
static void the_oldest_make_room(void **state)
{
    (void)state;
    seed_from_environment();
    static _Alignas(64) unsigned char block[1 << 17];
    uint64_t key[64];
    for (int round = 0; round < 30; round++) {
        const uint64_t bytes =
            tnri_plan_cache_bytes((uint64_t)within(2048, round % 2 == 0 ? 6000 : (int64_t)sizeof block));
        memset(block, 0xFF, sizeof block);
        struct tnri_plan_cache *cache = tnri_plan_cache_make(block, bytes);
        static uint64_t sizes[MODELLED];
        uint64_t first = 0; /* numbers from here on are in it */
        for (uint64_t number = 0; number < MODELLED; number++) {
            const uint64_t room = sizeof(tnri_recipe) + 8 * (uint64_t)within(0, 100);
            make_key(number, key);
            assert_null(tnri_plan_cache_find(cache, key, 8 * key_words(number)));
            tnri_recipe *recipe =
                tnri_plan_cache_room(cache, key, 8 * key_words(number), room + 8 * (uint64_t)within(0, 20));
            assert_non_null(recipe);
            memset(recipe, (int)(number % 251), (size_t)room);
            recipe->bytes = room;
            sizes[number] = room;
            tnri_plan_cache_keep(cache, recipe);
            assert_true((unsigned char *)recipe >= block && (unsigned char *)recipe + room <= block + bytes);
            /* whoever is not found any more came before all who are */
            for (;; first++) {
                make_key(first, key);
                if (tnri_plan_cache_find(cache, key, 8 * key_words(first)) != NULL) {
                    break;
                }
            }
            uint64_t held = 0;
            for (uint64_t other = first; other <= number; other++) {
                make_key(other, key);
                const tnri_recipe *found = tnri_plan_cache_find(cache, key, 8 * key_words(other));
                assert_non_null(found);
                assert_int_equal(found->bytes, sizes[other]);
                const unsigned char *last = (const unsigned char *)found + found->bytes - 1;
                assert_int_equal(*last, other % 251);
                held += 24 + 8 * key_words(other) + found->bytes;
            }
            if (first > 0) { /* full but for two of the largest: one at the ring's end, one where the next goes */
                assert_true(held + 2 * (24 + 8 * 40 + sizeof(tnri_recipe) + 8 * 120) + bytes / 64 + 256 > bytes);
            }
        }
        assert_null(tnri_plan_cache_room(cache, key, 8, bytes)); /* too large for all of it: nothing has changed */
        make_key(MODELLED - 1, key);
        assert_non_null(tnri_plan_cache_find(cache, key, 8 * key_words(MODELLED - 1)));
    }
}

/* ---- Results --------------------------------------------------------------------------------------------------------------------------------- */

enum { CASES = 300, ENGINES = 4 };

typedef struct known_case {
    sum_case c;
    seen operands[MOST_OPERANDS];
    const tnr_view *views[MOST_OPERANDS];
    seen out;
    void *before;
    void *expected;
    size_t bytes;
    tnr_einsum_options options;
} known_case;

static void restore(known_case *k)
{
    if (k->bytes != 0) {
        memcpy(k->out.data, k->before, k->bytes);
    }
}

static void compute(tnr_engine *engine, known_case *k)
{
    restore(k);
    OK(tnr_einsum_into(engine, k->c.equation, k->views, k->c.count, &k->options, &k->out.view));
}

/* Every case again and again, in any order, in caches from none to one that has room for all: the same bits. */
static void results_do_not_depend_on_it(void **state)
{
    (void)state;
    seed_from_environment();
    static known_case cases[CASES];
    static const uint64_t bytes[ENGINES] = {0, 2048, 20000, 4 << 20};
    tnr_engine *engines[ENGINES];
    for (int i = 0; i < ENGINES; i++) {
        engines[i] = engine_with(heap, bytes[i]);
    }
    for (int i = 0; i < CASES; i++) {
        known_case *k = &cases[i];
        k->c = random_case(MOST_OPERANDS, 3000);
        for (int at = 0; at < k->c.count; at++) {
            k->operands[at] = make_seen(heap, &k->c, &k->c.terms[at], chance(3));
            fill_seen(&k->c, &k->operands[at], false);
            k->views[at] = &k->operands[at].view.view;
        }
        k->out = make_seen(heap, &k->c, &k->c.out, chance(3));
        fill_seen(&k->c, &k->out, false);
        k->bytes = (size_t)k->out.count * tnr_dtype_size(k->c.dtype);
        k->before = malloc(k->bytes + 1);
        k->expected = malloc(k->bytes + 1);
        assert_true(k->before != NULL && k->expected != NULL);
        if (k->bytes != 0) {
            memcpy(k->before, k->out.data, k->bytes);
        }
        k->options = (tnr_einsum_options)TNR_EINSUM_OPTIONS;
        k->options.alpha.re = (double)within(-1, 2);
        k->options.beta.re = (double)within(-1, 1);
        k->options.conjugate = random_bits() & ((UINT64_C(1) << k->c.count) - 1);
        compute(engines[0], k);
        if (k->bytes != 0) {
            memcpy(k->expected, k->out.data, k->bytes);
        }
    }
    for (int round = 0; round < 10 * CASES; round++) {
        known_case *k = &cases[chance(2) ? within(0, CASES - 1) : within(0, 9)];
        for (int i = 1; i < ENGINES; i++) {
            compute(engines[i], k);
            if (k->bytes != 0) {
                assert_memory_equal(k->out.data, k->expected, k->bytes);
            }
        }
    }
    assert_int_equal(info_of(engines[0]).bytes + info_of(engines[0]).misses + info_of(engines[0]).hits, 0);
    for (int i = 1; i < ENGINES; i++) {
        const tnr_plan_cache_info info = info_of(engines[i]);
        assert_int_equal(info.hits + info.misses, 10 * CASES);
        assert_true(info.bytes <= bytes[i] && info.bytes + 64 > bytes[i]);
        assert_true(info.plans + info.evicted <= info.misses); /* some are too large for the smallest */
        assert_true(i == ENGINES - 1 ? info.evicted == 0 && info.plans == info.misses : info.evicted > 100);
    }
    assert_true(info_of(engines[1]).hits < info_of(engines[2]).hits &&
                info_of(engines[2]).hits < info_of(engines[3]).hits);
    for (int i = 0; i < CASES; i++) {
        for (int at = 0; at < cases[i].c.count; at++) {
            release(&cases[i].operands[at].tensor);
        }
        release(&cases[i].out.tensor);
        free(cases[i].before);
        free(cases[i].expected);
    }
    for (int i = 0; i < ENGINES; i++) {
        OK(tnr_engine_destroy(&engines[i]));
    }
}

/* ---- Needs --------------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status create_in_exactly(uint64_t cache_bytes, uint64_t less)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_arena_options arena_options = TNR_ARENA_OPTIONS;
    tnr_need need;
    uint64_t bytes;
    uint64_t control;
    options.plan_cache_bytes = cache_bytes;
    OK(tnr_engine_need(&options, 0, &need));
    OK(tnr_arena_bytes(&need, &arena_options, &bytes, &control, &arena_options.max_blocks));
    void *region = aligned_alloc(64, (size_t)bytes);
    assert_non_null(region);
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    OK(tnr_arena_create(region, bytes - less, &arena_options, &arena));
    const tnr_status status = tnr_engine_create(arena, &options, &engine);
    if (status == TNR_OK) {
        assert_true(info_of(engine).bytes <= cache_bytes);
    }
    OK(tnr_engine_destroy(&engine));
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    free(region);
    return status;
}

static void its_need_is_exact(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2047, 2048, 2049, 4096, 65536, 100001, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(create_in_exactly(sizes[i], 0), TNR_OK);
        assert_int_equal(create_in_exactly(sizes[i], 1), TNR_ERR_MEMORY);
    }
    tnr_engine *engine = engine_with(heap, 2047);
    assert_int_equal(info_of(engine).bytes, 0);
    OK(tnr_engine_destroy(&engine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_found_by_all_that_it_depends_on),
        cmocka_unit_test(an_output_of_another_dtype_is_refused_when_the_plan_is_known),
        cmocka_unit_test(what_fails_leaves_no_trace),
        cmocka_unit_test(the_oldest_make_room),
        cmocka_unit_test(results_do_not_depend_on_it),
        cmocka_unit_test(its_need_is_exact),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
