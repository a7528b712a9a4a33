/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: what moves owners out or between groups, and what ends a group. All-or-nothing, like entering. */
#include "group_internal.h"

/* A tensor is compact and starts at its first byte: only a descriptor that says just that can become one again. */
static tnr_status check_takeable(const char *op, tnr_slot slot, const tnri_group_entry *entry,
                                 const tnri_group_owner *owner)
{
    TNR_REQUIRE(owner->live == 1, TNR_ERR_BUSY, "%s: %llu other descriptors name the owner of slot %llu", op,
                TNRI_LLU(owner->live - 1), TNRI_LLU(slot.index));
    const uint64_t bytes = owner->tensor->bytes;
    int64_t count;
    TNR_TRY(tnri_shape_count(op, entry->rank, entry->shape, &count));
    TNR_REQUIRE(entry->byte_begin == 0 && entry->byte_count == bytes && entry->offset == 0 &&
                    (uint64_t)count * tnr_dtype_size((tnr_dtype)entry->dtype) == bytes &&
                    tnri_is_compact(entry->rank, entry->shape, entry->strides),
                TNR_ERR_LAYOUT, "%s: slot %llu is not the whole owner, compact from its first byte: use group_copy_out",
                op, TNRI_LLU(slot.index));
    return TNR_OK;
}

tnr_status tnr_group_take(tnr_group *group, tnr_slot slot, tnr_tensor **tensor)
{
    static const char *const op = "group_take";
    TNR_REQUIRE(tensor != NULL, TNR_ERR_ARGUMENT, "%s: tensor must not be NULL", op);
    tnri_group_entry *entry;
    TNR_TRY(tnri_group_find(op, group, slot, &entry));
    TNR_TRY(tnri_group_unpublished(op, group));
    tnri_group_owner *owner = tnri_group_owner_at(group, entry->owner);
    TNR_TRY(check_takeable(op, slot, entry, owner));
    tnr_tensor *root = owner->tensor;
    TNR_TRY(tnri_generation_hold(op, root, TNRI_HANDLE_GROUPED));
    root->dtype = entry->dtype;
    root->rank = entry->rank;
    memcpy(root->shape, entry->shape, (size_t)entry->rank * sizeof(entry->shape[0]));
    tnri_generation_end_held(root, TNRI_HANDLE_TENSOR);
    owner->tensor = NULL;
    owner->live = 0;
    entry->vacant = 1;
    *tensor = root;
    return TNR_OK;
}

tnr_status tnr_group_copy_out(const tnr_group *group, tnr_slot slot, tnr_domain *domain, tnr_tensor **tensor)
{
    tnr_view view;
    TNR_TRY(tnr_group_view(group, slot, &view));
    return tnri_duplicate("group_copy_out", &view, domain, TNR_COPY_COPY_OUT, tensor);
}

tnr_status tnr_group_merge(tnr_group *target, tnr_group **source, uint32_t *first)
{
    static const char *const op = "group_merge";
    TNR_REQUIRE(target != NULL && source != NULL && *source != NULL && *source != target, TNR_ERR_ARGUMENT,
                "%s: two different groups are needed", op);
    tnr_group *from = *source;
    TNR_REQUIRE(from->home == target->home, TNR_ERR_FOREIGN, "%s: the groups' tables live in different domains", op);
    TNR_TRY(tnri_group_unpublished(op, target));
    TNR_TRY(tnri_group_unpublished(op, from));
    TNR_TRY(tnri_table_reserve(op, target->home, &target->owners, from->owners.count));
    const tnr_status status = tnri_table_reserve(op, target->home, &target->descriptors, from->descriptors.count);
    if (status != TNR_OK) {
        tnri_table_trim(target->home, &target->owners);
        return status;
    }
    const uint32_t base = target->owners.count;
    for (uint32_t index = 0; index < from->owners.count; index++) {
        *tnri_group_owner_at(target, base + index) = *tnri_group_owner_at(from, index);
    }
    if (first != NULL) {
        *first = target->descriptors.count;
    }
    for (uint32_t index = 0; index < from->descriptors.count; index++) {
        tnri_group_entry *entry = tnri_group_entry_at(target, target->descriptors.count + index);
        *entry = *tnri_group_entry_at(from, index);
        entry->owner += entry->remote ? 0 : base;
    }
    target->owners.count += from->owners.count;
    target->descriptors.count += from->descriptors.count;
    from->owners.count = 0;
    from->descriptors.count = 0;
    return tnr_group_release(source);
}

