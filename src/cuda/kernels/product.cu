/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products of strided operands: c = alpha * sum over k of a * b + beta * c, over groups of axes (src/engine/product_internal.h).
 *
 * product: a block makes 64 by 64 elements of c, 16 of k at a time through shared memory; each of its 256 threads has 4 by 4 of them.
 * product_lines: for results that are thin: `lanes` threads share an element of c and take every lanes-th of k. Both add one rounding
 * per step (fma). Large k of few elements is cut into splits, whose sums product_join adds up in their order. Offsets of groups that
 * are more than one axis come from tables, which `offsets` writes.
 */
#include "common.cuh"

DEVICE int64_t offset_in(const tnri_product_group &g, int operand, int64_t index)
{
    const int64_t *const table = g.table[operand];
    return table != 0 ? load<int64_t>((const char *)(table + index)) : index * g.step[operand];
}

DEVICE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
DEVICE double multiply_add(double a, double b, double c) { return fma(a, b, c); }
DEVICE c32 multiply_add(c32 a, c32 b, c32 c)
{
    return c32{fmaf(-a.im, b.im, fmaf(a.re, b.re, c.re)), fmaf(a.im, b.re, fmaf(a.re, b.im, c.im))};
}
DEVICE c64 multiply_add(c64 a, c64 b, c64 c)
{
    return c64{fma(-a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))};
}

template <class T> DEVICE T zero_of();
template <> DEVICE_SPECIAL float zero_of<float>() { return 0.0f; }
template <> DEVICE_SPECIAL double zero_of<double>() { return 0.0; }
template <> DEVICE_SPECIAL c32 zero_of<c32>() { return c32{0.0f, 0.0f}; }
template <> DEVICE_SPECIAL c64 zero_of<c64>() { return c64{0.0, 0.0}; }
template <class T> DEVICE T scalar_of(const double *of);
template <> DEVICE_SPECIAL float scalar_of<float>(const double *of) { return (float)of[0]; }
template <> DEVICE_SPECIAL double scalar_of<double>(const double *of) { return of[0]; }
template <> DEVICE_SPECIAL c32 scalar_of<c32>(const double *of) { return c32{(float)of[0], (float)of[1]}; }
template <> DEVICE_SPECIAL c64 scalar_of<c64>(const double *of) { return c64{of[0], of[1]}; }

/* The end of an element. */
template <class T> DEVICE void finish(const tnri_product_layout &l, T sum, char *c)
{
    T value = l.plain != 0 ? sum : times(scalar_of<T>(l.alpha), sum);
    if (l.overwrite == 0) {
        const T there = load<T>(c);
        value = plus(value, l.keep != 0 ? there : times(scalar_of<T>(l.beta), there));
    }
    store(c, value);
}

DEVICE int64_t offset_in_c(const tnri_product_layout &l, int64_t i, int64_t j, int64_t item)
{
    return offset_in(l.m, 2, i) + offset_in(l.n, 2, j) + offset_in(l.batch, 2, item);
}

/* The sum of element (i, j) of an item, of one split: to c, or to the partials. */
template <class T>
DEVICE void put(const tnri_product_layout &l, T sum, int64_t i, int64_t j, int64_t item, int64_t split, char *c,
                char *partials)
{
    if (l.splits > 1) {
        const int64_t number = ((split * l.batch.size + item) * l.n.size + j) * l.m.size + i;
        store(partials + number * (int64_t)sizeof(T), sum);
    } else {
        finish(l, sum, c + offset_in_c(l, i, j, item));
    }
}

/* ---- By tiles ------------------------------------------------------------------------------------------------------------------------------- */

#define ROWS 64
#define DEPTH 16
#define EACH_THREADS 4
#define SIDE (ROWS / EACH_THREADS)

DEVICE int64_t absolute_step(int64_t step) { return step < 0 ? -step : step; }

/* 64 by 16 elements of an operand into shared memory; what is not there is zero. */
template <class T>
DEVICE void take_tile(const tnri_product_group &g, const tnri_product_group &k, int operand, bool conjugated,
                      const char *from, int64_t first, int64_t first_k, int64_t end_k, T (*tile)[ROWS + 1])
{
    /* neighbouring threads along the side whose elements are neighbours */
    const bool along_k = g.table[operand] == 0 && k.table[operand] == 0 &&
                         absolute_step(k.step[operand]) < absolute_step(g.step[operand]);
    UNROLLED
    for (int part = 0; part < ROWS * DEPTH / TNRI_KERNEL_THREADS; part++) {
        const int at = (int)threadIdx.x + part * TNRI_KERNEL_THREADS;
        const int row = along_k ? at / DEPTH : at % ROWS;
        const int depth = along_k ? at % DEPTH : at / ROWS;
        T value = zero_of<T>();
        if (first + row < g.size && first_k + depth < end_k) {
            value = load<T>(from + offset_in(g, operand, first + row) + offset_in(k, operand, first_k + depth));
        }
        tile[depth][row] = conjugated ? conjugate(value) : value;
    }
}

