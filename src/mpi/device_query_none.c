/* SPDX-License-Identifier: BSD-3-Clause */
/* Does MPI take device memory? This one cannot be asked, so it gets none. */
#include "mpi_internal.h"

tnr_world_device tnri_device_query(void) { return TNR_WORLD_DEVICE_UNKNOWN; }
