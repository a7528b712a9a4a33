/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors as words, as they travel between ranks that publish. Pure. What came damaged is refused; what the core checks too (layouts,
 * bounds, dtypes) is left to it.
 */
#include "group_internal.h"

enum { ITEM_FIXED = TNRI_ITEM_WORDS - 2 * TNR_MAX_RANK, ITEM_MAGIC = 0x4954454D };

static uint64_t sum_of(const uint64_t *words, int count)
{
    uint64_t sum = UINT64_C(0x9E3779B97F4A7C15);
    for (int index = 0; index < count; index++) {
        sum = (sum ^ words[index]) * UINT64_C(0xD6E8FEB86659FD93);
        sum ^= sum >> 32U;
    }
    return sum;
}

void tnri_item_encode(const tnri_group_item *item, uint64_t *words)
{
    uint64_t *at = words;
    *at++ = ITEM_MAGIC;
    *at++ = 0; /* the sum */
    *at++ = (uint64_t)item->rank;
    *at++ = item->owner;
    *at++ = item->owner_bytes;
    *at++ = item->domain.process;
    *at++ = item->domain.serial;
    *at++ = item->allocation;
    *at++ = (uint64_t)item->placement.kind;
    *at++ = (uint64_t)item->placement.device;
    *at++ = (uint64_t)item->placement.cpu_affinity;
    *at++ = item->dtype;
    *at++ = item->dimensions;
    *at++ = item->byte_begin;
    *at++ = item->byte_count;
    *at++ = (uint64_t)item->offset;
    *at++ = 0;
    for (int index = 0; index < TNRI_GROUP_SOURCE_WORDS; index++) {
        *at++ = item->source[index];
    }
    for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
        *at++ = (uint64_t)item->shape[axis];
        *at++ = (uint64_t)item->strides[axis];
    }
    words[1] = sum_of(words + 2, TNRI_ITEM_WORDS - 2);
}

tnr_status tnri_item_decode(const char *op, int rank, const uint64_t *words, tnri_group_item *item)
{
    TNR_REQUIRE(words[0] == ITEM_MAGIC && words[1] == sum_of(words + 2, TNRI_ITEM_WORDS - 2) &&
                    words[2] == (uint64_t)rank && words[3] <= UINT32_MAX && words[8] <= TNR_MEMORY_OTHER &&
                    (int64_t)words[9] >= TNR_NONE && (int64_t)words[9] <= INT32_MAX && (int64_t)words[10] >= TNR_NONE &&
                    (int64_t)words[10] <= INT32_MAX && words[11] <= UINT32_MAX && words[12] <= TNR_MAX_RANK,
                TNR_ERR_MPI, "%s: a descriptor of rank %d came damaged", op, rank);
    memset(item, 0, sizeof(*item));
    item->rank = rank;
    item->owner = (uint32_t)words[3];
    item->owner_bytes = words[4];
    item->domain.process = words[5];
    item->domain.serial = words[6];
    item->allocation = words[7];
    item->placement.kind = (tnr_memory_kind)words[8];
    item->placement.device = (int32_t)(int64_t)words[9];
    item->placement.cpu_affinity = (int32_t)(int64_t)words[10];
    item->dtype = (uint32_t)words[11];
    item->dimensions = (uint32_t)words[12];
    item->byte_begin = words[13];
    item->byte_count = words[14];
    item->offset = (int64_t)words[15];
    memcpy(item->source, words + 17, sizeof(item->source));
    for (int axis = 0; axis < TNR_MAX_RANK; axis++) {
        item->shape[axis] = (int64_t)words[ITEM_FIXED + 2 * axis];
        item->strides[axis] = (int64_t)words[ITEM_FIXED + 2 * axis + 1];
    }
    return TNR_OK;
}
