/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributions as arithmetic: which indices a part has, where they lie in it, and where two parts of two distributions meet. Pure.
 */
#ifndef TENURE_MPI_DISTRIBUTION_INTERNAL_H
#define TENURE_MPI_DISTRIBUTION_INTERNAL_H

#include "mpi_internal.h"

/* Indices of one part along one axis: `block` from `start` on, and again every `period`, as far as the extent goes; period 0: once. */
typedef struct tnri_axis_part {
    int64_t start;
    int64_t block;
    int64_t period;
    int64_t extent; /* of the whole axis */
} tnri_axis_part;

/* `cut` was checked; 0 <= part < cut->parts. */
void tnri_axis_part_make(const tnr_axis_cut *cut, int64_t extent, int part, tnri_axis_part *of);
int64_t tnri_axis_part_count(const tnri_axis_part *of);

/* Everything about a distribution that can be wrong. */
tnr_status tnri_distribution_check(const char *op, const tnr_distribution *distribution, int world_size);
/* The part of a rank along each axis (`parts`, one per axis); false when it is in none. The distribution was checked. */
bool tnri_distribution_find(const tnr_distribution *distribution, int rank, tnri_axis_part *parts);
/* A number that depends on all of it. */
uint64_t tnri_distribution_hash(const tnr_distribution *distribution, uint64_t seed);

/* `count` runs of `run` indices each that two parts have in common, and where they lie in one and the other. */
typedef struct tnri_stretch {
    int64_t run;
    int64_t count;
    int64_t from;
    int64_t to;
    int64_t from_step; /* from run to run */
    int64_t to_step;
} tnri_stretch;

/* All stretches of two parts of one axis, in one fixed order; together each common index once. */
typedef struct tnri_meet {
    tnri_axis_part from;
    tnri_axis_part to;
    int64_t begin; /* what lies in [begin, end) comes again every `period` up to `last`; period 0: not */
    int64_t end;
    int64_t last;
    int64_t period;
    int64_t next;
    int64_t rest_begin; /* a run that the end of the axis cuts short, to come next; none: rest_end 0 */
    int64_t rest_end;
} tnri_meet;

/* `repeats`: use periods; else every run is a stretch of its own. */
void tnri_meet_start(tnri_meet *meet, const tnri_axis_part *from, const tnri_axis_part *to, bool repeats);
bool tnri_meet_next(tnri_meet *meet, tnri_stretch *stretch);

/* The same along all axes at once: boxes that two parts have in common. */
typedef struct tnri_meeting {
    int rank;
    bool begun;
    tnri_meet axes[TNR_MAX_RANK];
    tnri_stretch now[TNR_MAX_RANK];
} tnri_meeting;

void tnri_meeting_start(tnri_meeting *meeting, int rank, const tnri_axis_part *from, const tnri_axis_part *to);
/* The next box in meeting->now. Its layout in either part has at most TNR_MAX_RANK axes of extents other than 1. */
bool tnri_meeting_next(tnri_meeting *meeting);
/*
 * The box now as a layout of one part that has these strides: *offset in elements, shape and strides of the axes left. Their number.
 * `order`: axes in the order in which they are to be told.
 */
int tnri_meeting_layout(const tnri_meeting *meeting, bool to, const uint8_t *order, const int64_t *part_strides,
                        int64_t *offset, int64_t *shape, int64_t *strides);

#endif /* TENURE_MPI_DISTRIBUTION_INTERNAL_H */
