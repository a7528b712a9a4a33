/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions of every allocate and release of an arena, counted one by one: QEMU runs one instruction in 1024 ns of the board's time
 * (-icount shift=10), and SysTick tells that time to 40 ns. Traces that are hard on allocators of this kind, with 8 to 2048 blocks out: the
 * dearest call of all must stay below what docs/bounded.md says, however many blocks there are and whatever happened before. Public calls,
 * with all their checks.
 *
 * BOARD_TLSF, BOARD_O1HEAP: the same for these allocators, linked in from outside of this repository.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "arena/arena.h"
#include "board.h"
#include "cmocka.h"
#include "tenure/tenure.h"

/* docs/bounded.md says these. */
#define MOST_TAKE 195U
#define MOST_LAST 390U
#define MOST_GIVE 175U
#define MOST_ALIGNED 910U

enum { REGION = 1 << 20, MOST_BLOCKS = 2048, CALLS = 6000, ALIGNMENT = 1024 };

extern const char board_left_out[];
const char board_left_out[] = "";

__attribute__((section(".arena"), aligned(64))) static unsigned char region[REGION];

/* ---- Counting ------------------------------------------------------------------------------------------------------------------ */

#define SYST_CSR (*(volatile uint32_t *)0xE000E010U)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014U)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018U)

static uint32_t overhead;

static inline uint32_t ticks_now(void) { return SYST_CVR; }

/* 25.6 ticks an instruction, counted down from 2^24. */
static uint32_t instructions_between(uint32_t before, uint32_t after)
{
    const uint32_t ticks = (before - after) & 0xFFFFFFU;
    return (ticks * 5U + 64U) / 128U;
}

__attribute__((noinline)) static void nothing(void) { __asm__ volatile(""); }

static void start_counting(void)
{
    SYST_RVR = 0xFFFFFFU;
    SYST_CVR = 0;
    SYST_CSR = 5; /* the processor's clock, no interrupt */
    for (int i = 0; i < 3; ++i) {
        const uint32_t before = ticks_now();
        nothing();
        overhead = instructions_between(before, ticks_now()) - 1; /* the return is the call's own */
    }
}

typedef struct figures {
    uint32_t calls;
    uint32_t sum;
    uint32_t most;
} figures;

static void note(figures *f, uint32_t before, uint32_t after)
{
    const uint32_t instructions = instructions_between(before, after) - overhead;
    f->calls++;
    f->sum += instructions;
    f->most = instructions > f->most ? instructions : f->most;
}

/* ---- Allocators ---------------------------------------------------------------------------------------------------------------- */

typedef struct allocator {
    const char *name;
    void (*start)(uint32_t blocks);
    void (*stop)(void);
    void *(*take)(uint32_t slot, uint32_t bytes); /* NULL: no room */
    void (*give)(uint32_t slot);
    uint32_t least; /* bytes of its smallest step */
} allocator;

static void *pointers[MOST_BLOCKS];
static tnr_block blocks[MOST_BLOCKS];
static tnr_domain *arena;

static void ours_start(uint32_t count)
{
    tnr_arena_options options = TNR_ARENA_OPTIONS;
    options.max_blocks = count;
    assert_int_equal(tnr_arena_create(region, REGION, &options, &arena), TNR_OK);
}

static void ours_stop(void)
{
    assert_int_equal(tnr_arena_check(arena), TNR_OK);
    assert_int_equal(tnr_arena_reset(arena), TNR_OK);
    assert_int_equal(tnr_domain_close(&arena), TNR_OK);
}

static void *ours_take(uint32_t slot, uint32_t bytes)
{
    return tnr_domain_allocate(arena, bytes, 0, &blocks[slot]) == TNR_OK ? blocks[slot].address : NULL;
}

static void *ours_take_aligned(uint32_t slot, uint32_t bytes)
{
    return tnr_domain_allocate(arena, bytes, ALIGNMENT, &blocks[slot]) == TNR_OK ? blocks[slot].address : NULL;
}

static void ours_give(uint32_t slot) { (void)tnr_domain_release(arena, &blocks[slot]); }

