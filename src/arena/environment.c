/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of the environment that choose kernels, each read at the first question and kept: later changes of the environment cannot
 * make two engines differ.
 */
#include <stdlib.h>

#include "arena.h"

static const char *const names[TNRI_WORDS] = {[TNRI_WORD_ISA] = "TENURE_ISA", [TNRI_WORD_PRODUCTS] = "TENURE_PRODUCTS"};

enum { KEPT_TEXT = 32 }; /* as much of a longer word as fits */

static struct {
    TNRI_ATOMIC(const char *) known; /* the copy, or `none` */
    tnri_lock lock;
    char copy[KEPT_TEXT];
} words[TNRI_WORDS];

const char *tnri_environment(tnri_word which)
{
    static const char none[1];
    const char *word = atomic_load_explicit(&words[which].known, memory_order_acquire);
    if (word == NULL) {
        tnri_lock_take(&words[which].lock);
        word = atomic_load_explicit(&words[which].known, memory_order_relaxed);
        if (word == NULL) {
            const char *given = getenv(names[which]);
            word = none;
            if (given != NULL && *given != '\0') {
                for (size_t i = 0; i < KEPT_TEXT - 1 && given[i] != '\0'; ++i) {
                    words[which].copy[i] = given[i];
                }
                word = words[which].copy;
            }
            atomic_store_explicit(&words[which].known, word, memory_order_release);
        }
        tnri_lock_give(&words[which].lock);
    }
    return word == none ? NULL : word;
}
