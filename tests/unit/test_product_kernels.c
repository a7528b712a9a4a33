/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each matrix-product kernel by itself, the library's own and with BLIS's tiles, against a naive loop: every dtype, sizes
 * around the register tiles and the blocks, strides of any sign and 0, conjugation, scalars. The engine chooses among these; here none
 * can hide behind another. Operands begin or end where memory does, so that nothing beside them is read.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "engine/kernels/fused.inl.h"
#include "engine/product_internal.h"

static catalogue_random numbers;
static tnr_engine *engine;

typedef struct operand {
    char *memory;
    char *first;
    int64_t row;
    int64_t column;
    int64_t elements;
    char *map; /* pages with one that nobody may touch on either side */
    size_t map_bytes;
} operand;

/* So many bytes between two pages that nobody may touch, right behind the first or before the second. */
static void map_between(operand *made, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inside = (bytes + page - 1) / page * page;
    made->map_bytes = inside + 2 * page;
    made->map = mmap(NULL, made->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(made->map != MAP_FAILED);
    assert_int_equal(mprotect(made->map + page, inside, PROT_READ | PROT_WRITE), 0);
    made->memory = made->map + page + (catalogue_below(&numbers, 2) == 0 ? 0 : inside - bytes);
}

static void free_operand(const operand *made) { assert_int_equal(munmap(made->map, made->map_bytes), 0); }

#if defined(TNRI_SANITIZED)
enum { PART = 4 }; /* of many rounds one in so many, where each access is checked */
#else
enum { PART = 1 };
#endif

#define BESIDE 64 /* elements behind an operand of unit step */

/* A rows x columns operand inside its own memory; `wild`: any strides, for inputs 0 too. */
static operand make_operand(tnr_dtype dtype, int64_t rows, int64_t columns, bool wild, bool input)
{
    operand made = {.row = 1, .column = rows};
    if (catalogue_below(&numbers, 2) == 0) {
        made.row = columns;
        made.column = 1;
    }
    if (wild) {
        const int64_t gap = 1 + catalogue_below(&numbers, 2);
        made.row *= gap;
        made.column = made.column * gap + (made.column > made.row ? catalogue_below(&numbers, 3) : 0);
    }
    if (!wild && made.row == 1) { /* what is beside rows that do not fill a vector */
        made.column += catalogue_below(&numbers, 20);
    }
    const int64_t reach_row = made.row * (rows - 1);
    const int64_t reach_column = made.column * (columns - 1);
    made.elements = reach_row + reach_column + 1 + (wild || catalogue_below(&numbers, 2) == 0 ? 0 : BESIDE);
    int64_t begin = 0;
    if (wild && catalogue_below(&numbers, 3) == 0) {
        begin += reach_row;
        made.row = -made.row;
    }
    if (wild && catalogue_below(&numbers, 3) == 0) {
        begin += reach_column;
        made.column = -made.column;
    }
    if (wild && input && catalogue_below(&numbers, 5) == 0) {
        begin -= made.row < 0 ? reach_row : 0;
        made.row = 0;
    }
    if (wild && rows == 1) { /* a stride that means nothing */
        made.row = catalogue_below(&numbers, 2) == 0 ? INT64_MAX : INT64_MIN;
    }
    if (wild && columns == 1) {
        made.column = catalogue_below(&numbers, 2) == 0 ? INT64_MAX : INT64_MIN;
    }
    const size_t width = tnr_dtype_size(dtype);
    map_between(&made, (size_t)made.elements * width);
    const int64_t parts = made.elements * (catalogue_is_complex(dtype) ? 2 : 1);
    for (int64_t i = 0; i < parts; ++i) {
        const double value = (double)(catalogue_below(&numbers, 129) - 64) / 16.0;
        if (dtype == TNR_F32 || dtype == TNR_C32) {
            ((float *)(void *)made.memory)[i] = (float)value;
        } else {
            ((double *)(void *)made.memory)[i] = value;
        }
    }
    made.first = made.memory + (size_t)begin * width;
    return made;
}

static void load(tnr_dtype dtype, const char *first, int64_t element, long double *re, long double *im)
{
    *im = 0.0L;
    switch (dtype) {
    case TNR_F32:
        *re = ((const float *)(const void *)first)[element];
        break;
    case TNR_F64:
        *re = ((const double *)(const void *)first)[element];
        break;
    case TNR_C32:
        *re = ((const tnr_c32 *)(const void *)first)[element].re;
        *im = ((const tnr_c32 *)(const void *)first)[element].im;
        break;
    default:
        *re = ((const tnr_c64 *)(const void *)first)[element].re;
        *im = ((const tnr_c64 *)(const void *)first)[element].im;
        break;
    }
}

typedef enum kernel { TINY, SMALL, GATHERED, BY_COLUMNS, BY_ROWS, OUTER, BLOCKED } kernel;

static bool takes(kernel which, tnr_dtype dtype, const tnri_gemm *gemm)
{
    const tnri_product_kernel *kernels = &engine->products->of[dtype];
    const bool in_vectors = gemm->a_row == 1 && gemm->c_row == 1;
    switch (which) {
    case SMALL:
        return in_vectors && gemm->m >= kernels->few;
    case GATHERED:
        return gemm->c_row == 1 && gemm->m >= kernels->few && gemm->m <= TNRI_GATHERED_EXTENT &&
               gemm->k <= TNRI_GATHERED_EXTENT &&
               gemm->m * gemm->k * (int64_t)tnr_dtype_size(dtype) <= TNRI_GATHERED_BYTES;
    case BY_COLUMNS:
        return gemm->n == 1 && gemm->a_row == 1;
    case BY_ROWS:
        return gemm->n == 1;
    case OUTER:
        return gemm->k == 1 && in_vectors && gemm->m >= kernels->step;
    default:
        return true;
    }
}

static void run(kernel which, tnr_dtype dtype, const tnri_gemm *gemm)
{
    const tnri_product_kernel *kernels = &engine->products->of[dtype];
    void (*const alone[])(const tnri_gemm *) = {kernels->tiny,       kernels->small,   kernels->gathered,
                                                kernels->by_columns, kernels->by_rows, kernels->outer};
    if (which != BLOCKED) {
        alone[which](gemm);
    } else {
        tnri_product product = {.dtype = dtype, .finish = gemm->finish};
        tnri_product_one(&product.m, gemm->m, gemm->a_row, 0, gemm->c_row);
        tnri_product_one(&product.n, gemm->n, 0, gemm->b_column, gemm->c_column);
        tnri_product_one(&product.k, gemm->k, gemm->a_column, gemm->b_row, 0);
        product.batch.size = 1;
        tnri_product_prepare(engine, &product);
        product.way = TNRI_PRODUCT_BLOCKS; /* also where another way is chosen */
        product.blocks =
            tnri_product_choose_blocks(product.kernel, dtype, product.m.size, product.n.size, product.k.size);
        const uint64_t bytes = tnri_product_scratch(&product, 1);
        void *scratch;
        assert_int_equal(tnri_engine_scratch(engine, bytes, &scratch), TNR_OK);
        memset(scratch, 0xFF, (size_t)bytes); /* NaN: padding that leaks shows */
        assert_int_equal(tnri_product_run(engine, &product, gemm->a, gemm->b, gemm->c), TNR_OK);
        void *after;
        assert_int_equal(tnri_engine_scratch(engine, 0, &after), TNR_OK);
        assert_ptr_equal(after, scratch); /* it took no more than it said */
    }
}

/* False when the kernel does not take these operands. */
static bool check(kernel which, tnr_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    const bool complex = catalogue_is_complex(dtype);
    const bool wild = which != SMALL && which != OUTER && catalogue_below(&numbers, 4) != 0;
    operand a = make_operand(dtype, m, k, wild, true);
    operand b = make_operand(dtype, k, n, wild, true);
    operand c = make_operand(dtype, m, n, wild, false);
    const double alphas[3] = {1.0, -1.0, 0.5};
    const double alpha_re = alphas[catalogue_below(&numbers, 3)];
    const double alpha_im = complex && catalogue_below(&numbers, 2) == 0 ? 0.25 : 0.0;
    const double betas[4] = {0.0, 0.0, 1.0, 2.0};
    const double beta_re = betas[catalogue_below(&numbers, 4)];
    tnri_gemm gemm = {.m = m, .n = n, .k = k};
    gemm.a = a.first;
    gemm.a_row = a.row;
    gemm.a_column = a.column;
    gemm.b = b.first;
    gemm.b_row = b.row;
    gemm.b_column = b.column;
    gemm.c = c.first;
    gemm.c_row = c.row;
    gemm.c_column = c.column;
    gemm.finish.conjugate_a = complex && catalogue_below(&numbers, 2) == 0;
    gemm.finish.conjugate_b = complex && catalogue_below(&numbers, 2) == 0;
    gemm.finish.alpha = (tnr_c64){alpha_re, alpha_im};
    gemm.finish.beta = (tnr_c64){beta_re, 0.0};
    gemm.finish.overwrite = beta_re == 0.0;
    gemm.finish.plain = gemm.finish.overwrite && alpha_re == 1.0 && alpha_im == 0.0;
    gemm.finish.add = beta_re == 1.0 && alpha_re == 1.0 && alpha_im == 0.0;
    const bool taken = takes(which, dtype, &gemm);
    if (taken) {
        const size_t bytes = (size_t)c.elements * tnr_dtype_size(dtype);
        char *before = malloc(bytes);
        assert_non_null(before);
        memcpy(before, c.memory, bytes);
        const char *old = before + (c.first - c.memory);
        run(which, dtype, &gemm);
        const long double epsilon = dtype == TNR_F32 || dtype == TNR_C32 ? 0x1p-23L : 0x1p-52L;
        for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < m; ++i) {
                long double re = 0.0L;
                long double im = 0.0L;
                for (int64_t p = 0; p < k; ++p) {
                    long double x;
                    long double y;
                    long double u;
                    long double v;
                    load(dtype, a.first, i * a.row + p * a.column, &x, &y);
                    load(dtype, b.first, p * b.row + j * b.column, &u, &v);
                    y = gemm.finish.conjugate_a ? -y : y;
                    v = gemm.finish.conjugate_b ? -v : v;
                    re += x * u - y * v;
                    im += x * v + y * u;
                }
                long double old_re;
                long double old_im;
                long double found_re;
                long double found_im;
                load(dtype, old, i * c.row + j * c.column, &old_re, &old_im);
                load(dtype, c.first, i * c.row + j * c.column, &found_re, &found_im);
                const long double want_re =
                    alpha_re * re - alpha_im * im + (gemm.finish.overwrite ? 0.0L : beta_re * old_re);
                const long double want_im =
                    alpha_re * im + alpha_im * re + (gemm.finish.overwrite ? 0.0L : beta_re * old_im);
                const long double bound = epsilon * 64.0L * (8.0L + (long double)k);
                if (!(fabsl(found_re - want_re) <= bound && fabsl(found_im - want_im) <= bound)) {
                    fail_msg("kernel %d %s %lldx%lldx%lld: [%lld, %lld] is %Lg %Lg, expected %Lg %Lg", (int)which,
                             tnr_dtype_name(dtype), (long long)m, (long long)n, (long long)k, (long long)i,
                             (long long)j, found_re, found_im, want_re, want_im);
                }
                /* Put the old element back: at the end nothing may differ, so nothing beside c was written. */
                const size_t width = tnr_dtype_size(dtype);
                const int64_t offset = (i * c.row + j * c.column) * (int64_t)width;
                memcpy(c.first + offset, old + offset, width);
            }
        }
        assert_memory_equal(c.memory, before, bytes);
        free(before);
    }
    free_operand(&a);
    free_operand(&b);
    free_operand(&c);
    return taken;
}

