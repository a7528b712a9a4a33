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
    bool computes;    /* CPUs that the machine may use are nearest to it */
    tnri_turn making; /* held while its domain or engine is made; a forked child makes it anew */
    TNRI_ATOMIC(tnr_domain *) domain;
    TNRI_ATOMIC(tnr_engine *) engine;
    tnr_domain
        *arena; /* with arena_bytes: over one block of the domain, and the engine in it; set before the engine is */
} machine_node;

struct tnr_machine {
    tnr_domain *home;
    tnr_topology *topology;
    uint64_t pool_max_bytes;
    uint64_t scratch_bytes;
    uint64_t plan_cache_bytes;
    uint64_t arena_bytes;    /* of each engine; 0: none */
    int workers;             /* most of each engine; 0: one per core */
    tnr_numa_options memory; /* of each node's domain */
    tnr_cpu_set cpus;        /* no others */
    tnr_block record;
#if TNRI_DEVICES
    tnri_lock lock; /* of the following */
    tnr_engine *devices[TNR_MACHINE_DEVICES];
    int device_count;
#endif
    int count; /* nodes, ascending */
    machine_node nodes[];
};

/* ---- Making ----------------------------------------------------------------------------------------------------------------- */

typedef struct settings {
    tnr_machine_options options;
    tnr_numa_options memory;
    tnr_cpu_set cpus;
    tnr_node_set nodes; /* that these CPUs are nearest to */
} settings;

