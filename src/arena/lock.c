/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of the short lock: spin while the holder is likely to be running, then give the time slice away. */
#include <sched.h>

#include "base.h"

enum { SPINS_BEFORE_YIELD = 64 };

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

void tnri_lock_wait(tnri_lock *lock)
{
    for (unsigned tries = 0;; tries++) {
        if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0U &&
            atomic_exchange_explicit(&lock->word, 1U, memory_order_acquire) == 0U) {
            return;
        }
        if (tries < SPINS_BEFORE_YIELD) {
            pause_briefly();
        } else {
            (void)sched_yield();
        }
    }
}