static int check_sizes(kernel which, int64_t most, int rounds)
{
    const int part = rounds < 100 ? 1 : PART;
    int taken = 0;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (int round = 0; round < rounds; round += part) {
            taken += part * check(which, (tnr_dtype)dtype, 1 + catalogue_below(&numbers, most),
                                  1 + catalogue_below(&numbers, most), 1 + catalogue_below(&numbers, most));
        }
    }
    return taken;
}

static void test_tiny_kernel(void **state)
{
    (void)state;
    assert_true(check_sizes(TINY, 20, 300) == 1200);
    assert_true(check_sizes(TINY, 3, 300) == 1200);
}

static void test_small_kernel(void **state)
{
    (void)state;
    assert_true(check_sizes(SMALL, 50, 300) > 100);
    assert_true(check_sizes(SMALL, 17, 300) > 50);
    assert_true(check_sizes(SMALL, 9, 300) > 50);
    assert_true(check_sizes(SMALL, 7, 300) > 50);
}

static int check_shapes(kernel which, int64_t m, int64_t n, int64_t k, int rounds)
{
    const int part = rounds < 100 ? 1 : PART;
    int taken = 0;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (int round = 0; round < rounds; round += part) {
            taken += part * check(which, (tnr_dtype)dtype, 1 + catalogue_below(&numbers, m),
                                  1 + catalogue_below(&numbers, n), 1 + catalogue_below(&numbers, k));
        }
    }
    return taken;
}

