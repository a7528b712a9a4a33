/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies: making, sharing and destroying them, and every question, answered from the tables (topology_internal.h).
 * Knows no system call and no hwloc.
 */
#include "topology_internal.h"

/* ---- Ranks ------------------------------------------------------------------------------------------------------------- */

static int rank_of(const uint64_t *words, int bit)
{
    int rank = 0;
    for (int at = 0; at < bit / 64; at++) {
        rank += tnri_count_bits(words[at]);
    }
    return rank + tnri_count_bits(words[bit / 64] & ((UINT64_C(1) << (bit % 64)) - 1U));
}

int tnri_cpu_rank(const tnr_cpu_set *set, int cpu) { return rank_of(set->words, cpu); }
int tnri_node_rank(const tnr_node_set *set, int node) { return rank_of(set->words, node); }

/* ---- Birth and end ------------------------------------------------------------------------------------------------------- */

static bool table_bytes(uint64_t cpus, uint64_t nodes, uint64_t *bytes)
{
    uint64_t node_bytes;
    return tnri_mul_u64(cpus, sizeof(tnr_cpu_info), bytes) &&
           tnri_mul_u64(nodes, sizeof(tnri_topology_node), &node_bytes) && tnri_add_u64(*bytes, node_bytes, bytes);
}

_Static_assert(sizeof(tnr_cpu_info) % _Alignof(tnri_topology_node) == 0, "nodes follow the CPUs");

static tnr_status take_tables(tnr_topology *made)
{
    uint64_t bytes = 0;
    const uint64_t cpus = (uint64_t)tnr_cpu_set_count(&made->usable_cpus);
    const uint64_t nodes = (uint64_t)tnr_node_set_count(&made->usable_nodes);
    TNR_REQUIRE(table_bytes(cpus, nodes, &bytes), TNR_ERR_OVERFLOW,
                "topology_create: the tables do not fit in 64 bits");
    TNR_TRY(tnri_record_take(made->home, bytes, &made->tables));
    made->cpus = made->tables.address;
    made->nodes = (tnri_topology_node *)(void *)(made->cpus + cpus);
    made->info.cpus = (int)cpus;
    made->info.nodes = (int)nodes;
    return TNR_OK;
}

/* What follows from the tables. */
static void count_tables(tnr_topology *made)
{
    tnr_node_set with_cpus;
    memset(&with_cpus, 0, sizeof(with_cpus));
    made->info.cores = 0;
    for (int at = 0; at < made->info.cpus; at++) {
        const tnr_cpu_info *cpu = &made->cpus[at];
        made->info.cores += cpu->sibling == 0 ? 1 : 0;
        if (cpu->node != TNR_NONE) {
            tnri_node_set_put(&with_cpus, cpu->node);
        }
    }
    made->info.cpu_nodes = tnr_node_set_count(&with_cpus);
}

/* Give back all that creation took; nobody uses it any more. */
static void topology_free(tnr_topology *topology)
{
    tnr_domain *home = topology->home;
    const tnr_block record = topology->record;
    tnri_topology_close(topology);
    if (topology->tables.bytes != 0) {
        tnri_record_give(home, &topology->tables);
    }
    tnri_record_give(home, &record);
}

tnr_status tnr_topology_create(tnr_domain *home, const tnr_topology_options *given, tnr_topology **topology)
{
    static const char *const op = "topology_create";
    TNR_REQUIRE(home != NULL && topology != NULL, TNR_ERR_ARGUMENT, "%s: home and topology must not be NULL", op);
    tnr_topology_options options = TNR_TOPOLOGY_OPTIONS;
    TNR_TRY(tnri_options_take(op, given, sizeof(options), &options, sizeof(options)));
    TNR_REQUIRE(options.synthetic == NULL || options.xml == NULL, TNR_ERR_ARGUMENT,
                "%s: synthetic and xml describe two machines, expected one", op);
    TNR_TRY(tnri_domain_check_open(op, home));
    tnr_block record;
    TNR_TRY(tnri_record_take(home, sizeof(tnr_topology), &record));
    tnr_topology *made = record.address;
    made->home = home->home;
    made->record = record;
    tnr_status status = tnri_topology_open(made, &options);
    if (status == TNR_OK) {
        status = take_tables(made);
        if (status == TNR_OK) {
            status = tnri_topology_fill(made);
        }
        if (status != TNR_OK) {
            topology_free(made);
            return status;
        }
        count_tables(made);
        tnri_domain_use(made->home);
        *topology = made;
        return TNR_OK;
    }
    tnri_record_give(home, &record);
    return status;
}

