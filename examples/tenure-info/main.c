/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tenure-info: what this process may use, and what tenure makes of it. Run it as the real program is run, under srun,
 * mpirun or taskset, and see what each process gets:
 *
 *     srun -n 4 --cpu-bind=cores tenure-info
 *
 * With --json it is one JSON object. hwloc's variables (HWLOC_SYNTHETIC, HWLOC_XMLFILE) describe another machine. Ends
 * with 0, with 1 when something failed (what, on standard error), or with 2 for words that it does not know.
 */
#include "info.h"

#include <string.h>

static const char usage[] = "usage: tenure-info [--json]\n"
                            "What this process may use (nodes, CPUs, caches, memory) and what tenure makes of it\n"
                            "(binding, engines, kernels, pools). --json: the same as one JSON object.\n";

static int report(bool json)
{
    static info all; /* sets of CPUs are large */
    if (tnr_check_build() != TNR_OK || info_collect(&all) != TNR_OK) {
        (void)fprintf(stderr, "tenure-info: %s\n", tnr_last_error());
        return 1;
    }
    const bool written = json ? info_print_json(&all, stdout) : info_print_text(&all, stdout);
    info_free(&all);
    if (!written) {
        (void)fprintf(stderr, "tenure-info: the report could not be written\n");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        (void)fputs(usage, stdout);
        return 0;
    }
    if (argc > 2 || (argc == 2 && strcmp(argv[1], "--json") != 0)) {
        (void)fputs(usage, stderr);
        return 2;
    }
    return report(argc == 2);
}
