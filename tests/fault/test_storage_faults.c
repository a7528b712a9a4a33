/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call that takes memory, with the n-th request failing, n = 1, 2, ... until the call succeeds. After each failure the
 * inputs are the caller's and unchanged, results untouched, what is out of every domain, ledgers and pool figures as before,
 * and the arena's and the groups' own checks clean. At the end everything is released and nothing is left.
 *
 * Requests fail in five ways: the home has n - 1 blocks left; it has little room left; a program's domain refuses its n-th
 * allocate, map or unmap.
 */
#include "support/storage_test.h"

#include "arena/arena.h" /* only to see whether a handle is free */

typedef enum fault { NO_BLOCK, NO_ROOM, NO_ALLOCATE, NO_MAP, NO_UNMAP, FAULTS } fault;

static const char *const fault_names[FAULTS] = {"block of the home", "room in the home", "allocate", "map", "unmap"};

#define MAX_BLOCKS 200
#define BALLAST MAX_BLOCKS
#define FILLERS 64
#define ELEMENTS 6
#define DOMAINS 6

typedef struct world {
    void *region;
    tnr_domain *home;   /* arena */
    tnr_domain *direct; /* a program's */
    tnr_domain *mapped; /* another */
    test_memory direct_memory;
    test_memory mapped_memory;
    tnr_domain *pools[3]; /* over home, over direct, and over direct again: a fresh one */
    tnr_group *empty;
    tnr_group *full;        /* its tables' first chunks are full: 8 owners, 8 descriptors */
    tnr_group *other;       /* the same again, to be merged */
    tnr_tensor *tensors[5]; /* in home, in direct, in mapped, in each pool */
    double buffer[ELEMENTS];
    tnr_exported exported;        /* out of direct, for import */
    tnr_tensor *fillers[FILLERS]; /* use up the free handles of the home: the next one needs a chunk */
    int filler_count;
    tnr_block ballast[BALLAST];
    int ballast_count;
    /* what a call makes */
    tnr_domain *made_domain;
    tnr_group *made_group;
    tnr_tensor *made_tensor;
    tnr_draft *made_draft;
    tnr_exported made_exported;
    tnr_block made_block;
    tnr_domain *block_domain;
    tnr_slot made_slot;
    uint32_t made_index;
} world;

/* ---- The world ------------------------------------------------------------------------------------------------------------- */

static tnr_group *full_group(tnr_domain *home)
{
    tnr_group *group = NULL;
    tnr_tensor *tensors[8];
    for (int at = 0; at < 8; at++) {
        tensors[at] = make_counting(home, 1, SHAPE(2));
    }
    OK(tnr_group_from_tensors(home, tensors, 8, &group));
    return group;
}

/* Adopt until no handle is free any more. */
static void fill_handles(world *w)
{
    static double value;
    while (w->home->slab.free != NULL) {
        assert_true(w->filler_count < FILLERS);
        OK(tnr_tensor_adopt(w->home, TNR_F64, 0, NULL, &value, 8, NULL, NULL, &w->fillers[w->filler_count++]));
    }
}

static void make_world(world *w)
{
    memset(w, 0, sizeof(*w));
    w->home = make_arena(&w->region, MAX_BLOCKS);
    w->direct = make_program_domain(w->home, &w->direct_memory, TNR_ACCESS_DIRECT);
    w->mapped = make_program_domain(w->home, &w->mapped_memory, TNR_ACCESS_MAPPED);
    OK(tnr_pool_create(w->home, NULL, &w->pools[0]));
    OK(tnr_pool_create(w->direct, NULL, &w->pools[1]));
    OK(tnr_pool_create(w->direct, NULL, &w->pools[2]));
    w->full = full_group(w->home);
    w->other = full_group(w->home);
    tnr_domain *domains[5] = {w->home, w->direct, w->mapped, w->pools[0], w->pools[1]};
    for (int at = 0; at < 5; at++) {
        w->tensors[at] = make_counting(domains[at], 1, SHAPE(ELEMENTS));
    }
    tnr_tensor *leaving = make_counting(w->direct, 1, SHAPE(ELEMENTS));
    OK(tnr_tensor_export(&leaving, &w->exported));
    for (int at = 0; at < ELEMENTS; at++) {
        w->buffer[at] = at + 1;
    }
    OK(tnr_group_create(w->home, &w->empty));
    fill_handles(w);
}

