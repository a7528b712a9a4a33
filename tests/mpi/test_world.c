/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3 4 7
 * transports: tcp nocma
 * Worlds: made, compared, voted in, described, ended, destroyed. */
#include <pthread.h>

#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

static tnr_domain *heap;

static bool last(void) { return ranks_me == ranks_size - 1; }

static unsigned long long blocks_out(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    CHECK_OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics.blocks;
}

static void describe(const tnr_world *world, tnr_world_info *info) { CHECK_OK(tnr_world_describe(world, info)); }

/* Worlds that an error ended: MPI keeps the communicator of each till the end. */
static unsigned long long ended_worlds;

/* What MPI holds for us when no world lives: nothing else. A world of one rank asks, and has two communicators itself. */
static void nothing_is_held(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_SELF, NULL, &world));
    tnr_world_info info;
    describe(world, &info);
    CHECK(info.communicators == ended_worlds + 2 && info.requests == 0);
    CHECK(info.datatypes == 0 && info.tickets == 0);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK(atomic_load(&tnri_mpi_live.communicators) == ended_worlds && atomic_load(&tnri_mpi_live.windows) == 0);
    CHECK(blocks_out(heap) == 0);
}

static void one_world(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK(tnr_world_rank(world) == ranks_me && tnr_world_size(world) == ranks_size);
    CHECK(tnr_world_rank(NULL) == -1 && tnr_world_size(NULL) == 0);
    for (int times = 0; times < 3; times++) {
        CHECK_OK(tnr_world_barrier(world));
    }
    tnr_world_info info;
    describe(world, &info);
    CHECK(info.rank == ranks_me && info.size == ranks_size && info.poisoned == TNR_OK);
    CHECK_OK(tnr_world_poisoned(world));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_poisoned(NULL));
    CHECK(info.nodes == 1 && info.node_size == ranks_size && info.node_rank == ranks_me); /* one machine runs this */
    CHECK(info.communicators == 2 && info.requests == 0 && info.datatypes == 0);
    for (int rank = 0; rank < ranks_size; rank++) {
        CHECK(world->peers[rank].process == rank && world->peers[rank].near == rank && world->peers[rank].pid > 0);
    }
    CHECK(tnr_domain_close(&heap) == TNR_ERR_BUSY); /* the world is in it */
    CHECK_OK(tnr_world_destroy(&world));
    CHECK(world == NULL);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_world_destroy(NULL));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_barrier(NULL));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_describe(NULL, &info));
    nothing_is_held();
}

static void process_is_part_of_identity(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK(tnr_domain_identity(heap).process == (uint64_t)ranks_me + 1); /* a domain from before */
    tnr_domain *later = NULL;
    CHECK_OK(tnr_heap_create(&later));
    CHECK(tnr_domain_identity(later).process == (uint64_t)ranks_me + 1);
    CHECK_OK(tnr_domain_close(&later));
    CHECK_OK(tnr_world_destroy(&world));
}

