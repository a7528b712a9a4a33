/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of random programs: what they are (program_operations.c), for who runs them on both sides and judges (program_engine.c). */
#ifndef TENURE_TESTS_CUDA_PROGRAM_OPERATION_H
#define TENURE_TESTS_CUDA_PROGRAM_OPERATION_H

#include "program_internal.h"

enum { INPUTS = 3 };

/* Which engine, and so where operands lie. */
typedef enum side { BY_DEVICE, BY_CPU, ASTRAY /* by the device, operands wherever they are */ } side;

typedef enum kind {
    UNARY,
    BINARY,
    CLAMP,
    CHOOSE,
    CAST,
    MOVE,
    SPREAD,
    JOIN,
    REDUCE,
    PLACE,
    GATHER,
    SCATTER,
    MATMUL,
    EINSUM,
    PLANNED,
    KINDS
} kind;

typedef struct operation {
    kind what;
    int code;
    side by;
    int number; /* of the engine */
    int inputs;
    owner *in[INPUTS];
    layout in_at[INPUTS];
    owner *out; /* NULL: a new tensor */
    layout out_at;
    bool reads_out;
    int axes[4];
    int axis_count;
    tnr_dtype to;
    tnr_padding paddings[4];
    int64_t shape[4]; /* of a reshape */
    int rank;
    tnr_index_options index;
    tnr_product_options product;
    const char *equation;
    double bound; /* of the result */
} operation;

typedef struct call {
    tnr_engine *engine;
    tnr_plan *plan; /* NULL: the model's side */
    tnr_view in[INPUTS];
    tnr_view_mut out;
    tnr_tensor *made;
} call;

static inline double larger(double a, double b) { return a > b ? a : b; }

/* Choose operands and settings for o->what, o->by and o->number; false: there are none, or floats would come to where they round. */
bool operation_prepare(program *p, operation *o);
tnr_status operation_run(const operation *o, call *c);

#endif /* TENURE_TESTS_CUDA_PROGRAM_OPERATION_H */
