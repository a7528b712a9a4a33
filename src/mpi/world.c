/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a world, describing it, destroying it.
 *
 * Each world has a duplicate of the program's communicator to itself: worlds over one communicator share nothing, so their messages
 * cannot meet, and one that an error ended leaves nothing behind for the next. What MPI keeps for worlds that the program never destroys
 * goes back when MPI_Finalize begins, by an attribute of MPI_COMM_SELF (MPI 3.1, 8.7.1); after that a world is memory only.
 *
 * Destroying is local: MPI_Comm_free is collective by the letter, and does not wait for others in the MPIs that we know.
 */
#define _POSIX_C_SOURCE 200809L /* getpid */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi_internal.h"

/* ---- Worlds of this process, and what MPI_Finalize does with them -------------------------------------------------------------- */

static pthread_mutex_t worlds_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three below */
static tnr_world *worlds;                                       /* newest first */
static uint64_t last_epoch;
static int finalize_key = MPI_KEYVAL_INVALID;

/* MPI_Comm_free and the count; MPI_COMM_NULL is fine. */
static tnr_status communicator_free(const char *op, MPI_Comm *comm)
{
    if (*comm == MPI_COMM_NULL) {
        return TNR_OK;
    }
    const tnr_status status = tnri_mpi(op, "MPI_Comm_free", MPI_Comm_free(comm));
    if (status == TNR_OK) {
        atomic_fetch_sub_explicit(&tnri_mpi_live.communicators, 1U, memory_order_relaxed);
    }
    *comm = MPI_COMM_NULL;
    return status;
}

/* MPI_Finalize has begun: MPI's part of every world goes back, the newest first, which is the same order on all ranks. */
static int when_finalizing(MPI_Comm comm, int key, void *value, void *state)
{
    static const char *const op = "MPI_Finalize";
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    (void)pthread_mutex_lock(&worlds_lock);
    for (tnr_world *world = worlds; world != NULL; world = world->older) {
        if (world->poison == TNR_OK) {
            tnri_world_close(world, tnri_fail(TNR_ERR_MPI, "MPI was finalised"));
        }
        for (tnri_dependent *at = world->dependents; at != NULL; at = at->next) {
            if (at->finalize != NULL) {
                at->finalize(at);
            }
        }
        tnri_flights_stop(world);
        tnri_near_free(world);
        (void)communicator_free(op, &world->node); /* nobody is left to be told */
        (void)communicator_free(op, &world->comm);
    }
    worlds = NULL;
    tnri_mpi_stop();
    (void)pthread_mutex_unlock(&worlds_lock);
    return MPI_SUCCESS;
}

/* See to it that when_finalizing will be called. */
static tnr_status watch_finalize(const char *op)
{
    (void)pthread_mutex_lock(&worlds_lock);
    tnr_status status = TNR_OK;
    if (finalize_key == MPI_KEYVAL_INVALID) {
        int key = MPI_KEYVAL_INVALID;
        status = tnri_mpi(op, "MPI_Comm_create_keyval",
                          MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, when_finalizing, &key, NULL));
        if (status == TNR_OK) {
            status = tnri_mpi(op, "MPI_Comm_set_attr", MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
            if (status == TNR_OK) {
                finalize_key = key;
            } else {
                (void)MPI_Comm_free_keyval(&key);
            }
        }
    }
    (void)pthread_mutex_unlock(&worlds_lock);
    return status;
}

static void list_add(tnr_world *world)
{
    (void)pthread_mutex_lock(&worlds_lock);
    world->older = worlds;
    worlds = world;
    (void)pthread_mutex_unlock(&worlds_lock);
}

static void list_remove(tnr_world *world)
{
    (void)pthread_mutex_lock(&worlds_lock);
    tnr_world **at = &worlds;
    while (*at != NULL && *at != world) {
        at = &(*at)->older;
    }
    if (*at == world) {
        *at = world->older;
    }
    (void)pthread_mutex_unlock(&worlds_lock);
}

