/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounded memory, the whole of it: after a machine was made in an arena, a million mixed calls from two threads, each with an engine of its
 * own, ask neither the C library nor the system for memory: every operation of the catalogue in both forms and all its dtypes,
 * contractions, einsum, plans, groups, tensors, copies, mappings, and calls that are refused. The process has as many pages at the end as
 * after the first round.
 *
 * TENURE_TEST_STEPS: calls of each thread (500000; less under sanitizers). TENURE_TEST_SEED sets the seed.
 */
#define _GNU_SOURCE /* sched_yield, mmap's flags */
#define WATCH_SYSTEM

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/storage_test.h"

#include "support/heap_watch.h"

#include "catalogue/catalogue.h"

enum {
    THREADS = 2,
    EACH = 3, /* uses of an operation with one dtype */
    LIMIT = 8,
    MOST_CALLS = 2048,
    NODE_BYTES = 96 << 20,
    ARENA_BYTES = 96 << 20,
    HOME_BYTES = 4 << 20,
    STACK_TOUCHED = 400 << 10
};

#if defined(WATCH_BY_HOOKS)
enum { STEPS = 5000 };
#else
enum { STEPS = 500000 };
#endif

/* One use of an operation, its operands and its output, made before the watch begins. */
typedef struct use {
    catalogue_call call;
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    tnr_view views[CATALOGUE_INPUTS];
} use;

typedef struct caller {
    tnr_engine *engine;
    tnr_domain *arena; /* where its operands are, and tensors of its own */
    use *uses;
    int count;
    uint64_t steps;
    uint64_t calls;
    uint64_t refused;
    catalogue_random random;
    tnr_tensor *square;
    tnr_view view;
    pthread_t thread;
} caller;

static atomic_int rounds_to_do; /* 1: each use once; 2: the million */
static atomic_int done;

/* ---- Calls ------------------------------------------------------------------------------------------------------------------- */

/* Statuses are looked at without cmocka, whose texts are formatted in memory of the C library. */
static void must(caller *own, tnr_status expected, tnr_status found, const char *what)
{
    own->calls++;
    own->refused += expected != TNR_OK ? 1U : 0U;
    if (found != expected) {
        fprintf(stderr, "%s answered %s, expected %s: %s\n", what, tnr_status_name(found), tnr_status_name(expected),
                tnr_last_error());
        abort();
    }
}

#define DO(call) must(own, TNR_OK, call, #call)
#define REFUSE(status, call) must(own, status, call, #call)

static void run_use(caller *own, use *it, bool into)
{
    const catalogue_op *op = it->call.op;
    const bool makes = op->make != NULL && !it->call.reads_output;
    if ((into || !makes) && op->into != NULL) {
        must(own, TNR_OK, op->into(own->engine, &it->call, it->views, &it->output.view), op->name);
    } else if (makes) {
        tnr_tensor *made = NULL;
        must(own, TNR_OK, op->make(own->engine, &it->call, it->views, &made), op->name);
        DO(tnr_tensor_release(&made));
    }
}

static void plans_and_einsum(caller *own)
{
    const tnr_view *const list[3] = {&own->view, &own->view, &own->view};
    tnr_plan *plan = NULL;
    tnr_tensor *made = NULL;
    DO(tnr_plan_einsum(own->engine, "ab,bc,cd->ad", list, 3, NULL, NULL, &plan));
    DO(tnr_plan_run(plan, list, 3, &made));
    DO(tnr_plan_destroy(&plan));
    DO(tnr_tensor_release(&made));
    DO(tnr_einsum(own->engine, "ab,bc,cd->ad", list, 3, NULL, &made));
    DO(tnr_tensor_release(&made));
    DO(tnr_contract(own->engine, &own->view, "ab", &own->view, "cb", "ca", NULL, &made));
    DO(tnr_tensor_release(&made));
}

