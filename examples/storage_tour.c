/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tour of storage: adopts, views, maps, groups, splits, pools and a domain of its own, and after each step one line
 * that says what happened to the bytes.
 *
 * Every line is measured before it is printed. Addresses are compared, never printed, so the output is the same on
 * every machine. A claim that does not hold is marked, and the program then ends with exit code 1.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

static int broken;

/* One line of the tour. */
static void say(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(bool holds, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)printf("%s\n", holds ? "" : "  <- DOES NOT HOLD");
    broken += holds ? 0 : 1;
}

static void title(const char *text) { (void)printf("\n%s\n", text); }

/* A call that has to succeed: the tour cannot go on without it. */
static void must(tnr_status status)
{
    if (status != TNR_OK) {
        (void)fprintf(stderr, "storage_tour: %s\n", tnr_last_error());
        exit(1);
    }
}

/* ---- Small helpers ----------------------------------------------------------------------------------------------- */

/* Where a tensor's bytes are: a number to compare, not a pointer to use. */
static uintptr_t address_of(const tnr_tensor *tensor)
{
    const void *data = NULL;
    must(tnr_tensor_host_data(tensor, &data));
    return (uintptr_t)data;
}

static tnr_view view_of(const tnr_tensor *tensor)
{
    tnr_view view;
    must(tnr_tensor_view(tensor, &view));
    return view;
}

static tnr_tensor_info info_of(const tnr_tensor *tensor)
{
    tnr_tensor_info info;
    must(tnr_tensor_describe(tensor, &info));
    return info;
}

/* A tensor with the same value everywhere. */
static tnr_tensor *filled(tnr_domain *domain, int rank, const int64_t *shape, double value)
{
    tnr_draft *draft = NULL;
    tnr_view_mut view;
    tnr_write_map map;
    tnr_tensor *tensor = NULL;
    must(tnr_draft_begin(domain, TNR_F64, rank, shape, &draft));
    must(tnr_draft_view(draft, &view));
    must(tnr_map_write(&view, &map));
    int64_t count = 0;
    must(tnr_view_count(&view.view, &count));
    for (int64_t i = 0; i < count; i++) {
        ((double *)map.data)[i] = value;
    }
    must(tnr_unmap_write(&map));
    must(tnr_draft_commit(&draft, &tensor));
    return tensor;
}

/* Read a compact view of up to four elements through a mapping. */
static void read_four(const tnr_view *view, double value[4])
{
    tnr_read_map map;
    int64_t count = 0;
    must(tnr_view_count(view, &count));
    must(tnr_map_read(view, &map));
    memcpy(value, map.data, (size_t)count * sizeof(double));
    must(tnr_unmap_read(&map));
}

static tnr_pool_statistics pool_of(const tnr_engine *engine)
{
    tnr_pool_statistics statistics;
    must(tnr_pool_statistics_get(tnr_engine_pool(engine), &statistics));
    return statistics;
}

/* A line about what a pool retains: {buffers, bytes}. */
static void say_pool(const tnr_engine *engine, const char *when, uint64_t buffers, uint64_t bytes)
{
    const tnr_pool_statistics pool = pool_of(engine);
    say(pool.buffers == buffers && pool.capacity_bytes == bytes, "%s the pool holds {%llu, %llu}", when,
        (unsigned long long)pool.buffers, (unsigned long long)pool.capacity_bytes);
}

static uint64_t copies_of(tnr_domain *domain)
{
    tnr_ledger ledger;
    uint64_t copies = 0;
    must(tnr_ledger_get(domain, &ledger));
    for (int i = 0; i < TNR_COPY_REASON_END; i++) {
        copies += ledger.copies[i].count;
    }
    return copies;
}

/* ---- First stop: one owner --------------------------------------------------------------------------------------- */

static void give_back(void *context, void *data, uint64_t bytes)
{
    (void)context;
    (void)bytes;
    free(data);
}

/* The numbers 1, 2, 3, ... in a buffer from malloc, adopted. */
static tnr_tensor *adopted(tnr_domain *heap, int rank, const int64_t *shape, size_t count, uintptr_t *address)
{
    double *buffer = malloc(count * sizeof(double));
    tnr_tensor *tensor = NULL;
    if (buffer == NULL) {
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        buffer[i] = (double)(i + 1);
    }
    *address = (uintptr_t)buffer;
    must(tnr_tensor_adopt(heap, TNR_F64, rank, shape, buffer, count * sizeof(double), give_back, NULL, &tensor));
    return tensor;
}

