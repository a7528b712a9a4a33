/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drafts: bytes that the program writes before anybody can read them. A draft is the slot of the tensor-to-be; committing
 * changes its kind and ends the writing views' generation. What the library writes itself has no draft (output.c).
 */
#include "storage_internal.h"

struct tnr_draft {
    tnr_tensor tensor;
};

tnr_status tnr_draft_begin(tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape, tnr_draft **draft)
{
    TNR_REQUIRE(domain != NULL && draft != NULL, TNR_ERR_ARGUMENT, "draft_begin: domain and draft must not be NULL");
    tnr_tensor *root;
    TNR_TRY(tnri_root_take("draft_begin", domain, dtype, rank, shape, TNR_ALLOCATION_CREATE, &root));
    tnri_handle_publish(&root->handle, TNRI_HANDLE_DRAFT);
    *draft = (tnr_draft *)(void *)root;
    return TNR_OK;
}

tnr_status tnr_draft_view(tnr_draft *draft, tnr_view_mut *view)
{
    TNR_REQUIRE(draft != NULL && view != NULL, TNR_ERR_ARGUMENT, "draft_view: draft and view must not be NULL");
    const uint32_t generation = tnri_generation(&draft->tensor);
    TNR_REQUIRE(atomic_load_explicit(&draft->tensor.handle.kind, memory_order_acquire) == TNRI_HANDLE_DRAFT,
                TNR_ERR_STALE, "draft_view: the draft was committed or abandoned");
    tnri_root_view(&draft->tensor, generation, &view->view);
    return TNR_OK;
}

tnr_status tnr_draft_commit(tnr_draft **draft, tnr_tensor **tensor)
{
    TNR_REQUIRE(draft != NULL && *draft != NULL && tensor != NULL, TNR_ERR_ARGUMENT,
                "draft_commit: draft and tensor must not be NULL");
    tnr_tensor *root = &(*draft)->tensor;
    TNR_TRY(tnri_generation_end("draft_commit", root, TNRI_HANDLE_DRAFT, TNRI_HANDLE_TENSOR));
    *draft = NULL;
    *tensor = root;
    return TNR_OK;
}

tnr_status tnr_draft_abandon(tnr_draft **draft)
{
    if (draft == NULL || *draft == NULL) {
        return TNR_OK;
    }
    tnr_tensor *root = &(*draft)->tensor;
    TNR_TRY(tnri_generation_end("draft_abandon", root, TNRI_HANDLE_DRAFT, TNRI_HANDLE_FREE));
    tnri_root_free(root);
    *draft = NULL;
    return TNR_OK;
}
