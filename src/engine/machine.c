/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All engines of a process: for each usable node a numa domain and an engine over it, made when first asked for.
 *
 * Guarantees: a node's domain and engine are made once, by whoever asks first; who asks meanwhile yields until it is there, and
 * when the making fails nothing is left and the next one tries anew. Making one node's waits for no other's, and an engine that
 * is there is had by one atomic load. Destroying looks at everything first, so that it is refused whole.
 */
#include "route_internal.h"
#include "team_internal.h"

typedef struct machine_node {
    int node;
    bool computes;    /* it has CPUs that the machine may use */
    tnri_lock making; /* held while its domain or engine is made */
    _Atomic(tnr_domain *) domain;
    _Atomic(tnr_engine *) engine;
} machine_node;

struct tnr_machine {
    tnr_domain *home;
    tnr_topology *topology;
    uint64_t pool_max_bytes;
    int workers; /* most of each engine; 0: one per core */
    bool strict;
    tnr_cpu_set cpus; /* no others */
    tnr_block record;
    int count; /* nodes, ascending */
    machine_node nodes[];
};

/* ---- Making ----------------------------------------------------------------------------------------------------------------- */

static tnr_status take_options(const char *op, const tnr_machine_options *options, const tnr_topology *topology,
                               tnr_machine_options *taken, tnr_cpu_set *cpus)
{
    static const tnr_machine_options defaults = TNR_MACHINE_OPTIONS;
    *taken = defaults;
    TNR_TRY(tnri_options_take(op, options, sizeof *taken, taken, sizeof *taken));
    TNR_REQUIRE(taken->workers >= 0, TNR_ERR_ARGUMENT, "%s: %d workers", op, taken->workers);
    tnr_cpu_set usable;
    TNR_TRY(tnr_topology_cpus(topology, &usable));
    *cpus = usable;
    if (taken->cpus != NULL) {
        *cpus = *taken->cpus;
        TNR_REQUIRE(tnr_cpu_set_count(cpus) > 0, TNR_ERR_ARGUMENT, "%s: the set of CPUs is empty", op);
        for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu)) {
            TNR_REQUIRE(tnr_cpu_set_has(&usable, cpu), TNR_ERR_BOUNDS, "%s: CPU %d is none that this process may use",
                        op, cpu);
        }
    }
    return TNR_OK;
}

/* CPUs of both sets; false when there are none. */
static bool intersect(const tnr_cpu_set *a, const tnr_cpu_set *b, tnr_cpu_set *both)
{
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof both->words / sizeof both->words[0]; ++i) {
        both->words[i] = a->words[i] & b->words[i];
        any |= both->words[i];
    }
    return any != 0;
}

static tnr_status list_nodes(tnr_machine *machine)
{
    for (int i = 0; i < machine->count; ++i) {
        machine_node *entry = &machine->nodes[i];
        tnr_node_info info;
        tnr_cpu_set both;
        TNR_TRY(tnr_topology_node_at(machine->topology, i, &info));
        entry->node = info.node;
        entry->computes = intersect(&info.cpu_set, &machine->cpus, &both);
        atomic_init(&entry->domain, NULL);
        atomic_init(&entry->engine, NULL);
    }
    return TNR_OK;
}

