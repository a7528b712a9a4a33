/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies by hwloc: reads the machine or a description of one into the tables, and binds memory.
 *
 * - The topology is loaded whole, disallowed parts included, and never restricted: what is usable is worked out here, as
 *   hwloc's allowed sets and the binding of this process. On a described machine everything is.
 * - A node is near a CPU when its locality has the CPU; of several (two kinds of memory of one package) the tightest, and
 *   of equal ones hwloc's first. So no CPU has two, and the others are memory-only here, as the system's own numbering has
 *   them. hwloc puts a node without CPUs at the whole machine: beside nodes of some part of it, such a one is near nobody.
 * - A node without memory is none, where hwloc knows the memory of any: its CPUs are CPUs without local memory.
 *
 * - A CPU that is near no usable node has a nearest one all the same (topology.h).
 *
 * hwloc allocates by itself, from the C library, from open to close. After loading it is only read, so any thread may ask.
 */
#include <errno.h>
#include <stdlib.h>

#include <hwloc.h>

#include "place_internal.h"
#include "topology_internal.h"

static const char *const op = "topology_create";

static hwloc_topology_t system_of(const tnr_topology *topology) { return topology->system; }

/* ---- Loading ------------------------------------------------------------------------------------------------------------ */

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0';
}

/*
 * hwloc passes over a description in its variables that it cannot read, and looks at this machine instead: a program that
 * was to see another one would not notice. NULL: no such thing happened.
 */
static const char *ignored_variable(hwloc_topology_t system)
{
    static const char *const descriptions[] = {"HWLOC_FSROOT", "HWLOC_CPUID_PATH", "HWLOC_SYNTHETIC", "HWLOC_XMLFILE"};
    if (hwloc_topology_is_thissystem(system) == 0 || is_set("HWLOC_COMPONENTS") || is_set("HWLOC_THISSYSTEM")) {
        return NULL;
    }
    for (size_t at = 0; at < sizeof(descriptions) / sizeof(descriptions[0]); at++) {
        if (is_set(descriptions[at])) {
            return descriptions[at];
        }
    }
    return NULL;
}

/*
 * Loading binds the calling thread to no CPU, not even for a moment. Distances and attributes of memory are left on: hwloc
 * tells by them what a node without CPUs is near to.
 */
#if HWLOC_API_VERSION >= 0x00020500
enum { LOAD_FLAGS = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING };
#else
enum { LOAD_FLAGS = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED };
#endif

static tnr_status load(hwloc_topology_t system, const tnr_topology_options *options)
{
    TNR_REQUIRE(hwloc_topology_set_flags(system, LOAD_FLAGS) == 0, TNR_ERR_BACKEND,
                "%s: hwloc does not know the flags for loading (errno %d)", op, errno);
    TNR_REQUIRE(options->synthetic == NULL || hwloc_topology_set_synthetic(system, options->synthetic) == 0,
                TNR_ERR_BACKEND, "%s: hwloc cannot read the synthetic description \"%s\"", op, options->synthetic);
    TNR_REQUIRE(options->xml == NULL || hwloc_topology_set_xml(system, options->xml) == 0, TNR_ERR_BACKEND,
                "%s: hwloc cannot read the XML file \"%s\"", op, options->xml);
    TNR_REQUIRE(hwloc_topology_load(system) == 0, TNR_ERR_BACKEND, "%s: hwloc cannot load the topology (errno %d)", op,
                errno);
    if (options->synthetic == NULL && options->xml == NULL) {
        const char *variable = ignored_variable(system);
        TNR_REQUIRE(variable == NULL, TNR_ERR_BACKEND, "%s: hwloc cannot read what %s names", op, variable);
    }
    return TNR_OK;
}

/* ---- What is usable ------------------------------------------------------------------------------------------------------- */

