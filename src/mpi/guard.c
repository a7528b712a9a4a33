/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may call now, what MPI's answers mean, and how a world ends. Every public call goes in by tnri_world_enter and out by
 * tnri_world_leave; the way in costs one atomic exchange, one load, and one question to MPI about the thread.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "mpi_internal.h"

tnri_mpi_counts tnri_mpi_live;

/* MPI_Finalize has begun to end our worlds. */
static atomic_bool stopped;

bool tnri_mpi_running(void) { return !atomic_load_explicit(&stopped, memory_order_acquire); }

void tnri_mpi_stop(void) { atomic_store_explicit(&stopped, true, memory_order_release); }

tnr_status tnri_mpi(const char *op, const char *call, int code)
{
    if (TNRI_LIKELY(code == MPI_SUCCESS)) {
        return TNR_OK;
    }
    int kind = 0;
    char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    if (MPI_Error_class(code, &kind) != MPI_SUCCESS || MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        return tnri_fail(TNR_ERR_MPI, "%s: %s: MPI's code %d", op, call, code);
    }
    text[length] = '\0';
    for (char *at = strchr(text, '\n'); at != NULL; at = strchr(at, '\n')) {
        *at = ' '; /* one line */
    }
    return tnri_fail(TNR_ERR_MPI, "%s: %s: class %d: %s", op, call, kind, text);
}

tnr_status tnri_mpi_usable(const char *op)
{
    int there = 0;
    int gone = 0;
    TNR_REQUIRE(MPI_Initialized(&there) == MPI_SUCCESS && MPI_Finalized(&gone) == MPI_SUCCESS, TNR_ERR_MPI,
                "%s: MPI does not say whether it is initialised", op);
    TNR_REQUIRE(gone == 0 && tnri_mpi_running(), TNR_ERR_MPI, "%s: MPI was finalised", op);
    TNR_REQUIRE(there != 0, TNR_ERR_MPI, "%s: MPI is not initialised; the program does that, by MPI_Init_thread", op);
    return TNR_OK;
}

tnr_status tnri_mpi_thread(const char *op, tnr_world_threads threads)
{
    if (threads != TNR_WORLD_FUNNELED) {
        return TNR_OK;
    }
    int here = 0;
    TNR_TRY(tnri_mpi(op, "MPI_Is_thread_main", MPI_Is_thread_main(&here)));
    TNR_REQUIRE(here != 0, TNR_ERR_MPI,
                "%s: only the thread that initialised MPI may call; TNR_WORLD_SERIALIZED and _MULTIPLE let others", op);
    return TNR_OK;
}

tnr_status tnri_world_enter_ended(const char *op, tnr_world *world)
{
    if (tnri_mpi_running()) {
        TNR_TRY(tnri_mpi_thread(op, world->options.threads));
    }
    TNR_REQUIRE(atomic_exchange_explicit(&world->inside, 1U, memory_order_acquire) == 0U, TNR_ERR_BUSY,
                "%s: a call on this world is running", op);
    return TNR_OK;
}

tnr_status tnri_world_enter(const char *op, tnr_world *world)
{
    TNR_REQUIRE(world != NULL, TNR_ERR_ARGUMENT, "%s: world is NULL", op);
    TNR_REQUIRE(tnri_mpi_running(), TNR_ERR_MPI, "%s: MPI was finalised", op);
    TNR_TRY(tnri_world_enter_ended(op, world));
    if (TNRI_UNLIKELY(world->poison != TNR_OK)) {
        return tnri_world_leave(world, tnri_fail(world->poison, "%s: the world ended: %s", op, world->poison_text));
    }
    return TNR_OK;
}

tnr_status tnri_world_leave(tnr_world *world, tnr_status status)
{
    atomic_store_explicit(&world->inside, 0U, memory_order_release);
    return status;
}

void tnri_world_close(tnr_world *world, tnr_status status)
{
    if (world->poison == TNR_OK && status != TNR_OK) {
        const char *text = tnr_last_error();
        memcpy(world->poison_text, text, strlen(text) + 1);
        world->poison = status;
    }
}

