/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups across ranks, as far as the core knows of them: entries that name owners of other ranks. They can be listed and described;
 * whoever asks for their bytes is told the rank. The companion that publishes (tenure::mpi) leases this rank's owners and fetches.
 *
 * Guarantees: entries are appended all or none; ending the epoch cannot fail, makes their slots stale and leaves vacant places.
 */
#include "group_internal.h"

tnr_status tnri_group_unpublished(const char *op, const tnr_group *group)
{
    TNR_REQUIRE(group->publication == NULL, TNR_ERR_BUSY, "%s: the group is published (epoch %llu): unpublish it first",
                op, TNRI_LLU(group->epoch));
    return TNR_OK;
}

tnr_status tnri_group_can_publish(const char *op, const tnr_group *group, uint32_t *epoch)
{
    TNR_REQUIRE(group != NULL, TNR_ERR_ARGUMENT, "%s: group must not be NULL", op);
    TNR_TRY(tnri_group_unpublished(op, group));
    *epoch = group->epoch;
    return TNR_OK;
}

void *tnri_group_publication(const tnr_group *group) { return group->publication; }

bool tnri_group_owner_bytes(const tnr_group *group, uint32_t owner, tnr_view *bytes)
{
    const tnr_tensor *root = tnri_group_owner_at(group, owner)->tensor;
    if (root == NULL) {
        return false;
    }
    const int64_t count = (int64_t)root->bytes;
    const int64_t stride = 1;
    return tnri_region("group_owner", root, tnri_generation(root), TNR_BOOL, 0, root->bytes, 1, &count, &stride, 0,
                       bytes) == TNR_OK;
}

/* What an entry says itself. */
static void copy_layout(const tnri_group_entry *entry, tnri_group_item *item)
{
    item->dtype = entry->dtype;
    item->dimensions = entry->rank;
    item->byte_begin = entry->byte_begin;
    item->byte_count = entry->byte_count;
    item->offset = entry->offset;
    memcpy(item->shape, entry->shape, (size_t)entry->rank * sizeof(entry->shape[0]));
    memcpy(item->strides, entry->strides, (size_t)entry->rank * sizeof(entry->strides[0]));
}

bool tnri_group_own_item(const tnr_group *group, uint32_t index, tnri_group_item *item)
{
    const tnri_group_entry *entry = tnri_group_entry_at(group, index);
    if (entry->vacant || entry->remote) {
        return false;
    }
    const tnr_tensor *root = tnri_group_owner_at(group, entry->owner)->tensor;
    memset(item, 0, sizeof(*item));
    item->owner = entry->owner;
    item->owner_bytes = root->bytes;
    item->domain = tnri_root_domain(root);
    item->allocation = tnri_root_allocation(root);
    item->placement = tnri_root_placement(root);
    copy_layout(entry, item);
    return true;
}

/* Another rank's words are believed only where they can be true. */
static tnr_status check_item(const char *op, const tnri_group_item *item)
{
    const uint64_t size = item->dtype < TNR_DTYPE_END ? tnr_dtype_size((tnr_dtype)item->dtype) : 0;
    int64_t count;
    TNR_REQUIRE(size != 0 && item->dimensions <= TNR_MAX_RANK && item->rank >= 0 &&
                    item->byte_begin <= item->owner_bytes && item->byte_count <= item->owner_bytes - item->byte_begin &&
                    item->byte_count <= INT64_MAX && item->placement.kind >= TNR_MEMORY_HOST &&
                    item->placement.kind <= TNR_MEMORY_OTHER &&
                    tnri_layout_check(op, (int)item->dimensions, item->shape, item->strides, item->offset,
                                      (int64_t)(item->byte_count / size), &count) == TNR_OK,
                TNR_ERR_MPI, "%s: a descriptor of rank %lld cannot be true", op, TNRI_LL(item->rank));
    return TNR_OK;
}

