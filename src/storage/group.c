/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: creating, entering, describing, and views through descriptors. Nothing here copies an element. Every call checks
 * everything, makes room, and only then changes the tables.
 */
#include "group_internal.h"

/* ---- Slots ------------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_group_find_any(const char *op, const tnr_group *group, tnr_slot slot, tnri_group_entry **entry)
{
    TNR_REQUIRE(group != NULL, TNR_ERR_ARGUMENT, "%s: group must not be NULL", op);
    TNR_REQUIRE(slot.group == group->serial, TNR_ERR_FOREIGN, "%s: slot %llu is of group %llu, not of group %llu", op,
                TNRI_LLU(slot.index), TNRI_LLU(slot.group), TNRI_LLU(group->serial));
    TNR_REQUIRE(slot.index < group->descriptors.count, TNR_ERR_BOUNDS, "%s: slot %llu is beyond the %llu descriptors",
                op, TNRI_LLU(slot.index), TNRI_LLU(group->descriptors.count));
    tnri_group_entry *found = tnri_group_entry_at(group, slot.index);
    const uint32_t epoch = found->remote && !found->vacant ? group->epoch : 0;
    TNR_REQUIRE(slot.epoch == 0 || slot.epoch == epoch, TNR_ERR_STALE,
                "%s: slot %llu is of epoch %llu, which has ended", op, TNRI_LLU(slot.index), TNRI_LLU(slot.epoch));
    TNR_REQUIRE(slot.epoch == epoch, TNR_ERR_STALE, "%s: slot %llu is of epoch %llu now", op, TNRI_LLU(slot.index),
                TNRI_LLU(epoch));
    *entry = found;
    return TNR_OK;
}

tnr_status tnri_group_find(const char *op, const tnr_group *group, tnr_slot slot, tnri_group_entry **entry)
{
    tnri_group_entry *found;
    TNR_TRY(tnri_group_find_any(op, group, slot, &found));
    TNR_REQUIRE(!found->vacant, TNR_ERR_VACANT, "%s: descriptor slot %llu is vacant", op, TNRI_LLU(slot.index));
    TNR_REQUIRE(!found->remote, TNR_ERR_FOREIGN,
                "%s: the bytes of slot %llu are on rank %lld of the world that published it (process %llu): "
                "tnr_group_fetch copies them here",
                op, TNRI_LLU(slot.index), TNRI_LL(group->remotes[found->owner].rank),
                TNRI_LLU(group->remotes[found->owner].domain.process));
    *entry = found;
    return TNR_OK;
}

tnr_status tnr_group_slot(const tnr_group *group, uint32_t index, tnr_slot *slot)
{
    TNR_REQUIRE(group != NULL && slot != NULL, TNR_ERR_ARGUMENT, "group_slot: group and slot must not be NULL");
    tnr_slot asked = {group->serial, index, 0};
    if (index < group->descriptors.count) {
        const tnri_group_entry *known = tnri_group_entry_at(group, index);
        asked.epoch = known->remote && !known->vacant ? group->epoch : 0;
    }
    tnri_group_entry *entry;
    TNR_TRY(tnri_group_find_any("group_slot", group, asked, &entry));
    *slot = asked;
    return TNR_OK;
}

tnr_status tnr_group_counts(const tnr_group *group, uint32_t *owners, uint32_t *descriptors)
{
    TNR_REQUIRE(group != NULL, TNR_ERR_ARGUMENT, "group_counts: group must not be NULL");
    if (owners != NULL) {
        *owners = group->owners.count;
    }
    if (descriptors != NULL) {
        *descriptors = group->descriptors.count;
    }
    return TNR_OK;
}

/* ---- Creating and entering --------------------------------------------------------------------------------------------------- */

