/* SPDX-License-Identifier: BSD-3-Clause */
/* Does MPI take device memory? As MPICH answers at run time for this kind of device. */
#include "mpi_internal.h"

tnr_world_device tnri_device_query(void)
{
    int takes = 0;
    const int code = MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes);
    return code == MPI_SUCCESS && takes == 1 ? TNR_WORLD_DEVICE_DIRECT : TNR_WORLD_DEVICE_REFUSED;
}
