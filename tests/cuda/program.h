/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: tensors in all kinds of memory, copies between them in any layout, tickets, releases, mappings, operations of engines in
 * two lanes and of one of CPUs; beside it a model of what each must hold.
 */
#ifndef TENURE_TESTS_CUDA_PROGRAM_H
#define TENURE_TESTS_CUDA_PROGRAM_H

#include "scene.h"

typedef struct program_answer {
    uint64_t calls; /* of the driver */
    int failed;     /* calls of the library that answered an error which a fault explains */
    int operations; /* of engines */
    int refused;    /* of these, by both kinds of engines alike */
    bool fault;     /* one was fired */
    int wrong;      /* values that differ from the model's */
    char text[240]; /* what is wrong; "" */
} program_answer;

/* What the engine's books lose, after each operation. */
typedef enum program_loss {
    LOSE_NOTHING,
    LOSE_OPERANDS, /* that it touched these blocks */
    END_SCRATCH,   /* that it touches what it keeps, which is given back at once */
    END_WORKSPACE  /* cuBLAS's workspace is given back, properly, and the handle knows nothing of it */
} program_loss;

/* What to do to the driver. */
typedef struct program_fault {
    uint64_t at; /* 0: nothing */
    int code;
    bool fatal;
    bool for_ever;
    const char *entry;
    fake_plants planted;
    program_loss loss;
} program_fault;

/*
 * One program of `steps` steps. All that must be true is looked at: values, leaks, what the fake complains of. The first thing that
 * is not so is in the answer's text.
 */
program_answer program_run(uint64_t seed, int steps, const program_fault *fault);

#endif /* TENURE_TESTS_CUDA_PROGRAM_H */
