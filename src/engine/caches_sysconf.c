/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of caches by sysconf, which glibc answers from CPUID; what it does not know is guessed as caches_likely.c does. */
#include <unistd.h>

#include "caches_internal.h"

enum { LIKELY_L2 = 256 * 1024 };

void tnri_caches_guess(uint64_t *l2, uint64_t *l3)
{
    const long second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const long third = sysconf(_SC_LEVEL3_CACHE_SIZE);
    *l2 = second > 0 ? (uint64_t)second : LIKELY_L2;
    *l3 = second > 0 && third > 0 ? (uint64_t)third : 0;
}