#ifdef BOARD_TLSF
void *tlsf_create_with_pool(void *memory, size_t bytes);
void *tlsf_malloc(void *heap, size_t bytes);
void tlsf_free(void *heap, void *pointer);
static void *tlsf;
static void tlsf_start(uint32_t count)
{
    (void)count;
    tlsf = tlsf_create_with_pool(region, REGION);
}
static void *tlsf_take(uint32_t slot, uint32_t bytes) { return pointers[slot] = tlsf_malloc(tlsf, bytes); }
static void tlsf_give(uint32_t slot) { tlsf_free(tlsf, pointers[slot]); }
#endif

#ifdef BOARD_O1HEAP
void *o1heapInit(void *memory, size_t bytes);
void *o1heapAllocate(void *heap, size_t bytes);
void o1heapFree(void *heap, void *pointer);
static void *o1heap;
static void o1heap_start(uint32_t count)
{
    (void)count;
    o1heap = o1heapInit(region, REGION);
}
static void *o1heap_take(uint32_t slot, uint32_t bytes) { return pointers[slot] = o1heapAllocate(o1heap, bytes); }
static void o1heap_give(uint32_t slot) { o1heapFree(o1heap, pointers[slot]); }
#endif

static const allocator allocators[] = {
    {"tenure", ours_start, ours_stop, ours_take, ours_give, 64},
#ifdef BOARD_TLSF
    {"TLSF", tlsf_start, nothing, tlsf_take, tlsf_give, 8},
#endif
#ifdef BOARD_O1HEAP
    {"o1heap", o1heap_start, nothing, o1heap_take, o1heap_give, 16},
#endif
};

/* Other allocators here have no such call. */
static const allocator aligned_allocator = {"tenure", ours_start, ours_stop, ours_take_aligned, ours_give, 64};

/* ---- Traces --------------------------------------------------------------------------------------------------------------------- */

static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % below;
}

typedef struct run {
    const allocator *who;
    uint32_t count;
    bool out[MOST_BLOCKS];
    figures take, give, fail, last;
} run;

static void take(run *r, uint32_t slot, uint32_t bytes)
{
    const uint32_t before = ticks_now();
    const void *block = r->who->take(slot, bytes);
    const uint32_t after = ticks_now();
    note(block != NULL ? &r->take : &r->fail, before, after);
    r->out[slot] = block != NULL;
}

static void give(run *r, uint32_t slot)
{
    const uint32_t before = ticks_now();
    r->who->give(slot);
    note(&r->give, before, ticks_now());
    r->out[slot] = false;
}

static void give_all(run *r)
{
    for (uint32_t slot = 0; slot < r->count; ++slot) {
        if (r->out[slot]) {
            give(r, slot);
        }
    }
}

/* Log-uniform sizes, nearly full: what does not fit is part of it. */
static void mixed(run *r)
{
    const uint32_t mean = REGION / r->count;
    for (uint32_t call = 0; call < CALLS; ++call) {
        const uint32_t slot = draw(r->count);
        if (r->out[slot]) {
            give(r, slot);
        } else {
            const uint32_t most = mean >> draw(6) ? mean >> draw(6) : 1;
            take(r, slot, 1 + draw(3 * (most > 0 ? most : 1)));
        }
    }
    give_all(r);
}

/*
 * Holes of one class, each a little too small, and then requests of that class: searches look at as many as they ever do. Every other
 * block stays, so that releases join on both sides.
 */
static void holes_too_small(run *r)
{
    for (uint32_t units = 70; units < 76 && r->count >= 8; ++units) {
        const uint32_t room = REGION / 2 / r->who->least / units;
        const uint32_t pairs = r->count / 2 < room ? r->count / 2 : room;
        for (uint32_t i = 0; i + 1 < 2 * pairs; i += 2) { /* a hole and what keeps it apart */
            take(r, i, units * r->who->least - r->who->least / 2);
            take(r, i + 1, 1);
        }
        for (uint32_t i = 0; i + 1 < 2 * pairs; i += 2) {
            if (r->out[i]) {
                give(r, i);
            }
        }
        for (uint32_t i = 0; i + 1 < 2 * pairs && i < 40; i += 2) {
            take(r, i, units * r->who->least + 1);
        }
        give_all(r);
    }
}

