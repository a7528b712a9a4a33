/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether this process is the one that made something, or a child forked since: threads do not come along. A page that the
 * kernel gives to children empty (MADV_WIPEONFORK, Linux 4.14), so that it is told by one load, whichever call forked and
 * whatever number the child has; in another PID namespace that may be the parent's own. Where there is no such page, the
 * process's number.
 */
#ifndef TENURE_ENGINE_FORK_MARK_INTERNAL_H
#define TENURE_ENGINE_FORK_MARK_INTERNAL_H

#include "../arena/base.h"
#include <stdbool.h>
#include <sys/types.h>

typedef struct tnri_fork_mark {
    atomic_uint *page; /* 1 in the process that made it; NULL: none */
    pid_t owner;
} tnri_fork_mark;

/* Mark the calling process. Cannot fail: without a page the number serves. */
void tnri_fork_mark_make(tnri_fork_mark *mark);

/* Give the page back, here or in a child. */
void tnri_fork_mark_drop(tnri_fork_mark *mark);

/* The process's number is the marked one's; for marks without a page. */
bool tnri_fork_mark_number(const tnri_fork_mark *mark);

static inline bool tnri_fork_mark_is_here(const tnri_fork_mark *mark)
{
    return mark->page != NULL ? atomic_load_explicit(mark->page, memory_order_relaxed) != 0U
                              : tnri_fork_mark_number(mark);
}

#endif /* TENURE_ENGINE_FORK_MARK_INTERNAL_H */
