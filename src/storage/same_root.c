/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which operands of one operation look at the same owner: their leases and mappings are one.
 *
 * Guarantees: no memory beyond the operands' own records; O(n log n). A few operands are compared in pairs, many are
 * sorted by owner, by heapsort (Williams, "Algorithm 232", CACM 7, 1964). Does not follow a view's root.
 */
#include "storage_internal.h"

#define FEW 8

static void link_pairs(tnri_operand *operands, int count)
{
    for (int index = 0; index < count; index++) {
        tnri_operand *operand = &operands[index];
        operand->held.carrier = index;
        operand->held.next = -1;
        for (int other = index - 1; other >= 0; other--) { /* the nearest before it is the last of its chain */
            if (operands[other].view->root == operand->view->root) {
                operand->held.carrier = operands[other].held.carrier;
                operands[other].held.next = index;
                break;
            }
        }
    }
}

/* By owner, and in the operands' order where the owner is one. */
static bool before(const tnri_operand *operands, int a, int b)
{
    const uintptr_t root_a = (uintptr_t)operands[a].view->root;
    const uintptr_t root_b = (uintptr_t)operands[b].view->root;
    return root_a != root_b ? root_a < root_b : a < b;
}

static void exchange(tnri_operand *operands, int a, int b)
{
    const int kept = operands[a].held.sorted;
    operands[a].held.sorted = operands[b].held.sorted;
    operands[b].held.sorted = kept;
}

/* Let the entry at `place` sink to where no child comes after it. */
static void sink(tnri_operand *operands, int place, int count)
{
    for (int child = 2 * place + 1; child < count; child = 2 * place + 1) {
        if (child + 1 < count && before(operands, operands[child].held.sorted, operands[child + 1].held.sorted)) {
            child++;
        }
        if (!before(operands, operands[place].held.sorted, operands[child].held.sorted)) {
            return;
        }
        exchange(operands, place, child);
        place = child;
    }
}

static void link_sorted(tnri_operand *operands, int count)
{
    for (int index = 0; index < count; index++) {
        operands[index].held.sorted = index;
    }
    for (int place = count / 2 - 1; place >= 0; place--) {
        sink(operands, place, count);
    }
    for (int last = count - 1; last > 0; last--) {
        exchange(operands, 0, last);
        sink(operands, 0, last);
    }
    int previous = -1;
    for (int place = 0; place < count; place++) {
        const int index = operands[place].held.sorted;
        tnri_operand *operand = &operands[index];
        const bool follows = previous >= 0 && operands[previous].view->root == operand->view->root;
        operand->held.carrier = follows ? operands[previous].held.carrier : index;
        operand->held.next = -1;
        if (follows) {
            operands[previous].held.next = index;
        }
        previous = index;
    }
}

void tnri_link_same_roots(tnri_operand *operands, int count)
{
    if (count <= FEW) {
        link_pairs(operands, count);
    } else {
        link_sorted(operands, count);
    }
}
