/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Best fit by decreasing size, as in Pisarchyk and Lee, "Efficient memory management for deep neural net inference" (2020), who call it
 * greedy by size. Pure.
 */
#include "span_internal.h"

/* Largest first; of equals the one that is needed first. */
static bool comes_before(const tnri_temporary *a, const tnri_temporary *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
}

/* Put `number` where it belongs in a sorted list of `count` numbers. */
static void insert(int *list, int count, int number, const tnri_temporary *of, bool by_place)
{
    int at = count;
    for (; at > 0; --at) {
        const tnri_temporary *before = &of[list[at - 1]];
        if (by_place ? before->place <= of[number].place : !comes_before(&of[number], before)) {
            break;
        }
        list[at] = list[at - 1];
    }
    list[at] = number;
}

/* `placed`: those that have a place, in its order. */
static uint64_t tightest(const tnri_temporary *all, const int *placed, int count, const tnri_temporary *wanted)
{
    uint64_t best = 0;
    uint64_t best_gap = UINT64_MAX;
    uint64_t end = 0; /* of those so far that are alive at the same time */
    for (int i = 0; i < count; ++i) {
        const tnri_temporary *other = &all[placed[i]];
        if (other->first > wanted->last || wanted->first > other->last) {
            continue;
        }
        if (other->place > end) {
            const uint64_t gap = other->place - end;
            if (gap >= wanted->bytes && gap < best_gap) {
                best = end;
                best_gap = gap;
            }
        }
        const uint64_t other_end = other->place + (other->bytes + TNRI_UNIT - 1) / TNRI_UNIT * TNRI_UNIT;
        end = other_end > end ? other_end : end;
    }
    return best_gap != UINT64_MAX ? best : end;
}

bool tnri_span_place(tnri_temporary *temporaries, int count, uint64_t *bytes)
{
    int order[TNRI_SPAN_TEMPORARIES];
    int placed[TNRI_SPAN_TEMPORARIES];
    uint64_t sum = 0;
    for (int i = 0; i < count; ++i) {
        uint64_t rounded;
        if (!tnri_round_up(temporaries[i].bytes, TNRI_UNIT, &rounded) || !tnri_add_u64(sum, rounded, &sum)) {
            return false;
        }
        insert(order, i, i, temporaries, false);
    }
    if (sum > (uint64_t)INT64_MAX) {
        return false; /* one after the other would not fit: too close to the limit for any use */
    }
    uint64_t end = 0;
    for (int i = 0; i < count; ++i) {
        tnri_temporary *t = &temporaries[order[i]];
        t->place = tightest(temporaries, placed, i, t);
        insert(placed, i, order[i], temporaries, true);
        end = tnri_max_u64(end, t->place + (t->bytes + TNRI_UNIT - 1) / TNRI_UNIT * TNRI_UNIT);
    }
    *bytes = end;
    return true;
}
