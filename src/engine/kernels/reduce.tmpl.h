/* SPDX-License-Identifier: BSD-3-Clause */
/* The reductions of one dtype (each_dtype.inl.h): what reduce_op.tmpl.h is given for each. */

/* ---- Results that are accumulators as they are ------------------------------------------------------------------------------ */

#if KIND != KIND_BOOL

#if KIND == KIND_INTEGER
#define CARRIER UNSIGNED
#else
#define CARRIER T
#endif

static void NAME(write_plain)(const tnri_reduction *r, char *out, int64_t out_step, const CARRIER *acc, int64_t count,
                              const char *a, int64_t a_step)
{
    (void)r;
    (void)a;
    (void)a_step;
    for (int64_t j = 0; j < count; ++j) {
        *(CARRIER *)(void *)(out + j * out_step) = acc[j];
    }
}

#if KIND == KIND_INTEGER
#define ADD_(x, y) ((x) + (y))
#define MULTIPLY_(x, y) ((x) * (y))
#define COMPONENT UNSIGNED
#elif KIND == KIND_REAL
#define ADD_(x, y) ((x) + (y))
#define MULTIPLY_(x, y) ((x) * (y))
#define COMPONENT REAL
#else
#define ADD_(x, y) NAME(plus)(x, y)
#define MULTIPLY_(x, y) NAME(times)(x, y)
#define COMPONENT REAL
#endif

#define OP sum
#define IN CARRIER
#define ACC CARRIER
#define LIFT(x) (x)
#define JOIN(x, y) ADD_(x, y)
#define LANE COMPONENT
#define VLIFT(v) (v)
#define VJOIN(v, w) ((v) + (w))
#define WRITE NAME(write_plain)
#define PLAIN
#include "reduce_op.tmpl.h"

#define OP prod
#define IN CARRIER
#define ACC CARRIER
#define LIFT(x) (x)
#define JOIN(x, y) MULTIPLY_(x, y)
#if KIND != KIND_COMPLEX
#define LANE COMPONENT
#define VLIFT(v) (v)
#define VJOIN(v, w) ((v) * (w))
#endif
#define WRITE NAME(write_plain)
#define PLAIN
#include "reduce_op.tmpl.h"

#undef ADD_
#undef MULTIPLY_
#undef COMPONENT
#undef CARRIER
#endif

/* ---- Largest and smallest --------------------------------------------------------------------------------------------------- */

#if KIND == KIND_REAL

/*
 * NaN if either is; of two zeros the positive one, the smaller of two: where both are equal their bits differ in the sign of
 * a zero at most. Bit by bit, so that it is the same for numbers and for vectors.
 */
static inline ALWAYS_INLINE NAME(vector) NAME(larger_vector)(NAME(vector) x, NAME(vector) y)
{
    const NAME(mask) wins = x > y;
    const NAME(mask) same = x == y;
    const NAME(mask) nan = x != x; /* NOLINT(misc-redundant-expression) */
    const NAME(mask) larger = ((wins & (NAME(mask))x) | (~wins & (NAME(mask))y)) & (~same | (NAME(mask))x);
    return (NAME(vector))((nan & (NAME(mask))x) | (~nan & larger));
}

static inline ALWAYS_INLINE NAME(vector) NAME(smaller_vector)(NAME(vector) x, NAME(vector) y)
{
    const NAME(mask) wins = x < y;
    const NAME(mask) same = x == y;
    const NAME(mask) nan = x != x; /* NOLINT(misc-redundant-expression) */
    const NAME(mask) smaller = (wins & (NAME(mask))x) | (~wins & (NAME(mask))y) | (same & (NAME(mask))x);
    return (NAME(vector))((nan & (NAME(mask))x) | (~nan & smaller));
}

/* Numbers that differ are the usual case, told by one comparison. */
static inline T NAME(larger)(T x, T y)
{
    if (TNRI_LIKELY(__builtin_islessgreater(x, y))) {
        return x > y ? x : y;
    }
    return x == y ? (x == (T)0 ? x + y : x) : x != x ? x : y;
}

static inline T NAME(smaller)(T x, T y)
{
    if (TNRI_LIKELY(__builtin_islessgreater(x, y))) {
        return x < y ? x : y;
    }
    return x == y ? (x == (T)0 ? -(-x - y) : x) : x != x ? x : y;
}