static void test_gathering_kernel(void **state)
{
    (void)state;
    assert_true(check_sizes(GATHERED, 40, 300) > 50);
    assert_true(check_sizes(GATHERED, 9, 300) > 50);
    assert_true(check_shapes(GATHERED, TNRI_GATHERED_EXTENT, 9, 8, 100) > 20);
    assert_true(check_shapes(GATHERED, 8, 9, TNRI_GATHERED_EXTENT, 100) > 20);
}

/* Whether the instruction set has fused multiply and add. This file is compiled for the one that the least kernels are. */
static bool is_fused(tnr_dtype dtype)
{
    static const bool of_reals[] = {HAS_FUSED_f32, HAS_FUSED_f64};
    switch (engine->isa) {
    case TNRI_ISA_BASELINE:
        return of_reals[tnr_dtype_real(dtype) == TNR_F32 ? 0 : 1];
    case TNRI_ISA_V2:
        return false;
    default:
        return true;
    }
}

/* One rounding per step where it has. */
static double fused(tnr_dtype dtype, double x, double y, double sum)
{
    const bool once = is_fused(dtype);
    if (dtype == TNR_F64 || dtype == TNR_C64) {
        return once ? fma(x, y, sum) : x * y + sum;
    }
    return (double)(once ? fmaf((float)x, (float)y, (float)sum) : (float)x * (float)y + (float)sum);
}

