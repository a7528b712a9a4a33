/* SPDX-License-Identifier: BSD-3-Clause */
/* BLIS is not built in. */
#include "engine_internal.h"

bool tnri_blis_works(void) { return false; }
