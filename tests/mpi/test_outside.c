/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3
 * transports: tcp nocma
 * Bounded memory with ranks: world, engine, operands and prepared exchanges in one sealed arena; then a million mixed calls on each rank,
 * exchanges among them, and not one of ours asks the C library or the system for memory. Calls made inside of MPI are counted apart. */
#define _GNU_SOURCE /* mmap's flags */
#define WATCH_SYSTEM

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ranks.h"

#include "support/heap_watch.h"

#if defined(WATCH_BY_HOOKS)
enum { ROUNDS = 100 };
#else
enum { ROUNDS = 7000 };
#endif
enum { ARENA_BYTES = 32 << 20, PLANES = 6, SIDE = 8, OPERATIONS = 48 };

typedef struct scene {
    tnr_domain *arena;
    tnr_world *world;
    tnr_engine *engine;
    tnr_tensor *field;
    tnr_tensor *other;
    tnr_exchange *exchange;
    double *data;
    uint64_t calls;
    uint64_t refused;
} scene;

#define DO(call) (s->calls++, ask_ok((call), #call, __LINE__))
#define REFUSE(status, call) (s->calls++, s->refused++, ask((call), (status), #call, __LINE__))

static void ask(tnr_status found, tnr_status expected, const char *call, int line)
{
    if (found != expected) {
        ranks_fail(__FILE__, line, "%s: %s, not %s: %s", call, tnr_status_name(found), tnr_status_name(expected),
                   tnr_last_error());
    }
}

static void ask_ok(tnr_status found, const char *call, int line) { ask(found, TNR_OK, call, line); }

/* One ghost plane at each end of an axis, periodic over the ranks. */
static void prepare(scene *s, int axis)
{
    const int next = (ranks_me + 1) % ranks_size;
    const int last = (ranks_me + ranks_size - 1) % ranks_size;
    const int64_t shape[3] = {axis == 0 ? PLANES : SIDE, axis == 1 ? PLANES : SIDE, axis == 2 ? PLANES : SIDE};
    const int64_t at[4] = {0, 1, PLANES - 2, PLANES - 1};
    tnr_view_mut all;
    tnr_view_mut layers[4];
    void *data;
    CHECK_OK(tnr_tensor_zeros(s->arena, TNR_F64, 3, shape, &s->field));
    CHECK_OK(tnr_tensor_zeros(s->arena, TNR_F64, 3, shape, &s->other));
    CHECK_OK(tnr_tensor_host_data_mut(s->field, &data));
    s->data = data;
    CHECK_OK(tnr_tensor_view_mut(s->field, &all));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(tnr_view_mut_slice_axis(&all, axis, (tnr_range){at[i], at[i] + 1, 1}, &layers[i]));
    }
    const tnr_exchange_part parts[] = {{next, 0, &layers[2].view, NULL},
                                       {last, 1, &layers[1].view, NULL},
                                       {last, 0, NULL, &layers[0]},
                                       {next, 1, NULL, &layers[3]}};
    CHECK_OK(tnr_exchange_prepare(s->world, parts, 4, &s->exchange));
}

static void exchange_once(scene *s, int round)
{
    if (round % 2 == 0) {
        DO(tnr_exchange_run(s->exchange));
        return;
    }
    tnr_tensor *field = s->field;
    DO(tnr_exchange_start(s->exchange));
    REFUSE(TNR_ERR_BUSY, tnr_exchange_start(s->exchange));
    REFUSE(TNR_ERR_BUSY, tnr_tensor_release(&field));
    DO(tnr_exchange_wait(s->exchange));
}

