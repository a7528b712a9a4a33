/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standing between the library and MPI where it is asked whether it takes device memory. A program that includes this answers instead,
 * once, in one of its files.
 */
#ifndef TENURE_TESTS_MPI_QUERY_H
#define TENURE_TESTS_MPI_QUERY_H

#include "ranks.h"

typedef struct query {
    int answer; /* 1: it does */
    int asked;
    int too_early; /* before MPI_Init was over, or after MPI_Finalize */
} query;

static query query_state;

static int query_ask(void)
{
    int begun = 0;
    int over = 0;
    (void)MPI_Initialized(&begun);
    (void)MPI_Finalized(&over);
    query_state.asked++;
    query_state.too_early += begun == 0 || over != 0 ? 1 : 0;
    return query_state.answer;
}

int MPIX_Query_cuda_support(void); /* Open MPI's */
int MPIX_Query_cuda_support(void) { return query_ask(); }

int MPIX_GPU_query_support(int kind, int *takes); /* MPICH's */
int MPIX_GPU_query_support(int kind, int *takes)
{
    *takes = query_ask();
    return kind == 0 ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* Can this MPI be asked at all? Told by a world. */
static inline bool query_exists(const tnr_world *world)
{
    tnr_world_info info;
    CHECK_OK(tnr_world_describe(world, &info));
    return info.device != TNR_WORLD_DEVICE_UNKNOWN;
}

#endif /* TENURE_TESTS_MPI_QUERY_H */
