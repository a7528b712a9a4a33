/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The walk of maps: every element of the target once, from up to three inputs.
 *
 * WORK is told what to do with N elements at a time: work.run<N>(results, a, b, c). Whatever is compact is read and written in
 * vectors of 16 bytes where addresses allow; two of them, or two elements, are on their way in a thread at a time. An input that does
 * not move is read once.
 */
#ifndef TENURE_CUDA_KERNELS_WALK
#define TENURE_CUDA_KERNELS_WALK

#include "common.cuh"

/* An element that may be the real part of what is meant. */
template <class T> DEVICE T lifted(const char *from, bool) { return load<T>(from); }
template <> DEVICE_SPECIAL c32 lifted<c32>(const char *from, bool is_real)
{
    return is_real ? c32{load<float>(from), 0.0f} : load<c32>(from);
}
template <> DEVICE_SPECIAL c64 lifted<c64>(const char *from, bool is_real)
{
    return is_real ? c64{load<double>(from), 0.0} : load<c64>(from);
}

/* In the place of an input that a kernel never has. */
struct nothing {
    char none;
};

/* An input: none of it, one element, or one for each of the target. */
template <class T> struct input {
    const char *from;
    bool moves;
    T value; /* where it does not */

    MEMBER input(const tnri_map_layout &l, int number, const char *address, bool is_real)
    {
        from = address;
        moves = number < l.operands && (l.still >> number & 1) == 0;
        memset(&value, 0, sizeof(value));
        if (number < l.operands && !moves) {
            value = lifted<T>(address, is_real);
        }
    }
    /* Can its elements first, first + N, ... be read N at a time? */
    template <int N> MEMBER bool aligned(int64_t first) const
    {
        return !moves || ((uint64_t)from + (uint64_t)first * sizeof(T)) % (sizeof(T) * N) == 0;
    }
    template <int N> MEMBER void take(int64_t at, T *to) const
    {
        several<T, N> read;
        if (moves) {
            read = load<several<T, N>>(from + at * (int64_t)sizeof(T));
        }
        UNROLLED
        for (int k = 0; k < N; k++) {
            to[k] = moves ? read.of[k] : value;
        }
    }
    MEMBER T at(int64_t offset) const { return moves ? load<T>(from + offset) : value; }
};

DEVICE void place(const tnri_map_layout &l, int64_t at, int64_t *offsets)
{
    const int64_t *const steps[4] = {l.steps[0], l.steps[1], l.steps[2], l.steps[3]};
    if (l.way == TNRI_WAY_FLAT) {
        UNROLLED
        for (int i = 0; i < 4; i++) {
            offsets[i] = at * l.steps[i][0];
        }
    } else if (l.way == TNRI_WAY_SMALL) {
        offsets_small<4>((uint32_t)at, l.rank, l.multiplier, l.shift, l.shape, steps, offsets);
    } else {
        offsets_of<4>(at, l.rank, l.shape, l.by, 0, steps, offsets);
    }
}

/* Elements one by one, for work that takes long. */
template <class OUT, class A, class B, class WORK>
DEVICE void walk_slowly(const tnri_map_layout &l, int op, char *target, const char *from_a, const char *from_b,
                        const WORK &work)
{
    const input<A> a(l, 1, from_a, (op & TNRI_MAP_REAL_1) != 0);
    const input<B> b(l, 2, from_b, (op & TNRI_MAP_REAL_2) != 0);
    for (int64_t number = thread_number(); number < l.count; number += threads_in_all()) {
        int64_t offsets[4];
        place(l, number, offsets);
        const A x = a.at(offsets[1]);
        const B y = b.at(offsets[2]);
        const nothing z = {0};
        OUT result;
        work.template run<1>(&result, &x, &y, &z);
        store(target + offsets[0], result);
    }
}

