/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has which elements of a tensor that is cut over ranks. Pure arithmetic in 64 bits, the same on every rank; extents are never
 * multiplied by numbers of parts.
 */
#include "distribution_internal.h"

tnr_status tnr_block_range(int64_t extent, int parts, int part, int64_t *start, int64_t *count)
{
    TNR_REQUIRE(start != NULL && count != NULL, TNR_ERR_ARGUMENT, "block_range: start or count is NULL");
    TNR_REQUIRE(extent >= 0 && parts >= 1, TNR_ERR_ARGUMENT,
                "block_range: %lld elements in %d parts; no negative extent, and at least one part", TNRI_LL(extent),
                parts);
    TNR_REQUIRE(part >= 0 && part < parts, TNR_ERR_BOUNDS, "block_range: part %d of %d", part, parts);
    tnri_even_part(extent, parts, part, start, count);
    return TNR_OK;
}

/* ---- One axis ------------------------------------------------------------------------------------------------------------------- */

void tnri_axis_part_make(const tnr_axis_cut *cut, int64_t extent, int part, tnri_axis_part *of)
{
    of->extent = extent;
    of->period = 0;
    if (cut->block == 0) {
        if (cut->starts != NULL) {
            of->start = cut->starts[part];
            of->block = cut->starts[part + 1] - cut->starts[part];
        } else {
            tnri_even_part(extent, cut->parts, part, &of->start, &of->block);
        }
        return;
    }
    of->block = cut->block;
    if (!tnri_mul_i64(cut->block, part, &of->start) || of->start >= extent) {
        of->start = extent; /* it gets no block */
        of->block = 0;
        return;
    }
    if (!tnri_mul_i64(cut->block, cut->parts, &of->period) || of->period >= extent - of->start) {
        of->period = 0; /* it gets one */
        of->block = of->block < extent - of->start ? of->block : extent - of->start;
    }
}

int64_t tnri_axis_part_count(const tnri_axis_part *of)
{
    if (of->period == 0) {
        return of->block;
    }
    const int64_t rounds = (of->extent - of->start) / of->period;
    const int64_t rest = (of->extent - of->start) % of->period;
    return rounds * of->block + (rest < of->block ? rest : of->block);
}

/* Where index `at`, which the part has, lies in it. */
static int64_t place_in(const tnri_axis_part *of, int64_t at)
{
    const int64_t along = at - of->start;
    return of->period == 0 ? along : along / of->period * of->block + along % of->period;
}

/* The first indices in a row that the part has at or after `at`; false: none. */
static bool next_run(const tnri_axis_part *of, int64_t at, int64_t *begin, int64_t *end)
{
    int64_t start = of->start;
    if (of->period != 0 && at > start) {
        const int64_t rounds = (at - start) / of->period;
        start += rounds * of->period;
        if (at - start >= of->block) {
            if (of->extent - start <= of->period) {
                return false;
            }
            start += of->period;
        }
    }
    *begin = at > start ? at : start;
    *end = of->block < of->extent - start ? start + of->block : of->extent;
    return *begin < *end;
}

/* ---- Distributions ---------------------------------------------------------------------------------------------------------------- */

static const tnr_axis_cut *cut_of(const tnr_distribution *distribution, int axis)
{
    static const tnr_axis_cut whole = {1, 0, NULL};
    return distribution->cuts != NULL ? &distribution->cuts[axis] : &whole;
}

static tnr_status check_axis(const char *op, int axis, int64_t extent, const tnr_axis_cut *cut)
{
    TNR_REQUIRE(cut->parts >= 1 && cut->block >= 0, TNR_ERR_ARGUMENT,
                "%s: axis %d is cut into %d parts by blocks of %lld; at least one part, and no negative block", op,
                axis, cut->parts, TNRI_LL(cut->block));
    if (cut->starts == NULL) {
        return TNR_OK;
    }
    TNR_REQUIRE(cut->block == 0, TNR_ERR_ARGUMENT, "%s: axis %d has both blocks and starts", op, axis);
    TNR_REQUIRE(cut->starts[0] == 0 && cut->starts[cut->parts] == extent, TNR_ERR_BOUNDS,
                "%s: starts of axis %d go from %lld to %lld; the axis from 0 to %lld", op, axis,
                TNRI_LL(cut->starts[0]), TNRI_LL(cut->starts[cut->parts]), TNRI_LL(extent));
    for (int part = 0; part < cut->parts; part++) {
        TNR_REQUIRE(cut->starts[part] <= cut->starts[part + 1], TNR_ERR_BOUNDS,
                    "%s: starts of axis %d do not ascend: %lld, then %lld", op, axis, TNRI_LL(cut->starts[part]),
                    TNRI_LL(cut->starts[part + 1]));
    }
    return TNR_OK;
}

