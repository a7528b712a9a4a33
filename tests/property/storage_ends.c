/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners: exporting, reclaiming, releasing, once and once too often, and asking. See storage_model.h. */
#include <stdlib.h>
#include <string.h>

#include "storage_model.h"

static void bury(tnr_tensor *it) { sm.dead_tensor[sm_below(SM_DEAD)] = it; }

/* ---- Letting go ----------------------------------------------------------------------------------------------------------- */

void sm_release(sm_tensor *tensor)
{
    switch (tensor->state) {
    case SM_TENSOR: {
        tnr_tensor *it = tensor->it;
        const tnr_status wanted = sm_leased(tensor) ? TNR_ERR_BUSY : TNR_OK;
        sm_expect(tnr_tensor_release(&it), wanted, "tensor_release");
        sm_check((it == NULL) == (wanted == TNR_OK), "release nulls the pointer exactly when it releases");
        if (wanted == TNR_OK) {
            bury(tensor->it);
            sm_gone(tensor);
        }
        break;
    }
    case SM_DRAFT: {
        sm_expect(tnr_draft_abandon(&tensor->draft), TNR_OK, "draft_abandon");
        sm_gone(tensor);
        break;
    }
    case SM_EXPORTED: {
        const bool adopted = tensor->domain == NULL;
        tnr_exported copy = tensor->exported;
        sm_expect(tnr_exported_free(&tensor->exported), TNR_OK, "exported_free");
        sm_check(tensor->exported.data == NULL && tensor->exported.domain == NULL, "a freed export is zeroed");
        if (!adopted) {
            sm_expect(tnr_exported_free(&copy), TNR_ERR_STALE, "exported_free of a copy");
            sm_unlive(tensor->domain);
            tensor->domain->raw_blocks--;
        } else {
            sm_check(tensor->adopted.data == NULL || tensor->adopted.released == 1,
                     "an adopted buffer is given back once");
            free(tensor->adopted.data);
            tensor->adopted.data = NULL;
        }
        tensor->state = SM_NONE;
        break;
    }
    case SM_GROUPED:
    case SM_NONE:
        break;
    }
}

void sm_op_release(void)
{
    sm_tensor *tensor = sm_any_tensor(SM_TENSOR);
    if (tensor != NULL) {
        sm_check_tensor(tensor);
        sm_release(tensor);
    }
}

void sm_op_export(void)
{
    sm_tensor *tensor = sm_any_tensor(SM_TENSOR);
    if (tensor == NULL) {
        return;
    }
    const bool direct = sm_reaches_directly(tensor->domain);
    const void *data = NULL;
    tnr_tensor *it = tensor->it;
    const tnr_status wanted = sm_leased(tensor) ? TNR_ERR_BUSY : !direct ? TNR_ERR_RESIDENCY : TNR_OK;
    if (direct) {
        sm_expect(tnr_tensor_host_data(it, &data), TNR_OK, "tensor_host_data");
    }
    tnr_exported exported;
    memset(&exported, 0, sizeof(exported));
    const tnr_status status = tnr_tensor_export(&it, &exported);
    sm_expect(status, wanted, "tensor_export");
    sm_check((it == NULL) == (wanted == TNR_OK), "export nulls the pointer exactly when it exports");
    if (wanted != TNR_OK) {
        return;
    }
    bury(tensor->it);
    if (tensor->domain == NULL) {
        data = tensor->adopted.data; /* also when it is empty */
    }
    sm_check(exported.data == data && exported.bytes == tensor->bytes && exported.dtype == tensor->dtype &&
                 exported.rank == tensor->rank &&
                 memcmp(exported.shape, tensor->shape, (size_t)tensor->rank * sizeof(int64_t)) == 0,
             "an export is the very buffer with its shape");
    sm_check(tensor->bytes == 0 || memcmp(data, tensor->data, (size_t)tensor->bytes) == 0, "exporting changes no byte");
    sm_end_epoch(tensor);
    tensor->state = SM_EXPORTED;
    tensor->exported = exported;
    sm_domain *holder = tensor->domain;
    if (holder != NULL && tensor->bytes == 0) {
        holder = NULL; /* no block, so nobody's */
    } else if (holder != NULL && sm_is_pool(holder)) {
        sm_pool_lose(holder, tensor->capacity);
        holder = holder->parent;
    }
    sm_check(exported.domain == (holder != NULL ? holder->it : NULL), "an export says whose block it is");
    if (holder != NULL) {
        holder->live++;
        holder->raw_blocks++;
    }
    sm_unlive(tensor->counted);
    tensor->domain = holder;
    tensor->counted = NULL;
}

