/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of ranks that knows tenure only as installed. Runs on any number of them, one without a launcher included. */
#include <stdio.h>

#include "tenure/mpi.h"
#include "tenure/tenure.h"

int main(int argc, char **argv)
{
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return 1;
    }
    tnr_domain *heap = NULL;
    tnr_world *world = NULL;
    const int good = tnr_heap_create(&heap) == TNR_OK &&
                     tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world) == TNR_OK &&
                     tnr_world_barrier(world) == TNR_OK;
    const int rank = tnr_world_rank(world);
    if (!good) {
        printf("consumer: %s\n", tnr_last_error());
    }
    const int closed = tnr_world_destroy(&world) == TNR_OK && tnr_domain_close(&heap) == TNR_OK;
    if (good && closed && rank == 0) {
        tnr_feature_set features;
        tnr_features(&features);
        printf("consumer: good, tenure %s\n", features.version);
    }
    (void)MPI_Finalize();
    return good && closed ? 0 : 1;
}
