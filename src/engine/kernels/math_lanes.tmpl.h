/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The math functions of one real dtype on one vector. Each clears in *good the lanes that the C library must compute, where
 * the result of this file is of no use; all else is within the bounds of docs/elementwise.md.
 *
 * The methods are the classical ones: argument reduction after Cody and Waite ("Software Manual for the Elementary
 * Functions", 1980), the logarithm through log((1+s)/(1-s)) (Tang, ACM TOMS 16, 1990, and every C library since),
 * polynomials summed by pairs, so that chains of dependent operations stay short.
 *
 * Zeros: a sum like x - x^3/6 of x = -0 is +0, so odd functions take the sign bit of their argument at the end, which they
 * have anyhow.
 */
#define VECTOR NAME(lanes)
#define BITS NAME(bits)
#define WHERE NAME(where)
#define FUSED NAME(fused)
#define SPLAT NAME(splat)
#define SPLAT_BITS NAME(splat_bits)

/* sum of terms[i] z^i, by pairs: chains of dependent operations stay short */
LANES_INLINE VECTOR NAME(polynomial)(VECTOR z, const T *terms, int count)
{
    const VECTOR z2 = z * z;
    int i = (count & 1) != 0 ? count - 1 : count - 2;
    VECTOR sum = (count & 1) != 0 ? SPLAT(terms[i]) : FUSED(SPLAT(terms[i + 1]), z, SPLAT(terms[i]));
    for (i -= 2; i >= 0; i -= 2) {
        sum = FUSED(sum, z2, FUSED(SPLAT(terms[i + 1]), z, SPLAT(terms[i])));
    }
    return sum;
}
#define POLYNOMIAL(z, terms) NAME(polynomial)((z), (terms), COUNT(terms))

LANES_INLINE VECTOR NAME(magnitude)(VECTOR x) { return (VECTOR)((BITS)x & SPLAT_BITS(NAME(SIGN) - 1U)); }
LANES_INLINE BITS NAME(sign_bit)(VECTOR x) { return (BITS)x & SPLAT_BITS(NAME(SIGN)); }

/* x = k ln 2 + r; `rounded` has k in its last bits. */
LANES_INLINE VECTOR NAME(exp_rounded)(VECTOR x) { return FUSED(x, SPLAT(NAME(LOG2_E)), SPLAT(NAME(ROUNDER))); }

LANES_INLINE VECTOR NAME(exp_lanes)(VECTOR x, WHERE *good)
{
    *good = NAME(both)(*good, NAME(at_most)(NAME(magnitude)(x), SPLAT(NAME(EXP_LIMIT))));
    const VECTOR rounded = NAME(exp_rounded)(x);
    const VECTOR k = rounded - SPLAT(NAME(ROUNDER));
    VECTOR r = FUSED(k, SPLAT(-NAME(LN2_HIGH)), x);
    r = FUSED(k, SPLAT(-NAME(LN2_LOW)), r);
    const VECTOR less_one = FUSED(r * r, POLYNOMIAL(r, NAME(exp_terms)), r);
    return (VECTOR)((BITS)(SPLAT((T)1) + less_one) + ((BITS)rounded << NAME(FRACTION)));
}

/* e^x - 1 without its limits: r is kept in two parts, since 2^k e^r may cancel against the 1. */
LANES_INLINE VECTOR NAME(expm1_unchecked)(VECTOR x)
{
    const VECTOR rounded = NAME(exp_rounded)(x);
    const VECTOR k = rounded - SPLAT(NAME(ROUNDER));
    const VECTOR high = FUSED(k, SPLAT(-NAME(LN2_HIGH)), x);
    const VECTOR low = k * SPLAT(NAME(LN2_LOW));
    const VECTOR r = high - low;
    const VECTOR left = (high - r) - low;
    const VECTOR power = (VECTOR)(((BITS)rounded << NAME(FRACTION)) + SPLAT_BITS(NAME(ONE)));
    const VECTOR rest = FUSED(r * r, POLYNOMIAL(r, NAME(exp_terms)), left);
    return FUSED(power, rest, FUSED(power, r, power - SPLAT((T)1)));
}

LANES_INLINE VECTOR NAME(expm1_lanes)(VECTOR x, WHERE *good)
{
    *good = NAME(both)(*good, NAME(at_most)(NAME(magnitude)(x), SPLAT(NAME(EXP_LIMIT))));
    return (VECTOR)((BITS)NAME(expm1_unchecked)(x) | NAME(sign_bit)(x));
}

/* (e^2x - 1) / (e^2x + 1), by |x| */
LANES_INLINE VECTOR NAME(tanh_lanes)(VECTOR x, WHERE *good)
{
    (void)good;
    const VECTOR a = NAME(capped)(NAME(magnitude)(x), SPLAT(NAME(TANH_CAP)));
    const VECTOR e = NAME(expm1_unchecked)(a + a);
    return (VECTOR)((BITS)NAME(ratio)(e, e + SPLAT((T)2)) | NAME(sign_bit)(x));
}

/*
 * k ln 2 + log(1 + f), where log(1 + f) = s (2 + R) = f - s (f - R) for s = f / (2 + f). What is small is added up first, then f,
 * then k ln 2.
 */
LANES_INLINE VECTOR NAME(log_of)(VECTOR f, VECTOR two_and_f, VECTOR k)
{
    const VECTOR s = NAME(ratio)(f, two_and_f);
    const VECTOR z = s * s;
    const VECTOR r_less_f = FUSED(z, POLYNOMIAL(z, NAME(log_terms)), -f);
    const VECTOR small = FUSED(s, r_less_f, k * SPLAT(NAME(LN2_LOW)));
    return FUSED(k, SPLAT(NAME(LN2_HIGH)), f + small);
}

/* x = 2^k m, m from sqrt 1/2 to sqrt 2: adding 1 / sqrt 1/2 to the bits carries into the exponent from there on. */
LANES_INLINE BITS NAME(log_split)(VECTOR x) { return (BITS)x + SPLAT_BITS(NAME(ONE) - NAME(ROOT_HALF)); }
LANES_INLINE VECTOR NAME(log_exponent)(BITS biased)
{
    return (VECTOR)(biased | SPLAT_BITS(NAME(OFFSET_BITS))) - SPLAT(NAME(OFFSET) + (T)NAME(BIAS));
}

LANES_INLINE VECTOR NAME(log_lanes)(VECTOR x, WHERE *good)
{
    /* Positive normal numbers, by one comparison: shifted so that they come first. */
    const BITS from_least = (BITS)x + SPLAT_BITS(NAME(SIGN) - NAME(LEAST_NORMAL));
    *good =
        NAME(both)(*good, NAME(under)(from_least, SPLAT_BITS(NAME(SIGN) + (NAME(INFINITE_BITS) - NAME(LEAST_NORMAL)))));
    const BITS split = NAME(log_split)(x);
    const VECTOR k = NAME(log_exponent)(split >> NAME(FRACTION));
    const VECTOR m = (VECTOR)((split & SPLAT_BITS(NAME(LEAST_NORMAL) - 1U)) + SPLAT_BITS(NAME(ROOT_HALF)));
    return NAME(log_of)(m - SPLAT((T)1), m + SPLAT((T)1), k);
}

/* 1 + x = 2^k (1 + f): f = 2^-k x + (2^-k - 1) is rounded once, whatever 1 + x lost. */
LANES_INLINE VECTOR NAME(log1p_lanes)(VECTOR x, WHERE *good)
{
    *good = NAME(both)(*good, NAME(at_most)(SPLAT(NAME(LOG1P_LEAST)), x));
    *good = NAME(both)(*good, NAME(at_most)(x, SPLAT(NAME(LOG1P_LIMIT))));
    const BITS exponent = NAME(log_split)(SPLAT((T)1) + x) >> NAME(FRACTION);
    const VECTOR scale = (VECTOR)((SPLAT_BITS(2U * NAME(BIAS)) - exponent) << NAME(FRACTION));
    const VECTOR f = FUSED(x, scale, scale - SPLAT((T)1));
    return (VECTOR)((BITS)NAME(log_of)(f, SPLAT((T)2) + f, NAME(log_exponent)(exponent)) | NAME(sign_bit)(x));
}

/* r = x - n pi, n an integer or half of an odd one. Its square does without the last piece of pi. */
LANES_INLINE VECTOR NAME(turn)(VECTOR x, VECTOR n, VECTOR *square)
{
    VECTOR r = x;
    for (int i = 0; i < PIECES_OF_PI - 1; ++i) {
        r = FUSED(n, SPLAT(-NAME(pi)[i]), r);
    }
    *square = r * r;
    return FUSED(n, SPLAT(-NAME(pi)[PIECES_OF_PI - 1]), r);
}

/* The last bit, moved to the sign. */
LANES_INLINE BITS NAME(odd_sign)(BITS n) { return n << (8U * sizeof(T) - 1U); }

/* sin r for |r| <= pi / 2; +0 for -0 */
LANES_INLINE VECTOR NAME(sin_of)(VECTOR r, VECTOR square)
{
    return FUSED(square * r, POLYNOMIAL(square, NAME(sin_terms)), r);
}

LANES_INLINE VECTOR NAME(sin_lanes)(VECTOR x, WHERE *good)
{
    *good = NAME(both)(*good, NAME(at_most)(NAME(magnitude)(x), SPLAT(NAME(TURN_LIMIT))));
    const VECTOR rounded = FUSED(x, SPLAT(NAME(ONE_OVER_PI)), SPLAT(NAME(ROUNDER)));
    VECTOR square;
    const BITS left = (BITS)NAME(turn)(x, rounded - SPLAT(NAME(ROUNDER)), &square);
    const VECTOR r = (VECTOR)(left ^ NAME(odd_sign)((BITS)rounded)); /* the sine of -r is -sin r */
    return (VECTOR)((BITS)NAME(sin_of)(r, square) | NAME(sign_bit)(r));
}

/* cos x = (-1)^(n+1) sin(x - (n + 1/2) pi) */
LANES_INLINE VECTOR NAME(cos_lanes)(VECTOR x, WHERE *good)
{
    const VECTOR a = NAME(magnitude)(x);
    *good = NAME(both)(*good, NAME(at_most)(a, SPLAT(NAME(TURN_LIMIT))));
    const VECTOR rounded = FUSED(a, SPLAT(NAME(ONE_OVER_PI)), SPLAT((T)-0.5)) + SPLAT(NAME(ROUNDER));
    VECTOR square;
    const BITS left = (BITS)NAME(turn)(a, (rounded - SPLAT(NAME(ROUNDER))) + SPLAT((T)0.5), &square);
    return NAME(sin_of)((VECTOR)(left ^ NAME(odd_sign)(~(BITS)rounded)), square);
}

LANES_INLINE VECTOR NAME(sqrt_lanes)(VECTOR x, WHERE *good)
{
    (void)good;
    return NAME(root)(x);
}

LANES_INLINE VECTOR NAME(rsqrt_lanes)(VECTOR x, WHERE *good)
{
    (void)good;
    return SPLAT((T)1) / NAME(root)(x);
}

#undef POLYNOMIAL
#undef VECTOR
#undef BITS
#undef WHERE
#undef FUSED
#undef SPLAT
#undef SPLAT_BITS