static void drop_ballast(world *w)
{
    while (w->ballast_count > 0) {
        OK(tnr_domain_release(w->home, &w->ballast[--w->ballast_count]));
    }
}

static void end_world(world *w)
{
    drop_ballast(w);
    for (int at = 0; at < w->filler_count; at++) {
        release(&w->fillers[at]);
    }
    for (int at = 0; at < 5; at++) {
        OK(tnr_tensor_release(&w->tensors[at]));
    }
    OK(tnr_exported_free(&w->exported));
    OK(tnr_exported_free(&w->made_exported));
    OK(tnr_draft_abandon(&w->made_draft));
    OK(tnr_tensor_release(&w->made_tensor));
    OK(tnr_group_release(&w->made_group));
    OK(tnr_group_release(&w->empty));
    OK(tnr_group_release(&w->full));
    OK(tnr_group_release(&w->other));
    if (w->block_domain != NULL) {
        OK(tnr_domain_release(w->block_domain, &w->made_block));
    }
    OK(tnr_domain_close(&w->made_domain));
    close_domain(&w->pools[0]);
    close_domain(&w->pools[1]);
    close_domain(&w->pools[2]);
    close_domain(&w->direct);
    close_domain(&w->mapped);
    OK(tnr_arena_check(w->home));
    close_domain(&w->home);
    assert_int_equal(w->direct_memory.allocates, w->direct_memory.releases);
    assert_int_equal(w->mapped_memory.allocates, w->mapped_memory.releases);
    assert_int_equal(w->mapped_memory.maps, w->mapped_memory.unmaps);
    free(w->region);
}

/* ---- What must not change ------------------------------------------------------------------------------------------------- */

typedef struct snapshot {
    tnr_domain_statistics statistics[DOMAINS];
    tnr_ledger ledgers[DOMAINS];
    tnr_pool_statistics pools[3];
    tnr_tensor_info infos[5];
    tnr_tensor *tensors[5];
    uint32_t counts[3][2];
    tnr_exported exported;
} snapshot;

static void take_snapshot(const world *w, snapshot *s)
{
    memset(s, 0, sizeof(*s));
    tnr_domain *domains[DOMAINS] = {w->home, w->direct, w->mapped, w->pools[0], w->pools[1], w->pools[2]};
    const tnr_group *groups[3] = {w->empty, w->full, w->other};
    for (int at = 0; at < DOMAINS; at++) {
        s->statistics[at] = statistics_of(domains[at]);
        s->ledgers[at] = ledger_of(domains[at]);
    }
    for (int at = 0; at < 5; at++) {
        s->tensors[at] = w->tensors[at];
        OK(tnr_tensor_describe(w->tensors[at], &s->infos[at]));
    }
    for (int at = 0; at < 3; at++) {
        OK(tnr_pool_statistics_get(w->pools[at], &s->pools[at]));
    }
    for (int at = 0; at < 3; at++) {
        OK(tnr_group_counts(groups[at], &s->counts[at][0], &s->counts[at][1]));
    }
    s->exported = w->exported;
}

static bool same_elements(tnr_tensor *tensor)
{
    const tnr_view view = view_of(tensor);
    tnr_read_map map;
    OK(tnr_map_read(&view, &map));
    bool same = true;
    for (int at = 0; at < ELEMENTS; at++) {
        same = same && ((const double *)map.data)[at] == at + 1.0;
    }
    OK(tnr_unmap_read(&map));
    return same;
}

static void check_unchanged(const world *w, const snapshot *before)
{
    snapshot after;
    take_snapshot(w, &after);
    tnr_domain *domains[DOMAINS] = {w->home, w->direct, w->mapped, w->pools[0], w->pools[1], w->pools[2]};
    for (int at = 0; at < DOMAINS; at++) {
        SAME_STATISTICS(domains[at], &before->statistics[at]);
        if (memcmp(&before->ledgers[at], &after.ledgers[at], sizeof(tnr_ledger)) != 0) {
            print_error("the ledger of %s changed\n", tnr_domain_name(domains[at]));
            fail();
        }
    }
    assert_memory_equal(before->pools, after.pools, sizeof(before->pools));
    assert_memory_equal(before->tensors, after.tensors, sizeof(before->tensors));
    assert_memory_equal(before->infos, after.infos, sizeof(before->infos));
    assert_memory_equal(before->counts, after.counts, sizeof(before->counts));
    assert_memory_equal(&before->exported, &after.exported, sizeof(before->exported));
    OK(tnr_arena_check(w->home));
    OK(tnr_group_check(w->empty));
    OK(tnr_group_check(w->full));
    OK(tnr_group_check(w->other));
    for (int at = 0; at < 5; at++) {
        assert_true(same_elements(w->tensors[at]));
    }
    assert_null(w->made_domain);
    assert_null(w->made_group);
    assert_null(w->made_tensor);
    assert_null(w->made_draft);
    assert_null(w->made_exported.data);
    assert_null(w->block_domain);
    assert_int_equal(w->made_slot.group, 0);
    assert_int_equal(w->made_index, 0);
}