/* ---- Options -------------------------------------------------------------------------------------------------------------------- */

static const uint64_t KIB = 1024;

tnr_status tnri_world_options_take(const char *op, const tnr_world_options *given, tnr_world_options *options)
{
    tnr_world_options known = TNR_WORLD_OPTIONS;
    TNR_TRY(tnr_provider.options_take(op, given, sizeof(tnr_world_options), &known, sizeof(known)));
    known.tickets = known.tickets != 0 ? known.tickets : 256;
    known.eager_bytes = known.eager_bytes != 0 ? known.eager_bytes : 2 * KIB;
    known.chunk_bytes = known.chunk_bytes != 0 ? known.chunk_bytes : KIB * KIB;
    known.pack_bytes = known.pack_bytes != 0 ? known.pack_bytes : 512 * KIB;
    known.derived_run_bytes = known.derived_run_bytes != 0 ? known.derived_run_bytes : 256;
    known.shared_bytes = known.shared_bytes != 0 ? known.shared_bytes : 2 * KIB * KIB;
    TNR_REQUIRE(known.threads >= TNR_WORLD_FUNNELED && known.threads <= TNR_WORLD_MULTIPLE, TNR_ERR_ARGUMENT,
                "%s: options.threads is %d, none of tnr_world_threads", op, (int)known.threads);
    TNR_REQUIRE(known.tickets >= 1 && known.tickets <= TNRI_TICKETS_MOST, TNR_ERR_ARGUMENT,
                "%s: options.tickets is %d; 1 to %d expected", op, known.tickets, TNRI_TICKETS_MOST);
    const struct {
        const char *name;
        uint64_t value;
        uint64_t least;
        uint64_t most;
    } ranges[] = {{"eager_bytes", known.eager_bytes, 0, 3 * KIB},
                  {"chunk_bytes", known.chunk_bytes, 4 * KIB, KIB * KIB * KIB},
                  {"pack_bytes", known.pack_bytes, 4 * KIB, KIB * KIB * KIB},
                  {"shared_bytes", known.shared_bytes, 64 * KIB, KIB * KIB * KIB}};
    for (size_t index = 0; index < sizeof(ranges) / sizeof(ranges[0]); index++) {
        TNR_REQUIRE(ranges[index].value >= ranges[index].least && ranges[index].value <= ranges[index].most,
                    TNR_ERR_ARGUMENT, "%s: options.%s is %llu; %llu to %llu expected", op, ranges[index].name,
                    TNRI_LLU(ranges[index].value), TNRI_LLU(ranges[index].least), TNRI_LLU(ranges[index].most));
    }
    *options = known;
    return TNR_OK;
}

static tnr_status options_agree(const char *op, const tnr_world *world)
{
    static const char names[] = "options.threads,options.tickets,options.eager_bytes,options.chunk_bytes,"
                                "options.pack_bytes,options.derived_run_bytes,options.shared_bytes,options.no_shared,"
                                "options.receive_max_bytes,options.timeout_ms,options.no_device";
    const tnr_world_options *options = &world->options;
    const uint64_t words[] = {
        (uint64_t)options->threads, (uint64_t)options->tickets, options->eager_bytes,  options->chunk_bytes,
        options->pack_bytes,        options->derived_run_bytes, options->shared_bytes, options->no_shared,
        options->receive_max_bytes, options->timeout_ms,        options->no_device,
    };
    return tnri_vote_over(op, world->comm, world->rank, world->size, TNR_OK, names, words,
                          (int)(sizeof(words) / sizeof(words[0])));
}

/* ---- Making ------------------------------------------------------------------------------------------------------------------------ */

/* Is the core that we run with the one that we were built with? Its table is not used before that is known. */
static tnr_status provider_check(void)
{
    if (tnr_provider.version != TNRI_PROVIDER_VERSION || tnr_provider.size != sizeof(tnri_provider) ||
        tnr_provider.max_rank != TNR_MAX_RANK || tnr_provider.tensor_size != sizeof(tnr_tensor)) {
        return tnr_set_error(TNR_ERR_UNSUPPORTED,
                             "world_create: libtenure_mpi and libtenure are not of the same build");
    }
    return TNR_OK;
}