static void sub_communicators(void)
{
    MPI_Comm half;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, ranks_me % 2, -ranks_me, &half) == MPI_SUCCESS); /* in reverse order */
    int rank;
    int size;
    CHECK(MPI_Comm_rank(half, &rank) == MPI_SUCCESS && MPI_Comm_size(half, &size) == MPI_SUCCESS);
    tnr_world *all = NULL;
    tnr_world *part = NULL;
    tnr_world *alone = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &all));
    CHECK_OK(tnr_world_create(heap, half, NULL, &part));
    CHECK_OK(tnr_world_create(heap, MPI_COMM_SELF, NULL, &alone));
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS); /* the world has its own */
    CHECK(tnr_world_rank(part) == rank && tnr_world_size(part) == size);
    CHECK(tnr_world_rank(alone) == 0 && tnr_world_size(alone) == 1);
    CHECK(part->peers[rank].process == ranks_me && alone->peers[0].process == ranks_me);
    for (int other = 0; other < size; other++) {
        CHECK(part->peers[other].process % 2 == ranks_me % 2);
        CHECK(other == 0 || part->peers[other].process < part->peers[other - 1].process);
    }
    /* Ranks of processes, as descriptors name them. */
    for (int process = 0; process < ranks_size; process++) {
        const bool there = process % 2 == ranks_me % 2;
        const int from_last = (ranks_size - 1 - process) / 2; /* the other half is not counted */
        CHECK(tnr_world_rank_of(all, (uint64_t)process + 1) == process);
        CHECK(tnr_world_rank_of(part, (uint64_t)process + 1) == (there ? from_last : -1));
        CHECK(tnr_world_rank_of(alone, (uint64_t)process + 1) == (process == ranks_me ? 0 : -1));
    }
    CHECK(tnr_world_rank_of(part, tnr_domain_identity(heap).process) == rank);
    CHECK(tnr_world_rank_of(part, 0) == -1 && tnr_world_rank_of(part, UINT64_MAX) == -1);
    CHECK(tnr_world_rank_of(part, (uint64_t)ranks_size + 1) == -1 && tnr_world_rank_of(NULL, 1) == -1);
    if (ranks_me % 2 == 0) { /* independent of the other half */
        CHECK_OK(tnr_world_barrier(part));
        CHECK_OK(tnr_world_barrier(part));
    }
    CHECK_OK(tnr_world_barrier(alone));
    CHECK_OK(tnr_world_barrier(all));
    CHECK_OK(tnr_world_destroy(&part));
    CHECK_OK(tnr_world_destroy(&all));
    CHECK_OK(tnr_world_destroy(&alone));
    nothing_is_held();
}

static void several_worlds_over_one(void)
{
    tnr_world *worlds[5] = {NULL};
    for (int index = 0; index < 5; index++) {
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &worlds[index]));
        CHECK(worlds[index]->epoch != 0 && (index == 0 || worlds[index]->epoch > worlds[index - 1]->epoch));
    }
    tnr_world_info info;
    describe(worlds[0], &info);
    CHECK(info.communicators == 10);
    for (int index = 0; index < 5; index++) { /* destroying is local: each rank in an order of its own */
        CHECK_OK(tnr_world_destroy(&worlds[(index * 2 + ranks_me) % 5]));
        if (index == 2 && ranks_size == 1) {
            describe(worlds[(3 * 2 + ranks_me) % 5], &info);
            CHECK(info.communicators == 4);
        }
    }
    nothing_is_held();
}

/* Nothing adds up: contexts of communicators, of which an MPI may have few, included. */
static void made_again_and_again(void)
{
    for (int times = 0; times < 5 + 200 / (ranks_size * ranks_size); times++) { /* slow where ranks have no core each */
        tnr_world *world = NULL;
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
        CHECK_OK(tnr_world_destroy(&world));
    }
    nothing_is_held();
}

