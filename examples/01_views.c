/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 01: A view owns nothing. It is free to make, and it knows when its owner is gone.
 *
 * Views are plain structs: dtype, shape, signed strides, offset. Turning, cutting and reversing make new structs and
 * move no byte. What cannot be said with strides is refused, never silently copied. A view that outlives its owner is
 * stale: using it is an error, not a crash.
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

/* Print a matrix of any layout by walking it. */
static void show(const char *what, const tnr_view *view)
{
    tnr_read_map map;
    CHECK(tnr_map_read(view, &map) == TNR_OK);
    printf("%s", what);
    for (tnr_cursor at = tnr_cursor_begin(view); at.valid; tnr_cursor_next(&at)) {
        printf(" %g", ((const double *)map.data)[at.offset]);
    }
    printf("\n");
    CHECK(tnr_unmap_read(&map) == TNR_OK);
}

int main(void)
{
    const double rows[6] = {1, 2, 3, 4, 5, 6}; /* [[1, 2, 3], [4, 5, 6]] as C writes it */
    const int64_t shape[2] = {2, 3};
    const int64_t flat[1] = {6};
    tnr_domain *heap = NULL;
    tnr_tensor *tensor = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_tensor_from_row_major(heap, TNR_F64, 2, shape, rows, sizeof rows, &tensor) == TNR_OK);

    tnr_view all;
    CHECK(tnr_tensor_view(tensor, &all) == TNR_OK);
    show("memory order, first axis fastest:", &all);

    tnr_view turned;
    CHECK(tnr_view_permute(&all, NULL, &turned) == TNR_OK);
    show("transposed:                      ", &turned);

    tnr_view column;
    CHECK(tnr_view_select(&all, 1, -1, &column) == TNR_OK);
    show("last column:                     ", &column);

    tnr_view reversed;
    CHECK(tnr_view_slice_axis(&all, 1, (tnr_range){0, TNR_END, -1}, &reversed) == TNR_OK);
    show("columns backwards:               ", &reversed);

    /* A compact view has any shape of its count. The transposed one has not: no strides can say it. */
    tnr_view line;
    CHECK(tnr_view_reshape(&all, 1, flat, &line) == TNR_OK);
    CHECK(tnr_view_reshape(&turned, 1, flat, &line) == TNR_ERR_LAYOUT);
    printf("refused: %s\n", tnr_last_error());

    /* All this copied nothing but the first six numbers. */
    tnr_ledger ledger;
    CHECK(tnr_ledger_get(heap, &ledger) == TNR_OK);
    CHECK(ledger.copies[TNR_COPY_FROM_ROW_MAJOR].count == 1);
    CHECK(ledger.copies[TNR_COPY_DUPLICATE].count == 0 && ledger.copies[TNR_COPY_TO_CONTIGUOUS].count == 0);

    /* The owner goes. The views are still here, and say so. */
    double value = 0.0;
    const int64_t first[2] = {0, 0};
    CHECK(tnr_tensor_release(&tensor) == TNR_OK);
    CHECK(tnr_view_get(&turned, first, &value) == TNR_ERR_STALE);
    printf("refused: %s\n", tnr_last_error());

    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
