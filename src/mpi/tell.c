/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank's words to every rank, with an eye on ranks that died. */
#include "group_internal.h"

tnr_status tnri_tell(const char *op, tnr_world *world, MPI_Comm comm, int size, void *room, size_t bytes, bool *stuck)
{
    char *all = room;
    if (size == 1) {
        memcpy(all, all + bytes, bytes);
        return TNR_OK;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    tnr_status status = tnri_mpi(
        op, "MPI_Iallgather",
        MPI_Iallgather(all + (size_t)size * bytes, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm, &request));
    if (status != TNR_OK) {
        return tnri_world_poison(world, status);
    }
    atomic_fetch_add_explicit(&tnri_mpi_live.requests, 1U, memory_order_relaxed);
    status = tnri_world_wait(op, world, &request, "all ranks to tell");
    *stuck = *stuck || request != MPI_REQUEST_NULL;
    return status;
}