static void groups(caller *own)
{
    tnr_group *group = NULL;
    tnr_tensor *tensor = NULL;
    tnr_tensor *copy = NULL;
    tnr_slot slots[3];
    tnr_view view;
    DO(tnr_group_create(own->arena, &group));
    for (int i = 0; i < 3; i++) {
        DO(tnr_tensor_zeros(own->arena, TNR_F64, 1, SHAPE(10 + i), &tensor));
        DO(tnr_group_append(group, &tensor, &slots[i]));
    }
    DO(tnr_group_view(group, slots[1], &view));
    DO(tnr_tensor_duplicate(&view, own->arena, &copy));
    DO(tnr_group_take(group, slots[1], &tensor));
    REFUSE(TNR_ERR_VACANT, tnr_group_view(group, slots[1], &view));
    DO(tnr_tensor_release(&tensor));
    DO(tnr_tensor_release(&copy));
    DO(tnr_group_release(&group));
    REFUSE(TNR_ERR_STALE, tnr_tensor_duplicate(&view, own->arena, &copy)); /* its owner is gone */
}

static void refusals(caller *own)
{
    tnr_tensor *made = NULL;
    tnr_view part;
    tnr_read_map map;
    tnr_plan *plan = NULL;
    tnr_block block;
    DO(tnr_view_slice_axis(&own->view, 0, (tnr_range){0, 3, 1}, &part));
    REFUSE(TNR_ERR_SHAPE, tnr_add(own->engine, &own->view, &part, &made));
    REFUSE(TNR_ERR_ARGUMENT, tnr_add(own->engine, NULL, &part, &made));
    REFUSE(TNR_ERR_BOUNDS, tnr_view_select(&own->view, 0, 1 << 20, &part));
    REFUSE(TNR_ERR_ARGUMENT,
           tnr_einsum(own->engine, "ab,bc", (const tnr_view *const[]){&own->view, &own->view}, 2, NULL, &made));
    REFUSE(TNR_ERR_SHAPE, tnr_plan_contract(own->engine, &own->view, "abc", &own->view, "bc", NULL, "ac", NULL, &plan));
    REFUSE(TNR_ERR_MEMORY, tnr_tensor_zeros(own->arena, TNR_F64, 1, SHAPE(ARENA_BYTES), &made));
    REFUSE(TNR_ERR_MEMORY, tnr_domain_allocate(own->arena, UINT64_C(1) << 40, 0, &block));
    DO(tnr_map_read(&own->view, &map));
    REFUSE(TNR_ERR_BUSY, tnr_tensor_release(&own->square));
    DO(tnr_unmap_read(&map));
}

static void blocks_and_pools(caller *own)
{
    tnr_block block[4];
    for (int i = 0; i < 4; i++) {
        DO(tnr_domain_allocate(i % 2 ? own->arena : tnr_engine_pool(own->engine), 100U + 1000U * (unsigned)i, 0,
                               &block[i]));
    }
    for (int i = 3; i >= 0; i--) {
        DO(tnr_domain_release(i % 2 ? own->arena : tnr_engine_pool(own->engine), &block[i]));
    }
    REFUSE(TNR_ERR_STALE, tnr_domain_release(own->arena, &block[1]));
}

static void touch_stack(void)
{
    volatile char room[STACK_TOUCHED];
    for (size_t i = 0; i < sizeof room; i += 512) {
        room[i] = 1;
    }
}

static void *work(void *argument)
{
    caller *own = argument;
    touch_stack();
    while (atomic_load(&rounds_to_do) < 1) {
        sched_yield();
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < own->count; i++) {
            run_use(own, &own->uses[i], false);
            run_use(own, &own->uses[i], true);
        }
        plans_and_einsum(own);
        groups(own);
        refusals(own);
        blocks_and_pools(own);
    }
    own->calls = 0;
    own->refused = 0;
    atomic_fetch_add(&done, 1);
    while (atomic_load(&rounds_to_do) < 2) {
        sched_yield();
    }
    while (own->calls < own->steps) {
        for (int i = 0; i < 40; i++) {
            const uint64_t drawn = catalogue_next(&own->random);
            run_use(own, &own->uses[(drawn >> 8) % (uint64_t)own->count], (drawn & 1U) != 0);
        }
        plans_and_einsum(own);
        groups(own);
        refusals(own);
        blocks_and_pools(own);
    }
    atomic_fetch_add(&done, 1);
    while (atomic_load(&rounds_to_do) < 3) { /* its stack goes when all is counted */
        sched_yield();
    }
    return NULL;
}