/* Elements one by one, two at a time unless they are many bytes: all but `skipped` of them from `head` on. */
template <class OUT, class A, class B, class C, class WORK>
DEVICE void walk_elements(const tnri_map_layout &l, char *target, const input<A> &a, const input<B> &b,
                          const input<C> &c, const WORK &work, int64_t head, int64_t skipped)
{
    constexpr int U = sizeof(A) + sizeof(B) + sizeof(C) > 32 ? 1 : 2;
    const int64_t step = threads_in_all();
    const int64_t count = l.count - skipped;
    for (int64_t number = thread_number(); number < count; number += U * step) {
        int64_t first[4];
        int64_t second[4];
        A x[2];
        B y[2];
        C z[2];
        OUT result[2];
        place(l, number < head ? number : number + skipped, first);
        x[0] = x[1] = a.at(first[1]);
        y[0] = y[1] = b.at(first[2]);
        z[0] = z[1] = c.at(first[3]);
        const bool two = U == 2 && number + step < count;
        if (two) {
            place(l, number + step < head ? number + step : number + step + skipped, second);
            x[1] = a.at(second[1]);
            y[1] = b.at(second[2]);
            z[1] = c.at(second[3]);
        }
        work.template run<U>(result, x, y, z);
        store(target + first[0], result[0]);
        if (two) {
            store(target + second[0], result[1]);
        }
    }
}

/* Vectors of N elements from element `first` on, two of them at a time unless they are many bytes. */
template <int N, class OUT, class A, class B, class C, class WORK>
DEVICE void walk_vectors(char *target, const input<A> &a, const input<B> &b, const input<C> &c, const WORK &work,
                         int64_t first, int64_t vectors)
{
    constexpr int U = (sizeof(A) + sizeof(B) + sizeof(C)) * N > 32 ? 1 : 2;
    const int64_t step = threads_in_all();
    for (int64_t number = thread_number(); number < vectors; number += U * step) {
        A x[U][N];
        B y[U][N];
        C z[U][N];
        UNROLLED
        for (int u = 0; u < U; u++) {
            if (number + u * step < vectors) {
                const int64_t at = first + (number + u * step) * N;
                a.template take<N>(at, x[u]);
                b.template take<N>(at, y[u]);
                c.template take<N>(at, z[u]);
            }
        }
        UNROLLED
        for (int u = 0; u < U; u++) {
            if (number + u * step < vectors) {
                several<OUT, N> result;
                work.template run<N>(result.of, x[u], y[u], z[u]);
                store(target + (first + (number + u * step) * N) * (int64_t)sizeof(OUT), result);
            }
        }
    }
}

template <class OUT, class A, class B, class C, class WORK>
DEVICE void walk(const tnri_map_layout &l, int op, char *target, const char *from_a, const char *from_b,
                 const char *from_c, const WORK &work)
{
    const input<A> a(l, 1, from_a, (op & TNRI_MAP_REAL_1) != 0);
    const input<B> b(l, 2, from_b, (op & TNRI_MAP_REAL_2) != 0);
    const input<C> c(l, 3, from_c, false);
    int64_t head = 0;
    int64_t skipped = 0;
    if (l.way == TNRI_WAY_FLAT) {
        constexpr int largest = sizeof(OUT) > sizeof(A) ? sizeof(OUT) : sizeof(A);
        constexpr int whole = 16 / (sizeof(B) > largest ? sizeof(B) : largest); /* C is as B or smaller */
        constexpr int N = whole > 8 ? 8 : whole;
        const int64_t beyond = (int64_t)((uint64_t)target % (sizeof(OUT) * N) / sizeof(OUT));
        head = beyond == 0 ? 0 : N - beyond;
        int64_t vectors = l.count > head ? (l.count - head) / N : 0;
        if ((uint64_t)target % sizeof(OUT) != 0 || !a.template aligned<N>(head) || !b.template aligned<N>(head) ||
            !c.template aligned<N>(head)) {
            vectors = 0;
        }
        head = vectors == 0 ? 0 : head;
        walk_vectors<N, OUT>(target, a, b, c, work, head, vectors);
        skipped = vectors * N;
    }
    if (skipped < l.count) {
        walk_elements<OUT>(l, target, a, b, c, work, head, skipped);
    }
}

#endif /* TENURE_CUDA_KERNELS_WALK */
