/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all kernels are written in: types, loads and stores, indices.
 *
 * The same text is compiled by nvcc, by NVRTC, and by the host's compiler for the fake driver of the tests, which comes with its
 * own words for what a device has (tests/fake_cuda/fake_device.h) and looks at every load and store.
 */
#ifndef TENURE_CUDA_KERNELS_COMMON
#define TENURE_CUDA_KERNELS_COMMON

#include "contract.h"

#ifdef TNRI_FAKE_DEVICE
#define DEVICE static inline
#define FAR_DEVICE static
#define MEMBER inline
#define DEVICE_SPECIAL inline
#define DIVISOR(b) fake_divisor(b)
#define SAME(layout) const layout
#define ONE_BY_ONE
#define UNROLLED
#else
#define DEVICE static __device__ __forceinline__
#define FAR_DEVICE static __device__ __noinline__ /* called, so that there is one of it */
#define MEMBER __device__ __forceinline__
#define DEVICE_SPECIAL __device__ __forceinline__
#define DIVISOR(b) (b)
#define SAME(layout) const __grid_constant__ layout
#define ONE_BY_ONE _Pragma("unroll 1")
#define UNROLLED _Pragma("unroll")

template <class T> DEVICE T load(const char *from) { return *(const T *)from; }
template <class T> DEVICE void store(char *to, const T &value) { *(T *)to = value; }
DEVICE void lower(int64_t *to, int64_t value) { atomicMin((long long *)to, (long long)value); }
#endif

/*
 * KERNEL_OF(name, blocks): with registers for so many blocks on a multiprocessor at a time. Where that is said, the compiler takes the
 * registers it needs; where it is not, it may keep values in memory to have more threads at work.
 */
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(TNRI_KERNEL_THREADS) tnri_##name
#define KERNEL_OF(name, blocks) extern "C" __global__ void __launch_bounds__(TNRI_KERNEL_THREADS, blocks) tnri_##name

/* ---- Types ----------------------------------------------------------------------------------------------------------------------- */

struct alignas(8) c32 {
    float re, im;
};
struct c64 {
    double re, im;
};
struct boolean { /* any byte but 0 is true */
    uint8_t byte;
};
struct sixteen {
    uint64_t low, high;
};

template <class T> struct traits;
template <> struct traits<float> {
    typedef float real;
    typedef uint32_t bits;
    static const int kind = 0;
};
template <> struct traits<double> {
    typedef double real;
    typedef uint64_t bits;
    static const int kind = 0;
};
template <> struct traits<c32> {
    typedef float real;
    static const int kind = 1;
};
template <> struct traits<c64> {
    typedef double real;
    static const int kind = 1;
};
template <> struct traits<int32_t> {
    typedef int32_t real;
    typedef uint32_t bits;
    static const int kind = 2;
};
template <> struct traits<int64_t> {
    typedef int64_t real;
    typedef uint64_t bits;
    static const int kind = 2;
};
template <> struct traits<boolean> {
    typedef boolean real;
    static const int kind = 3;
};
#define REAL_KIND 0
#define COMPLEX_KIND 1
#define INTEGER_KIND 2
#define BOOL_KIND 3

/* N of them, side by side. */
template <class T, int N> struct alignas(sizeof(T) * N) several {
    T of[N];
};

/* ---- Special numbers, without headers ----------------------------------------------------------------------------------------------- */

template <class TO, class FROM> DEVICE TO bits_as(FROM from)
{
    static_assert(sizeof(TO) == sizeof(FROM), "");
    TO to;
    memcpy(&to, &from, sizeof(to));
    return to;
}
DEVICE double infinity() { return bits_as<double>((uint64_t)0x7FF0000000000000ULL); }
DEVICE double not_a_number() { return bits_as<double>((uint64_t)0x7FF8000000000000ULL); }
DEVICE bool is_infinite(double a) { return fabs(a) == infinity(); }
DEVICE bool is_finite(double a) { return fabs(a) < infinity(); }
DEVICE float magnitude(float a) { return fabsf(a); }
DEVICE double magnitude(double a) { return fabs(a); }
DEVICE float root(float a) { return sqrtf(a); }
DEVICE double root(double a) { return sqrt(a); }

/* ---- Arithmetic: as src/engine/kernels/arithmetic.tmpl.h has it ------------------------------------------------------------------------ */

