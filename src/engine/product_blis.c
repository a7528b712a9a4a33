/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BLIS's micro-kernels for the running CPU as register tiles inside our own loops. The only file that includes blis.h.
 *
 * A micro-kernel makes the sums of one tile, and the library's own finish puts them into the result: so scalars, conjugation,
 * strides and complex numbers are as with our tiles (product_kernels.h), and a real kernel serves complex products too. One that
 * prefers rows is given the operands in exchanged parts.
 *
 * Guarantees: BLIS's pools, locks and threads take no part in a product; BLIS is asked once per process, when the first engine that
 * may use it is made, and takes memory from the C library then. Kernels are tried on numbers whose product is known, for a version of
 * BLIS that packs operands otherwise would give wrong ones: such kernels are not used. Which context runs is BLIS's choice, and its
 * BLIS_ARCH_TYPE's.
 */
#define _POSIX_C_SOURCE 200809L /* blis.h names POSIX barriers */

#include "product_internal.h"

#if defined(__GNUC__) /* the vendor's header is not written for our warnings */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#include <blis.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* ---- Of BLIS's two interfaces: since 1.0 kernels are of one type, and the header tells its version ------------------------------ */

#ifdef BLIS_VERSION_STRING
typedef const cntx_t blis_context;
typedef gemm_ukr_ft kernel_f32;
typedef gemm_ukr_ft kernel_f64;

static void_fp kernel_of(num_t type, blis_context *context)
{
    return bli_cntx_get_ukr_dt(type, BLIS_GEMM_UKR, context);
}

static bool prefers_rows(num_t type, blis_context *context)
{
    return bli_cntx_get_ukr_prefs_dt(type, BLIS_GEMM_UKR_ROW_PREF, context);
}
#else
typedef cntx_t blis_context;
typedef sgemm_ukr_ft kernel_f32;
typedef dgemm_ukr_ft kernel_f64;

static void_fp kernel_of(num_t type, blis_context *context)
{
    return bli_cntx_get_l3_nat_ukr_dt(type, BLIS_GEMM_UKR, context);
}

static bool prefers_rows(num_t type, blis_context *context)
{
    return bli_cntx_l3_nat_ukr_prefers_rows_dt(type, BLIS_GEMM_UKR, context);
}
#endif

/* ---- What BLIS has for this CPU: written once, before the table is published ----------------------------------------------------- */

typedef struct tile_shape {
    int rows, columns; /* of the tile as we see it, in reals */
    bool exchanged;    /* BLIS sees our columns as its rows */
} tile_shape;

static blis_context *context;
static kernel_f32 call_f32;
static kernel_f64 call_f64;
static tile_shape shape_f32;
static tile_shape shape_f64;
static const tnri_product_table *finishes; /* whose finish it is */
static tnri_product_table table;

#define SUMS_BYTES 18432 /* of the largest tile, of doubles */

static void sums_f32(int64_t k, const void *a, const void *b, float *sums)
{
    static const float one = 1.0F;
    static const float zero = 0.0F;
    const tile_shape s = shape_f32;
    float *first = (float *)(s.exchanged ? b : a);
    float *second = (float *)(s.exchanged ? a : b);
    auxinfo_t others = {.a_next = first, .b_next = second};
    call_f32(s.exchanged ? s.columns : s.rows, s.exchanged ? s.rows : s.columns, k, (float *)&one, first, second,
             (float *)&zero, sums, s.exchanged ? s.rows : 1, s.exchanged ? 1 : s.rows, &others, context);
}

static void sums_f64(int64_t k, const void *a, const void *b, double *sums)
{
    static const double one = 1.0;
    static const double zero = 0.0;
    const tile_shape s = shape_f64;
    double *first = (double *)(s.exchanged ? b : a);
    double *second = (double *)(s.exchanged ? a : b);
    auxinfo_t others = {.a_next = first, .b_next = second};
    call_f64(s.exchanged ? s.columns : s.rows, s.exchanged ? s.rows : s.columns, k, (double *)&one, first, second,
             (double *)&zero, sums, s.exchanged ? s.rows : 1, s.exchanged ? 1 : s.rows, &others, context);
}

