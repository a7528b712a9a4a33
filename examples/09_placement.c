/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 09: Placement is what was obtained, not what was wished.
 *
 * A topology says which nodes and CPUs this process may use. A machine has one engine and one bound memory per node.
 * What an engine makes carries its node, and the system can be asked where the pages really are.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

int main(void)
{
    tnr_domain *heap = NULL;
    tnr_topology *topology = NULL;
    tnr_machine *machine = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_topology_create(heap, NULL, &topology) == TNR_OK);
    CHECK(tnr_machine_create(heap, topology, NULL, &machine) == TNR_OK);

    tnr_topology_info info;
    CHECK(tnr_topology_describe(topology, &info) == TNR_OK);
    printf("%d of %d CPUs, %d cores, %d nodes may be used\n", info.cpus, info.machine_cpus, info.cores, info.nodes);

    /* One engine per node, made when first asked for. */
    const int64_t shape[2] = {1000, 1000};
    tnr_tensor *made[2] = {NULL, NULL};
    tnr_view views[2];
    const int node = tnr_machine_node_at(machine, 0);
    tnr_engine *engine = NULL;
    CHECK(tnr_machine_engine(machine, node, &engine) == TNR_OK);
    CHECK(tnr_tensor_zeros(tnr_engine_output(engine), TNR_F64, 2, shape, &made[0]) == TNR_OK);
    CHECK(tnr_tensor_view(made[0], &views[0]) == TNR_OK);
    CHECK(tnr_exp(engine, &views[0], &made[1]) == TNR_OK);
    CHECK(tnr_tensor_view(made[1], &views[1]) == TNR_OK);

    /* The node is on the tensor only if the memory was really bound; the system says where its pages are. */
    tnr_tensor_info tensor;
    const void *data = NULL;
    tnr_residence residence;
    CHECK(tnr_tensor_describe(made[1], &tensor) == TNR_OK);
    CHECK(tnr_tensor_host_data(made[1], &data) == TNR_OK);
    if (tensor.placement.cpu_affinity == TNR_NONE) {
        tnr_domain *memory = NULL;
        tnr_numa_info bound;
        CHECK(tnr_machine_domain(machine, node, &memory) == TNR_OK);
        CHECK(tnr_numa_describe(memory, &bound) == TNR_OK);
        printf("memory of node %d is not bound: %s\n", bound.requested, bound.reason);
    } else if (tnr_residence_of(data, tensor.bytes, node, &residence) == TNR_OK) {
        printf("output on node %d: %llu of %llu pages are there\n", tensor.placement.cpu_affinity,
               (unsigned long long)residence.at_node, (unsigned long long)residence.pages);
        CHECK(residence.at_node == residence.pages);
    }

    /* Who should compute on these? The node with the most bytes. Nothing moves for it. */
    const tnr_view *inputs[2] = {&views[0], &views[1]};
    tnr_engine *chosen = NULL;
    tnr_route_reason reason;
    tnr_tensor *sum = NULL;
    CHECK(tnr_machine_route(machine, TNR_ROUTE_DOMINANT, inputs, 2, TNR_NONE, &chosen, &reason) == TNR_OK);
    CHECK(chosen == engine);
    CHECK(tnr_add(chosen, &views[0], &views[1], &sum) == TNR_OK);

    /* Tensors may outlive the machine: their pages go back when they are released. */
    CHECK(tnr_machine_destroy(&machine) == TNR_OK);
    CHECK(tnr_tensor_release(&sum) == TNR_OK);
    CHECK(tnr_tensor_release(&made[0]) == TNR_OK);
    CHECK(tnr_tensor_release(&made[1]) == TNR_OK);
    CHECK(tnr_topology_destroy(&topology) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