tnr_status tnr_topology_need(const tnr_topology *topology, tnr_need *need)
{
    TNR_REQUIRE(topology != NULL && need != NULL, TNR_ERR_ARGUMENT,
                "topology_need: topology and need must not be NULL");
    uint64_t bytes = 0;
    tnr_need tables;
    tnr_need sum;
    TNR_REQUIRE(table_bytes((uint64_t)topology->info.cpus, (uint64_t)topology->info.nodes, &bytes), TNR_ERR_OVERFLOW,
                "topology_need: the tables do not fit in 64 bits");
    TNR_TRY(tnri_record_need(sizeof(tnr_topology), &sum));
    TNR_TRY(tnri_record_need(bytes, &tables));
    TNR_TRY(tnr_need_add(&sum, &tables, 1));
    *need = sum;
    return TNR_OK;
}

/* Free a topology that its owner and the last holder have left. */
static void leave(tnr_topology *topology)
{
    tnr_domain *home = topology->home;
    topology_free(topology);
    tnri_domain_unuse(home);
}

tnr_status tnr_topology_destroy(tnr_topology **topology)
{
    if (topology == NULL || *topology == NULL) {
        return TNR_OK;
    }
    tnr_topology *going = *topology;
    tnri_lock_take(&going->lock);
    const uint64_t users = going->users;
    const uint64_t holders = going->holders;
    going->gone = users == 0;
    tnri_lock_give(&going->lock);
    TNR_REQUIRE(users == 0, TNR_ERR_BUSY, "topology_destroy: %llu domains, engines or machines use it",
                TNRI_LLU(users));
    if (holders == 0) {
        leave(going);
    }
    *topology = NULL;
    return TNR_OK;
}

void tnri_topology_use(tnr_topology *topology)
{
    tnri_lock_take(&topology->lock);
    topology->users++;
    tnri_lock_give(&topology->lock);
}

void tnri_topology_unuse(tnr_topology *topology)
{
    tnri_lock_take(&topology->lock);
    topology->users--;
    tnri_lock_give(&topology->lock);
}

void tnri_topology_retire(tnr_topology *topology)
{
    tnri_lock_take(&topology->lock);
    topology->users--;
    topology->holders++;
    tnri_lock_give(&topology->lock);
}

void tnri_topology_let_go(tnr_topology *topology)
{
    tnri_lock_take(&topology->lock);
    topology->holders--;
    const bool last = topology->gone && topology->holders == 0;
    tnri_lock_give(&topology->lock);
    if (last) {
        leave(topology);
    }
}