static double rounded(tnr_dtype dtype, double value)
{
    const volatile float narrow =
        (float)value; /* volatile: GCC 12 takes two neighbours to float and back by doing neither */
    return dtype == TNR_F64 || dtype == TNR_C64 ? value : narrow;
}

static tnr_c64 element(tnr_dtype dtype, const void *first, int64_t at)
{
    long double re;
    long double im;
    load(dtype, first, at, &re, &im);
    return (tnr_c64){(double)re, (double)im};
}

/* Of complex numbers, as of f64 and f32, with a rounding for every product and every sum. */
static tnr_c64 times(tnr_dtype dtype, tnr_c64 x, tnr_c64 y)
{
    const double re[2] = {rounded(dtype, x.re * y.re), rounded(dtype, x.im * y.im)};
    const double im[2] = {rounded(dtype, x.re * y.im), rounded(dtype, x.im * y.re)};
    return (tnr_c64){rounded(dtype, re[0] - re[1]), rounded(dtype, im[0] + im[1])};
}

static tnr_c64 plus(tnr_dtype dtype, tnr_c64 x, tnr_c64 y)
{
    return (tnr_c64){rounded(dtype, x.re + y.re), rounded(dtype, x.im + y.im)};
}

/* Element [i, j] as product_kernels.h has it: products of parts summed over k in order, then put together, then scaled. */
static tnr_c64 in_order(tnr_dtype dtype, const tnri_gemm *g, const void *old, int64_t i, int64_t j)
{
    double parts[2][2] = {{0.0, 0.0}, {0.0, 0.0}}; /* of a, then of b */
    for (int64_t p = 0; p < g->k; ++p) {
        const tnr_c64 x = element(dtype, g->a, i * g->a_row + p * g->a_column);
        const tnr_c64 y = element(dtype, g->b, p * g->b_row + j * g->b_column);
        parts[0][0] = fused(dtype, x.re, y.re, parts[0][0]);
        parts[0][1] = fused(dtype, x.re, y.im, parts[0][1]);
        parts[1][0] = fused(dtype, x.im, y.re, parts[1][0]);
        parts[1][1] = fused(dtype, x.im, y.im, parts[1][1]);
    }
    const tnri_finish *finish = &g->finish;
    const double sign_a = finish->conjugate_a ? -1.0 : 1.0;
    const double sign_b = finish->conjugate_b ? -1.0 : 1.0;
    tnr_c64 sum = {rounded(dtype, parts[0][0] - sign_a * sign_b * parts[1][1]),
                   rounded(dtype, sign_b * parts[0][1] + sign_a * parts[1][0])};
    if (finish->plain) {
        return sum;
    }
    const tnr_c64 was = element(dtype, old, i * g->c_row + j * g->c_column);
    sum = finish->add ? sum : times(dtype, finish->alpha, sum);
    if (finish->overwrite) {
        return sum;
    }
    return plus(dtype, sum, finish->keep ? was : times(dtype, finish->beta, was));
}