/* Tags of ours go up to TNRI_TAG_MOST; the standard promises that many. */
static tnr_status tags_check(const char *op)
{
    int *most = NULL;
    int there = 0;
    TNR_TRY(tnri_mpi(op, "MPI_Comm_get_attr", MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &there)));
    TNR_REQUIRE(there != 0 && *most >= TNRI_TAG_MOST, TNR_ERR_MPI, "%s: MPI has tags up to %d, %d needed", op,
                there != 0 ? *most : -1, (int)TNRI_TAG_MOST);
    return TNR_OK;
}

/* All that keeps this rank from taking part in a collective call at all. */
static tnr_status can_take_part(const char *op, MPI_Comm comm, int *level)
{
    TNR_TRY(tnri_mpi_usable(op));
    TNR_REQUIRE(comm != MPI_COMM_NULL, TNR_ERR_ARGUMENT, "%s: the communicator is MPI_COMM_NULL", op);
    TNR_TRY(tnri_mpi(op, "MPI_Query_thread", MPI_Query_thread(level)));
    if (*level < MPI_THREAD_SERIALIZED) {
        TNR_TRY(tnri_mpi_thread(op, TNR_WORLD_FUNNELED));
    }
    int inter = 0;
    TNR_TRY(tnri_mpi(op, "MPI_Comm_test_inter", MPI_Comm_test_inter(comm, &inter)));
    TNR_REQUIRE(inter == 0, TNR_ERR_ARGUMENT, "%s: the communicator has two groups; MPI_Intercomm_merge makes one", op);
    return TNR_OK;
}

/* This rank's arguments; what is wrong is told to the others. */
static tnr_status arguments_check(const char *op, tnr_domain *home, const tnr_world_options *given, tnr_world **world,
                                  int level, tnr_world_options *options, tnr_world_device *device)
{
    TNR_REQUIRE(home != NULL && world != NULL, TNR_ERR_ARGUMENT, "%s: home or result is NULL", op);
    TNR_TRY(tnri_world_options_take(op, given, options));
    TNR_REQUIRE(tnr_domain_access(home) == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "%s: the host does not reach domain '%s' directly", op, tnr_domain_name(home));
    TNR_TRY(tnr_provider.domain_check_open(op, home));
    const bool granted =
        options->threads == TNR_WORLD_FUNNELED ||
        level >= (options->threads == TNR_WORLD_SERIALIZED ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE);
    TNR_REQUIRE(granted, TNR_ERR_MPI,
                "%s: MPI was initialised with %s; options.threads needs %s: ask for it in MPI_Init_thread", op,
                level == MPI_THREAD_SINGLE     ? "MPI_THREAD_SINGLE"
                : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                               : "MPI_THREAD_SERIALIZED",
                options->threads == TNR_WORLD_SERIALIZED ? "MPI_THREAD_SERIALIZED" : "MPI_THREAD_MULTIPLE");
    TNR_TRY(tags_check(op));
    TNR_TRY(tnri_mpi_thread(op, options->threads));
    return tnri_device_decide(op, options, device);
}

