/* SPDX-License-Identifier: BSD-3-Clause */
/* TENURE_PRODUCTS, read once per process: later changes of the environment cannot make two engines differ. */
#include <stdlib.h>

#include "product_internal.h"

const char *tnri_product_environment(void)
{
    static TNRI_ATOMIC(const char *) known;
    static const char none[1];
    const char *word = atomic_load_explicit(&known, memory_order_acquire);
    if (word == NULL) {
        static char copy[32];
        static tnri_lock lock;
        tnri_lock_take(&lock);
        word = atomic_load_explicit(&known, memory_order_relaxed);
        if (word == NULL) {
            const char *given = getenv("TENURE_PRODUCTS");
            word = none;
            if (given != NULL && *given != '\0') {
                for (size_t i = 0; i < sizeof copy - 1 && given[i] != '\0'; ++i) {
                    copy[i] = given[i];
                }
                word = copy;
            }
            atomic_store_explicit(&known, word, memory_order_release);
        }
        tnri_lock_give(&lock);
    }
    return word == none ? NULL : word;
}