static void tile_of_floats(tnr_dtype dtype, int64_t k, const void *a, const void *b, const tnri_tile *tile,
                           const tnri_finish *finish)
{
    _Alignas(64) float sums[SUMS_BYTES / sizeof(float)];
    sums_f32(k, a, b, sums);
    finishes->of[dtype].finish(sums, shape_f32.rows, tile, finish);
}

static void tile_of_doubles(tnr_dtype dtype, int64_t k, const void *a, const void *b, const tnri_tile *tile,
                            const tnri_finish *finish)
{
    _Alignas(64) double sums[SUMS_BYTES / sizeof(double)];
    sums_f64(k, a, b, sums);
    finishes->of[dtype].finish(sums, shape_f64.rows, tile, finish);
}

static void tile_f32(int64_t k, const void *a, const void *b, const tnri_tile *tile, const tnri_finish *finish)
{
    tile_of_floats(TNR_F32, k, a, b, tile, finish);
}

static void tile_c32(int64_t k, const void *a, const void *b, const tnri_tile *tile, const tnri_finish *finish)
{
    tile_of_floats(TNR_C32, k, a, b, tile, finish);
}

static void tile_f64(int64_t k, const void *a, const void *b, const tnri_tile *tile, const tnri_finish *finish)
{
    tile_of_doubles(TNR_F64, k, a, b, tile, finish);
}

static void tile_c64(int64_t k, const void *a, const void *b, const tnri_tile *tile, const tnri_finish *finish)
{
    tile_of_doubles(TNR_C64, k, a, b, tile, finish);
}

/* ---- Filling the table ----------------------------------------------------------------------------------------------------------- */

/*
 * False where tiles of that shape cannot be used: complex ones need pairs, micro-panels that are full have no gaps between, and rows are
 * cut at multiples of a vector, `step` reals.
 */
static bool shape_of(num_t type, size_t size, int step, tile_shape *shape)
{
    const dim_t rows = bli_cntx_get_blksz_def_dt(type, BLIS_MR, context);
    const dim_t columns = bli_cntx_get_blksz_def_dt(type, BLIS_NR, context);
    if (rows <= 0 || columns <= 0 || rows % 2 != 0 || columns % 2 != 0 || rows > TNRI_PRODUCT_TILE ||
        columns > TNRI_PRODUCT_TILE || (size_t)rows * (size_t)columns * size > SUMS_BYTES ||
        bli_cntx_get_blksz_max_dt(type, BLIS_MR, context) != rows ||
        bli_cntx_get_blksz_max_dt(type, BLIS_NR, context) != columns) {
        return false;
    }
    shape->exchanged = prefers_rows(type, context);
    shape->rows = (int)(shape->exchanged ? columns : rows);
    shape->columns = (int)(shape->exchanged ? rows : columns);
    return shape->rows % step == 0;
}

#define TRIED_DEPTH 5

/* Element i of an operand to try kernels on: small whole numbers, so that products are exact. */
static int number(int i) { return i * 37 % 11 - 5; }

static bool works_f32(void)
{
    _Alignas(64) float a[(TNRI_PRODUCT_TILE + 8) * TRIED_DEPTH];
    _Alignas(64) float b[(TNRI_PRODUCT_TILE + 8) * TRIED_DEPTH];
    _Alignas(64) float sums[SUMS_BYTES / sizeof(float)];
    for (int i = 0; i < (TNRI_PRODUCT_TILE + 8) * TRIED_DEPTH; ++i) {
        a[i] = (float)number(i);
        b[i] = (float)number(i + 3);
    }
    sums_f32(TRIED_DEPTH, a, b, sums);
    for (int j = 0; j < shape_f32.columns; ++j) {
        for (int i = 0; i < shape_f32.rows; ++i) {
            float sum = 0.0F;
            for (int p = 0; p < TRIED_DEPTH; ++p) {
                sum += a[p * shape_f32.rows + i] * b[p * shape_f32.columns + j];
            }
            if (sums[j * shape_f32.rows + i] != sum) {
                return false;
            }
        }
    }
    return true;
}

