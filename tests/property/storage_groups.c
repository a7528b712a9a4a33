/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups against two plain arrays. See storage_model.h. */
#include <string.h>

#include "storage_model.h"

/* ---- Books ---------------------------------------------------------------------------------------------------------------- */

static sm_group *any_group(void)
{
    for (int tries = 0; tries < 8; tries++) {
        sm_group *group = &sm.groups[sm_below(SM_GROUPS)];
        if (group->it != NULL) {
            return group;
        }
    }
    return NULL;
}

static tnr_slot slot_of(const sm_group *group, unsigned index)
{
    const tnr_slot slot = {group->serial, index, 0};
    return slot;
}

static void enter_group(sm_group *group, sm_tensor *tensor)
{
    sm_entry *entry = &group->entry[group->entries];
    int64_t strides[SM_MAX_RANK];
    memset(entry, 0, sizeof(*entry));
    entry->owner = group->owners;
    entry->byte_count = tensor->bytes;
    entry->whole = true;
    sm_compact(tensor->rank, tensor->shape, strides);
    (void)sm_layout_make(&entry->layout, tensor->dtype, tensor->rank, tensor->shape, strides, 0, 0, tensor->count);
    group->owner[group->owners] = tensor;
    group->live[group->owners] = 1;
    group->owners++;
    group->entries++;
    tensor->state = SM_GROUPED;
    tensor->group = group;
    sm_end_epoch(tensor);
}

static sm_entry *any_entry(const sm_group *group, unsigned *index)
{
    if (group == NULL || group->entries == 0) {
        return NULL;
    }
    for (int tries = 0; tries < 3; tries++) {
        *index = (unsigned)sm_below(group->entries);
        if (!group->entry[*index].vacant) {
            break;
        }
    }
    return (sm_entry *)&group->entry[*index];
}

/* The view that an entry gives. */
static void view_of(const sm_group *group, const sm_entry *entry, bool writable, sm_view *view)
{
    memset(view, 0, offsetof(sm_view, layout));
    view->used = true;
    view->writable = writable;
    view->owner = group->owner[entry->owner];
    view->epoch = view->owner->epoch;
    view->window = entry->byte_begin;
    view->layout = entry->layout;
}

/* ---- Entering ------------------------------------------------------------------------------------------------------------- */

void sm_op_group_make(void)
{
    sm_group *group = &sm.groups[sm_below(SM_GROUPS)];
    if (group->it != NULL) {
        return;
    }
    sm_domain *domain = sm_any_domain();
    sm_tensor *entering[3];
    tnr_tensor *its[3];
    tnr_tensor *before[3];
    const size_t most = sm_below(4);
    size_t count = 0;
    tnr_status wanted = TNR_OK;
    for (; count < most; count++) {
        sm_tensor *tensor = count > 0 && sm_chance(10) ? entering[0] : sm_any_tensor(SM_TENSOR);
        if (tensor == NULL) {
            break;
        }
        for (size_t k = 0; k < count && wanted == TNR_OK; k++) {
            wanted = entering[k] == tensor ? TNR_ERR_ARGUMENT : TNR_OK;
        }
        if (wanted == TNR_OK && sm_leased(tensor)) {
            wanted = TNR_ERR_BUSY;
        }
        entering[count] = tensor;
        its[count] = tensor->it;
        before[count] = tensor->it;
    }
    tnr_group *made = NULL;
    const bool empty = count == 0 && sm_chance(50);
    const tnr_status status =
        empty ? tnr_group_create(domain->it, &made) : tnr_group_from_tensors(domain->it, its, count, &made);
    if (sm_was_full(domain->home, status, 16384)) {
        sm_check(memcmp(its, before, count * sizeof(its[0])) == 0, "a refused group leaves the tensors the caller's");
        return;
    }
    sm_expect(status, wanted, "group_from_tensors");
    if (wanted != TNR_OK) {
        sm_check(memcmp(its, before, count * sizeof(its[0])) == 0, "a refused group leaves the tensors the caller's");
        return;
    }
    memset(group, 0, offsetof(sm_group, entry));
    group->it = made;
    group->home = domain->home;
    group->home->live++;
    for (size_t k = 0; k < count; k++) {
        sm_check(its[k] == NULL, "a group nulls what it takes");
        enter_group(group, entering[k]);
    }
    /* The serial shows in any slot; an empty group shows none. */
    tnr_slot slot;
    sm_expect(tnr_group_slot(made, 0, &slot), count > 0 ? TNR_OK : TNR_ERR_BOUNDS, "group_slot");
    group->serial = count > 0 ? slot.group : 0;
}

