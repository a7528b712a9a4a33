/* SPDX-License-Identifier: BSD-3-Clause */
/* Small groups, and short ways to ask them. */
#ifndef TENURE_TESTS_SUPPORT_GROUP_FIXTURE_H
#define TENURE_TESTS_SUPPORT_GROUP_FIXTURE_H

#include "storage_test.h"

static inline tnr_slot slot_of(const tnr_group *group, uint32_t index)
{
    tnr_slot slot = {0, 0, 0};
    OK(tnr_group_slot(group, index, &slot));
    return slot;
}

static inline void check_counts(const tnr_group *group, uint32_t owners, uint32_t descriptors)
{
    uint32_t found[2] = {99, 99};
    OK(tnr_group_counts(group, &found[0], &found[1]));
    assert_int_equal(found[0], owners);
    assert_int_equal(found[1], descriptors);
    OK(tnr_group_check(group));
}

static inline tnr_descriptor descriptor_of(const tnr_group *group, uint32_t index)
{
    tnr_descriptor descriptor;
    OK(tnr_group_describe(group, slot_of(group, index), &descriptor));
    return descriptor;
}

/* Group of X = [1, 2, 3] and Y = [4, 5]. */
static inline tnr_group *make_group(tnr_domain *home, tnr_domain *domain)
{
    tnr_group *group = NULL;
    tnr_tensor *tensors[2] = {make_counting(domain, 1, SHAPE(3)), make_counting(domain, 1, SHAPE(2))};
    void *data;
    OK(tnr_tensor_host_data_mut(tensors[1], &data));
    ((double *)data)[0] = 4;
    ((double *)data)[1] = 5;
    OK(tnr_group_from_tensors(home, tensors, 2, &group));
    assert_null(tensors[0]);
    assert_null(tensors[1]);
    return group;
}

#endif /* TENURE_TESTS_SUPPORT_GROUP_FIXTURE_H */
