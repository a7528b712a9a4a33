/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 * A build whose MPI has no way to ask whether it takes device memory: nobody knows, so it gets none, whatever it would say. */
#include "../../src/mpi/device_query_none.c" /* in place of the library's */

#include "cuda_ranks.h"

/* Row CU-03. */
static void cu_03_query_missing(void)
{
    static const int64_t shape[1] = {5000};
    tnr_world_info info;
    here_begin(31);
    query_state.answer = 1;
    for (int setting = 0; setting < 2; setting++) {
        tnr_world *world = here_world(heap(), setting, 60000);
        CHECK_OK(tnr_world_describe(world, &info));
        CHECK(info.device == TNR_WORLD_DEVICE_UNKNOWN);
        CHECK(strstr(tnr_world_device_text(info.device), "staged: this MPI has no way to ask") != NULL);
        tnr_tensor *tensor = here_counting(PLACE_PLAIN, 1, shape, ranks_me == 0 ? 9 : 0);
        tnr_tensor *same = here_counting(PLACE_HOST, 1, shape, 9);
        const tnr_view view = here_view(tensor);
        const tnr_view_mut into = here_view_mut(tensor);
        CHECK_OK(ranks_me == 0 ? tnr_world_send(world, &view, 1, 0) : tnr_world_receive_into(world, &into, 0, 0));
        CHECK(here_same(tensor, same, 1));
        CHECK_OK(tnr_world_describe(world, &info));
        CHECK(info.sends[TNR_PATH_DEVICE] == 0);
        CHECK_OK(tnr_tensor_release(&tensor));
        CHECK_OK(tnr_tensor_release(&same));
        CHECK_OK(tnr_world_destroy(&world));
    }
    CHECK(shim.count == 0 && query_state.asked == 0);
    here_end();
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(cu_03_query_missing)};
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
