/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 1 2 3
 * transports: tcp
 * Tensors of tenure::cuda's domains between ranks, on the fake driver: they travel by their domains' own copies, in pieces, and no device
 * address reaches MPI: the fake's fault the host that touches one. Both ends strided; host to device and back again. */
#include "ranks.h"

#include "tenure/cuda.h"

enum { ROWS = 70, COLUMNS = 90 };

static tnr_domain *heap;
static tnr_cuda_device *device;
static tnr_domain *memory;
static tnr_world *world;

static void begin(tnr_cuda_memory kind)
{
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    options.driver = FAKE_CUDA_PATH;
    options.chunk_bytes = 4096;
    options.direct_bytes = 256;
    CHECK_OK(tnr_heap_create(&heap));
    CHECK_OK(tnr_cuda_device_open(heap, &options, &device));
    CHECK_OK(tnr_cuda_domain_create(device, kind, NULL, &memory));
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
}

static void end(void)
{
    CHECK_OK(tnr_world_destroy(&world));
    CHECK_OK(tnr_domain_close(&memory));
    CHECK_OK(tnr_cuda_device_close(&device));
    CHECK_OK(tnr_domain_close(&heap));
}

/* ROWS by COLUMNS in a frame of one element, on the device; element (i, j) is 1000 * from + i + 100 * j. */
static tnr_tensor *framed(int from, tnr_view_mut *inside)
{
    static int32_t values[(ROWS + 2) * (COLUMNS + 2)];
    tnr_tensor *host = NULL;
    tnr_tensor *away = NULL;
    tnr_view view;
    for (int at = 0; at < (ROWS + 2) * (COLUMNS + 2); at++) {
        values[at] = from < 0 ? -1 : 100000 * from + at % (ROWS + 2) + 100 * (at / (ROWS + 2));
    }
    CHECK_OK(tnr_tensor_from_column_major(heap, TNR_I32, 2, (const int64_t[]){ROWS + 2, COLUMNS + 2}, values,
                                          sizeof(values), &host));
    CHECK_OK(tnr_tensor_view(host, &view));
    CHECK_OK(tnr_cuda_upload(tnr_cuda_device_lane(device, 0), &view, memory, &away));
    CHECK_OK(tnr_tensor_release(&host));
    CHECK_OK(tnr_tensor_region_mut(away, 2, (const int64_t[]){ROWS, COLUMNS}, (const int64_t[]){1, ROWS + 2}, ROWS + 3,
                                   inside));
    return away;
}

static void check_frame(const tnr_tensor *away, int from)
{
    tnr_tensor *host = NULL;
    tnr_view view;
    const void *data = NULL;
    CHECK_OK(tnr_tensor_view(away, &view));
    CHECK_OK(tnr_cuda_download(tnr_cuda_device_lane(device, 1), &view, heap, &host));
    CHECK_OK(tnr_tensor_host_data(host, &data));
    for (int j = 0; j < COLUMNS + 2; j++) {
        for (int i = 0; i < ROWS + 2; i++) {
            const bool inside = i > 0 && j > 0 && i <= ROWS && j <= COLUMNS;
            CHECK(((const int32_t *)data)[i + j * (ROWS + 2)] == (inside ? 100000 * from + i + 100 * j : -1));
        }
    }
    CHECK_OK(tnr_tensor_release(&host));
}

static void around_the_ring(tnr_cuda_memory kind)
{
    begin(kind);
    const int right = (ranks_me + 1) % ranks_size;
    const int left = (ranks_me + ranks_size - 1) % ranks_size;
    tnr_view_mut send;
    tnr_view_mut receive;
    tnr_tensor *mine = framed(ranks_me, &send);
    tnr_tensor *theirs = framed(-1, &receive);
    for (int round = 0; round < 3; round++) {
        CHECK_OK(tnr_world_send_receive(world, &send.view, right, &receive, left, 0));
        check_frame(theirs, left);
    }
    CHECK_OK(tnr_tensor_release(&mine));
    CHECK_OK(tnr_tensor_release(&theirs));
    end();
}

static void ring_pool(void) { around_the_ring(TNR_CUDA_POOL); }
static void ring_plain(void) { around_the_ring(TNR_CUDA_PLAIN); }
static void ring_managed(void) { around_the_ring(TNR_CUDA_MANAGED); }

static void broadcast_to_devices(void)
{
    begin(TNR_CUDA_POOL);
    tnr_view_mut inside;
    tnr_tensor *mine = framed(ranks_me == 0 ? 7 : -1, &inside);
    if (ranks_me == 0) {
        CHECK_OK(tnr_world_broadcast_into(world, 0, &inside.view, NULL));
    } else {
        CHECK_OK(tnr_world_broadcast_into(world, 0, NULL, &inside));
        check_frame(mine, 7);
    }
    CHECK_OK(tnr_tensor_release(&mine));
    end();
}

int main(int argc, char **argv)
{
    const rank_test tests[] = {RANK_TEST(ring_pool), RANK_TEST(ring_plain), RANK_TEST(ring_managed),
                               RANK_TEST(broadcast_to_devices)};
    return ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
}