/* ---- Faults ----------------------------------------------------------------------------------------------------------------- */

static void take_ballast(world *w, uint64_t bytes)
{
    assert_true(w->ballast_count < BALLAST);
    OK(tnr_domain_allocate(w->home, bytes, 0, &w->ballast[w->ballast_count]));
    w->ballast_count++;
}

/* Make the n-th request of this kind fail from now on. */
static void arm(world *w, fault kind, uint64_t n)
{
    if (kind == NO_BLOCK) {
        while (statistics_of(w->home).blocks < MAX_BLOCKS - (n - 1)) {
            take_ballast(w, 64);
        }
    } else if (kind == NO_ROOM) {
        while (statistics_of(w->home).largest_free > 0) {
            take_ballast(w, statistics_of(w->home).largest_free);
        }
        /* One hole of the size wanted: give the last block back and take what is too much. */
        const uint64_t room = 64 * (n - 1);
        tnr_block *last = NULL;
        for (int at = 0; at < w->ballast_count; at++) {
            last = last == NULL || w->ballast[at].bytes > last->bytes ? &w->ballast[at] : last;
        }
        assert_non_null(last);
        assert_true(last->bytes > room);
        const uint64_t bytes = last->bytes - room;
        if (room != 0) {
            OK(tnr_domain_release(w->home, last));
            OK(tnr_domain_allocate(w->home, bytes, 0, last));
        }
        assert_int_equal(statistics_of(w->home).free_bytes, room);
    } else if (kind == NO_ALLOCATE) {
        w->direct_memory.fail_allocate = n;
        w->mapped_memory.fail_allocate = n;
    } else if (kind == NO_MAP) {
        w->mapped_memory.fail_map = n;
    } else {
        w->mapped_memory.fail_unmap = n;
    }
}

static void disarm(world *w)
{
    w->direct_memory.fail_allocate = w->mapped_memory.fail_allocate = 0;
    w->mapped_memory.fail_map = w->mapped_memory.fail_unmap = 0;
}

typedef tnr_status (*attempt)(world *);

/* Fail the n-th request, n = 1, 2, ...; says how often the call failed before it succeeded. */
static uint64_t fail_until_success(fault kind, attempt call)
{
    for (uint64_t n = 1; n < 2000; n++) {
        world *w = calloc(1, sizeof(*w));
        assert_non_null(w);
        make_world(w);
        snapshot before;
        take_snapshot(w, &before); /* reads mapped tensors: before the fault is armed */
        arm(w, kind, n);
        before.statistics[0] = statistics_of(w->home); /* with the ballast in it */
        const tnr_status status = call(w);
        disarm(w);
        if (status != TNR_OK) {
            assert_int_equal(status, kind == NO_MAP || kind == NO_UNMAP ? TNR_ERR_IO : TNR_ERR_MEMORY);
            assert_true(tnr_last_error()[0] != '\0');
            check_unchanged(w, &before);
            /* Nothing was broken: with room again the same call succeeds. */
            drop_ballast(w);
            OK(call(w));
        }
        end_world(w);
        free(w);
        if (status == TNR_OK) {
            return n - 1;
        }
    }
    print_error("still failing for want of a %s\n", fault_names[kind]);
    fail();
    return 0;
}

/* ---- The calls --------------------------------------------------------------------------------------------------------------- */

static tnr_status call_pool_create(world *w) { return tnr_pool_create(w->home, NULL, &w->made_domain); }
static tnr_status call_pool_create_over_program(world *w) { return tnr_pool_create(w->direct, NULL, &w->made_domain); }