static void error_handler_of_the_program(void)
{
    MPI_Comm own;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &own) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, own, NULL, &world));
    MPI_Errhandler handler;
    CHECK(MPI_Comm_get_errhandler(own, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    int compared;
    CHECK(MPI_Comm_compare(own, world->comm, &compared) == MPI_SUCCESS && compared == MPI_CONGRUENT);
    CHECK(MPI_Comm_get_errhandler(world->comm, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_RETURN);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(world->node, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_RETURN);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK_OK(tnr_world_destroy(&world));
    CHECK(MPI_Comm_free(&own) == MPI_SUCCESS);
}

/* ---- Refused everywhere ---------------------------------------------------------------------------------------------------- */

/* Only the last rank's call is bad: that one hears `status`, the others that it did. */
static void refused(tnr_status status, const char *words, tnr_domain *home, const tnr_world_options *options)
{
    tnr_world *world = NULL;
    const unsigned long long before = blocks_out(heap);
    const tnr_status found = tnr_world_create(home, MPI_COMM_WORLD, options, &world);
    CHECK(found == (last() ? status : TNR_ERR_PEER) && world == NULL);
    CHECK_TEXT(words);
    CHECK_TEXT("world_create: ");
    if (!last()) {
        char name[32];
        (void)snprintf(name, sizeof(name), "rank %d: ", ranks_size - 1);
        CHECK_TEXT(name);
        CHECK(strstr(tnr_last_error() + 1, "world_create") == NULL); /* said once */
    }
    CHECK(blocks_out(heap) == before);
    CHECK(atomic_load(&tnri_mpi_live.communicators) == 0);
}

static void bad_arguments_of_one_rank(void)
{
    const tnr_world_options good = TNR_WORLD_OPTIONS;
    const struct {
        const char *words;
        tnr_world_options options;
    } bad[] = {
        {"threads", {sizeof(good), (tnr_world_threads)7, 0, 0, 0, 0, 0, 0, false, 0, 0, false}},
        {"tickets is -1", {sizeof(good), TNR_WORLD_FUNNELED, -1, 0, 0, 0, 0, 0, false, 0, 0, false}},
        {"tickets is 2001", {sizeof(good), TNR_WORLD_FUNNELED, 2001, 0, 0, 0, 0, 0, false, 0, 0, false}},
        {"eager_bytes is 3073", {sizeof(good), TNR_WORLD_FUNNELED, 0, 3073, 0, 0, 0, 0, false, 0, 0, false}},
        {"chunk_bytes is 4095", {sizeof(good), TNR_WORLD_FUNNELED, 0, 0, 4095, 0, 0, 0, false, 0, 0, false}},
        {"chunk_bytes is 1073741825",
         {sizeof(good), TNR_WORLD_FUNNELED, 0, 0, 1073741825U, 0, 0, 0, false, 0, 0, false}},
        {"pack_bytes is 1", {sizeof(good), TNR_WORLD_FUNNELED, 0, 0, 0, 1, 0, 0, false, 0, 0, false}},
        {"shared_bytes is 65535", {sizeof(good), TNR_WORLD_FUNNELED, 0, 0, 0, 0, 0, 65535, false, 0, 0, false}},
        {"options of 8 bytes", {8, TNR_WORLD_FUNNELED, 0, 0, 0, 0, 0, 0, false, 0, 0, false}},
    };
    for (size_t index = 0; index < sizeof(bad) / sizeof(bad[0]); index++) {
        refused(TNR_ERR_ARGUMENT, bad[index].words, heap, last() ? &bad[index].options : &good);
    }
    refused(TNR_ERR_ARGUMENT, "home or result is NULL", last() ? NULL : heap, NULL);
    tnr_world *world = NULL;
    CHECK_STATUS(last() ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                 tnr_world_create(heap, MPI_COMM_WORLD, NULL, last() ? NULL : &world));
    CHECK(world == NULL);
    nothing_is_held();
}

static void ends_of_options_are_taken(void)
{
    const tnr_world_options ends[] = {
        {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 1, 1, 4096, 4096, UINT64_MAX, 65536, true, 1, 1, true},
        {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 2000, 3072, 1073741824U, 1073741824U, 1, 65536, false,
         UINT64_MAX, 0, false}};
    for (size_t index = 0; index < 2; index++) {
        tnr_world *world = NULL;
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &ends[index], &world));
        CHECK(world->options.tickets == ends[index].tickets && world->options.eager_bytes == ends[index].eager_bytes);
        CHECK_OK(tnr_world_destroy(&world));
    }
    nothing_is_held();
}

