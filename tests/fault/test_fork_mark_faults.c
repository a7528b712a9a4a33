/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mark by which a team knows its process, where the system has no page that forked children get empty: the process's
 * number serves, and nothing stays mapped.
 *
 * wraps: mmap munmap madvise
 */
#define _GNU_SOURCE /* MADV_WIPEONFORK */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/fork_mark_internal.h"

static bool no_map;
static bool no_advice;
static int maps;

void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);
int __real_madvise(void *address, size_t bytes, int advice);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *address, size_t bytes);
int __wrap_madvise(void *address, size_t bytes, int advice);

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *mapped = MAP_FAILED;
    if (no_map) {
        errno = ENOMEM;
    } else {
        mapped = __real_mmap(address, bytes, protection, flags, file, offset);
    }
    maps += mapped != MAP_FAILED ? 1 : 0;
    return mapped;
}

int __wrap_munmap(void *address, size_t bytes)
{
    maps--;
    return __real_munmap(address, bytes);
}

int __wrap_madvise(void *address, size_t bytes, int advice)
{
    if (no_advice && advice == MADV_WIPEONFORK) {
        errno = EINVAL;
        return -1;
    }
    return __real_madvise(address, bytes, advice);
}

/* Here the mark is, in a child it is not; either may drop it. */
static void tells_children(bool by_page)
{
    const int before = maps;
    tnri_fork_mark mark;
    tnri_fork_mark_make(&mark);
    assert_int_equal(mark.page != NULL, by_page);
    assert_int_equal(maps, before + (by_page ? 1 : 0));
    assert_true(tnri_fork_mark_is_here(&mark));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool here = tnri_fork_mark_is_here(&mark);
        tnri_fork_mark_drop(&mark);
        _exit(here ? 1 : maps == before ? 0 : 2);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(tnri_fork_mark_is_here(&mark));
    tnri_fork_mark_drop(&mark);
    assert_int_equal(maps, before);
}

static void by_a_page_that_children_get_empty(void **state)
{
    (void)state;
    tnri_fork_mark mark;
    tnri_fork_mark_make(&mark);
    const bool has_page = mark.page != NULL;
    tnri_fork_mark_drop(&mark);
    if (!has_page) {
        print_message("skipped: this system has no pages that children get empty\n");
        skip();
    }
    tells_children(true);
}

static void by_number_without_such_a_page(void **state)
{
    (void)state;
    no_advice = true;
    tells_children(false);
    no_advice = false;
    no_map = true;
    tells_children(false);
    no_map = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_a_page_that_children_get_empty),
        cmocka_unit_test(by_number_without_such_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
