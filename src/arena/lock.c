/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a short lock: spin while the holder is likely to be running, then give the time slice away. */
#include <sched.h>

#include "base.h"

enum { SPINS_BEFORE_YIELD = 64 };

/* Tell the core that this is a wait. */
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ __volatile__("yield")
#else
#define PAUSE() atomic_signal_fence(memory_order_seq_cst)
#endif

void tnri_relax(unsigned tries)
{
    if (tries < SPINS_BEFORE_YIELD) {
        PAUSE();
    } else {
        (void)sched_yield();
    }
}

void tnri_lock_wait(tnri_lock *lock)
{
    for (unsigned tries = 0;; tries++) {
        if (atomic_load_explicit(&lock->word, memory_order_relaxed) == 0U &&
            atomic_exchange_explicit(&lock->word, 1U, memory_order_acquire) == 0U) {
            return;
        }
        tnri_relax(tries);
    }
}