/* The nodes that get an engine. A CPU without a node that is near and allowed counts with the nearest that is. */
static tnr_status find_nodes(const tnr_topology *topology, const tnr_cpu_set *cpus, tnr_node_set *nodes)
{
    memset(nodes, 0, sizeof *nodes);
    for (int cpu = tnr_cpu_set_next(cpus, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(cpus, cpu)) {
        tnr_cpu_info info;
        TNR_TRY(tnr_topology_cpu(topology, cpu, &info));
        if (info.nearest != TNR_NONE) {
            nodes->words[info.nearest / 64] |= UINT64_C(1) << (info.nearest % 64);
        }
    }
    return TNR_OK;
}

static tnr_status take_options(const char *op, const tnr_machine_options *options, const tnr_topology *topology,
                               settings *made)
{
    static const tnr_machine_options defaults = TNR_MACHINE_OPTIONS;
    static const tnr_numa_options any_memory = TNR_NUMA_OPTIONS;
    tnr_machine_options *taken = &made->options;
    tnr_cpu_set *cpus = &made->cpus;
    *taken = defaults;
    TNR_TRY(tnri_options_take(op, options, sizeof *taken, taken, sizeof *taken));
    TNR_REQUIRE(taken->workers >= 0, TNR_ERR_ARGUMENT, "%s: %d workers", op, taken->workers);
    made->memory = any_memory;
    made->memory.best_effort = taken->memory == NULL;
    TNR_TRY(tnri_options_take(op, taken->memory, sizeof made->memory, &made->memory, sizeof made->memory));
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
    return find_nodes(topology, cpus, &made->nodes);
}

static tnr_status list_nodes(tnr_machine *machine, const tnr_node_set *computing)
{
    for (int i = 0; i < machine->count; ++i) {
        machine_node *entry = &machine->nodes[i];
        tnr_node_info info;
        TNR_TRY(tnr_topology_node_at(machine->topology, i, &info));
        entry->node = info.node;
        entry->computes = tnr_node_set_has(computing, info.node);
        atomic_init(&entry->domain, NULL);
        atomic_init(&entry->engine, NULL);
    }
    return TNR_OK;
}

static uint64_t record_bytes(const tnr_topology_info *info)
{
    return sizeof(tnr_machine) + (uint64_t)info->nodes * sizeof(machine_node);
}

tnr_status tnr_machine_create(tnr_domain *home, tnr_topology *topology, const tnr_machine_options *options,
                              tnr_machine **machine)
{
    static const char *const op = "machine_create";
    TNR_REQUIRE(home != NULL && topology != NULL && machine != NULL, TNR_ERR_ARGUMENT,
                "machine_create: home, topology or result is NULL");
    tnr_topology_info info;
    TNR_TRY(tnr_topology_describe(topology, &info));
    TNR_REQUIRE(info.this_system, TNR_ERR_UNSUPPORTED,
                "machine_create: the topology describes another machine than the one that this process runs on");
    TNR_REQUIRE(tnr_domain_access(home) == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "machine_create: the host does not reach domain '%s' directly", tnr_domain_name(home));
    TNR_TRY(tnri_domain_check_open(op, home));
    settings taken;
    TNR_TRY(take_options(op, options, topology, &taken));
    tnr_block record;
    TNR_TRY(tnri_record_take(home, record_bytes(&info), &record));
    tnr_machine *made = record.address;
    made->home = home;
    made->topology = topology;
    made->pool_max_bytes = taken.options.pool_max_bytes;
    made->scratch_bytes = taken.options.scratch_bytes;
    made->plan_cache_bytes = taken.options.plan_cache_bytes;
    made->arena_bytes = taken.options.arena_bytes;
    made->workers = taken.options.workers;
    made->memory = taken.memory;
    made->cpus = taken.cpus;
    made->record = record;
    made->count = info.nodes;
    const tnr_status status = list_nodes(made, &taken.nodes);
    if (status != TNR_OK) {
        tnri_record_give(home, &record);
        return status;
    }
    tnri_domain_use(home);
    tnri_topology_use(topology);
    *machine = made;
    return TNR_OK;
}

tnr_status tnr_machine_need(const tnr_topology *topology, const tnr_machine_options *options,
                            uint64_t buffers_per_engine, tnr_need *need)
{
    TNR_REQUIRE(topology != NULL && need != NULL, TNR_ERR_ARGUMENT, "machine_need: topology or need is NULL");
    settings taken;
    TNR_TRY(take_options("machine_need", options, topology, &taken));
    tnr_topology_info info;
    tnr_need sum;
    tnr_need term;
    TNR_TRY(tnr_topology_describe(topology, &info));
    TNR_TRY(tnri_record_need(record_bytes(&info), &sum));
    TNR_TRY(tnr_numa_need(&term));
    TNR_TRY(tnr_need_add(&sum, &term, (uint64_t)info.nodes));
    if (taken.options.arena_bytes == 0) {
        TNR_TRY(tnri_engine_records_need(buffers_per_engine, &term));
        TNR_TRY(tnr_need_add(&sum, &term, (uint64_t)tnr_node_set_count(&taken.nodes)));
    }
    *need = sum;
    return TNR_OK;
}

/* ---- Engines of devices ------------------------------------------------------------------------------------------------------- */

#if TNRI_DEVICES

static tnr_status enter_device(tnr_machine *machine, tnr_engine *engine)
{
    static const char *const op = "machine_register";
    const int number = engine->device_number;
    for (int i = 0; i < machine->device_count; ++i) {
        TNR_REQUIRE(machine->devices[i]->device_number != number, TNR_ERR_BUSY,
                    "%s: an engine of device %d is known already", op, number);
    }
    TNR_REQUIRE(machine->device_count < TNR_MACHINE_DEVICES, TNR_ERR_OVERFLOW, "%s: more than %d engines of devices",
                op, TNR_MACHINE_DEVICES);
    TNR_REQUIRE(atomic_exchange_explicit(&engine->registered, 1U, memory_order_relaxed) == 0, TNR_ERR_BUSY,
                "%s: the engine is known to another machine", op);
    machine->devices[machine->device_count++] = engine;
    return TNR_OK;
}

static void forget_device(tnr_engine *engine) { atomic_store_explicit(&engine->registered, 0U, memory_order_relaxed); }

tnr_status tnr_machine_register(tnr_machine *machine, tnr_engine *engine)
{
    static const char *const op = "machine_register";
    TNR_REQUIRE(machine != NULL && engine != NULL, TNR_ERR_ARGUMENT, "%s: machine or engine is NULL", op);
    TNR_REQUIRE(tnri_is_device(engine), TNR_ERR_ARGUMENT, "%s: an engine of CPUs; the machine makes those itself", op);
    tnri_lock_take(&machine->lock);
    const tnr_status status = enter_device(machine, engine);
    tnri_lock_give(&machine->lock);
    return status;
}

tnr_status tnr_machine_unregister(tnr_machine *machine, tnr_engine *engine)
{
    static const char *const op = "machine_unregister";
    TNR_REQUIRE(machine != NULL && engine != NULL, TNR_ERR_ARGUMENT, "%s: machine or engine is NULL", op);
    bool known = false;
    tnri_lock_take(&machine->lock);
    for (int i = 0; i < machine->device_count && !known; ++i) {
        known = machine->devices[i] == engine;
        if (known) {
            machine->devices[i] = machine->devices[--machine->device_count];
            forget_device(engine);
        }
    }
    tnri_lock_give(&machine->lock);
    TNR_REQUIRE(known, TNR_ERR_ARGUMENT, "%s: the machine does not know the engine", op);
    return TNR_OK;
}

tnr_status tnr_machine_device(tnr_machine *machine, int device, tnr_engine **engine)
{
    static const char *const op = "machine_device";
    TNR_REQUIRE(machine != NULL && engine != NULL, TNR_ERR_ARGUMENT, "%s: machine or result is NULL", op);
    tnr_engine *found = NULL;
    tnri_lock_take(&machine->lock);
    for (int i = 0; i < machine->device_count; ++i) {
        found = machine->devices[i]->device_number == device ? machine->devices[i] : found;
    }
    tnri_lock_give(&machine->lock);
    TNR_REQUIRE(found != NULL, TNR_ERR_BOUNDS, "%s: no engine of device %d is known: tnr_machine_register", op, device);
    *engine = found;
    return TNR_OK;
}

int tnr_machine_devices(tnr_machine *machine)
{
    if (machine == NULL) {
        return 0;
    }
    tnri_lock_take(&machine->lock);
    const int count = machine->device_count;
    tnri_lock_give(&machine->lock);
    return count;
}

#else

static tnr_status no_devices(const char *op)
{
    return tnri_fail(TNR_ERR_UNSUPPORTED, "%s: this build has no engines of devices", op);
}

tnr_status tnr_machine_register(tnr_machine *machine, tnr_engine *engine)
{
    (void)machine;
    (void)engine;
    return no_devices("machine_register");
}

tnr_status tnr_machine_unregister(tnr_machine *machine, tnr_engine *engine)
{
    (void)machine;
    (void)engine;
    return no_devices("machine_unregister");
}

tnr_status tnr_machine_device(tnr_machine *machine, int device, tnr_engine **engine)
{
    (void)machine;
    (void)device;
    (void)engine;
    return no_devices("machine_device");
}

int tnr_machine_devices(tnr_machine *machine)
{
    (void)machine;
    return 0;
}

#endif

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
        const tnr_status status = engine != NULL ? tnri_engine_enter("machine_destroy", engine, true) : TNR_OK;
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
                "machine_destroy: %llu raw blocks of a %s of node %d are out, %llu domains over it live",
                TNRI_LLU(blocks), tnr_domain_name(domain), node, TNRI_LLU(children));
    return TNR_OK;
}

