/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners: their books, making and drafting them. See storage_model.h. */
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

/* ---- Books of one tensor ------------------------------------------------------------------------------------------------- */

sm_tensor *sm_free_tensor(void)
{
    for (int tries = 0; tries < 8; tries++) {
        sm_tensor *tensor = &sm.tensors[sm_below(SM_TENSORS)];
        if (tensor->state == SM_NONE) {
            return tensor;
        }
    }
    return NULL;
}

sm_tensor *sm_any_tensor(sm_state state)
{
    for (int tries = 0; tries < 24; tries++) {
        sm_tensor *tensor = &sm.tensors[sm_below(SM_TENSORS)];
        if (tensor->state == state) {
            return tensor;
        }
    }
    return NULL;
}

void sm_draw_shape(tnr_dtype *dtype, int *rank, int64_t *shape, int64_t *count)
{
    *dtype = (tnr_dtype)sm_between(TNR_F32, TNR_BOOL);
    *rank = (int)sm_between(0, 5);
    *count = 1;
    for (int i = 0; i < *rank; i++) {
        const int64_t left = SM_MAX_COUNT / (*count > 0 ? *count : 1);
        const int64_t most = left < 8 ? left : 8;
        shape[i] = sm_chance(4) ? 0 : sm_between(1, sm_chance(10) ? left : most);
        *count *= shape[i];
    }
}

static void set_shape(sm_tensor *tensor, tnr_dtype dtype, int rank, const int64_t *shape)
{
    tensor->dtype = dtype;
    tensor->rank = rank;
    tensor->count = 1;
    for (int i = 0; i < rank; i++) {
        tensor->shape[i] = shape[i];
        tensor->count *= shape[i];
    }
    tensor->bytes = (uint64_t)tensor->count * tnr_dtype_size(dtype);
}

void sm_born(sm_tensor *tensor, tnr_tensor *it, sm_domain *domain, tnr_allocation_reason reason, tnr_dtype dtype,
             int rank, const int64_t *shape)
{
    memset(tensor, 0, offsetof(sm_tensor, data));
    set_shape(tensor, dtype, rank, shape);
    tensor->state = SM_TENSOR;
    tensor->it = it;
    tensor->domain = domain;
    tensor->counted = domain;
    tensor->epoch = ++sm.epochs;
    domain->live++;
    domain->ledger.allocations[reason].count++;
    domain->ledger.allocations[reason].bytes += tensor->bytes;
    tnr_tensor_info info;
    if (sm_is_pool(domain) && tensor->bytes != 0) {
        sm_pool_take(domain, tensor->bytes, false);
        tensor->capacity = sm_class(tensor->bytes);
    } else if (tnr_tensor_describe(it, &info) == TNR_OK) {
        tensor->capacity = info.capacity_bytes;
    }
}

void sm_end_epoch(sm_tensor *tensor) { tensor->epoch = ++sm.epochs; }

void sm_gone(sm_tensor *tensor)
{
    sm_domain *counted = tensor->counted;
    tensor->state = SM_NONE;
    sm_end_epoch(tensor);
    counted->ledger.releases++;
    if (tensor->domain == NULL) {
        sm_check(tensor->adopted.data == NULL || tensor->adopted.released == 1, "an adopted buffer is given back once");
        free(tensor->adopted.data);
        tensor->adopted.data = NULL;
    } else if (sm_is_pool(tensor->domain) && tensor->bytes != 0) {
        sm_pool_give(tensor->domain, tensor->capacity, false);
    }
    sm_unlive(counted);
}

void sm_check_tensor(sm_tensor *tensor)
{
    if (tensor->state != SM_TENSOR || tensor->split != 0 || tensor->writer) {
        return; /* bytes of a writer's mapping may be elsewhere for now */
    }
    const void *data = NULL;
    const bool direct = sm_reaches_directly(tensor->domain);
    sm_expect(tnr_tensor_host_data(tensor->it, &data), direct ? TNR_OK : TNR_ERR_RESIDENCY, "tensor_host_data");
    tnr_read_map map;
    memset(&map, 0, sizeof(map));
    if (!direct) {
        tnr_view view;
        sm_expect(tnr_tensor_view(tensor->it, &view), TNR_OK, "tensor_view");
        sm_expect(tnr_map_read(&view, &map), TNR_OK, "map_read");
        data = map.data;
    }
    sm_check(tensor->bytes == 0 ? data == NULL : memcmp(data, tensor->data, (size_t)tensor->bytes) == 0,
             "a tensor holds what was written");
    sm_expect(tnr_unmap_read(&map), TNR_OK, "unmap_read");
}

