/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests/board/runtime/run_tests.c asks of a board, on a machine with an operating system. */
#include <stdio.h>

#include "../board/runtime/board.h"

extern const char board_left_out[];
const char board_left_out[] = "";

void board_write(const char *text, size_t length)
{
    (void)fwrite(text, 1, length, stdout);
    (void)fflush(stdout); /* tests fork, and may end by a signal */
}