static tnr_status call_domain_create(world *w)
{
    return create_program_domain(w->home, &w->direct_memory, TNR_ACCESS_DIRECT, &w->made_domain);
}

static tnr_status call_group_create(world *w) { return tnr_group_create(w->home, &w->made_group); }

static tnr_status call_group_from_tensors(world *w)
{
    tnr_tensor *tensors[5];
    memcpy(tensors, w->tensors, sizeof(tensors));
    const tnr_status status = tnr_group_from_tensors(w->home, tensors, 5, &w->made_group);
    memcpy(w->tensors, tensors, sizeof(tensors));
    return status;
}

static tnr_status call_append_to_empty(world *w) { return tnr_group_append(w->empty, &w->tensors[1], &w->made_slot); }
static tnr_status call_append_to_full(world *w) { return tnr_group_append(w->other, &w->tensors[0], &w->made_slot); }

static tnr_status call_describe_span(world *w)
{
    tnr_slot of = {0, 0, 0};
    OK(tnr_group_slot(w->other, 3, &of));
    return tnr_group_describe_span(w->other, of, TNR_F64, 8, 8, 1, SHAPE(1), NULL, 0, &w->made_slot);
}

static tnr_status call_merge_full_into_empty(world *w) { return tnr_group_merge(w->empty, &w->other, &w->made_index); }
static tnr_status call_merge_full_into_full(world *w) { return tnr_group_merge(w->full, &w->other, &w->made_index); }

static tnr_status copy_out(world *w, tnr_domain *domain)
{
    tnr_slot of = {0, 0, 0};
    OK(tnr_group_slot(w->full, 0, &of));
    return tnr_group_copy_out(w->full, of, domain, &w->made_tensor);
}

static tnr_status call_copy_out(world *w) { return copy_out(w, w->home); }
static tnr_status call_copy_out_to_mapped(world *w) { return copy_out(w, w->mapped); }
static tnr_status call_copy_out_to_pool(world *w) { return copy_out(w, w->pools[1]); }

static tnr_status call_adopt(world *w)
{
    return tnr_tensor_adopt(w->direct, TNR_F64, 1, SHAPE(ELEMENTS), w->buffer, sizeof(w->buffer), NULL, NULL,
                            &w->made_tensor);
}

static tnr_status zeros(world *w, tnr_domain *domain)
{
    return tnr_tensor_zeros(domain, TNR_F64, 2, SHAPE(20, 10), &w->made_tensor);
}

static tnr_status call_zeros(world *w) { return zeros(w, w->home); }
static tnr_status call_zeros_in_program(world *w) { return zeros(w, w->direct); }
static tnr_status call_zeros_in_mapped(world *w) { return zeros(w, w->mapped); }
static tnr_status call_zeros_in_pool(world *w) { return zeros(w, w->pools[0]); }
static tnr_status call_zeros_in_pool_over_program(world *w) { return zeros(w, w->pools[1]); }

static tnr_status call_zeros_in_fresh_pool(world *w) { return zeros(w, w->pools[2]); }

static tnr_status call_full(world *w)
{
    const double value = 3;
    return tnr_tensor_full(w->mapped, TNR_F64, 1, SHAPE(5), &value, &w->made_tensor);
}

static tnr_status from_row_major(world *w, tnr_domain *domain)
{
    return tnr_tensor_from_row_major(domain, TNR_F64, 2, SHAPE(2, 3), w->buffer, sizeof(w->buffer), &w->made_tensor);
}

static tnr_status call_from_row_major(world *w) { return from_row_major(w, w->home); }
static tnr_status call_from_row_major_in_mapped(world *w) { return from_row_major(w, w->mapped); }

static tnr_status call_from_column_major(world *w)
{
    return tnr_tensor_from_column_major(w->mapped, TNR_F64, 2, SHAPE(2, 3), w->buffer, sizeof(w->buffer),
                                        &w->made_tensor);
}

static tnr_status duplicate(world *w, int source, tnr_domain *domain)
{
    const tnr_view view = view_of(w->tensors[source]);
    return tnr_tensor_duplicate(&view, domain, &w->made_tensor);
}

static tnr_status call_duplicate(world *w) { return duplicate(w, 0, w->home); }
static tnr_status call_duplicate_from_mapped(world *w) { return duplicate(w, 2, w->direct); }
static tnr_status call_duplicate_to_mapped(world *w) { return duplicate(w, 0, w->mapped); }
static tnr_status call_duplicate_between_mapped(world *w) { return duplicate(w, 2, w->mapped); }

