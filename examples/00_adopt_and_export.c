/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 00: A tensor owns its bytes. Same pointer in, same pointer out.
 *
 * A program that already has a buffer hands it over together with the function that frees it. Nothing is copied. From
 * then on the tensor is the one owner: whoever releases it, the buffer's own function is called, once. Export is the
 * way back. A call that fails changes nothing: what was yours is still yours.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static void give_back(void *context, void *data, uint64_t bytes)
{
    (void)bytes;
    free(data);
    *(int *)context += 1; /* how often we were called */
}

int main(void)
{
    const int64_t shape[2] = {2, 3}; /* 2 rows, 3 columns; the first axis varies fastest */
    int calls = 0;

    /* A domain is where bytes come from. The heap also keeps the handles of tensors. */
    tnr_domain *heap = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);

    double *buffer = calloc(6, sizeof(double));
    CHECK(buffer != NULL);
    buffer[1] = 10.0; /* row 1, column 0 */
    buffer[4] = 12.0; /* row 0, column 2 */

    /* Five elements are not 2 x 3: refused, and the buffer is still ours. */
    tnr_tensor *tensor = NULL;
    CHECK(tnr_tensor_adopt(heap, TNR_F64, 2, shape, buffer, 5 * sizeof(double), give_back, &calls, &tensor) ==
          TNR_ERR_SHAPE);
    printf("refused: %s\n", tnr_last_error());
    CHECK(tensor == NULL && calls == 0);

    /* Six are. */
    CHECK(tnr_tensor_adopt(heap, TNR_F64, 2, shape, buffer, 6 * sizeof(double), give_back, &calls, &tensor) == TNR_OK);
    const void *data = NULL;
    CHECK(tnr_tensor_host_data(tensor, &data) == TNR_OK);
    CHECK(data == buffer);
    printf("adopted: the tensor's bytes are the buffer's\n");

    /* Out again: the same pointer, with all that is needed to give it back. */
    tnr_exported exported;
    CHECK(tnr_tensor_export(&tensor, &exported) == TNR_OK);
    CHECK(tensor == NULL && exported.data == buffer && calls == 0);
    printf("exported: the same buffer, %d x %d\n", (int)exported.shape[0], (int)exported.shape[1]);

    /* And in again, this time to stay until the end. */
    CHECK(tnr_tensor_import(heap, &exported, &tensor) == TNR_OK);
    CHECK(tnr_tensor_release(&tensor) == TNR_OK);
    CHECK(tensor == NULL && calls == 1);
    printf("released: the buffer's own function was called %d time\n", calls);

    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