/* ---- Before and after --------------------------------------------------------------------------------------------------------- */

static void make_uses(caller *own)
{
    const catalogue_op *op;
    own->uses = calloc(MOST_CALLS, sizeof *own->uses);
    assert_non_null(own->uses);
    for (int o = 0; (op = catalogue_op_at(o)) != NULL; o++) {
        for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; dtype++) {
            for (int i = 0; i < EACH && (op->dtypes & CATALOGUE_BIT(dtype)) != 0; i++) {
                assert_true(own->count < MOST_CALLS);
                use *it = &own->uses[own->count++];
                it->call = catalogue_choose(&own->random, op, (tnr_dtype)dtype, LIMIT);
                for (int k = 0; k < op->arity; k++) {
                    catalogue_input_make(&own->random, own->arena, &it->call, k, op->layouts, false, &it->inputs[k]);
                    it->views[k] = it->inputs[k].view.view;
                }
                catalogue_output_make(&own->random, own->arena, &it->call, CATALOGUE_VALUES, &it->output);
            }
        }
    }
}

static void free_uses(caller *own)
{
    for (int i = 0; i < own->count; i++) {
        for (int k = 0; k < own->uses[i].call.op->arity; k++) {
            catalogue_operand_free(&own->uses[i].inputs[k]);
        }
        catalogue_operand_free(&own->uses[i].output);
    }
    free(own->uses);
}

typedef struct pages {
    long mapped;
    long resident;
} pages;

/* Of the process, without asking the C library for anything. */
static pages pages_now(void)
{
    pages found = {0, 0};
    char text[128];
    const int file = open("/proc/self/statm", O_RDONLY);
    if (file >= 0) {
        const ssize_t length = read(file, text, sizeof text - 1);
        (void)close(file);
        if (length > 0) {
            text[length] = '\0';
            char *end = text;
            found.mapped = strtol(text, &end, 10);
            found.resident = strtol(end, NULL, 10);
        }
    }
    return found;
}

static uint64_t steps_wanted(void)
{
    const char *text = getenv("TENURE_TEST_STEPS");
    return text != NULL ? strtoull(text, NULL, 10) : STEPS;
}

static unsigned char *touched_region(size_t bytes)
{
    unsigned char *region = aligned_alloc(64, bytes);
    assert_non_null(region);
    memset(region, 0, bytes);
    return region;
}

static void wait_for(int count)
{
    while (atomic_load(&done) < count) {
        sched_yield();
    }
}