/* Numbers whose sum depends on its order. */
static void fill_roughly(tnr_dtype dtype, void *data, int64_t reals)
{
    for (int64_t i = 0; i < reals; ++i) {
        const double value = (double)(catalogue_below(&numbers, 1 << 24) - (1 << 23)) / 3e6;
        if (dtype == TNR_F64 || dtype == TNR_C64) {
            ((double *)data)[i] = value;
        } else {
            ((float *)data)[i] = (float)value;
        }
    }
}

/* A finish as the engine makes it from factors that the dtype has. */
static tnri_finish make_finish(tnr_dtype dtype, tnr_c64 alpha, tnr_c64 beta, int conjugated)
{
    const bool complex = catalogue_is_complex(dtype);
    tnri_finish finish = {.conjugate_a = complex && (conjugated & 1) != 0, .conjugate_b = complex && conjugated > 1};
    finish.alpha = (tnr_c64){rounded(dtype, alpha.re), complex ? rounded(dtype, alpha.im) : 0.0};
    finish.beta = (tnr_c64){rounded(dtype, beta.re), complex ? rounded(dtype, beta.im) : 0.0};
    const bool one = finish.alpha.re == 1.0 && finish.alpha.im == 0.0;
    finish.overwrite = finish.beta.re == 0.0 && finish.beta.im == 0.0;
    finish.keep = finish.beta.re == 1.0 && finish.beta.im == 0.0;
    finish.plain = one && finish.overwrite;
    finish.add = one && finish.keep;
    return finish;
}

/* None is NaN. */
static bool is_same(double x, double y) { return x == y && signbit(x) == signbit(y); }

static void check_order(kernel which, tnr_dtype dtype, int64_t k, tnri_finish finish)
{
    enum { M = 59, K = 190, N = 11 };
    static char memory[4][(size_t)M * K * 16];
    const int64_t n = which == BY_COLUMNS ? 1 : N;
    for (int i = 0; i < 3; ++i) {
        fill_roughly(dtype, memory[i], (int64_t)M * k * (catalogue_is_complex(dtype) ? 2 : 1));
    }
    memcpy(memory[3], memory[2], sizeof memory[3]);
    const tnri_gemm gemm = {finish, M, n, k, memory[0], 1, M, memory[1], 1, k, memory[2], 1, M};
    run(which, dtype, &gemm);
    for (int64_t j = 0; j < gemm.n; ++j) {
        for (int64_t i = 0; i < M; ++i) {
            const tnr_c64 wanted = in_order(dtype, &gemm, memory[3], i, j);
            const tnr_c64 found = element(dtype, memory[2], j * M + i);
            if (!is_same(found.re, wanted.re) || (catalogue_is_complex(dtype) && !is_same(found.im, wanted.im))) {
                fail_msg("kernel %d %s k %lld [%lld, %lld]: %a %a, expected %a %a", (int)which, tnr_dtype_name(dtype),
                         (long long)k, (long long)i, (long long)j, found.re, found.im, wanted.re, wanted.im);
            }
        }
    }
}

/* The same bits by each of the library's kernels that say so, and by packing up to kc: whatever compiler made them, and how. */
static void test_sums_are_in_order(void **state)
{
    (void)state;
    static const kernel kernels[] = {TINY, SMALL, GATHERED, BLOCKED, BY_COLUMNS};
    static const tnr_c64 zero = {0.0, 0.0};
    static const tnr_c64 one = {1.0, 0.0};
    static const tnr_c64 some = {0.7, -0.3};
    static const tnr_c64 other = {-1.1, 0.9};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
        for (unsigned type = TNR_F32; type <= TNR_C64; ++type) {
            const tnr_dtype dtype = (tnr_dtype)type;
            const int64_t deep = kernels[i] == GATHERED ? 17 : 190 /* as it is told to */;
            check_order(kernels[i], dtype, deep, make_finish(dtype, one, zero, 0));
            check_order(kernels[i], dtype, 13, make_finish(dtype, one, one, 1));
            check_order(kernels[i], dtype, 1, make_finish(dtype, some, zero, 2));
            check_order(kernels[i], dtype, 13, make_finish(dtype, some, one, 3));
            check_order(kernels[i], dtype, 12, make_finish(dtype, some, other, 0));
            check_order(kernels[i], dtype, 13, make_finish(dtype, other, some, 1));
        }
    }
}

