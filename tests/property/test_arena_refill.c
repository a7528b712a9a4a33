/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An arena of exactly the bytes that tnr_arena_bytes states for a list of objects: it takes them all, and after they were
 * released in a random order it takes them all again, in the order of the list. Between fillings calls fail for want of
 * room, which must change nothing. TENURE_TEST_SEED sets the seed; a failure names it.
 */
#include <time.h>

#include "support/storage_test.h"

#include "arena/arena.h" /* only to count free handle slots */

#define MIXES 300
#define FILLINGS 4
#define MOST 120

static uint64_t random_state;
static uint64_t seed;

/* SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static uint64_t draw(void)
{
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t bound) { return (draw() >> 11) % bound; }

/* As many of each order of magnitude. */
static uint64_t log_uniform(unsigned bits)
{
    const unsigned width = 1U + (unsigned)below(bits);
    return 1U + below(UINT64_C(1) << width);
}

typedef enum object_kind { A_TENSOR, A_BLOCK, A_GROUP, A_DOMAIN, KINDS } object_kind;

typedef struct object {
    object_kind kind;
    int64_t count; /* elements, bytes, entries, bytes of state */
    tnr_tensor *tensor;
    tnr_block block;
    tnr_group *group;
    tnr_domain *domain;
} object;

static tnr_status state_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    (void)state, (void)bytes, (void)alignment, (void)block;
    return TNR_ERR_MEMORY;
}

static void state_release(void *state, const tnr_block *block) { (void)state, (void)block; }

static tnr_status need_of(const object *it, tnr_need *need)
{
    const tnr_domain_ops ops = {
        .size = (size_t)it->count, .name = "state", .allocate = state_allocate, .release = state_release};
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    switch (it->kind) {
    case A_TENSOR:
        return tnr_tensor_need(TNR_F32, 1, &it->count, 1, need);
    case A_BLOCK:
        return tnr_block_need((uint64_t)it->count, 1, need);
    case A_GROUP:
        return tnr_group_need((uint32_t)it->count, (uint32_t)it->count, need);
    default:
        return tnr_domain_need(&config, need);
    }
}

/* A group with its tables grown: the adopted tensors in it have handles, which its need does not count. */
static tnr_status make_group(tnr_domain *arena, object *it)
{
    static float value;
    tnr_status status = tnr_group_create(arena, &it->group);
    for (int64_t at = 0; at < it->count && status == TNR_OK; at++) {
        tnr_tensor *tensor = NULL;
        status = tnr_tensor_adopt(arena, TNR_F32, 0, NULL, &value, 4, NULL, NULL, &tensor);
        status = status == TNR_OK ? tnr_group_append(it->group, &tensor, NULL) : status;
        OK(tnr_tensor_release(&tensor));
    }
    return status;
}

static tnr_status make(tnr_domain *arena, object *it)
{
    const tnr_domain_ops ops = {
        .size = (size_t)it->count, .name = "state", .allocate = state_allocate, .release = state_release};
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    switch (it->kind) {
    case A_TENSOR:
        return tnr_tensor_zeros(arena, TNR_F32, 1, &it->count, &it->tensor);
    case A_BLOCK:
        return tnr_domain_allocate(arena, (uint64_t)it->count, 0, &it->block);
    case A_GROUP:
        return make_group(arena, it);
    default:
        return tnr_domain_create(arena, &config, &it->domain);
    }
}

static void unmake(tnr_domain *arena, object *it)
{
    OK(tnr_tensor_release(&it->tensor));
    OK(tnr_group_release(&it->group));
    OK(tnr_domain_close(&it->domain));
    OK(tnr_domain_release(arena, &it->block));
    memset(&it->block, 0, sizeof(it->block));
}

static uint64_t free_handles(const tnr_domain *arena)
{
    uint64_t count = 0;
    for (const tnri_handle *handle = arena->slab.free; handle != NULL; handle = handle->next) {
        count++;
    }
    return count;
}

