/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic, order, equality and choice of one element at a time. What each is on values follows
 * src/engine/kernels/{arithmetic_ops,order_ops}.tmpl.h, so that results have the same bits. What takes many registers or long is in
 * kernels of its own, so that the others have many threads at work. The operation is asked for once per vector of elements.
 */
#include "walk.cuh"

/* ---- Values ------------------------------------------------------------------------------------------------------------------------------ */

DEVICE float absolute(float a) { return fabsf(a); }
DEVICE double absolute(double a) { return fabs(a); }
DEVICE int32_t absolute(int32_t a) { return a < 0 ? negative(a) : a; }
DEVICE int64_t absolute(int64_t a) { return a < 0 ? negative(a) : a; }

DEVICE float sign_of(float a) { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a; }
DEVICE double sign_of(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }
DEVICE int32_t sign_of(int32_t a) { return (a > 0) - (a < 0); }
DEVICE int64_t sign_of(int64_t a) { return (a > 0) - (a < 0); }

/* Powers of two that bring squares of parts of this size into range, and back. */
#define TWO_TO_600 4.149515568880993e180
#define TWO_TO_MINUS_600 2.409919865102884e-181
#define TWO_TO_500 3.273390607896142e150
#define TWO_TO_MINUS_500 3.054936363499605e-151
DEVICE double scale_for(double size)
{
    return size > TWO_TO_500 ? TWO_TO_MINUS_600 : size < TWO_TO_MINUS_500 ? TWO_TO_600 : 1.0;
}
DEVICE double scale_back(double size)
{
    return size > TWO_TO_500 ? TWO_TO_600 : size < TWO_TO_MINUS_500 ? TWO_TO_MINUS_600 : 1.0;
}

DEVICE double larger_part(c64 a)
{
    const double re = fabs(a.re);
    const double im = fabs(a.im);
    return re > im ? re : im;
}

DEVICE float size_of(c32 a) /* in doubles nothing overflows or underflows */
{
    const double re = (double)a.re;
    const double im = (double)a.im;
    const double size = sqrt(re * re + im * im);
    return (float)(is_infinite(re) || is_infinite(im) ? infinity() : size); /* also beside NaN, as hypot is */
}

DEVICE double size_of(c64 a)
{
    const double size = larger_part(a);
    const double scale = scale_for(size);
    const double re = a.re * scale;
    const double im = a.im * scale;
    const double length = sqrt(re * re + im * im) * scale_back(size);
    return is_infinite(a.re) || is_infinite(a.im) ? infinity() : length;
}

DEVICE c32 direction(c32 a)
{
    const double re = (double)a.re;
    const double im = (double)a.im;
    const double size = sqrt(re * re + im * im);
    return size == 0.0 ? a : c32{(float)(re / size), (float)(im / size)};
}

DEVICE c64 direction(c64 a)
{
    const double scale = scale_for(larger_part(a));
    const double re = a.re * scale;
    const double im = a.im * scale;
    const double length = sqrt(re * re + im * im);
    return length == 0.0 ? a : c64{re / length, im / length};
}

DEVICE float fraction(float a, float b) { return a / b; }
DEVICE double fraction(double a, double b) { return a / b; }
template <class T> DEVICE T fraction(T a, T) { return a; } /* integers: not here */
template <class T> DEVICE T whole_quotient(T a, T b) { return b == -1 ? negative(a) : a / DIVISOR(b); }
DEVICE int32_t quotient(int32_t a, int32_t b) { return whole_quotient(a, b); }
DEVICE int64_t quotient(int64_t a, int64_t b) { return whole_quotient(a, b); }

DEVICE c32 quotient(c32 a, c32 b)
{
    const double c = (double)b.re;
    const double d = (double)b.im;
    const double size = c * c + d * d;
    const double re = ((double)a.re * c + (double)a.im * d) / size;
    const double im = ((double)a.im * c - (double)a.re * d) / size;
    const float far = (float)infinity();
    return size == 0.0 ? c32{a.re * far, a.im * far} : c32{(float)re, (float)im};
}

