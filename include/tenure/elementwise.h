/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file elementwise.h
 * Operations on one element at a time. The rules of every operation are in engine.h; "number" below means
 * f32 f64 c32 c64 i32 i64, "float" f32 f64 c32 c64, "real" f32 f64, "ordered" f32 f64 i32 i64.
 *
 * Operands have one shape, or rank 0: then that one element meets all others. To repeat along some axes, tnr_view_broadcast;
 * to bring dtypes together, tnr_cast; to fill with a value, tnr_broadcast_into from a view of rank 0. For add, sub, mul and div a rank-0 real may
 * meet a complex operand of the same precision (f32 with c32, f64 with c64): it counts as complex with imaginary part 0.
 * Every operation works in place. The result of an element depends on that element alone, not on its position, the layout,
 * or the number of workers (which NaN a result is, where it is one, is not promised); on different instruction sets the
 * functions marked [bound] may differ within their bounds. Those but rsqrt are computed rounding to nearest, whatever the calling
 * thread's rounding.
 *
 * Cost: one pass over the operands, and one over integer divisors and exponents before; when all that is touched is more
 * than the caches hold, compact outputs are written with streaming stores, unless in place.
 */
#ifndef TENURE_ELEMENTWISE_H
#define TENURE_ELEMENTWISE_H

