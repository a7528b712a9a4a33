/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing is asked of an environment. */
#include "product_internal.h"

const char *tnri_product_environment(void) { return NULL; }