static void options_that_disagree(void)
{
    if (ranks_size == 1) {
        return; /* nobody to disagree with */
    }
    static const struct {
        const char *words;
        tnr_world_options options;
    } other[] = {
        {"options.tickets: rank 0 has 256, rank 1 has 3",
         {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 3, 0, 0, 0, 0, 0, false, 0, 0, false}},
        {"options.eager_bytes: rank 0 has 2048, rank 1 has 8",
         {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 0, 8, 0, 0, 0, 0, false, 0, 0, false}},
        {"options.derived_run_bytes: rank 0 has 256, rank 1 has 9",
         {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 0, 0, 0, 0, 9, 0, false, 0, 0, false}},
        {"options.no_shared: rank 0 has 0, rank 1 has 1",
         {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 0, 0, 0, 0, 0, 0, true, 0, 0, false}},
        {"options.timeout_ms: rank 0 has 0, rank 1 has 77",
         {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 0, 0, 0, 0, 0, 0, false, 0, 77, false}},
        {"options.no_device: rank 0 has 0, rank 1 has 1",
         {sizeof(tnr_world_options), TNR_WORLD_FUNNELED, 0, 0, 0, 0, 0, 0, false, 0, 0, true}},
    };
    for (size_t index = 0; index < sizeof(other) / sizeof(other[0]); index++) {
        tnr_world *world = NULL;
        CHECK_STATUS(TNR_ERR_PEER,
                     tnr_world_create(heap, MPI_COMM_WORLD, ranks_me == 1 ? &other[index].options : NULL, &world));
        CHECK_TEXT(other[index].words);
        CHECK(world == NULL);
    }
    nothing_is_held();
}

static void home_of_one_rank_is_full(void)
{
    static _Alignas(64) unsigned char region[1 << 22];
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.tickets = 2;
    bool made = false;
    for (uint64_t more = 0; !made; more += more / 4 + 64) { /* each step of creation is the one that finds no room */
        tnr_domain *home = heap;
        if (last()) {
            uint64_t least = 2048;
            CHECK(least + more <= sizeof(region)); /* it fits sometime */
            while (tnr_arena_create(region, least + more, NULL, &home) != TNR_OK) {
                least += 64;
            }
        }
        tnr_world *world = NULL;
        const tnr_status status = tnr_world_create(home, MPI_COMM_WORLD, &options, &world);
        made = status == TNR_OK;
        CHECK(made || status == (last() ? TNR_ERR_MEMORY : TNR_ERR_PEER));
        CHECK(made == (world != NULL));
        CHECK_OK(tnr_world_destroy(&world));
        if (last()) {
            CHECK(blocks_out(home) == 0);
            CHECK_OK(tnr_domain_close(&home));
        }
        CHECK(atomic_load(&tnri_mpi_live.communicators) == 0);
    }
    nothing_is_held();
}

static void communicators_that_cannot_be(void)
{
    tnr_world *world = NULL;
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_create(heap, MPI_COMM_NULL, NULL, &world));
    CHECK_TEXT("MPI_COMM_NULL");
    if (ranks_size > 1) {
        MPI_Comm half;
        MPI_Comm both;
        CHECK(MPI_Comm_split(MPI_COMM_WORLD, ranks_me == 0, 0, &half) == MPI_SUCCESS);
        CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, ranks_me == 0 ? 1 : 0, 3, &both) == MPI_SUCCESS);
        CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_create(heap, both, NULL, &world));
        CHECK_TEXT("two groups");
        CHECK(MPI_Comm_free(&both) == MPI_SUCCESS && MPI_Comm_free(&half) == MPI_SUCCESS);
    }
    nothing_is_held();
}

/* ---- Threads (MP-05) --------------------------------------------------------------------------------------------------------- */

typedef struct on_thread {
    tnr_world *world;
    tnr_status statuses[4];
} on_thread;

static void *call_from_elsewhere(void *state)
{
    on_thread *of = state;
    tnr_world *other = NULL;
    of->statuses[0] = tnr_world_barrier(of->world);
    of->statuses[1] = tnr_world_destroy(&of->world);
    of->statuses[2] = tnr_world_create(heap, MPI_COMM_WORLD, NULL, &other);
    tnr_world_info info;
    of->statuses[3] = tnr_world_describe(of->world, &info);
    return NULL;
}

