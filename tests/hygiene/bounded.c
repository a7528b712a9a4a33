/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main line in a bounded build: everything inside one static region, no heap. Prints the features first, as
 * print_features does, so that the summary can be compared in this build too.
 */
#include <stdio.h>

#include "tenure/tenure.h"

static _Alignas(64) unsigned char region[1 << 20];

#define NEED(call)                                                         \
    do {                                                                   \
        if ((call) != TNR_OK) {                                            \
            fprintf(stderr, "bounded: %s: %s\n", #call, tnr_last_error()); \
            return 1;                                                      \
        }                                                                  \
    } while (0)

int main(void)
{
    double left[] = {1.0, 3.0, 2.0, 4.0};
    double right[] = {5.0, 7.0, 6.0, 8.0};
    const double expected[] = {19.0, 43.0, 22.0, 50.0};
    const int64_t shape[] = {2, 2};
    tnr_domain *arena = NULL;
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *a = NULL;
    tnr_tensor *b = NULL;
    tnr_tensor *product = NULL;
    tnr_view a_view;
    tnr_view b_view;
    const void *data = NULL;

    tnr_feature_set features;
    tnr_features(&features);
    NEED(tnr_check_build());
    if (!features.bounded || features.threads) {
        fprintf(stderr, "bounded: tnr_features() does not say bounded and without threads\n");
        return 1;
    }
    if (tnr_heap_create(&heap) != TNR_ERR_UNSUPPORTED || heap != NULL) {
        fprintf(stderr, "bounded: a heap domain was made\n");
        return 1;
    }
    NEED(tnr_arena_create(region, sizeof region, NULL, &arena));
    NEED(tnr_engine_create(arena, NULL, &engine));
    NEED(tnr_tensor_adopt(arena, TNR_F64, 2, shape, left, sizeof left, NULL, NULL, &a));
    NEED(tnr_tensor_adopt(arena, TNR_F64, 2, shape, right, sizeof right, NULL, NULL, &b));
    NEED(tnr_tensor_view(a, &a_view));
    NEED(tnr_tensor_view(b, &b_view));
    for (int round = 0; round < 3; round++) {
        NEED(tnr_matmul(engine, &a_view, &b_view, NULL, &product));
        NEED(tnr_tensor_host_data(product, &data));
        if ((const unsigned char *)data < region || (const unsigned char *)data >= region + sizeof region) {
            fprintf(stderr, "bounded: the product is not in the region\n");
            return 1;
        }
        for (int i = 0; i < 4; i++) {
            if (((const double *)data)[i] != expected[i]) {
                fprintf(stderr, "bounded: element %d is %g, expected %g\n", i, ((const double *)data)[i], expected[i]);
                return 1;
            }
        }
        NEED(tnr_tensor_release(&product));
    }
    NEED(tnr_tensor_release(&b));
    NEED(tnr_tensor_release(&a));
    NEED(tnr_engine_destroy(&engine));
    NEED(tnr_arena_check(arena));
    NEED(tnr_domain_close(&arena));
    printf("bounded: good\n");
    return 0;
}