tnr_status tnr_machine_create(tnr_domain *home, tnr_topology *topology, const tnr_machine_options *options,
                              tnr_machine **machine)
{
    static const char *const op = "machine create";
    TNR_REQUIRE(home != NULL && topology != NULL && machine != NULL, TNR_ERR_ARGUMENT,
                "machine create: home, topology or result is NULL");
    tnr_topology_info info;
    TNR_TRY(tnr_topology_describe(topology, &info));
    TNR_REQUIRE(info.this_system, TNR_ERR_UNSUPPORTED,
                "machine create: the topology describes another machine than the one that this process runs on");
    TNR_REQUIRE(tnr_domain_access(home) == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "machine create: the host does not reach domain '%s' directly", tnr_domain_name(home));
    tnr_machine_options taken;
    tnr_cpu_set cpus;
    TNR_TRY(take_options(op, options, topology, &taken, &cpus));
    tnr_block record;
    TNR_TRY(tnri_record_take(home, sizeof(tnr_machine) + (uint64_t)info.nodes * sizeof(machine_node), &record));
    tnr_machine *made = record.address;
    made->home = home;
    made->topology = topology;
    made->pool_max_bytes = taken.pool_max_bytes;
    made->workers = taken.workers;
    made->strict = taken.strict;
    made->cpus = cpus;
    made->record = record;
    made->count = info.nodes;
    const tnr_status status = list_nodes(made);
    if (status != TNR_OK) {
        tnri_record_give(home, &record);
        return status;
    }
    tnri_domain_use(home);
    tnri_topology_use(topology);
    *machine = made;
    return TNR_OK;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------------------- */

static void leave_engines(tnr_machine *machine, int count)
{
    for (int i = 0; i < count; ++i) {
        tnr_engine *engine = atomic_load_explicit(&machine->nodes[i].engine, memory_order_relaxed);
        if (engine != NULL) {
            (void)tnri_engine_leave(engine, TNR_OK);
        }
    }
}

static tnr_status enter_engines(tnr_machine *machine)
{
    for (int i = 0; i < machine->count; ++i) {
        tnr_engine *engine = atomic_load_explicit(&machine->nodes[i].engine, memory_order_relaxed);
        const tnr_status status = engine != NULL ? tnri_engine_enter("machine destroy", engine, true) : TNR_OK;
        if (status != TNR_OK) {
            leave_engines(machine, i);
            return status;
        }
    }
    return TNR_OK;
}

/* Does the program hold raw blocks of this domain, or domains over it, `own` of which are ours? */
static tnr_status check_unused(tnr_domain *domain, uint64_t own, int node)
{
    const uint64_t blocks = tnri_domain_program_blocks(domain);
    const uint64_t children = tnri_domain_children(domain) - own;
    TNR_REQUIRE(blocks == 0 && children == 0, TNR_ERR_BUSY,
                "machine destroy: %llu raw blocks of a %s of node %d are out, %llu domains over it live",
                TNRI_LLU(blocks), tnr_domain_name(domain), node, TNRI_LLU(children));
    return TNR_OK;
}

static tnr_status check_node(const machine_node *entry)
{
    tnr_domain *domain = atomic_load_explicit(&entry->domain, memory_order_relaxed);
    const tnr_engine *engine = atomic_load_explicit(&entry->engine, memory_order_relaxed);
    uint64_t own = 0;
    if (engine != NULL) {
        TNR_TRY(check_unused(engine->pool, 0, entry->node));
        own = engine->pool->closed ? 0 : 1; /* a program may have closed it: then it is nobody's child */
    }
    return domain != NULL ? check_unused(domain, own, entry->node) : TNR_OK;
}

static tnr_status check_nodes(const tnr_machine *machine)
{
    for (int i = 0; i < machine->count; ++i) {
        TNR_TRY(check_node(&machine->nodes[i]));
    }
    return TNR_OK;
}

tnr_status tnr_machine_destroy(tnr_machine **machine)
{
    if (machine == NULL || *machine == NULL) {
        return TNR_OK;
    }
    tnr_machine *old = *machine;
    TNR_TRY(enter_engines(old));
    const tnr_status status = check_nodes(old);
    if (status != TNR_OK) {
        leave_engines(old, old->count);
        return status;
    }
    for (int i = 0; i < old->count; ++i) { /* nothing of this is refused any more */
        tnr_engine *engine = atomic_load_explicit(&old->nodes[i].engine, memory_order_relaxed);
        tnr_domain *domain = atomic_load_explicit(&old->nodes[i].domain, memory_order_relaxed);
        if (engine != NULL) {
            (void)tnri_engine_end(engine);
        }
        (void)tnr_domain_close(&domain);
    }
    tnr_domain *home = old->home;
    const tnr_block record = old->record;
    tnri_topology_unuse(old->topology);
    tnri_record_give(home, &record);
    tnri_domain_unuse(home);
    *machine = NULL;
    return TNR_OK;
}

/* ---- Nodes ---------------------------------------------------------------------------------------------------------------------- */

int tnr_machine_nodes(const tnr_machine *machine)
{
    int count = 0;
    for (int i = 0; machine != NULL && i < machine->count; ++i) {
        count += machine->nodes[i].computes ? 1 : 0;
    }
    return count;
}

int tnr_machine_node_at(const tnr_machine *machine, int index)
{
    for (int i = 0; machine != NULL && i < machine->count && index >= 0; ++i) {
        if (machine->nodes[i].computes && index-- == 0) {
            return machine->nodes[i].node;
        }
    }
    return TNR_NONE;
}

static machine_node *find(tnr_machine *machine, int node)
{
    for (int i = 0; i < machine->count; ++i) {
        if (machine->nodes[i].node == node) {
            return &machine->nodes[i];
        }
    }
    return NULL;
}

static tnr_status make_domain(const tnr_machine *machine, const machine_node *entry, tnr_domain **domain)
{
    tnr_numa_options options = TNR_NUMA_OPTIONS;
    options.best_effort = !machine->strict;
    return tnr_numa_create(machine->home, machine->topology, entry->node, &options, domain);
}

/* Which CPUs of its node an engine gets: one of each core that the machine may use. */
static tnr_status cpus_of(const tnr_machine *machine, const machine_node *entry, tnr_cpu_set *cpus)
{
    tnr_node_info info;
    tnr_cpu_set both;
    TNR_TRY(tnr_topology_node(machine->topology, entry->node, &info));
    (void)intersect(&info.cpu_set, &machine->cpus, &both);
    return tnri_one_per_core(machine->topology, &both, cpus);
}

/* By the one who holds entry->making. Others see neither the engine nor a new domain before both are there. */
static tnr_status make_engine(const tnr_machine *machine, machine_node *entry, tnr_engine **engine)
{
    tnr_cpu_set cpus;
    TNR_TRY(cpus_of(machine, entry, &cpus));
    const int count = tnr_cpu_set_count(&cpus);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.pool_max_bytes = machine->pool_max_bytes;
    options.topology = machine->topology;
    options.node = entry->node;
    options.cpus = &cpus;
    options.workers = machine->workers < count ? machine->workers : count;
    tnr_domain *const had = atomic_load_explicit(&entry->domain, memory_order_relaxed);
    tnr_domain *domain = had;
    if (had == NULL) {
        TNR_TRY(make_domain(machine, entry, &domain));
    }
    tnr_engine *made;
    const tnr_status status = tnr_engine_create(domain, &options, &made);
    if (status != TNR_OK) {
        if (had == NULL) {
            (void)tnr_domain_close(&domain);
        }
        return status;
    }
    atomic_store_explicit(&entry->domain, domain, memory_order_release);
    atomic_store_explicit(&entry->engine, made, memory_order_release);
    *engine = made;
    return TNR_OK;
}

static tnr_status have_engine(const tnr_machine *machine, machine_node *entry, tnr_engine **engine)
{
    tnr_engine *found = atomic_load_explicit(&entry->engine, memory_order_acquire);
    tnr_status status = TNR_OK;
    if (found == NULL) {
        tnri_lock_take(&entry->making);
        found = atomic_load_explicit(&entry->engine, memory_order_relaxed);
        if (found == NULL) {
            status = make_engine(machine, entry, &found);
        }
        tnri_lock_give(&entry->making);
    }
    if (status == TNR_OK) {
        *engine = found;
    }
    return status;
}

static tnr_status have_domain(const tnr_machine *machine, machine_node *entry, tnr_domain **domain)
{
    tnr_domain *found = atomic_load_explicit(&entry->domain, memory_order_acquire);
    tnr_status status = TNR_OK;
    if (found == NULL) {
        tnri_lock_take(&entry->making);
        found = atomic_load_explicit(&entry->domain, memory_order_relaxed);
        if (found == NULL) {
            status = make_domain(machine, entry, &found);
            if (status == TNR_OK) {
                atomic_store_explicit(&entry->domain, found, memory_order_release);
            }
        }
        tnri_lock_give(&entry->making);
    }
    if (status == TNR_OK) {
        *domain = found;
    }
    return status;
}

tnr_status tnr_machine_engine(tnr_machine *machine, int node, tnr_engine **engine)
{
    TNR_REQUIRE(machine != NULL && engine != NULL, TNR_ERR_ARGUMENT, "machine engine: machine or result is NULL");
    if (node == TNR_NONE) {
        node = tnr_machine_node_at(machine, 0);
    }
    machine_node *entry = find(machine, node);
    TNR_REQUIRE(entry != NULL, TNR_ERR_BOUNDS, "machine engine: node %d is none that this process may use", node);
    TNR_REQUIRE(entry->computes, TNR_ERR_BOUNDS,
                "machine engine: node %d has memory, but no CPU that this machine may use", node);
    return have_engine(machine, entry, engine);
}

tnr_status tnr_machine_domain(tnr_machine *machine, int node, tnr_domain **domain)
{
    TNR_REQUIRE(machine != NULL && domain != NULL, TNR_ERR_ARGUMENT, "machine domain: machine or result is NULL");
    machine_node *entry = find(machine, node);
    TNR_REQUIRE(entry != NULL, TNR_ERR_BOUNDS, "machine domain: node %d is none that this process may use", node);
    return have_domain(machine, entry, domain);
}

/* ---- Routing -------------------------------------------------------------------------------------------------------------------- */

typedef struct machine_inputs {
    tnr_machine *machine;
    const tnr_view *const *views;
} machine_inputs;

static tnr_status input_at(const void *context, size_t index, tnr_route_input *input)
{
    const machine_inputs *inputs = context;
    TNR_TRY(tnr_route_input_of(inputs->views[index], input));
    const machine_node *entry = find(inputs->machine, input->node);
    if (entry == NULL || !entry->computes) {
        input->node = TNR_NONE;
    }
    return TNR_OK;
}

tnr_status tnr_machine_route(tnr_machine *machine, tnr_route_policy policy, const tnr_view *const *inputs, size_t count,
                             int named, tnr_engine **engine, tnr_route_reason *reason)
{
    TNR_REQUIRE(machine != NULL && engine != NULL, TNR_ERR_ARGUMENT, "machine route: machine or result is NULL");
    TNR_REQUIRE(inputs != NULL || count == 0 || named != TNR_NONE, TNR_ERR_ARGUMENT, "machine route: inputs is NULL");
    const machine_inputs context = {machine, inputs};
    const tnri_route_source source = {.at = input_at, .context = &context, .count = count};
    int32_t node;
    tnr_route_reason why;
    TNR_TRY(tnri_route(policy, &source, named, tnr_machine_node_at(machine, 0), &node, &why));
    TNR_TRY(tnr_machine_engine(machine, node, engine));
    if (reason != NULL) {
        *reason = why;
    }
    return TNR_OK;
}