static void mp_05_wrong_thread(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    on_thread of = {world, {TNR_OK, TNR_OK, TNR_OK, TNR_ERR_MPI}};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, call_from_elsewhere, &of) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(of.statuses[0] == TNR_ERR_MPI && of.statuses[1] == TNR_ERR_MPI && of.statuses[2] == TNR_ERR_MPI);
    CHECK(of.statuses[3] == TNR_OK && of.world == world);
    CHECK_OK(tnr_world_barrier(world)); /* nothing happened to it */
    CHECK_OK(tnr_world_destroy(&world));
}

static void mp_05_level_not_granted(void)
{
    int level;
    CHECK(MPI_Query_thread(&level) == MPI_SUCCESS);
    tnr_world_options options = TNR_WORLD_OPTIONS;
    for (int step = 0; step < 2; step++) {
        options.threads = step == 0 ? TNR_WORLD_SERIALIZED : TNR_WORLD_MULTIPLE;
        const int needed = step == 0 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
        tnr_world *world = NULL;
        if (level >= needed) {
            CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
            CHECK_OK(tnr_world_destroy(&world));
        } else {
            CHECK_STATUS(TNR_ERR_MPI, tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
            CHECK_TEXT("MPI_Init_thread");
            CHECK_TEXT(step == 0 ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_MULTIPLE");
        }
    }
}

static void a_call_inside_another(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_OK(tnri_world_enter("test", world));
    tnr_world_info info;
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_barrier(world));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_describe(world, &info));
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_destroy(&world));
    CHECK(world != NULL);
    CHECK_OK(tnri_world_leave(world, TNR_OK));
    CHECK_OK(tnr_world_barrier(world));
    CHECK_OK(tnr_world_destroy(&world));
}

/* ---- Votes --------------------------------------------------------------------------------------------------------------------- */

static void votes(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    const unsigned sets = ranks_size < 5 ? 1U << ranks_size : 32U;
    for (unsigned set = 0; set < sets; set++) { /* every set of ranks that fail */
        const bool mine = (set >> ranks_me & 1U) != 0 && ranks_me < 5;
        tnr_status brought = TNR_OK;
        if (mine) {
            brought = tnri_fail(ranks_me % 2 == 0 ? TNR_ERR_SHAPE : TNR_ERR_MEMORY, "choose: reason %d", ranks_me * 11);
        }
        const tnr_status status = tnri_vote("choose", world, brought);
        if (set == 0) {
            CHECK(status == TNR_OK);
            continue;
        }
        const int first = (int)tnri_lowest_bit(set);
        char text[64];
        if (mine) {
            CHECK(status == brought);
            (void)snprintf(text, sizeof(text), "choose: reason %d", ranks_me * 11);
        } else {
            CHECK(status == TNR_ERR_PEER);
            (void)snprintf(text, sizeof(text), "choose: rank %d: reason %d", first, first * 11);
        }
        CHECK(strcmp(tnr_last_error(), text) == 0);
    }
    CHECK_OK(tnr_world_barrier(world)); /* a refusal ends nothing */
    CHECK(atomic_load(&tnri_mpi_live.requests) == 0);
    CHECK_OK(tnr_world_destroy(&world));
}

