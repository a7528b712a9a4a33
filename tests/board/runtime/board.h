/* SPDX-License-Identifier: BSD-3-Clause */
/* What the board's runtime gives to programs: words to the host, an end, and how much stack was used. */
#ifndef TENURE_TESTS_BOARD_H
#define TENURE_TESTS_BOARD_H

#include <stddef.h>

void board_write(const char *text, size_t length);
_Noreturn void board_exit(int status);

/* Fill the unused stack, but for what the caller's own callees need at once; how many bytes below the caller were touched since. */
void board_stack_paint(void);
size_t board_stack_used(void);

#endif /* TENURE_TESTS_BOARD_H */