/* Too large by a little: fails after a handle was taken, and must leave that as it was, too. */
static void fail_for_want_of_room(tnr_domain *arena)
{
    const tnr_domain_statistics before = statistics_of(arena);
    const uint64_t handles = free_handles(arena);
    const int64_t too_many = (int64_t)(before.free_bytes / 4 + 1);
    tnr_tensor *tensor = untouched();
    EXPECT(TNR_ERR_MEMORY, tnr_tensor_zeros(arena, TNR_F32, 1, &too_many, &tensor));
    assert_ptr_equal(tensor, untouched());
    SAME_STATISTICS(arena, &before);
    assert_int_equal(free_handles(arena), handles);
}

static void fill_all(tnr_domain *arena, object *objects, size_t count, int mix, int filling)
{
    for (size_t at = 0; at < count; at++) {
        const tnr_status status = make(arena, &objects[at]);
        if (status != TNR_OK) {
            const tnr_domain_statistics now = statistics_of(arena);
            print_error("seed %llu, mix %d, filling %d: object %zu of %zu, kind %d of %lld: %s\n"
                        "    %llu of %llu bytes free, largest %llu, %llu blocks out\n",
                        (unsigned long long)seed, mix, filling, at, count, (int)objects[at].kind,
                        (long long)objects[at].count, tnr_last_error(), (unsigned long long)now.free_bytes,
                        (unsigned long long)now.capacity, (unsigned long long)now.largest_free,
                        (unsigned long long)now.blocks);
            fail();
        }
    }
    assert_int_equal(statistics_of(arena).free_bytes, 0);
    OK(tnr_arena_check(arena));
}

static void release_all(tnr_domain *arena, object *objects, size_t count)
{
    size_t order[MOST];
    for (size_t at = 0; at < count; at++) {
        const size_t other = (size_t)below(at + 1);
        order[at] = order[other];
        order[other] = at;
    }
    for (size_t at = 0; at < count; at++) {
        unmake(arena, &objects[order[at]]);
    }
    OK(tnr_arena_check(arena));
}

static void draw_object(object *it, bool large)
{
    const unsigned kind = (unsigned)below(10);
    memset(it, 0, sizeof(*it));
    it->kind = kind < 5 ? A_TENSOR : kind < 8 ? A_BLOCK : kind < 9 ? A_GROUP : A_DOMAIN;
    it->count = it->kind == A_GROUP ? 1 + (int64_t)below(40) : (int64_t)log_uniform(large ? 15 : 9);
}

static void try_mix(int mix)
{
    static object objects[MOST];
    const size_t count = 1 + (size_t)below(below(2) == 0 ? 12 : MOST);
    const bool large = below(2) == 0;
    tnr_need sum = {0, 0, 0};
    for (size_t at = 0; at < count; at++) {
        tnr_need need;
        draw_object(&objects[at], large);
        OK(need_of(&objects[at], &need));
        OK(tnr_need_add(&sum, &need, 1));
        sum.handles += objects[at].kind == A_GROUP ? (uint64_t)objects[at].count : 0;
    }
    uint64_t region_bytes = 0;
    uint64_t control_bytes = 0;
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    OK(tnr_arena_bytes(&sum, NULL, &region_bytes, &control_bytes, &options.max_blocks));
    options.handles = sum.handles;
    void *region = aligned_alloc(64, (size_t)region_bytes);
    assert_non_null(region);
    assert_int_equal(region_bytes % 64, 0);
    tnr_domain *arena = NULL;
    OK(tnr_arena_create(region, region_bytes, &options, &arena));
    const tnr_domain_statistics empty = statistics_of(arena);
    assert_true(free_handles(arena) >= sum.handles);
    for (int filling = 0; filling < FILLINGS; filling++) {
        fail_for_want_of_room(arena);
        fill_all(arena, objects, count, mix, filling);
        release_all(arena, objects, count);
        SAME_STATISTICS(arena, &empty);
    }
    close_domain(&arena);
    free(region);
}

static void an_exact_arena_is_filled_again_and_again(void **state)
{
    (void)state;
    for (int mix = 0; mix < MIXES; mix++) {
        try_mix(mix);
    }
}

int main(void)
{
    const char *text = getenv("TENURE_TEST_SEED");
    seed = text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    random_state = seed;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_exact_arena_is_filled_again_and_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
