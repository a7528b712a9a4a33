/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of a sum of products of one dtype (each_dtype.inl.h), after fused.inl.h and arithmetic.inl.h. */

/* x * y + sum, in one: of a complex product the parts are rounded before they are added. */
static inline ALWAYS_INLINE T NAME(times_plus)(T x, T y, T sum)
{
#if KIND == KIND_COMPLEX
    return NAME(plus)(sum, NAME(times)(x, y));
#else
    return REAL_NAME(fused)(x, y, sum);
#endif
}