tnr_status tnr_group_release(tnr_group **group)
{
    static const char *const op = "group_release";
    if (group == NULL || *group == NULL) {
        return TNR_OK;
    }
    tnr_group *ending = *group;
    TNR_TRY(tnri_group_unpublished(op, ending));
    const uint32_t owners = ending->owners.count;
    for (uint32_t index = 0; index < owners; index++) {
        tnr_tensor *root = tnri_group_owner_at(ending, index)->tensor;
        const tnr_status status = root != NULL ? tnri_generation_hold(op, root, TNRI_HANDLE_GROUPED) : TNR_OK;
        if (status != TNR_OK) {
            for (uint32_t held = 0; held < index; held++) {
                tnr_tensor *other = tnri_group_owner_at(ending, held)->tensor;
                if (other != NULL) {
                    tnri_generation_unhold(other);
                }
            }
            return status;
        }
    }
    for (uint32_t index = 0; index < owners; index++) {
        tnr_tensor *root = tnri_group_owner_at(ending, index)->tensor;
        if (root != NULL) {
            tnri_generation_end_held(root, TNRI_HANDLE_FREE);
            tnri_root_free(root);
        }
    }
    tnr_domain *home = ending->home;
    const tnr_block record = ending->record;
    tnri_table_free(home, &ending->owners);
    tnri_table_free(home, &ending->descriptors);
    tnri_record_give(home, &record);
    tnri_domain_unuse(home);
    *group = NULL;
    return TNR_OK;
}

static uint32_t count_descriptors_of(const tnr_group *group, uint32_t owner)
{
    uint32_t count = 0;
    for (uint32_t index = 0; index < group->descriptors.count; index++) {
        const tnri_group_entry *entry = tnri_group_entry_at(group, index);
        count += entry->owner == owner && !entry->vacant && !entry->remote ? 1U : 0U;
    }
    return count;
}

static tnr_status check_entry(const char *op, const tnr_group *group, uint32_t index)
{
    const tnri_group_entry *entry = tnri_group_entry_at(group, index);
    if (entry->remote) {
        return tnri_group_check_remote(op, group, index);
    }
    TNR_REQUIRE(entry->owner < group->owners.count, TNR_ERR_BACKEND, "%s: descriptor %llu names owner %llu of %llu", op,
                TNRI_LLU(index), TNRI_LLU(entry->owner), TNRI_LLU(group->owners.count));
    if (entry->vacant) {
        return TNR_OK;
    }
    const tnr_tensor *root = tnri_group_owner_at(group, entry->owner)->tensor;
    const uint64_t size = tnr_dtype_size((tnr_dtype)entry->dtype);
    int64_t count;
    TNR_REQUIRE(root != NULL && size != 0 && entry->byte_begin <= root->bytes &&
                    entry->byte_count <= root->bytes - entry->byte_begin &&
                    tnri_layout_check(op, entry->rank, entry->shape, entry->strides, entry->offset,
                                      (int64_t)(entry->byte_count / size), &count) == TNR_OK,
                TNR_ERR_BACKEND, "%s: descriptor %llu leaves its owner", op, TNRI_LLU(index));
    return TNR_OK;
}

tnr_status tnr_group_check(const tnr_group *group)
{
    static const char *const op = "group_check";
    TNR_REQUIRE(group != NULL, TNR_ERR_ARGUMENT, "%s: group must not be NULL", op);
    for (uint32_t index = 0; index < group->descriptors.count; index++) {
        TNR_TRY(check_entry(op, group, index));
    }
    for (uint32_t index = 0; index < group->owners.count; index++) {
        const tnri_group_owner *owner = tnri_group_owner_at(group, index);
        const bool grouped = owner->tensor != NULL && atomic_load_explicit(&owner->tensor->handle.kind,
                                                                           memory_order_acquire) == TNRI_HANDLE_GROUPED;
        TNR_REQUIRE(grouped == (owner->live > 0) && grouped == (owner->tensor != NULL) &&
                        owner->live == count_descriptors_of(group, index),
                    TNR_ERR_BACKEND, "%s: owner %llu counts %llu live descriptors and is %s", op, TNRI_LLU(index),
                    TNRI_LLU(owner->live), owner->tensor == NULL ? "vacant" : "not as they say");
    }
    return TNR_OK;
}