/* A communicator that was made for us: counted, and errors of it come back. */
static tnr_status adopt(const char *op, MPI_Comm comm)
{
    atomic_fetch_add_explicit(&tnri_mpi_live.communicators, 1U, memory_order_relaxed);
    return tnri_mpi(op, "MPI_Comm_set_errhandler", MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
}

/* Where each rank of the world is in MPI_COMM_WORLD. */
static tnr_status find_processes(const char *op, tnr_world *world)
{
    enum { AT_ONCE = 128 };
    MPI_Group everywhere = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    TNR_TRY(tnri_mpi(op, "MPI_Comm_group", MPI_Comm_group(MPI_COMM_WORLD, &everywhere)));
    tnr_status status = tnri_mpi(op, "MPI_Comm_group", MPI_Comm_group(world->comm, &group));
    for (int begin = 0; status == TNR_OK && begin < world->size; begin += AT_ONCE) {
        int ranks[AT_ONCE];
        int processes[AT_ONCE];
        const int count = world->size - begin < AT_ONCE ? world->size - begin : AT_ONCE;
        for (int index = 0; index < count; index++) {
            ranks[index] = begin + index;
        }
        status = tnri_mpi(op, "MPI_Group_translate_ranks",
                          MPI_Group_translate_ranks(group, count, ranks, everywhere, processes));
        for (int index = 0; status == TNR_OK && index < count; index++) {
            if (processes[index] == MPI_UNDEFINED) {
                status = tnri_fail(TNR_ERR_UNSUPPORTED, "%s: rank %d is not in MPI_COMM_WORLD: it was spawned", op,
                                   begin + index);
            }
            world->peers[begin + index].process = processes[index];
        }
    }
    if (group != MPI_GROUP_NULL) {
        (void)MPI_Group_free(&group);
    }
    (void)MPI_Group_free(&everywhere);
    return status;
}

/* What ranks of a node tell each other. */
typedef struct neighbour {
    int64_t rank; /* in the world */
    int64_t pid;
    uint64_t names; /* identity of the pid namespace: a number means the same process only within one */
} neighbour;

void tnri_world_bytes(int size, uint64_t *record, uint64_t *room)
{
    *record = sizeof(tnr_world) + (uint64_t)size * sizeof(tnri_peer);
    *room = (uint64_t)size * sizeof(neighbour);
}

/* The ranks that share memory with this one. `room`: for as many neighbours as the world has ranks. Collective. */
static tnr_status find_neighbours(const char *op, tnr_world *world, neighbour *room)
{
    TNR_TRY(tnri_mpi(op, "MPI_Comm_split_type",
                     MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &world->node)));
    TNR_TRY(adopt(op, world->node));
    TNR_TRY(tnri_mpi(op, "MPI_Comm_rank", MPI_Comm_rank(world->node, &world->node_rank)));
    TNR_TRY(tnri_mpi(op, "MPI_Comm_size", MPI_Comm_size(world->node, &world->node_size)));
    struct stat names;
    const neighbour me = {world->rank, (int64_t)getpid(),
                          stat("/proc/self/ns/pid", &names) == 0 ? (uint64_t)names.st_ino : 0};
    TNR_TRY(tnri_mpi(op, "MPI_Allgather",
                     MPI_Allgather(&me, (int)sizeof(me), MPI_BYTE, room, (int)sizeof(me), MPI_BYTE, world->node)));
    for (int rank = 0; rank < world->size; rank++) {
        world->peers[rank].near = -1;
    }
    for (int near = 0; near < world->node_size; near++) {
        tnri_peer *peer = &world->peers[room[near].rank];
        peer->near = near;
        peer->pid = room[near].names == me.names ? room[near].pid : 0;
    }
    int first = world->node_rank == 0 ? 1 : 0;
    return tnri_mpi(op, "MPI_Allreduce", MPI_Allreduce(&first, &world->nodes, 1, MPI_INT, MPI_SUM, world->comm));
}

/* A number that no world of any rank has had. Collective. */
static tnr_status find_epoch(const char *op, tnr_world *world)
{
    (void)pthread_mutex_lock(&worlds_lock);
    uint64_t mine = last_epoch + 1;
    (void)pthread_mutex_unlock(&worlds_lock);
    uint64_t epoch = 0;
    TNR_TRY(tnri_mpi(op, "MPI_Allreduce", MPI_Allreduce(&mine, &epoch, 1, MPI_UINT64_T, MPI_MAX, world->comm)));
    (void)pthread_mutex_lock(&worlds_lock);
    last_epoch = tnri_max_u64(last_epoch, epoch);
    (void)pthread_mutex_unlock(&worlds_lock);
    world->epoch = (uint32_t)epoch;
    return TNR_OK;
}

