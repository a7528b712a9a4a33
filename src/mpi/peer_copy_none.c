/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems that do not let a process read another's memory: fetching goes by one-sided MPI. */
#include "group_internal.h"

bool tnri_peer_read(int64_t pid, const tnri_peer_span *spans, int count)
{
    (void)pid;
    (void)spans;
    return count == 0;
}
