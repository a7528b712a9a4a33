/* SPDX-License-Identifier: BSD-3-Clause */
/* What the row files share: shape rules and arithmetic of models. */
#ifndef TENURE_TESTS_CATALOGUE_OPS_H
#define TENURE_TESTS_CATALOGUE_OPS_H

#include "catalogue/catalogue.h"

#define NO_COPY TNR_COPY_REASON_END

/* ---- Shape rules ---- */

/* Extents up to `limit` where there are few axes, zeros and ones among them. */
void random_shape(catalogue_random *random, int64_t limit, int rank, int64_t *shape);
/* Any rank that random shapes have. */
int random_rank(catalogue_random *random);
/* The numbers 0..rank-1 in random order. */
void random_axes(catalogue_random *random, int rank, int *axes);
void set_input(catalogue_call *call, int input, int rank, const int64_t *shape);
void set_output(catalogue_call *call, int rank, const int64_t *shape);
/* All inputs and the output of one shape; now and then an input of rank 0. */
void choose_elementwise(catalogue_random *random, int64_t limit, catalogue_call *call);
/* One input and an output of its shape. */
void choose_same(catalogue_random *random, int64_t limit, catalogue_call *call);

/* Two different axes in axes[0] and axes[1] of a shape of rank 2 or more; its rank. */
int choose_matrices(catalogue_random *random, int64_t limit, int64_t *shape, catalogue_call *call);

/* ---- Arithmetic of models ---- */

/* Keep what fits the dtype: integers wrap. */
int64_t wrap(tnr_dtype dtype, uint64_t bits);
catalogue_value plus(tnr_dtype dtype, catalogue_value a, catalogue_value b);
catalogue_value minus(tnr_dtype dtype, catalogue_value a, catalogue_value b);
catalogue_value times(tnr_dtype dtype, catalogue_value a, catalogue_value b);
catalogue_value conjugate(catalogue_value a);
/* |re| + |im| */
long double size_of(catalogue_value a);
/* Every element of the input, in its order. */
void copy_model(const catalogue_call *call, const catalogue_array *inputs, catalogue_array *output);

#endif /* TENURE_TESTS_CATALOGUE_OPS_H */
