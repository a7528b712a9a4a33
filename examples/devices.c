/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices: look for one, copy there, on it, and back. Says plainly when there is none, and ends well.
 *
 * Usage: devices [elements]
 */
#include <stdio.h>
#include <stdlib.h>

#include "tenure/cuda.h"
#include "tenure/tenure.h"

#define CHECK(call)                                    \
    do {                                               \
        if ((call) != TNR_OK) {                        \
            fprintf(stderr, "%s\n", tnr_last_error()); \
            return 1;                                  \
        }                                              \
    } while (0)

/* From host memory to the device and back, without a ticket and with one. */
static int round_trip(tnr_cuda_device *device, int64_t elements)
{
    tnr_cuda_lane *lane = tnr_cuda_device_lane(device, 0);
    tnr_domain *memory = NULL;
    tnr_domain *pinned = NULL;
    CHECK(tnr_cuda_domain_create(device, TNR_CUDA_POOL, NULL, &memory));
    CHECK(tnr_cuda_domain_create(device, TNR_CUDA_PINNED, NULL, &pinned));

    const double value = 1.5;
    tnr_tensor *host = NULL;
    tnr_tensor *there = NULL;
    tnr_tensor *copy = NULL;
    tnr_view view;
    CHECK(tnr_tensor_full(pinned, TNR_F64, 1, &elements, &value, &host));
    CHECK(tnr_tensor_view(host, &view));
    CHECK(tnr_cuda_upload(lane, &view, memory, &there));
    CHECK(tnr_tensor_view(there, &view));
    CHECK(tnr_cuda_duplicate(lane, &view, memory, &copy));
    CHECK(tnr_tensor_release(&there)); /* given back when the copy is over: no wait here */

    tnr_view_mut target;
    tnr_ticket *ticket = NULL;
    CHECK(tnr_tensor_view(copy, &view));
    CHECK(tnr_tensor_view_mut(host, &target));
    CHECK(tnr_cuda_download_start(lane, &view, &target, &ticket));
    /* the host may do other things here; host and copy are leased */
    CHECK(tnr_ticket_wait(&ticket));

    const void *data = NULL;
    CHECK(tnr_tensor_host_data(host, &data));
    for (int64_t at = 0; at < elements; at++) {
        if (((const double *)data)[at] != value) {
            fprintf(stderr, "element %lld came back as %g\n", (long long)at, ((const double *)data)[at]);
            return 1;
        }
    }
    CHECK(tnr_tensor_release(&copy));
    CHECK(tnr_tensor_release(&host));
    CHECK(tnr_domain_close(&memory));
    CHECK(tnr_domain_close(&pinned));
    return 0;
}

int main(int argc, char **argv)
{
    const int64_t elements = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    tnr_cuda_sight sight;
    tnr_cuda_look(NULL, &sight);
    if (sight.state != TNR_CUDA_AVAILABLE) {
        printf("devices: none: %s\n", sight.text);
        return 0;
    }
    tnr_domain *heap = NULL;
    tnr_cuda_device *device = NULL;
    tnr_cuda_device_info info;
    CHECK(tnr_heap_create(&heap));
    CHECK(tnr_cuda_device_open(heap, NULL, &device));
    CHECK(tnr_cuda_device_describe(device, &info));
    printf("devices: %s, %llu MiB\n", info.name, (unsigned long long)(info.total_bytes >> 20));
    const int failed = round_trip(device, elements);
    if (failed == 0) {
        CHECK(tnr_cuda_device_close(&device));
        CHECK(tnr_domain_close(&heap));
        printf("devices: good\n");
    }
    return failed;
}