/* CPUs of the machine's that this process may use: allowed to it, and in its binding when there is one. */
static tnr_status usable_cpus(hwloc_topology_t system, bool this_system, tnr_topology *topology)
{
    hwloc_bitmap_t binding = hwloc_bitmap_alloc();
    TNR_REQUIRE(binding != NULL, TNR_ERR_MEMORY, "%s: no memory for a set of CPUs", op);
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(system);
    const bool bound = this_system && hwloc_get_cpubind(system, binding, HWLOC_CPUBIND_PROCESS) == 0;
    tnr_cpu_set thread;
    const bool thread_bound = this_system && !bound && tnri_place_affinity(&thread) == 0;
    tnr_status status = TNR_OK;
    for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_PU, pu)) != NULL;) {
        const unsigned number = pu->os_index;
        topology->info.machine_cpus++;
        if (this_system &&
            (hwloc_bitmap_isset(allowed, number) == 0 || (bound && hwloc_bitmap_isset(binding, number) == 0) ||
             (thread_bound && !tnr_cpu_set_has(&thread, (int)number)))) {
            continue;
        }
        if (number >= TNR_MAX_CPUS) {
            status = tnri_fail(TNR_ERR_BOUNDS, "%s: CPU %llu is not below %d", op, TNRI_LLU(number), TNR_MAX_CPUS);
            break;
        }
        tnri_cpu_set_put(&topology->usable_cpus, (int)number);
    }
    hwloc_bitmap_free(binding);
    TNR_REQUIRE(status != TNR_OK || tnr_cpu_set_count(&topology->usable_cpus) > 0, TNR_ERR_BACKEND,
                "%s: hwloc finds no CPU that this process may use", op);
    return status;
}

static bool memory_known(hwloc_topology_t system)
{
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        if (node->attr->numanode.local_memory != 0) {
            return true;
        }
    }
    return false;
}

/* Nodes with memory that this process may use, whether it may use a CPU near them or not. */
static tnr_status usable_nodes(hwloc_topology_t system, bool this_system, tnr_topology *topology)
{
    hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(system);
    tnr_node_set policy;
    const bool bound = this_system && tnri_place_membind(&policy);
    const bool known = memory_known(system);
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        const unsigned number = node->os_index;
        if ((known && node->attr->numanode.local_memory == 0) ||
            (this_system && (hwloc_bitmap_isset(allowed, number) == 0 ||
                             (bound && number < TNR_MAX_NODES && !tnr_node_set_has(&policy, (int)number))))) {
            continue;
        }
        TNR_REQUIRE(number < TNR_MAX_NODES, TNR_ERR_BOUNDS, "%s: node %llu is not below %d", op, TNRI_LLU(number),
                    TNR_MAX_NODES);
        tnri_node_set_put(&topology->usable_nodes, (int)number);
    }
    return TNR_OK;
}

/* A described machine's pages as its first node has them. */
static void described_pages(hwloc_topology_t system, tnr_topology_info *info)
{
    const hwloc_obj_t node = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_NUMANODE, NULL);
    info->page_bytes = 0;
    info->huge_bytes = 0;
    for (unsigned at = 0; node != NULL && at < node->attr->numanode.page_types_len; at++) {
        const uint64_t bytes = node->attr->numanode.page_types[at].size; /* ascending */
        if (info->page_bytes == 0) {
            info->page_bytes = bytes;
        } else if (info->huge_bytes == 0) {
            info->huge_bytes = bytes;
        }
    }
    if (info->page_bytes == 0) {
        info->page_bytes = 4096;
    }
}

static tnr_status look(hwloc_topology_t system, tnr_topology *topology)
{
    tnr_topology_info *info = &topology->info;
    info->hwloc = true;
    info->this_system = hwloc_topology_is_thissystem(system) != 0;
    TNR_TRY(usable_cpus(system, info->this_system, topology));
    TNR_TRY(usable_nodes(system, info->this_system, topology));
    if (info->this_system) {
        const struct hwloc_topology_support *support = hwloc_topology_get_support(system);
        info->binding = support->membind->set_area_membind != 0 && support->membind->bind_membind != 0;
        info->page_bytes = tnri_place_page_bytes();
        info->huge_bytes = tnri_place_huge_bytes();
    } else {
        described_pages(system, info);
    }
    return TNR_OK;
}