void sm_op_group_append(void)
{
    sm_group *group = any_group();
    sm_tensor *tensor = sm_any_tensor(SM_TENSOR);
    if (group == NULL || tensor == NULL || group->entries >= SM_ENTRIES) {
        return;
    }
    tnr_tensor *it = tensor->it;
    tnr_slot slot = {0, 0, 0};
    const tnr_status wanted = sm_leased(tensor) ? TNR_ERR_BUSY : TNR_OK;
    const tnr_status status = tnr_group_append(group->it, &it, &slot);
    if (sm_was_full(group->home, status, 65536)) {
        sm_check(it == tensor->it, "a refused append leaves the tensor the caller's");
        return;
    }
    sm_expect(status, wanted, "group_append");
    sm_check((it == NULL) == (wanted == TNR_OK), "append nulls the pointer exactly when it appends");
    if (wanted == TNR_OK) {
        group->serial = group->serial != 0 ? group->serial : slot.group;
        sm_check(slot.group == group->serial && slot.index == group->entries, "slots are given in order");
        enter_group(group, tensor);
    }
}

void sm_op_group_span(void)
{
    sm_group *group = any_group();
    unsigned index = 0;
    const sm_entry *named = any_entry(group, &index);
    if (named == NULL || group->entries >= SM_ENTRIES) {
        return;
    }
    sm_entry *made = &group->entry[group->entries];
    const tnr_dtype dtype = sm_chance(60) ? named->layout.dtype : (tnr_dtype)sm_between(TNR_F32, TNR_BOOL);
    const uint64_t size = tnr_dtype_size(dtype);
    const uint64_t owned = named->vacant ? 0 : group->owner[named->owner]->bytes;
    const bool all = sm_chance(40);
    const uint64_t begin = all ? 0 : sm_below(owned / size + 1) * (sm_chance(95) ? size : 3);
    const uint64_t bytes = all ? owned : sm_below((owned + size) / size) * size + (sm_chance(3) ? 1 : 0);
    const int64_t elements = (int64_t)(bytes / size);
    int64_t shape[SM_MAX_RANK];
    int64_t strides[SM_MAX_RANK];
    int64_t offset = 0;
    int rank = 1;
    const bool compact = sm_chance(60);
    if (compact) {
        shape[0] = elements;
        if (elements % 2 == 0 && sm_chance(30)) {
            shape[0] = elements / 2;
            shape[1] = 2;
            rank = 2;
        }
        sm_compact(rank, shape, strides);
    } else {
        rank = (int)sm_below(3);
        for (int i = 0; i < rank; i++) {
            shape[i] = sm_between(0, 5);
            strides[i] = sm_between(-2, 5);
        }
        offset = sm_between(0, 4);
    }
    tnr_status wanted = TNR_OK;
    if (named->vacant) {
        wanted = TNR_ERR_VACANT;
    } else if (begin % tnr_dtype_alignment(dtype) != 0 || bytes % size != 0) {
        wanted = TNR_ERR_ARGUMENT;
    } else if (begin + bytes > owned) {
        wanted = TNR_ERR_BOUNDS;
    } else if (elements > SM_MAX_VIEW) {
        return; /* too large for the model */
    } else if (!sm_layout_make(&made->layout, dtype, rank, shape, strides, offset, begin, elements)) {
        wanted = TNR_ERR_BOUNDS;
    }
    tnr_slot slot = {0, 0, 0};
    const tnr_status status = tnr_group_describe_span(group->it, slot_of(group, index), dtype, begin, bytes, rank,
                                                      shape, compact ? NULL : strides, offset, &slot);
    if (wanted == TNR_OK && sm_was_full(group->home, status, 65536)) {
        return;
    }
    sm_expect(status, wanted, "group_describe_span");
    if (wanted != TNR_OK) {
        return;
    }
    sm_check(slot.group == group->serial && slot.index == group->entries, "slots are given in order");
    made->vacant = false;
    made->owner = named->owner;
    made->byte_begin = begin;
    made->byte_count = bytes;
    made->offset = offset;
    made->whole = begin == 0 && bytes == owned && offset == 0 && (uint64_t)made->layout.count * size == owned;
    for (int64_t k = 0; k < made->layout.count; k++) {
        made->whole = made->whole && made->layout.at[k] == (uint32_t)k * (uint32_t)size;
    }
    group->live[named->owner]++;
    group->entries++;
}

