/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who of a host's ranks works on which cores: pure, and the same on all of them. The matching is Kuhn's (1955): a rank without a core
 * asks the ranks that have one of its own to move on.
 */
#include "share_internal.h"

static bool overlap(const tnr_cpu_set *a, const tnr_cpu_set *b)
{
    for (size_t word = 0; word < sizeof(a->words) / sizeof(a->words[0]); word++) {
        if ((a->words[word] & b->words[word]) != 0) {
            return true;
        }
    }
    return false;
}

/* group[r]: the smallest rank of r's party. */
static void find_parties(const tnri_share_rank *ranks, int count, int *group)
{
    for (int rank = 0; rank < count; rank++) {
        group[rank] = rank;
        for (int earlier = 0; earlier < rank; earlier++) {
            if (!overlap(&ranks[rank].cpus, &ranks[earlier].cpus) || group[rank] == group[earlier]) {
                continue;
            }
            const int from = group[rank] > group[earlier] ? group[rank] : group[earlier];
            const int to = group[rank] > group[earlier] ? group[earlier] : group[rank];
            for (int other = 0; other <= rank; other++) {
                group[other] = group[other] == from ? to : group[other];
            }
        }
    }
}

static bool before(const tnri_share_core *a, const tnri_share_core *b)
{
    return a->node != b->node ? a->node < b->node : a->cpu < b->cpu;
}

/* Cores of a party, each once, by node and number. How many. */
static int gather_cores(const tnri_share_rank *ranks, int count, const int *group, int party, tnri_share_core *cores)
{
    int cores_count = 0;
    for (int rank = 0; rank < count; rank++) {
        for (int index = 0; group[rank] == party && index < ranks[rank].core_count; index++) {
            const tnri_share_core core = ranks[rank].cores[index];
            bool known = false;
            for (int at = 0; !known && at < cores_count; at++) {
                known = cores[at].cpu == core.cpu;
            }
            int at = known ? -1 : cores_count++;
            for (; at > 0 && before(&core, &cores[at - 1]); at--) {
                cores[at] = cores[at - 1];
            }
            if (at >= 0) {
                cores[at] = core;
            }
        }
    }
    return cores_count;
}

/* ---- Equal sets: consecutive parts ---------------------------------------------------------------------------------------------------- */

/* Part `part` of `extent` in `parts`, as tnr_block_range. */
static void block(int extent, int parts, int part, int *start, int *length)
{
    if (parts < 1) { /* nobody to share with: as no caller has it */
        *start = 0;
        *length = extent;
        return;
    }
    int64_t begin = 0;
    int64_t count = 0;
    tnri_even_part(extent, parts, part, &begin, &count);
    *start = (int)begin;
    *length = (int)count;
}

/* First core of node number `node` among those that there are (nodes: the end). */
static int node_begin(const tnri_share_core *cores, int count, int node)
{
    int at = 0;
    for (int seen = 0; at < count; at++) {
        seen += at > 0 && cores[at].node != cores[at - 1].node ? 1 : 0;
        if (seen == node) {
            return at;
        }
    }
    return at;
}

/* Cores [*start, *start + *length) are those of the `place`-th of `members` ranks. */
static void share_equally(const tnri_share_core *cores, int count, int members, int place, int *start, int *length)
{
    int nodes = 1;
    for (int at = 1; at < count; at++) {
        nodes += cores[at].node != cores[at - 1].node ? 1 : 0;
    }
    int first;
    int many;
    if (members <= nodes) {
        block(nodes, members, place, &first, &many);
        *start = node_begin(cores, count, first);
        *length = node_begin(cores, count, first + many) - *start;
        return;
    }
    bool enough = true;
    for (int node = 0; node < nodes; node++) {
        block(members, nodes, node, &first, &many);
        const int begin = node_begin(cores, count, node);
        const int room = node_begin(cores, count, node + 1) - begin;
        enough = enough && room >= many;
        if (place >= first && place < first + many) {
            block(room, many, place - first, start, length);
            *start += begin;
        }
    }
    if (!enough) { /* some node has fewer cores than ranks would fall to it */
        block(count, members, place, start, length);
    }
}

/* ---- Unequal sets: a core for each, then in turns -------------------------------------------------------------------------------------- */

/* May this rank use the core, whichever CPU of it its list names? */
static bool may_use(const tnri_share_rank *rank, int cpu)
{
    for (int index = 0; index < rank->core_count; index++) {
        if (rank->cores[index].cpu == cpu) {
            return true;
        }
    }
    return false;
}

/* Find a core for the rank, others moving on where they can. */
static bool match(const tnri_share_rank *ranks, const tnri_share_room *room, int count, int rank)
{
    for (int core = 0; core < count; core++) {
        if (room->seen[core] || !may_use(&ranks[rank], room->cores[core].cpu)) {
            continue;
        }
        room->seen[core] = 1;
        if (room->owner[core] < 0 || match(ranks, room, count, room->owner[core])) {
            room->owner[core] = rank;
            return true;
        }
    }
    return false;
}