static void append(tnr_group *group, const tnri_group_item *item, uint32_t number)
{
    tnri_group_remote *remote = &group->remotes[number];
    remote->owner = item->owner;
    remote->rank = item->rank;
    remote->domain = item->domain;
    remote->allocation = item->allocation;
    remote->placement = item->placement;
    remote->bytes = item->owner_bytes;
    memcpy(remote->source, item->source, sizeof(remote->source));
    tnri_group_entry *entry = tnri_group_entry_at(group, group->descriptors.count);
    entry->owner = number;
    entry->vacant = 0;
    entry->remote = 1;
    entry->dtype = (uint8_t)item->dtype;
    entry->rank = (uint8_t)item->dimensions;
    entry->byte_begin = item->byte_begin;
    entry->byte_count = item->byte_count;
    entry->offset = item->offset;
    memcpy(entry->shape, item->shape, (size_t)item->dimensions * sizeof(entry->shape[0]));
    memcpy(entry->strides, item->strides, (size_t)item->dimensions * sizeof(entry->strides[0]));
    group->descriptors.count++;
}

tnr_status tnri_group_publish(const char *op, tnr_group *group, uint32_t epoch, void *publication,
                              const tnri_group_item *items, uint32_t count)
{
    TNR_TRY(tnri_group_unpublished(op, group));
    TNR_REQUIRE(epoch > group->epoch, TNR_ERR_OVERFLOW, "%s: no epoch after %llu", op, TNRI_LLU(group->epoch));
    for (uint32_t index = 0; index < count; index++) {
        TNR_TRY(check_item(op, &items[index]));
    }
    TNR_TRY(tnri_table_reserve(op, group->home, &group->descriptors, count));
    tnr_block record = {NULL, 0, 0, 0};
    if (count != 0) {
        const tnr_status status = tnri_record_take(group->home, (uint64_t)count * sizeof(tnri_group_remote), &record);
        if (status != TNR_OK) {
            tnri_table_trim(group->home, &group->descriptors);
            return status;
        }
    }
    group->remotes = record.address;
    group->remotes_record = record;
    group->publication = publication;
    group->epoch = epoch;
    for (uint32_t index = 0; index < count; index++) {
        append(group, &items[index], index);
    }
    return TNR_OK;
}

void tnri_group_unpublish(tnr_group *group)
{
    for (uint32_t index = 0; index < group->descriptors.count; index++) {
        tnri_group_entry *entry = tnri_group_entry_at(group, index);
        if (entry->remote) {
            entry->vacant = 1;
            entry->owner = 0;
        }
    }
    if (group->remotes != NULL) {
        tnri_record_give(group->home, &group->remotes_record);
    }
    group->remotes = NULL;
    group->publication = NULL;
}

void tnri_group_retract(tnr_group *group, uint32_t epoch)
{
    while (group->descriptors.count != 0 && tnri_group_entry_at(group, group->descriptors.count - 1)->remote &&
           !tnri_group_entry_at(group, group->descriptors.count - 1)->vacant) {
        group->descriptors.count--;
    }
    tnri_table_trim(group->home, &group->descriptors);
    tnri_group_unpublish(group);
    group->epoch = epoch;
}

tnr_status tnri_group_find_item(const char *op, const tnr_group *group, tnr_slot slot, bool *own, tnri_group_item *item)
{
    tnri_group_entry *entry;
    TNR_TRY(tnri_group_find_any(op, group, slot, &entry));
    TNR_REQUIRE(!entry->vacant, TNR_ERR_VACANT, "%s: descriptor slot %llu is vacant", op, TNRI_LLU(slot.index));
    *own = entry->remote == 0;
    if (*own) {
        return TNR_OK;
    }
    const tnri_group_remote *remote = &group->remotes[entry->owner];
    item->rank = remote->rank;
    item->owner = remote->owner;
    item->owner_bytes = remote->bytes;
    item->domain = remote->domain;
    item->allocation = remote->allocation;
    item->placement = remote->placement;
    memcpy(item->source, remote->source, sizeof(item->source));
    copy_layout(entry, item);
    return TNR_OK;
}

tnr_status tnri_group_check_remote(const char *op, const tnr_group *group, uint32_t index)
{
    const tnri_group_entry *entry = tnri_group_entry_at(group, index);
    TNR_REQUIRE(entry->vacant || group->publication != NULL, TNR_ERR_BACKEND,
                "%s: descriptor %llu is of another rank, and the group is not published", op, TNRI_LLU(index));
    return TNR_OK;
}
