/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Best fit by decreasing size, as in Pisarchyk and Lee, "Efficient memory management for deep neural net inference" (2020), who call it
 * greedy by size. Where that needs more than is ever alive at one time, a few other orders are tried. Pure.
 */
#include "span_internal.h"

/* Orders that are tried, times what each costs, the square of the number of temporaries. */
#define WORK 60000

/* They add up to 63 bits. */
static uint64_t rounded(const tnri_temporary *t) { return (t->bytes + TNRI_UNIT - 1) / TNRI_UNIT * TNRI_UNIT; }

/* Largest first; of equals the one that is needed first. */
static bool comes_before(const tnri_temporary *a, const tnri_temporary *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
}

/* Put `number` where it belongs in a sorted list of `count` numbers. */
static void insert(uint8_t *list, int count, uint8_t number, const tnri_temporary *of, bool by_place)
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
static uint64_t tightest(const tnri_temporary *all, const uint8_t *placed, int count, const tnri_temporary *wanted)
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
        const uint64_t other_end = other->place + rounded(other);
        end = other_end > end ? other_end : end;
    }
    return best_gap != UINT64_MAX ? best : end;
}

/* One after the other in that order. The span's bytes. */
static uint64_t place_all(tnri_temporary *all, int count, const uint8_t *order)
{
    uint8_t placed[TNRI_SPAN_TEMPORARIES];
    uint64_t end = 0;
    for (int i = 0; i < count; ++i) {
        tnri_temporary *t = &all[order[i]];
        t->place = tightest(all, placed, i, t);
        insert(placed, i, order[i], all, true);
        end = tnri_max_u64(end, t->place + rounded(t));
    }
    return end;
}

/* Most bytes that are alive at one time: no span has less. Something begins then. */
static uint64_t most_alive(const tnri_temporary *all, int count)
{
    uint64_t most = 0;
    for (int i = 0; i < count; ++i) {
        uint64_t alive = 0;
        for (int j = 0; j < count; ++j) {
            alive += all[j].first <= all[i].first && all[i].first <= all[j].last ? rounded(&all[j]) : 0;
        }
        most = tnri_max_u64(most, alive);
    }
    return most;
}

/* The one at `from` comes to `to`, those between move up or down. */
static void move(uint8_t *order, int from, int to)
{
    const uint8_t number = order[from];
    for (; from > to; --from) {
        order[from] = order[from - 1];
    }
    for (; from < to; ++from) {
        order[from] = order[from + 1];
    }
    order[to] = number;
}

bool tnri_span_place(tnri_temporary *temporaries, int count, uint64_t *bytes)
{
    uint8_t order[TNRI_SPAN_TEMPORARIES];
    uint64_t sum = 0;
    *bytes = 0;
    if (count == 0) {
        return true;
    }
    for (int i = 0; i < count; ++i) {
        uint64_t whole;
        if (!tnri_round_up(temporaries[i].bytes, TNRI_UNIT, &whole) || !tnri_add_u64(sum, whole, &sum)) {
            return false;
        }
        insert(order, i, (uint8_t)i, temporaries, false);
    }
    if (sum > (uint64_t)INT64_MAX) {
        return false; /* one after the other would not fit: too close to the limit for any use */
    }
    const uint64_t least = most_alive(temporaries, count);
    uint64_t end = place_all(temporaries, count, order);
    int tries = WORK / (count * count);
    bool last = true; /* the places are those of `order` */
    for (int to = 0, from = 1; end > least && to + 1 < count && tries > 0; --tries) {
        move(order, from, to);
        const uint64_t other = place_all(temporaries, count, order);
        last = other < end;
        if (last) { /* go on from there */
            end = other;
            to = 0;
            from = 1;
            continue;
        }
        move(order, to, from);
        if (++from == count) {
            ++to;
            from = to + 1;
        }
    }
    *bytes = last ? end : place_all(temporaries, count, order);
    return true;
}