/* owner[core] of all cores of the party; ranks that got none share: true. */
static bool share_unequally(const tnri_share_rank *ranks, int count, int party, const tnri_share_room *room, int cores)
{
    bool all = true;
    for (int core = 0; core < cores; core++) {
        room->owner[core] = -1;
    }
    for (int rank = 0; rank < count; rank++) {
        memset(room->seen, 0, (size_t)cores * sizeof(int));
        if (room->group[rank] == party) {
            const bool found = match(ranks, room, cores, rank);
            all = all && found;
        }
    }
    for (bool more = true; more;) {
        more = false;
        for (int rank = 0; rank < count; rank++) {
            for (int core = 0; room->group[rank] == party && core < cores; core++) {
                if (room->owner[core] < 0 && may_use(&ranks[rank], room->cores[core].cpu)) {
                    room->owner[core] = rank;
                    more = true;
                    break;
                }
            }
        }
    }
    return !all;
}

/* ---- All ---------------------------------------------------------------------------------------------------------------------------------- */

static void give(tnr_share *share, const tnri_share_core *core)
{
    const bool first = tnr_cpu_set_count(&share->cpus) == 0;
    if (tnr_cpu_set_add(&share->cpus, core->cpu) == TNR_OK) {
        share->node = first || share->node == core->node ? core->node : TNR_NONE;
    }
}

/* "%d", without stdio. */
static size_t put_number(char *text, int number)
{
    char digits[16];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    for (size_t index = 0; index < count; index++) {
        text[index] = digits[count - 1 - index];
    }
    return count;
}

/* Words with each '#' a number, cut to the room there is. */
static void explain(tnr_share *share, const char *words, int first, int second)
{
    size_t at = 0;
    for (; *words != '\0' && at + 17 < sizeof(share->reason); words++) {
        if (*words == '#') {
            at += put_number(share->reason + at, first);
            first = second;
        } else {
            share->reason[at++] = *words;
        }
    }
    share->reason[at] = '\0';
}

/* This rank's part, once the parties are found. */
static void plan(const tnri_share_rank *ranks, int count, int which, const tnri_share_room *room, tnr_share *share)
{
    const int party = room->group[which];
    int members = 0;
    int place = 0;
    bool equal = true;
    for (int rank = 0; rank < count; rank++) {
        if (room->group[rank] == party) {
            place += rank < which ? 1 : 0;
            members++;
            equal = equal && memcmp(&ranks[rank].cpus, &ranks[which].cpus, sizeof(ranks[rank].cpus)) == 0;
        }
    }
    const int cores = gather_cores(ranks, count, room->group, party, room->cores);
    if (members == 1) {
        share->launcher_bound = count > 1;
        explain(share,
                count > 1 ? "the launcher gave this rank # cores of its own" : "the only rank of its host: # cores",
                cores, 0);
        for (int core = 0; core < cores; core++) {
            give(share, &room->cores[core]);
        }
        return;
    }
    if (equal && cores >= members) {
        int start = 0;
        int length = 0;
        share_equally(room->cores, cores, members, place, &start, &length);
        for (int core = start; core < start + length; core++) {
            give(share, &room->cores[core]);
        }
        explain(share, "# ranks may run on the same # cores and share them out", members, cores);
        return;
    }
    if (!equal) {
        share->oversubscribed = share_unequally(ranks, count, party, room, cores);
        for (int core = 0; core < cores; core++) {
            if (room->owner[core] == which) {
                give(share, &room->cores[core]);
            }
        }
        explain(share,
                share->oversubscribed ? "# ranks have # cores that overlap: too few for all, so some are used twice"
                                      : "# ranks have # cores that overlap and share them out",
                members, cores);
    } else {
        share->oversubscribed = true;
        explain(share, "# ranks have only # cores to run on: some are used twice", members, cores);
    }
    if (tnr_cpu_set_count(&share->cpus) == 0 && ranks[which].core_count != 0) {
        give(share, &ranks[which].cores[place % ranks[which].core_count]);
    }
}

void tnri_share_plan(const tnri_share_rank *ranks, int count, int which, const tnri_share_room *room, tnr_share *share)
{
    memset(share, 0, sizeof(*share));
    share->node = TNR_NONE;
    share->device = TNR_NONE;
    share->local_rank = which;
    share->local_size = count;
    find_parties(ranks, count, room->group);
    for (int rank = 0; rank < count; rank++) { /* a party leaves no core of its own idle, and has none of another's */
        if (room->group[rank] == rank) {
            share->host_cores += gather_cores(ranks, count, room->group, rank, room->cores);
        }
    }
    plan(ranks, count, which, room, share);
    share->cores = tnr_cpu_set_count(&share->cpus);
}

int tnri_share_device(int local_rank, int local_size, int devices, const uint64_t *lists, size_t stride, int listed)
{
    if (devices <= 0) {
        return TNR_NONE;
    }
    const uint64_t mine = *(const uint64_t *)(const void *)((const char *)lists + (size_t)local_rank * stride);
    for (int rank = 0; rank < local_size; rank++) {
        if (*(const uint64_t *)(const void *)((const char *)lists + (size_t)rank * stride) != mine) {
            return TNR_NONE; /* each rank has a list of its own */
        }
    }
    return mine != 0 && listed <= 1 ? TNR_NONE : local_rank % devices;
}