static void votes_on_words(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    uint64_t words[TNRI_VOTE_WORDS];
    for (int index = 0; index < TNRI_VOTE_WORDS; index++) {
        words[index] = index % 3 == 0 ? 0 : index % 3 == 1 ? UINT64_MAX : (uint64_t)index << 32U;
    }
    CHECK_OK(tnri_vote_over("compare", world->comm, ranks_me, ranks_size, TNR_OK, "first,second,rest", words,
                            TNRI_VOTE_WORDS));
    static const char *const names[] = {"first", "second", "rest"};
    for (int at = 0; at < TNRI_VOTE_WORDS && ranks_size > 1; at += 7) {
        const uint64_t kept = words[at];
        if (last()) {
            words[at] = 5;
        }
        CHECK_STATUS(TNR_ERR_PEER, tnri_vote_over("compare", world->comm, ranks_me, ranks_size, TNR_OK,
                                                  "first,second,rest", words, TNRI_VOTE_WORDS));
        char text[128];
        (void)snprintf(text, sizeof(text), "compare: the ranks do not agree on %s: rank 0 has %llu, rank %d has 5",
                       names[at < 2 ? at : 2], (unsigned long long)kept, ranks_size - 1);
        CHECK(strcmp(tnr_last_error(), text) == 0);
        /* a failure goes before a difference, and one that fails may bring anything */
        tnr_status brought = TNR_OK;
        if (last()) {
            brought = tnri_fail(TNR_ERR_STALE, "compare: gone");
        }
        CHECK_STATUS(last() ? TNR_ERR_STALE : TNR_ERR_PEER, tnri_vote_over("compare", world->comm, ranks_me, ranks_size,
                                                                           brought, "word", words, TNRI_VOTE_WORDS));
        CHECK_TEXT("gone");
        words[at] = kept;
    }
    CHECK_OK(tnr_world_destroy(&world));
}

/* ---- Ends ------------------------------------------------------------------------------------------------------------------------ */

static int ended;
static void count_end(tnri_dependent *dependent)
{
    CHECK(dependent->next == NULL && dependent->previous == NULL);
    ended++;
}

static void destroy_waits_for_dependents(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    tnri_dependent dependents[3] = {{NULL, NULL, NULL, count_end}, {NULL, NULL, NULL, count_end}};
    for (int index = 0; index < 3; index++) {
        tnri_dependent_add(world, &dependents[index]);
    }
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_destroy(&world));
    CHECK_TEXT("3 exchanges");
    tnri_dependent_remove(world, &dependents[1]);
    tnri_dependent_remove(world, &dependents[2]);
    CHECK_STATUS(TNR_ERR_BUSY, tnr_world_destroy(&world));
    tnri_dependent_remove(world, &dependents[0]);
    CHECK_OK(tnr_world_barrier(world));
    CHECK_OK(tnr_world_destroy(&world));
    CHECK(ended == 0);
}

static void poisoned(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    tnri_dependent dependents[3] = {{NULL, NULL, NULL, count_end}, {NULL, NULL, NULL, count_end}};
    for (int index = 0; index < 3; index++) {
        tnri_dependent_add(world, &dependents[index]);
    }
    CHECK_OK(tnri_world_enter("test", world));
    CHECK(tnri_world_poison(world, tnri_fail(TNR_ERR_MPI, "test: the line is cut")) == TNR_ERR_MPI);
    CHECK(tnri_world_poison(world, tnri_fail(TNR_ERR_PEER, "test: another")) == TNR_ERR_PEER); /* the first one stays */
    CHECK_OK(tnri_world_leave(world, TNR_OK));
    for (int times = 0; times < 2; times++) {
        CHECK_STATUS(TNR_ERR_MPI, tnr_world_barrier(world));
        CHECK(strcmp(tnr_last_error(), "world_barrier: the world ended: test: the line is cut") == 0);
    }
    tnr_world_info info;
    describe(world, &info);
    CHECK(info.poisoned == TNR_ERR_MPI && info.size == ranks_size);
    ended = 0;
    CHECK_OK(tnr_world_destroy(&world));
    ended_worlds++;
    CHECK(ended == 2);
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world)); /* the communicator is as good as new */
    CHECK_OK(tnr_world_barrier(world));
    CHECK_OK(tnr_world_destroy(&world));
    ended = 0;
    nothing_is_held();
}

/* MPI's own errors: class and text come out, nothing ends the program. */
static void texts_of_mpi(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    int nothing = 0;
    CHECK_STATUS(TNR_ERR_MPI, tnri_mpi("try", "MPI_Send", MPI_Send(&nothing, 1, MPI_INT, ranks_size, 0, world->comm)));
    char text[64];
    (void)snprintf(text, sizeof(text), "try: MPI_Send: class %d: ", MPI_ERR_RANK);
    CHECK_TEXT(text);
    CHECK(strchr(tnr_last_error(), '\n') == NULL);
    CHECK_OK(tnri_mpi("try", "MPI_Send", MPI_SUCCESS));
    CHECK_OK(tnr_world_destroy(&world));
}