tnr_status tnri_world_poison(tnr_world *world, tnr_status status)
{
    if (TNRI_UNLIKELY(status != TNR_OK)) {
        tnri_world_close(world, status);
        tnri_near_end(world, world->rank, world->poison_text);
    }
    return status;
}

uint64_t tnri_milliseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

/* One rank: its process, or what it has told. */
static bool is_lost(const tnr_world *world, int peer, bool process, bool sure, char *why)
{
    char text[TNR_ERROR_TEXT_BYTES];
    const int near = world->peers[peer].near;
    int rank = peer;
    if (near < 0 || peer == world->rank) {
        return false;
    }
    if (process && !tnri_near_alive(world, near)) {
        (void)snprintf(why, TNR_ERROR_TEXT_BYTES, "the process of rank %d is gone", peer);
        return true;
    }
    if (!process && tnri_near_ended(world, near, &rank, text)) {
        if (sure) { /* whoever waits for this rank hears where it began */
            tnri_near_end(world, rank, text);
        }
        const int length = snprintf(why, TNR_ERROR_TEXT_BYTES, "the world of rank %d has ended: ", rank);
        if (length > 0) {
            const size_t room = TNR_ERROR_TEXT_BYTES - (size_t)length;
            memcpy(why + length, text, room);
            why[TNR_ERROR_TEXT_BYTES - 1] = '\0';
        }
        return true;
    }
    return false;
}

bool tnri_world_lost(const tnr_world *world, int peer, bool sure, char *why)
{
    for (int step = 0; step < 2; step++) { /* the dead first: the others tell of them */
        if (peer >= 0 && is_lost(world, peer, step == 0, sure, why)) {
            return true;
        }
        for (int rank = 0; peer < 0 && rank < world->size; rank++) {
            if (is_lost(world, rank, step == 0, sure, why)) {
                return true;
            }
        }
    }
    return false;
}

tnri_outlook tnri_world_watch(const tnr_world *world, int peer, tnri_patience *patience, char *why)
{
    const uint64_t now = tnri_milliseconds();
    patience->since = patience->since == 0 ? now : patience->since;
    if (now - patience->watched < TNRI_WATCH_MS) {
        return TNRI_WAIT_ON;
    }
    patience->watched = now;
    patience->waited = now - patience->since;
    const bool before = patience->lost;
    patience->lost = tnri_world_lost(world, peer, before, why);
    if (before && patience->lost) { /* what was sent before has had its time to come */
        return TNRI_WAIT_LOST;
    }
    const uint32_t most = world->options.timeout_ms;
    return most != 0 && patience->waited > most ? TNRI_WAIT_LATE : TNRI_WAIT_ON;
}

/* Looks in vain before the core is given away, and then between two at the clock: giving it away may take milliseconds. */
enum { SPINS = 256, CLOCK = 16 };

tnr_status tnri_world_await(const char *op, tnr_world *world, MPI_Request *request, MPI_Status *status,
                            const char *what)
{
    tnri_patience patience = {0, 0, 0, false};
    for (uint64_t tries = 0;; tries++) {
        int done = 0;
        const tnr_status tested = tnri_mpi(op, "MPI_Test", MPI_Test(request, &done, status));
        if (tested != TNR_OK || done != 0) {
            atomic_fetch_sub_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed);
            return tnri_world_poison(world, tested);
        }
        if (world->flights != NULL) {
            bool moved = false;
            TNR_TRY(tnri_world_move(world, &moved));
            patience.since = moved ? 0 : patience.since;
        }
        if (tries < SPINS) {
            continue;
        }
        (void)sched_yield();
        if (tries % CLOCK != 0) {
            continue;
        }
        char why[TNR_ERROR_TEXT_BYTES];
        const tnri_outlook outlook = tnri_world_watch(world, -1, &patience, why);
        if (outlook == TNRI_WAIT_LOST) {
            return tnri_world_poison(
                world, tnri_fail(TNR_ERR_PEER, "%s: rank %d waits for %s; %s", op, world->rank, what, why));
        }
        if (outlook == TNRI_WAIT_LATE) {
            return tnri_world_poison(world, tnri_fail(TNR_ERR_PEER, "%s: rank %d has waited for %s for %llu ms", op,
                                                      world->rank, what, TNRI_LLU(patience.waited)));
        }
    }
}