static void one_owner(tnr_domain *heap)
{
    const int64_t shape[2] = {2, 2};
    uintptr_t buffer = 0;
    title("One owner");
    tnr_tensor *tensor = adopted(heap, 2, shape, 4, &buffer);
    say(address_of(tensor) == buffer, "adoption keeps the buffer");

    const tnr_tensor_info info = info_of(tensor);
    const tnr_domain_id none = {0, 0};
    say(tnr_domain_id_equal(info.domain, none) && info.allocation == 0,
        "an adopted tensor has no domain and no allocation id");
    say(info.placement.kind == TNR_MEMORY_HOST && info.placement.device == TNR_NONE &&
            info.placement.cpu_affinity == TNR_NONE,
        "it lies in unpinned host memory, on no device, with no affinity");

    const tnr_view view = view_of(tensor);
    tnr_tensor *duplicate = NULL;
    tnr_overlap shared = TNR_OVERLAP_NONE;
    tnr_overlap apart = TNR_OVERLAP_POSSIBLE;
    tnr_view turned;
    must(tnr_view_permute(&view, NULL, &turned));
    must(tnr_view_overlap(&view, &turned, &shared));
    must(tnr_tensor_duplicate(&view, heap, &duplicate));
    const tnr_view copy = view_of(duplicate);
    must(tnr_view_overlap(&view, &copy, &apart));
    say(shared != TNR_OVERLAP_NONE && apart == TNR_OVERLAP_NONE && address_of(duplicate) != buffer,
        "a view shares its bytes, a duplicate does not");
    must(tnr_tensor_release(&duplicate));

    double value[4];
    read_four(&view, value);
    say(value[0] == 1.0 && value[1] == 2.0 && value[2] == 3.0 && value[3] == 4.0,
        "a mapped read gives [%g, %g, %g, %g] and sums to %g", value[0], value[1], value[2], value[3],
        value[0] + value[1] + value[2] + value[3]);

    tnr_exported exported;
    must(tnr_tensor_export(&tensor, &exported));
    say((uintptr_t)exported.data == buffer && tensor == NULL && exported.rank == 2 && exported.shape[0] == 2 &&
            exported.shape[1] == 2,
        "export returns the same buffer, with shape [%lld, %lld]", (long long)exported.shape[0],
        (long long)exported.shape[1]);
    must(tnr_exported_free(&exported));
}

/* ---- Second stop: a group ---------------------------------------------------------------------------------------- */

static void many_owners(tnr_domain *heap)
{
    const int64_t three = 3;
    const int64_t two = 2;
    uintptr_t buffer[2] = {0, 0};
    tnr_tensor *tensors[2] = {NULL, NULL};
    tnr_group *group = NULL;
    tnr_slot slot[2];
    uint32_t owners = 0;
    uint32_t descriptors = 0;
    title("Many owners");
    tensors[0] = adopted(heap, 1, &three, 3, &buffer[0]);
    tensors[1] = adopted(heap, 1, &two, 2, &buffer[1]);
    const uint64_t copies = copies_of(heap);
    must(tnr_group_from_tensors(heap, tensors, 2, &group));
    must(tnr_group_counts(group, &owners, &descriptors));
    must(tnr_group_slot(group, 0, &slot[0]));
    must(tnr_group_slot(group, 1, &slot[1]));
    say(owners == 2 && descriptors == 2 && tensors[0] == NULL && tensors[1] == NULL,
        "a group of [3] and [2] counts %u owners and %u descriptors", owners, descriptors);
    say(slot[0].index == 0 && slot[1].index == 1, "their slots are %u and %u", slot[0].index, slot[1].index);

    tnr_view view[2];
    must(tnr_group_view(group, slot[0], &view[0]));
    must(tnr_group_view(group, slot[1], &view[1]));
    say(view[0].rank == 1 && view[0].shape[0] == 3 && view[1].rank == 1 && view[1].shape[0] == 2,
        "read views of them have shapes [%lld] and [%lld]", (long long)view[0].shape[0], (long long)view[1].shape[0]);

    tnr_tensor *taken = NULL;
    must(tnr_group_take(group, slot[0], &taken));
    say(address_of(taken) == buffer[0], "take keeps the buffer");
    must(tnr_group_counts(group, &owners, &descriptors));
    say(owners == 2 && descriptors == 2, "the counts stay %u and %u", owners, descriptors);

    tnr_tensor *again = NULL;
    const tnr_status second = tnr_group_take(group, slot[0], &again);
    say(second == TNR_ERR_VACANT && again == NULL && strstr(tnr_last_error(), "descriptor slot 0 is vacant") != NULL,
        "a second take is refused (%s): descriptor slot 0 is vacant", tnr_status_name(second));

    tnr_exported exported;
    must(tnr_tensor_export(&taken, &exported));
    say((uintptr_t)exported.data == buffer[0] && copies_of(heap) == copies, "the taken tensor exports without a copy");
    must(tnr_exported_free(&exported));
    must(tnr_group_release(&group));
}

