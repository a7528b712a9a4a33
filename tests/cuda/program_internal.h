/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the random programs share: program.c has tensors, copies, tickets and the end; program_engine.c operations. */
#ifndef TENURE_TESTS_CUDA_PROGRAM_INTERNAL_H
#define TENURE_TESTS_CUDA_PROGRAM_INTERNAL_H

#include <stdalign.h>

#include "program.h"
#include "tenure/tenure.h"

/* Where owners lie: tnr_cuda_memory, ordinary memory, the pool of an engine. */
enum { HEAP = TNR_CUDA_MEMORY_END, ENGINE_POOL, PLACES = ENGINE_POOL };
enum { TENSORS = 8, TICKETS = 4, ENGINES = 2, BYTES = 12000 };

/* A tensor, and beside it what its elements must be. */
typedef struct owner {
    tnr_tensor *tensor; /* NULL: none */
    int place;
    tnr_dtype dtype;
    size_t width;
    int64_t count;
    double bound;       /* no element is larger: sums of floats are exact while it is small */
    int held;           /* tickets that use it */
    bool tainted;       /* some elements are not known */
    tnr_tensor *shadow; /* over the model, for the engine of CPUs that computes it */
    alignas(64) char model[BYTES];
    unsigned char unknown[BYTES]; /* by element: a call that failed may have written it */
} owner;

/* Elements of an owner. */
typedef struct layout {
    int rank;
    int64_t shape[4];
    int64_t strides[4];
    int64_t offset;
} layout;

typedef struct flight {
    tnr_ticket *ticket;
    int target;
    int source;
    layout at; /* of the target */
} flight;

typedef struct program {
    scene s;
    uint64_t state;
    owner owners[TENSORS];
    flight flights[TICKETS];
    tnr_tensor *strays[TENSORS]; /* in quarantine */
    int stray_count;
    tnr_engine *cpu; /* of models, and of whatever the host reaches */
    tnr_engine *engines[ENGINES];
    tnr_plan *plans[ENGINES];
    bool managed_output; /* of the second engine */
    bool kernels;        /* the device has some */
    program_answer answer;
    bool faulty; /* failures may be */
    program_loss loss;
} program;

/* -- program.c -- */

uint64_t roll(program *p, uint64_t below);
void complain(program *p, const char *what, long long number);
/* An answer that is no success must be explained by a fault. */
bool fine(program *p, tnr_status status, const char *call);
bool on_device(int place);
tnr_domain *domain_of(program *p, int place);
/* A layout of this shape inside count elements: axes in any order, gaps, some backwards; compact where that does not fit. */
void any_layout(program *p, int rank, const int64_t *shape, int64_t count, layout *of);
int64_t any_shape(program *p, int64_t most, int *rank, int64_t *shape);
/* An element that the layout has once is enough to be read: some axis does not move. */
void repeat(program *p, layout *of);
/* What a call left in these elements is not known, or is. */
void taint(owner *of, const layout *at, bool unknown);
/* A slot gets a tensor; the model's elements are there. */
void adopt(program *p, owner *of, tnr_tensor *tensor, int place, tnr_dtype dtype, int64_t count, double bound);
/* Nobody else uses it, but after a fault the device may. */
void release_or_stray(program *p, tnr_tensor *tensor);

/* -- program_engine.c -- */

void engines_begin(program *p);
void engines_end(program *p);
/* One operation, an end of an engine, or a wait. */
void engine_step(program *p);

#endif /* TENURE_TESTS_CUDA_PROGRAM_INTERNAL_H */