static tnr_status begin(world *w, tnr_domain *domain)
{
    return tnr_draft_begin(domain, TNR_F64, 1, SHAPE(100), &w->made_draft);
}

static tnr_status call_draft(world *w) { return begin(w, w->home); }
static tnr_status call_draft_in_program(world *w) { return begin(w, w->direct); }
static tnr_status call_draft_in_pool(world *w) { return begin(w, w->pools[0]); }

static tnr_status export_one(world *w, int which) { return tnr_tensor_export(&w->tensors[which], &w->made_exported); }

static tnr_status call_export(world *w) { return export_one(w, 0); }
static tnr_status call_export_from_program(world *w) { return export_one(w, 1); }
static tnr_status call_export_from_pool(world *w) { return export_one(w, 3); }
static tnr_status call_export_from_pool_over_program(world *w) { return export_one(w, 4); }

static tnr_status call_import(world *w) { return tnr_tensor_import(w->home, &w->exported, &w->made_tensor); }

static tnr_status raw(world *w, tnr_domain *domain)
{
    const tnr_status status = tnr_domain_allocate(domain, 500, 128, &w->made_block);
    w->block_domain = status == TNR_OK ? domain : NULL;
    return status;
}

static tnr_status call_raw(world *w) { return raw(w, w->home); }
static tnr_status call_raw_in_program(world *w) { return raw(w, w->direct); }
static tnr_status call_raw_in_pool(world *w) { return raw(w, w->pools[0]); }
static tnr_status call_raw_in_pool_over_program(world *w) { return raw(w, w->pools[1]); }

static tnr_status call_raw_in_fresh_pool(world *w) { return raw(w, w->pools[2]); }

/* Mappings take no memory; a failing map is a failing call all the same. */
static tnr_status call_map_read(world *w)
{
    const tnr_view view = view_of(w->tensors[2]);
    tnr_read_map map;
    TNR_TRY(tnr_map_read(&view, &map));
    return tnr_unmap_read(&map);
}

static tnr_status call_map_write(world *w)
{
    const tnr_view_mut view = view_mut_of(w->tensors[2]);
    tnr_write_map map;
    TNR_TRY(tnr_map_write(&view, &map));
    return tnr_unmap_write(&map);
}

static tnr_status call_get(world *w)
{
    const tnr_view view = view_of(w->tensors[2]);
    double value;
    return tnr_view_get(&view, SHAPE(1), &value);
}

/* How many requests of each kind a call makes: all of them must be able to fail. NO_ROOM counts steps of 64 bytes: only
 * whether there are any is said. */
typedef struct row {
    const char *name;
    attempt call;
    uint64_t requests[FAULTS];
} row;