static void book_copy(sm_domain *domain, tnr_copy_reason reason, uint64_t bytes)
{
    domain->ledger.copies[reason].count++;
    domain->ledger.copies[reason].bytes += bytes;
}

/* ---- Making --------------------------------------------------------------------------------------------------------------- */

static sm_tensor *draw_new(tnr_dtype *dtype, int *rank, int64_t *shape, int64_t *count, sm_domain **domain)
{
    sm_tensor *tensor = sm_free_tensor();
    if (tensor != NULL) {
        sm_draw_shape(dtype, rank, shape, count);
        *domain = sm_any_domain();
    }
    return tensor;
}

void sm_op_zeros(void)
{
    tnr_dtype dtype;
    int rank;
    int64_t shape[SM_MAX_RANK];
    int64_t count;
    sm_domain *domain;
    sm_tensor *tensor = draw_new(&dtype, &rank, shape, &count, &domain);
    if (tensor == NULL) {
        return;
    }
    const size_t size = tnr_dtype_size(dtype);
    unsigned char value[16] = {0};
    const bool zeros = sm_chance(60);
    if (!zeros) {
        sm_random_bytes(value, size);
    }
    tnr_tensor *made = NULL;
    const tnr_status status = zeros ? tnr_tensor_zeros(domain->it, dtype, rank, shape, &made)
                                    : tnr_tensor_full(domain->it, dtype, rank, shape, value, &made);
    if (sm_was_full(domain, status, (uint64_t)count * size)) {
        sm_check(made == NULL, "a refused call writes no result");
        return;
    }
    sm_expect(status, TNR_OK, zeros ? "tensor_zeros" : "tensor_full");
    sm_born(tensor, made, domain, TNR_ALLOCATION_CREATE, dtype, rank, shape);
    for (int64_t k = 0; k < count; k++) {
        memcpy(tensor->data + (size_t)k * size, value, size);
    }
    sm_check_tensor(tensor);
}

void sm_op_from_array(void)
{
    tnr_dtype dtype;
    int rank;
    int64_t shape[SM_MAX_RANK];
    int64_t count;
    sm_domain *domain;
    sm_tensor *tensor = draw_new(&dtype, &rank, shape, &count, &domain);
    if (tensor == NULL) {
        return;
    }
    const size_t size = tnr_dtype_size(dtype);
    const size_t bytes = (size_t)count * size;
    static unsigned char rows[SM_MAX_BYTES + 1];
    sm_random_bytes(rows, bytes);
    tnr_tensor *made = NULL;
    const bool columns = sm_chance(40);
    const uint64_t told = bytes + (sm_chance(3) ? 1 : 0);
    const tnr_status status = columns ? tnr_tensor_from_column_major(domain->it, dtype, rank, shape, rows, told, &made)
                                      : tnr_tensor_from_row_major(domain->it, dtype, rank, shape, rows, told, &made);
    if (told != bytes) {
        sm_expect(status, TNR_ERR_SHAPE, "a tensor from an array of another size");
        return;
    }
    if (sm_was_full(domain, status, bytes)) {
        return;
    }
    sm_expect(status, TNR_OK, "a tensor from an array");
    sm_born(tensor, made, domain, TNR_ALLOCATION_CREATE, dtype, rank, shape);
    book_copy(domain, columns ? TNR_COPY_FROM_COLUMN_MAJOR : TNR_COPY_FROM_ROW_MAJOR, bytes);
    if (columns) {
        memcpy(tensor->data, rows, bytes);
        sm_check_tensor(tensor);
        return;
    }
    /* Walk the rows' order, last index fastest, and put each element where the column order wants it. */
    int64_t index[SM_MAX_RANK] = {0};
    int64_t strides[SM_MAX_RANK];
    sm_compact(rank, shape, strides);
    for (int64_t k = 0; k < count; k++) {
        int64_t at = 0;
        for (int i = 0; i < rank; i++) {
            at += index[i] * strides[i];
        }
        memcpy(tensor->data + (size_t)at * size, rows + (size_t)k * size, size);
        for (int i = rank - 1; i >= 0 && ++index[i] == shape[i]; i--) {
            index[i] = 0;
        }
    }
    sm_check_tensor(tensor);
}

