/* SPDX-License-Identifier: BSD-3-Clause */
/* With a library that lacks i64: such tensors can be made and copied, and adding them is refused with the reason. */
#include <stdio.h>
#include <string.h>

#include "tenure/tenure.h"

static _Alignas(64) unsigned char region[1 << 18];

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            return 1;                                                                     \
        }                                                                                 \
    } while (0)

int main(void)
{
    const int64_t shape[1] = {3};
    const int64_t values[3] = {1, -2, 3};
    const int64_t index[1] = {1};
    int64_t value = 0;
    tnr_domain *arena = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *tensor = NULL;
    tnr_tensor *copy = NULL;
    tnr_tensor *sum = NULL;
    tnr_view view;
    CHECK(tnr_arena_create(region, sizeof region, NULL, &arena) == TNR_OK);
    CHECK(tnr_engine_create(arena, NULL, &engine) == TNR_OK);
    CHECK(tnr_tensor_from_row_major(arena, TNR_I64, 1, shape, values, sizeof values, &tensor) == TNR_OK);
    CHECK(tnr_tensor_view(tensor, &view) == TNR_OK);
    CHECK(tnr_tensor_duplicate(&view, arena, &copy) == TNR_OK);
    CHECK(tnr_tensor_view(copy, &view) == TNR_OK);
    CHECK(tnr_view_get(&view, index, &value) == TNR_OK && value == -2);
    CHECK(tnr_add(engine, &view, &view, &sum) == TNR_ERR_UNSUPPORTED && sum == NULL);
    CHECK(strstr(tnr_last_error(), "add: i64 is left out of this build") != NULL);
    CHECK(tnr_tensor_release(&copy) == TNR_OK);
    CHECK(tnr_tensor_release(&tensor) == TNR_OK);
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    CHECK(tnr_domain_close(&arena) == TNR_OK);
    return 0;
}
