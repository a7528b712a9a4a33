/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork and short locks: a child has only the thread that forked, so a lock that another one held would be held for ever.
 *
 * Every thread counts the short locks that it holds, in a record of its own; fork's handlers walk the list of the records.
 * Before the fork, all records are closed and each is waited for until its thread holds nothing. Whoever takes its first lock
 * and finds its record closed gives the lock back and waits for the list's mutex, which the forking thread has until the fork
 * is over; a lock under another one goes through, so that nobody waits with a lock in hand. Either side writes its word and
 * then reads the other's (Dekker): one of them sees the other.
 *
 * The fork may copy a lock's word in the middle of such a vain attempt, while nothing under the lock is touched. So the word of a
 * lock that is held is the number of the holder's process, and what a child finds of its parents' is free.
 *
 * Other libraries have locks that we do not see. While another thread is inside one of their calls (tnri_foreign_begin) fork waits
 * too, which may take long: before it closes the records, so that only those are held up who want to begin such a call.
 *
 * Guarantees: at the moment of a fork no other thread is between a take and a give, and parent and child go on. A thread is
 * listed at its first lock and leaves the list by a destructor of thread-specific data. Locks that it takes after that (in
 * other destructors) are taken under the list's mutex: so are all of a thread that could not be listed.
 * Does not: serve an arena in memory that parent and child share; cover calls that run no fork handlers (vfork, _Fork,
 * clone); wait with a time limit; serve fork in a signal handler that interrupted this library in two threads at once; list
 * rightly a thread whose very first lock is in the last round of its destructors. As with every such handler, one that the
 * program registered before this library was loaded runs with others held out of it: it must neither wait for a thread that
 * is inside a call nor make one.
 */
#define _POSIX_C_SOURCE 200809L /* pthread_atfork, pthread_key_create */
#include <limits.h>
#include <pthread.h>
#include <time.h>

#include "base.h"

enum { NAP_AFTER = 256 }; /* looks at what may take long */

static struct {
    pthread_mutex_t mutex;
    pthread_key_t key; /* a listed thread's record */
    bool handled;      /* fork calls our handlers */
    bool keyed;
    bool over; /* the library is being unloaded, or the process ends */
    tnri_holds *first;
} list = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t mutex; /* the forking thread's, and then it is closed; taken before the list's */
    atomic_bool closed;
    atomic_uint inside; /* calls, of all threads */
} foreign = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Changed by a child alone, before it has threads. */
unsigned tnri_process = 1;

TNRI_THREAD_LOCAL tnri_holds tnri_holds_here;

static void set_open(tnri_holds *record, unsigned open)
{
    atomic_store_explicit(&record->open, open, memory_order_seq_cst);
}

/* ---- The list; its mutex is held ------------------------------------------------------------------------------------------- */

static void enter(tnri_holds *record)
{
    record->previous = NULL;
    record->next = list.first;
    if (list.first != NULL) {
        list.first->previous = record;
    }
    list.first = record;
    record->listed = true;
    set_open(record, 1);
}

static void leave(tnri_holds *record)
{
    if (record->previous != NULL) {
        record->previous->next = record->next;
    } else {
        list.first = record->next;
    }
    if (record->next != NULL) {
        record->next->previous = record->previous;
    }
    record->listed = false;
    set_open(record, 0);
}

/* ---- Other libraries ----------------------------------------------------------------------------------------------------- */

/* One's own calls, where a signal handler forks in the middle of one: counted in `inside` at most when counted here. */
static unsigned own_foreign(void) { return atomic_load_explicit(&tnri_holds_here.foreign, memory_order_relaxed); }

