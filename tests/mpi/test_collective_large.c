/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 * More than 2^31 elements in one broadcast and in one reduction, through shared memory and by messages.
 * slow: needs 5 GiB and a minute, so it runs only where TENURE_TEST_SLOW is 1 and says so elsewhere. */
#include "ranks.h"

enum { BEYOND = 5 };

static tnr_domain *heap;

/* Byte i of a rank's memory: 0 or 1. */
static unsigned char pattern(int rank, int64_t i)
{
    return (unsigned char)(((uint64_t)(i + rank) * UINT64_C(0x9E3779B97F4A7C15)) >> 63);
}

static void fill(unsigned char *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        bytes[i] = pattern(ranks_me, i);
    }
}

static void both(tnr_world *world, tnr_engine *engine)
{
    const int64_t count = (INT64_C(1) << 31) + BEYOND;
    tnr_tensor *tensor;
    tnr_view_mut view;
    void *data;
    CHECK_OK(tnr_tensor_zeros(heap, TNR_BOOL, 1, &count, &tensor));
    CHECK_OK(tnr_tensor_host_data_mut(tensor, &data));
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    unsigned char *bytes = data;
    fill(bytes, count);
    const double begin = MPI_Wtime();
    CHECK_OK(tnr_world_broadcast_into(world, 0, ranks_me == 0 ? &view.view : NULL, ranks_me == 0 ? NULL : &view));
    const double broadcast = MPI_Wtime();
    for (int64_t i = 0; i < count; i++) {
        CHECK(bytes[i] == pattern(0, i));
    }
    fill(bytes, count);
    const double again = MPI_Wtime();
    CHECK_OK(tnr_world_all_reduce_into(world, engine, TNR_COMBINE_ANY, &view.view, &view));
    const double reduced = MPI_Wtime();
    for (int64_t i = 0; i < count; i++) {
        CHECK(bytes[i] == (pattern(0, i) | pattern(1, i)));
    }
    if (ranks_me == 0) {
        printf("%lld elements: broadcast %.2f s, all_reduce %.2f s\n", (long long)count, broadcast - begin,
               reduced - again);
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
    tnr_engine *engine = NULL;
    CHECK_OK(tnr_engine_create(heap, NULL, &engine));
    for (int no_shared = 0; no_shared < 2; no_shared++) {
        tnr_world_options settings = TNR_WORLD_OPTIONS;
        tnr_world *world = NULL;
        settings.no_shared = no_shared != 0;
        CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, &settings, &world));
        both(world, engine);
        CHECK_OK(tnr_world_barrier(world));
        CHECK_OK(tnr_world_destroy(&world));
    }
    CHECK_OK(tnr_engine_destroy(&engine));
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
