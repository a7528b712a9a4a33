/* SPDX-License-Identifier: BSD-3-Clause */
/* Every dtype to every other, as src/engine/kernels/{cast_to,saturate}.tmpl.h. */
#include "walk.cuh"

/* The part of a number that counts for reals, and is it not zero? */
template <class T> DEVICE T real_part(T a) { return a; }
DEVICE float real_part(c32 a) { return a.re; }
DEVICE double real_part(c64 a) { return a.re; }
DEVICE int32_t real_part(boolean a) { return a.byte != 0 ? 1 : 0; }
template <class T> DEVICE bool is_true(T a) { return a != 0; }
DEVICE bool is_true(c32 a) { return a.re != 0.0f || a.im != 0.0f; }
DEVICE bool is_true(c64 a) { return a.re != 0.0 || a.im != 0.0; }

/* Reals to integers: truncated, NaN is 0, and what lies beyond becomes the nearest end. Only numbers that fit are converted. */
template <class INTEGER, class REAL> DEVICE INTEGER saturated(REAL a, INTEGER least)
{
    const REAL low = (REAL)least;
    if (!(a == a)) {
        return 0;
    }
    if (a < low) {
        return least;
    }
    return a < -low ? (INTEGER)a : (INTEGER)~least;
}
#define LEAST_I32 ((int32_t)0x80000000U)
#define LEAST_I64 ((int64_t)0x8000000000000000ULL)

template <class TO> struct to_type;
template <> struct to_type<float> {
    template <class FROM> static MEMBER float of(FROM a) { return (float)real_part(a); }
};
template <> struct to_type<double> {
    template <class FROM> static MEMBER double of(FROM a) { return (double)real_part(a); }
};
template <> struct to_type<c32> {
    template <class FROM> static MEMBER c32 of(FROM a) { return c32{(float)real_part(a), 0.0f}; }
    static MEMBER c32 of(c32 a) { return a; }
    static MEMBER c32 of(c64 a) { return c32{(float)a.re, (float)a.im}; }
};
template <> struct to_type<c64> {
    template <class FROM> static MEMBER c64 of(FROM a) { return c64{(double)real_part(a), 0.0}; }
    static MEMBER c64 of(c32 a) { return c64{(double)a.re, (double)a.im}; }
    static MEMBER c64 of(c64 a) { return a; }
};
template <> struct to_type<int32_t> {
    static MEMBER int32_t of(int32_t a) { return a; }
    static MEMBER int32_t of(int64_t a) { return (int32_t)a; } /* wraps */
    static MEMBER int32_t of(boolean a) { return real_part(a); }
    template <class FROM> static MEMBER int32_t of(FROM a) { return saturated(real_part(a), LEAST_I32); }
};
template <> struct to_type<int64_t> {
    static MEMBER int64_t of(int32_t a) { return a; }
    static MEMBER int64_t of(int64_t a) { return a; }
    static MEMBER int64_t of(boolean a) { return real_part(a); }
    template <class FROM> static MEMBER int64_t of(FROM a) { return saturated(real_part(a), LEAST_I64); }
};
template <> struct to_type<boolean> {
    template <class FROM> static MEMBER boolean of(FROM a) { return boolean{(uint8_t)is_true(a)}; }
    static MEMBER boolean of(boolean a) { return a; } /* a copy */
};

template <class TO, class FROM> struct cast_work {
    template <int N> MEMBER void run(TO *result, const FROM *a, const nothing *, const nothing *) const
    {
        UNROLLED
        for (int k = 0; k < N; k++) {
            result[k] = to_type<TO>::of(a[k]);
        }
    }
};

/* Any target, one element at a time. */
template <class FROM> DEVICE void cast_elements(const tnri_map_layout &l, int to, char *target, const char *a)
{
    const input<FROM> from(l, 1, a, false);
    for (int64_t number = thread_number(); number < l.count; number += threads_in_all()) {
        int64_t offsets[4];
        place(l, number, offsets);
        const FROM value = from.at(offsets[1]);
        char *const at = target + offsets[0];
        switch (to) {
        case TNRI_KERNEL_F32:
            store(at, to_type<float>::of(value));
            break;
        case TNRI_KERNEL_F64:
            store(at, to_type<double>::of(value));
            break;
        case TNRI_KERNEL_C32:
            store(at, to_type<c32>::of(value));
            break;
        case TNRI_KERNEL_C64:
            store(at, to_type<c64>::of(value));
            break;
        case TNRI_KERNEL_I32:
            store(at, to_type<int32_t>::of(value));
            break;
        case TNRI_KERNEL_I64:
            store(at, to_type<int64_t>::of(value));
            break;
        default:
            store(at, to_type<boolean>::of(value));
            break;
        }
    }
}

/* Compact ones of the pairs that matter, by vectors. */
template <class TO, class FROM> DEVICE bool cast_run(const tnri_map_layout &l, char *target, const char *a)
{
    constexpr int N = 16 / (sizeof(TO) > sizeof(FROM) ? sizeof(TO) : sizeof(FROM));
    const input<FROM> from(l, 1, a, false);
    const input<nothing> none(l, 2, 0, false);
    if (l.way != TNRI_WAY_FLAT || !from.moves || l.count % N != 0 || !from.template aligned<N>(0) ||
        (uint64_t)target % (sizeof(TO) * N) != 0) {
        return false;
    }
    walk_vectors<N, TO>(target, from, none, none, cast_work<TO, FROM>(), 0, l.count / N);
    return true;
}

template <class FROM> DEVICE void cast(const tnri_map_layout &l, int to, char *target, const char *a)
{
    bool done = false;
    switch (to) {
    case TNRI_KERNEL_F32:
        done = cast_run<float, FROM>(l, target, a);
        break;
    case TNRI_KERNEL_F64:
        done = cast_run<double, FROM>(l, target, a);
        break;
    case TNRI_KERNEL_I32:
        done = cast_run<int32_t, FROM>(l, target, a);
        break;
    case TNRI_KERNEL_I64:
        done = cast_run<int64_t, FROM>(l, target, a);
        break;
    case TNRI_KERNEL_BOOL:
        done = cast_run<boolean, FROM>(l, target, a);
        break;
    default:
        break;
    }
    if (!done) {
        cast_elements<FROM>(l, to, target, a);
    }
}

#define CAST(from, T, HOW) \
    KERNEL(cast_##from)(SAME(tnri_map_layout) l, int32_t to, char *target, const char *a) { HOW<T>(l, to, target, a); }
CAST(f32, float, cast)
CAST(f64, double, cast)
CAST(c32, c32, cast_elements)
CAST(c64, c64, cast_elements)
CAST(i32, int32_t, cast)
CAST(i64, int64_t, cast)
CAST(bool, boolean, cast)