static tnr_status discover(tnr_topology *topology, const tnr_topology_options *options)
{
    hwloc_topology_t system;
    TNR_REQUIRE(hwloc_topology_init(&system) == 0, TNR_ERR_BACKEND, "%s: hwloc cannot begin (errno %d)", op, errno);
    tnr_status status = load(system, options);
    if (status == TNR_OK) {
        status = look(system, topology);
    }
    if (status != TNR_OK) {
        hwloc_topology_destroy(system);
        return status;
    }
    topology->system = system;
    return TNR_OK;
}

/* hwloc counts who uses its components under a mutex. */
tnr_status tnri_topology_open(tnr_topology *topology, const tnr_topology_options *options)
{
    TNR_TRY(tnri_hwloc_check());
    tnri_foreign_begin();
    const tnr_status status = discover(topology, options);
    tnri_foreign_end();
    return status;
}

void tnri_topology_close(tnr_topology *topology)
{
    tnri_foreign_begin();
    hwloc_topology_destroy(system_of(topology));
    tnri_foreign_end();
}

/* ---- Tables ---------------------------------------------------------------------------------------------------------------- */

/* Localities of more CPUs than this make nobody near; see the head of this file. */
static int widest_locality(hwloc_topology_t system)
{
    const int all = hwloc_bitmap_weight(hwloc_topology_get_topology_cpuset(system));
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        if (hwloc_bitmap_weight(node->cpuset) < all) {
            return all - 1;
        }
    }
    return all;
}

/* The usable node near a CPU. */
static int node_of(const tnr_topology *topology, unsigned cpu, int widest)
{
    int near = TNR_NONE;
    int near_weight = widest + 1;
    for (hwloc_obj_t node = NULL;
         (node = hwloc_get_next_obj_by_type(system_of(topology), HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        if (node->os_index >= TNR_MAX_NODES || hwloc_bitmap_isset(node->cpuset, cpu) == 0 ||
            !tnr_node_set_has(&topology->usable_nodes, (int)node->os_index)) {
            continue;
        }
        const int weight = hwloc_bitmap_weight(node->cpuset);
        if (weight < near_weight) {
            near = (int)node->os_index;
            near_weight = weight;
        }
    }
    return near;
}

/* ---- The nearest node of a CPU that is near none ---------------------------------------------------------------------------- */

/* The tightest node around a CPU, usable or not; NULL: none. */
static hwloc_obj_t node_around(hwloc_topology_t system, unsigned cpu)
{
    hwloc_obj_t found = NULL;
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        if (hwloc_bitmap_isset(node->cpuset, cpu) != 0 &&
            (found == NULL || hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(found->cpuset))) {
            found = node;
        }
    }
    return found;
}

/* By the system's table; UINT64_MAX: it does not tell. */
static uint64_t distance(struct hwloc_distances_s *known, hwloc_obj_t from, hwloc_obj_t to)
{
    if (known == NULL || from == NULL) {
        return UINT64_MAX;
    }
    const int row = hwloc_distances_obj_index(known, from);
    const int column = hwloc_distances_obj_index(known, to);
    return row < 0 || column < 0 ? UINT64_MAX : known->values[(unsigned)row * known->nbobjs + (unsigned)column];
}

/* Depth of the smallest part of the machine that has the CPU and all of the node's CPUs; 0, the whole, for a node without. */
static int common_depth(hwloc_obj_t pu, hwloc_obj_t node)
{
    if (hwloc_bitmap_iszero(node->cpuset) != 0) {
        return 0;
    }
    hwloc_obj_t part = pu;
    while (part->parent != NULL && hwloc_bitmap_isincluded(node->cpuset, part->cpuset) == 0) {
        part = part->parent;
    }
    return part->depth;
}

static int nearest_of(const tnr_topology *topology, struct hwloc_distances_s *known, hwloc_obj_t pu)
{
    hwloc_topology_t system = system_of(topology);
    const hwloc_obj_t from = node_around(system, pu->os_index);
    int nearest = TNR_NONE;
    uint64_t least = 0;
    int deepest = 0;
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        const int number = (int)node->os_index;
        if (node->os_index >= TNR_MAX_NODES || !tnr_node_set_has(&topology->usable_nodes, number)) {
            continue;
        }
        const uint64_t away = distance(known, from, node);
        const int depth = common_depth(pu, node);
        const bool closer = away != least ? away < least : depth != deepest ? depth > deepest : number < nearest;
        if (nearest == TNR_NONE || closer) {
            nearest = number;
            least = away;
            deepest = depth;
        }
    }
    return nearest;
}