/* Everything in a world that is there. Collective, one step after the other; what was made is in *world, whatever happened. */
static tnr_status furnish(const char *op, tnr_world *world, neighbour *room)
{
    TNR_TRY(options_agree(op, world));
    TNR_TRY(find_neighbours(op, world, room));
    TNR_TRY(find_epoch(op, world));
    tnr_status status = find_processes(op, world);
    if (status == TNR_OK) {
        world->process = world->peers[world->rank].process;
        status = watch_finalize(op);
    }
    if (status == TNR_OK) {
        status = tnri_flights_make(world);
    }
    if (status == TNR_OK) {
        status = tnri_collective_make(world);
    }
    TNR_TRY(tnri_vote_over(op, world->comm, world->rank, world->size, status, "", NULL, 0));
    status = tnri_near_make(world);
    if (status == TNR_OK) {
        status = tnr_provider.process_attach(op, (uint64_t)world->process + 1);
    }
    return tnri_vote_over(op, world->comm, world->rank, world->size, status, "", NULL, 0);
}

static void give_memory(tnr_world *world)
{
    tnr_domain *home = world->home;
    const tnr_block record = world->record;
    tnri_collective_free(world);
    tnri_flights_free(world);
    tnr_provider.record_give(home, &record);
}

/* Over a duplicate that is ours: memory, then the rest. *world stays NULL when it fails. */
static tnr_status make(const char *op, MPI_Comm comm, tnr_domain *home, const tnr_world_options *options,
                       tnr_world_device device, tnr_status arguments, tnr_world **world)
{
    int rank;
    int size;
    TNR_TRY(tnri_mpi(op, "MPI_Comm_rank", MPI_Comm_rank(comm, &rank)));
    TNR_TRY(tnri_mpi(op, "MPI_Comm_size", MPI_Comm_size(comm, &size)));
    uint64_t record_bytes = 0;
    uint64_t room_bytes = 0;
    tnri_world_bytes(size, &record_bytes, &room_bytes);
    tnr_block record = {NULL, 0, 0, 0};
    tnr_block room = {NULL, 0, 0, 0};
    tnr_status status = arguments;
    if (status == TNR_OK) {
        status = tnr_provider.record_take(home, record_bytes, &record);
    }
    if (status == TNR_OK) {
        status = tnr_provider.record_take(home, room_bytes, &room);
    }
    uint64_t words[TNRI_HELLO_WORDS];
    tnri_hello_fill(words);
    status = tnri_vote_over(op, comm, rank, size, status, tnri_hello_names, words, TNRI_HELLO_WORDS);
    tnr_world *made = record.address;
    if (status == TNR_OK && made != NULL && room.address != NULL) { /* they are: this rank voted for it */
        made->home = home;
        made->record = record;
        made->comm = comm;
        made->node = MPI_COMM_NULL;
        made->rank = rank;
        made->size = size;
        made->options = *options;
        made->device = device;
        made->peers = (tnri_peer *)(made + 1);
        atomic_init(&made->inside, 0U);
        atomic_init(&made->poison, TNR_OK);
        made->collective = NULL;
        status = furnish(op, made, room.address);
        if (status == TNR_OK) {
            *world = made;
        } else {
            tnri_flights_stop(made);
            tnri_near_free(made);
            (void)communicator_free(op, &made->node); /* the first failure is the one to tell */
            tnri_collective_free(made);
            tnri_flights_free(made);
        }
    }
    if (room.address != NULL) {
        tnr_provider.record_give(home, &room);
    }
    if (*world == NULL && record.address != NULL) {
        tnr_provider.record_give(home, &record);
    }
    return status;
}