/* Elements of a view, in order, become a new compact tensor's bytes. */
static void gather_bytes(const sm_view *view, unsigned char *data)
{
    const size_t size = tnr_dtype_size(view->layout.dtype);
    for (int64_t k = 0; k < view->layout.count; k++) {
        memcpy(data + (size_t)k * size, view->owner->data + view->layout.at[k], size);
    }
}

void sm_check_copy(tnr_status status, tnr_status wanted, const sm_view *view, sm_domain *domain, tnr_copy_reason reason,
                   tnr_tensor *copy)
{
    static sm_tensor made;
    static unsigned char expected[SM_MAX_VIEW * 16];
    const uint64_t bytes = (uint64_t)view->layout.count * tnr_dtype_size(view->layout.dtype);
    if (wanted != TNR_OK) {
        /* Known before anything is asked of the destination: it has no trace of it. */
        sm_expect(status, wanted, "a named copy");
        sm_check(copy == NULL, "a refused copy writes no result");
        return;
    }
    if (sm_was_full(domain, status, bytes)) {
        return;
    }
    sm_expect(status, TNR_OK, "a named copy");
    sm_born(&made, copy, domain, TNR_ALLOCATION_COPY, view->layout.dtype, view->layout.rank, view->layout.shape);
    book_copy(domain, reason, bytes);
    gather_bytes(view, expected);
    tnr_view all;
    tnr_read_map map;
    sm_expect(tnr_tensor_view(copy, &all), TNR_OK, "tensor_view");
    sm_check(tnr_view_is_compact(&all), "a copy is compact");
    sm_expect(tnr_map_read(&all, &map), TNR_OK, "map_read");
    sm_check(bytes == 0 || memcmp(map.data, expected, (size_t)bytes) == 0, "a copy has the view's elements in order");
    sm_expect(tnr_unmap_read(&map), TNR_OK, "unmap_read");
    sm_expect(tnr_tensor_release(&copy), TNR_OK, "tensor_release");
    sm_gone(&made);
}

void sm_op_duplicate(void)
{
    sm_tensor *tensor = sm_free_tensor();
    const sm_view *view = sm_any_view(false);
    if (tensor == NULL || view == NULL || view->layout.count > SM_MAX_COUNT || tensor == view->owner) {
        return;
    }
    sm_domain *domain = sm_any_domain();
    tnr_tensor *made = NULL;
    const tnr_status wanted = sm_lease(view, false, false, NULL, NULL);
    const tnr_status status = tnr_tensor_duplicate(&view->it.view, domain->it, &made);
    if (status != TNR_OK || wanted != TNR_OK) {
        sm_check_copy(status, wanted, view, domain, TNR_COPY_DUPLICATE, made);
        return;
    }
    gather_bytes(view, tensor->data);
    sm_born(tensor, made, domain, TNR_ALLOCATION_COPY, view->layout.dtype, view->layout.rank, view->layout.shape);
    book_copy(domain, TNR_COPY_DUPLICATE, tensor->bytes);
    sm_check_tensor(tensor);
}

static void give_back(void *context, void *data, uint64_t bytes)
{
    const sm_tensor *tensor = context;
    sm_adopted *adopted = &((sm_tensor *)context)->adopted;
    sm_check(data == adopted->data && bytes == adopted->bytes, "an adopted buffer comes back as it went in");
    sm_check(adopted->released++ == 0, "an adopted buffer comes back once");
    if (tensor->state != SM_EXPORTED) {
        /* In the middle of the release: it is a released tensor already. */
        tnr_tensor *again = tensor->it;
        tnr_view view;
        sm_expect(tnr_tensor_release(&again), TNR_ERR_STALE, "tensor_release from a release function");
        sm_expect(tnr_tensor_view(again, &view), TNR_ERR_STALE, "tensor_view from a release function");
    }
}