/* Around what is held on the stack, and what is gathered at a time. */
static void test_vector_kernels(void **state)
{
    (void)state;
    assert_true(check_shapes(BY_COLUMNS, 40, 1, 40, 300) > 100);
    assert_true(check_shapes(BY_COLUMNS, 1200, 1, 20, 20) > 10);
    assert_true(check_shapes(BY_ROWS, 40, 1, 40, 300) == 1200);
    assert_true(check_shapes(BY_ROWS, 12, 1, 1200, 20) == 80);
    assert_true(check_shapes(BY_ROWS, 1, 1, 1200, 20) == 80);
    assert_true(check_shapes(OUTER, 60, 30, 1, 300) > 100);
}

static void test_blocked_product(void **state)
{
    (void)state;
    assert_true(check_sizes(BLOCKED, 40, 200) == 800);
    assert_true(check_sizes(BLOCKED, 3, 200) == 800);
    /* Past every block boundary, on either side: depths 256 and 512, and some rows and columns. */
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 301, 9, 300));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 1030, 5, 7));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 701, 11, 290));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 701, 11, 290));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 29, 300, 259));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 5, 2117, 258));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 257, 33, 517));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 31, 270, 512));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 100, 140, 1027));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 2, 4200, 17));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 130, 130, 16));
        assert_true(check(BLOCKED, (tnr_dtype)dtype, 555, 1110, 60)); /* rows in several strips, by several blocks */
    }
}

static int open_engine(void **state, tnr_product_source products)
{
    tnr_domain *heap = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.products = products;
    if (tnr_heap_create(&heap) != TNR_OK || tnr_engine_create(heap, &options, &engine) != TNR_OK) {
        return -1;
    }
    *state = heap;
    return 0;
}

static int open_own(void **state) { return open_engine(state, TNR_PRODUCTS_OWN); }

static int open_blis(void **state) { return open_engine(state, TNR_PRODUCTS_BLIS); }

static int close_engine(void **state)
{
    tnr_domain *heap = *state;
    return tnr_engine_destroy(&engine) == TNR_OK && tnr_domain_close(&heap) == TNR_OK ? 0 : -1;
}

static void test_blis_is_refused(void **state)
{
    (void)state;
    tnr_domain *heap = NULL;
    tnr_engine *none = NULL;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.products = TNR_PRODUCTS_BLIS;
    assert_int_equal(tnr_heap_create(&heap), TNR_OK);
    assert_int_equal(tnr_engine_create(heap, &options, &none), TNR_ERR_UNSUPPORTED);
    assert_null(none);
    assert_int_equal(tnr_domain_close(&heap), TNR_OK);
}

/* Rows of every kind of table, in micro-panels by definition: runs whose neighbours are in the next runs, and runs along k, too. */
static void check_packing(tnr_dtype dtype, int width)
{
    enum { ROWS = 400, DEPTH = 21, REACH = 60000 };
    static char from[(size_t)REACH * 16];
    static bool filled;
    static char packed[(size_t)(ROWS + 2 * TNRI_PRODUCT_TILE) * DEPTH * 16];
    const size_t size = tnr_dtype_size(dtype);
    const char zero[16] = {0};
    int64_t rows[ROWS];
    int64_t depths[DEPTH];
    for (size_t i = 0; !filled && i < sizeof from; ++i) {
        from[i] = (char)catalogue_below(&numbers, 256);
    }
    filled = true;
    const int64_t count = 1 + catalogue_below(&numbers, ROWS);
    const int64_t depth = 1 + catalogue_below(&numbers, DEPTH);
    const int64_t run = 1 + catalogue_below(&numbers, 50);
    const int64_t runs = 1 + catalogue_below(&numbers, 20); /* before a third axis */
    const int64_t step = catalogue_below(&numbers, 4) == 0 ? 1 : 100;
    const int64_t begin = catalogue_below(&numbers, run);
    const bool unit_depth = catalogue_below(&numbers, 3) == 0;
    const int64_t depth_run = 1 + catalogue_below(&numbers, 3) * catalogue_below(&numbers, 6); /* neighbours along k */
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = begin + i;
        rows[i] = at % run * step + at / run % runs + at / run / runs * 37;
    }
    for (int64_t p = 0; p < depth; ++p) {
        depths[p] = unit_depth ? 11 + p : p / depth_run * 1999 + p % depth_run;
    }
    const bool unit = tnri_offsets_micro_unit(rows, count, width);
    const int64_t panels = (count + width - 1) / width;
    memset(packed, 0x5A, sizeof packed);
    engine->products->of[dtype].pack(packed, from, rows, count, unit, depths, depth, unit_depth, width);
    for (int64_t i = 0; i < panels * width; ++i) {
        for (int64_t p = 0; p < depth; ++p) {
            const char *found = packed + (size_t)(i / width * width * depth + p * width + i % width) * size;
            assert_memory_equal(found, i < count ? from + (size_t)(rows[i] + depths[p]) * size : zero, size);
        }
    }
    assert_int_equal(packed[(size_t)(panels * width * depth) * size], 0x5A);
}

