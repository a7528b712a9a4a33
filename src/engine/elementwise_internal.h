/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of elementwise operations share: an operation, the way in (elementwise.c), and the way over the elements
 * (elementwise_walk.c).
 */
#ifndef TENURE_ENGINE_ELEMENTWISE_INTERNAL_H
#define TENURE_ENGINE_ELEMENTWISE_INTERNAL_H

#include "kernels/elementwise_kernels.h"

/* Which dtypes go in, and which comes out. */
typedef enum tnri_dtype_rule {
    TNRI_ONE_DTYPE,    /* all the same */
    TNRI_MIXES_SCALAR, /* the same, but a rank-0 real meets complex numbers of its precision */
    TNRI_TO_RESULT,    /* inputs the same, out `result` */
    TNRI_TO_REAL,      /* out the real dtype of the input */
    TNRI_BY_BOOL       /* the first input bool, all else the same */
} tnri_dtype_rule;

typedef struct tnri_operation {
    const char *name;
    const tnri_plane_kernel *rows[TNRI_ISA_END]; /* by dtype of the last input; no kernel: not defined for it */
    tnri_dtype_rule rule;
    tnr_dtype result;
    const char *inputs[TNRI_CALL_INPUTS]; /* names for texts */
    bool swaps;                           /* the kernel takes its two inputs in the other order */
    bool takes_stream;                    /* the kernel takes the hint */
    bool to_nearest;      /* its functions are right only where rounding is to nearest: it is, meanwhile */
    uint8_t code;         /* tnri_elementwise_code: what it is to a device */
    uint32_t picoseconds; /* of arithmetic per element, on one CPU; rough */
    /* What must not be in input 2, if it is of integers, or NULL; and what the error says it is. */
    const tnri_run_scan *scans[TNRI_ISA_END];
    const char *forbidden;
} tnri_operation;

/* Member `row` of the table `table` of every instruction set. */
#define TNRI_ROWS(table, row)                                                                                 \
    {                                                                                                         \
        table##_baseline.row, TNRI_ISA_V2_OF(table).row, TNRI_ISA_V3_OF(table).row, TNRI_ISA_V4_OF(table).row \
    }

/* One operation from its checks to its end. Inputs beyond `inputs` are not looked at. */
tnr_status tnri_elementwise_one(tnr_engine *engine, const tnri_operation *op, const tnr_view *a, tnri_target target);
tnr_status tnri_elementwise_two(tnr_engine *engine, const tnri_operation *op, const tnr_view *a, const tnr_view *b,
                                tnri_target target);
tnr_status tnri_elementwise_three(tnr_engine *engine, const tnri_operation *op, const tnr_view *a, const tnr_view *b,
                                  const tnr_view *c, tnri_target target);

/* What the walk goes over: the output's shape, and for it and each input the first element, strides and element size. */
typedef struct tnri_index_space {
    int rank;
    const int64_t *shape;
    int operands; /* 1 + inputs */
    tnri_nest_operand list[1 + TNRI_CALL_INPUTS];
} tnri_index_space;

/* Run a kernel over all elements, on as many lanes as pay. */
void tnri_elementwise_walk(tnr_engine *engine, const tnri_index_space *space, tnri_plane_kernel kernel,
                           const tnri_operation *op);

/* Does the scan find anything in the operand? */
bool tnri_elementwise_scan(tnr_engine *engine, int rank, const int64_t *shape, const tnri_nest_operand *operand,
                           tnri_run_scan scan);

#endif /* TENURE_ENGINE_ELEMENTWISE_INTERNAL_H */