static tnr_status check_owners(const char *op, const int *owners, int count, int world_size)
{
    for (int part = 0; owners != NULL && part < count; part++) {
        TNR_REQUIRE(owners[part] >= 0 && owners[part] < world_size, TNR_ERR_BOUNDS,
                    "%s: part %d is on rank %d; the world has 0 to %d", op, part, owners[part], world_size - 1);
        for (int other = 0; other < part; other++) {
            TNR_REQUIRE(owners[other] != owners[part], TNR_ERR_ARGUMENT, "%s: parts %d and %d are both on rank %d", op,
                        other, part, owners[part]);
        }
    }
    return TNR_OK;
}

/* How many parts there are; no more than ranks once checked. */
static int parts_of(const tnr_distribution *distribution)
{
    int parts = 1;
    for (int axis = 0; axis < distribution->rank; axis++) {
        parts *= cut_of(distribution, axis)->parts;
    }
    return parts;
}

tnr_status tnri_distribution_check(const char *op, const tnr_distribution *distribution, int world_size)
{
    TNR_REQUIRE(distribution != NULL, TNR_ERR_ARGUMENT, "%s: distribution is NULL", op);
    TNR_REQUIRE(distribution->size == sizeof(tnr_distribution), TNR_ERR_ARGUMENT,
                "%s: distribution.size is %llu; it must be sizeof(tnr_distribution), %llu", op,
                TNRI_LLU(distribution->size), TNRI_LLU(sizeof(tnr_distribution)));
    const int rank = distribution->rank;
    TNR_REQUIRE(rank >= 0 && rank <= TNR_MAX_RANK, TNR_ERR_ARGUMENT, "%s: a distribution of rank %d; 0 to %d", op, rank,
                TNR_MAX_RANK);
    TNR_REQUIRE(rank == 0 || distribution->shape != NULL, TNR_ERR_ARGUMENT, "%s: shape of a distribution is NULL", op);
    int64_t count;
    uint64_t bytes;
    TNR_TRY(tnr_provider.shape_bytes(op, TNR_BOOL, rank, distribution->shape, &count, &bytes));
    int64_t parts = 1;
    for (int axis = 0; axis < rank; axis++) {
        const tnr_axis_cut *cut = cut_of(distribution, axis);
        TNR_TRY(check_axis(op, axis, distribution->shape[axis], cut));
        parts = tnri_mul_i64(parts, cut->parts, &parts) ? parts : INT64_MAX;
        TNR_REQUIRE(parts <= world_size, TNR_ERR_BOUNDS, "%s: a distribution has more parts than the world's %d ranks",
                    op, world_size);
    }
    return check_owners(op, distribution->owners, (int)parts, world_size);
}

bool tnri_distribution_find(const tnr_distribution *distribution, int rank, tnri_axis_part *parts)
{
    const int count = parts_of(distribution);
    int part = rank;
    if (distribution->owners != NULL) {
        for (part = 0; part < count && distribution->owners[part] != rank; part++) {
        }
    }
    if (part >= count) {
        return false;
    }
    for (int axis = 0; axis < distribution->rank; axis++) {
        const tnr_axis_cut *cut = cut_of(distribution, axis);
        tnri_axis_part_make(cut, distribution->shape[axis], part % cut->parts, &parts[axis]);
        part /= cut->parts;
    }
    return true;
}