#define OP max
#define IN T
#define ACC T
#define LIFT(x) (x)
#define JOIN(x, y) NAME(larger)(x, y)
#define LANE T
#define VLIFT(v) (v)
#define VJOIN(v, w) NAME(larger_vector)(v, w)
#define QUICK(v, w) NAME(QUICK_LARGER)(v, w)
#define SIGNED(v, w) (NAME(vector))((NAME(mask))(v) & (NAME(mask))(w))
#define WRITE NAME(write_plain)
#define PLAIN
#include "reduce_op.tmpl.h"

#define OP min
#define IN T
#define ACC T
#define LIFT(x) (x)
#define JOIN(x, y) NAME(smaller)(x, y)
#define LANE T
#define VLIFT(v) (v)
#define VJOIN(v, w) NAME(smaller_vector)(v, w)
#define QUICK(v, w) NAME(QUICK_SMALLER)(v, w)
#define SIGNED(v, w) (NAME(vector))((NAME(mask))(v) | (NAME(mask))(w))
#define WRITE NAME(write_plain)
#define PLAIN
#include "reduce_op.tmpl.h"

static inline bool NAME(is_nan)(T x) { return x != x; }

#elif KIND == KIND_INTEGER

static void NAME(write_order)(const tnri_reduction *r, char *out, int64_t out_step, const T *acc, int64_t count,
                              const char *a, int64_t a_step)
{
    NAME(write_plain)(r, out, out_step, (const UNSIGNED *)acc, count, a, a_step);
}

#define OP max
#define IN T
#define ACC T
#define LIFT(x) (x)
#define JOIN(x, y) ((x) > (y) ? (x) : (y))
#define WRITE NAME(write_order)
#define PLAIN
#include "reduce_op.tmpl.h"

#define OP min
#define IN T
#define ACC T
#define LIFT(x) (x)
#define JOIN(x, y) ((x) < (y) ? (x) : (y))
#define WRITE NAME(write_order)
#define PLAIN
#include "reduce_op.tmpl.h"

static inline bool NAME(is_nan)(T x)
{
    (void)x;
    return false;
}

#endif

#if !TNRI_HAS_I64       /* positions are i64 */
#elif KIND == KIND_REAL /* a NaN beats all but a NaN, so the first one stays */
#define ARG max
#define BEATS(x, best) (((x) > (best)) | (((x) != (x)) & ((best) == (best))))
#include "reduce_arg.tmpl.h"
#define ARG min
#define BEATS(x, best) (((x) < (best)) | (((x) != (x)) & ((best) == (best))))
#include "reduce_arg.tmpl.h"
#elif KIND == KIND_INTEGER
#define ARG max
#define BEATS(x, best) ((x) > (best))
#include "reduce_arg.tmpl.h"
#define ARG min
#define BEATS(x, best) ((x) < (best))
#include "reduce_arg.tmpl.h"
#endif

/* ---- Norms ------------------------------------------------------------------------------------------------------------------- */

/*
 * Squares are added up as they are, and the sum is looked at: inside LEAST_SQUARES..MOST_SQUARES nothing was lost that counts.
 * Outside, the largest magnitude decides: it is not finite, it is zero, or all terms are scaled by a power of two that brings
 * it to about 1 and are added up once more. A complex accumulator has the squares of real and of imaginary parts.
 */
#if KIND == KIND_REAL || KIND == KIND_COMPLEX

#if KIND == KIND_REAL
static inline T NAME(squares)(T x) { return x * x; }
static inline REAL NAME(all_squares)(T acc) { return acc; }
static inline T NAME(scaled)(T x, REAL by) { return x * by; }
static inline REAL_NAME(bits) NAME(peak_key)(T x) { return REAL_NAME(magnitude_key)(x); }
#else
static inline T NAME(squares)(T x) { return (T){x.re * x.re, x.im * x.im}; }
static inline REAL NAME(all_squares)(T acc) { return acc.re + acc.im; }
static inline T NAME(scaled)(T x, REAL by) { return (T){x.re * by, x.im * by}; }
static inline REAL_NAME(bits) NAME(peak_key)(T x)
{
    const REAL_NAME(bits) re = REAL_NAME(magnitude_key)(x.re);
    const REAL_NAME(bits) im = REAL_NAME(magnitude_key)(x.im);
    return re > im ? re : im;
}
#endif

#define OP peak
#define IN T
#define ACC REAL_NAME(bits)
#define LIFT(x) NAME(peak_key)(x)
#define JOIN(x, y) ((x) > (y) ? (x) : (y))
#include "reduce_op.tmpl.h"

#if KIND == KIND_REAL
#define ADD_(x, y) ((x) + (y))
#else
#define ADD_(x, y) NAME(plus)(x, y)
#endif

