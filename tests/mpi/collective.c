/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of collective calls share. */
#include "collective.h"

tnr_domain *collective_heap;

tnr_world *collective_world(int setting)
{
    tnr_world_options options = TNR_WORLD_OPTIONS;
    tnr_world *world = NULL;
    options.timeout_ms = 60000;
    switch (setting) {
    case 1:
        options.no_shared = true;
        options.chunk_bytes = 8 << 10;
        options.pack_bytes = 4 << 10;
        break;
    case 2:
        options.shared_bytes = 64 << 10;
        options.tickets = 1;
        break;
    case 3:
        options.no_shared = true;
        options.derived_run_bytes = 2;
        break;
    default:
        break;
    }
    CHECK_OK(tnr_world_create(collective_heap, MPI_COMM_WORLD, &options, &world));
    return world;
}

void collective_end(tnr_world **world)
{
    tnr_world_info info;
    CHECK_OK(tnr_world_barrier(*world));
    CHECK_OK(tnr_world_describe(*world, &info));
    CHECK(info.requests == 0 && info.datatypes == 0 && info.tickets == 0 && info.poisoned == TNR_OK);
    CHECK_OK(tnr_world_destroy(world));
}

void collective_check_tensor(const tnr_tensor *tensor, const layout_shape *shape, uint64_t seed)
{
    tnr_tensor_info info;
    tnr_view view;
    CHECK(tensor != NULL);
    CHECK_OK(tnr_tensor_describe(tensor, &info));
    CHECK(info.dtype == shape->dtype && info.rank == shape->rank);
    CHECK(shape->rank == 0 || memcmp(info.shape, shape->shape, (size_t)shape->rank * sizeof(int64_t)) == 0);
    CHECK_OK(tnr_tensor_view(tensor, &view));
    layout_check(&view, seed);
}

void collective_f64(int rank, const int64_t *shape, const double *values, tnr_tensor **tensor)
{
    uint64_t bytes = sizeof(double);
    for (int axis = 0; axis < rank; axis++) {
        bytes *= (uint64_t)shape[axis];
    }
    CHECK_OK(tnr_tensor_from_column_major(collective_heap, TNR_F64, rank, shape, values, bytes, tensor));
}

const double *collective_data(const tnr_tensor *tensor)
{
    const void *data;
    CHECK_OK(tnr_tensor_host_data(tensor, &data));
    return data;
}

/* ---- Parts of a whole -------------------------------------------------------------------------------------------------------------- */

void collective_map_make(collective_map *map, int rank, const int64_t *whole)
{
    map->rank = rank;
    for (int axis = 0; axis < rank; axis++) {
        map->whole[axis] = whole[axis];
        map->shape[axis] = whole[axis];
        map->index[axis] = malloc(sizeof(int64_t) * (size_t)(whole[axis] + 1));
        CHECK(map->index[axis] != NULL);
        for (int64_t i = 0; i < whole[axis]; i++) {
            map->index[axis][i] = i;
        }
    }
}

void collective_map_end(collective_map *map)
{
    for (int axis = 0; axis < map->rank; axis++) {
        free(map->index[axis]);
    }
}

void collective_map_keep(collective_map *map, int axis, int64_t start, int64_t count)
{
    CHECK(start >= 0 && count >= 0 && start + count <= map->shape[axis]);
    memmove(map->index[axis], map->index[axis] + start, sizeof(int64_t) * (size_t)count);
    map->shape[axis] = count;
}

void collective_piece(uint64_t *state, tnr_dtype dtype, const collective_map *map, layout_piece *piece)
{
    layout_shape shape;
    shape.dtype = dtype;
    shape.rank = map->rank;
    shape.count = 1;
    for (int axis = 0; axis < map->rank; axis++) {
        shape.shape[axis] = map->shape[axis];
        shape.count *= map->shape[axis];
    }
    layout_make(state, collective_heap, &shape, layout_below(state, 3) == 0 ? LAYOUT_COMPACT : LAYOUT_ANY, piece);
}

/* Write or compare each element. */
static void visit(const tnr_view *view, const collective_map *map, uint64_t seed, bool write)
{
    const void *origin;
    const size_t bytes = tnr_dtype_size(view->dtype);
    CHECK(view->rank == map->rank);
    CHECK(map->rank == 0 || memcmp(view->shape, map->shape, (size_t)map->rank * sizeof(int64_t)) == 0);
    CHECK_OK(tnr_tensor_host_data(view->root, &origin));
    for (tnr_cursor at = tnr_cursor_begin(view); at.valid; tnr_cursor_next(&at)) {
        int64_t n = 0;
        for (int axis = map->rank - 1; axis >= 0; axis--) {
            n = n * map->whole[axis] + map->index[axis][at.index[axis]];
        }
        unsigned char value[16];
        uint64_t state = (seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)n * UINT64_C(0xD1342543DE82EF95)) | 1U;
        for (size_t i = 0; i < bytes; i++) {
            value[i] = (unsigned char)(layout_random(&state) >> 40);
        }
        unsigned char *place =
            (unsigned char *)(uintptr_t)origin + view->window_begin + (view->offset + at.offset) * (int64_t)bytes;
        if (write) {
            memcpy(place, value, bytes);
        } else if (memcmp(place, value, bytes) != 0) {
            ranks_fail(__FILE__, __LINE__, "element %lld of the part is not %lld of the whole", (long long)at.position,
                       (long long)n);
        }
    }
}

void collective_fill(const tnr_view *view, const collective_map *map, uint64_t seed) { visit(view, map, seed, true); }

void collective_check(const tnr_view *view, const collective_map *map, uint64_t seed) { visit(view, map, seed, false); }

void collective_check_made(const tnr_tensor *tensor, tnr_dtype dtype, const collective_map *map, uint64_t seed)
{
    tnr_view view;
    CHECK(tensor != NULL);
    CHECK_OK(tnr_tensor_view(tensor, &view));
    CHECK(view.dtype == dtype);
    collective_check(&view, map, seed);
}