tnr_status tnr_world_create(tnr_domain *home, MPI_Comm comm, const tnr_world_options *options, tnr_world **world)
{
    static const char *const op = "world_create";
    TNR_TRY(provider_check());
    int level = MPI_THREAD_SINGLE;
    TNR_TRY(can_take_part(op, comm, &level));
    tnr_world_options taken = TNR_WORLD_OPTIONS;
    tnr_world_device device = TNR_WORLD_DEVICE_UNKNOWN;
    tnr_status status = arguments_check(op, home, options, world, level, &taken, &device);
    MPI_Comm own = MPI_COMM_NULL;
    TNR_TRY(tnri_mpi(op, "MPI_Comm_dup_with_info", MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &own)));
    tnr_world *made = NULL;
    const tnr_status adopted = adopt(op, own);
    status = make(op, own, home, &taken, device, status != TNR_OK ? status : adopted, &made);
    if (made == NULL) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        (void)communicator_free(op, &own);
        return tnri_fail(status, "%s", text);
    }
    tnr_provider.domain_use(home);
    list_add(made);
    *world = made;
    return TNR_OK;
}

/* ---- Living and ending --------------------------------------------------------------------------------------------------------------- */

void tnri_dependent_add(tnr_world *world, tnri_dependent *dependent)
{
    dependent->previous = NULL;
    dependent->next = world->dependents;
    if (world->dependents != NULL) {
        world->dependents->previous = dependent;
    }
    world->dependents = dependent;
}

void tnri_dependent_remove(tnr_world *world, tnri_dependent *dependent)
{
    if (dependent->previous != NULL) {
        dependent->previous->next = dependent->next;
    } else if (world->dependents == dependent) {
        world->dependents = dependent->next;
    }
    if (dependent->next != NULL) {
        dependent->next->previous = dependent->previous;
    }
    dependent->next = NULL;
    dependent->previous = NULL;
}

static void end_dependents(tnr_world *world)
{
    while (world->dependents != NULL) {
        tnri_dependent *first = world->dependents;
        tnri_dependent_remove(world, first);
        if (first->end != NULL) {
            first->end(first);
        }
    }
}

static tnr_status destroy(const char *op, tnr_world *world)
{
    tnr_status status = TNR_OK;
    end_dependents(world);
    if (tnri_mpi_running()) {
        list_remove(world);
        tnri_flights_stop(world);
        tnri_near_free(world);
        status = communicator_free(op, &world->node);
        /* Messages of a world that an error ended may never have been received. Its communicator stays MPI's, until MPI_Finalize, lest
         * a new one gets the same number and takes them for its own: Open MPI counts messages by that number. */
        if (world->poison == TNR_OK) {
            const tnr_status other = communicator_free(op, &world->comm);
            status = status != TNR_OK ? status : other;
        }
    }
    tnr_domain *home = world->home;
    give_memory(world);
    tnr_provider.domain_unuse(home);
    return status;
}

tnr_status tnr_world_destroy(tnr_world **world)
{
    static const char *const op = "world_destroy";
    if (world == NULL || *world == NULL) {
        return TNR_OK;
    }
    tnr_world *of = *world;
    TNR_TRY(tnri_world_enter_ended(op, of));
    if (of->poison == TNR_OK && (of->tickets != 0 || of->dependents != NULL)) {
        uint64_t users = 0;
        for (const tnri_dependent *at = of->dependents; at != NULL; at = at->next) {
            users++;
        }
        return tnri_world_leave(of, tnri_fail(TNR_ERR_BUSY,
                                              "%s: %llu tickets and %llu exchanges or published groups live in it", op,
                                              TNRI_LLU(of->tickets), TNRI_LLU(users)));
    }
    *world = NULL;
    return destroy(op, of);
}

int tnr_world_rank(const tnr_world *world) { return world != NULL ? world->rank : -1; }

int tnr_world_size(const tnr_world *world) { return world != NULL ? world->size : 0; }

int tnr_world_rank_of(const tnr_world *world, uint64_t process)
{
    for (int rank = 0; world != NULL && rank < world->size; rank++) {
        if ((uint64_t)world->peers[rank].process + 1 == process) {
            return rank;
        }
    }
    return -1;
}