/* Smith's quotient with the steps of Baudin and Smith (arXiv:1210.4539), as the CPU's. */
DEVICE c64 quotient(c64 a, c64 b)
{
    const double near_top = 1.7976931348623157e308 / 2.0;
    const double epsilon = 2.220446049250313e-16;
    const double near_bottom = 2.2250738585072014e-308 * 2.0 / epsilon;
    const double lift = 2.0 / (epsilon * epsilon);
    const double size_a = larger_part(a);
    const double size_b = larger_part(b);
    const double scale_a = size_a >= near_top ? 0.5 : size_a <= near_bottom ? lift : 1.0;
    const double scale_b = size_b >= near_top ? 0.5 : size_b <= near_bottom ? lift : 1.0;
    const double down_a = size_a <= near_bottom ? 1.0 / lift : 1.0;
    const double back = (size_a >= near_top ? 2.0 : down_a) * scale_b;
    const double re = a.re * scale_a;
    const double im = a.im * scale_a;
    const double c = b.re * scale_b;
    const double d = b.im * scale_b;
    const bool upright = fabs(d) <= fabs(c);
    const double large = upright ? c : d;
    const double small = upright ? d : c;
    const double first = upright ? re : im;
    const double second = upright ? im : re;
    const double ratio = small / large;
    const double inverse = 1.0 / (large + small * ratio);
    const bool lost = ratio == 0.0;
    const double second_part = lost ? small * (second / large) : second * ratio;
    const double first_part = lost ? small * (first / large) : first * ratio;
    const double real = (first + second_part) * inverse * back;
    const double imaginary = (second - first_part) * inverse * back;
    const double turned = upright ? imaginary : -imaginary;
    return size_b == 0.0 ? c64{a.re * infinity(), a.im * infinity()} : c64{real, turned};
}

DEVICE float remainder_of(float a, float b) { return fmodf(a, b); }
DEVICE double remainder_of(double a, double b) { return fmod(a, b); }
DEVICE int32_t remainder_of(int32_t a, int32_t b) { return b == -1 ? 0 : a % DIVISOR(b); }
DEVICE int64_t remainder_of(int64_t a, int64_t b) { return b == -1 ? 0 : a % DIVISOR(b); }

/* b is not negative. */
template <class T> DEVICE T whole_power(T a, T b)
{
    typedef typename traits<T>::bits bits;
    bits result = 1;
    bits square = (bits)a;
    for (bits left = (bits)b; left != 0; left >>= 1) {
        result = (left & 1) != 0 ? result * square : result;
        square *= square;
    }
    return (T)result;
}

DEVICE bool is_equal(float a, float b) { return a == b; }
DEVICE bool is_equal(double a, double b) { return a == b; }
DEVICE bool is_equal(int32_t a, int32_t b) { return a == b; }
DEVICE bool is_equal(int64_t a, int64_t b) { return a == b; }
DEVICE bool is_equal(c32 a, c32 b) { return a.re == b.re && a.im == b.im; }
DEVICE bool is_equal(c64 a, c64 b) { return a.re == b.re && a.im == b.im; }
DEVICE bool is_equal(boolean a, boolean b) { return (a.byte != 0) == (b.byte != 0); }
template <class T> DEVICE bool is_less(T a, T b) { return a < b; }
template <class T> DEVICE bool is_at_most(T a, T b) { return a <= b; }
template <> DEVICE_SPECIAL bool is_less<boolean>(boolean a, boolean b) { return (a.byte != 0) < (b.byte != 0); }
template <> DEVICE_SPECIAL bool is_at_most<boolean>(boolean a, boolean b) { return (a.byte != 0) <= (b.byte != 0); }

/* ---- What is done with N elements -------------------------------------------------------------------------------------------------------- */

#define EACH(expression)          \
    UNROLLED                      \
    for (int k = 0; k < N; k++) { \
        result[k] = (expression); \
    }                             \
    break

