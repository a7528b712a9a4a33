/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From FROM (FROM_SUFFIX, FROM_REAL_SUFFIX, FROM_KIND) to one dtype (each_dtype.inl.h): the value, then the kernel.
 *
 * Output and input may be the very same bytes. Their types are ones that may alias anything, so that every element is read
 * before it is written, also the half of a complex one that does not depend on it.
 */

#if FROM_KIND == KIND_COMPLEX
#define REAL_PART(a) ((a).re)
#elif FROM_KIND == KIND_BOOL
#define REAL_PART(a) ((a) != 0)
#else
#define REAL_PART(a) (a)
#endif

#define OUT NAME(aliased)

static inline OUT NAME(JOIN_SUFFIX(converted, FROM_SUFFIX))(FROM a)
{
#if KIND == KIND_COMPLEX && FROM_KIND == KIND_COMPLEX
    return (OUT){(REAL)a.re, (REAL)a.im};
#elif KIND == KIND_COMPLEX
    return (OUT){(REAL)REAL_PART(a), (REAL)0};
#elif KIND == KIND_BOOL && FROM_KIND == KIND_COMPLEX
    return (OUT)((a.re != 0) | (a.im != 0));
#elif KIND == KIND_BOOL && FROM_KIND == KIND_BOOL
    return a;
#elif KIND == KIND_BOOL
    return (OUT)(a != 0);
#elif KIND == KIND_INTEGER && (FROM_KIND == KIND_REAL || FROM_KIND == KIND_COMPLEX)
    return NAME(JOIN_SUFFIX(saturated, FROM_REAL_SUFFIX))(REAL_PART(a));
#else
    return (OUT)REAL_PART(a); /* integers of another width wrap, as both compilers promise */
#endif
}

#define IN JOIN_SUFFIX(aliased, FROM_SUFFIX)
#define KERNEL JOIN_SUFFIX(from, FROM_SUFFIX)
#define APPLY NAME(JOIN_SUFFIX(converted, FROM_SUFFIX))
#if KIND == KIND_BOOL
#define HOW NARROW
#else
#define HOW STREAMS
#endif
#include "unary.tmpl.h"
#undef HOW
#undef OUT
#undef IN
#undef REAL_PART