tnr_status tnr_world_poisoned(const tnr_world *world)
{
    static const char *const op = "world_poisoned";
    TNR_REQUIRE(world != NULL, TNR_ERR_ARGUMENT, "%s: world is NULL", op);
    const tnr_status status = world->poison;
    return status == TNR_OK ? TNR_OK : tnri_fail(status, "%s: the world ended: %s", op, world->poison_text);
}

tnr_status tnr_world_describe(const tnr_world *world, tnr_world_info *info)
{
    static const char *const op = "world_describe";
    TNR_REQUIRE(world != NULL && info != NULL, TNR_ERR_ARGUMENT, "%s: world or info is NULL", op);
    tnr_world *of = (tnr_world *)(uintptr_t)world; /* no world is constant; what is written is who is inside */
    TNR_REQUIRE(atomic_exchange_explicit(&of->inside, 1U, memory_order_acquire) == 0U, TNR_ERR_BUSY,
                "%s: a call on this world is running", op);
    memset(info, 0, sizeof(*info));
    info->rank = world->rank;
    info->size = world->size;
    info->node_rank = world->node_rank;
    info->node_size = world->node_size;
    info->nodes = world->nodes;
    info->shared = world->near != NULL;
    info->poisoned = world->poison;
    memcpy(info->sends, world->sends, sizeof(world->sends));
    memcpy(info->sent_bytes, world->sent_bytes, sizeof(world->sent_bytes));
    info->tickets = world->tickets;
    info->requests = atomic_load_explicit(&tnri_mpi_live.requests, memory_order_relaxed);
    info->datatypes = atomic_load_explicit(&tnri_mpi_live.datatypes, memory_order_relaxed);
    info->communicators = atomic_load_explicit(&tnri_mpi_live.communicators, memory_order_relaxed);
    info->windows = atomic_load_explicit(&tnri_mpi_live.windows, memory_order_relaxed);
    info->device = world->device;
    return tnri_world_leave(of, TNR_OK);
}

tnr_status tnr_world_barrier(tnr_world *world)
{
    static const char *const op = "world_barrier";
    TNR_TRY(tnri_world_enter(op, world));
    return tnri_world_leave(world, tnri_vote_call(op, world, TNRI_CALL_BARRIER, TNR_OK, NULL, 0)); /* all have come */
}

tnr_status tnr_world_progress(tnr_world *world)
{
    static const char *const op = "world_progress";
    TNR_TRY(tnri_world_enter(op, world));
    return tnri_world_leave(world, tnri_world_progress(world));
}

static bool is_status(tnr_status status) { return strcmp(tnr_status_name(status), "unknown") != 0; }

tnr_status tnr_world_agree(tnr_world *world, tnr_status mine)
{
    static const char *const op = "world_agree";
    TNR_TRY(tnri_world_enter(op, world));
    if (!is_status(mine)) {
        mine = tnri_fail(TNR_ERR_ARGUMENT, "%s: %d is no status", op, (int)mine);
    }
    return tnri_world_leave(world, tnri_vote_call(op, world, TNRI_CALL_AGREE, mine, NULL, 0));
}

tnr_status tnr_world_give_up(tnr_world *world, tnr_status reason)
{
    static const char *const op = "world_give_up";
    char text[TNR_ERROR_TEXT_BYTES]; /* entering may record another */
    (void)snprintf(text, sizeof text, "%s", tnr_last_error());
    TNR_TRY(tnri_world_enter(op, world));
    if (reason == TNR_OK || !is_status(reason)) {
        return tnri_world_leave(world, tnri_fail(TNR_ERR_ARGUMENT, "%s: status %d is no reason", op, (int)reason));
    }
    (void)tnri_world_poison(world, tnri_fail(reason, "%s: %s", op, text));
    return tnri_world_leave(world, TNR_OK);
}