void sm_op_exported(void)
{
    static char nobody;
    void *const untouched = &nobody;
    sm_tensor *tensor = sm_any_tensor(SM_EXPORTED);
    if (tensor == NULL) {
        return;
    }
    if (sm_chance(40)) {
        sm_release(tensor);
        return;
    }
    if (sm_chance(25)) {
        const bool heap = tensor->domain != NULL && tensor->domain->role == SM_HEAP;
        const bool nothing = tensor->bytes == 0 && tensor->domain == NULL && tensor->adopted.data == NULL;
        void *data = untouched;
        void *const address = tensor->exported.data;
        sm_expect(tnr_exported_forget(&tensor->exported, &data), heap || nothing ? TNR_OK : TNR_ERR_FOREIGN,
                  "exported_forget");
        if (nothing) {
            sm_check(data == NULL && tensor->exported.rank == 0, "no bytes give NULL, and the export is zeroed");
            tensor->state = SM_NONE;
        } else if (!heap) {
            sm_check(data == untouched && tensor->exported.data == address, "a refused call changes nothing");
        } else {
            sm_check(data == address && memcmp(data, tensor->data, (size_t)tensor->bytes) == 0,
                     "a forgotten buffer stays");
            free(data);
            tensor->state = SM_NONE;
            tensor->domain->raw_blocks--;
            sm_unlive(tensor->domain);
        }
        return;
    }
    sm_domain *home = sm_any_domain();
    tnr_exported copy = tensor->exported;
    tnr_tensor *made = NULL;
    const tnr_status status = tnr_tensor_import(home->it, &tensor->exported, &made);
    if (sm_was_full(tensor->domain != NULL ? tensor->domain : home->home, status, 0)) {
        sm_check(tensor->exported.data == copy.data, "a refused import leaves the export the caller's");
        return;
    }
    sm_expect(status, TNR_OK, "tensor_import");
    sm_check(tensor->exported.data == NULL && tensor->exported.domain == NULL, "an imported export is zeroed");
    if (copy.domain != NULL) {
        tnr_tensor *again = NULL;
        const tnr_status second = tnr_tensor_import(home->it, &copy, &again);
        if (second != TNR_ERR_MEMORY) {
            /* An arena knows that the block is out, but not to the program. */
            sm_expect(second == TNR_ERR_FOREIGN ? TNR_ERR_STALE : second, TNR_ERR_STALE, "a second tensor_import");
        }
        sm_check(copy.domain == tensor->domain->it, "a refused import leaves the export as it was");
        const tnr_status freed = tnr_exported_free(&copy);
        sm_expect(freed == TNR_ERR_FOREIGN ? TNR_ERR_STALE : freed, TNR_ERR_STALE, "exported_free after tensor_import");
        tensor->domain->raw_blocks--;
    }
    tensor->state = SM_TENSOR;
    tensor->it = made;
    sm_end_epoch(tensor);
    tensor->counted = tensor->domain != NULL ? tensor->domain : home->home;
    if (tensor->domain == NULL) {
        tensor->counted->live++;
    }
    tnr_tensor_info info;
    sm_expect(tnr_tensor_describe(made, &info), TNR_OK, "tensor_describe");
    tensor->capacity = info.capacity_bytes;
    sm_check_tensor(tensor);
}