/* ---- CPUs and nodes ----------------------------------------------------------------------------------------------------------- */

/* Usable CPUs in an object's set. */
static int usable_in(hwloc_const_bitmap_t usable, hwloc_const_cpuset_t set, hwloc_bitmap_t scratch)
{
    const int failed = hwloc_bitmap_and(scratch, usable, set);
    return failed == 0 ? hwloc_bitmap_weight(scratch) : 0;
}

/* Cores of the machine in an object's set; its CPUs where hwloc sees no cores. */
static int cores_in(hwloc_topology_t system, hwloc_const_cpuset_t set)
{
    const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(system, set, HWLOC_OBJ_CORE);
    return cores > 0 ? cores : hwloc_bitmap_weight(set);
}

static void fill_caches(hwloc_topology_t system, tnr_cpu_info *info, hwloc_obj_t pu, hwloc_const_bitmap_t usable,
                        hwloc_bitmap_t scratch)
{
    info->line_bytes = TNRI_UNIT;
    info->l3 = TNR_NONE;
    for (hwloc_obj_t at = pu->parent; at != NULL; at = at->parent) {
        if (at->type == HWLOC_OBJ_L1CACHE) {
            info->l1_bytes = at->attr->cache.size;
            info->line_bytes = at->attr->cache.linesize != 0 ? at->attr->cache.linesize : TNRI_UNIT;
        } else if (at->type == HWLOC_OBJ_L2CACHE) {
            info->l2_bytes = at->attr->cache.size;
            info->l2_cpus = usable_in(usable, at->cpuset, scratch);
        } else if (at->type == HWLOC_OBJ_L3CACHE) {
            info->l3_bytes = at->attr->cache.size;
            info->l3_cpus = usable_in(usable, at->cpuset, scratch);
            info->l3_cores = cores_in(system, at->cpuset);
            info->l3 = (int)at->logical_index;
        }
    }
}

/* In hwloc's order, in which the CPUs of a core stand together. */
static void fill_cpus(tnr_topology *topology, struct hwloc_distances_s *known, hwloc_const_bitmap_t usable,
                      hwloc_bitmap_t scratch)
{
    hwloc_topology_t system = system_of(topology);
    hwloc_obj_t last_core = NULL;
    const int widest = widest_locality(system);
    int core = -1;
    int sibling = 0;
    for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(system, HWLOC_OBJ_PU, pu)) != NULL;) {
        if (hwloc_bitmap_isset(usable, pu->os_index) == 0) {
            continue;
        }
        hwloc_obj_t own = hwloc_get_ancestor_obj_by_type(system, HWLOC_OBJ_CORE, pu);
        if (own != NULL && own == last_core) {
            sibling++;
        } else {
            core++; /* without cores in the topology each CPU is one */
            sibling = 0;
        }
        last_core = own;
        tnr_cpu_info *info = &topology->cpus[tnri_cpu_rank(&topology->usable_cpus, (int)pu->os_index)];
        info->cpu = (int)pu->os_index;
        info->node = node_of(topology, pu->os_index, widest);
        info->nearest = info->node != TNR_NONE ? info->node : nearest_of(topology, known, pu);
        info->core = core;
        info->sibling = sibling;
        fill_caches(system, info, pu, usable, scratch);
    }
}

