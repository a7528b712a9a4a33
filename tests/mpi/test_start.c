/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2
 * Starts and stops: what every other test needs. */
#include "ranks.h"

static void nothing(void) { CHECK(ranks_size > 0); }

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(nothing)};
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
