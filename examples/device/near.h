/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes to an engine and back, by name, wherever it computes: for an engine of CPUs a copy that it makes itself, for an engine of a device an
 * upload or a download in its lane. So that one main line serves both.
 */
#ifndef EXAMPLES_DEVICE_NEAR_H
#define EXAMPLES_DEVICE_NEAR_H

#include <tenure/tenure.h>

/* New tensor of `domain`, which the engine reaches: zeros, or one number of rank 0. */
TNR_MUST_CHECK tnr_status near_zeros(tnr_engine *engine, tnr_domain *domain, tnr_dtype dtype, int rank,
                                     const int64_t *shape, tnr_tensor **tensor);
TNR_MUST_CHECK tnr_status near_scalar(tnr_engine *engine, tnr_domain *domain, double value, tnr_tensor **scalar);

/* What the host has, as a new tensor of `domain` near the engine. */
TNR_MUST_CHECK tnr_status near_put(tnr_engine *engine, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor);

/* What is near the engine, in elements that the host has. */
TNR_MUST_CHECK tnr_status near_get_into(tnr_engine *engine, const tnr_view *source, const tnr_view_mut *target);

/* An f64 tensor of one element. */
TNR_MUST_CHECK tnr_status near_value(tnr_engine *engine, const tnr_tensor *scalar, double *value);

#endif /* EXAMPLES_DEVICE_NEAR_H */