template <class T>
DEVICE void product(const tnri_product_layout &l, char *c, const char *a, const char *b, char *partials,
                    T (*tile_a)[ROWS + 1], T (*tile_b)[ROWS + 1])
{
    const int64_t tiles_m = (l.m.size - 1) / ROWS + 1;
    const int64_t tiles_n = (l.n.size - 1) / ROWS + 1;
    const int row = (int)threadIdx.x % SIDE;
    const int column = (int)threadIdx.x / SIDE;
    for (int64_t at = blockIdx.x; at < tiles_m * tiles_n * l.batch.size * l.splits; at += gridDim.x) {
        const int64_t first_m = at % tiles_m * ROWS;
        const int64_t first_n = at / tiles_m % tiles_n * ROWS;
        const int64_t item = at / tiles_m / tiles_n % l.batch.size;
        const int64_t split = at / tiles_m / tiles_n / l.batch.size;
        const int64_t begin = split * l.split;
        const int64_t end = l.k.size - begin < l.split ? l.k.size : begin + l.split;
        const char *const from_a = a + offset_in(l.batch, 0, item);
        const char *const from_b = b + offset_in(l.batch, 1, item);
        T sums[EACH_THREADS][EACH_THREADS];
        UNROLLED
        for (int i = 0; i < EACH_THREADS; i++) {
            UNROLLED
            for (int j = 0; j < EACH_THREADS; j++) {
                sums[i][j] = zero_of<T>();
            }
        }
        for (int64_t first_k = begin; first_k < end; first_k += DEPTH) {
            take_tile<T>(l.m, l.k, 0, l.conjugate_a != 0, from_a, first_m, first_k, end, tile_a);
            take_tile<T>(l.n, l.k, 1, l.conjugate_b != 0, from_b, first_n, first_k, end, tile_b);
            __syncthreads();
            const int depths = end - first_k < DEPTH ? (int)(end - first_k) : DEPTH;
            ONE_BY_ONE
            for (int depth = 0; depth < depths; depth++) {
                T x[EACH_THREADS];
                T y[EACH_THREADS];
                UNROLLED
                for (int i = 0; i < EACH_THREADS; i++) {
                    x[i] = tile_a[depth][row + i * SIDE];
                    y[i] = tile_b[depth][column + i * SIDE];
                }
                UNROLLED
                for (int i = 0; i < EACH_THREADS; i++) {
                    UNROLLED
                    for (int j = 0; j < EACH_THREADS; j++) {
                        sums[i][j] = multiply_add(x[i], y[j], sums[i][j]);
                    }
                }
            }
            __syncthreads(); /* the tiles are read before the next ones come */
        }
        UNROLLED
        for (int i = 0; i < EACH_THREADS; i++) {
            UNROLLED
            for (int j = 0; j < EACH_THREADS; j++) {
                const int64_t m = first_m + row + i * SIDE;
                const int64_t n = first_n + column + j * SIDE;
                if (m < l.m.size && n < l.n.size) {
                    put(l, sums[i][j], m, n, item, split, c, partials);
                }
            }
        }
    }
}

/* ---- By lines -------------------------------------------------------------------------------------------------------------------------------- */