/* ---- Looking -------------------------------------------------------------------------------------------------------------- */

void sm_op_group_view(void)
{
    sm_group *group = any_group();
    unsigned index = 0;
    const sm_entry *entry = any_entry(group, &index);
    if (entry == NULL) {
        return;
    }
    const bool writable = sm_chance(50);
    tnr_view_mut it;
    memset(&it, 0, sizeof(it));
    tnr_status wanted = entry->vacant ? TNR_ERR_VACANT : TNR_OK;
    if (writable) {
        wanted = wanted == TNR_OK && !sm_layout_distinct(&entry->layout) ? TNR_ERR_OVERLAP : wanted;
        sm_expect(tnr_group_view_mut(group->it, slot_of(group, index), &it), wanted, "group_view_mut");
    } else {
        sm_expect(tnr_group_view(group->it, slot_of(group, index), &it.view), wanted, "group_view");
    }
    tnr_descriptor descriptor;
    sm_expect(tnr_group_describe(group->it, slot_of(group, index), &descriptor), TNR_OK, "group_describe");
    sm_check(descriptor.vacant == entry->vacant && descriptor.owner == entry->owner, "a descriptor knows its owner");
    if (entry->vacant) {
        return;
    }
    const sm_tensor *owner = group->owner[entry->owner];
    const tnr_domain_id named = owner->domain != NULL ? owner->domain->id : group->home->id;
    sm_check(descriptor.dtype == entry->layout.dtype && descriptor.rank == entry->layout.rank &&
                 descriptor.byte_begin == entry->byte_begin && descriptor.byte_count == entry->byte_count &&
                 descriptor.offset == entry->offset && descriptor.allocation != 0 &&
                 tnr_domain_id_equal(descriptor.domain, named) &&
                 descriptor.placement.kind ==
                     (sm_reaches_directly(owner->domain) ? TNR_MEMORY_HOST : TNR_MEMORY_MANAGED),
             "a descriptor says what was described");
    if (wanted == TNR_OK) {
        sm_view *view = sm_new_view();
        view_of(group, entry, writable, view);
        view->it = it;
        sm_check_descriptor(view);
        sm_check_values(view);
    }
}

