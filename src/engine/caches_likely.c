/* SPDX-License-Identifier: BSD-3-Clause */
/* Where nobody tells the sizes of caches: what nearly every core that runs such a program has. */
#include "caches_internal.h"

enum { LIKELY_L2 = 256 * 1024 };

void tnri_caches_guess(uint64_t *l2, uint64_t *l3)
{
    *l2 = LIKELY_L2;
    *l3 = 0;
}
