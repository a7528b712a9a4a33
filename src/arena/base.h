/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every room stands on: error returns, checked 64-bit arithmetic, bit scans, and a short lock.
 * The only utility header of the library; it includes nothing but the public headers.
 */
#ifndef TENURE_ARENA_BASE_H
#define TENURE_ARENA_BASE_H

#include <string.h>

#include "atomics.h"
#include "dtypes.h"
#include "tenure/domain.h"

/* ---- Errors ------------------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#define TNRI_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define TNRI_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define TNRI_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define TNRI_COLD __attribute__((cold, noinline))
#define TNRI_NOINLINE __attribute__((noinline))
#define TNRI_INLINED inline __attribute__((always_inline))
#else
#define TNRI_PRINTF(format_index, first)
#define TNRI_LIKELY(condition) (condition)
#define TNRI_UNLIKELY(condition) (condition)
#define TNRI_COLD
#define TNRI_NOINLINE
#define TNRI_INLINED inline
#endif

/*
 * Record a text for tnr_last_error and give the status back. Understands %s %d %lld %llu %%; no stdio behind it, so that it
 * serves bounded builds too. Texts read "operation: what was expected, what was found". A macro, so that compilers see which
 * status it is.
 */
#ifndef TNRI_SMALL /* 1: least code and stack instead of most speed (TENURE_SMALL) */
#define TNRI_SMALL 0
#endif
#ifndef TNRI_TEXTS
#define TNRI_TEXTS 1
#endif
#if TNRI_TEXTS
#define tnri_fail(status, ...) (tnri_record_failure(__VA_ARGS__), (status))
#else /* TENURE_TEXTS=OFF: checked by the compiler, and nothing is left of it */
#define tnri_fail(status, ...) ((void)sizeof(tnri_no_text(__VA_ARGS__)), (status))
int tnri_no_text(const char *format, ...) TNRI_PRINTF(1, 2);
#endif
void tnri_record_failure(const char *format, ...) TNRI_PRINTF(1, 2) TNRI_COLD;

/*
 * The same status, and in front of its text, which is recorded, "op: " unless it begins so, and behind that "name: " (NULL: no name):
 * for what failed further down, where nobody knew for whom it was done.
 */
#if TNRI_TEXTS
tnr_status tnri_failed_in(const char *op, const char *name, tnr_status status) TNRI_COLD;
#else
static inline tnr_status tnri_failed_in(const char *op, const char *name, tnr_status status)
{
    (void)op;
    (void)name;
    return status;
}
#endif

/* How many texts this thread has recorded: tells whether a program's function that failed left one. Wraps. */
unsigned tnri_failures_recorded(void);

/* Return on failure; the text is already recorded. */
#define TNR_TRY(expression)                           \
    do {                                              \
        const tnr_status tnri_status_ = (expression); \
        if (TNRI_UNLIKELY(tnri_status_ != TNR_OK)) {  \
            return tnri_status_;                      \
        }                                             \
    } while (0)

/* Return a failure when the condition does not hold. */
#define TNR_REQUIRE(condition, status, ...)          \
    do {                                             \
        if (TNRI_UNLIKELY(!(condition))) {           \
            return tnri_fail((status), __VA_ARGS__); \
        }                                            \
    } while (0)

/* For %lld and %llu, whose argument types differ between platforms. */
#define TNRI_LL(value) ((long long)(value))
#define TNRI_LLU(value) ((unsigned long long)(value))

/* ---- Checked arithmetic: true means it fitted ------------------------------------------------------------------------ */

static inline bool tnri_add_u64(uint64_t a, uint64_t b, uint64_t *sum) { return !__builtin_add_overflow(a, b, sum); }