/* ---- Pure: blocks and tags ------------------------------------------------------------------------------------------------------- */

static void mp_08_block_ranges(void)
{
    static const int64_t sizes[] = {1, 1, 1, 1, 1, 0, 0, 0};
    static const int64_t starts[] = {0, 1, 2, 3, 4, 5, 5, 5};
    int64_t start;
    int64_t count;
    for (int part = 0; part < 8; part++) {
        CHECK_OK(tnr_block_range(5, 8, part, &start, &count));
        CHECK(start == starts[part] && count == sizes[part]);
    }
    static const int64_t large[] = {2863311533, 2863311532, 2863311532};
    int64_t next = 0;
    for (int part = 0; part < 3; part++) {
        CHECK_OK(tnr_block_range(8589934597, 3, part, &start, &count));
        CHECK(start == next && count == large[part]);
        next += count;
    }
    CHECK(next == 8589934597);
    static const int64_t extents[] = {0, 1, 2, 999, 4294967295, 9007199254740993, INT64_MAX};
    static const int parts[] = {1, 2, 3, 7, 1000, 65536};
    for (size_t e = 0; e < sizeof(extents) / sizeof(extents[0]); e++) {
        for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
            next = 0;
            for (int part = 0; part < parts[p]; part++) {
                CHECK_OK(tnr_block_range(extents[e], parts[p], part, &start, &count));
                CHECK(start == next && (count - extents[e] / parts[p]) / 2 == 0 && count >= extents[e] / parts[p]);
                next += count;
            }
            CHECK(next == extents[e]);
        }
    }
    CHECK_OK(tnr_block_range(INT64_MAX, INT32_MAX, INT32_MAX - 1, &start, &count));
    CHECK(start + count == INT64_MAX);
    start = count = -5;
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_block_range(-1, 2, 0, &start, &count));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_block_range(1, 0, 0, &start, &count));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_block_range(1, 2, 2, &start, &count));
    CHECK_STATUS(TNR_ERR_BOUNDS, tnr_block_range(1, 2, -1, &start, &count));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_block_range(1, 2, 0, NULL, &count));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_block_range(1, 2, 0, &start, NULL));
    CHECK(start == -5 && count == -5);
}

static void mp_07_tags(void)
{
    int *most = NULL;
    int there = 0;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &there) == MPI_SUCCESS && there != 0);
    CHECK(*most >= TNRI_TAG_MOST);
    static const struct {
        int base;
        uint32_t numbers;
    } classes[] = {{TNRI_TAG_HEADER, TNR_WORLD_CHANNELS},
                   {TNRI_TAG_ANSWER, TNRI_TAG_NUMBERS},
                   {TNRI_TAG_DATA, TNRI_TAG_NUMBERS},
                   {TNRI_TAG_EXCHANGE, TNRI_TAG_EXCHANGES},
                   {TNRI_TAG_CONFIRM, TNRI_TAG_EXCHANGES}};
    for (size_t index = 0; index < sizeof(classes) / sizeof(classes[0]); index++) {
        const int above = index + 1 < sizeof(classes) / sizeof(classes[0]) ? classes[index + 1].base : 32768;
        CHECK(classes[index].base + (int)classes[index].numbers <= above); /* classes do not meet */
        for (uint64_t number = 0; number <= 100000; number++) {
            const int tag = tnri_tag(classes[index].base, classes[index].numbers, number);
            CHECK(tag >= classes[index].base && tag < above);
            /* live messages never share one: rounds are longer than there are tickets, channels apart */
            CHECK(tag != tnri_tag(classes[index].base, classes[index].numbers, number + classes[index].numbers - 1));
        }
        const uint64_t pair = UINT64_C(40000) << 32U | 70000U; /* (domain, slot) */
        CHECK(tnri_tag(classes[index].base, classes[index].numbers, pair) < above);
        CHECK(tnri_tag(classes[index].base, classes[index].numbers, UINT64_MAX) < above);
    }
    CHECK((int)TNRI_TAG_EXCHANGES > (int)TNRI_TICKETS_MOST + 2 && (int)TNRI_TAG_NUMBERS > (int)TNRI_TAG_EXCHANGES);
}

