/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a host agree who works where: each tells the others which CPUs it may use, and all plan alike (share_plan.c). Nothing is
 * bound here; a machine or an engine made from the answer does that.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "group_internal.h"
#include "share_internal.h"

/* What a rank tells first. */
typedef struct share_words {
    uint64_t device_list; /* 0: the environment says nothing of devices */
    uint64_t core_count;
    tnr_cpu_set cpus;
} share_words;

/* Variables by which launchers and users choose devices. */
static const char *const device_variables[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                               "ZE_AFFINITY_MASK"};

/* What they say as a number, and how many devices the first that is set names. */
static uint64_t device_list(int *listed)
{
    uint64_t sum = 0;
    *listed = 0;
    for (size_t index = 0; index < sizeof(device_variables) / sizeof(device_variables[0]); index++) {
        const char *text = getenv(device_variables[index]);
        if (text == NULL || *text == '\0') {
            continue;
        }
        int count = 1;
        sum += UINT64_C(0x9E3779B97F4A7C15) * (index + 1);
        for (; *text != '\0'; text++) {
            sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
            count += *text == ',' ? 1 : 0;
        }
        *listed = *listed == 0 ? count : *listed;
        sum = sum != 0 ? sum : 1;
    }
    return sum;
}

/* This rank's cores, at most `most` of them. */
static tnr_status list_cores(const tnr_topology *topology, tnri_share_core *cores, uint64_t most)
{
    tnr_cpu_set set;
    TNR_TRY(tnr_topology_cores(topology, &set));
    uint64_t count = 0;
    for (int cpu = tnr_cpu_set_next(&set, TNR_NONE); cpu != TNR_NONE && count < most;
         cpu = tnr_cpu_set_next(&set, cpu)) {
        tnr_cpu_info info;
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        cores[count].cpu = cpu;
        cores[count++].node = info.node;
    }
    return TNR_OK;
}

/* Memory of one call. */
typedef struct rooms {
    tnr_block words;
    tnr_block cores; /* as they are told: `most` per rank */
    tnr_block plan;
    uint64_t most;
} rooms;

/* The world's ranks on this host have told their CPUs: their cores, and this rank's part. */
static tnr_status plan(const char *op, tnr_world *world, const tnr_topology *topology, rooms *of, tnr_share *share,
                       bool *stuck)
{
    const int count = world->node_size;
    const uint64_t ranks = (uint64_t)count;
    const share_words *words = of->words.address;
    of->most = 1;
    for (int near = 0; near < count; near++) {
        TNR_REQUIRE(words[near].core_count <= TNR_MAX_CPUS, TNR_ERR_MPI, "%s: a rank tells of %llu cores", op,
                    TNRI_LLU(words[near].core_count));
        of->most = tnri_max_u64(of->most, words[near].core_count);
    }
    const uint64_t all = of->most * ranks;
    const uint64_t views = ranks * sizeof(tnri_share_rank);
    const uint64_t bytes = views + all * (sizeof(tnri_share_core) + 2 * sizeof(int)) + ranks * sizeof(int);
    tnr_status status =
        tnr_provider.record_take(world->home, (ranks + 1) * of->most * sizeof(tnri_share_core), &of->cores);
    if (status == TNR_OK) {
        status = tnr_provider.record_take(world->home, bytes, &of->plan);
    }
    tnri_share_core *cores = of->cores.address;
    if (status == TNR_OK) {
        status = list_cores(topology, cores + ranks * of->most, of->most);
    }
    TNR_TRY(tnri_vote(op, world, status));
    TNR_TRY(tnri_tell(op, world, world->node, count, cores, of->most * sizeof(tnri_share_core), stuck));
    tnri_share_rank *view = of->plan.address;
    for (int near = 0; near < count; near++) {
        view[near].cpus = words[near].cpus;
        view[near].cores = cores + (uint64_t)near * of->most;
        view[near].core_count = (int)words[near].core_count;
    }
    tnri_share_room room;
    room.cores = (tnri_share_core *)(void *)((char *)of->plan.address + views);
    room.owner = (int *)(void *)(room.cores + all);
    room.seen = room.owner + all;
    room.group = room.seen + all;
    tnri_share_plan(view, count, world->node_rank, &room, share);
    return TNR_OK;
}

