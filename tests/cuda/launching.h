/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels launched by hand, with random layouts: what the tests of kernels share. Nothing of the engine is between a test and a
 * kernel but the layouts of src/cuda/layouts.c. Works on a real device too.
 */
#ifndef TENURE_TESTS_CUDA_LAUNCHING_H
#define TENURE_TESTS_CUDA_LAUNCHING_H

#include "../../src/cuda/cuda_internal.h"
#include "scene.h"
#include "tenure/elementwise.h"
#include "tenure/product.h"
#include "tenure/reduction.h"
#include "tenure/structure.h"

#define LAUNCH_RANK 8

typedef struct launching {
    scene s;
    tnr_engine *cpu; /* computes what is expected */
    uint64_t random;
    uint64_t seed;
} launching;

/* Seed: TENURE_TEST_SEED, else `seed`; printed. */
void launching_begin(launching *of, uint64_t seed);
void launching_end(launching *of);

uint64_t draw(launching *of, uint64_t below);
/* A random element: often a special number. */
void draw_element(launching *of, tnr_dtype dtype, bool special, void *to);

/* An operand of the device: a layout over a buffer with bytes that nobody may write around it. */
typedef struct operand {
    tnr_dtype dtype;
    size_t width;
    int rank;
    int64_t shape[LAUNCH_RANK];
    int64_t strides[LAUNCH_RANK]; /* elements */
    int64_t first;                /* element of the buffer */
    int64_t elements;             /* of the buffer */
    int64_t count;                /* of the layout */
    char *bytes;                  /* what the buffer holds */
    uint64_t buffer;              /* on the device */
} operand;

/* Axes in any order, reversed and apart; `repeats`: some do not move at all. `compact`: column-major. Elements are random. */
void operand_make(launching *of, operand *op, tnr_dtype dtype, int rank, const int64_t *shape, bool repeats,
                  bool compact, bool special);
uint64_t operand_address(const operand *op);
/* Element number `at` in column-major order: its place in the buffer. */
char *operand_at(const operand *op, int64_t at);
/* Take the buffer back; what is not of the layout must be as it was. */
void operand_fetch(launching *of, operand *op);
void operand_end(launching *of, operand *op);
/* A host tensor with its elements in column-major order, of this shape (rank 1: all of them in a row where shape is NULL). */
tnr_tensor *operand_tensor(launching *of, const operand *op, int rank, const int64_t *shape);

/* Device memory and launches; synchronous. */
uint64_t device_take(launching *of, uint64_t bytes, const void *holds);
void device_read(launching *of, uint64_t address, uint64_t bytes, void *to);
void device_give(launching *of, uint64_t address);
void device_launch(launching *of, int kernel, unsigned blocks, void **parameters);

/* Are two elements the same, any NaN being any other? */
bool same_element(tnr_dtype dtype, const void *a, const void *b);
/* Every element of the operand against the tensor's. */
void expect_elements(launching *of, const operand *op, const tnr_tensor *expected, const char *what);

#endif /* TENURE_TESTS_CUDA_LAUNCHING_H */