/* Rows and their neighbours, by definition: a micro-panel for each of the latter. */
static void check_packing_across(tnr_dtype dtype, int width)
{
    enum { LINES = 40, DEPTH = 12, REACH = 60000 };
    static char from[(size_t)REACH * 16];
    static char packed[(size_t)(LINES * DEPTH * TNRI_PRODUCT_TILE + 1) * 16];
    const size_t size = tnr_dtype_size(dtype);
    const char zero[16] = {0};
    int64_t rows[TNRI_PRODUCT_TILE];
    int64_t depths[DEPTH];
    static bool filled;
    for (size_t i = 0; !filled && i < sizeof from; ++i) {
        from[i] = (char)catalogue_below(&numbers, 256);
    }
    filled = true;
    const int live = 1 + (int)catalogue_below(&numbers, (unsigned)width);
    const int lines = 1 + (int)catalogue_below(&numbers, LINES);
    const int64_t depth = 1 + catalogue_below(&numbers, DEPTH);
    for (int r = 0; r < live; ++r) {
        rows[r] = catalogue_below(&numbers, 30000);
    }
    for (int64_t p = 0; p < depth; ++p) {
        depths[p] = catalogue_below(&numbers, 29000);
    }
    memset(packed, 0x5A, sizeof packed);
    engine->products->of[dtype].pack_across(packed, from, rows, live, lines, depths, depth, width);
    for (int i = 0; i < lines; ++i) {
        for (int64_t p = 0; p < depth; ++p) {
            for (int r = 0; r < width; ++r) {
                const char *found = packed + (size_t)((i * depth + p) * width + r) * size;
                assert_memory_equal(found, r < live ? from + (size_t)(rows[r] + depths[p] + i) * size : zero, size);
            }
        }
    }
    assert_int_equal(packed[(size_t)(lines * depth * width) * size], 0x5A);
}

static void test_packing(void **state)
{
    (void)state;
    for (unsigned dtype = TNR_F32; dtype <= TNR_C64; ++dtype) {
        for (int round = 0; round < 400; ++round) {
            check_packing((tnr_dtype)dtype, engine->products->of[dtype].mr);
            check_packing((tnr_dtype)dtype, engine->products->of[dtype].nr);
            check_packing_across((tnr_dtype)dtype, engine->products->of[dtype].mr);
        }
    }
}

int main(void)
{
    numbers = catalogue_seed(31U);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_kernel),     cmocka_unit_test(test_gathering_kernel),
        cmocka_unit_test(test_small_kernel),    cmocka_unit_test(test_vector_kernels),
        cmocka_unit_test(test_blocked_product),
    };
    const struct CMUnitTest own[] = {cmocka_unit_test(test_sums_are_in_order), cmocka_unit_test(test_packing)};
    const int failed = cmocka_run_group_tests_name("own", tests, open_own, close_engine) +
                       cmocka_run_group_tests_name("own alone", own, open_own, close_engine);
    tnr_feature_set features;
    tnr_features(&features);
    if (strcmp(features.blis, "off") == 0) {
        print_message("BLIS is not built in: its tiles are not tested, but refused\n");
        const struct CMUnitTest refusal[] = {cmocka_unit_test(test_blis_is_refused)};
        return failed + cmocka_run_group_tests_name("blis", refusal, NULL, NULL);
    }
    return failed + cmocka_run_group_tests_name("blis", tests, open_blis, close_engine);
}
