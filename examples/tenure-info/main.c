/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tenure-info: what this process may use, and what tenure makes of it. Run it as the real program is run, under srun,
 * mpirun or taskset, and see what each process gets:
 *
 *     srun -n 4 --cpu-bind=cores tenure-info
 *
 * With --json it is one JSON object. hwloc's variables (HWLOC_SYNTHETIC, HWLOC_XMLFILE) describe another machine. Ends
 * with 0, with 1 when something failed or an engine cannot be made (what, on standard error; the report says all the rest), or
 * with 2 for words that it does not know.
 */
#include "info.h"

#include <string.h>

static const char usage[] = "usage: tenure-info [--json]\n"
                            "What this process may use (nodes, CPUs, caches, memory) and what tenure makes of it\n"
                            "(binding, engines, kernels, pools). --json: the same as one JSON object.\n";

/* Repeat on standard error what a program that is started the same way would fail with. True when there is nothing. */
static bool all_is_well(const info *all)
{
    bool well = all->pool_refused[0] == 0;
    if (!well) {
        (void)fprintf(stderr, "tenure-info: %s\n", all->pool_refused);
    }
    for (int at = 0; at < all->machine.nodes; at++) {
        if (all->nodes[at].refused[0] != 0) {
            (void)fprintf(stderr, "tenure-info: node %d: %s\n", all->nodes[at].node.node, all->nodes[at].refused);
            well = false;
        }
    }
    return well;
}

static int report(bool json)
{
    static info all; /* sets of CPUs are large */
    if (tnr_check_build() != TNR_OK || info_collect(&all) != TNR_OK) {
        (void)fprintf(stderr, "tenure-info: %s\n", tnr_last_error());
        return 1;
    }
    const bool written = json ? info_print_json(&all, stdout) : info_print_text(&all, stdout);
    const bool well = all_is_well(&all);
    info_free(&all);
    if (!written) {
        (void)fprintf(stderr, "tenure-info: the report could not be written\n");
    }
    return written && well ? 0 : 1;
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