tnr_status tnr_group_create(tnr_domain *home, tnr_group **group)
{
    TNR_REQUIRE(home != NULL && group != NULL, TNR_ERR_ARGUMENT, "group_create: home and group must not be NULL");
    static TNRI_ATOMIC(uint64_t) last_serial;
    uint64_t serial;
    TNR_TRY(tnri_mint_serial("group_create", &last_serial, &serial));
    tnr_block record;
    TNR_TRY(tnri_record_take(home, sizeof(tnr_group), &record));
    tnr_group *made = record.address;
    made->serial = serial;
    made->home = home->home;
    made->record = record;
    made->owners.entry_bytes = sizeof(tnri_group_owner);
    made->descriptors.entry_bytes = sizeof(tnri_group_entry);
    tnri_domain_use(made->home);
    *group = made;
    return TNR_OK;
}

static tnr_status reserve_both(const char *op, tnr_group *group, uint32_t owners, uint32_t descriptors)
{
    TNR_TRY(tnri_table_reserve(op, group->home, &group->owners, owners));
    const tnr_status status = tnri_table_reserve(op, group->home, &group->descriptors, descriptors);
    if (status != TNR_OK) {
        tnri_table_trim(group->home, &group->owners);
    }
    return status;
}

static uint32_t beyond(const tnri_table *table, uint32_t entries)
{
    return entries > table->count ? entries - table->count : 0;
}

tnr_status tnr_group_reserve(tnr_group *group, uint32_t owners, uint32_t descriptors)
{
    static const char *const op = "group_reserve";
    TNR_REQUIRE(group != NULL, TNR_ERR_ARGUMENT, "%s: group must not be NULL", op);
    TNR_TRY(tnri_group_unpublished(op, group));
    const tnr_status status =
        reserve_both(op, group, beyond(&group->owners, owners), beyond(&group->descriptors, descriptors));
    TNR_REQUIRE(status != TNR_ERR_MEMORY, status, "%s: %s has no room for %llu owners and %llu descriptors", op,
                tnr_domain_name(group->home), TNRI_LLU(owners), TNRI_LLU(descriptors));
    TNR_TRY(status);
    group->owners.kept = owners > group->owners.kept ? owners : group->owners.kept;
    group->descriptors.kept = descriptors > group->descriptors.kept ? descriptors : group->descriptors.kept;
    return TNR_OK;
}

/* Enter a tensor that is held and for which there is room. */
static void enter(tnr_group *group, tnr_tensor *root)
{
    if (root->domain == NULL && root->group_serial != group->home->serial) {
        root->group_serial = group->home->serial;
        root->block.allocation = tnri_mint(group->home);
    }
    tnri_generation_end_held(root, TNRI_HANDLE_GROUPED);
    tnri_group_owner *owner = tnri_group_owner_at(group, group->owners.count);
    owner->tensor = root;
    owner->live = 1;
    tnri_group_entry *entry = tnri_group_entry_at(group, group->descriptors.count);
    entry->owner = group->owners.count;
    entry->vacant = 0;
    entry->remote = 0;
    entry->dtype = root->dtype;
    entry->rank = root->rank;
    entry->byte_begin = 0;
    entry->byte_count = root->bytes;
    entry->offset = 0;
    memcpy(entry->shape, root->shape, (size_t)root->rank * sizeof(root->shape[0]));
    tnri_compact_strides(root->rank, root->shape, entry->strides);
    group->owners.count++;
    group->descriptors.count++;
}

tnr_status tnr_group_append(tnr_group *group, tnr_tensor **tensor, tnr_slot *slot)
{
    static const char *const op = "group_append";
    TNR_REQUIRE(group != NULL && tensor != NULL, TNR_ERR_ARGUMENT, "%s: group and tensor must not be NULL", op);
    uint32_t generation;
    TNR_TRY(tnri_tensor_check(op, *tensor, &generation));
    TNR_TRY(tnri_group_unpublished(op, group));
    TNR_TRY(reserve_both(op, group, 1, 1));
    const tnr_status status = tnri_generation_hold(op, *tensor, TNRI_HANDLE_TENSOR);
    if (status != TNR_OK) {
        tnri_table_trim(group->home, &group->owners);
        tnri_table_trim(group->home, &group->descriptors);
        return status;
    }
    if (slot != NULL) {
        slot->group = group->serial;
        slot->index = group->descriptors.count;
        slot->epoch = 0;
    }
    enter(group, *tensor);
    *tensor = NULL;
    return TNR_OK;
}

