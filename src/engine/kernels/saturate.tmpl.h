/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reals to one integer dtype: truncated, NaN is 0, and what lies beyond becomes the nearest end. 2^31 and 2^63 are reals of
 * both precisions, so all comparisons are exact, and only numbers that fit are converted. No branches.
 */
#define BEYOND (-(double)LEAST)

static inline T NAME(saturated_f64)(double a)
{
    const double number = a == a ? a : 0.0;
    const double low = number < (double)LEAST ? (double)LEAST : number;
    const T whole = (T)(low < BEYOND ? low : 0.0);
    return low < BEYOND ? whole : MOST;
}

static inline T NAME(saturated_f32)(float a)
{
    const float number = a == a ? a : 0.0F;
    const float low = number < (float)LEAST ? (float)LEAST : number;
    const T whole = (T)(low < (float)BEYOND ? low : 0.0F);
    return low < (float)BEYOND ? whole : MOST;
}

#undef BEYOND
