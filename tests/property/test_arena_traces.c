/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much room an arena needs beyond what is out: recorded traces of examples/denoise and examples/hosvd (programs/record.c), several of
 * each at one time in random turns, in 1.20 times the most bytes that are ever out; and the worst that is known for allocators that do not
 * move blocks, after Robson, "Bounds for some functions concerning dynamic storage allocation", J. ACM 21 (1974), beside his bound.
 *
 * TENURE_TEST_STEPS: calls of each replay (300000; the test property_arena_traces_long makes 10^7). TENURE_TEST_SEED sets the seed.
 */
#include <time.h>

#include "support/storage_test.h"

/* What one program may need, and several in one arena whose few large blocks come and go at unrelated times. */
#define ROOM 1.20
#define TOGETHER 1.40

enum { MOST_EVENTS = 4096, MOST_PROGRAMS = 8 };

static uint64_t random_state;

/* SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static uint64_t draw(uint64_t below)
{
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((z ^ (z >> 31)) >> 11) % below;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- Recorded ------------------------------------------------------------------------------------------------------------------ */

typedef struct trace {
    int events;
    int blocks;                  /* numbered from 1 */
    int number[MOST_EVENTS];     /* of the block; negative: it comes back */
    uint64_t bytes[MOST_EVENTS]; /* by number */
} trace;

