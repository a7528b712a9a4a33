/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * with_isa WORD PROGRAM [ARGUMENT...]: run a test with TENURE_ISA=WORD; ends with 77, "skipped", where this machine lacks that
 * instruction set.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena/arena.h"

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: with_isa WORD PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    for (int isa = 0; isa < TNRI_ISA_END; ++isa) {
        if (strcmp(arguments[1], tnri_isa_name((tnri_isa)isa)) != 0) {
            continue;
        }
        if (!tnri_isa_runs((tnri_isa)isa)) {
            printf("skipped: this machine or build has no %s\n", arguments[1]);
            return 77;
        }
        if (setenv("TENURE_ISA", arguments[1], 1) != 0) {
            return 2;
        }
        execv(arguments[2], arguments + 2);
        perror(arguments[2]);
        return 2;
    }
    fprintf(stderr, "with_isa: no instruction set is called %s\n", arguments[1]);
    return 2;
}
