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
    const unsigned here = tnri_process_number();
    for (unsigned tries = 0;; tries++) {
        if (atomic_load_explicit(&lock->word, memory_order_relaxed) != here &&
            atomic_exchange_explicit(&lock->word, here, memory_order_acquire) != here) {
            return;
        }
        tnri_relax(tries);
    }
}

void tnri_turn_take(tnri_turn *turn)
{
    const unsigned here = tnri_process_number();
    for (unsigned tries = 0; atomic_load_explicit(&turn->word, memory_order_relaxed) == here ||
                             atomic_exchange_explicit(&turn->word, here, memory_order_acquire) == here;
         tries++) {
        tnri_relax(tries);
    }
}

void tnri_lock_again(tnri_lock *lock)
{
    do {
        atomic_store_explicit(&lock->word, 0U, memory_order_release);
        tnri_hold_again();
        tnri_lock_wait(lock);
    } while (!tnri_hold_stands());
}