/* ---- Questions ------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_topology_describe(const tnr_topology *topology, tnr_topology_info *info)
{
    TNR_REQUIRE(topology != NULL && info != NULL, TNR_ERR_ARGUMENT,
                "topology_describe: topology and info must not be NULL");
    *info = topology->info;
    return TNR_OK;
}

static void describe_node(const tnr_topology *topology, int index, tnr_node_info *info)
{
    const tnri_topology_node *node = &topology->nodes[index];
    memset(info, 0, sizeof(*info));
    info->node = node->node;
    info->bytes = node->bytes;
    for (int at = 0; at < topology->info.cpus; at++) {
        const tnr_cpu_info *cpu = &topology->cpus[at];
        if (cpu->node != node->node) {
            continue;
        }
        tnri_cpu_set_put(&info->cpu_set, cpu->cpu);
        info->cpus++;
        info->l3_bytes = tnri_max_u64(info->l3_bytes, cpu->l3_bytes);
        if (cpu->sibling == 0) {
            tnri_cpu_set_put(&info->core_set, cpu->cpu);
            info->cores++;
        }
    }
}

tnr_status tnr_topology_node_at(const tnr_topology *topology, int index, tnr_node_info *info)
{
    TNR_REQUIRE(topology != NULL && info != NULL, TNR_ERR_ARGUMENT,
                "topology_node_at: topology and info must not be NULL");
    TNR_REQUIRE(index >= 0 && index < topology->info.nodes, TNR_ERR_BOUNDS,
                "topology_node_at: expected an index below %d, found %d", topology->info.nodes, index);
    describe_node(topology, index, info);
    return TNR_OK;
}

/* "0, 2, 5" into a text of which 60 bytes are enough for a dozen nodes; more end in "...". */
static const char *node_list(const tnr_topology *topology, char *text, int room)
{
    int length = 0;
    for (int index = 0; index < topology->info.nodes; index++) {
        if (room - length < 12) {
            memcpy(text + length, ", ...", 5);
            length += 5;
            break;
        }
        if (length != 0) {
            text[length++] = ',';
            text[length++] = ' ';
        }
        length += tnri_put_decimal(text + length, (uint64_t)topology->nodes[index].node); /* below 1024 */
    }
    text[length] = '\0';
    return text;
}

tnr_status tnri_topology_node_check(const char *op, const tnr_topology *topology, int node)
{
    char list[64];
    TNR_REQUIRE(tnr_node_set_has(&topology->usable_nodes, node), TNR_ERR_BOUNDS,
                "%s: node %d is none that this process may use: it may use %s", op, node,
                node_list(topology, list, (int)sizeof(list)));
    return TNR_OK;
}

tnr_status tnr_topology_node(const tnr_topology *topology, int node, tnr_node_info *info)
{
    TNR_REQUIRE(topology != NULL && info != NULL, TNR_ERR_ARGUMENT,
                "topology_node: topology and info must not be NULL");
    TNR_TRY(tnri_topology_node_check("topology_node", topology, node));
    describe_node(topology, tnri_node_rank(&topology->usable_nodes, node), info);
    return TNR_OK;
}

tnr_status tnr_topology_cpu(const tnr_topology *topology, int cpu, tnr_cpu_info *info)
{
    TNR_REQUIRE(topology != NULL && info != NULL, TNR_ERR_ARGUMENT, "topology_cpu: topology and info must not be NULL");
    TNR_REQUIRE(tnr_cpu_set_has(&topology->usable_cpus, cpu), TNR_ERR_BOUNDS,
                "topology_cpu: CPU %d is none of the %d that this process may use", cpu, topology->info.cpus);
    *info = topology->cpus[tnri_cpu_rank(&topology->usable_cpus, cpu)];
    return TNR_OK;
}

tnr_status tnr_topology_cpus(const tnr_topology *topology, tnr_cpu_set *set)
{
    TNR_REQUIRE(topology != NULL && set != NULL, TNR_ERR_ARGUMENT, "topology_cpus: topology and set must not be NULL");
    *set = topology->usable_cpus;
    return TNR_OK;
}

tnr_status tnr_topology_cores(const tnr_topology *topology, tnr_cpu_set *set)
{
    TNR_REQUIRE(topology != NULL && set != NULL, TNR_ERR_ARGUMENT, "topology_cores: topology and set must not be NULL");
    memset(set, 0, sizeof(*set));
    for (int at = 0; at < topology->info.cpus; at++) {
        if (topology->cpus[at].sibling == 0) {
            tnri_cpu_set_put(set, topology->cpus[at].cpu);
        }
    }
    return TNR_OK;
}

tnr_status tnr_topology_nodes(const tnr_topology *topology, tnr_node_set *set)
{
    TNR_REQUIRE(topology != NULL && set != NULL, TNR_ERR_ARGUMENT, "topology_nodes: topology and set must not be NULL");
    *set = topology->usable_nodes;
    return TNR_OK;
}