/* Hold every tensor as its only writer, or none. A repeated tensor shows as one that is held already. */
static tnr_status hold_all(const char *op, tnr_tensor **tensors, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        uint32_t generation;
        tnr_status status = tnri_tensor_check(op, tensors[index], &generation);
        if (status == TNR_OK) {
            status = tnri_generation_hold(op, tensors[index], TNRI_HANDLE_TENSOR);
        }
        if (status == TNR_OK) {
            continue;
        }
        for (size_t earlier = 0; earlier < index; earlier++) {
            tnri_generation_unhold(tensors[earlier]);
            if (tensors[earlier] == tensors[index]) {
                status = tnri_fail(TNR_ERR_ARGUMENT, "%s: tensors %llu and %llu are the same", op, TNRI_LLU(earlier),
                                   TNRI_LLU(index));
            }
        }
        return status;
    }
    return TNR_OK;
}

tnr_status tnr_group_from_tensors(tnr_domain *home, tnr_tensor **tensors, size_t count, tnr_group **group)
{
    static const char *const op = "group_from_tensors";
    TNR_REQUIRE(home != NULL && group != NULL && (tensors != NULL || count == 0), TNR_ERR_ARGUMENT,
                "%s: home, tensors and group must not be NULL", op);
    TNR_REQUIRE(count < UINT32_MAX, TNR_ERR_OVERFLOW, "%s: %llu tensors are more than slots can number", op,
                TNRI_LLU(count));
    tnr_group *made;
    TNR_TRY(tnr_group_create(home, &made));
    tnr_status status = reserve_both(op, made, (uint32_t)count, (uint32_t)count);
    if (status == TNR_OK) {
        status = hold_all(op, tensors, count);
    }
    if (status != TNR_OK) {
        (void)tnr_group_release(&made);
        return status;
    }
    for (size_t index = 0; index < count; index++) {
        enter(made, tensors[index]);
        tensors[index] = NULL;
    }
    *group = made;
    return TNR_OK;
}