/* ---- Ranks that do not come ------------------------------------------------------------------------------------------------------- */

static void timeout_says_who_waits(void)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    options.timeout_ms = 120;
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
    if (ranks_size > 1 && ranks_me == 0) {
        const uint64_t begin = tnri_milliseconds();
        CHECK_STATUS(TNR_ERR_PEER, tnr_world_barrier(world));
        const uint64_t took = tnri_milliseconds() - begin;
        CHECK(took >= 100 && took < 20000); /* others compute on these cores too */
        CHECK_TEXT("world_barrier: rank 0 has waited for the other ranks for ");
        CHECK_STATUS(TNR_ERR_PEER, tnri_world_enter("test", world));
        CHECK_TEXT("the world ended: world_barrier: rank 0 has waited");
        tnr_world_info info;
        describe(world, &info);
        CHECK(info.poisoned == TNR_ERR_PEER && info.requests == 0); /* taken back */
    }
    (void)MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(tnr_world_destroy(&world));
    if (ranks_size > 1 && ranks_me == 0) {
        ended_worlds++;
    }
    nothing_is_held();
}

/* What went wrong in the program on one rank is heard on all; the world goes on. */
static void agreeing(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_STATUS(TNR_ERR_ARGUMENT, tnr_world_agree(NULL, TNR_OK));
    CHECK_OK(tnr_world_agree(world, TNR_OK));
    const bool fails = ranks_me == ranks_size - 1;
    const tnr_status mine = fails ? tnr_set_error(TNR_ERR_IO, "reader: no such file") : TNR_OK;
    CHECK_STATUS(fails ? TNR_ERR_IO : TNR_ERR_PEER, tnr_world_agree(world, mine));
    CHECK_TEXT("reader: no such file");
    CHECK_STATUS(fails ? TNR_ERR_ARGUMENT : TNR_ERR_PEER, tnr_world_agree(world, fails ? (tnr_status)12345 : TNR_OK));
    CHECK_TEXT("12345 is no status");
    CHECK_OK(tnr_world_agree(world, TNR_OK));
    CHECK_OK(tnr_world_poisoned(world));
    CHECK_OK(tnr_world_destroy(&world));
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(one_world),
        RANK_TEST(process_is_part_of_identity),
        RANK_TEST(sub_communicators),
        RANK_TEST(several_worlds_over_one),
        RANK_TEST(made_again_and_again),
        RANK_TEST(error_handler_of_the_program),
        RANK_TEST(bad_arguments_of_one_rank),
        RANK_TEST(ends_of_options_are_taken),
        RANK_TEST(options_that_disagree),
        RANK_TEST(home_of_one_rank_is_full),
        RANK_TEST(communicators_that_cannot_be),
        RANK_TEST(mp_05_wrong_thread),
        RANK_TEST(mp_05_level_not_granted),
        RANK_TEST(a_call_inside_another),
        RANK_TEST(votes),
        RANK_TEST(agreeing),
        RANK_TEST(votes_on_words),
        RANK_TEST(destroy_waits_for_dependents),
        RANK_TEST(poisoned),
        RANK_TEST(texts_of_mpi),
        RANK_TEST(mp_08_block_ranges),
        RANK_TEST(mp_07_tags),
        RANK_TEST(timeout_says_who_waits),
    };
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int status = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return tnr_domain_close(&heap) == TNR_OK ? status : 1;
}
