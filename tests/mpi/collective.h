/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of collective calls share. */
#ifndef TENURE_TESTS_MPI_COLLECTIVE_H
#define TENURE_TESTS_MPI_COLLECTIVE_H

#include "layouts.h"

extern tnr_domain *collective_heap;

/* Ways for bytes to travel, and a world that uses one. */
enum { COLLECTIVE_SETTINGS = 4 };
tnr_world *collective_world(int setting);
/* All ranks are here; nothing is left in the world; it goes. */
void collective_end(tnr_world **world);

/* A compact tensor of this dtype and shape with element n of number `seed` at n. */
void collective_check_tensor(const tnr_tensor *tensor, const layout_shape *shape, uint64_t seed);

/*
 * A part of a larger tensor: index i along an axis is index[axis][i] of the whole, whose element n in column-major order is the n-th
 * of a number.
 */
typedef struct collective_map {
    int rank;
    int64_t whole[TNR_MAX_RANK];
    int64_t shape[TNR_MAX_RANK];
    int64_t *index[TNR_MAX_RANK];
} collective_map;

/* All of a whole of this shape; then parts of it may be chosen. */
void collective_map_make(collective_map *map, int rank, const int64_t *whole);
void collective_map_end(collective_map *map);
/* Keep `count` indices from `start` of those that it has along an axis. */
void collective_map_keep(collective_map *map, int axis, int64_t start, int64_t count);
/* Window of this part's shape in any layout (LAYOUT_COMPACT, LAYOUT_ANY) and its owner. */
void collective_piece(uint64_t *state, tnr_dtype dtype, const collective_map *map, layout_piece *piece);
void collective_fill(const tnr_view *view, const collective_map *map, uint64_t seed);
void collective_check(const tnr_view *view, const collective_map *map, uint64_t seed);
void collective_check_made(const tnr_tensor *tensor, tnr_dtype dtype, const collective_map *map, uint64_t seed);

void collective_f64(int rank, const int64_t *shape, const double *values, tnr_tensor **tensor);
const double *collective_data(const tnr_tensor *tensor);

#endif /* TENURE_TESTS_MPI_COLLECTIVE_H */
