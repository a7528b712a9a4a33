/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 * A one-sided read that is not over when its world ends, as this program stands between the library and MPI: MPI may write at any time
 * after, so the memory that it was given stays. Skips where MPI has no one-sided reads. */
#include "ranks.h"

enum { COUNT = 4000, READS = 16 };

static tnr_domain *heap;
static tnr_domain *home;
static bool late; /* reads do not end */
static MPI_Request requests[READS];
static void *targets[READS];
static int lengths[READS];
static int reads;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    (void)MPI_Status_set_elements(status, MPI_BYTE, 0);
    (void)MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int let_go(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

int MPI_Rget(void *to, int count, MPI_Datatype type, int rank, MPI_Aint at, int from_count, MPI_Datatype from_type,
             MPI_Win window, MPI_Request *request)
{
    if (!late) {
        return PMPI_Rget(to, count, type, rank, at, from_count, from_type, window, request);
    }
    CHECK(reads < READS);
    targets[reads] = to;
    lengths[reads] = count;
    const int code = MPI_Grequest_start(query, let_go, cancel, NULL, request);
    requests[reads++] = *request;
    return code;
}

static uint64_t blocks_out(tnr_domain *domain)
{
    tnr_domain_statistics statistics;
    CHECK_OK(tnr_domain_statistics_get(domain, &statistics));
    return statistics.blocks;
}

/* `strided`: through buffers of the publication; else straight into the target. */
static void fetch_late(bool strided)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    tnr_tensor *tensor = NULL;
    tnr_tensor *target = NULL;
    tnr_group *group = NULL;
    tnr_slot slots[4];
    tnr_slot slot;
    tnr_view_mut view;
    uint32_t count = 0;
    options.no_shared = true;
    options.pack_bytes = 4096;
    options.timeout_ms = 300;
    CHECK_OK(tnr_heap_create(&home));
    CHECK_OK(tnr_world_create(home, MPI_COMM_WORLD, &options, &world));
    CHECK_OK(tnr_tensor_full(heap, TNR_F64, 1, (int64_t[]){COUNT}, &(double){5}, &tensor));
    CHECK_OK(tnr_tensor_zeros(heap, TNR_F64, 1, (int64_t[]){2 * COUNT}, &target));
    CHECK_OK(tnr_tensor_view_mut(target, &view));
    CHECK_OK(tnr_view_mut_slice_axis(&view, 0, (tnr_range){0, strided ? TNR_END : COUNT, strided ? 2 : 1}, &view));
    CHECK_OK(tnr_group_create(heap, &group));
    CHECK_OK(tnr_group_append(group, &tensor, &slot));
    CHECK_OK(tnr_group_publish(world, group));
    CHECK_OK(tnr_group_counts(group, &(uint32_t){0}, &count));
    CHECK(count == 2);
    for (uint32_t index = 0; index < count; index++) {
        CHECK_OK(tnr_group_slot(group, index, &slots[index]));
    }
    late = true;
    if (ranks_me == 0) {
        const tnr_status status = tnr_group_fetch_into(world, group, slots[1], &view);
        if (status == TNR_ERR_UNSUPPORTED) {
            printf("skipped: this MPI has no one-sided reads here\n");
            late = false;
            CHECK(MPI_Abort(MPI_COMM_WORLD, 77) == MPI_SUCCESS);
        }
        CHECK(status == TNR_ERR_PEER && reads > 0);
        CHECK_TEXT("bytes of another rank");
    }
    late = false;
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (ranks_me != 0) { /* nobody comes to a call that would end it together */
        (void)tnr_set_error(TNR_ERR_PEER, "the other one's world has ended");
        CHECK_OK(tnr_world_give_up(world, TNR_ERR_PEER));
    }
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_group_release(&group));
    if (ranks_me == 0) {
        for (int read = 0; read < reads; read++) { /* now MPI comes to write */
            memset(targets[read], 0xEE, (size_t)lengths[read]);
            CHECK(MPI_Grequest_complete(requests[read]) == MPI_SUCCESS);
            CHECK(MPI_Wait(&requests[read], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        CHECK(!strided || blocks_out(home) > 0); /* a leak, never a wild write */
        CHECK(strided || tnr_tensor_release(&target) == TNR_ERR_BUSY);
        reads = 0;
    } else {
        CHECK_OK(tnr_tensor_release(&target));
        CHECK_OK(tnr_domain_close(&home));
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void through_buffers(void) { fetch_late(true); }
static void straight_to_the_target(void) { fetch_late(false); }

int main(int argc, char **argv)
{
    static const rank_test tests[] = {RANK_TEST(through_buffers), RANK_TEST(straight_to_the_target)};
    CHECK_OK(tnr_heap_create(&heap));
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
