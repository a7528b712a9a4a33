/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds without threads have nothing to wait for: base.h makes the lock empty, and this file takes lock.c's place. */
#include "base.h"

typedef int tnri_lock_none; /* C wants a declaration in every file */
