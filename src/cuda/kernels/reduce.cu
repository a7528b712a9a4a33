/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions over axes, and argmax and argmin.
 *
 * `lanes` threads of a block share an output: each takes every lanes-th term, eight (or four) at a time, which are added up as a tree;
 * eight of these one after another, eight of those, and again: so that the error of n terms is that of log2 n additions and 16 more
 * at most, as tenure/reduction.h promises (layouts.c sees to it that a thread has no more terms). Then the threads' results are folded, halves to halves. Which thread takes which term follows from the
 * layout alone, not from the number of blocks: the same call gives the same bits.
 *
 * Norms: f32 and c32 add up squares in double precision, which cannot leave its range; f64 and c64 have sums of large, ordinary and
 * small squares apart, each scaled (Blue, "A portable Fortran program to find the Euclidean norm of a vector", ACM TOMS 4, 1978).
 * An infinity wins over NaN by being counted among the large ones.
 */
#include "common.cuh"

/* ---- Operations (any_order: results do not depend on the order): a term's place among the accumulators, and two accumulators as one ------------------------------------------------------- */

/* Terms, accumulators and results are one type, and nothing is done to them but to join them. */
template <class T> struct terms_of {
    typedef T term;
    typedef T state;
    typedef T result;
    static MEMBER T lift(T a, int64_t) { return a; }
    static MEMBER T finish(T a) { return a; }
};
template <class T> struct sum_of : terms_of<T> {
    static const bool any_order = traits<T>::kind == INTEGER_KIND;
    static MEMBER T join(T a, T b) { return plus(a, b); }
};
template <class T> struct product_of : terms_of<T> {
    static const bool any_order = traits<T>::kind == INTEGER_KIND;
    static MEMBER T join(T a, T b) { return times(a, b); }
};
template <class T> struct largest_of : terms_of<T> {
    static const bool any_order = true;
    static MEMBER T join(T a, T b) { return larger(a, b); }
};
template <class T> struct smallest_of : terms_of<T> {
    static const bool any_order = true;
    static MEMBER T join(T a, T b) { return smaller(a, b); }
};
struct all_of {
    static const bool any_order = true;
    typedef uint8_t term;
    typedef uint8_t state;
    typedef uint8_t result;
    static MEMBER state lift(term a, int64_t) { return (uint8_t)(a != 0); }
    static MEMBER state join(state a, state b) { return (uint8_t)(a & b); }
    static MEMBER result finish(state a) { return a; }
};
struct any_of {
    static const bool any_order = true;
    typedef uint8_t term;
    typedef uint8_t state;
    typedef uint8_t result;
    static MEMBER state lift(term a, int64_t) { return (uint8_t)(a != 0); }
    static MEMBER state join(state a, state b) { return (uint8_t)(a | b); }
    static MEMBER result finish(state a) { return a; }
};

struct single_squares {
    double sum;
    double beyond; /* infinity, or 0 */
};
template <class T> struct single_norm {
    static const bool any_order = false;
    typedef T term;
    typedef single_squares state;
    typedef float result;
    static MEMBER state square(float a)
    {
        const double wide = (double)a;
        return state{wide * wide, is_infinite(wide) ? infinity() : 0.0};
    }
    static MEMBER state lift(float a, int64_t) { return square(a); }
    static MEMBER state lift(c32 a, int64_t) { return join(square(a.re), square(a.im)); }
    static MEMBER state join(state a, state b) { return state{a.sum + b.sum, a.beyond + b.beyond}; }
    static MEMBER result finish(state a) { return (float)(a.beyond > 0.0 ? a.beyond : sqrt(a.sum)); }
};