void sm_op_group_split(void)
{
    sm_group *group = any_group();
    unsigned indices[4];
    tnr_slot slots[4];
    tnr_view_mut its[4];
    const sm_entry *entries[4];
    const size_t most = sm_below(5);
    size_t count = 0;
    tnr_status wanted = TNR_OK;
    for (; group != NULL && count < most; count++) {
        entries[count] = any_entry(group, &indices[count]);
        if (entries[count] == NULL) {
            return;
        }
        slots[count] = slot_of(group, indices[count]);
        if (wanted != TNR_OK) {
            continue;
        }
        wanted = entries[count]->vacant                         ? TNR_ERR_VACANT
                 : !sm_layout_distinct(&entries[count]->layout) ? TNR_ERR_OVERLAP
                                                                : TNR_OK;
        for (size_t k = 0; k < count && wanted == TNR_OK; k++) {
            wanted = indices[k] == indices[count] ? TNR_ERR_ARGUMENT : TNR_OK;
        }
    }
    if (group == NULL) {
        return;
    }
    bool granted = false;
    sm_expect(tnr_group_split(group->it, slots, count, &granted, its), wanted, "group_split");
    if (wanted != TNR_OK || !granted) {
        sm_check(wanted != TNR_OK || count > 1, "no pair is nothing to refuse");
        return;
    }
    static unsigned char met[SM_MAX_BYTES];
    uint64_t split[4] = {0};
    for (size_t k = 0; k < count; k++) {
        /* Each owner's bytes are gone through once, with all its parts. */
        for (size_t other = 0; other < k; other++) {
            split[k] = entries[other]->owner == entries[k]->owner ? split[other] : split[k];
        }
        if (split[k] != 0) {
            continue;
        }
        split[k] = ++sm.splits;
        memset(met, 0, sizeof(met));
        for (size_t other = k; other < count; other++) {
            const sm_layout *layout = &entries[other]->layout;
            const size_t size = tnr_dtype_size(layout->dtype);
            for (int64_t e = 0; entries[other]->owner == entries[k]->owner && e < layout->count; e++) {
                for (size_t i = 0; i < size; i++) {
                    sm_check(met[layout->at[e] + i]++ == 0, "what is granted shares no byte");
                }
            }
        }
    }
    for (size_t k = 0; k < count; k++) {
        sm_view *view = sm_new_view();
        view_of(group, entries[k], true, view);
        view->it = its[k];
        view->split = split[k];
        view->part = (unsigned)k;
        sm_check_descriptor(view);
    }
}

/* ---- Leaving -------------------------------------------------------------------------------------------------------------- */

void sm_op_group_take(void)
{
    sm_group *group = any_group();
    unsigned index = 0;
    sm_entry *entry = any_entry(group, &index);
    if (entry == NULL) {
        return;
    }
    sm_tensor *owner = entry->vacant ? NULL : group->owner[entry->owner];
    const tnr_status wanted = entry->vacant                   ? TNR_ERR_VACANT
                              : group->live[entry->owner] > 1 ? TNR_ERR_BUSY
                              : !entry->whole                 ? TNR_ERR_LAYOUT
                              : sm_leased(owner)              ? TNR_ERR_BUSY
                                                              : TNR_OK;
    tnr_tensor *taken = NULL;
    sm_expect(tnr_group_take(group->it, slot_of(group, index), &taken), wanted, "group_take");
    if (wanted != TNR_OK) {
        sm_check(taken == NULL, "a refused take writes no result");
        return;
    }
    sm_expect(tnr_group_take(group->it, slot_of(group, index), &taken), TNR_ERR_VACANT, "a second group_take");
    sm_check(taken == owner->it, "the same tensor comes out");
    owner->state = SM_TENSOR;
    owner->dtype = entry->layout.dtype;
    owner->rank = entry->layout.rank;
    owner->count = entry->layout.count;
    memcpy(owner->shape, entry->layout.shape, sizeof(owner->shape));
    sm_end_epoch(owner);
    group->owner[entry->owner] = NULL;
    group->live[entry->owner] = 0;
    entry->vacant = true;
    sm_check_tensor(owner);
}

void sm_op_group_copy_out(void)
{
    sm_group *group = any_group();
    unsigned index = 0;
    const sm_entry *entry = any_entry(group, &index);
    if (entry == NULL) {
        return;
    }
    sm_domain *domain = sm_any_domain();
    tnr_tensor *copy = NULL;
    const tnr_status status = tnr_group_copy_out(group->it, slot_of(group, index), domain->it, &copy);
    if (entry->vacant) {
        sm_expect(status, TNR_ERR_VACANT, "group_copy_out");
        return;
    }
    static sm_view view;
    view_of(group, entry, false, &view);
    sm_check_copy(status, sm_lease(&view, false, false, NULL, NULL), &view, domain, TNR_COPY_COPY_OUT, copy);
}