/* The part of a rank, for a caller who has room for `numbers` of it. */
static tnr_status find_part(const char *op, const tnr_distribution *distribution, int world_size, int rank, bool *holds,
                            const int64_t *numbers, tnri_axis_part *parts)
{
    TNR_TRY(tnri_distribution_check(op, distribution, world_size));
    TNR_REQUIRE(holds != NULL && (numbers != NULL || distribution->rank == 0), TNR_ERR_ARGUMENT,
                "%s: holds or the result is NULL", op);
    TNR_REQUIRE(rank >= 0 && rank < world_size, TNR_ERR_BOUNDS, "%s: rank %d; the world has 0 to %d", op, rank,
                world_size - 1);
    *holds = tnri_distribution_find(distribution, rank, parts);
    return TNR_OK;
}

tnr_status tnr_distribution_part(const tnr_distribution *distribution, int world_size, int rank, bool *holds,
                                 int64_t *shape)
{
    tnri_axis_part parts[TNR_MAX_RANK];
    TNR_TRY(find_part("distribution_part", distribution, world_size, rank, holds, shape, parts));
    for (int axis = 0; axis < distribution->rank; axis++) {
        shape[axis] = *holds ? tnri_axis_part_count(&parts[axis]) : 0;
    }
    return TNR_OK;
}

tnr_status tnr_distribution_starts(const tnr_distribution *distribution, int world_size, int rank, bool *holds,
                                   int64_t *starts)
{
    tnri_axis_part parts[TNR_MAX_RANK];
    TNR_TRY(find_part("distribution_starts", distribution, world_size, rank, holds, starts, parts));
    for (int axis = 0; axis < distribution->rank; axis++) {
        starts[axis] = *holds ? parts[axis].start : 0;
    }
    return TNR_OK;
}

/* Mix one number into another (finaliser of Murmur3, in the public domain, by Austin Appleby). */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0xFF51AFD7ED558CCD);
    hash = (hash ^ hash >> 33U) * UINT64_C(0xC4CEB9FE1A85EC53);
    return hash ^ hash >> 29U;
}

uint64_t tnri_distribution_hash(const tnr_distribution *distribution, uint64_t seed)
{
    uint64_t hash = mix(seed, (uint64_t)distribution->rank + 1);
    for (int axis = 0; axis < distribution->rank; axis++) {
        const tnr_axis_cut *cut = cut_of(distribution, axis);
        hash = mix(hash, (uint64_t)distribution->shape[axis]);
        hash = mix(hash, (uint64_t)cut->parts);
        hash = mix(hash, (uint64_t)cut->block);
        for (int part = 0; cut->block == 0 && part < cut->parts; part++) {
            tnri_axis_part of;
            tnri_axis_part_make(cut, distribution->shape[axis], part, &of);
            hash = mix(hash, (uint64_t)of.start);
        }
    }
    const int count = parts_of(distribution);
    for (int part = 0; part < count; part++) {
        hash = mix(hash, (uint64_t)(distribution->owners != NULL ? distribution->owners[part] : part));
    }
    return hash;
}

/* ---- Where two parts meet ----------------------------------------------------------------------------------------------------------- */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Both parts repeat after so many indices; 0: not within the axis. */
static int64_t common_period(const tnri_axis_part *a, const tnri_axis_part *b)
{
    if (a->period == 0 || b->period == 0) {
        return a->period + b->period;
    }
    int64_t period = 0;
    return tnri_mul_i64(a->period / common_divisor(a->period, b->period), b->period, &period) ? period : 0;
}

/* Indices between which a part lies. */
static void bounds_of(const tnri_axis_part *of, int64_t *begin, int64_t *end)
{
    *begin = of->period == 0 ? of->start : 0;
    *end = of->period == 0 ? of->start + of->block : of->extent;
}

