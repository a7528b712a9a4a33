/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions give the same bits for any number of lanes and every instruction set that this machine has, in any layout; and
 * float sums keep the stated bound against sums in extended precision, whatever the axes and strides.
 *
 * The walk is told how many lanes there are, so that cuts for many lanes are tested on a machine with few.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "engine/reduce_internal.h"

static const tnri_reduce_table *const tables[TNRI_ISA_END] = TNRI_ISA_TABLES(tnri_reduce_kernels);
static const int lane_counts[] = {1, 2, 3, 7, 64};
enum { LANE_COUNTS = sizeof lane_counts / sizeof *lane_counts };
#if defined(TNRI_SANITIZED)
enum { PART = 5 }; /* of shapes one in so many, where each access is checked */
#else
enum { PART = 2 };
#endif

static tnr_domain *heap;
static tnr_engine *engine;
static catalogue_random numbers;

static int set_up(void **state)
{
    (void)state;
    numbers = catalogue_seed(20261130U);
    catalogue_ok(tnr_heap_create(&heap), "heap");
    catalogue_ok(tnr_engine_create(heap, NULL, &engine), "engine");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    catalogue_ok(tnr_engine_destroy(&engine), "engine destroy");
    catalogue_ok(tnr_domain_close(&heap), "heap");
    return 0;
}

static void *need(size_t bytes)
{
    void *memory = malloc(bytes + 1);
    if (memory == NULL) {
        fail_msg("no memory for a test");
        abort();
    }
    return memory;
}

/* Has the machine the set, and is it more than another name of the baseline's? */
static bool testable(int isa)
{
    return isa == TNRI_ISA_BASELINE || (tnri_isa_runs((tnri_isa)isa) && tables[isa] != tables[TNRI_ISA_BASELINE]);
}

/* ---- A source in any layout ---- */

/* memory[first] is the first element; not a view of a tensor: the walk asks for no owner. */
typedef struct source {
    tnr_view view;
    char *memory;
    const char *first;
} source;

/* `order` is the order of axes in memory, innermost first; `gap` the elements between neighbours of the innermost. */
static source make_source(tnr_dtype dtype, int rank, const int64_t *shape, const int *order, int64_t gap,
                          unsigned backwards)
{
    source made;
    memset(&made, 0, sizeof made);
    made.view.dtype = dtype;
    made.view.rank = (uint8_t)rank;
    int64_t step = gap;
    int64_t first = 0;
    for (int k = 0; k < rank; ++k) {
        const int axis = order[k];
        made.view.shape[axis] = shape[axis];
        made.view.strides[axis] = step;
        if ((backwards >> axis & 1U) != 0) {
            first += step * (shape[axis] - 1);
            made.view.strides[axis] = -step;
        }
        step *= shape[axis];
    }
    const size_t width = tnr_dtype_size(dtype);
    made.memory = need((size_t)step * width);
    made.first = made.memory + (size_t)first * width;
    return made;
}

static int64_t memory_elements(const source *a)
{
    int64_t count = 1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < a->view.rank; ++i) {
        const int64_t step = a->view.strides[i] < 0 ? -a->view.strides[i] : a->view.strides[i];
        least = step < least ? step : least;
        count *= a->view.shape[i];
    }
    return a->view.rank == 0 ? 1 : count * least;
}

static double draw(void) { return (double)(catalogue_below(&numbers, 2000001) - 1000000) / 1000000.0; }

/* Numbers of very different magnitudes and both signs, so that any other order of additions shows. */
static void fill_wild(const source *a, bool tame)
{
    const int64_t count = memory_elements(a);
    for (int64_t i = 0; i < count; ++i) {
        const double value = tame ? 1.0 + draw() / 64.0 : draw() * pow(10.0, (double)catalogue_below(&numbers, 9));
        switch (a->view.dtype) {
        case TNR_F32:
            ((float *)(void *)a->memory)[i] = (float)value;
            break;
        case TNR_F64:
            ((double *)(void *)a->memory)[i] = value;
            break;
        case TNR_C32:
            ((tnr_c32 *)(void *)a->memory)[i] = (tnr_c32){(float)value, tame ? 0.1F : (float)draw()};
            break;
        case TNR_C64:
            ((tnr_c64 *)(void *)a->memory)[i] = (tnr_c64){value, tame ? 0.1 : draw()};
            break;
        case TNR_I32:
            ((int32_t *)(void *)a->memory)[i] = (int32_t)catalogue_next(&numbers);
            break;
        case TNR_I64:
            ((int64_t *)(void *)a->memory)[i] = (int64_t)catalogue_next(&numbers);
            break;
        default:
            ((unsigned char *)a->memory)[i] = catalogue_below(&numbers, 100) != 0 ? 1 : 0;
            break;
        }
    }
}

/* ---- The same bits ---- */

static size_t width_of_result(int op, tnr_dtype dtype)
{
    return op == TNRI_REDUCE_NORM && (dtype == TNR_C32 || dtype == TNR_C64) ? tnr_dtype_size(dtype) / 2
                                                                            : tnr_dtype_size(dtype);
}