static const row rows[] = {
    {"pool_create", call_pool_create, {1, 1, 0, 0, 0}},
    {"pool_create over a program's", call_pool_create_over_program, {1, 1, 0, 0, 0}},
    {"domain_create", call_domain_create, {1, 1, 0, 0, 0}},
    {"group_create", call_group_create, {1, 1, 0, 0, 0}},
    {"group_from_tensors", call_group_from_tensors, {3, 1, 0, 0, 0}},
    {"group_append, empty", call_append_to_empty, {2, 1, 0, 0, 0}},
    {"group_append, full", call_append_to_full, {2, 1, 0, 0, 0}},
    {"group_describe_span", call_describe_span, {1, 1, 0, 0, 0}},
    {"group_merge into empty", call_merge_full_into_empty, {2, 1, 0, 0, 0}},
    {"group_merge into full", call_merge_full_into_full, {2, 1, 0, 0, 0}},
    {"group_copy_out", call_copy_out, {2, 1, 0, 0, 0}},
    {"group_copy_out to mapped", call_copy_out_to_mapped, {1, 1, 1, 1, 1}},
    {"group_copy_out to a pool", call_copy_out_to_pool, {1, 1, 1, 0, 0}},
    {"tensor_adopt", call_adopt, {1, 1, 0, 0, 0}},
    {"tensor_zeros", call_zeros, {2, 1, 0, 0, 0}},
    {"tensor_zeros, program's", call_zeros_in_program, {1, 1, 1, 0, 0}},
    {"tensor_zeros, mapped", call_zeros_in_mapped, {1, 1, 1, 1, 1}},
    {"tensor_zeros, pool", call_zeros_in_pool, {2, 1, 0, 0, 0}},
    {"tensor_zeros, pool over program's", call_zeros_in_pool_over_program, {1, 1, 1, 0, 0}},
    {"tensor_zeros, fresh pool", call_zeros_in_fresh_pool, {2, 1, 1, 0, 0}},
    {"domain_allocate, fresh pool", call_raw_in_fresh_pool, {1, 1, 1, 0, 0}},
    {"tensor_full, mapped", call_full, {1, 1, 1, 1, 1}},
    {"tensor_from_row_major", call_from_row_major, {2, 1, 0, 0, 0}},
    {"tensor_from_row_major, mapped", call_from_row_major_in_mapped, {1, 1, 1, 1, 1}},
    {"tensor_from_column_major, mapped", call_from_column_major, {1, 1, 1, 1, 1}},
    {"tensor_duplicate", call_duplicate, {2, 1, 0, 0, 0}},
    {"tensor_duplicate from mapped", call_duplicate_from_mapped, {1, 1, 1, 1, 1}},
    {"tensor_duplicate to mapped", call_duplicate_to_mapped, {1, 1, 1, 1, 1}},
    {"tensor_duplicate between mapped", call_duplicate_between_mapped, {1, 1, 1, 2, 2}},
    {"draft_begin", call_draft, {2, 1, 0, 0, 0}},
    {"draft_begin, program's", call_draft_in_program, {1, 1, 1, 0, 0}},
    {"draft_begin, pool", call_draft_in_pool, {2, 1, 0, 0, 0}},
    {"tensor_export", call_export, {0, 0, 0, 0, 0}},
    {"tensor_export, program's", call_export_from_program, {1, 1, 0, 0, 0}},
    {"tensor_export, pool", call_export_from_pool, {0, 0, 0, 0, 0}},
    {"tensor_export, pool over program's", call_export_from_pool_over_program, {1, 1, 0, 0, 0}},
    {"tensor_import", call_import, {1, 1, 0, 0, 0}},
    {"domain_allocate", call_raw, {1, 1, 0, 0, 0}},
    {"domain_allocate, program's", call_raw_in_program, {1, 1, 1, 0, 0}},
    {"domain_allocate, pool", call_raw_in_pool, {1, 1, 0, 0, 0}},
    {"domain_allocate, pool over program's", call_raw_in_pool_over_program, {0, 0, 1, 0, 0}},
    {"map_read", call_map_read, {0, 0, 0, 1, 1}},
    {"map_write", call_map_write, {0, 0, 0, 1, 1}},
    {"view_get", call_get, {0, 0, 0, 1, 1}},
};

static void check_rows(fault kind)
{
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        const row *tested = &rows[at];
        uint64_t failed = fail_until_success(kind, tested->call);
        if (kind == NO_ROOM) {
            failed = failed != 0; /* steps of 64 bytes are not requests */
        }
        if (failed != tested->requests[kind]) {
            print_error("%s: %llu requests for a %s failed, %llu were expected\n", tested->name,
                        (unsigned long long)failed, fault_names[kind], (unsigned long long)tested->requests[kind]);
            fail();
        }
    }
}

static void every_call_with_the_nth_block_of_the_home_missing(void **state)
{
    (void)state;
    check_rows(NO_BLOCK);
}

static void every_call_with_little_room_in_the_home(void **state)
{
    (void)state;
    check_rows(NO_ROOM);
}

static void every_call_with_the_nth_allocate_of_a_domain_failing(void **state)
{
    (void)state;
    check_rows(NO_ALLOCATE);
}

static void every_call_with_the_nth_map_failing(void **state)
{
    (void)state;
    check_rows(NO_MAP);
}

static void every_call_with_the_nth_unmap_failing(void **state)
{
    (void)state;
    check_rows(NO_UNMAP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_with_the_nth_block_of_the_home_missing),
        cmocka_unit_test(every_call_with_little_room_in_the_home),
        cmocka_unit_test(every_call_with_the_nth_allocate_of_a_domain_failing),
        cmocka_unit_test(every_call_with_the_nth_map_failing),
        cmocka_unit_test(every_call_with_the_nth_unmap_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
