/* SPDX-License-Identifier: BSD-3-Clause */
/* Another process' memory, read by process_vm_readv: one copy, and the other process need not take part. */
#define _GNU_SOURCE /* process_vm_readv */
#include <errno.h>
#include <sys/uio.h>

#include "group_internal.h"

/* Take `moved` bytes off the front of both lists; the first span that is not empty. */
static int advance(struct iovec *local, struct iovec *remote, int first, int count, size_t moved)
{
    while (first < count && moved >= local[first].iov_len) {
        moved -= local[first].iov_len;
        first++;
    }
    if (first < count) {
        local[first].iov_base = (char *)local[first].iov_base + moved;
        local[first].iov_len -= moved;
        remote[first].iov_base = (char *)remote[first].iov_base + moved;
        remote[first].iov_len -= moved;
    }
    return first;
}

bool tnri_peer_read(int64_t pid, const tnri_peer_span *spans, int count)
{
    struct iovec local[TNRI_PEER_SPANS];
    struct iovec remote[TNRI_PEER_SPANS];
    for (int index = 0; index < count; index++) {
        local[index].iov_base = spans[index].local;
        local[index].iov_len = (size_t)spans[index].bytes;
        remote[index].iov_base = (void *)(uintptr_t)spans[index].remote;
        remote[index].iov_len = (size_t)spans[index].bytes;
    }
    for (int first = advance(local, remote, 0, count, 0); first < count;) {
        const ssize_t moved = process_vm_readv((pid_t)pid, local + first, (unsigned long)(count - first),
                                               remote + first, (unsigned long)(count - first), 0);
        if (moved <= 0) {
            if (moved < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        first = advance(local, remote, first, count, (size_t)moved);
    }
    return true;
}
