/* SPDX-License-Identifier: BSD-3-Clause */
/* Marks that a forked child does not have; why so is in the header. Linux only. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fork_mark_internal.h"

/* The system rounds up to its page. */
enum { PAGE = 4096 };

void tnri_fork_mark_make(tnri_fork_mark *mark)
{
    mark->owner = getpid();
    mark->page = NULL;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return;
    }
    if (madvise(page, PAGE, MADV_WIPEONFORK) != 0) {
        (void)munmap(page, PAGE);
        return;
    }
    mark->page = page;
    atomic_init(mark->page, 1U);
}

void tnri_fork_mark_drop(tnri_fork_mark *mark)
{
    if (mark->page != NULL) {
        (void)munmap(mark->page, PAGE);
        mark->page = NULL;
    }
}

bool tnri_fork_mark_number(const tnri_fork_mark *mark) { return getpid() == mark->owner; }
