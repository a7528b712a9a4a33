/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 02: Many readers or one writer. Two writers only with proof.
 *
 * A lease is taken where bytes are touched: while a mapping lives or an operation runs. One that conflicts is an error
 * at once, never a wait. Splitting proves that parts of a tensor share no byte; then each part has leases of its own,
 * and parts may be written at the same time, on other threads too.
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
    const int64_t shape[2] = {4, 4};
    tnr_domain *heap = NULL;
    tnr_tensor *tensor = NULL;
    tnr_view_mut all;
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_tensor_zeros(heap, TNR_F64, 2, shape, &tensor) == TNR_OK);
    CHECK(tnr_tensor_view_mut(tensor, &all) == TNR_OK);

    /* Two readers are fine. A writer beside them is not, and neither is letting go of what they read. */
    tnr_read_map reader[2];
    tnr_write_map writer[2];
    CHECK(tnr_map_read(&all.view, &reader[0]) == TNR_OK);
    CHECK(tnr_map_read(&all.view, &reader[1]) == TNR_OK);
    CHECK(tnr_map_write(&all, &writer[0]) == TNR_ERR_BUSY);
    printf("refused: %s\n", tnr_last_error());
    CHECK(tnr_tensor_release(&tensor) == TNR_ERR_BUSY);
    CHECK(tensor != NULL);
    CHECK(tnr_unmap_read(&reader[0]) == TNR_OK);
    CHECK(tnr_unmap_read(&reader[1]) == TNR_OK);

    /* Even and odd rows: their bytes interleave, and yet they share none. */
    tnr_view_mut part[2];
    bool granted = false;
    CHECK(tnr_view_mut_slice_axis(&all, 0, (tnr_range){0, TNR_END, 2}, &part[0]) == TNR_OK);
    CHECK(tnr_view_mut_slice_axis(&all, 0, (tnr_range){1, TNR_END, 2}, &part[1]) == TNR_OK);
    CHECK(tnr_view_mut_split(part, 2, &granted) == TNR_OK && granted);
    CHECK(tnr_map_write(&part[0], &writer[0]) == TNR_OK);
    CHECK(tnr_map_write(&part[1], &writer[1]) == TNR_OK);
    *(double *)writer[0].data = 1.0;
    *(double *)writer[1].data = 2.0;
    CHECK(tnr_unmap_write(&writer[0]) == TNR_OK);
    CHECK(tnr_unmap_write(&writer[1]) == TNR_OK);
    printf("granted: even and odd rows were written at the same time\n");

    /* Rows 0 to 2 and 2 to 3 share row 2. No proof is an answer, not an error. */
    CHECK(tnr_view_mut_slice_axis(&all, 0, (tnr_range){0, 3, 1}, &part[0]) == TNR_OK);
    CHECK(tnr_view_mut_slice_axis(&all, 0, (tnr_range){2, 4, 1}, &part[1]) == TNR_OK);
    CHECK(tnr_view_mut_split(part, 2, &granted) == TNR_OK && !granted);
    printf("not granted: rows 0 to 2 and rows 2 to 3\n");

    /* One row shown twice can be read. Written, its elements would meet: there is no such write view. */
    tnr_view_mut row;
    tnr_view twice;
    tnr_view_mut both;
    const int64_t wide[2] = {2, 4};
    const int axis[1] = {1};
    CHECK(tnr_view_mut_select(&all, 0, 0, &row) == TNR_OK);
    CHECK(tnr_view_broadcast(&row.view, 2, wide, axis, &twice) == TNR_OK);
    CHECK(tnr_view_mut_broadcast(&row, 2, wide, axis, &both) == TNR_ERR_OVERLAP);
    printf("refused: %s\n", tnr_last_error());

    CHECK(tnr_tensor_release(&tensor) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