/* Compact strides of the axes that stay, 0 for the others; the number of outputs. */
static int64_t spread_of(const tnr_view *a, unsigned gone, int64_t *spread)
{
    int64_t step = 1;
    for (int i = 0; i < a->rank; ++i) {
        spread[i] = (gone >> i & 1U) != 0 ? 0 : step;
        step *= (gone >> i & 1U) != 0 ? 1 : a->shape[i];
    }
    return step;
}

static void compare(const source *a, unsigned gone, int op)
{
    const tnr_dtype dtype = (tnr_dtype)a->view.dtype;
    const size_t width = width_of_result(op, dtype);
    int64_t spread[TNR_MAX_RANK];
    const size_t bytes = (size_t)spread_of(&a->view, gone, spread) * width;
    char *expected = need(bytes);
    char *found = need(bytes);
    tnri_reduce_walk(engine, 1, &tables[TNRI_ISA_BASELINE]->reducers[op][dtype], &a->view, spread, a->first, expected,
                     width);
    for (int isa = 0; isa < TNRI_ISA_END; ++isa) {
        for (int k = 0; k < LANE_COUNTS && testable(isa); ++k) {
            memset(found, 0xA5, bytes);
            tnri_reduce_walk(engine, lane_counts[k], &tables[isa]->reducers[op][dtype], &a->view, spread, a->first,
                             found, width);
            if (memcmp(found, expected, bytes) != 0) {
                fail_msg("operation %d on %s: other bits with %d lanes of %s", op, tnr_dtype_name(dtype),
                         lane_counts[k], tnri_isa_name((tnri_isa)isa));
            }
        }
    }
    free(expected);
    free(found);
}

static void compare_args(const source *a, int axis)
{
    tnr_view out;
    memset(&out, 0, sizeof out);
    out.dtype = TNR_I64;
    int64_t step = 1;
    for (int i = 0; i < a->view.rank; ++i) {
        if (i != axis) {
            out.shape[out.rank] = a->view.shape[i];
            out.strides[out.rank] = step;
            step *= a->view.shape[i];
            ++out.rank;
        }
    }
    const size_t bytes = (size_t)step * sizeof(int64_t);
    char *expected = need(bytes);
    char *found = need(bytes);
    for (int smallest = 0; smallest < 2; ++smallest) {
        const tnri_arg_kernel *base = smallest != 0 ? &tables[TNRI_ISA_BASELINE]->argmin[a->view.dtype]
                                                    : &tables[TNRI_ISA_BASELINE]->argmax[a->view.dtype];
        if (base->look == NULL) {
            break;
        }
        tnri_reduce_walk_arg(engine, 1, base, &a->view, axis, &out, a->first, expected);
        for (int isa = 0; isa < TNRI_ISA_END; ++isa) {
            for (int k = 0; k < LANE_COUNTS && testable(isa); ++k) {
                const tnri_arg_kernel *kernel =
                    smallest != 0 ? &tables[isa]->argmin[a->view.dtype] : &tables[isa]->argmax[a->view.dtype];
                memset(found, 0xA5, bytes);
                tnri_reduce_walk_arg(engine, lane_counts[k], kernel, &a->view, axis, &out, a->first, found);
                assert_memory_equal(found, expected, bytes);
            }
        }
    }
    free(expected);
    free(found);
}

static void check_source(const source *a)
{
    const unsigned dtype = a->view.dtype;
    for (int tame = 1; tame >= 0; --tame) {
        fill_wild(a, tame != 0);
        for (unsigned gone = 0; gone < 1U << a->view.rank; ++gone) {
            for (int op = 0; op < TNRI_REDUCE_END; ++op) {
                const bool wanted = (op == TNRI_REDUCE_PROD) == (tame != 0);
                if (wanted && tables[TNRI_ISA_BASELINE]->reducers[op][dtype].outputs != NULL) {
                    compare(a, gone, op);
                }
            }
        }
    }
    for (int axis = 0; axis < a->view.rank; ++axis) {
        compare_args(a, axis);
    }
}

static void check_shape(tnr_dtype dtype, int rank, const int64_t *shape)
{
    static const int orders[4][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}};
    const int variants = rank == 3 ? 4 : rank == 2 ? 3 : 1;
    for (int v = 0; v < variants; v += rank == 2 ? 2 : 1) {
        source a = make_source(dtype, rank, shape, orders[v], v % 2 == 0 ? 1 : 3,
                               (unsigned)catalogue_below(&numbers, INT64_C(1) << rank));
        check_source(&a);
        free(a.memory);
    }
}

static void test_bits_do_not_depend_on_lanes_or_instructions(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{100000, 1, 1}, {33, 1, 1},    {513, 1, 1},   {4100, 1, 1}, {3, 20000, 1},
                                        {700, 90, 1},   {5, 1000, 1},  {1000, 70, 1}, {17, 23, 1},  {40, 33, 29},
                                        {2, 700, 9},    {300, 2, 40},  {16, 70, 20},  {129, 5, 33}, {1, 600, 7},
                                        {8, 8, 500},    {250, 130, 1}, {20, 3000, 1}, {64, 2048, 1}};
    for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
        for (size_t s = dtype % PART; s < sizeof shapes / sizeof *shapes; s += PART) {
            const int rank = shapes[s][2] != 1 ? 3 : shapes[s][1] != 1 ? 2 : 1;
            check_shape((tnr_dtype)dtype, rank, shapes[s]);
        }
    }
    int isas = 0;
    for (int isa = 0; isa < TNRI_ISA_END; ++isa) {
        isas += testable(isa) ? 1 : 0;
    }
    print_message("instruction sets compared: %d of %d\n", isas, (int)TNRI_ISA_END);
}