static void set_own_foreign(unsigned calls)
{
    atomic_store_explicit(&tnri_holds_here.foreign, calls, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

void tnri_foreign_begin(void)
{
    set_own_foreign(own_foreign() + 1U);
    for (;;) {
        (void)atomic_fetch_add_explicit(&foreign.inside, 1U, memory_order_seq_cst);
        if (TNRI_LIKELY(!atomic_load_explicit(&foreign.closed, memory_order_seq_cst))) {
            return;
        }
        (void)atomic_fetch_sub_explicit(&foreign.inside, 1U, memory_order_release);
        (void)pthread_mutex_lock(&foreign.mutex);
        (void)pthread_mutex_unlock(&foreign.mutex);
    }
}

void tnri_foreign_end(void)
{
    (void)atomic_fetch_sub_explicit(&foreign.inside, 1U, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    set_own_foreign(own_foreign() - 1U);
}

static void close_foreign(void)
{
    static const struct timespec nap = {0, 100000};
    (void)pthread_mutex_lock(&foreign.mutex);
    atomic_store_explicit(&foreign.closed, true, memory_order_seq_cst);
    for (unsigned tries = 0; atomic_load_explicit(&foreign.inside, memory_order_seq_cst) > own_foreign(); tries++) {
        if (tries < NAP_AFTER) {
            tnri_relax(tries);
        } else {
            (void)nanosleep(&nap, NULL);
        }
    }
}

static void open_foreign(void)
{
    atomic_store_explicit(&foreign.closed, false, memory_order_release);
    (void)pthread_mutex_unlock(&foreign.mutex);
}

/* ---- fork ---------------------------------------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    close_foreign();
    (void)pthread_mutex_lock(&list.mutex);
    tnri_holds *const own = &tnri_holds_here;
    for (tnri_holds *record = list.first; record != NULL; record = record->next) {
        if (record != own) {
            set_open(record, 0);
        }
    }
    for (tnri_holds *record = list.first; record != NULL; record = record->next) {
        for (unsigned tries = 0; record != own && atomic_load_explicit(&record->held, memory_order_seq_cst) != 0U;
             tries++) {
            tnri_relax(tries);
        }
    }
}

static void after_in_parent(void)
{
    for (tnri_holds *record = list.first; record != NULL; record = record->next) {
        set_open(record, 1);
    }
    (void)pthread_mutex_unlock(&list.mutex);
    open_foreign();
}

/* The other records lie in the stacks of threads that are no more. */
static void after_in_child(void)
{
    tnri_holds *const own = &tnri_holds_here;
    list.first = NULL;
    if (own->listed) {
        enter(own);
    }
    tnri_process = tnri_process == UINT_MAX ? 1U : tnri_process + 1U;
    (void)pthread_mutex_unlock(&list.mutex);
    atomic_store_explicit(&foreign.inside, own_foreign(), memory_order_relaxed); /* others' were vain */
    open_foreign();
}

/* ---- Threads ------------------------------------------------------------------------------------------------------------------- */

static void thread_ends(void *record)
{
    tnri_holds *own = record;
    (void)pthread_mutex_lock(&list.mutex);
    if (own->listed) {
        leave(own);
    }
    own->ended = true;
    (void)pthread_mutex_unlock(&list.mutex);
}

/* Have handlers and key, if they can be had. The list's mutex is held, or nobody else can be here. */
static bool prepared(void)
{
    list.handled = list.handled || pthread_atfork(before_fork, after_in_parent, after_in_child) == 0;
    list.keyed = list.keyed || pthread_key_create(&list.key, thread_ends) == 0;
    return list.handled && list.keyed;
}

#if defined(__GNUC__)
/*
 * Handlers that are registered early run late before a fork: what a program's own handlers wait for may then be held by
 * threads inside a call, which goes on to its end.
 */
__attribute__((constructor)) static void library_begins(void) { (void)prepared(); }

/* A key must not lead into a library that is gone; the C library drops the handlers itself. */
__attribute__((destructor)) static void library_ends(void)
{
    (void)pthread_mutex_lock(&list.mutex);
    while (list.first != NULL) {
        leave(list.first);
    }
    if (list.keyed) {
        (void)pthread_key_delete(list.key);
    }
    list.keyed = false;
    list.over = true;
    (void)pthread_mutex_unlock(&list.mutex);
}
#endif

bool tnri_hold_stays(void)
{
    /* Under another lock it must stay; and who has the list's mutex holds up every fork. */
    return tnri_holds_here.late || atomic_load_explicit(&tnri_holds_here.held, memory_order_relaxed) > 1U;
}

void tnri_hold_again(void)
{
    tnri_holds *own = &tnri_holds_here;
    atomic_store_explicit(&own->held, 0U, memory_order_release);
    (void)pthread_mutex_lock(&list.mutex);
    if (!own->listed && !own->ended && !list.over && prepared() && pthread_setspecific(list.key, own) == 0) {
        enter(own);
    }
    own->late = !own->listed;
    if (!own->late) {
        (void)pthread_mutex_unlock(&list.mutex);
    }
    tnri_hold_begin();
}

void tnri_hold_take(void)
{
    tnri_hold_begin();
    for (;;) {
        (void)atomic_fetch_add_explicit(&tnri_holds_here.held, 0U,
                                        memory_order_seq_cst); /* the barrier that a lock has */
        if (tnri_hold_stands()) {
            return;
        }
        tnri_hold_again();
    }
}

void tnri_hold_ended(void)
{
    tnri_holds *own = &tnri_holds_here;
    if (own->late && atomic_load_explicit(&own->held, memory_order_relaxed) == 0U) {
        own->late = false;
        (void)pthread_mutex_unlock(&list.mutex);
    }
}