/* ---- Third stop: two writers in one tensor ----------------------------------------------------------------------- */

/* Ask for both parts of a 2x2 along one axis. */
static bool split(tnr_tensor *tensor, int axis, tnr_view_mut part[2])
{
    tnr_view_mut all;
    bool granted = false;
    must(tnr_tensor_view_mut(tensor, &all));
    must(tnr_view_mut_select(&all, axis, 0, &part[0]));
    must(tnr_view_mut_select(&all, axis, 1, &part[1]));
    must(tnr_view_mut_split(part, 2, &granted));
    return granted;
}

static void two_writers(tnr_domain *heap)
{
    const int64_t shape[2] = {2, 2};
    tnr_tensor *tensor = NULL;
    tnr_view_mut part[2];
    title("Two writers");
    must(tnr_tensor_zeros(heap, TNR_F64, 2, shape, &tensor));
    say(split(tensor, 1, part), "of a 2x2 of zeros, columns 0|1 may be written at the same time");

    tnr_write_map map[2];
    double value[4];
    must(tnr_map_write(&part[0], &map[0]));
    must(tnr_map_write(&part[1], &map[1]));
    ((double *)map[0].data)[1] = 1.0; /* element (1, 0) */
    ((double *)map[1].data)[0] = 2.0; /* element (0, 1) */
    must(tnr_unmap_write(&map[0]));
    must(tnr_unmap_write(&map[1]));
    const tnr_view view = view_of(tensor);
    read_four(&view, value);
    say(value[0] == 0.0 && value[1] == 1.0 && value[2] == 2.0 && value[3] == 0.0,
        "after 1 and 2 went through them to (1,0) and (0,1), memory is [%g, %g, %g, %g]", value[0], value[1], value[2],
        value[3]);
    say(split(tensor, 0, part), "rows 0|1 are granted too, though their bytes interleave");
    must(tnr_tensor_release(&tensor));
}

/* ---- Fourth stop: the pool --------------------------------------------------------------------------------------- */

enum { SIDE = 64, PRODUCT_BYTES = SIDE * SIDE * 8, SUM_BYTES = SIDE * 8 };

static const int64_t square[2] = {SIDE, SIDE};

static tnr_tensor *product(tnr_engine *engine, const tnr_tensor *a)
{
    const tnr_view view = view_of(a);
    tnr_tensor *out = NULL;
    must(tnr_matmul(engine, &view, &view, NULL, &out));
    return out;
}

static void empty_pool(tnr_engine *engine) { must(tnr_pool_trim(tnr_engine_pool(engine), 0, NULL)); }

static void products_recycle(tnr_engine *engine, const tnr_tensor *ones)
{
    say_pool(engine, "before the first 64x64 product,", 0, 0);
    tnr_tensor *first = product(engine, ones);
    const uintptr_t block = address_of(first);
    say_pool(engine, "while it lives,", 0, 0);
    must(tnr_tensor_release(&first));
    say_pool(engine, "after its release,", 1, PRODUCT_BYTES);

    tnr_tensor *second = product(engine, ones);
    say(address_of(second) == block, "the second product gets the first one's block");
    tnr_tensor *third = product(engine, ones);
    say(address_of(third) != block, "a third, while the second lives, does not share it");
    must(tnr_tensor_release(&third));
    empty_pool(engine);

    must(tnr_tensor_release(&second));
    void *unrelated = malloc(PRODUCT_BYTES);
    say(unrelated != NULL && (uintptr_t)unrelated != block, "an unrelated malloc does not get the freed block");
    tnr_tensor *next = product(engine, ones);
    say(address_of(next) == block, "the next product does");
    free(unrelated);
    must(tnr_tensor_release(&next));
    empty_pool(engine);
}