/* Limits and scales for doubles: squares of numbers between the limits neither overflow in sums nor lose digits. */
#define SMALL_LIMIT 1.4916681462400413e-154 /* 2^-511 */
#define LARGE_LIMIT 1.9979190722022350e+146 /* 2^486 */
#define SMALL_SCALE 4.4989137945431964e+161 /* 2^537 */
#define LARGE_SCALE 1.1113793747425387e-162 /* 2^-538 */
struct double_squares {
    double large;
    double middle;
    double small;
};
template <class T> struct double_norm {
    static const bool any_order = false;
    typedef T term;
    typedef double_squares state;
    typedef double result;
    static MEMBER state square(double a)
    {
        const double size = fabs(a);
        if (size > LARGE_LIMIT) {
            const double scaled = size * LARGE_SCALE;
            return state{scaled * scaled, 0.0, 0.0};
        }
        if (size < SMALL_LIMIT) {
            const double scaled = size * SMALL_SCALE;
            return state{0.0, 0.0, scaled * scaled};
        }
        return state{0.0, size * size, 0.0}; /* and NaN */
    }
    static MEMBER state lift(double a, int64_t) { return square(a); }
    static MEMBER state lift(c64 a, int64_t) { return join(square(a.re), square(a.im)); }
    static MEMBER state join(state a, state b)
    {
        return state{a.large + b.large, a.middle + b.middle, a.small + b.small};
    }
    static MEMBER result finish(state a)
    {
        if (a.large > 0.0) {
            if (is_infinite(a.large)) {
                return a.large;
            }
            /* what small ones add is lost beside this */
            return sqrt(a.large + a.middle * LARGE_SCALE * LARGE_SCALE) / LARGE_SCALE;
        }
        if (a.middle != 0.0) { /* also NaN */
            return sqrt(a.middle + a.small / SMALL_SCALE / SMALL_SCALE);
        }
        return sqrt(a.small) / SMALL_SCALE;
    }
};

template <class T> struct found_at {
    int64_t index;
    T value;
};
template <class T, bool SMALLEST> struct best_of {
    static const bool any_order = true;
    typedef T term;
    typedef found_at<T> state;
    typedef int64_t result;
    /* A NaN beats all but a NaN. */
    static MEMBER bool beats(T a, T b) { return (SMALLEST ? a < b : a > b) || (a != a && b == b); }
    static MEMBER state lift(term a, int64_t index) { return state{index, a}; }
    static MEMBER state join(state a, state b)
    {
        if (beats(b.value, a.value)) {
            return b;
        }
        return beats(a.value, b.value) || a.index < b.index ? a : b;
    }
    static MEMBER result finish(state a) { return a.index; }
};

/* ---- Terms of one output, for one thread ------------------------------------------------------------------------------------------------------ */

/* Elements of the source, one axis apart. */
template <class OP> struct in_line {
    static const int at_once = sizeof(typename OP::state) > 8 ? 4 : 8;
    const char *at;
    int64_t index; /* of the next term */
    int64_t end;
    int64_t step; /* from term to term of this thread */
    int64_t bytes;
    MEMBER typename OP::state next()
    {
        const typename OP::state value = OP::lift(load<typename OP::term>(at), index);
        at += bytes;
        index += step;
        return value;
    }
};

FAR_DEVICE int64_t offset_of_term(const tnri_reduce_layout &l, int64_t index)
{
    const int64_t *const steps[1] = {l.source + l.kept_rank};
    int64_t offset;
    if (l.way == TNRI_WAY_SMALL) {
        offsets_small<1>((uint32_t)index, l.gone_rank, l.multiplier, l.shift, l.shape + l.kept_rank, steps, &offset);
        return offset;
    }
    return offset_of(index, l.gone_rank, l.shape, l.by, l.kept_rank, l.source);
}

/* Elements of the source, any axes apart. */
template <class OP> struct in_layout {
    static const int at_once = 4;
    const tnri_reduce_layout &l;
    const char *from;
    int64_t index;
    int64_t end;
    int64_t step;
    MEMBER typename OP::state next()
    {
        const int64_t offset = offset_of_term(l, index);
        const typename OP::state value = OP::lift(load<typename OP::term>(from + offset), index);
        index += step;
        return value;
    }
};

/* As many as are loaded at once, or what is left. */
template <class OP, class TERMS> DEVICE typename OP::state take_tile(TERMS &terms)
{
    typedef typename OP::state state;
    if (terms.index + (TERMS::at_once - 1) * terms.step < terms.end) {
        state of[TERMS::at_once];
        UNROLLED
        for (int i = 0; i < TERMS::at_once; i++) {
            of[i] = terms.next();
        }
        UNROLLED
        for (int half = TERMS::at_once / 2; half > 0; half /= 2) {
            UNROLLED
            for (int i = 0; i < half; i++) {
                of[i] = OP::join(of[i], of[i + half]);
            }
        }
        return of[0];
    }
    state all = terms.next();
    ONE_BY_ONE
    while (terms.index < terms.end) {
        all = OP::join(all, terms.next());
    }
    return all;
}

