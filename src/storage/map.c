/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's hands on elements: mappings with guards, single elements, plain pointers. One path, reading and writing alike. */
#include "storage_internal.h"

/* A guard that was copied and ended before must not take what others hold. */
static tnr_status check_held(const char *op, const tnri_lease *lease)
{
    TNR_REQUIRE(tnri_lease_is_held(lease), TNR_ERR_STALE, "%s: the mapping was ended before", op);
    return TNR_OK;
}

tnr_status tnr_map_read(const tnr_view *view, tnr_read_map *map)
{
    TNR_REQUIRE(map != NULL, TNR_ERR_ARGUMENT, "map_read: map must not be NULL");
    tnri_operand operand = {.view = view, .write = false};
    TNR_TRY(tnri_access_begin("map_read", &operand, 1, TNRI_APART));
    map->data = operand.data;
    map->held.root = operand.held.root;
    map->held.host = operand.held.host;
    map->held.split = operand.held.split;
    map->held.parts = operand.held.read_parts;
    map->held.generation = view->generation;
    map->held.self = map;
    return TNR_OK;
}

tnr_status tnr_unmap_read(tnr_read_map *map)
{
    if (map == NULL || map->held.root == NULL) {
        return TNR_OK;
    }
    TNR_REQUIRE(map->held.self == map, TNR_ERR_STALE, "unmap_read: a copy of a mapping holds nothing");
    const tnri_lease lease = {.root = map->held.root,
                              .generation = map->held.generation,
                              .split = map->held.split,
                              .read_parts = map->held.parts};
    TNR_TRY(check_held("unmap_read", &lease));
    tnri_operand operand = {
        .held = {.root = map->held.root,
                 .host = map->held.host,
                 .split = map->held.split,
                 .read_parts = map->held.parts,
                 .carries = TNRI_CARRIES_LEASE},
    };
    memset(map, 0, sizeof(*map));
    return tnri_access_end(&operand, 1);
}

tnr_status tnr_map_write(const tnr_view_mut *view, tnr_write_map *map)
{
    TNR_REQUIRE(view != NULL && map != NULL, TNR_ERR_ARGUMENT, "map_write: view and map must not be NULL");
    tnri_operand operand = {.view = &view->view, .write = true};
    TNR_TRY(tnri_access_begin("map_write", &operand, 1, TNRI_APART));
    map->data = operand.data;
    map->held.root = operand.held.root;
    map->held.host = operand.held.host;
    map->held.split = operand.held.split;
    map->held.parts = operand.held.parts;
    map->held.generation = view->view.generation;
    map->held.self = map;
    return TNR_OK;
}

tnr_status tnr_unmap_write(tnr_write_map *map)
{
    if (map == NULL || map->held.root == NULL) {
        return TNR_OK;
    }
    TNR_REQUIRE(map->held.self == map, TNR_ERR_STALE, "unmap_write: a copy of a mapping holds nothing");
    const tnri_lease lease = {.root = map->held.root,
                              .generation = map->held.generation,
                              .split = map->held.split,
                              .parts = map->held.parts,
                              .write = true};
    TNR_TRY(check_held("unmap_write", &lease));
    tnri_operand operand = {
        .held = {.root = map->held.root,
                 .host = map->held.host,
                 .split = map->held.split,
                 .parts = map->held.parts,
                 .carries = TNRI_CARRIES_LEASE,
                 .writes = true},
    };
    memset(map, 0, sizeof(*map));
    return tnri_access_end(&operand, 1);
}

/* Offset of an index from the view's first element, in elements. */
static tnr_status element_offset(const char *op, const tnr_view *view, const int64_t *index, int64_t *offset)
{
    TNR_REQUIRE(view->rank >= 0 && view->rank <= TNR_MAX_RANK, TNR_ERR_ARGUMENT, "%s: rank %d is out of range", op,
                (int)view->rank);
    TNR_REQUIRE(index != NULL || view->rank == 0, TNR_ERR_ARGUMENT, "%s: index must not be NULL", op);
    uint64_t sum = 0;
    for (int axis = 0; axis < view->rank; axis++) {
        TNR_REQUIRE(index[axis] >= 0 && index[axis] < view->shape[axis], TNR_ERR_BOUNDS,
                    "%s: index %lld on axis %d is not from 0 to below %lld", op, TNRI_LL(index[axis]), axis,
                    TNRI_LL(view->shape[axis]));
        /* Modulo 2^64: the sum is an offset inside the view's bounds, which access has checked or will refuse. */
        sum += (uint64_t)index[axis] * (uint64_t)view->strides[axis];
    }
    *offset = (int64_t)sum;
    return TNR_OK;
}

tnr_status tnr_view_get(const tnr_view *view, const int64_t *index, void *value)
{
    TNR_REQUIRE(view != NULL && value != NULL, TNR_ERR_ARGUMENT, "view_get: view and value must not be NULL");
    int64_t offset;
    TNR_TRY(element_offset("view_get", view, index, &offset));
    tnri_operand operand = {.view = view, .write = false};
    TNR_TRY(tnri_access_begin("view_get", &operand, 1, TNRI_APART));
    const size_t size = tnr_dtype_size(view->dtype);
    memcpy(value, operand.data + offset * (int64_t)size, size);
    return tnri_access_end(&operand, 1);
}

tnr_status tnr_view_set(const tnr_view_mut *view, const int64_t *index, const void *value)
{
    TNR_REQUIRE(view != NULL && value != NULL, TNR_ERR_ARGUMENT, "view_set: view and value must not be NULL");
    int64_t offset;
    TNR_TRY(element_offset("view_set", &view->view, index, &offset));
    tnri_operand operand = {.view = &view->view, .write = true};
    TNR_TRY(tnri_access_begin("view_set", &operand, 1, TNRI_APART));
    const size_t size = tnr_dtype_size(view->view.dtype);
    memcpy(operand.data + offset * (int64_t)size, value, size);
    return tnri_access_end(&operand, 1);
}

static tnr_status host_data(const char *op, const tnr_tensor *tensor, const char *instead, void **data)
{
    uint32_t generation;
    TNR_TRY(tnri_tensor_check(op, tensor, &generation));
    const tnr_host_access access = tnri_root_access(tensor);
    if (access == TNR_ACCESS_NONE) {
        return tnri_fail_residency(op, tensor);
    }
    TNR_REQUIRE(access == TNR_ACCESS_DIRECT, TNR_ERR_RESIDENCY,
                "%s: the bytes lie in domain \"%s\", which the host reaches by mapping: call %s", op,
                tnr_domain_name(tensor->domain), instead);
    *data = tensor->bytes == 0 ? NULL : tensor->block.address;
    return TNR_OK;
}

tnr_status tnr_tensor_host_data(const tnr_tensor *tensor, const void **data)
{
    TNR_REQUIRE(data != NULL, TNR_ERR_ARGUMENT, "tensor_host_data: data must not be NULL");
    void *address = NULL;
    TNR_TRY(host_data("tensor_host_data", tensor, "tnr_map_read", &address));
    *data = address;
    return TNR_OK;
}

tnr_status tnr_tensor_host_data_mut(tnr_tensor *tensor, void **data)
{
    TNR_REQUIRE(data != NULL, TNR_ERR_ARGUMENT, "tensor_host_data_mut: data must not be NULL");
    return host_data("tensor_host_data_mut", tensor, "tnr_map_write", data);
}