static void others_recycle(tnr_engine *engine, const tnr_tensor *ones)
{
    static const int rows[1] = {0};
    const tnr_view view = view_of(ones);
    tnr_tensor *out = NULL;
    must(tnr_add(engine, &view, &view, &out));
    const uintptr_t block = address_of(out);
    must(tnr_tensor_release(&out));
    must(tnr_exp(engine, &view, &out));
    say(address_of(out) == block, "the block of an add is used again by exp");
    must(tnr_tensor_release(&out));

    empty_pool(engine);
    must(tnr_sum(engine, &view, rows, 1, &out));
    must(tnr_tensor_release(&out));
    say_pool(engine, "after a sum over one axis came and went,", 1, SUM_BYTES);
    empty_pool(engine);
    must(tnr_permute(engine, &view, NULL, &out));
    must(tnr_tensor_release(&out));
    say_pool(engine, "after a transpose came and went,", 1, PRODUCT_BYTES);
}

static void outputs_recycle(tnr_domain *heap)
{
    tnr_engine *engine = NULL;
    title("A pool");
    tnr_tensor *ones = filled(heap, 2, square, 1.0);
    must(tnr_engine_create(heap, NULL, &engine));
    products_recycle(engine, ones);
    others_recycle(engine, ones);
    must(tnr_engine_destroy(&engine));
    must(tnr_tensor_release(&ones));
}

/* ---- Fifth stop: longer than its engine -------------------------------------------------------------------------- */

static void outlive_engine(tnr_domain *heap)
{
    tnr_engine *engine = NULL;
    title("Longer than its engine");
    tnr_tensor *ones = filled(heap, 2, square, 1.0);
    must(tnr_engine_create(heap, NULL, &engine));
    tnr_tensor *old = product(engine, ones);
    must(tnr_engine_destroy(&engine));

    const uintptr_t block = address_of(old);
    const void *data = NULL;
    double sum = 0.0;
    must(tnr_tensor_host_data(old, &data));
    for (int i = 0; i < SIDE * SIDE; i++) {
        sum += ((const double *)data)[i];
    }
    say(sum == (double)SIDE * SIDE * SIDE, "a product of ones outlives its engine and sums to %.0f", sum);

    must(tnr_engine_create(heap, NULL, &engine));
    tnr_tensor *fresh = product(engine, ones);
    say(address_of(fresh) != block, "a new engine's product does not get its block");
    must(tnr_tensor_release(&old));
    say_pool(engine, "after the old output goes,", 0, 0);
    must(tnr_tensor_release(&fresh));
    must(tnr_engine_destroy(&engine));
    must(tnr_tensor_release(&ones));
}

/* ---- Sixth stop: a domain of one's own --------------------------------------------------------------------------- */

/* Memory that the host may touch only through a mapping. Blocks are numbers: their bytes are elsewhere. */
typedef struct shared_memory {
    unsigned char *bytes;
    uint64_t capacity;
    uint64_t used;
} shared_memory;

enum { SHARED_BYTES = 4096, SHARED_UNIT = 64 };

static tnr_status shared_open(void *state, const void *config)
{
    shared_memory *const shared = state;
    shared->bytes = *(unsigned char *const *)config;
    shared->capacity = SHARED_BYTES;
    return TNR_OK;
}

static tnr_status shared_allocate(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    shared_memory *const shared = state;
    const uint64_t unit = alignment > SHARED_UNIT ? alignment : SHARED_UNIT;
    const uint64_t begin = (shared->used + unit - 1) / unit * unit;
    if (begin > shared->capacity || bytes > shared->capacity - begin) {
        return tnr_set_error(TNR_ERR_MEMORY, "shared: no room left");
    }
    shared->used = begin + bytes;
    block->address = NULL;
    block->bytes = bytes;
    block->tag = begin;
    return TNR_OK;
}

static void shared_release(void *state, const tnr_block *block)
{
    (void)state; /* nothing comes back before the end */
    (void)block;
}

static tnr_status shared_map(void *state, const tnr_block *block, tnr_map_mode mode, void **host)
{
    (void)mode;
    *host = ((shared_memory *)state)->bytes + block->tag;
    return TNR_OK;
}

static tnr_status shared_unmap(void *state, const tnr_block *block, tnr_map_mode mode, void *host)
{
    (void)state;
    (void)block;
    (void)mode;
    (void)host;
    return TNR_OK;
}

static const tnr_domain_ops shared_ops = {
    .size = sizeof(shared_memory),
    .name = "shared",
    .open = shared_open,
    .allocate = shared_allocate,
    .release = shared_release,
    .map = shared_map,
    .unmap = shared_unmap,
};

