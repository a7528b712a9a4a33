/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 03: A group holds many owners. Slots address them, and no slot is ever used again.
 *
 * Tensors move into a group without a copy, and out of it again. Inside, several descriptors may look at one owner;
 * none of them owns it. A slot that was taken stays vacant for good, so an old slot never means something new.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

int main(void)
{
    const int64_t six[1] = {6};
    const int64_t two[1] = {2};
    tnr_domain *heap = NULL;
    tnr_tensor *tensors[2] = {NULL, NULL};
    tnr_group *group = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_tensor_zeros(heap, TNR_F64, 1, six, &tensors[0]) == TNR_OK);
    CHECK(tnr_tensor_zeros(heap, TNR_I32, 1, two, &tensors[1]) == TNR_OK);
    const void *bytes = NULL;
    CHECK(tnr_tensor_host_data(tensors[0], &bytes) == TNR_OK);

    /* In: all or none. On success the group owns them and our pointers are NULL. */
    CHECK(tnr_group_from_tensors(heap, tensors, 2, &group) == TNR_OK);
    CHECK(tensors[0] == NULL && tensors[1] == NULL);

    tnr_slot first;
    CHECK(tnr_group_slot(group, 0, &first) == TNR_OK);

    /* One more descriptor: the last two elements of the first owner, 16 bytes from byte 32 on. */
    tnr_slot tail;
    CHECK(tnr_group_describe_span(group, first, TNR_F64, 32, 16, 1, two, NULL, 0, &tail) == TNR_OK);
    uint32_t owners = 0;
    uint32_t descriptors = 0;
    CHECK(tnr_group_counts(group, &owners, &descriptors) == TNR_OK);
    CHECK(owners == 2 && descriptors == 3);
    printf("the group has %u owners and %u descriptors\n", owners, descriptors);

    /* What is written through one is read through the other. */
    const int64_t second[1] = {1};
    const int64_t sixth[1] = {5};
    const double written = 7.0;
    double read = 0.0;
    tnr_view_mut end;
    tnr_view whole;
    CHECK(tnr_group_view_mut(group, tail, &end) == TNR_OK);
    CHECK(tnr_view_set(&end, second, &written) == TNR_OK);
    CHECK(tnr_group_view(group, first, &whole) == TNR_OK);
    CHECK(tnr_view_get(&whole, sixth, &read) == TNR_OK && read == written);
    printf("written through the tail, read through the whole: %g\n", read);

    /* Both at once would be two writers on shared bytes: not granted. */
    const tnr_slot both[2] = {first, tail};
    tnr_view_mut views[2];
    bool granted = true;
    CHECK(tnr_group_split(group, both, 2, &granted, views) == TNR_OK && !granted);

    /* Out: only an owner that nothing else looks at. A region can always be copied out, by name. */
    tnr_tensor *copy = NULL;
    tnr_tensor *taken = NULL;
    CHECK(tnr_group_take(group, first, &taken) == TNR_ERR_BUSY);
    printf("refused: %s\n", tnr_last_error());
    CHECK(tnr_group_copy_out(group, tail, heap, &copy) == TNR_OK);

    tnr_slot other;
    CHECK(tnr_group_slot(group, 1, &other) == TNR_OK);
    CHECK(tnr_group_take(group, other, &taken) == TNR_OK);
    CHECK(tnr_group_take(group, other, &tensors[1]) == TNR_ERR_VACANT);
    printf("refused: %s\n", tnr_last_error());

    CHECK(tnr_tensor_release(&copy) == TNR_OK);
    CHECK(tnr_tensor_release(&taken) == TNR_OK);
    CHECK(tnr_group_release(&group) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