/* What complex numbers have not. */
template <class T, int KIND> struct ordered_work {
    template <int N> static MEMBER void run(int op, T *result, const T *a, const T *b, const T *c)
    {
        switch (op) {
        case TNRI_MAP_DIV:
            EACH(fraction(a[k], b[k]));
        case TNRI_MAP_ABS:
            EACH(absolute(a[k]));
        case TNRI_MAP_SIGN:
            EACH(sign_of(a[k]));
        case TNRI_MAP_MAXIMUM:
            EACH(larger(a[k], b[k]));
        case TNRI_MAP_MINIMUM:
            EACH(smaller(a[k], b[k]));
        default:
            EACH(smaller(larger(a[k], b[k]), c[k]));
        }
    }
};
template <class T> struct ordered_work<T, COMPLEX_KIND> {
    template <int N> static MEMBER void run(int, T *result, const T *a, const T *, const T *)
    {
        for (int k = 0; k < N; k++) {
            result[k] = a[k];
        }
    }
};

template <class T> struct light_work {
    int op;
    template <int N> MEMBER void run(T *result, const T *a, const T *b, const T *c) const
    {
        switch (op) {
        case TNRI_MAP_ADD:
            EACH(plus(a[k], b[k]));
        case TNRI_MAP_SUB:
            EACH(minus(a[k], b[k]));
        case TNRI_MAP_MUL:
            EACH(times(a[k], b[k]));
        case TNRI_MAP_NEG:
            EACH(negative(a[k]));
        case TNRI_MAP_CONJ:
            EACH(conjugate(a[k]));
        default:
            ordered_work<T, traits<T>::kind>::template run<N>(op, result, a, b, c);
            break;
        }
    }
};

template <class T, int KIND> struct heavy_work;
template <class T> struct heavy_work<T, REAL_KIND> {
    int op;
    template <int N> MEMBER void run(T *result, const T *a, const T *b, const nothing *) const
    {
        (void)op;
        for (int k = 0; k < N; k++) {
            result[k] = remainder_of(a[k], b[k]);
        }
    }
};
template <class T> struct heavy_work<T, COMPLEX_KIND> {
    int op;
    template <int N> MEMBER void run(T *result, const T *a, const T *b, const nothing *) const
    {
        switch (op) {
        case TNRI_MAP_DIV:
            EACH(quotient(a[k], b[k]));
        default:
            EACH(direction(a[k]));
        }
    }
};
template <class T> struct heavy_work<T, INTEGER_KIND> {
    int op;
    template <int N> MEMBER void run(T *result, const T *a, const T *b, const nothing *) const
    {
        switch (op) {
        case TNRI_MAP_DIV:
            EACH(quotient(a[k], b[k]));
        case TNRI_MAP_REM:
            EACH(remainder_of(a[k], b[k]));
        default:
            EACH(whole_power(a[k], b[k]));
        }
    }
};

template <class T> struct size_work {
    template <int N>
    MEMBER void run(typename traits<T>::real *result, const T *a, const nothing *, const nothing *) const
    {
        UNROLLED
        for (int k = 0; k < N; k++) {
            result[k] = size_of(a[k]);
        }
    }
};

template <class T, int KIND> struct less_work {
    template <int N> static MEMBER void run(int op, uint8_t *result, const T *a, const T *b)
    {
        switch (op) {
        case TNRI_MAP_LESS:
            EACH((uint8_t)is_less(a[k], b[k]));
        default:
            EACH((uint8_t)is_at_most(a[k], b[k]));
        }
    }
};
template <class T> struct less_work<T, COMPLEX_KIND> {
    template <int N> static MEMBER void run(int, uint8_t *result, const T *, const T *)
    {
        for (int k = 0; k < N; k++) {
            result[k] = 0;
        }
    }
};
template <class T> struct compare_work {
    int op;
    template <int N> MEMBER void run(uint8_t *result, const T *a, const T *b, const nothing *) const
    {
        switch (op) {
        case TNRI_MAP_EQUAL:
            EACH((uint8_t)is_equal(a[k], b[k]));
        case TNRI_MAP_NOT_EQUAL:
            EACH((uint8_t)!is_equal(a[k], b[k]));
        default:
            less_work<T, traits<T>::kind>::template run<N>(op, result, a, b);
            break;
        }
    }
};