static void fill_nodes(tnr_topology *topology)
{
    for (hwloc_obj_t node = NULL;
         (node = hwloc_get_next_obj_by_type(system_of(topology), HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        if (node->os_index < TNR_MAX_NODES && tnr_node_set_has(&topology->usable_nodes, (int)node->os_index)) {
            tnri_topology_node *entry = &topology->nodes[tnri_node_rank(&topology->usable_nodes, (int)node->os_index)];
            entry->node = (int)node->os_index;
            entry->bytes = node->attr->numanode.local_memory;
        }
    }
}

static bool copy_set(hwloc_bitmap_t copy, const tnr_cpu_set *set)
{
    int failed = 0;
    for (int cpu = tnr_cpu_set_next(set, TNR_NONE); cpu != TNR_NONE; cpu = tnr_cpu_set_next(set, cpu)) {
        failed |= hwloc_bitmap_set(copy, (unsigned)cpu);
    }
    return failed == 0;
}

tnr_status tnri_topology_fill(tnr_topology *topology)
{
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    hwloc_bitmap_t scratch = hwloc_bitmap_alloc();
    const bool good = usable != NULL && scratch != NULL && copy_set(usable, &topology->usable_cpus);
    if (good) {
        hwloc_topology_t system = system_of(topology);
        struct hwloc_distances_s *known = NULL;
        unsigned tables = 1;
        if (hwloc_distances_get_by_type(system, HWLOC_OBJ_NUMANODE, &tables, &known, HWLOC_DISTANCES_KIND_MEANS_LATENCY,
                                        0) != 0 ||
            tables == 0) {
            known = NULL;
        }
        fill_cpus(topology, known, usable, scratch);
        fill_nodes(topology);
        if (known != NULL) {
            hwloc_distances_release(system, known);
        }
    }
    hwloc_bitmap_free(scratch);
    hwloc_bitmap_free(usable);
    TNR_REQUIRE(good, TNR_ERR_MEMORY, "%s: no memory for sets of CPUs", op);
    return TNR_OK;
}

/* ---- Binding --------------------------------------------------------------------------------------------------------------- */

/* errno after a call of hwloc's failed; some leave it alone. */
static int error_now(void) { return errno != 0 ? errno : EINVAL; }

int tnri_topology_bind(const tnr_topology *topology, void *address, uint64_t bytes, int node)
{
    errno = 0;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set == NULL) {
        return ENOMEM;
    }
    /* The thread's own binding stays as it is, and nothing is moved: before the first touch nothing is there. */
    const int failed =
        hwloc_bitmap_only(set, (unsigned)node) != 0 ||
        hwloc_set_area_membind(system_of(topology), address, (size_t)bytes, set, HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_NOCPUBIND) != 0;
    const int error = failed ? error_now() : 0;
    hwloc_bitmap_free(set);
    return error;
}

int tnri_topology_bound(const tnr_topology *topology, const void *address, uint64_t bytes, int *node)
{
    errno = 0;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set == NULL) {
        return ENOMEM;
    }
    hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
    const int failed =
        hwloc_get_area_membind(system_of(topology), address, (size_t)bytes, set, &policy, HWLOC_MEMBIND_BYNODESET) != 0;
    const int error = failed ? error_now() : 0;
    const bool one = !failed && policy == HWLOC_MEMBIND_BIND && hwloc_bitmap_weight(set) == 1;
    *node = one ? hwloc_bitmap_first(set) : TNR_NONE;
    hwloc_bitmap_free(set);
    return error;
}