void sm_op_adopt(void)
{
    tnr_dtype dtype;
    int rank;
    int64_t shape[SM_MAX_RANK];
    int64_t count;
    sm_domain *domain;
    sm_tensor *tensor = draw_new(&dtype, &rank, shape, &count, &domain);
    if (tensor == NULL) {
        return;
    }
    const uint64_t bytes = (uint64_t)count * tnr_dtype_size(dtype);
    unsigned char *data = malloc((size_t)bytes + 1);
    tnr_tensor *made = NULL;
    if (tnr_dtype_alignment(dtype) > 1 && bytes != 0 && sm_chance(5)) {
        sm_expect(tnr_tensor_adopt(domain->it, dtype, rank, shape, data + 1, bytes, give_back, tensor, &made),
                  TNR_ERR_ARGUMENT, "tensor_adopt");
        free(data);
        return;
    }
    const tnr_status status = tnr_tensor_adopt(domain->it, dtype, rank, shape, data, bytes, give_back, tensor, &made);
    if (sm_was_full(domain->home, status, 0)) {
        free(data);
        return;
    }
    sm_expect(status, TNR_OK, "tensor_adopt");
    memset(tensor, 0, offsetof(sm_tensor, data));
    set_shape(tensor, dtype, rank, shape);
    sm_random_bytes(tensor->data, (size_t)bytes);
    memcpy(data, tensor->data, (size_t)bytes);
    tensor->state = SM_TENSOR;
    tensor->it = made;
    tensor->counted = domain->home;
    tensor->counted->live++;
    tensor->epoch = ++sm.epochs;
    tensor->capacity = bytes;
    tensor->adopted = (sm_adopted){data, bytes, 0};
    sm_check_tensor(tensor);
}

/* ---- Drafts --------------------------------------------------------------------------------------------------------------- */

void sm_op_draft(void)
{
    tnr_dtype dtype;
    int rank;
    int64_t shape[SM_MAX_RANK];
    int64_t count;
    sm_domain *domain;
    sm_tensor *tensor = draw_new(&dtype, &rank, shape, &count, &domain);
    if (tensor == NULL) {
        return;
    }
    tnr_draft *draft = NULL;
    const tnr_status status = tnr_draft_begin(domain->it, dtype, rank, shape, &draft);
    if (sm_was_full(domain, status, (uint64_t)count * tnr_dtype_size(dtype))) {
        return;
    }
    sm_expect(status, TNR_OK, "draft_begin");
    sm_born(tensor, NULL, domain, TNR_ALLOCATION_CREATE, dtype, rank, shape);
    tensor->state = SM_DRAFT;
    tensor->draft = draft;
    sm_random_bytes(tensor->data, (size_t)tensor->bytes);
    sm_view *view = sm_view_whole(tensor, true);
    sm_expect(tnr_draft_view(draft, &view->it), TNR_OK, "draft_view");
    tnr_write_map map;
    sm_expect(tnr_map_write(&view->it, &map), TNR_OK, "map_write of a draft");
    if (tensor->bytes != 0) {
        memcpy(map.data, tensor->data, (size_t)tensor->bytes);
    }
    tnr_draft *held = draft;
    tnr_tensor *made = NULL;
    sm_expect(tnr_draft_commit(&held, &made), TNR_ERR_BUSY, "draft_commit of a mapped draft");
    sm_expect(tnr_draft_abandon(&held), TNR_ERR_BUSY, "draft_abandon of a mapped draft");
    sm_check(held == draft, "a refused call leaves the draft the caller's");
    sm_expect(tnr_unmap_write(&map), TNR_OK, "unmap_write");
}

void sm_op_draft_end(void)
{
    sm_tensor *tensor = sm_any_tensor(SM_DRAFT);
    if (tensor == NULL) {
        return;
    }
    tnr_draft *draft = tensor->draft;
    const tnr_status wanted = sm_leased(tensor) ? TNR_ERR_BUSY : TNR_OK;
    if (sm_chance(30)) {
        sm_expect(tnr_draft_abandon(&draft), wanted, "draft_abandon");
        if (wanted == TNR_OK) {
            sm.dead_draft[sm_below(SM_DEAD)] = tensor->draft;
            sm_check(draft == NULL, "an abandoned draft is nulled");
            sm_gone(tensor);
        }
        return;
    }
    tnr_tensor *made = NULL;
    sm_expect(tnr_draft_commit(&draft, &made), wanted, "draft_commit");
    if (wanted == TNR_OK) {
        sm_check(draft == NULL && made != NULL, "a committed draft is nulled");
        tensor->state = SM_TENSOR;
        tensor->it = made;
        tnr_tensor_info info;
        sm_expect(tnr_tensor_describe(made, &info), TNR_OK, "tensor_describe");
        tensor->capacity = info.capacity_bytes;
        sm_end_epoch(tensor);
        sm_check_tensor(tensor);
    }
}
