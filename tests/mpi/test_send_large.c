/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 * More than 2^31 elements in one copy, and every second byte of a gigabyte, through shared memory and by messages.
 * slow: needs 5 GiB and a minute, so it runs only where TENURE_TEST_SLOW is 1 and says so elsewhere. */
#include "ranks.h"

static tnr_domain *heap;

/* Byte i of the sender's memory. */
static unsigned char pattern(int64_t i) { return (unsigned char)((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15) >> 56); }

static void copy(tnr_world *world, int64_t count, int64_t step)
{
    tnr_tensor *tensor;
    tnr_view_mut all;
    tnr_view_mut view;
    void *data;
    const int64_t room = count * step;
    CHECK_OK(tnr_tensor_zeros(heap, TNR_BOOL, 1, &room, &tensor));
    CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
    unsigned char *bytes = data;
    for (int64_t i = 0; i < room && ranks_me == 0; i++) {
        bytes[i] = pattern(i);
    }
    CHECK_OK(tnr_tensor_view_mut(tensor, &all));
    CHECK_OK(tnr_view_mut_slice_axis(&all, 0, (tnr_range){0, TNR_END, step}, &view));
    if (ranks_me == 0) {
        CHECK_OK(tnr_world_send(world, &view.view, 1, 0));
    } else {
        CHECK_OK(tnr_world_receive_into(world, &view, 0, 0));
    }
    for (int64_t i = 0; i < room && ranks_me == 1; i++) {
        CHECK(bytes[i] == (i % step == 0 ? pattern(i) : 0));
    }
    CHECK_OK(tnr_tensor_release(&tensor));
}

static void more_than_an_int_holds(void)
{
    const char *slow = getenv("TENURE_TEST_SLOW");
    if (slow == NULL || slow[0] != '1') {
        if (ranks_me == 0) {
            printf("skipped: TENURE_TEST_SLOW is not 1\n");
        }
        return;
    }
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world_options options = TNR_WORLD_OPTIONS;
        tnr_world *world = NULL;
        options.no_shared = no_shared != 0;
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &options, &world));
        copy(world, (INT64_C(1) << 31) + 5, 1);
        copy(world, (INT64_C(1) << 29) + 3, 2);
        CHECK_OK(tnr_world_barrier(world));
        CHECK_OK(tnr_world_destroy(&world));
    }
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(more_than_an_int_holds)};
    if (tnr_heap_create(&heap) != TNR_OK) {
        return 1;
    }
    const int answer = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    return answer != 0 || tnr_domain_close(&heap) != TNR_OK;
}
