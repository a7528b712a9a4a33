/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 06: An engine computes on views. Outputs are either new, or where you say.
 *
 * Every operation has two forms. The allocating one makes a tensor in the engine's pool, so a loop's outputs recycle.
 * The _into form writes a view of yours and allocates nothing. An output may be an input's very elements; a partial
 * overlap is refused before the first write.
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

int main(void)
{
    const double rows[4] = {1, 2, 3, 4}; /* [[1, 2], [3, 4]] */
    const int64_t shape[2] = {2, 2};
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *a = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_engine_create(heap, NULL, &engine) == TNR_OK);
    CHECK(tnr_tensor_from_row_major(heap, TNR_F64, 2, shape, rows, sizeof rows, &a) == TNR_OK);
    tnr_view_mut va;
    CHECK(tnr_tensor_view_mut(a, &va) == TNR_OK);

    /* a times its transpose. The transpose is a view: nobody turns a matrix to multiply it. */
    tnr_view turned;
    tnr_tensor *product = NULL;
    CHECK(tnr_view_permute(&va.view, NULL, &turned) == TNR_OK);
    CHECK(tnr_matmul(engine, &va.view, &turned, NULL, &product) == TNR_OK);
    tnr_view_mut vp;
    double corner = 0.0;
    CHECK(tnr_tensor_view_mut(product, &vp) == TNR_OK);
    CHECK(tnr_view_get(&vp.view, (const int64_t[]){1, 1}, &corner) == TNR_OK && corner == 25.0);
    printf("[[1, 2], [3, 4]] times its transpose has %g in the corner\n", corner);

    /* The same again a thousand times, into the same place: the heap hands out nothing. */
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    CHECK(tnr_domain_statistics_get(heap, &before) == TNR_OK);
    for (int i = 0; i < 1000; i++) {
        CHECK(tnr_matmul_into(engine, &va.view, &turned, NULL, &vp) == TNR_OK);
    }
    CHECK(tnr_domain_statistics_get(heap, &after) == TNR_OK);
    CHECK(after.allocations == before.allocations);
    printf("1000 products into one tensor: %d blocks from the heap\n", (int)(after.allocations - before.allocations));

    /* In place is fine element for element: a = a + a. */
    CHECK(tnr_add_into(engine, &va.view, &va.view, &va) == TNR_OK);
    CHECK(tnr_view_get(&va.view, (const int64_t[]){1, 1}, &corner) == TNR_OK && corner == 8.0);

    /* The first column into the first row: they share one element. Refused, and nothing was written. */
    tnr_view column;
    tnr_view_mut row;
    CHECK(tnr_view_select(&va.view, 1, 0, &column) == TNR_OK);
    CHECK(tnr_view_mut_select(&va, 0, 0, &row) == TNR_OK);
    CHECK(tnr_exp_into(engine, &column, &row) == TNR_ERR_OVERLAP);
    printf("refused: %s\n", tnr_last_error());
    CHECK(tnr_view_get(&va.view, (const int64_t[]){0, 0}, &corner) == TNR_OK && corner == 2.0);

    /* An engine may go before what it made. */
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    CHECK(tnr_view_get(&vp.view, (const int64_t[]){0, 0}, &corner) == TNR_OK && corner == 5.0);
    printf("the product outlived its engine\n");

    CHECK(tnr_tensor_release(&product) == TNR_OK);
    CHECK(tnr_tensor_release(&a) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