template <class WORD> struct select_work {
    template <int N> MEMBER void run(WORD *result, const uint8_t *which, const WORD *a, const WORD *b) const
    {
        UNROLLED
        for (int k = 0; k < N; k++) {
            result[k] = which[k] != 0 ? a[k] : b[k];
        }
    }
};

/* ---- Kernels -------------------------------------------------------------------------------------------------------------------------------- */

#define MAP_PARAMETERS SAME(tnri_map_layout) l, int32_t op, char *target, const char *a, const char *b, const char *c
#define PLAIN_OP (op & 0xFF)

#define NUMBER(dtype, T)                                                                                       \
    KERNEL(map_##dtype)(MAP_PARAMETERS) { walk<T, T, T, T>(l, op, target, a, b, c, light_work<T>{PLAIN_OP}); } \
    KERNEL(heavy_##dtype)(MAP_PARAMETERS)                                                                      \
    {                                                                                                          \
        (void)c;                                                                                               \
        walk_slowly<T, T, T>(l, op, target, a, b, heavy_work<T, traits<T>::kind>{PLAIN_OP});                   \
    }
#define COMPARE(dtype, T)                                                               \
    KERNEL(compare_##dtype)(MAP_PARAMETERS)                                             \
    {                                                                                   \
        (void)c;                                                                        \
        walk<uint8_t, T, T, nothing>(l, 0, target, a, b, 0, compare_work<T>{PLAIN_OP}); \
    }
#define SIZE(dtype, T, REAL)                                               \
    KERNEL(size_##dtype)(MAP_PARAMETERS)                                   \
    {                                                                      \
        (void)op;                                                          \
        (void)b;                                                           \
        (void)c;                                                           \
        walk_slowly<REAL, T, nothing>(l, 0, target, a, 0, size_work<T>()); \
    }
#define SELECT(bytes, WORD)                                                          \
    KERNEL_OF(select_##bytes, 2)(MAP_PARAMETERS)                                     \
    {                                                                                \
        (void)op;                                                                    \
        walk<WORD, uint8_t, WORD, WORD>(l, 0, target, a, b, c, select_work<WORD>()); \
    }

NUMBER(f32, float)
NUMBER(f64, double)
NUMBER(c32, c32)
NUMBER(c64, c64)
NUMBER(i32, int32_t)
NUMBER(i64, int64_t)
SIZE(c32, c32, float)
SIZE(c64, c64, double)
COMPARE(f32, float)
COMPARE(f64, double)
COMPARE(c32, c32)
COMPARE(c64, c64)
COMPARE(i32, int32_t)
COMPARE(i64, int64_t)
COMPARE(bool, boolean)
SELECT(1, uint8_t)
SELECT(4, uint32_t)
SELECT(8, uint64_t)
SELECT(16, sixteen)

/* ---- Looks for integers that an operation must not meet ------------------------------------------------------------------------------------ */

template <class T> DEVICE void scan(const tnri_reshape_layout &l, int kind, const char *a, int64_t *found)
{
    for (int64_t at = thread_number(); at < l.count; at += threads_in_all()) {
        const T value = load<T>(a + offset_of(at, l.rank[0], l.shape[0], l.by[0], 0, l.steps[0]));
        if (kind == TNRI_SCAN_ZERO ? value == 0 : value < 0) {
            lower(found, at);
            return; /* what this thread would find later comes later */
        }
    }
}

KERNEL(scan_i32)(SAME(tnri_reshape_layout) l, int32_t kind, const char *a, int64_t *found)
{
    scan<int32_t>(l, kind, a, found);
}
KERNEL(scan_i64)(SAME(tnri_reshape_layout) l, int32_t kind, const char *a, int64_t *found)
{
    scan<int64_t>(l, kind, a, found);
}