/* ---- The bound ---- */

/* A compensated sum in extended precision: its own error does not count. */
typedef struct exact {
    long double sum;
    long double lost;
    long double size;
    int64_t terms;
} exact;

static void exact_add(exact *to, long double x)
{
    const long double sum = to->sum + x;
    to->lost += fabsl(to->sum) >= fabsl(x) ? to->sum - sum + x : x - sum + to->sum;
    to->sum = sum;
    to->size += fabsl(x);
    ++to->terms;
}

static void check_bound(const exact *want, long double found, bool single)
{
    const long double epsilon = single ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
    const long double bound = (16.0L + log2l((long double)want->terms)) * epsilon * want->size;
    const long double error = fabsl(found - (want->sum + want->lost));
    if (!(error <= bound)) {
        fail_msg("sum of %lld terms: error %Lg, bound %Lg", (long long)want->terms, error, bound);
    }
}

static void check_sums(const source *a, unsigned gone)
{
    const bool single = a->view.dtype == TNR_F32;
    const size_t width = tnr_dtype_size((tnr_dtype)a->view.dtype);
    int64_t spread[TNR_MAX_RANK];
    const int64_t outputs = spread_of(&a->view, gone, spread);
    exact *want = need((size_t)outputs * sizeof *want);
    char *found = need((size_t)outputs * width);
    for (int64_t k = 0; k < outputs; ++k) {
        want[k] = (exact){0.0L, 0.0L, 0.0L, 0};
    }
    int64_t index[TNR_MAX_RANK] = {0};
    do {
        int64_t at = 0;
        int64_t to = 0;
        for (int i = 0; i < a->view.rank; ++i) {
            at += index[i] * a->view.strides[i];
            to += index[i] * spread[i];
        }
        exact_add(&want[to], single ? (long double)((const float *)(const void *)a->first)[at]
                                    : (long double)((const double *)(const void *)a->first)[at]);
    } while (catalogue_step(a->view.rank, a->view.shape, index));
    for (int isa = 0; isa < TNRI_ISA_END; ++isa) {
        if (testable(isa)) {
            tnri_reduce_walk(engine, 2, &tables[isa]->reducers[TNRI_REDUCE_SUM][a->view.dtype], &a->view, spread,
                             a->first, found, width);
            for (int64_t k = 0; k < outputs; ++k) {
                check_bound(&want[k],
                            single ? (long double)((const float *)(const void *)found)[k]
                                   : (long double)((const double *)(const void *)found)[k],
                            single);
            }
        }
    }
    free(want);
    free(found);
}

/* Equal numbers are the worst for sums one after another; wild ones cancel. */
static void check_bounds(tnr_dtype dtype, int rank, const int64_t *shape, const int *order, int64_t gap)
{
    source a = make_source(dtype, rank, shape, order, gap, 0);
    for (int wild = 0; wild < 2; ++wild) {
        const int64_t count = memory_elements(&a);
        if (wild == 0) {
            for (int64_t i = 0; i < count; ++i) {
                if (dtype == TNR_F32) {
                    ((float *)(void *)a.memory)[i] = 0.1F;
                } else {
                    ((double *)(void *)a.memory)[i] = 0.1;
                }
            }
        } else {
            fill_wild(&a, false);
        }
        for (unsigned gone = 1; gone < 1U << rank; ++gone) {
            check_sums(&a, gone);
        }
    }
    free(a.memory);
}

static void test_float_sums_keep_the_bound(void **state)
{
    (void)state;
    static const int along[3] = {0, 1, 2};
    static const int across[3] = {2, 1, 0};
    static const int64_t line[1] = {3000000 / PART};
    static const int64_t tall[2] = {3, 400000 / PART};
    static const int64_t wide[2] = {400000 / PART, 3};
    static const int64_t cube[3] = {50, 300 / PART, 40};
    static const int64_t short_lines[3] = {4, 10, 20000 / PART};
    for (tnr_dtype dtype = TNR_F32; dtype <= TNR_F64; ++dtype) {
        check_bounds(dtype, 1, line, along, 1);
        check_bounds(dtype, 1, line, along, 3);
        check_bounds(dtype, 2, tall, along, 1);
        check_bounds(dtype, 2, wide, along, 1);
        check_bounds(dtype, 2, wide, along, 2);
        check_bounds(dtype, 3, cube, along, 1);
        check_bounds(dtype, 3, cube, across, 1);
        check_bounds(dtype, 3, short_lines, along, 1);
        check_bounds(dtype, 3, short_lines, across, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_do_not_depend_on_lanes_or_instructions),
        cmocka_unit_test(test_float_sums_keep_the_bound),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
