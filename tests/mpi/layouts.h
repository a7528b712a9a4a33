/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random views for tests of ranks: a tensor with a window on it of a given dtype and shape, in any layout, whose elements are known
 * from a number. All ranks that draw from equal seeds draw the same.
 */
#ifndef TENURE_TESTS_MPI_LAYOUTS_H
#define TENURE_TESTS_MPI_LAYOUTS_H

#include "ranks.h"

typedef struct layout_shape {
    tnr_dtype dtype;
    int rank;
    int64_t shape[TNR_MAX_RANK];
    int64_t count;
} layout_shape;

typedef struct layout_piece {
    tnr_tensor *tensor;
    tnr_view_mut view;
} layout_piece;

uint64_t layout_random(uint64_t *state);
uint64_t layout_below(uint64_t *state, uint64_t limit);

/* Up to `most` elements, up to rank 5; now and then empty or of rank 0. */
void layout_draw_shape(uint64_t *state, int64_t most, layout_shape *shape);

/* How a view lies: compact or anything. */
typedef enum layout_kind { LAYOUT_COMPACT, LAYOUT_ANY } layout_kind;

/* A window of this shape on a tensor of random bytes. */
void layout_make(uint64_t *state, tnr_domain *domain, const layout_shape *shape, layout_kind kind, layout_piece *piece);
void layout_end(layout_piece *piece);

/* Element n of the view, in column-major order, becomes or must be the n-th of number `seed`. */
void layout_fill(const layout_piece *piece, uint64_t seed);
void layout_check(const tnr_view *view, uint64_t seed);

/* Sum over all bytes of the owner that the view does not reach. */
uint64_t layout_outside(const layout_piece *piece);

#endif /* TENURE_TESTS_MPI_LAYOUTS_H */
