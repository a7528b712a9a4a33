/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of reductions by value share: a heap, an engine without workers, inputs, and whole results as numbers. */
#ifndef TENURE_TESTS_SUPPORT_REDUCTION_TEST_H
#define TENURE_TESTS_SUPPORT_REDUCTION_TEST_H

#include "catalogue/catalogue.h"

static tnr_domain *heap;
static tnr_engine *engine;

static inline int set_up(void **state)
{
    (void)state;
    catalogue_ok(tnr_heap_create(&heap), "heap");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&heap), "heap");
    return 0;
}

typedef tnr_status (*axes_op)(tnr_engine *, const tnr_view *, const int *, int, tnr_tensor **);
typedef tnr_status (*axes_op_into)(tnr_engine *, const tnr_view *, const int *, int, const tnr_view_mut *);
typedef tnr_status (*arg_op)(tnr_engine *, const tnr_view *, int, tnr_tensor **);

static const axes_op axes_ops[] = {tnr_sum, tnr_prod, tnr_max, tnr_min, tnr_all, tnr_any, tnr_norm};
static const axes_op_into axes_ops_into[] = {tnr_sum_into, tnr_prod_into, tnr_max_into, tnr_min_into,
                                             tnr_all_into, tnr_any_into,  tnr_norm_into};
enum { SUM, PROD, MAX, MIN, ALL, ANY, NORM, OPS };

static inline tnr_tensor *zeros(tnr_dtype dtype, int rank, const int64_t *shape, tnr_view *view, void **data)
{
    tnr_tensor *made = NULL;
    catalogue_ok(tnr_tensor_zeros(heap, dtype, rank, shape, &made), "zeros");
    catalogue_ok(tnr_tensor_view(made, view), "view");
    if (data != NULL) {
        catalogue_ok(tnr_tensor_host_data_mut(made, data), "data");
    }
    return made;
}

static inline void drop(tnr_tensor *tensor) { catalogue_ok(tnr_tensor_release(&tensor), "release"); }

/* Elements of a result, which is released. */
static inline void take(tnr_tensor *out, void *values, size_t bytes)
{
    const void *data;
    catalogue_ok(tnr_tensor_host_data(out, &data), "data");
    memcpy(values, data, bytes);
    drop(out);
}

static inline double f64_of(axes_op op, const tnr_view *a)
{
    int axes[TNR_MAX_RANK];
    for (int i = 0; i < a->rank; ++i) {
        axes[i] = i;
    }
    tnr_tensor *out = NULL;
    catalogue_ok(op(engine, a, axes, a->rank, &out), "reduction");
    double value;
    take(out, &value, sizeof value);
    return value;
}

static inline float f32_of(axes_op op, const tnr_view *a)
{
    int axes[TNR_MAX_RANK];
    for (int i = 0; i < a->rank; ++i) {
        axes[i] = i;
    }
    tnr_tensor *out = NULL;
    catalogue_ok(op(engine, a, axes, a->rank, &out), "reduction");
    float value;
    take(out, &value, sizeof value);
    return value;
}

static inline int64_t arg_of(arg_op op, const tnr_view *a)
{
    tnr_tensor *out = NULL;
    catalogue_ok(op(engine, a, 0, &out), "arg");
    int64_t value;
    take(out, &value, sizeof value);
    return value;
}

static inline tnr_view every(const tnr_view *a, int64_t step)
{
    tnr_view strided;
    const tnr_range range = {0, a->shape[0], step};
    catalogue_ok(tnr_view_slice(a, &range, &strided), "slice");
    return strided;
}

#endif /* TENURE_TESTS_SUPPORT_REDUCTION_TEST_H */