static void a_million_calls_ask_nobody(void **state)
{
    (void)state;
#if defined(TNRI_SANITIZED)
    print_message("a sanitizer's own memory is counted as the library's\n");
    skip();
#endif
    if (!watch()) {
        print_message("the C library's allocator cannot be watched here\n");
        skip();
    }
    unsigned char *places[2] = {touched_region(HOME_BYTES), touched_region(ARENA_BYTES)};
    tnr_domain *home = NULL;
    tnr_domain *arena = NULL;
    tnr_topology *topology = NULL;
    tnr_machine *machine = NULL;
    caller callers[THREADS];
    memset(callers, 0, sizeof callers);
    OK(tnr_arena_create(places[0], HOME_BYTES, NULL, &home));
    OK(tnr_topology_create(home, NULL, &topology));
    tnr_numa_options memory = TNR_NUMA_OPTIONS;
    memory.best_effort = true;
    memory.prefault = true;
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    options.memory = &memory;
    options.arena_bytes = NODE_BYTES;
    OK(tnr_machine_create(home, topology, &options, &machine));
    OK(tnr_machine_engine(machine, TNR_NONE, &callers[0].engine));
    callers[0].arena = tnr_engine_pool(callers[0].engine);

    OK(tnr_arena_create(places[1], ARENA_BYTES, NULL, &arena));
    OK(tnr_engine_create(arena, NULL, &callers[1].engine));
    callers[1].arena = arena;
    for (int i = 0; i < THREADS; i++) {
        caller *own = &callers[i];
        own->steps = steps_wanted();
        own->random = catalogue_seed(71 + (uint64_t)i);
        make_uses(own);
        OK(tnr_tensor_zeros(own->arena, TNR_F64, 2, SHAPE(24, 24), &own->square));
        own->view = view_of(own->square);
        assert_int_equal(pthread_create(&own->thread, NULL, work, own), 0);
    }
    OK(tnr_arena_seal(home));
    OK(tnr_arena_seal(arena));

    const unsigned long calls = library_calls;
    atomic_store(&rounds_to_do, 1);
    wait_for(THREADS);
    const pages before = pages_now();
    atomic_store(&rounds_to_do, 2);
    long most = before.resident;
    while (atomic_load(&done) < 2 * THREADS) {
        for (int i = 0; i < 1000; i++) {
            sched_yield();
        }
        const pages now = pages_now();
        most = now.resident > most ? now.resident : most;
    }
    const pages after = pages_now();
    const unsigned long more = library_calls - calls;
    atomic_store(&rounds_to_do, 3);

    uint64_t made = 0;
    uint64_t refused = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        made += callers[i].calls;
        refused += callers[i].refused;
    }
    print_message(
        "%llu calls, %llu of them refused, by %d threads, %d uses of operations each; %lu calls of the C library's "
        "allocator%s; %ld pages mapped before and %ld after, %ld resident before, %ld at most\n",
        (unsigned long long)made, (unsigned long long)refused, THREADS, callers[0].count, more,
        system_watched ? " or of mmap, munmap, mremap, brk, sbrk" : "", before.mapped, after.mapped, before.resident,
        most);
    assert_int_equal(more, 0);
    assert_true(made >= THREADS * steps_wanted());
#if !defined(WATCH_BY_HOOKS) /* a sanitizer's own memory grows */
    assert_int_equal(before.mapped, after.mapped);
    assert_true(before.resident > 0);
    assert_true(most <= before.resident);
#endif

    for (int i = 0; i < THREADS; i++) {
        free_uses(&callers[i]);
        OK(tnr_tensor_release(&callers[i].square));
    }
    OK(tnr_engine_destroy(&callers[1].engine));
    OK(tnr_arena_check(arena));
    close_domain(&arena);
    OK(tnr_machine_destroy(&machine));
    OK(tnr_topology_destroy(&topology));
    close_domain(&home);
    free(places[0]);
    free(places[1]);
}

#if !defined(WATCH_BY_HOOKS) && defined(__GLIBC__)
/* Whoever maps memory is seen. */
static void the_watch_sees_the_system(void **state)
{
    (void)state;
    const unsigned long before = own_calls;
    void *const page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(munmap(page, 4096), 0);
    assert_ptr_equal(sbrk(0), (void *)-1); /* NOLINT */
    assert_int_equal(own_calls - before, 3);
    /* A node's domain does. */
    tnr_domain *heap = make_heap();
    tnr_topology *topology = NULL;
    tnr_machine *machine = NULL;
    tnr_domain *memory = NULL;
    tnr_block block;
    OK(tnr_topology_create(heap, NULL, &topology));
    OK(tnr_machine_create(heap, topology, NULL, &machine));
    OK(tnr_machine_domain(machine, TNR_NONE, &memory));
    const unsigned long made = own_calls;
    OK(tnr_domain_allocate(memory, 100, 0, &block));
    assert_true(own_calls > made);
    OK(tnr_domain_release(memory, &block));
    OK(tnr_machine_destroy(&machine));
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watch_sees_an_allocation),
#if !defined(WATCH_BY_HOOKS) && defined(__GLIBC__)
        cmocka_unit_test(the_watch_sees_the_system),
#endif
        cmocka_unit_test(a_million_calls_ask_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
