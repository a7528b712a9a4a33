/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program outside the tree, from what is installed and nothing else: own two buffers, multiply, read by map, export.
 * [[1, 2], [3, 4]] x [[5, 6], [7, 8]] is [[19, 22], [43, 50]].
 */
#include <stdio.h>

#include <tenure/tenure.h>

/* Say what failed and end the program. */
#define NEED(call)                                                          \
    do {                                                                    \
        if ((call) != TNR_OK) {                                             \
            fprintf(stderr, "consumer: %s: %s\n", #call, tnr_last_error()); \
            return 1;                                                       \
        }                                                                   \
    } while (0)

int main(void)
{
    double left[] = {1.0, 3.0, 2.0, 4.0}; /* column-major */
    double right[] = {5.0, 7.0, 6.0, 8.0};
    const double expected[] = {19.0, 43.0, 22.0, 50.0};
    const int64_t shape[] = {2, 2};
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *a = NULL;
    tnr_tensor *b = NULL;
    tnr_tensor *product = NULL;
    tnr_view a_view;
    tnr_view b_view;
    const void *data = NULL;

    NEED(tnr_check_build());
    NEED(tnr_heap_create(&heap));
    NEED(tnr_engine_create(heap, NULL, &engine));
    NEED(tnr_tensor_adopt(heap, TNR_F64, 2, shape, left, sizeof left, NULL, NULL, &a));
    NEED(tnr_tensor_adopt(heap, TNR_F64, 2, shape, right, sizeof right, NULL, NULL, &b));
    NEED(tnr_tensor_view(a, &a_view));
    NEED(tnr_tensor_view(b, &b_view));
    NEED(tnr_matmul(engine, &a_view, &b_view, NULL, &product));
    NEED(tnr_tensor_host_data(product, &data));
    for (int i = 0; i < 4; i++) {
        if (((const double *)data)[i] != expected[i]) {
            fprintf(stderr, "consumer: element %d is %g, expected %g\n", i, ((const double *)data)[i], expected[i]);
            return 1;
        }
    }
    NEED(tnr_tensor_release(&product));
    NEED(tnr_tensor_release(&b));
    NEED(tnr_tensor_release(&a));
    NEED(tnr_engine_destroy(&engine));
    NEED(tnr_domain_close(&heap));
    printf("consumer: good, tenure %s\n", TNR_VERSION_STRING);
    return 0;
}