void tnri_meet_start(tnri_meet *meet, const tnri_axis_part *from, const tnri_axis_part *to, bool repeats)
{
    int64_t begin;
    int64_t end;
    meet->from = *from;
    meet->to = *to;
    bounds_of(from, &begin, &end);
    bounds_of(to, &meet->begin, &meet->last);
    meet->begin = meet->begin > begin ? meet->begin : begin;
    meet->last = meet->last < end ? meet->last : end;
    meet->period = repeats ? common_period(from, to) : 0;
    if (meet->period >= meet->last - meet->begin) {
        meet->period = 0;
    }
    meet->end = meet->period != 0 ? meet->begin + meet->period : meet->last;
    meet->next = meet->begin;
    meet->rest_end = 0;
}

static int64_t step_of(const tnri_axis_part *of, int64_t period)
{
    return of->period == 0 ? period : period / of->period * of->block;
}

static void stretch_make(const tnri_meet *meet, int64_t begin, int64_t run, int64_t count, tnri_stretch *stretch)
{
    stretch->run = run;
    stretch->count = count;
    stretch->from = place_in(&meet->from, begin);
    stretch->to = place_in(&meet->to, begin);
    stretch->from_step = step_of(&meet->from, meet->period);
    stretch->to_step = step_of(&meet->to, meet->period);
}

bool tnri_meet_next(tnri_meet *meet, tnri_stretch *stretch)
{
    if (meet->rest_end != 0) {
        stretch_make(meet, meet->rest_begin, meet->rest_end - meet->rest_begin, 1, stretch);
        meet->rest_end = 0;
        return true;
    }
    while (meet->next < meet->end) {
        int64_t begin;
        int64_t end;
        int64_t other_begin;
        int64_t other_end;
        if (!next_run(&meet->from, meet->next, &begin, &end) ||
            !next_run(&meet->to, meet->next, &other_begin, &other_end)) {
            break;
        }
        begin = begin > other_begin ? begin : other_begin;
        end = end < other_end ? end : other_end;
        end = end < meet->end ? end : meet->end;
        meet->next = begin < end ? end : begin;
        if (begin >= end) {
            continue;
        }
        const int64_t run = end - begin;
        int64_t count = 1;
        if (meet->period != 0) {
            count += (meet->last - end) / meet->period;
            const int64_t rest = begin + count * meet->period;
            if (rest < meet->last) {
                meet->rest_begin = rest;
                meet->rest_end = meet->last;
            }
        }
        stretch_make(meet, begin, run, count, stretch);
        return true;
    }
    meet->next = meet->end;
    return false;
}

void tnri_meeting_start(tnri_meeting *meeting, int rank, const tnri_axis_part *from, const tnri_axis_part *to)
{
    meeting->rank = rank;
    meeting->begun = false;
    for (int axis = 0; axis < rank; axis++) {
        tnri_meet_start(&meeting->axes[axis], &from[axis], &to[axis], axis < TNR_MAX_RANK - rank);
    }
}

bool tnri_meeting_next(tnri_meeting *meeting)
{
    if (!meeting->begun) {
        meeting->begun = true;
        for (int axis = 0; axis < meeting->rank; axis++) {
            if (!tnri_meet_next(&meeting->axes[axis], &meeting->now[axis])) {
                return false;
            }
        }
        return true;
    }
    for (int axis = 0; axis < meeting->rank; axis++) {
        tnri_meet *meet = &meeting->axes[axis];
        if (tnri_meet_next(meet, &meeting->now[axis])) {
            return true;
        }
        meet->next = meet->begin; /* again from its first */
        (void)tnri_meet_next(meet, &meeting->now[axis]);
    }
    return false;
}

int tnri_meeting_layout(const tnri_meeting *meeting, bool to, const uint8_t *order, const int64_t *part_strides,
                        int64_t *offset, int64_t *shape, int64_t *strides)
{
    int rank = 0;
    *offset = 0;
    for (int at = 0; at < meeting->rank; at++) {
        const int axis = order[at];
        const tnri_stretch *now = &meeting->now[axis];
        *offset += (to ? now->to : now->from) * part_strides[axis];
        if (now->run > 1) {
            shape[rank] = now->run;
            strides[rank] = part_strides[axis];
            rank++;
        }
        if (now->count > 1) {
            shape[rank] = now->count;
            strides[rank] = (to ? now->to_step : now->from_step) * part_strides[axis];
            rank++;
        }
    }
    return rank;
}