#define OP scaled
#define IN T
#define ACC T
#define LIFT(x) NAME(squares)(NAME(scaled)(x, (REAL)r->scale))
#define JOIN(x, y) ADD_(x, y)
#include "reduce_op.tmpl.h"

/* Output number j of those that begin at a. */
static TNRI_NOINLINE REAL NAME(norm_scaled)(const tnri_reduction *r, const char *a, int64_t a_step, int64_t j,
                                            REAL scale)
{
    _Alignas(64) T sums[LINE_LEVELS_BYTES / sizeof(T)];
    tnri_reduction scaled = *r;
    scaled.scale = (double)scale;
    tnri_reduction inner;
    if (r->inner != NULL) {
        inner = *r->inner;
        inner.scale = (double)scale;
        scaled.inner = &inner;
    }
    const int64_t columns = r->lines ? r->columns : 1;
    const char *from = r->lines ? a : a + j * a_step;
    NAME(tree_scaled)(&scaled, from, columns, 0, r->tiles, sums, LINE_LEVELS_BYTES / (int64_t)sizeof(T) / columns);
    if (r->lines) {
        NAME(fold_scaled)(sums, columns, r->group);
    }
    return MATH(sqrt)(NAME(all_squares)(sums[r->lines ? j : 0])) / scale;
}

/* Outputs of which some had too large, too small, infinite or undefined sums of squares. */
static TNRI_NOINLINE void NAME(norm_again)(const tnri_reduction *r, char *out, int64_t out_step, const T *acc,
                                           int64_t count, const char *a, int64_t a_step)
{
    _Alignas(64) REAL_NAME(bits) peaks[PARTIAL_BYTES / sizeof(T)];
    const int64_t room = PARTIAL_BYTES / (int64_t)sizeof(T);
    const int64_t columns = r->lines ? r->columns : count;
    NAME(tree_peak)(r, a, columns, 0, r->tiles, peaks, room / columns);
    if (r->lines) {
        NAME(fold_peak)(peaks, columns, r->group);
    }
    for (int64_t j = 0; j < count; ++j) {
        const REAL squares = NAME(all_squares)(acc[j]);
        if (squares >= REAL_NAME(least_squares) && squares <= REAL_NAME(most_squares)) {
            continue;
        }
        REAL norm = REAL_NAME(magnitude_of)(peaks[j]);
        if (norm > (REAL)0 && norm <= REAL_NAME(most)) {
            norm = NAME(norm_scaled)(r, a, a_step, j, REAL_NAME(scale_for)(norm));
        }
        *(REAL *)(void *)(out + j * out_step) = norm;
    }
}

static void NAME(write_norm)(const tnri_reduction *r, char *out, int64_t out_step, const T *acc, int64_t count,
                             const char *a, int64_t a_step)
{
    bool again = false;
    for (int64_t j = 0; j < count; ++j) {
        const REAL squares = NAME(all_squares)(acc[j]);
        *(REAL *)(void *)(out + j * out_step) = MATH(sqrt)(squares);
        again |= !(squares >= REAL_NAME(least_squares) && squares <= REAL_NAME(most_squares));
    }
    if (TNRI_UNLIKELY(again)) {
        NAME(norm_again)(r, out, out_step, acc, count, a, a_step);
    }
}

#define OP norm
#define IN T
#define ACC T
#define LIFT(x) NAME(squares)(x)
#define JOIN(x, y) ADD_(x, y)
#define LANE REAL
#define VLIFT(v) ((v) * (v))
#define VJOIN(v, w) ((v) + (w))
#define WRITE NAME(write_norm)
#include "reduce_op.tmpl.h"
#undef ADD_

#endif

/* ---- Truth ------------------------------------------------------------------------------------------------------------------- */

#if KIND == KIND_BOOL

static void NAME(write_truth)(const tnri_reduction *r, char *out, int64_t out_step, const T *acc, int64_t count,
                              const char *a, int64_t a_step)
{
    (void)r;
    (void)a;
    (void)a_step;
    for (int64_t j = 0; j < count; ++j) {
        *(T *)(void *)(out + j * out_step) = acc[j] != 0;
    }
}

#define OP all
#define IN T
#define ACC T
#define LIFT(x) (x)
#define JOIN(x, y) ((x) < (y) ? (x) : (y))
#define DECIDED(x) ((x) == 0)
#define WRITE NAME(write_truth)
#include "reduce_op.tmpl.h"

#define OP any
#define IN T
#define ACC T
#define LIFT(x) (x)
#define JOIN(x, y) ((T)((x) | (y)))
#define DECIDED(x) ((x) != 0)
#define WRITE NAME(write_truth)
#include "reduce_op.tmpl.h"

#endif
