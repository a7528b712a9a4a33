/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded builds have no environment. */
#include "arena.h"

const char *tnri_environment(tnri_word which)
{
    (void)which;
    return NULL;
}
