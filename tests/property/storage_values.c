/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements: read by every path, written, and mapped for several steps. See storage_model.h. */
#include <string.h>

#include "storage_model.h"

/* The elements at `data`, stepped through by the library's strides, against the model. */
static void compare_mapped(const sm_view *view, const void *data)
{
    const sm_layout *layout = &view->layout;
    const size_t size = tnr_dtype_size(layout->dtype);
    sm_check((data == NULL) == (layout->count == 0), "a mapping has an address exactly when there are elements");
    int64_t k = 0;
    for (tnr_cursor cursor = tnr_cursor_begin(&view->it.view); cursor.valid; tnr_cursor_next(&cursor)) {
        const unsigned char *element = (const unsigned char *)data + cursor.offset * (int64_t)size;
        if (memcmp(element, view->owner->data + layout->at[k], size) != 0) {
            sm_fail("element %lld of a mapping is not what was written", (long long)k);
        }
        k++;
    }
}

static void draw_index(const sm_layout *layout, int64_t *index, int64_t *position)
{
    int64_t stride = 1;
    *position = 0;
    for (int i = 0; i < layout->rank; i++) {
        index[i] = (int64_t)sm_below((uint64_t)layout->shape[i]);
        *position += index[i] * stride;
        stride *= layout->shape[i];
    }
}

static void check_get(const sm_view *view)
{
    const sm_layout *layout = &view->layout;
    int64_t index[SM_MAX_RANK];
    int64_t position;
    unsigned char value[16] = {0};
    draw_index(layout, index, &position);
    if (layout->rank > 0 && (layout->count == 0 || sm_chance(5))) {
        int axis = (int)sm_below((uint64_t)layout->rank);
        while (layout->count == 0 && layout->shape[axis] != 0) {
            axis = (axis + 1) % layout->rank;
        }
        index[axis] = sm_chance(50) ? layout->shape[axis] : -1;
        sm_expect(tnr_view_get(&view->it.view, index, value), TNR_ERR_BOUNDS, "view_get");
        return;
    }
    const tnr_status wanted = sm_lease(view, false, false, NULL, NULL);
    sm_expect(tnr_view_get(&view->it.view, index, value), wanted, "view_get");
    if (wanted == TNR_OK &&
        memcmp(value, view->owner->data + layout->at[position], tnr_dtype_size(layout->dtype)) != 0) {
        sm_fail("element %lld read alone is not what was written", (long long)position);
    }
}

static void check_map(const sm_view *view)
{
    const tnr_status wanted = sm_lease(view, false, false, NULL, NULL);
    tnr_read_map map;
    memset(&map, 0, sizeof(map));
    sm_expect(tnr_map_read(&view->it.view, &map), wanted, "map_read");
    if (wanted == TNR_OK) {
        compare_mapped(view, map.data);
    }
    sm_expect(tnr_unmap_read(&map), TNR_OK, "unmap_read");
    sm_check(map.data == NULL && map.held.root == NULL, "an ended mapping is zeroed");
}

void sm_check_values(const sm_view *view)
{
    switch (sm_below(4)) {
    case 0: {
        sm_domain *domain = sm_any_domain();
        tnr_tensor *copy = NULL;
        const tnr_status wanted = sm_lease(view, false, false, NULL, NULL);
        const tnr_status status = tnr_tensor_duplicate(&view->it.view, domain->it, &copy);
        sm_check_copy(status, wanted, view, domain, TNR_COPY_DUPLICATE, copy);
        break;
    }
    case 1:
        check_map(view);
        break;
    default:
        check_get(view);
        break;
    }
}

void sm_op_values(void)
{
    const sm_view *view = sm_any_view(false);
    if (view != NULL) {
        sm_check_values(view);
    }
}

void sm_op_set(void)
{
    sm_view *view = sm_any_view(true);
    if (view == NULL || view->layout.count == 0) {
        return;
    }
    int64_t index[SM_MAX_RANK];
    int64_t position;
    unsigned char value[16];
    draw_index(&view->layout, index, &position);
    sm_random_bytes(value, sizeof(value));
    const tnr_status wanted = sm_lease(view, true, false, NULL, NULL);
    sm_expect(tnr_view_set(&view->it, index, value), wanted, "view_set");
    if (wanted == TNR_OK) {
        memcpy(view->owner->data + view->layout.at[position], value, tnr_dtype_size(view->layout.dtype));
        sm_check_tensor(view->owner);
    }
}

void sm_op_map(void)
{
    sm_map *map = &sm.maps[sm_below(SM_MAPS)];
    const bool write = sm_chance(60);
    const sm_view *view = sm_any_view(write);
    if (map->used || view == NULL) {
        return;
    }
    memset(map, 0, sizeof(*map));
    const tnr_status wanted = sm_lease(view, write, true, &map->held_split, &map->held_parts);
    sm_expect(write ? tnr_map_write(&view->it, &map->writing) : tnr_map_read(&view->it.view, &map->reading), wanted,
              write ? "map_write" : "map_read");
    if (wanted != TNR_OK) {
        sm_check(map->reading.held.root == NULL && map->writing.held.root == NULL, "a refused mapping is not written");
        return;
    }
    map->used = true;
    map->write = write;
    map->view = *view;
    compare_mapped(view, write ? map->writing.data : map->reading.data);
}

/* Write some elements through a live mapping. */
static void write_some(const sm_map *map)
{
    const sm_layout *layout = &map->view.layout;
    const size_t size = tnr_dtype_size(layout->dtype);
    int64_t k = 0;
    for (tnr_cursor cursor = tnr_cursor_begin(&map->view.it.view); cursor.valid; tnr_cursor_next(&cursor)) {
        if (sm_chance(50)) {
            unsigned char *expected = map->view.owner->data + layout->at[k];
            sm_random_bytes(expected, size);
            memcpy((unsigned char *)map->writing.data + cursor.offset * (int64_t)size, expected, size);
        }
        k++;
    }
}

void sm_unmap(sm_map *map)
{
    sm_tensor *owner = map->view.owner;
    sm_check(sm_alive(&map->view), "an owner stays while it is mapped");
    compare_mapped(&map->view, map->write ? map->writing.data : map->reading.data);
    sm_expect(map->write ? tnr_unmap_write(&map->writing) : tnr_unmap_read(&map->reading), TNR_OK, "unmap");
    sm_expect(map->write ? tnr_unmap_write(&map->writing) : tnr_unmap_read(&map->reading), TNR_OK, "a second unmap");
    sm_unlease(owner, map->write, map->held_split, map->held_parts);
    map->used = false;
    sm_check_tensor(owner);
    sm_check_values(&map->view);
}

void sm_op_unmap(void)
{
    sm_map *map = &sm.maps[sm_below(SM_MAPS)];
    if (!map->used) {
        return;
    }
    if (map->write) {
        write_some(map);
    }
    if (sm_chance(60)) {
        sm_unmap(map);
    }
}
