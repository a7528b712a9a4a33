/* SPDX-License-Identifier: BSD-3-Clause */
/* Does MPI take device memory? As Open MPI answers at run time, and MPICH since 4.0: its build may say yes where the answer is no. */
#include "mpi_internal.h"

#include <mpi-ext.h> /* after mpi.h */

tnr_world_device tnri_device_query(void)
{
    return MPIX_Query_cuda_support() == 1 ? TNR_WORLD_DEVICE_DIRECT : TNR_WORLD_DEVICE_REFUSED;
}