static bool works_f64(void)
{
    _Alignas(64) double a[(TNRI_PRODUCT_TILE + 8) * TRIED_DEPTH];
    _Alignas(64) double b[(TNRI_PRODUCT_TILE + 8) * TRIED_DEPTH];
    _Alignas(64) double sums[SUMS_BYTES / sizeof(double)];
    for (int i = 0; i < (TNRI_PRODUCT_TILE + 8) * TRIED_DEPTH; ++i) {
        a[i] = number(i);
        b[i] = number(i + 3);
    }
    sums_f64(TRIED_DEPTH, a, b, sums);
    for (int j = 0; j < shape_f64.columns; ++j) {
        for (int i = 0; i < shape_f64.rows; ++i) {
            double sum = 0.0;
            for (int p = 0; p < TRIED_DEPTH; ++p) {
                sum += a[p * shape_f64.rows + i] * b[p * shape_f64.columns + j];
            }
            if (sums[j * shape_f64.rows + i] != sum) {
                return false;
            }
        }
    }
    return true;
}

/* The library's own kernel, but for its tiles. `parts`: 2 for complex numbers. */
static void take_tile(tnr_dtype dtype, const tile_shape *shape, int parts,
                      void (*tile)(int64_t, const void *, const void *, const tnri_tile *, const tnri_finish *))
{
    tnri_product_kernel *kernel = &table.of[dtype];
    *kernel = finishes->of[dtype];
    kernel->mr = shape->rows / parts;
    kernel->nr = shape->columns / parts;
    kernel->tile = tile;
    kernel->tile_in_place = NULL;
}

/* BLIS is asked, and what it answers is tried. */
static bool fill(const tnri_product_table *own)
{
    if (bli_info_get_int_type_size() != (gint_t)(8 * sizeof(gint_t))) { /* a header of another library */
        return false;
    }
    context = bli_gks_query_cntx();
    if (context == NULL || !shape_of(BLIS_FLOAT, sizeof(float), own->of[TNR_F32].step, &shape_f32) ||
        !shape_of(BLIS_DOUBLE, sizeof(double), own->of[TNR_F64].step, &shape_f64)) {
        return false;
    }
    const void_fp of_floats = kernel_of(BLIS_FLOAT, context);
    const void_fp of_doubles = kernel_of(BLIS_DOUBLE, context);
    memcpy(&call_f32, &of_floats, sizeof call_f32); /* BLIS keeps them as pointers to objects, or did once */
    memcpy(&call_f64, &of_doubles, sizeof call_f64);
    if (call_f32 == NULL || call_f64 == NULL || !works_f32() || !works_f64()) {
        return false;
    }
    finishes = own;
    take_tile(TNR_F32, &shape_f32, 1, tile_f32);
    take_tile(TNR_F64, &shape_f64, 1, tile_f64);
    take_tile(TNR_C32, &shape_f32, 2, tile_c32);
    take_tile(TNR_C64, &shape_f64, 2, tile_c64);
    return true;
}

const tnri_product_table *tnri_product_blis(const tnri_product_table *own, bool *native)
{
    enum { UNKNOWN, WORKS, FAILS };
    static atomic_int known;
    static tnri_turn turn;
    int answer = atomic_load_explicit(&known, memory_order_acquire);
    if (answer == UNKNOWN) {
        tnri_turn_take(&turn);
        answer = atomic_load_explicit(&known, memory_order_relaxed);
        if (answer == UNKNOWN) {
            tnri_foreign_begin();
            answer = fill(own) ? WORKS : FAILS;
            tnri_foreign_end();
            atomic_store_explicit(&known, answer, memory_order_release);
        }
        tnri_turn_give(&turn);
    }
    *native = answer == WORKS && bli_arch_query_id() != BLIS_ARCH_GENERIC;
    return answer == WORKS ? &table : NULL;
}