static void say_four(const char *what, const tnr_tensor *tensor, double step)
{
    double value[4];
    const tnr_view view = view_of(tensor);
    read_four(&view, value);
    say(value[0] == step && value[1] == 2 * step && value[2] == 3 * step && value[3] == 4 * step, "%s [%g, %g, %g, %g]",
        what, value[0], value[1], value[2], value[3]);
}

static void own_domain(tnr_domain *heap)
{
    static const double row_major[4] = {1.0, 3.0, 2.0, 4.0};
    const int64_t shape[2] = {2, 2};
    unsigned char *bytes = aligned_alloc(SHARED_UNIT, SHARED_BYTES);
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    tnr_domain *shared = NULL;
    tnr_tensor *tensor = NULL;
    tnr_tensor *copy = NULL;
    title("A domain of one's own");
    if (bytes == NULL) {
        exit(1);
    }
    config.ops = &shared_ops;
    config.config = &bytes;
    config.placement.kind = TNR_MEMORY_MANAGED;
    config.access = TNR_ACCESS_MAPPED;
    must(tnr_domain_create(heap, &config, &shared));
    const tnr_domain_id id = tnr_domain_identity(shared);

    must(tnr_tensor_from_row_major(shared, TNR_F64, 2, shape, row_major, sizeof row_major, &tensor));
    tnr_tensor_info info = info_of(tensor);
    say(id.serial != 0 && tnr_domain_id_equal(info.domain, id) && info.allocation == 1 &&
            info.placement.kind == TNR_MEMORY_MANAGED,
        "a tensor of a shared, managed domain has the domain's id and allocation %llu",
        (unsigned long long)info.allocation);

    const void *data = NULL;
    const tnr_status refused = tnr_tensor_host_data(tensor, &data);
    say(refused == TNR_ERR_RESIDENCY && data == NULL && strstr(tnr_last_error(), "tnr_map_read") != NULL,
        "host_data is refused (%s), and the text names the call to make: tnr_map_read", tnr_status_name(refused));
    say_four("a mapping reads", tensor, 1.0);

    const tnr_view view = view_of(tensor);
    must(tnr_tensor_duplicate(&view, shared, &copy));
    info = info_of(copy);
    say(tnr_domain_id_equal(info.domain, id) && info.allocation == 2,
        "a copy inside it has the same domain and allocation %llu", (unsigned long long)info.allocation);

    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *engine = NULL;
    tnr_tensor *sum = NULL;
    options.output = shared;
    must(tnr_engine_create(heap, &options, &engine));
    const tnr_view other = view_of(copy);
    must(tnr_add(engine, &view, &other, &sum));
    say(tnr_domain_id_equal(info_of(sum).domain, id), "add works in it, and its output lies there");
    say_four("the output reads", sum, 2.0);

    must(tnr_tensor_release(&sum));
    must(tnr_engine_destroy(&engine));
    must(tnr_tensor_release(&copy));
    must(tnr_tensor_release(&tensor));
    must(tnr_domain_close(&shared));
    free(bytes);
}

/* ---- Last stop: out and back ------------------------------------------------------------------------------------- */

static void out_and_back(tnr_domain *heap)
{
    tnr_engine *engine = NULL;
    tnr_exported exported;
    title("Out and back");
    tnr_tensor *ones = filled(heap, 2, square, 1.0);
    must(tnr_engine_create(heap, NULL, &engine));
    tnr_tensor *result = product(engine, ones);
    const uintptr_t block = address_of(result);
    must(tnr_tensor_export(&result, &exported));
    say_pool(engine, "after a product is exported,", 0, 0);
    must(tnr_tensor_import(heap, &exported, &result));
    must(tnr_tensor_reclaim(tnr_engine_pool(engine), &result));
    say_pool(engine, "after it is reclaimed,", 1, PRODUCT_BYTES);
    result = product(engine, ones);
    say(address_of(result) == block, "and the next product gets its block");
    must(tnr_tensor_release(&result));
    must(tnr_engine_destroy(&engine));
    must(tnr_tensor_release(&ones));
}

int main(void)
{
    tnr_domain *heap = NULL;
    must(tnr_check_build());
    must(tnr_heap_create(&heap));
    (void)printf("What happens to storage\n");
    one_owner(heap);
    many_owners(heap);
    two_writers(heap);
    outputs_recycle(heap);
    outlive_engine(heap);
    own_domain(heap);
    out_and_back(heap);
    title("The end");
    const tnr_status closed = tnr_domain_close(&heap);
    say(closed == TNR_OK, "nothing is left: the heap closes (%s)", tnr_status_name(closed));
    return broken == 0 ? 0 : 1;
}
