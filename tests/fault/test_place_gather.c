/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bringing pages to a node, as kernels answer that move huge pages whole: for the other pieces of one they say "busy" or "no
 * such page" although it moves. On a model of memory behind the system call.
 *
 * wraps: syscall
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "arena/place_internal.h"

enum { PAGES = 1500, HUGE = 512, NODE = 1 };

/* Where each page is, in pieces of `step` pages that move together; what the system says of a piece that is not the first. */
static struct {
    int places[PAGES];
    uint64_t step;
    int answer;
    int stuck; /* a page that does not move, or -1, and what is said of it */
    int stuck_answer;
    int moves; /* calls that move */
} memory;

static char area[PAGES * 16]; /* a page is 16 bytes here; nobody looks at them */

static uint64_t page_at(const void *address) { return (uint64_t)((const char *)address - area) / 16; }

static long move_pages(unsigned long count, void **addresses, const int *nodes, int *status)
{
    uint64_t last = UINT64_MAX;
    memory.moves += nodes != NULL ? 1 : 0;
    for (unsigned long i = 0; i < count; i++) {
        const uint64_t page = page_at(addresses[i]);
        const uint64_t whole = page / memory.step;
        if (nodes == NULL) {
            status[i] = memory.places[page];
        } else if ((int)page == memory.stuck) {
            status[i] = memory.stuck_answer;
        } else if (whole == last) {
            status[i] = memory.answer;
        } else {
            for (uint64_t at = whole * memory.step; at < (whole + 1) * memory.step && at < PAGES; at++) {
                memory.places[at] = nodes[i];
            }
            status[i] = nodes[i];
        }
        last = whole;
    }
    return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    long given[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        given[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_move_pages) {
        return move_pages((unsigned long)given[1], (void **)given[2], (const int *)given[3], (int *)given[4]);
    }
    return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

static void place_all(int node, uint64_t step, int answer)
{
    memset(&memory, 0, sizeof memory);
    memory.step = step;
    memory.answer = answer;
    memory.stuck = -1;
    for (int page = 0; page < PAGES; page++) {
        memory.places[page] = node;
    }
}

static int gather(void) { return tnri_place_gather(area, sizeof area, 16, NODE); }

static void assert_gathered(void)
{
    for (int page = 0; page < PAGES; page++) {
        assert_int_equal(memory.places[page], NODE);
    }
}

static void ordinary_pages_move(void **state)
{
    (void)state;
    place_all(0, 1, 0);
    for (int page = 0; page < PAGES; page += 3) {
        memory.places[page] = NODE;
    }
    assert_int_equal(gather(), 0);
    assert_gathered();
    const int moves = memory.moves;
    assert_int_equal(gather(), 0); /* where all is there, nothing is moved */
    assert_int_equal(memory.moves, moves);
}

static void pieces_of_huge_pages_are_no_failure(void **state)
{
    (void)state;
    static const int answers[] = {-EBUSY, -ENOENT, -EACCES};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        place_all(0, HUGE, answers[i]);
        assert_int_equal(gather(), 0);
        assert_gathered();
    }
}

static void a_full_node_and_a_held_page_are(void **state)
{
    (void)state;
    place_all(0, 1, 0);
    memory.stuck = 700;
    memory.stuck_answer = -ENOMEM;
    assert_int_equal(gather(), ENOMEM);
    place_all(0, 1, 0);
    memory.stuck = 700;
    memory.stuck_answer = -EBUSY;
    assert_int_equal(gather(), EBUSY);
}

/* Swapped out: the binding has the say when it comes back. */
static void a_page_that_is_nowhere_is_not_elsewhere(void **state)
{
    (void)state;
    place_all(NODE, 1, 0);
    memory.places[3] = -ENOENT;
    assert_int_equal(gather(), 0);
    assert_int_equal(memory.moves, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_pages_move),
        cmocka_unit_test(pieces_of_huge_pages_are_no_failure),
        cmocka_unit_test(a_full_node_and_a_held_page_are),
        cmocka_unit_test(a_page_that_is_nowhere_is_not_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