/* All of a thread's terms: eight tiles, eight of these, and so on. */
template <class OP, class TERMS> DEVICE typename OP::state take_all(TERMS terms)
{
    typedef typename OP::state state;
    state all;
    if (OP::any_order) { /* exact, so no depth is to be kept */
        all = take_tile<OP>(terms);
        ONE_BY_ONE
        while (terms.index < terms.end) {
            all = OP::join(all, take_tile<OP>(terms));
        }
        return all;
    }
    memset(&all, 0, sizeof(all));
    ONE_BY_ONE
    for (bool first = true; terms.index < terms.end; first = false) {
        state some = all;
        ONE_BY_ONE
        for (int i = 0; i < 8 && terms.index < terms.end; i++) {
            state few = some;
            ONE_BY_ONE
            for (int j = 0; j < 8 && terms.index < terms.end; j++) {
                const state tile = take_tile<OP>(terms);
                few = j == 0 ? tile : OP::join(few, tile);
            }
            some = i == 0 ? few : OP::join(some, few);
        }
        all = first ? some : OP::join(all, some);
    }
    return all;
}

/* ---- Blocks --------------------------------------------------------------------------------------------------------------------------------------- */

#define ROOM (TNRI_KERNEL_THREADS * 24) /* a state for each thread */

/* A block's next piece of work, as its threads see it: terms begin, begin + lanes, ... below end of an output. */
struct piece {
    int lane;
    int next_lane; /* threads from lane to lane */
    int live;      /* lanes that have terms */
    bool here;     /* there is such an output */
    int64_t begin;
    int64_t end;
    const char *source;
    char *partial; /* of this output and chunk; in stage JOIN, of the first of its chunks */
    char *target;
};

DEVICE piece piece_of(const tnri_reduce_layout &l, int64_t item, int64_t groups, char *target, const char *source,
                      char *partials)
{
    const int thread = (int)threadIdx.x;
    const int beside = TNRI_KERNEL_THREADS / l.lanes;
    const int64_t chunk = item / groups;
    const int64_t first = chunk * l.chunk;
    piece p;
    p.lane = l.lines != 0 ? thread % l.lanes : thread / beside;
    p.next_lane = l.lines != 0 ? 1 : beside;
    const int64_t output = (item - chunk * groups) * beside + (l.lines != 0 ? thread / l.lanes : thread % beside);
    p.here = output < l.outputs;
    p.end = l.terms - first < l.chunk ? l.terms : first + l.chunk;
    p.live = p.end - first < l.lanes ? (int)(p.end - first) : l.lanes;
    p.begin = first + p.lane;
    p.source = source;
    p.target = target + offset_of(p.here ? output : 0, l.kept_rank, l.shape, l.by, 0, l.target);
    p.partial = partials;
    if (l.stage != TNRI_STAGE_JOIN) {
        p.source += offset_of(p.here ? output : 0, l.kept_rank, l.shape, l.by, 0, l.source);
    }
    if (l.stage != TNRI_STAGE_WHOLE) {
        p.partial += (chunk * l.outputs + output) * l.partial_bytes;
    }
    return p;
}

template <class OP> DEVICE typename OP::state take_terms(const tnri_reduce_layout &l, const piece &p)
{
    typedef typename OP::state state;
    if (l.stage == TNRI_STAGE_JOIN) {
        const int64_t bytes = l.outputs * (int64_t)sizeof(state);
        const char *at = p.partial + p.begin * bytes;
        state all = load<state>(at);
        ONE_BY_ONE
        for (int64_t index = p.begin + l.lanes; index < p.end; index += l.lanes) {
            at += l.lanes * bytes;
            all = OP::join(all, load<state>(at));
        }
        return all;
    }
    if (l.way == TNRI_WAY_FLAT) {
        const int64_t bytes = l.gone_rank == 0 ? 0 : l.source[l.kept_rank];
        const in_line<OP> terms = {p.source + p.begin * bytes, p.begin, p.end, l.lanes, l.lanes * bytes};
        return take_all<OP>(terms);
    }
    const in_layout<OP> terms = {l, p.source, p.begin, p.end, l.lanes};
    return take_all<OP>(terms);
}

