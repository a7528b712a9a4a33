/* SPDX-License-Identifier: BSD-3-Clause */
/* A device object on the fake for each rank, tensors in all kinds of its memory, and the shim that watches MPI. For one test program each. */
#ifndef TENURE_TESTS_MPI_CUDA_RANKS_H
#define TENURE_TESTS_MPI_CUDA_RANKS_H

#include "cuda_shim.h"

typedef enum place { PLACE_POOL, PLACE_PLAIN, PLACE_PINNED, PLACE_MANAGED, PLACE_HOST, PLACES } place;

static struct {
    tnr_domain *domain[PLACES];
    tnr_cuda_device *device;
    tnr_cuda_lane *lane[2];
    int current; /* the device that is current in this thread, by the program; -1: none */
} here;

static inline tnr_domain *heap(void) { return here.domain[PLACE_HOST]; }

/* The program makes this device current in this thread, instead of what was; -1: none. MPI gets memory of device 0 while that is. */
static inline void here_make_current(int device)
{
    void *context = NULL;
    if (here.current >= 0) { /* a device that is lost refuses */
        CHECK(shim.context_pop(&context) == 0 || shim.fake->faults != 0);
        CHECK(shim.context_release(here.current) == 0 || shim.fake->faults != 0);
    }
    if (device >= 0) {
        CHECK(shim.context_retain(&context, device) == 0 && shim.context_push(context) == 0);
    }
    here.current = device;
}

/* With device 0 current. */
static inline void here_begin(uint64_t seed)
{
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    shim_begin(seed);
    options.driver = FAKE_CUDA_PATH;
    options.chunk_bytes = 4096;
    options.direct_bytes = 256;
    CHECK_OK(tnr_heap_create(&here.domain[PLACE_HOST]));
    CHECK_OK(tnr_cuda_device_open(heap(), &options, &here.device));
    here.current = -1;
    here_make_current(0);
    for (int kind = 0; kind < TNR_CUDA_MEMORY_END; kind++) {
        CHECK_OK(tnr_cuda_domain_create(here.device, (tnr_cuda_memory)kind, NULL, &here.domain[kind]));
    }
    here.lane[0] = tnr_cuda_device_lane(here.device, 0);
    here.lane[1] = tnr_cuda_device_lane(here.device, 1);
}

static inline void here_end(void)
{
    here_make_current(-1);
    for (int kind = 0; kind < TNR_CUDA_MEMORY_END; kind++) {
        CHECK_OK(tnr_domain_close(&here.domain[kind]));
    }
    CHECK_OK(tnr_cuda_device_close(&here.device));
    CHECK_OK(tnr_domain_close(&here.domain[PLACE_HOST]));
    shim_end();
}

/* A compact i64 tensor with element n = first + n. */
static inline tnr_tensor *here_counting(place where, int rank, const int64_t *shape, int64_t first)
{
    tnr_draft *draft = NULL;
    tnr_tensor *host = NULL;
    tnr_tensor *made = NULL;
    tnr_tensor_info info;
    void *data = NULL;
    tnr_view view;
    CHECK_OK(tnr_draft_begin(heap(), TNR_I64, rank, shape, &draft));
    CHECK_OK(tnr_draft_commit(&draft, &host));
    CHECK_OK(tnr_tensor_describe(host, &info));
    CHECK_OK(tnr_tensor_host_data_mut(host, &data));
    for (int64_t at = 0; at < info.count; at++) {
        ((int64_t *)data)[at] = first + at;
    }
    if (where == PLACE_HOST) {
        return host;
    }
    CHECK_OK(tnr_tensor_view(host, &view));
    CHECK_OK(where <= PLACE_PLAIN ? tnr_cuda_upload(here.lane[0], &view, here.domain[where], &made)
                                  : tnr_tensor_duplicate(&view, here.domain[where], &made));
    CHECK_OK(tnr_tensor_release(&host));
    return made;
}

static inline tnr_view here_view(const tnr_tensor *tensor)
{
    tnr_view view;
    CHECK_OK(tnr_tensor_view(tensor, &view));
    return view;
}

static inline tnr_view_mut here_view_mut(tnr_tensor *tensor)
{
    tnr_view_mut view;
    CHECK_OK(tnr_tensor_view_mut(tensor, &view));
    return view;
}

/* The same bytes, wherever they are? `lane`: that downloads. */
static inline bool here_same(const tnr_tensor *a, const tnr_tensor *b, int lane)
{
    const tnr_tensor *both[2] = {a, b};
    tnr_tensor *got[2] = {NULL, NULL};
    tnr_read_map maps[2];
    tnr_tensor_info infos[2];
    for (int i = 0; i < 2; i++) {
        tnr_view view = here_view(both[i]);
        CHECK_OK(tnr_tensor_describe(both[i], &infos[i]));
        if (infos[i].access == TNR_ACCESS_NONE) {
            CHECK_OK(tnr_cuda_download(here.lane[lane], &view, heap(), &got[i]));
            view = here_view(got[i]);
        }
        CHECK_OK(tnr_map_read(&view, &maps[i]));
    }
    const bool same = infos[0].bytes == infos[1].bytes &&
                      (infos[0].bytes == 0 || memcmp(maps[0].data, maps[1].data, infos[0].bytes) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tnr_unmap_read(&maps[i]));
        CHECK_OK(tnr_tensor_release(&got[i]));
    }
    return same;
}

/* Setting 0: through shared memory; 1: by messages, in small pieces. */
static inline tnr_world *here_world(tnr_domain *home, int setting, uint32_t timeout_ms)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.timeout_ms = timeout_ms;
    if (setting == 1) {
        options.no_shared = true;
        options.chunk_bytes = 8 << 10;
        options.pack_bytes = 4 << 10;
    }
    CHECK_OK(tnr_world_create(home, MPI_COMM_WORLD, &options, &world));
    return world;
}

#endif /* TENURE_TESTS_MPI_CUDA_RANKS_H */