static void forget_group(sm_group *group)
{
    if (group->serial != 0) {
        sm.dead_slot[sm_below(SM_DEAD)] = slot_of(group, 0);
    }
    sm_domain *home = group->home;
    group->it = NULL;
    sm_unlive(home);
}

void sm_op_group_merge(void)
{
    sm_group *target = any_group();
    sm_group *source = any_group();
    if (target == NULL || source == NULL || target->entries + source->entries > SM_ENTRIES * 2 ||
        target->owners + source->owners > SM_ENTRIES * 2) {
        return;
    }
    tnr_group *it = source->it;
    uint32_t first = 0;
    const tnr_status wanted = target == source               ? TNR_ERR_ARGUMENT
                              : target->home != source->home ? TNR_ERR_FOREIGN
                                                             : TNR_OK;
    const tnr_status status = tnr_group_merge(target->it, &it, &first);
    if (wanted == TNR_OK && sm_was_full(target->home, status, 65536)) {
        sm_check(it == source->it, "a refused merge leaves the source the caller's");
        return;
    }
    sm_expect(status, wanted, "group_merge");
    sm_check((it == NULL) == (wanted == TNR_OK), "merge nulls the pointer exactly when it merges");
    if (wanted != TNR_OK) {
        return;
    }
    sm_check(first == target->entries, "merged slots follow the target's");
    const unsigned base = target->owners;
    for (unsigned k = 0; k < source->owners; k++) {
        target->owner[target->owners] = source->owner[k];
        target->live[target->owners++] = source->live[k];
        if (source->owner[k] != NULL) {
            source->owner[k]->group = target;
        }
    }
    for (unsigned k = 0; k < source->entries; k++) {
        sm_entry *entry = &target->entry[target->entries++];
        *entry = source->entry[k];
        entry->owner += base;
    }
    if (target->serial == 0 && target->entries != 0) {
        tnr_slot slot;
        sm_expect(tnr_group_slot(target->it, 0, &slot), TNR_OK, "group_slot");
        target->serial = slot.group;
    }
    forget_group(source);
}

void sm_group_release(sm_group *group)
{
    bool leased = false;
    for (unsigned k = 0; k < group->owners; k++) {
        leased = leased || (group->owner[k] != NULL && sm_leased(group->owner[k]));
    }
    tnr_group *it = group->it;
    sm_expect(tnr_group_release(&it), leased ? TNR_ERR_BUSY : TNR_OK, "group_release");
    sm_check((it == NULL) == !leased, "release nulls the pointer exactly when it releases");
    if (leased) {
        return;
    }
    for (unsigned k = 0; k < group->owners; k++) {
        if (group->owner[k] != NULL) {
            sm_gone(group->owner[k]);
        }
    }
    forget_group(group);
}

void sm_op_group_release(void)
{
    sm_group *group = any_group();
    if (group != NULL) {
        sm_group_release(group);
    }
}

void sm_op_group_wrong(void)
{
    sm_group *group = any_group();
    if (group == NULL) {
        return;
    }
    const tnr_slot dead = sm.dead_slot[sm_below(SM_DEAD)];
    tnr_view view;
    tnr_tensor *taken = NULL;
    if (dead.group != group->serial) {
        sm_expect(tnr_group_view(group->it, dead, &view), TNR_ERR_FOREIGN, "group_view by another group's slot");
        sm_expect(tnr_group_take(group->it, dead, &taken), TNR_ERR_FOREIGN, "group_take by another group's slot");
    }
    if (group->serial != 0) {
        sm_expect(tnr_group_view(group->it, slot_of(group, group->entries), &view), TNR_ERR_BOUNDS,
                  "group_view past the end");
    }
    sm_expect(tnr_group_check(group->it), TNR_OK, "group_check");
}