/* All threads of the block. */
template <class OP> DEVICE void reduce(const tnri_reduce_layout &l, const piece &p, unsigned char *room)
{
    typedef typename OP::state state;
    state *const mine = (state *)room + threadIdx.x;
    if (p.here && p.lane < p.live) {
        *mine = take_terms<OP>(l, p);
    }
    ONE_BY_ONE
    for (int half = l.lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (p.lane < half && p.lane + half < p.live && p.here) {
            *mine = OP::join(*mine, mine[half * p.next_lane]);
        }
    }
    if (p.lane == 0 && p.here) { /* what this thread wrote itself */
        if (l.stage == TNRI_STAGE_SPLIT) {
            store(p.partial, *mine);
        } else {
            store(p.target, OP::finish(*mine));
        }
    }
}

/* ---- Kernels ---------------------------------------------------------------------------------------------------------------------------------------- */

#define REDUCE_PARAMETERS SAME(tnri_reduce_layout) l, char *target, const char *source, char *partials
#define REDUCE_BEGIN                                                               \
    alignas(16) __shared__ unsigned char room[ROOM];                               \
    const int64_t groups = (l.outputs - 1) / (TNRI_KERNEL_THREADS / l.lanes) + 1;  \
    ONE_BY_ONE                                                                     \
    for (int64_t item = blockIdx.x; item < groups * l.chunks; item += gridDim.x) { \
        const piece p = piece_of(l, item, groups, target, source, partials);       \
        switch (l.op) {
#define CASE(code, OP)          \
    case code:                  \
        reduce<OP>(l, p, room); \
        break;
#define REDUCE_END                                                                   \
    default:                                                                         \
        break;                                                                       \
        }                                                                            \
        __syncthreads(); /* all has been read before the next item's results come */ \
        }

#define REDUCE_REAL(dtype, T, NORM)                 \
    KERNEL_OF(reduce_##dtype, 2)(REDUCE_PARAMETERS) \
    {                                               \
        REDUCE_BEGIN                                \
        CASE(TNRI_KERNEL_SUM, sum_of<T>)            \
        CASE(TNRI_KERNEL_PROD, product_of<T>)       \
        CASE(TNRI_KERNEL_MAX, largest_of<T>)        \
        CASE(TNRI_KERNEL_MIN, smallest_of<T>)       \
        CASE(TNRI_KERNEL_NORM, NORM<T>)             \
        REDUCE_END                                  \
    }
#define REDUCE_COMPLEX(dtype, T, NORM)              \
    KERNEL_OF(reduce_##dtype, 2)(REDUCE_PARAMETERS) \
    {                                               \
        REDUCE_BEGIN                                \
        CASE(TNRI_KERNEL_SUM, sum_of<T>)            \
        CASE(TNRI_KERNEL_PROD, product_of<T>)       \
        CASE(TNRI_KERNEL_NORM, NORM<T>)             \
        REDUCE_END                                  \
    }
#define REDUCE_INTEGER(dtype, T)                    \
    KERNEL_OF(reduce_##dtype, 2)(REDUCE_PARAMETERS) \
    {                                               \
        REDUCE_BEGIN                                \
        CASE(TNRI_KERNEL_SUM, sum_of<T>)            \
        CASE(TNRI_KERNEL_PROD, product_of<T>)       \
        CASE(TNRI_KERNEL_MAX, largest_of<T>)        \
        CASE(TNRI_KERNEL_MIN, smallest_of<T>)       \
        REDUCE_END                                  \
    }
#define ARG(dtype, T)                            \
    KERNEL_OF(arg_##dtype, 1)(REDUCE_PARAMETERS) \
    {                                            \
        typedef best_of<T, false> largest;       \
        typedef best_of<T, true> smallest;       \
        REDUCE_BEGIN                             \
        CASE(TNRI_KERNEL_ARGMAX, largest)        \
        CASE(TNRI_KERNEL_ARGMIN, smallest)       \
        REDUCE_END                               \
    }

REDUCE_REAL(f32, float, single_norm)
REDUCE_REAL(f64, double, double_norm)
REDUCE_COMPLEX(c32, c32, single_norm)
REDUCE_COMPLEX(c64, c64, double_norm)
REDUCE_INTEGER(i32, int32_t)
REDUCE_INTEGER(i64, int64_t)
KERNEL_OF(reduce_bool, 2)
(REDUCE_PARAMETERS){REDUCE_BEGIN CASE(TNRI_KERNEL_ALL, all_of) CASE(TNRI_KERNEL_ANY, any_of) REDUCE_END} ARG(f32, float)
    ARG(f64, double) ARG(i32, int32_t) ARG(i64, int64_t)
