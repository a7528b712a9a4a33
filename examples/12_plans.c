/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 12: Prepare once, run many times. A plan has everything but the data.
 *
 * A time step that contracts tensors of the same shapes again and again need not find its path, sort its labels and choose its kernels each
 * time. A plan has done so; a run names the operands of now. Ordinary calls remember as well, in a small cache of the engine's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

enum { STEPS = 100 };

int main(void)
{
    const int64_t state_shape[3] = {16, 4, 16};
    const int64_t matrix_shape[2] = {16, 16};
    const double one = 1.0;
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *matrices[2] = {NULL, NULL};
    tnr_tensor *states[2] = {NULL, NULL};
    tnr_view left;
    tnr_view right;
    tnr_view_mut from;
    tnr_view_mut to;
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_engine_create(heap, NULL, &engine) == TNR_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(tnr_tensor_full(heap, TNR_F64, 2, matrix_shape, &(double){0.25}, &matrices[i]) == TNR_OK);
        CHECK(tnr_tensor_full(heap, TNR_F64, 3, state_shape, &one, &states[i]) == TNR_OK);
    }
    CHECK(tnr_tensor_view(matrices[0], &left) == TNR_OK);
    CHECK(tnr_tensor_view(matrices[1], &right) == TNR_OK);
    CHECK(tnr_tensor_view_mut(states[0], &from) == TNR_OK);
    CHECK(tnr_tensor_view_mut(states[1], &to) == TNR_OK);

    /* to[i,s,j] = sum of left[a,i] from[a,s,b] right[b,j]. The views tell shapes and layouts; nobody looks at the numbers. */
    const tnr_view *const operands[3] = {&left, &from.view, &right};
    tnr_plan *plan = NULL;
    CHECK(tnr_plan_einsum(engine, "ai,asb,bj->isj", operands, 3, &to.view, NULL, &plan) == TNR_OK);

    /* Back and forth between two tensors: the plan fits both, for they lie alike. */
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    CHECK(tnr_domain_statistics_get(heap, &before) == TNR_OK);
    for (int step = 0; step < STEPS; step++) {
        const tnr_view *const now[3] = {&left, step % 2 == 0 ? &from.view : &to.view, &right};
        CHECK(tnr_plan_run_into(plan, now, 3, step % 2 == 0 ? &to : &from) == TNR_OK);
    }
    CHECK(tnr_domain_statistics_get(heap, &after) == TNR_OK);
    CHECK(after.allocations == before.allocations); /* not even for the first step */

    /* Each matrix adds up 16 numbers and takes a quarter: 4 times as much on either side, a step 16 times. */
    double value = 0.0;
    double expected = 1.0;
    for (int step = 0; step < STEPS; step++) {
        expected *= 16.0;
    }
    CHECK(tnr_view_get(&from.view, (const int64_t[]){3, 1, 7}, &value) == TNR_OK && value == expected);

    /* The way it goes, as text. */
    tnr_contraction_path path;
    char text[512];
    CHECK(tnr_plan_path(plan, &path) == TNR_OK);
    CHECK(tnr_einsum_format(&path, text, sizeof text, NULL) == TNR_OK);
    printf("%s", text);

    /* Other shapes or layouts are refused: that would be another plan. */
    tnr_view half;
    CHECK(tnr_view_slice_axis(&from.view, 1, (tnr_range){0, TNR_END, 2}, &half) == TNR_OK);
    const tnr_view *const others[3] = {&left, &half, &right};
    CHECK(tnr_plan_run_into(plan, others, 3, &to) == TNR_ERR_SHAPE);
    printf("refused: %s\n", tnr_last_error());
    CHECK(tnr_plan_destroy(&plan) == TNR_OK);

    /* Ordinary calls remember: the first one plans, the others find what it has planned. */
    tnr_plan_cache_info at_first;
    tnr_plan_cache_info at_last;
    CHECK(tnr_engine_plans(engine, &at_first) == TNR_OK);
    for (int step = 0; step < STEPS; step++) {
        CHECK(tnr_einsum_into(engine, "ai,asb,bj->isj", operands, 3, NULL, &to) == TNR_OK);
    }
    CHECK(tnr_engine_plans(engine, &at_last) == TNR_OK);
    CHECK(at_last.misses - at_first.misses == 1 && at_last.hits - at_first.hits == STEPS - 1);
    printf("%d calls: planned once, found %d times\n", STEPS, (int)(at_last.hits - at_first.hits));

    for (int i = 0; i < 2; i++) {
        CHECK(tnr_tensor_release(&states[i]) == TNR_OK);
        CHECK(tnr_tensor_release(&matrices[i]) == TNR_OK);
    }
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