static void trace_read(const char *name, trace *t)
{
    char path[512];
    const char *source = getenv("TENURE_SOURCE_DIR");
    (void)snprintf(path, sizeof path, "%s/tests/data/%s", source != NULL ? source : ".", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[64];
    memset(t, 0, sizeof *t);
    while (fgets(line, sizeof line, file) != NULL && t->events < MOST_EVENTS) {
        char *at = line + 1;
        const int number = (int)strtol(at, &at, 10);
        assert_true(number > 0 && number < MOST_EVENTS && (line[0] == '+' || line[0] == '-'));
        if (line[0] == '+') {
            t->bytes[number] = strtoull(at, NULL, 10);
            t->blocks = number;
        }
        t->number[t->events++] = line[0] == '+' ? number : -number;
    }
    (void)fclose(file);
    assert_true(t->events > 20 && t->events < MOST_EVENTS && t->events % 2 == 0);
}

/* Several programs of one trace; each starts anew when it is through. */
typedef struct replay {
    const trace *t;
    int programs;
    int next[MOST_PROGRAMS];
    tnr_block *blocks; /* programs * MOST_EVENTS */
    uint64_t out;      /* bytes that are asked for and out */
    uint64_t most;
} replay;

static void replay_begin(replay *r, uint64_t seed)
{
    random_state = seed;
    r->out = 0;
    memset(r->next, 0, sizeof r->next);
}

/* One call of one of the programs. arena NULL: only counted. */
static tnr_status step(replay *r, tnr_domain *arena)
{
    const int program = (int)draw((uint64_t)r->programs);
    const int number = r->t->number[r->next[program]];
    r->next[program] = (r->next[program] + 1) % r->t->events;
    tnr_block *block = &r->blocks[program * MOST_EVENTS + abs(number)];
    if (number > 0) {
        r->out += r->t->bytes[number];
        r->most = r->out > r->most ? r->out : r->most;
        return arena != NULL ? tnr_domain_allocate(arena, r->t->bytes[number], 0, block) : TNR_OK;
    }
    r->out -= r->t->bytes[-number];
    return arena != NULL ? tnr_domain_release(arena, block) : TNR_OK;
}

static bool runs_in(replay *r, uint64_t bytes, uint64_t steps, uint64_t seed)
{
    static _Alignas(64) unsigned char control[1 << 20];
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    tnr_domain *arena = NULL;
    options.control = control;
    options.control_bytes = sizeof control;
    options.max_blocks = (uint64_t)r->programs * (uint64_t)r->t->blocks;
    unsigned char *region = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(region);
    OK(tnr_arena_create(region, bytes, &options, &arena));
    tnr_status status = TNR_OK;
    replay_begin(r, seed);
    for (uint64_t i = 0; i < steps && status == TNR_OK; i++) {
        status = step(r, arena);
    }
    OK(tnr_arena_check(arena));
    OK(tnr_arena_reset(arena));
    OK(tnr_domain_close(&arena));
    free(region);
    assert_true(status == TNR_OK || status == TNR_ERR_MEMORY);
    return status == TNR_OK;
}

static void replay_all(const char *name, const trace *t, uint64_t steps)
{
    const uint64_t seed = number_of("TENURE_TEST_SEED", 20240611);
    for (int programs = 1; programs <= MOST_PROGRAMS; programs *= 2) {
        replay r = {.t = t, .programs = programs};
        r.blocks = calloc((size_t)programs * MOST_EVENTS, sizeof *r.blocks);
        assert_non_null(r.blocks);
        replay_begin(&r, seed);
        for (uint64_t i = 0; i < steps; i++) {
            (void)step(&r, NULL);
        }
        const uint64_t most = r.most;
        const double room = programs == 1 ? ROOM : TOGETHER;
        double least = 1.0; /* where the edge is, roundly: for the reader */
        while (least < room && !runs_in(&r, (uint64_t)((double)most * least), steps / 10, seed)) {
            least += 0.02;
        }
        print_message("%s, %d at one time: %llu bytes at most; a tenth of the calls runs in %.2f of them, all in %.2f; seed %llu\n",
                      name, programs, (unsigned long long)most, least, room, (unsigned long long)seed);
        assert_true(runs_in(&r, (uint64_t)((double)most * room), steps, seed));
        free(r.blocks);
    }
}

static void recorded_traces(void **state)
{
    (void)state;
    static trace t;
    const uint64_t steps = number_of("TENURE_TEST_STEPS", 300000);
    trace_read("trace_denoise.txt", &t);
    replay_all("denoise", &t, steps);
    trace_read("trace_hosvd.txt", &t);
    replay_all("hosvd", &t, steps);
}

/* ---- Robson's ------------------------------------------------------------------------------------------------------------------- */

enum { UNIT = 64, LIVE = 1 << 14, SIZES = 8 }; /* units that may be out; sizes 1, 2, ..., 2^SIZES units */

typedef struct piece {
    tnr_block block;
    uint64_t first; /* unit in the region */
    uint64_t units;
    bool out;
} piece;

static piece pieces[2 * LIVE];
static int piece_count;

/* Does it have a unit at a place of that residue? */
static bool covers(const piece *p, uint64_t residue, uint64_t modulus)
{
    const uint64_t ahead = (residue + modulus - p->first % modulus) % modulus;
    return ahead < p->units;
}

/* Blocks that stay lie over places one step apart; the next ones are too large for what is between. */
static void robson(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char control[8 << 20];
    const uint64_t region_units = (uint64_t)LIVE * 2 * (SIZES + 1);
    unsigned char *region = aligned_alloc(UNIT, (size_t)region_units * UNIT);
    assert_non_null(region);
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    tnr_domain *arena = NULL;
    options.control = control;
    options.control_bytes = sizeof control;
    options.max_blocks = LIVE;
    OK(tnr_arena_create(region, region_units * UNIT, &options, &arena));
    uint64_t out = 0;
    uint64_t low_end = 0;               /* the arena fills from both ends: units up to here, */
    uint64_t high_begin = region_units; /* and from here on */
    uint64_t residue = 0;
    piece_count = 0;
    for (int size = 0; size <= SIZES; size++) {
        const uint64_t units = UINT64_C(1) << size;
        if (size > 0) { /* of the two places that go on from the last one, that which keeps more apart with less */
            uint64_t kept[2] = {0, 0};
            for (int choice = 0; choice < 2; choice++) {
                for (int i = 0; i < piece_count; i++) {
                    if (pieces[i].out && covers(&pieces[i], residue + (uint64_t)choice * units / 2, units)) {
                        kept[choice] += units - pieces[i].units;
                    }
                }
            }
            residue += kept[1] > kept[0] ? units / 2 : 0;
            for (int i = 0; i < piece_count; i++) {
                if (pieces[i].out && !covers(&pieces[i], residue, units)) {
                    OK(tnr_domain_release(arena, &pieces[i].block));
                    pieces[i].out = false;
                    out -= pieces[i].units;
                }
            }
        }
        while (out + units <= LIVE) {
            piece *p = &pieces[piece_count++];
            assert_true(piece_count < 2 * LIVE);
            OK(tnr_domain_allocate(arena, units * UNIT, 0, &p->block));
            p->first = (uint64_t)((unsigned char *)p->block.address - region) / UNIT;
            p->units = units;
            p->out = true;
            out += units;
            if (p->first < region_units / 2) {
                low_end = p->first + units > low_end ? p->first + units : low_end;
            } else {
                high_begin = p->first < high_begin ? p->first : high_begin;
            }
        }
    }
    const double used = (double)(low_end + region_units - high_begin) / LIVE;
    const double bound = 0.5 * SIZES + 1.0 - (double)((1 << SIZES) - 1) / LIVE;
    print_message("sizes 1 to %d, %d units out at most: %.3f of them in use; no allocator can do with less than %.3f against the worst "
                  "trace\n", 1 << SIZES, LIVE, used, bound);
    assert_true(used >= 1.0 && used <= 2.0 * (0.5 * SIZES + 1.0)); /* twice the bound would be a fault of the placement */
    OK(tnr_arena_check(arena));
    OK(tnr_arena_reset(arena));
    OK(tnr_domain_close(&arena));
    free(region);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_traces), cmocka_unit_test(robson)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
