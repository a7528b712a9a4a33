/* SPDX-License-Identifier: BSD-3-Clause */
/* Linux's answers about places. The calls that the C library has no function for are made by number. */
#define _GNU_SOURCE /* sched_getaffinity, syscall */

#include "place_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LONG_BITS = 8 * sizeof(unsigned long) };

/* Bits of a kernel mask, an array of longs, to ours of 64 bits. */
static void take_mask(const unsigned long *mask, int bits, uint64_t *words)
{
    memset(words, 0, (size_t)bits / 8);
    for (int bit = 0; bit < bits; bit++) {
        words[bit / 64] |= (uint64_t)(mask[bit / LONG_BITS] >> (bit % LONG_BITS) & 1U) << (bit % 64);
    }
}

int tnri_place_affinity(tnr_cpu_set *set)
{
    unsigned long mask[TNR_MAX_CPUS / LONG_BITS] = {0};
    if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)(void *)mask) != 0) {
        return errno;
    }
    take_mask(mask, TNR_MAX_CPUS, set->words);
    return 0;
}

bool tnri_place_membind(tnr_node_set *set)
{
    unsigned long mask[TNR_MAX_NODES / LONG_BITS] = {0};
    int mode = MPOL_DEFAULT;
    /* One more than the bits: the kernel takes the last one away. */
    if (syscall(SYS_get_mempolicy, &mode, mask, (unsigned long)TNR_MAX_NODES + 1, NULL, 0UL) != 0) {
        return false;
    }
    /* Numbers relative to the cpuset are not node numbers. */
    if ((mode & MPOL_F_RELATIVE_NODES) != 0 || (mode & ~MPOL_MODE_FLAGS) != MPOL_BIND) {
        return false;
    }
    take_mask(mask, TNR_MAX_NODES, set->words);
    return true;
}

uint64_t tnri_place_page_bytes(void)
{
    const long bytes = sysconf(_SC_PAGESIZE);
    return bytes > 0 ? (uint64_t)bytes : 4096U;
}

uint64_t tnri_place_huge_bytes(void)
{
    char digits[24];
    const int file = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    const ssize_t length = read(file, digits, sizeof(digits) - 1);
    (void)close(file);
    uint64_t bytes = 0;
    for (ssize_t at = 0; at < length && digits[at] >= '0' && digits[at] <= '9'; at++) {
        bytes = bytes * 10 + (uint64_t)(digits[at] - '0');
    }
    return tnri_is_power_of_two(bytes) ? bytes : 0;
}

int tnri_place_locate(uint64_t count, void **addresses, int *nodes)
{
    /* Without target nodes move_pages moves nothing and tells where each page is. */
    if (syscall(SYS_move_pages, 0L, (unsigned long)count, addresses, NULL, nodes, 0L) != 0) {
        return errno;
    }
    return 0;
}

int tnri_place_prefer(void *address, uint64_t bytes, int node)
{
    unsigned long mask[TNR_MAX_NODES / LONG_BITS] = {0};
    mask[node / LONG_BITS] = 1UL << (node % LONG_BITS);
    if (syscall(SYS_mbind, address, (unsigned long)bytes, (long)MPOL_PREFERRED, mask, (unsigned long)TNR_MAX_NODES + 1,
                0UL) != 0) {
        return errno;
    }
    return 0;
}

enum { BATCH = 512 };

/*
 * Bring some pages to a node. Pieces of a huge page are said to be busy or gone while the first of them takes all of it along,
 * so what counts is where pages are afterwards. One that is nowhere (swapped out) comes back by the binding that follows.
 */
static int gather_batch(uint64_t count, void **pages, int node)
{
    enum { TRIES = 8 };
    void *strays[BATCH];
    int places[BATCH];
    int targets[BATCH];
    int refusal = EBUSY;
    for (int tries = 0; tries < TRIES; tries++) {
        const int error = tnri_place_locate(count, pages, places);
        if (error != 0) {
            return error;
        }
        unsigned long away = 0;
        for (uint64_t i = 0; i < count; i++) {
            if (places[i] >= 0 && places[i] != node) {
                strays[away] = pages[i];
                targets[away] = node;
                away++;
            }
        }
        if (away == 0) {
            return 0;
        }
        /* Moving to a node never ends a process: the kernel looks for room there, and says when there is none. */
        if (syscall(SYS_move_pages, 0L, away, strays, targets, places, (long)MPOL_MF_MOVE) < 0) {
            return errno;
        }
        for (unsigned long i = 0; i < away; i++) {
            refusal = places[i] == -ENOMEM ? ENOMEM : refusal;
        }
        if (refusal == ENOMEM) {
            return ENOMEM;
        }
    }
    return refusal;
}

int tnri_place_gather(void *address, uint64_t bytes, uint64_t page, int node)
{
    void *pages[BATCH];
    const uint64_t all = bytes / page;
    for (uint64_t done = 0; done < all;) {
        const uint64_t count = all - done < BATCH ? all - done : BATCH;
        for (uint64_t i = 0; i < count; i++) {
            pages[i] = (char *)address + (done + i) * page;
        }
        const int error = gather_batch(count, pages, node);
        if (error != 0) {
            return error;
        }
        done += count;
    }
    return 0;
}

void tnri_place_advise_huge(void *address, uint64_t bytes)
{
    const uint64_t page = tnri_place_page_bytes();
    const uint64_t lost = (0U - (uintptr_t)address) % page;
    if (bytes >= lost + page) {
        (void)madvise((char *)address + lost, (size_t)((bytes - lost) / page * page), MADV_HUGEPAGE);
    }
}