void sm_op_reclaim(void)
{
    sm_tensor *tensor = sm_any_tensor(SM_TENSOR);
    sm_domain *pool = sm_any_domain();
    if (tensor == NULL) {
        return;
    }
    tnr_tensor *it = tensor->it;
    sm_domain *domain = tensor->domain;
    if (!sm_is_pool(pool)) {
        sm_expect(tnr_tensor_reclaim(pool->it, &it), TNR_ERR_ARGUMENT, "tensor_reclaim");
        return;
    }
    const bool ours = domain != NULL && (domain == pool || domain == pool->parent);
    const tnr_status wanted = sm_leased(tensor) ? TNR_ERR_BUSY : !ours ? TNR_ERR_FOREIGN : TNR_OK;
    sm_expect(tnr_tensor_reclaim(pool->it, &it), wanted, "tensor_reclaim");
    sm_check((it == NULL) == (wanted == TNR_OK), "reclaim nulls the pointer exactly when it reclaims");
    if (wanted == TNR_OK) {
        bury(tensor->it);
        if (domain != pool && tensor->bytes != 0) {
            sm_pool_accept(pool, tensor->capacity);
        }
        sm_gone(tensor);
    }
}

/* ---- Asking, and asking the dead ------------------------------------------------------------------------------------------ */

void sm_op_describe(void)
{
    sm_tensor *tensor = sm_any_tensor(sm_chance(80) ? SM_TENSOR : SM_GROUPED);
    if (tensor == NULL) {
        return;
    }
    tnr_tensor_info info;
    const bool own = tensor->state == SM_TENSOR;
    sm_expect(tnr_tensor_describe(tensor->it, &info), own ? TNR_OK : TNR_ERR_STALE, "tensor_describe");
    if (!own) {
        tnr_tensor *it = tensor->it;
        sm_expect(tnr_tensor_release(&it), TNR_ERR_STALE, "tensor_release of a grouped tensor");
        return;
    }
    const bool direct = sm_reaches_directly(tensor->domain);
    sm_check(info.dtype == tensor->dtype && info.rank == tensor->rank && info.count == tensor->count &&
                 info.bytes == tensor->bytes &&
                 memcmp(info.shape, tensor->shape, (size_t)tensor->rank * sizeof(int64_t)) == 0,
             "a tensor describes itself as the model does");
    sm_check(info.capacity_bytes == tensor->capacity && info.capacity_bytes >= info.bytes, "a block holds its tensor");
    sm_check(info.access == (direct ? TNR_ACCESS_DIRECT : TNR_ACCESS_MAPPED) &&
                 info.placement.kind == (direct ? TNR_MEMORY_HOST : TNR_MEMORY_MANAGED),
             "a tensor has its domain's placement");
    if (tensor->domain != NULL) {
        sm_check(tnr_domain_id_equal(info.domain, tensor->domain->id) && info.allocation != 0,
                 "a tensor names its domain and allocation");
    }
    sm_check_tensor(tensor);
}

void sm_op_release_twice(void)
{
    tnr_tensor *it = sm.dead_tensor[sm_below(SM_DEAD)];
    tnr_draft *draft = sm.dead_draft[sm_below(SM_DEAD)];
    for (int i = 0; i < SM_TENSORS; i++) {
        if (sm.tensors[i].state == SM_TENSOR && sm.tensors[i].it == it) {
            it = NULL; /* the slot is another tensor's now: a copied pointer cannot tell */
        }
        if (sm.tensors[i].state == SM_DRAFT && sm.tensors[i].draft == draft) {
            draft = NULL;
        }
    }
    if (it != NULL) {
        tnr_view view;
        tnr_exported exported;
        sm_expect(tnr_tensor_release(&it), TNR_ERR_STALE, "a second tensor_release");
        sm_expect(tnr_tensor_export(&it, &exported), TNR_ERR_STALE, "tensor_export of a released tensor");
        sm_expect(tnr_tensor_view(it, &view), TNR_ERR_STALE, "tensor_view of a released tensor");
    }
    if (draft != NULL) {
        tnr_view_mut view;
        tnr_tensor *made = NULL;
        sm_expect(tnr_draft_view(draft, &view), TNR_ERR_STALE, "draft_view of an abandoned draft");
        sm_expect(tnr_draft_commit(&draft, &made), TNR_ERR_STALE, "draft_commit of an abandoned draft");
        sm_expect(tnr_draft_abandon(&draft), TNR_ERR_STALE, "a second draft_abandon");
    }
}