static tnr_status agree(const char *op, tnr_world *world, tnri_call call, const tnr_topology *topology, int devices,
                        tnr_status mine, tnr_share *share)
{
    rooms of = {.most = 0};
    bool stuck = false;
    int listed = 0;
    const uint64_t ranks = (uint64_t)world->node_size;
    tnr_status status = mine;
    if (status == TNR_OK) {
        status = tnr_provider.record_take(world->home, (ranks + 1) * sizeof(share_words), &of.words);
    }
    if (status == TNR_OK) {
        tnr_cpu_set cores;
        share_words *told = (share_words *)of.words.address + ranks;
        told->device_list = device_list(&listed);
        status = tnr_topology_cpus(topology, &told->cpus);
        if (status == TNR_OK) {
            status = tnr_topology_cores(topology, &cores);
            told->core_count = (uint64_t)tnr_cpu_set_count(&cores);
        }
    }
    status = tnri_vote_call(op, world, call, status, NULL, 0);
    if (status == TNR_OK) {
        status = tnri_tell(op, world, world->node, world->node_size, of.words.address, sizeof(share_words), &stuck);
    }
    tnr_share made;
    if (status == TNR_OK) {
        status = plan(op, world, topology, &of, &made, &stuck);
    }
    if (status == TNR_OK) {
        const share_words *words = of.words.address;
        made.device = tnri_share_device(world->node_rank, world->node_size, devices, &words->device_list,
                                        sizeof(share_words), listed);
        *share = made;
    }
    tnr_block *const blocks[] = {&of.words, &of.cores, &of.plan};
    for (size_t index = 0; index < sizeof(blocks) / sizeof(blocks[0]) && !stuck; index++) {
        if (blocks[index]->bytes != 0) {
            tnr_provider.record_give(world->home, blocks[index]);
        }
    }
    return status;
}

tnr_status tnr_world_share(tnr_world *world, const tnr_topology *topology, int devices, tnr_share *share)
{
    static const char *const op = "world_share";
    TNR_TRY(tnri_world_enter(op, world));
    const tnr_status mine =
        topology != NULL && share != NULL && devices >= 0
            ? TNR_OK
            : tnri_fail(TNR_ERR_ARGUMENT, "%s: topology or share is NULL, or devices is negative", op);
    return tnri_world_leave(world, agree(op, world, TNRI_CALL_SHARE, topology, devices, mine, share));
}

/* ---- A machine within it ------------------------------------------------------------------------------------------------------------------ */

tnr_status tnr_world_machine(tnr_world *world, tnr_domain *home, tnr_topology *topology,
                             const tnr_machine_options *given, tnr_share *share, tnr_machine **machine)
{
    static const char *const op = "world_machine";
    TNR_TRY(tnri_world_enter(op, world));
    tnr_machine_options options = TNR_MACHINE_OPTIONS;
    tnr_share agreed;
    tnr_status status = TNR_OK;
    if (home == NULL || topology == NULL || machine == NULL) {
        status = tnri_fail(TNR_ERR_ARGUMENT, "%s: home, topology or result is NULL", op);
    } else {
        status = tnr_provider.options_take(op, given, sizeof(options), &options, sizeof(options));
    }
    status = agree(op, world, TNRI_CALL_MACHINE, topology, 0, status, &agreed);
    if (status != TNR_OK) {
        return tnri_world_leave(world, status);
    }
    tnr_cpu_set cpus = agreed.cpus;
    if (options.cpus != NULL) {
        for (size_t word = 0; word < sizeof(cpus.words) / sizeof(cpus.words[0]); word++) {
            cpus.words[word] &= options.cpus->words[word];
        }
    }
    options.cpus = &cpus;
    tnr_machine *made = NULL;
    const tnr_status mine = tnr_machine_create(home, topology, &options, &made);
    status = tnri_vote(op, world, mine);
    if (status == TNR_OK) {
        *machine = made;
        if (share != NULL) {
            *share = agreed;
        }
    } else if (made != NULL) {
        char text[TNR_ERROR_TEXT_BYTES];
        memcpy(text, tnr_last_error(), sizeof(text));
        (void)tnr_machine_destroy(&made);
        status = tnri_fail(status, "%s", text);
    }
    return tnri_world_leave(world, status);
}