DEVICE float plus(float a, float b) { return a + b; }
DEVICE double plus(double a, double b) { return a + b; }
DEVICE c32 plus(c32 a, c32 b) { return c32{a.re + b.re, a.im + b.im}; }
DEVICE c64 plus(c64 a, c64 b) { return c64{a.re + b.re, a.im + b.im}; }
DEVICE int32_t plus(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
DEVICE int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

DEVICE float minus(float a, float b) { return a - b; }
DEVICE double minus(double a, double b) { return a - b; }
DEVICE c32 minus(c32 a, c32 b) { return c32{a.re - b.re, a.im - b.im}; }
DEVICE c64 minus(c64 a, c64 b) { return c64{a.re - b.re, a.im - b.im}; }
DEVICE int32_t minus(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
DEVICE int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

DEVICE float times(float a, float b) { return a * b; }
DEVICE double times(double a, double b) { return a * b; }
DEVICE c32 times(c32 a, c32 b) { return c32{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
DEVICE c64 times(c64 a, c64 b) { return c64{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
DEVICE int32_t times(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
DEVICE int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

DEVICE float negative(float a) { return -a; }
DEVICE double negative(double a) { return -a; }
DEVICE c32 negative(c32 a) { return c32{-a.re, -a.im}; }
DEVICE c64 negative(c64 a) { return c64{-a.re, -a.im}; }
DEVICE int32_t negative(int32_t a) { return (int32_t)(0U - (uint32_t)a); }
DEVICE int64_t negative(int64_t a) { return (int64_t)(0U - (uint64_t)a); }

template <class T> DEVICE T conjugate(T a) { return a; }
DEVICE c32 conjugate(c32 a) { return c32{a.re, -a.im}; }
DEVICE c64 conjugate(c64 a) { return c64{a.re, -a.im}; }

/* NaN if either is; +0 is larger than -0: of equal ones the bits differ in the sign of a zero at most. */
template <class T> DEVICE T larger_real(T a, T b)
{
    typedef typename traits<T>::bits bits;
    if (a > b) {
        return a;
    }
    if (b > a) {
        return b;
    }
    return a == b ? bits_as<T>((bits)(bits_as<bits>(a) & bits_as<bits>(b))) : bits_as<T>((bits) ~(bits)0);
}
template <class T> DEVICE T smaller_real(T a, T b)
{
    typedef typename traits<T>::bits bits;
    if (a < b) {
        return a;
    }
    if (b < a) {
        return b;
    }
    return a == b ? bits_as<T>((bits)(bits_as<bits>(a) | bits_as<bits>(b))) : bits_as<T>((bits) ~(bits)0);
}
DEVICE float larger(float a, float b) { return larger_real(a, b); }
DEVICE double larger(double a, double b) { return larger_real(a, b); }
DEVICE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
DEVICE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
DEVICE float smaller(float a, float b) { return smaller_real(a, b); }
DEVICE double smaller(double a, double b) { return smaller_real(a, b); }
DEVICE int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
DEVICE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- Indices ------------------------------------------------------------------------------------------------------------------------ */

/* Threads of the whole launch, and this one's number. */
DEVICE int64_t threads_in_all() { return (int64_t)gridDim.x * TNRI_KERNEL_THREADS; }
DEVICE int64_t thread_number() { return (int64_t)blockIdx.x * TNRI_KERNEL_THREADS + threadIdx.x; }

/* index / extent, by the numbers that layouts.c made of the extent; index < 2^31. */
DEVICE uint32_t small_quotient_by(uint32_t index, uint32_t multiplier, uint32_t shift)
{
    return (__umulhi(index, multiplier) + index) >> shift;
}

/* The same for indices below 2^63. */
DEVICE uint64_t quotient_by(uint64_t index, uint64_t multiplier, uint8_t shift)
{
    return (__umul64hi(index, multiplier) + index) >> shift;
}

/*
 * Offsets of an index by N lists of steps, the first axis varying fastest; the last one needs no division. offsets_small: up to four
 * axes, by 32-bit multiplications. offsets_of: any axes, first..first+rank-1 of the lists. offsets_divided: where nobody made divisors.
 */
template <int N>
DEVICE void offsets_small(uint32_t index, int rank, const uint32_t *multiplier, const uint32_t *shift,
                          const int64_t *shape, const int64_t *const *steps, int64_t *offsets)
{
    UNROLLED
    for (int i = 0; i < N; i++) {
        offsets[i] = 0;
    }
    UNROLLED
    for (int axis = 0; axis < 4; axis++) {
        if (axis < rank) {
            uint32_t here = index;
            if (axis + 1 < rank) {
                index = small_quotient_by(here, multiplier[axis], shift[axis]);
                here -= index * (uint32_t)shape[axis];
            }
            UNROLLED
            for (int i = 0; i < N; i++) {
                offsets[i] += (int64_t)here * steps[i][axis];
            }
        }
    }
}

template <class INDEX, int N>
DEVICE void offsets_divided(INDEX index, int rank, const int64_t *shape, const int64_t *const *steps, int64_t *offsets)
{
    UNROLLED
    for (int i = 0; i < N; i++) {
        offsets[i] = 0;
    }
    ONE_BY_ONE
    for (int axis = 0; axis < rank; axis++) {
        INDEX here = index;
        if (axis + 1 < rank) {
            index = here / (INDEX)shape[axis];
            here -= index * (INDEX)shape[axis];
        }
        UNROLLED
        for (int i = 0; i < N; i++) {
            offsets[i] += (int64_t)here * steps[i][axis];
        }
    }
}

template <int N>
DEVICE void offsets_of(int64_t index, int rank, const int64_t *shape, const tnri_divisors &by, int first,
                       const int64_t *const *steps, int64_t *offsets)
{
    UNROLLED
    for (int i = 0; i < N; i++) {
        offsets[i] = 0;
    }
    ONE_BY_ONE
    for (int axis = first; axis < first + rank; axis++) {
        int64_t here = index;
        if (axis + 1 < first + rank) {
            index = (int64_t)quotient_by((uint64_t)here, by.multiplier[axis], by.shift[axis]);
            here -= index * shape[axis];
        }
        UNROLLED
        for (int i = 0; i < N; i++) {
            offsets[i] += here * steps[i][axis];
        }
    }
}

/* The same by one list of steps. */
FAR_DEVICE int64_t offset_of(int64_t index, int rank, const int64_t *shape, const tnri_divisors &by, int first,
                             const int64_t *steps)
{
    const int64_t *const all[1] = {steps};
    int64_t offset;
    offsets_of<1>(index, rank, shape, by, first, all, &offset);
    return offset;
}

template <int N>
DEVICE void offsets_by_division(int64_t index, int64_t count, int rank, const int64_t *shape,
                                const int64_t *const *steps, int64_t *offsets)
{
    if (count <= 0x7FFFFFFF) {
        offsets_divided<uint32_t, N>((uint32_t)index, rank, shape, steps, offsets);
    } else {
        offsets_divided<uint64_t, N>((uint64_t)index, rank, shape, steps, offsets);
    }
}

#endif /* TENURE_CUDA_KERNELS_COMMON */