static inline bool tnri_mul_u64(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool tnri_add_i64(int64_t a, int64_t b, int64_t *sum) { return !__builtin_add_overflow(a, b, sum); }

static inline bool tnri_sub_i64(int64_t a, int64_t b, int64_t *difference)
{
    return !__builtin_sub_overflow(a, b, difference);
}

static inline bool tnri_mul_i64(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* |value|, also of the lowest. */
static inline uint64_t tnri_magnitude(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

/* a / b rounded up; a >= 0, b > 0. */
static inline int64_t tnri_quotient_up(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

static inline bool tnri_is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/* Round up to a multiple of a power of two; false when that leaves 64 bits. */
static inline bool tnri_round_up(uint64_t value, uint64_t power, uint64_t *rounded)
{
    if (!tnri_add_u64(value, power - 1, rounded)) {
        return false;
    }
    *rounded &= ~(power - 1);
    return true;
}

/* Index of the lowest or highest set bit; value must not be 0. */
static inline unsigned tnri_lowest_bit(uint64_t value) { return (unsigned)__builtin_ctzll(value); }
static inline unsigned tnri_highest_bit(uint64_t value) { return 63U - (unsigned)__builtin_clzll(value); }

/* Number of set bits. By hand: where the machine has no instruction for it, the compiler's own would call its run-time library. */
static inline int tnri_count_bits(uint64_t value)
{
    value -= value >> 1 & UINT64_C(0x5555555555555555);
    value = (value & UINT64_C(0x3333333333333333)) + (value >> 2 & UINT64_C(0x3333333333333333));
    value = (value + (value >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (int)(value * UINT64_C(0x0101010101010101) >> 56);
}

static inline uint64_t tnri_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t tnri_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Most digits of a number. */
#define TNRI_DIGITS 20

/* The number in decimal, without an end; how many digits. The library has no stdio. */
static inline int tnri_put_decimal(char *text, uint64_t number)
{
    char digits[TNRI_DIGITS]; /* the last one first */
    int count = 0;
    do {
        digits[count++] = (char)('0' + (int)(number % 10U));
        number /= 10U;
    } while (number != 0);
    for (int i = 0; i < count; ++i) {
        text[i] = digits[count - 1 - i];
    }
    return count;
}

/* Smallest unit of every block and its default alignment: one cache line. */
#define TNRI_UNIT 64U

/* ---- Options and serials ------------------------------------------------------------------------------------------- */

/*
 * Settings that the program filled in, perhaps built against an older or newer header: its struct begins with its size.
 * What it has is copied over the defaults in *known. `least` is the size of the first version; members that we do not know
 * must be zero. NULL: the defaults. TNR_ERR_ARGUMENT otherwise.
 */
tnr_status tnri_options_take(const char *op, const void *given, size_t least, void *known, size_t known_size);

/* The next number of a counter, from 1, never twice; TNR_ERR_OVERFLOW at the end. */
tnr_status tnri_mint_serial(const char *op, TNRI_ATOMIC(uint64_t) * last, uint64_t *serial);

/* ---- A lock for a few dozen instructions ----------------------------------------------------------------------------- */

/*
 * One word, so that taking and giving an uncontended lock costs one atomic exchange. Held only for short, bounded, non-blocking
 * stretches, and never while code of the program's runs; a waiter spins a little and then yields its time slice (lock.c).
 * Without threads (lock_none.c) it is empty.
 *
 * fork waits until no other thread holds one, for a child would wait for ever (lock_fork.c): each thread counts what it holds.
 */
typedef struct tnri_lock {
    atomic_uint word; /* the number of the process whose thread holds it; any other: it is free */
} tnri_lock;

/*
 * A lock for long stretches: fork does not wait for it. What another thread had taken is free in a child, so what it guards is
 * right at every moment, as when whatever was made is published at the end. The mutex of an allocator may be waited for here.
 */
typedef struct tnri_turn {
    atomic_uint word; /* as a short lock's */
} tnri_turn;

#ifndef TNRI_THREADS
#define TNRI_THREADS 1
#endif

#if TNRI_THREADS
#define TNRI_THREAD_LOCAL _Thread_local
void tnri_lock_wait(tnri_lock *lock) TNRI_COLD;

/* Between two looks at what another thread is about to change, the tries-th time. */
void tnri_relax(unsigned tries) TNRI_COLD;

/* What a thread holds, for fork. */
typedef struct tnri_holds {
    atomic_uint held;    /* written by the thread alone */
    atomic_uint open;    /* 0: a fork is under way, or the thread is not listed */
    bool listed;         /* guarded by the list's mutex, as the two links */
    bool ended;          /* the thread is at its end, and may not be listed any more */
    bool late;           /* holds the list's mutex for as long as it holds anything */
    atomic_uint foreign; /* tnri_foreign_begin less tnri_foreign_end; of the thread alone */
    struct tnri_holds *next;
    struct tnri_holds *previous;
} tnri_holds;

/* The fast model of thread-local data, where a library that is loaded late may have it. */
#if defined(__GNUC__) && defined(__GLIBC__)
#define TNRI_HIDDEN __attribute__((visibility("hidden")))
#define TNRI_FAST_LOCAL __attribute__((visibility("hidden"), tls_model("initial-exec")))
#else
#define TNRI_HIDDEN
#define TNRI_FAST_LOCAL
#endif
extern TNRI_THREAD_LOCAL tnri_holds tnri_holds_here TNRI_FAST_LOCAL;

/*
 * Either the thread sees that a fork is under way, or the forking thread sees that it holds something. On x86 the locked
 * instruction by which a lock is taken stands between the two and orders them. A child may find the word of a lock changed by a
 * thread that was about to see the fork: that is why the word tells whose it is.
 */
#if defined(__x86_64__) || defined(__i386__)
#define TNRI_HOLD_ORDER memory_order_relaxed
#else
#define TNRI_HOLD_ORDER memory_order_seq_cst
#endif

extern unsigned tnri_process TNRI_HIDDEN;

/* A number of this process: a forked child's is another one than its parents'. Never 0. */
static inline unsigned tnri_process_number(void) { return tnri_process; }

static inline void tnri_hold_begin(void)
{
    tnri_holds *here = &tnri_holds_here;
    const unsigned held = atomic_load_explicit(&here->held, memory_order_relaxed);
    atomic_store_explicit(&here->held, held + 1U, TNRI_HOLD_ORDER);
    atomic_signal_fence(memory_order_seq_cst);
}

bool tnri_hold_stays(void) TNRI_COLD;

/* After an atomic read-modify-write operation; false when the lock must be given back and taken anew. */
static inline bool tnri_hold_stands(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    return TNRI_LIKELY(atomic_load_explicit(&tnri_holds_here.open, TNRI_HOLD_ORDER) != 0U) || tnri_hold_stays();
}

void tnri_hold_ended(void) TNRI_COLD;

static inline void tnri_hold_end(void)
{
    tnri_holds *here = &tnri_holds_here;
    const unsigned held = atomic_load_explicit(&here->held, memory_order_relaxed);
    atomic_store_explicit(&here->held, held - 1U, memory_order_release);
    if (TNRI_UNLIKELY(atomic_load_explicit(&here->open, memory_order_relaxed) == 0U)) {
        tnri_hold_ended();
    }
}

/* For short stretches without a lock, to be ended by tnri_hold_end: no fork cuts them, and nothing is changed before. */
void tnri_hold_take(void);

void tnri_hold_again(void) TNRI_COLD;
void tnri_lock_again(tnri_lock *lock) TNRI_COLD;

/*
 * Around calls into another library that has locks of its own and no fork handlers: no fork while one runs, for a child would
 * wait for such a lock. May take long; a fork that waits for it holds up only those that want to begin another one. Not one in
 * another, and not while a short lock is held.
 */
void tnri_foreign_begin(void);
void tnri_foreign_end(void);

void tnri_turn_take(tnri_turn *turn);
static inline void tnri_turn_give(tnri_turn *turn) { atomic_store_explicit(&turn->word, 0U, memory_order_release); }

static inline void tnri_lock_take(tnri_lock *lock)
{
    tnri_hold_begin();
    const unsigned here = tnri_process_number();
    if (TNRI_UNLIKELY(atomic_exchange_explicit(&lock->word, here, memory_order_acquire) == here)) {
        tnri_lock_wait(lock);
    }
    if (TNRI_UNLIKELY(!tnri_hold_stands())) {
        tnri_lock_again(lock);
    }
}

/* Take the lock if it is free: for paths that keep the waiting, and the stack it needs, in a function apart. */
static inline bool tnri_lock_try(tnri_lock *lock)
{
    tnri_hold_begin();
    const unsigned here = tnri_process_number();
    if (TNRI_UNLIKELY(atomic_exchange_explicit(&lock->word, here, memory_order_acquire) == here)) {
        tnri_hold_end();
        return false;
    }
    if (TNRI_UNLIKELY(!tnri_hold_stands())) {
        tnri_lock_again(lock);
    }
    return true;
}

static inline void tnri_lock_give(tnri_lock *lock)
{
    atomic_store_explicit(&lock->word, 0U, memory_order_release);
    tnri_hold_end();
}
#else
#define TNRI_THREAD_LOCAL
static inline void tnri_relax(unsigned tries) { (void)tries; }
static inline void tnri_hold_take(void) {}
static inline void tnri_hold_end(void) {}
static inline void tnri_foreign_begin(void) {}
static inline void tnri_foreign_end(void) {}
static inline void tnri_turn_take(tnri_turn *turn) { (void)turn; }
static inline void tnri_turn_give(tnri_turn *turn) { (void)turn; }
static inline void tnri_lock_take(tnri_lock *lock) { (void)lock; }
static inline void tnri_lock_give(tnri_lock *lock) { (void)lock; }
static inline bool tnri_lock_try(tnri_lock *lock)
{
    (void)lock;
    return true;
}
#endif

#endif /* TENURE_ARENA_BASE_H */
