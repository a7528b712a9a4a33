/* SPDX-License-Identifier: BSD-3-Clause */
/* A program into which the whole library is linked: what "everything" takes of a board's flash. */
#include "tenure/tenure.h"

int main(void) { return tnr_check_build() == TNR_OK ? 0 : 1; }