tnr_status tnr_group_describe_span(tnr_group *group, tnr_slot of, tnr_dtype dtype, uint64_t byte_begin,
                                   uint64_t byte_count, int rank, const int64_t *shape, const int64_t *strides,
                                   int64_t offset, tnr_slot *slot)
{
    static const char *const op = "group_describe_span";
    tnri_group_entry *named;
    TNR_TRY(tnri_group_find(op, group, of, &named));
    const uint64_t size = tnr_dtype_size(dtype);
    TNR_REQUIRE(size != 0, TNR_ERR_ARGUMENT, "%s: %d is no dtype", op, (int)dtype);
    const tnri_group_owner *owner = tnri_group_owner_at(group, named->owner);
    const uint64_t alignment = tnr_dtype_alignment(dtype);
    TNR_REQUIRE(byte_begin % alignment == 0, TNR_ERR_ARGUMENT, "%s: byte %llu is not aligned to the %llu bytes of %s",
                op, TNRI_LLU(byte_begin), TNRI_LLU(alignment), tnr_dtype_name(dtype));
    TNR_REQUIRE(((uintptr_t)owner->tensor->block.address + byte_begin) % alignment == 0 ||
                    tnri_root_access(owner->tensor) != TNR_ACCESS_DIRECT,
                TNR_ERR_ARGUMENT, "%s: the owner's buffer is not aligned for %s", op, tnr_dtype_name(dtype));
    TNR_REQUIRE(byte_count % size == 0, TNR_ERR_ARGUMENT, "%s: %llu bytes are no whole number of %s elements", op,
                TNRI_LLU(byte_count), tnr_dtype_name(dtype));
    TNR_REQUIRE(byte_begin <= owner->tensor->bytes && byte_count <= owner->tensor->bytes - byte_begin, TNR_ERR_BOUNDS,
                "%s: bytes %llu to %llu leave the owner's %llu", op, TNRI_LLU(byte_begin),
                TNRI_LLU(byte_begin + byte_count), TNRI_LLU(owner->tensor->bytes));
    int64_t count;
    int64_t compact[TNR_MAX_RANK];
    TNR_TRY(tnri_shape_count(op, rank, shape, &count));
    if (strides == NULL) {
        tnri_compact_strides(rank, shape, compact);
        strides = compact;
    }
    tnr_view checked;
    TNR_TRY(tnri_region(op, owner->tensor, tnri_generation(owner->tensor), dtype, byte_begin, byte_count, rank, shape,
                        strides, offset, &checked));
    TNR_TRY(tnri_table_reserve(op, group->home, &group->descriptors, 1));
    tnri_group_entry *entry = tnri_group_entry_at(group, group->descriptors.count);
    entry->owner = named->owner;
    entry->vacant = 0;
    entry->remote = 0;
    entry->dtype = (uint8_t)dtype;
    entry->rank = (uint8_t)rank;
    entry->byte_begin = byte_begin;
    entry->byte_count = byte_count;
    entry->offset = offset;
    memcpy(entry->shape, checked.shape, (size_t)rank * sizeof(checked.shape[0]));
    memcpy(entry->strides, checked.strides, (size_t)rank * sizeof(checked.strides[0]));
    if (slot != NULL) {
        slot->group = group->serial;
        slot->index = group->descriptors.count;
        slot->epoch = 0;
    }
    tnri_group_owner_at(group, named->owner)->live++;
    group->descriptors.count++;
    return TNR_OK;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------------------- */

tnr_status tnr_group_describe(const tnr_group *group, tnr_slot slot, tnr_descriptor *descriptor)
{
    static const char *const op = "group_describe";
    TNR_REQUIRE(descriptor != NULL, TNR_ERR_ARGUMENT, "%s: descriptor must not be NULL", op);
    tnri_group_entry *entry;
    TNR_TRY(tnri_group_find_any(op, group, slot, &entry));
    memset(descriptor, 0, sizeof(*descriptor));
    descriptor->owner = entry->owner;
    descriptor->vacant = entry->vacant != 0;
    if (descriptor->vacant) {
        return TNR_OK;
    }
    if (entry->remote) {
        const tnri_group_remote *remote = &group->remotes[entry->owner];
        descriptor->owner = remote->owner;
        descriptor->domain = remote->domain;
        descriptor->allocation = remote->allocation;
        descriptor->placement = remote->placement;
    } else {
        const tnr_tensor *root = tnri_group_owner_at(group, entry->owner)->tensor;
        descriptor->domain = tnri_root_domain(root);
        descriptor->allocation = tnri_root_allocation(root);
        descriptor->placement = tnri_root_placement(root);
    }
    descriptor->dtype = (tnr_dtype)entry->dtype;
    descriptor->rank = entry->rank;
    memcpy(descriptor->shape, entry->shape, (size_t)entry->rank * sizeof(entry->shape[0]));
    memcpy(descriptor->strides, entry->strides, (size_t)entry->rank * sizeof(entry->strides[0]));
    descriptor->offset = entry->offset;
    descriptor->byte_begin = entry->byte_begin;
    descriptor->byte_count = entry->byte_count;
    return TNR_OK;
}

static tnr_status view_through(const char *op, const tnr_group *group, tnr_slot slot, tnr_view *view)
{
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: view must not be NULL", op);
    tnri_group_entry *entry;
    TNR_TRY(tnri_group_find(op, group, slot, &entry));
    const tnr_tensor *root = tnri_group_owner_at(group, entry->owner)->tensor;
    return tnri_region(op, root, tnri_generation(root), (tnr_dtype)entry->dtype, entry->byte_begin, entry->byte_count,
                       entry->rank, entry->shape, entry->strides, entry->offset, view);
}

tnr_status tnr_group_view(const tnr_group *group, tnr_slot slot, tnr_view *view)
{
    return view_through("group_view", group, slot, view);
}

static tnr_status view_mut_through(const char *op, const tnr_group *group, tnr_slot slot, tnr_view_mut *view)
{
    tnr_view made;
    TNR_REQUIRE(view != NULL, TNR_ERR_ARGUMENT, "%s: view must not be NULL", op);
    TNR_TRY(view_through(op, group, slot, &made));
    TNR_REQUIRE(tnri_is_distinct(made.rank, made.shape, made.strides), TNR_ERR_OVERLAP,
                "%s: two indices of descriptor %llu may fall on one element", op, TNRI_LLU(slot.index));
    view->view = made;
    return TNR_OK;
}

tnr_status tnr_group_view_mut(tnr_group *group, tnr_slot slot, tnr_view_mut *view)
{
    return view_mut_through("group_view_mut", group, slot, view);
}

tnr_status tnr_group_split(tnr_group *group, const tnr_slot *slots, size_t count, bool *granted, tnr_view_mut *views)
{
    static const char *const op = "group_split";
    TNR_REQUIRE(group != NULL && granted != NULL && ((slots != NULL && views != NULL) || count == 0), TNR_ERR_ARGUMENT,
                "%s: group, slots, granted and views must not be NULL", op);
    TNR_REQUIRE(count <= TNR_MAX_PARTS, TNR_ERR_ARGUMENT, "%s: %llu slots, at most %d", op, TNRI_LLU(count),
                TNR_MAX_PARTS);
    /* Checked in full first, so that a refusal leaves the caller's views untouched. */
    for (size_t index = 0; index < count; index++) {
        tnr_view_mut checked;
        TNR_TRY(view_mut_through(op, group, slots[index], &checked));
        for (size_t earlier = 0; earlier < index; earlier++) {
            TNR_REQUIRE(slots[earlier].index != slots[index].index, TNR_ERR_ARGUMENT, "%s: slot %llu is named twice",
                        op, TNRI_LLU(slots[index].index));
        }
    }
    for (size_t first = 0; first < count; first++) {
        for (size_t second = first + 1; second < count; second++) {
            tnr_view_mut a;
            tnr_view_mut b;
            TNR_TRY(view_mut_through(op, group, slots[first], &a));
            TNR_TRY(view_mut_through(op, group, slots[second], &b));
            if (tnri_views_overlap(&a.view, &b.view) != TNR_OVERLAP_NONE) {
                *granted = false;
                return TNR_OK;
            }
        }
    }
    for (size_t index = 0; index < count; index++) {
        TNR_TRY(view_mut_through(op, group, slots[index], &views[index]));
    }
    tnri_mark_parts(views, count);
    *granted = true;
    return TNR_OK;
}

tnr_status tnr_group_need(uint32_t owners, uint32_t descriptors, tnr_need *need)
{
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "group_need: need must not be NULL");
    TNR_REQUIRE(owners <= TNRI_TABLE_MOST && descriptors <= TNRI_TABLE_MOST, TNR_ERR_OVERFLOW,
                "group_need: a table has at most %llu entries", TNRI_LLU(TNRI_TABLE_MOST));
    tnr_need sum;
    tnr_need term;
    TNR_TRY(tnri_record_need(sizeof(tnr_group), &sum));
    TNR_TRY(tnri_table_need(sizeof(tnri_group_owner), owners, &term));
    TNR_TRY(tnr_need_add(&sum, &term, 1));
    TNR_TRY(tnri_table_need(sizeof(tnri_group_entry), descriptors, &term));
    TNR_TRY(tnr_need_add(&sum, &term, 1));
    *need = sum;
    return TNR_OK;
}