template <class T>
DEVICE void product_lines(const tnri_product_layout &l, char *c, const char *a, const char *b, char *partials,
                          T *shared)
{
    const int thread = (int)threadIdx.x;
    const int beside = TNRI_KERNEL_THREADS / l.lanes;
    const int lane = l.lines != 0 ? thread % l.lanes : thread / beside;
    const int column = l.lines != 0 ? thread / l.lanes : thread % beside;
    const int next_lane = l.lines != 0 ? 1 : beside;
    const int64_t outputs = l.m.size * l.n.size * l.batch.size;
    const int64_t groups = (outputs - 1) / beside + 1;
    const bool by_m = l.m.size >= l.n.size; /* neighbouring outputs along the longer side */
    const int64_t near = by_m ? l.m.size : l.n.size;
    const int64_t far = by_m ? l.n.size : l.m.size;
    for (int64_t number = blockIdx.x; number < groups * l.splits; number += gridDim.x) {
        const int64_t split = number / groups;
        const int64_t output = number % groups * beside + column;
        const int64_t begin = split * l.split;
        const int64_t end = l.k.size - begin < l.split ? l.k.size : begin + l.split;
        const int live = end - begin < l.lanes ? (int)(end - begin) : l.lanes;
        const bool here = output < outputs;
        const int64_t i = by_m ? output % near : output / near % far;
        const int64_t j = by_m ? output / near % far : output % near;
        const int64_t item = output / near / far;
        if (here && lane < live) {
            const char *const from_a = a + offset_in(l.m, 0, i) + offset_in(l.batch, 0, item);
            const char *const from_b = b + offset_in(l.n, 1, j) + offset_in(l.batch, 1, item);
            T sum = zero_of<T>();
            for (int64_t k = begin + lane; k < end; k += l.lanes) {
                T x = load<T>(from_a + offset_in(l.k, 0, k));
                T y = load<T>(from_b + offset_in(l.k, 1, k));
                x = l.conjugate_a != 0 ? conjugate(x) : x;
                y = l.conjugate_b != 0 ? conjugate(y) : y;
                sum = multiply_add(x, y, sum);
            }
            shared[thread] = sum;
        }
        ONE_BY_ONE
        for (int half = l.lanes / 2; half > 0; half /= 2) {
            __syncthreads();
            if (lane < half && lane + half < live && here) {
                shared[thread] = plus(shared[thread], shared[thread + half * next_lane]);
            }
        }
        if (lane == 0 && here) {
            put(l, shared[thread], i, j, item, split, c, partials);
        }
        __syncthreads(); /* all has been read before the next sums come */
    }
}

/* ---- Splits put together ------------------------------------------------------------------------------------------------------------------------ */

template <class T> DEVICE void product_join(const tnri_product_layout &l, char *c, const char *partials)
{
    const int64_t outputs = l.m.size * l.n.size * l.batch.size;
    for (int64_t at = thread_number(); at < outputs; at += threads_in_all()) {
        T sum = load<T>(partials + at * (int64_t)sizeof(T));
        ONE_BY_ONE
        for (int64_t split = 1; split < l.splits; split++) {
            sum = plus(sum, load<T>(partials + (split * outputs + at) * (int64_t)sizeof(T)));
        }
        finish(l, sum, c + offset_in_c(l, at % l.m.size, at / l.m.size % l.n.size, at / l.m.size / l.n.size));
    }
}

#define PRODUCT_PARAMETERS SAME(tnri_product_layout) l, char *c, const char *a, const char *b, char *partials
#define PRODUCT(dtype, T)                                   \
    KERNEL_OF(product_##dtype, 1)(PRODUCT_PARAMETERS)       \
    {                                                       \
        __shared__ T tile_a[DEPTH][ROWS + 1];               \
        __shared__ T tile_b[DEPTH][ROWS + 1];               \
        product<T>(l, c, a, b, partials, tile_a, tile_b);   \
    }                                                       \
    KERNEL_OF(product_lines_##dtype, 2)(PRODUCT_PARAMETERS) \
    {                                                       \
        __shared__ T shared[TNRI_KERNEL_THREADS];           \
        product_lines<T>(l, c, a, b, partials, shared);     \
    }                                                       \
    KERNEL_OF(product_join_##dtype, 2)(PRODUCT_PARAMETERS)  \
    {                                                       \
        (void)a;                                            \
        (void)b;                                            \
        product_join<T>(l, c, partials);                    \
    }
PRODUCT(f32, float)
PRODUCT(f64, double)
PRODUCT(c32, c32)
PRODUCT(c64, c64)

/* ---- Tables of offsets ---------------------------------------------------------------------------------------------------------------------------- */

KERNEL_OF(offsets, 4)(SAME(tnri_offsets_layout) l, int64_t *first, int64_t *second, int64_t *third)
{
    for (int64_t at = thread_number(); at < l.count; at += threads_in_all()) {
        const int64_t *steps[1] = {l.words + l.rank};
        int64_t *const tables[3] = {first, second, third};
        ONE_BY_ONE
        for (int table = 0; table < 3; table++) {
            if (tables[table] != 0) {
                int64_t offset;
                offsets_by_division<1>(at, l.count, l.rank, l.words, steps, &offset);
                store((char *)(tables[table] + at), offset);
                steps[0] += l.rank;
            }
        }
    }
}