static void compute(scene *s)
{
    tnr_view field;
    tnr_view other;
    tnr_view_mut out;
    tnr_tensor *made = NULL;
    const int axes[2] = {0, 2};
    DO(tnr_tensor_view(s->field, &field));
    DO(tnr_tensor_view(s->other, &other));
    DO(tnr_tensor_view_mut(s->other, &out));
    for (int i = 0; i < OPERATIONS / 8; i++) {
        DO(tnr_add_into(s->engine, &field, &other, &out));
        DO(tnr_sum(s->engine, &field, axes, 2, &made));
        DO(tnr_tensor_release(&made));
        DO(tnr_contract(s->engine, &field, "abc", &other, "adc", "bd", NULL, &made));
        DO(tnr_tensor_release(&made));
        DO(tnr_tanh(s->engine, &other, &made));
        DO(tnr_tensor_release(&made));
        REFUSE(TNR_ERR_SHAPE, tnr_contract(s->engine, &field, "ab", &other, "adc", "bd", NULL, &made));
    }
}

static void run_with(const tnr_world_options *options, int axis)
{
    unsigned char *region = aligned_alloc(64, ARENA_BYTES);
    CHECK(region != NULL);
    memset(region, 0, ARENA_BYTES);
    scene made = {0};
    scene *s = &made;
    tnr_world *none = NULL;
    CHECK_OK(tnr_arena_create(region, ARENA_BYTES, NULL, &s->arena));
    CHECK_OK(tnr_world_create(s->arena, MPI_COMM_WORLD, options, &s->world));
    CHECK_OK(tnr_engine_create(s->arena, NULL, &s->engine));
    prepare(s, axis);
    CHECK_OK(tnr_arena_seal(s->arena));
    CHECK_STATUS(TNR_ERR_UNSUPPORTED, tnr_world_create(s->arena, MPI_COMM_WORLD, options, &none));
    CHECK_TEXT("is sealed");
    CHECK(none == NULL);
    CHECK_OK(tnr_world_barrier(s->world));

    const unsigned long ours = own_calls;
    const unsigned long all = library_calls;
    for (int round = 0; round < ROUNDS; round++) {
        compute(s);
        const int64_t place = axis == 0 ? 1 : axis == 1 ? SIDE : SIDE * SIDE; /* first element of the first plane that is sent */
        s->data[place] = ranks_me + round;
        exchange_once(s, round);
        const int64_t ghost = place * (PLANES - 1);
        if (s->data[ghost] != (ranks_me + 1) % ranks_size + round) {
            ranks_fail(__FILE__, __LINE__, "round %d: the ghost is %g", round, s->data[ghost]);
        }
    }
    const unsigned long more = own_calls - ours;
    const unsigned long inside = library_calls - all - more;
    if (ranks_me == 0) {
        printf("%llu calls, %llu of them refused: %lu calls of the allocator or the system are ours, %lu are made inside of MPI\n",
               (unsigned long long)s->calls, (unsigned long long)s->refused, more, inside);
    }
    CHECK(more == 0);
    CHECK(s->calls >= (uint64_t)ROUNDS * OPERATIONS);
    CHECK_OK(tnr_world_barrier(s->world));
    CHECK_OK(tnr_exchange_destroy(&s->exchange));
    CHECK_OK(tnr_tensor_release(&s->field));
    CHECK_OK(tnr_tensor_release(&s->other));
    CHECK_OK(tnr_engine_destroy(&s->engine));
    CHECK_OK(tnr_world_destroy(&s->world));
    CHECK_OK(tnr_arena_check(s->arena));
    CHECK_OK(tnr_domain_close(&s->arena));
    free(region);
}

static void watch_is_on(void)
{
    CHECK(watch());
    const unsigned long before = library_calls;
    void *volatile place = malloc(100);
    CHECK(library_calls > before);
    free(place);
}

static void shared_memory(void)
{
    const tnr_world_options options = TNR_WORLD_OPTIONS;
    run_with(&options, 0);
}

static void derived_types(void)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.no_shared = true;
    options.derived_run_bytes = 2;
    run_with(&options, 1);
}

static void packed(void)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.no_shared = true;
    options.derived_run_bytes = UINT64_MAX;
    run_with(&options, 0);
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(watch_is_on),
        RANK_TEST(shared_memory),
        RANK_TEST(derived_types),
        RANK_TEST(packed),
    };
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof tests / sizeof tests[0]);
}
