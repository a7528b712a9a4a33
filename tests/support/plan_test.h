/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of plans share: an engine, operands of a small contraction, and a plan of it. */
#ifndef TENURE_TESTS_SUPPORT_PLAN_TEST_H
#define TENURE_TESTS_SUPPORT_PLAN_TEST_H

#include <math.h>

#include "support/storage_test.h"
#include "tenure/tenure.h"

static tnr_domain *heap;
static tnr_engine *engine;

static inline int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    OK(tnr_engine_create(heap, NULL, &engine));
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    OK(tnr_engine_destroy(&engine));
    close_domain(&heap);
    return 0;
}

static inline tnr_tensor *filled(int rank, const int64_t *shape, double value)
{
    tnr_tensor *made = NULL;
    OK(tnr_tensor_full(heap, TNR_F64, rank, shape, &value, &made));
    return made;
}

static inline void all_elements_are(const tnr_tensor *tensor, int64_t count, double value)
{
    for (int64_t i = 0; i < count; i++) {
        if (host_of(tensor)[i] != value) {
            fail_msg("element %d is %g, expected %g", (int)i, host_of(tensor)[i], value);
        }
    }
}

/* 4x4x4x4, as abcd and cdef, filled with x and y: every element of the product is 16 x y. */
typedef struct quads {
    tnr_tensor *a, *b, *out;
    tnr_view views[2];
    const tnr_view *list[2];
    tnr_view_mut into;
} quads;

static inline quads make_quads(double x, double y)
{
    const int64_t *shape = SHAPE(4, 4, 4, 4);
    quads made = {filled(4, shape, x), filled(4, shape, y), filled(4, shape, (double)NAN), {{0}}, {NULL}, {{0}}};
    made.views[0] = view_of(made.a);
    made.views[1] = view_of(made.b);
    made.into = view_mut_of(made.out);
    return made;
}

static inline const tnr_view *const *list_of(quads *q)
{
    q->list[0] = &q->views[0];
    q->list[1] = &q->views[1];
    return q->list;
}

static inline void free_quads(quads *q)
{
    release(&q->a);
    release(&q->b);
    release(&q->out);
}

static inline tnr_plan *plan_of(quads *q, const tnr_view *out, const tnr_product_options *options)
{
    tnr_plan *plan = NULL;
    OK(tnr_plan_contract(engine, &q->views[0], "abcd", &q->views[1], "cdef", out, "abef", options, &plan));
    return plan;
}

#endif /* TENURE_TESTS_SUPPORT_PLAN_TEST_H */