/* ---- The table ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct table_line {
    char text[320];
} table_line;

static void write_line(const tnr_world *world, const tnr_share *share, table_line *line)
{
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "?";
    char cpus[96] = "";
    char node[24] = "several";
    char device[24] = "none";
    int length = 0;
    if (MPI_Get_processor_name(host, &length) == MPI_SUCCESS) {
        host[length] = '\0';
    }
    size_t needed = 0;
    if (tnr_cpu_set_format(&share->cpus, cpus, sizeof(cpus), &needed) != TNR_OK) {
        (void)snprintf(cpus, sizeof(cpus), "%d of them", tnr_cpu_set_count(&share->cpus));
    }
    if (share->node != TNR_NONE) {
        (void)snprintf(node, sizeof(node), "%d", share->node);
    }
    if (share->device != TNR_NONE) {
        (void)snprintf(device, sizeof(device), "%d", share->device);
    }
    (void)snprintf(line->text, sizeof(line->text),
                   "rank %d  host %.64s  local %d of %d  cpus %s  node %s  device %s  %s%s\n", world->rank, host,
                   share->local_rank, share->local_size, cpus, node, device,
                   share->launcher_bound   ? "bound by the launcher"
                   : share->local_size > 1 ? "shared out"
                                           : "alone",
                   share->oversubscribed ? ", oversubscribed" : "");
}

tnr_status tnr_world_share_table(tnr_world *world, const tnr_share *share, int root, char *buffer, size_t bytes)
{
    static const char *const op = "world_share_table";
    TNR_TRY(tnri_world_enter(op, world));
    const uint64_t count = (uint64_t)world->size;
    const bool mine = world->rank == root;
    tnr_block room = {NULL, 0, 0, 0};
    bool stuck = false;
    tnr_status status = TNR_OK;
    if (share == NULL || (mine && (buffer == NULL || bytes == 0))) {
        status = tnri_fail(TNR_ERR_ARGUMENT, "%s: share or buffer is NULL", op);
    } else if (root < 0 || root >= world->size) {
        status = tnri_fail(TNR_ERR_BOUNDS, "%s: rank %d is not from 0 to %d", op, root, world->size - 1);
    } else {
        status = tnr_provider.record_take(world->home, (count + 1) * sizeof(table_line), &room);
    }
    status = tnri_vote_call(op, world, TNRI_CALL_SHARE_TABLE, status, "the root", (uint64_t)root);
    if (status == TNR_OK) {
        table_line *lines = room.address;
        write_line(world, share, &lines[count]);
        status = tnri_tell(op, world, world->comm, world->size, lines, sizeof(*lines), &stuck);
        size_t at = 0;
        for (uint64_t rank = 0; status == TNR_OK && mine && rank < count; rank++) {
            lines[rank].text[sizeof(lines[rank].text) - 1] = '\0';
            const size_t length = tnri_min_u64(strlen(lines[rank].text), bytes - 1 - at);
            memcpy(buffer + at, lines[rank].text, length);
            at += length;
        }
        if (status == TNR_OK && buffer != NULL && bytes != 0) {
            buffer[at] = '\0';
        }
    }
    if (room.bytes != 0 && !stuck) {
        tnr_provider.record_give(world->home, &room);
    }
    return tnri_world_leave(world, status);
}
