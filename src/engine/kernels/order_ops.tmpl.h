/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order and equality of one dtype (each_dtype.inl.h): what they are on values, then the kernels. Everything is a choice
 * between values that are there, without branches, so that loops over them become vector code.
 */

/* ---- Values ------------------------------------------------------------------------------------------------------------------- */

#if KIND == KIND_REAL

/*
 * Asked in both orders, which of two is larger has two answers only for zeros of different sign and for NaN. "And" of the two
 * answers' bits is the larger zero, "or" the smaller; and all bits set is a NaN.
 */
static inline T NAME(larger)(T a, T b)
{
    const T first = a > b ? a : b;
    const T second = b > a ? b : a;
    BITS x;
    BITS y;
    memcpy(&x, &first, sizeof x);
    memcpy(&y, &second, sizeof y);
    x = (x & y) | (__builtin_isunordered(a, b) ? ~(BITS)0 : (BITS)0);
    memcpy(&a, &x, sizeof a);
    return a;
}

static inline T NAME(smaller)(T a, T b)
{
    const T first = a < b ? a : b;
    const T second = b < a ? b : a;
    BITS x;
    BITS y;
    memcpy(&x, &first, sizeof x);
    memcpy(&y, &second, sizeof y);
    x = x | y | (__builtin_isunordered(a, b) ? ~(BITS)0 : (BITS)0);
    memcpy(&a, &x, sizeof a);
    return a;
}

#elif KIND == KIND_INTEGER

static inline T NAME(larger)(T a, T b) { return a > b ? a : b; }
static inline T NAME(smaller)(T a, T b) { return a < b ? a : b; }

#endif

#if KIND == KIND_COMPLEX
static inline uint8_t NAME(is_equal)(T a, T b) { return (uint8_t)((a.re == b.re) & (a.im == b.im)); }
#else
#if KIND == KIND_BOOL
#define RANKED(a) ((a) != 0)
#else
#define RANKED(a) (a)
#endif
static inline uint8_t NAME(is_equal)(T a, T b) { return RANKED(a) == RANKED(b); }
static inline uint8_t NAME(is_less)(T a, T b) { return RANKED(a) < RANKED(b); }
static inline uint8_t NAME(is_at_most)(T a, T b) { return RANKED(a) <= RANKED(b); }
#undef RANKED
#endif
static inline uint8_t NAME(is_other)(T a, T b) { return (uint8_t)(NAME(is_equal)(a, b) ^ 1); }

#if KIND == KIND_REAL || KIND == KIND_INTEGER
static inline T NAME(clamped)(T a, T low, T high) { return NAME(smaller)(NAME(larger)(a, low), high); }
#endif

/* ---- Kernels ------------------------------------------------------------------------------------------------------------------ */

#define IN T
#if KIND == KIND_REAL || KIND == KIND_INTEGER
#define OUT T
#define HOW STREAMS
#define KERNEL maximum
#define APPLY NAME(larger)
#include "binary.tmpl.h"
#define KERNEL minimum
#define APPLY NAME(smaller)
#include "binary.tmpl.h"
#define FIRST T
#define KERNEL clamp
#define APPLY NAME(clamped)
#include "ternary.tmpl.h"
#undef FIRST
#undef HOW
#undef OUT
#endif

#if TNRI_HAS_BOOL
#define OUT uint8_t
#define HOW NARROW
#define KERNEL equal
#define APPLY NAME(is_equal)
#include "binary.tmpl.h"
#define KERNEL not_equal
#define APPLY NAME(is_other)
#include "binary.tmpl.h"
#if KIND != KIND_COMPLEX
#define KERNEL less
#define APPLY NAME(is_less)
#include "binary.tmpl.h"
#define KERNEL less_equal
#define APPLY NAME(is_at_most)
#include "binary.tmpl.h"
#endif
#undef HOW
#undef OUT
#endif
#undef IN
