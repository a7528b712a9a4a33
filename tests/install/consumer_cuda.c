/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that looks for devices and knows tenure only as installed. Starts, and says what there is, on any machine. */
#include <stdio.h>
#include <string.h>

#include "tenure/cuda.h"
#include "tenure/tenure.h"

int main(void)
{
    tnr_cuda_sight sight;
    tnr_cuda_look(NULL, &sight);
    tnr_domain *heap = NULL;
    tnr_cuda_device *device = NULL;
    int good = tnr_heap_create(&heap) == TNR_OK && sight.text[0] != '\0';
    const tnr_status opened = good ? tnr_cuda_device_open(heap, NULL, &device) : TNR_ERR_BACKEND;
    good = good && (opened == TNR_OK) == (sight.state == TNR_CUDA_AVAILABLE);
    good = good && (opened == TNR_OK || strstr(tnr_last_error(), sight.text) != NULL);
    good = tnr_cuda_device_close(&device) == TNR_OK && tnr_domain_close(&heap) == TNR_OK && good;
    tnr_feature_set features;
    tnr_features(&features);
    printf("%s\nconsumer: %s, tenure %s\n", sight.text, good ? "good" : "bad", features.version);
    return good ? 0 : 1;
}
