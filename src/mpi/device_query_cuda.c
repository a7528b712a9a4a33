/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does MPI take device memory? As Open MPI answers when it runs. Version 4 answers with how it was built: yes, even where CUDA was switched off, or
 * does not work, at run time; options.no_device is the remedy.
 */
#include "mpi_internal.h"

#include <mpi-ext.h> /* after mpi.h */

tnr_world_device tnri_device_query(void)
{
    return MPIX_Query_cuda_support() == 1 ? TNR_WORLD_DEVICE_DIRECT : TNR_WORLD_DEVICE_REFUSED;
}
