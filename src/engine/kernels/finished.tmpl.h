/* SPDX-License-Identifier: BSD-3-Clause */
/* What an element becomes of its sum of products, for one dtype (each_dtype.inl.h, after arithmetic.inl.h): as vectors of a tile come to it. */

static inline ALWAYS_INLINE T NAME(finished)(const tnri_finish *finish, T value, const T *c)
{
    if (finish->plain) {
        return value;
    }
    if (finish->add) {
        return NAME(plus)(value, *c);
    }
    value = NAME(times)(NAME(scalar)(finish->alpha), value);
    if (finish->keep) {
        return NAME(plus)(value, *c);
    }
    return finish->overwrite ? value : NAME(plus)(value, NAME(times)(NAME(scalar)(finish->beta), *c));
}

/* And of no sum; a target that is kept is not touched. */
static inline ALWAYS_INLINE T NAME(scaled_by_beta)(const tnri_finish *finish, const T *c)
{
    return finish->overwrite ? NAME(zero)() : NAME(times)(NAME(scalar)(finish->beta), *c);
}