/* Equal blocks, released so that none, one or both neighbours are free. */
static void comb(run *r)
{
    for (uint32_t round = 0; round < 3; ++round) {
        const uint32_t bytes = REGION / r->count / 2;
        for (uint32_t i = 0; i < r->count; ++i) {
            take(r, i, bytes > 0 ? bytes : 1);
        }
        for (uint32_t first = 0; first < 4; ++first) {
            for (uint32_t i = (first * 3U) % 4U; i < r->count; i += 4) {
                if (r->out[i]) {
                    give(r, i);
                }
            }
        }
    }
}

/*
 * Ours alone, and counted apart: everything is out but eight holes of one class, and the one that is large enough comes last in their list. No
 * request takes a longer search than this and is served; others of this kind refuse it.
 */
static void last_hole(run *r)
{
    enum { HOLES = 8, UNITS = 101 }; /* 100 and 101 units are one class */
    uint32_t slot = 2 * HOLES;
    if (r->count < 128) {
        return;
    }
    for (uint32_t i = 0; i < HOLES; ++i) { /* holes at even places, the largest first */
        take(r, 2 * i, (UNITS - (i > 0 ? 1U : 0U)) * 64U);
        take(r, 2 * i + 1, 1);
    }
    for (uint32_t bytes = REGION; bytes >= 64 && slot < r->count;) {
        take(r, slot, bytes);
        if (r->out[slot]) {
            ++slot;
        } else {
            bytes -= bytes > 4096 ? bytes / 16 : 64;
        }
    }
    for (uint32_t i = 0; i < HOLES; ++i) {
        give(r, 2 * i);
    }
    const figures before = r->take;
    r->take = (figures){0, 0, 0};
    take(r, 0, UNITS * 64U);
    assert_true(r->out[0]);
    r->last = r->take;
    r->take = before;
    give_all(r);
}

static void all_traces(run *r)
{
    random_state = 88172645U;
    r->who->start(r->count);
    mixed(r);
    holes_too_small(r);
    comb(r);
    if (r->who == &allocators[0]) {
        last_hole(r);
    }
    r->who->stop();
}

static void print(const run *r)
{
    const figures *const all[3] = {&r->take, &r->give, &r->fail};
    char text[200];
    int length = snprintf(text, sizeof text, "| %s | %u |", r->who->name, (unsigned)r->count);
    for (int i = 0; i < 3; ++i) {
        length += snprintf(text + length, sizeof text - (size_t)length, " %u | %u |",
                           (unsigned)(all[i]->calls != 0 ? all[i]->sum / all[i]->calls : 0), (unsigned)all[i]->most);
    }
    print_message("%s\n", text);
}

static void test_instructions(void **state)
{
    (void)state;
    start_counting();
    print_message(
        "| allocator | blocks | take mean | take most | give mean | give most | refusal mean | refusal most |\n");
    uint32_t most_take = 0;
    uint32_t most_last = 0;
    uint32_t most_give = 0;
    for (size_t a = 0; a < sizeof allocators / sizeof allocators[0]; ++a) {
        for (uint32_t count = 8; count <= MOST_BLOCKS; count *= 4) {
            static run r;
            memset(&r, 0, sizeof r);
            r.who = &allocators[a];
            r.count = count;
            all_traces(&r);
            print(&r);
            assert_true(r.take.calls > 1000 && r.give.calls > 1000);
            if (a == 0) {
                most_take = r.take.most > most_take ? r.take.most : most_take;
                most_give = r.give.most > most_give ? r.give.most : most_give;
                most_last = r.last.most > most_last ? r.last.most : most_last;
            }
        }
    }
    static run aligned;
    aligned.who = &aligned_allocator;
    aligned.count = 512;
    all_traces(&aligned);
    print_message("aligned to %u:\n", (unsigned)ALIGNMENT);
    print(&aligned);
    print_message(
        "most: %u instructions to take, %u where it is the last resort, %u to give; the guide says %u, %u and %u\n",
        (unsigned)most_take, (unsigned)most_last, (unsigned)most_give, MOST_TAKE, MOST_LAST, MOST_GIVE);
    assert_true(most_last > most_take && most_last <= MOST_LAST);
    assert_true(most_take > 50 && most_take <= MOST_TAKE);
    assert_true(most_give > 50 && most_give <= MOST_GIVE);
    assert_true(aligned.take.most <= MOST_ALIGNED && aligned.give.most <= MOST_GIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
