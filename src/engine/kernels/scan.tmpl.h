/* SPDX-License-Identifier: BSD-3-Clause */
/* Where is the first 0, or the first negative, of a run of one integer dtype? A strip at a time, which vectors go through. */

#define SCAN zero
#define IS(a) ((a) == 0)
#include "scan_run.tmpl.h"
#define SCAN negative
#define IS(a) ((a) < 0)
#include "scan_run.tmpl.h"