#include "tenure/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name Two operands
 * @{ */
/** a + b. Numbers; integers wrap. */
TNR_API TNR_MUST_CHECK tnr_status tnr_add(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_add */
TNR_API TNR_MUST_CHECK tnr_status tnr_add_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/** a - b. Numbers; integers wrap. */
TNR_API TNR_MUST_CHECK tnr_status tnr_sub(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_sub */
TNR_API TNR_MUST_CHECK tnr_status tnr_sub_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/** a * b. Numbers; integers wrap; complex by the plain formula. */
TNR_API TNR_MUST_CHECK tnr_status tnr_mul(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_mul */
TNR_API TNR_MUST_CHECK tnr_status tnr_mul_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/**
 * a / b. Numbers. Floats as IEEE 754 says. Complex: scaled, so that neither large nor small parts overflow or underflow on
 * the way (after Smith, "Algorithm 116: complex division", CACM 5, 1962, with the scaling of Baudin and Smith,
 * arXiv:1210.4539); by zero, each part is divided by +0. Integers truncate towards zero, MIN / -1 wraps to MIN, and any
 * zero in b is TNR_ERR_NUMERIC, found before the first write, with its index in the text, unless the result is empty.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_div(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_div */
TNR_API TNR_MUST_CHECK tnr_status tnr_div_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/**
 * What is left of a / b truncated towards zero: the sign of a, exact (C's fmod and %). Ordered. Integers: MIN % -1 is 0, a
 * zero in b is TNR_ERR_NUMERIC as in tnr_div.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_rem(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_rem */
TNR_API TNR_MUST_CHECK tnr_status tnr_rem_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/**
 * a to the power b. Numbers. Reals as C's pow. Complex: exp(b log a), a to the 0 is 1, and 0 to a power of positive real
 * part is 0. Integers wrap, 0 to the 0 is 1, and a negative exponent is TNR_ERR_NUMERIC, found before the first write as in
 * tnr_div.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_pow(tnr_engine *engine, const tnr_view *a, const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_pow */
TNR_API TNR_MUST_CHECK tnr_status tnr_pow_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                               const tnr_view_mut *out);

/** The larger. Ordered. NaN if either is NaN; +0 is larger than -0. */
TNR_API TNR_MUST_CHECK tnr_status tnr_maximum(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                              tnr_tensor **out);
/** @copydoc tnr_maximum */
TNR_API TNR_MUST_CHECK tnr_status tnr_maximum_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                                   const tnr_view_mut *out);

/** The smaller. Ordered. NaN if either is NaN; -0 is smaller than +0. */
TNR_API TNR_MUST_CHECK tnr_status tnr_minimum(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                              tnr_tensor **out);
/** @copydoc tnr_minimum */
TNR_API TNR_MUST_CHECK tnr_status tnr_minimum_into(tnr_engine *engine, const tnr_view *a, const tnr_view *b,
                                                   const tnr_view_mut *out);

/** What tnr_compare asks. */
typedef enum tnr_comparison {
    TNR_COMPARE_EQUAL = 0,
    TNR_COMPARE_NOT_EQUAL,
    TNR_COMPARE_LESS,
    TNR_COMPARE_LESS_EQUAL,
    TNR_COMPARE_GREATER,
    TNR_COMPARE_GREATER_EQUAL
} tnr_comparison;

/**
 * Is a <comparison> b? Bool result. All dtypes; complex only TNR_COMPARE_EQUAL and TNR_COMPARE_NOT_EQUAL, else
 * TNR_ERR_UNSUPPORTED; false is less than true. With NaN every answer is false but TNR_COMPARE_NOT_EQUAL's.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_compare(tnr_engine *engine, tnr_comparison comparison, const tnr_view *a,
                                              const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_compare */
TNR_API TNR_MUST_CHECK tnr_status tnr_compare_into(tnr_engine *engine, tnr_comparison comparison, const tnr_view *a,
                                                   const tnr_view *b, const tnr_view_mut *out);
/** @} */

/** @name Three operands
 * @{ */
/** a where `which` is true, else b. `which` is bool; a and b have one dtype, any of the seven. */
TNR_API TNR_MUST_CHECK tnr_status tnr_select(tnr_engine *engine, const tnr_view *which, const tnr_view *a,
                                             const tnr_view *b, tnr_tensor **out);
/** @copydoc tnr_select */
TNR_API TNR_MUST_CHECK tnr_status tnr_select_into(tnr_engine *engine, const tnr_view *which, const tnr_view *a,
                                                  const tnr_view *b, const tnr_view_mut *out);

/** minimum(maximum(a, low), high): NaN in any of the three gives NaN, and with low > high it is high. Ordered. */
TNR_API TNR_MUST_CHECK tnr_status tnr_clamp(tnr_engine *engine, const tnr_view *a, const tnr_view *low,
                                            const tnr_view *high, tnr_tensor **out);
/** @copydoc tnr_clamp */
TNR_API TNR_MUST_CHECK tnr_status tnr_clamp_into(tnr_engine *engine, const tnr_view *a, const tnr_view *low,
                                                 const tnr_view *high, const tnr_view_mut *out);
/** @} */

/** @name One operand
 * @{ */
/** -a. Numbers; integers wrap. */
TNR_API TNR_MUST_CHECK tnr_status tnr_neg(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_neg */
TNR_API TNR_MUST_CHECK tnr_status tnr_neg_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/**
 * |a|. Numbers; complex gives the real dtype of its precision, without overflow on the way, and infinity when a part is
 * infinite, whatever the other; the smallest integer wraps.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_abs(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_abs */
TNR_API TNR_MUST_CHECK tnr_status tnr_abs_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** -1, 0 or 1; NaN stays, zeros keep their sign. Complex: a / |a|, part by part, and a itself where it is 0. Numbers. */
TNR_API TNR_MUST_CHECK tnr_status tnr_sign(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_sign */
TNR_API TNR_MUST_CHECK tnr_status tnr_sign_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** The conjugate; reals are copied. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_conj(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_conj */
TNR_API TNR_MUST_CHECK tnr_status tnr_conj_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** e to the a [bound]. Floats; bounds of all such functions are in docs/elementwise.md. NaN stays NaN. */
TNR_API TNR_MUST_CHECK tnr_status tnr_exp(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_exp */
TNR_API TNR_MUST_CHECK tnr_status tnr_exp_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** Natural logarithm [bound]; complex: the branch with imaginary part in [-pi, pi]. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_log(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_log */
TNR_API TNR_MUST_CHECK tnr_status tnr_log_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** Sine [bound]. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_sin(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_sin */
TNR_API TNR_MUST_CHECK tnr_status tnr_sin_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** Cosine [bound]. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_cos(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_cos */
TNR_API TNR_MUST_CHECK tnr_status tnr_cos_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** Hyperbolic tangent [bound]. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_tanh(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_tanh */
TNR_API TNR_MUST_CHECK tnr_status tnr_tanh_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** Square root, correctly rounded for reals; complex: the root with real part >= 0. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_sqrt(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_sqrt */
TNR_API TNR_MUST_CHECK tnr_status tnr_sqrt_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** 1 / sqrt(a): of a zero the infinity of its sign, of infinity 0 [bound]. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_rsqrt(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_rsqrt */
TNR_API TNR_MUST_CHECK tnr_status tnr_rsqrt_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** exp(a) - 1 without cancellation near 0 [bound]. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_expm1(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_expm1 */
TNR_API TNR_MUST_CHECK tnr_status tnr_expm1_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/** log(1 + a) without cancellation near 0 [bound]. Floats. */
TNR_API TNR_MUST_CHECK tnr_status tnr_log1p(tnr_engine *engine, const tnr_view *a, tnr_tensor **out);
/** @copydoc tnr_log1p */
TNR_API TNR_MUST_CHECK tnr_status tnr_log1p_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);

/**
 * a in another dtype, any of the seven to any: float to integer truncates and saturates, NaN gives 0; integers of another
 * width wrap; f64 to f32 rounds as the calling thread does (to nearest, unless the program changed that); complex to real keeps the real part; anything to bool is "not zero" (either part; NaN is true); bool to
 * number is 0 or 1. The same dtype copies. tnr_cast_into takes the dtype from out.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_cast(tnr_engine *engine, const tnr_view *a, tnr_dtype dtype, tnr_tensor **out);
/** @copydoc tnr_cast */
TNR_API TNR_MUST_CHECK tnr_status tnr_cast_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* TENURE_ELEMENTWISE_H */