/* What lives in an arena would go with it. Ours are the engine, a user of both, and the pool's record. */
static tnr_status check_arena(tnr_domain *arena, tnr_domain *pool, uint64_t own, int node)
{
    TNR_TRY(check_unused(arena, own, node));
    const uint64_t others = tnri_domain_users(arena) - 2 + tnri_domain_users(pool) - 1;
    TNR_REQUIRE(others == 0, TNR_ERR_BUSY, "machine_destroy: %llu tensors or groups live in the arena of node %d",
                TNRI_LLU(others), node);
    return TNR_OK;
}

static tnr_status check_node(const machine_node *entry)
{
    tnr_domain *domain = atomic_load_explicit(&entry->domain, memory_order_relaxed);
    const tnr_engine *engine = atomic_load_explicit(&entry->engine, memory_order_relaxed);
    uint64_t own = 0;
    if (engine != NULL) {
        TNR_TRY(tnri_engine_check_unused("machine_destroy", engine));
        TNR_TRY(check_unused(engine->pool, 0, entry->node));
        own = engine->pool->closed ? 0 : 1; /* a program may have closed it: then it is nobody's child */
        if (entry->arena != NULL) {
            TNR_TRY(check_arena(entry->arena, engine->pool, own, entry->node));
            own = 1;
        }
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

static void close_arena(machine_node *entry)
{
    if (entry->arena != NULL) {
        tnri_domain_keep(entry->arena, NULL);
        (void)tnr_domain_close(&entry->arena);
    }
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
        close_arena(&old->nodes[i]);
        if (domain != NULL) {
            tnri_domain_keep(domain, NULL);
            (void)tnr_domain_close(&domain);
        }
    }
#if TNRI_DEVICES
    for (int i = 0; i < old->device_count; ++i) {
        forget_device(old->devices[i]);
    }
#endif
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

/* TNR_NONE: the default, which is the smallest node with an engine. */
static machine_node *find(tnr_machine *machine, int node)
{
    if (node == TNR_NONE) {
        node = tnr_machine_node_at(machine, 0);
    }
    for (int i = 0; i < machine->count; ++i) {
        if (machine->nodes[i].node == node) {
            return &machine->nodes[i];
        }
    }
    return NULL;
}

static tnr_status make_domain(const tnr_machine *machine, const machine_node *entry, tnr_domain **domain)
{
    return tnr_numa_create(machine->home, machine->topology, entry->node, &machine->memory, domain);
}

/* From now on others see it, and only the machine closes it. */
static void publish_domain(machine_node *entry, tnr_domain *domain)
{
    tnri_domain_keep(domain, "machine");
    atomic_store_explicit(&entry->domain, domain, memory_order_release);
}

/* Which CPUs an engine gets: of those that the machine may use and that are nearest to its node, one of each core. */
static tnr_status cpus_of(const tnr_machine *machine, const machine_node *entry, tnr_cpu_set *cpus)
{
    tnr_cpu_set own = {{0}};
    const tnr_cpu_set *all = &machine->cpus;
    for (int cpu = tnr_cpu_set_next(all, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(all, cpu)) {
        tnr_cpu_info info;
        TNR_TRY(tnr_topology_cpu(machine->topology, cpu, &info));
        if (info.nearest == entry->node) {
            TNR_TRY(tnr_cpu_set_add(&own, cpu));
        }
    }
    return tnri_one_per_core(machine->topology, &own, cpus);
}

static tnr_status check_found(const char *op, const machine_node *entry, int node)
{
    TNR_REQUIRE(entry != NULL || node != TNR_NONE, TNR_ERR_BOUNDS,
                "%s: there is no node whose memory this process may use", op);
    TNR_REQUIRE(entry != NULL, TNR_ERR_BOUNDS, "%s: node %d is none that this process may use", op, node);
    return TNR_OK;
}

/* In the domain, or in an arena of its own over it. */
static tnr_status make_engine_in(const tnr_machine *machine, machine_node *entry, tnr_domain *domain,
                                 const tnr_engine_options *options, tnr_engine **engine)
{
    if (machine->arena_bytes == 0) {
        return tnr_engine_create(domain, options, engine);
    }
    tnr_domain *arena = NULL;
    tnr_status status = tnr_arena_create_in(domain, machine->arena_bytes, NULL, &arena);
    if (status == TNR_ERR_ARGUMENT) { /* of an arena; of a machine it is too little memory */
        return tnri_fail(TNR_ERR_MEMORY, "machine: arena_bytes %llu have no room for an arena's bookkeeping",
                         TNRI_LLU(machine->arena_bytes));
    }
    TNR_TRY(status);
    status = tnr_engine_create(arena, options, engine);
    if (status != TNR_OK) {
        (void)tnr_domain_close(&arena); /* nothing is in it */
        return status;
    }
    tnri_domain_keep(arena, "machine");
    entry->arena = arena;
    return TNR_OK;
}

/* By the one who holds entry->making. Others see neither the engine nor a new domain before both are there. */
static tnr_status make_engine(const tnr_machine *machine, machine_node *entry, tnr_engine **engine)
{
    tnr_cpu_set cpus;
    TNR_TRY(cpus_of(machine, entry, &cpus));
    const int count = tnr_cpu_set_count(&cpus);
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.pool_max_bytes = machine->pool_max_bytes;
    options.scratch_bytes = machine->scratch_bytes;
    options.plan_cache_bytes = machine->plan_cache_bytes;
    options.topology = machine->topology;
    options.cpus = &cpus;
    options.workers = machine->workers < count ? machine->workers : count;
    tnr_domain *const had = atomic_load_explicit(&entry->domain, memory_order_relaxed);
    tnr_domain *domain = had;
    if (had == NULL) {
        TNR_TRY(make_domain(machine, entry, &domain));
    }
    tnr_engine *made;
    const tnr_status status = make_engine_in(machine, entry, domain, &options, &made);
    if (status != TNR_OK) {
        if (had == NULL) {
            (void)tnr_domain_close(&domain);
        }
        return status;
    }
    if (had == NULL) {
        publish_domain(entry, domain);
    }
    made->keeper = "machine";
    atomic_store_explicit(&entry->engine, made, memory_order_release);
    *engine = made;
    return TNR_OK;
}

static tnr_status have_engine(const tnr_machine *machine, machine_node *entry, tnr_engine **engine)
{
    tnr_engine *found = atomic_load_explicit(&entry->engine, memory_order_acquire);
    tnr_status status = TNR_OK;
    if (found == NULL) {
        tnri_turn_take(&entry->making);
        found = atomic_load_explicit(&entry->engine, memory_order_relaxed);
        if (found == NULL) {
            status = make_engine(machine, entry, &found);
        }
        tnri_turn_give(&entry->making);
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
        tnri_turn_take(&entry->making);
        found = atomic_load_explicit(&entry->domain, memory_order_relaxed);
        if (found == NULL) {
            status = make_domain(machine, entry, &found);
            if (status == TNR_OK) {
                publish_domain(entry, found);
            }
        }
        tnri_turn_give(&entry->making);
    }
    if (status == TNR_OK) {
        *domain = found;
    }
    return status;
}

tnr_status tnr_machine_engine(tnr_machine *machine, int node, tnr_engine **engine)
{
    TNR_REQUIRE(machine != NULL && engine != NULL, TNR_ERR_ARGUMENT, "machine_engine: machine or result is NULL");
    machine_node *entry = find(machine, node);
    TNR_TRY(check_found("machine_engine", entry, node));
    TNR_REQUIRE(entry->computes, TNR_ERR_BOUNDS,
                "machine_engine: node %d has memory, but no CPU that this machine may use", node);
    return have_engine(machine, entry, engine);
}

tnr_status tnr_machine_domain(tnr_machine *machine, int node, tnr_domain **domain)
{
    TNR_REQUIRE(machine != NULL && domain != NULL, TNR_ERR_ARGUMENT, "machine_domain: machine or result is NULL");
    machine_node *entry = find(machine, node);
    TNR_TRY(check_found("machine_domain", entry, node));
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
    const machine_node *entry = input->node >= 0 ? find(inputs->machine, input->node) : NULL;
    if (entry == NULL || !entry->computes) {
        input->node = TNR_NONE;
    }
    return TNR_OK;
}

tnr_status tnr_machine_route(tnr_machine *machine, tnr_route_policy policy, const tnr_view *const *inputs, size_t count,
                             int named, tnr_engine **engine, tnr_route_reason *reason)
{
    TNR_REQUIRE(machine != NULL && engine != NULL, TNR_ERR_ARGUMENT, "machine_route: machine or result is NULL");
    TNR_REQUIRE(inputs != NULL || count == 0 || named != TNR_NONE, TNR_ERR_ARGUMENT, "machine_route: inputs is NULL");
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
