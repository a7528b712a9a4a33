/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From functions on vectors to kernels over planes, for one real dtype.
 *
 * Whatever its place, an element goes through the same vector function: tails are padded with ones, which no function minds,
 * and elements that do not lie in compact runs are gathered into a block first. A lane that the vector function refuses is
 * computed by the C library, from that element alone.
 */
#define VECTOR NAME(lanes)
#define WHERE NAME(where)
enum { NAME(WIDTH) = NAME(LANES), NAME(STREAM_BLOCK) = TNRI_STREAM_BYTES / sizeof(T), NAME(GATHER_BLOCK) = 64 };

typedef VECTOR (*NAME(vector_function))(VECTOR x, WHERE *good);
typedef T (*NAME(scalar_function))(T x);

/* In a function of its own, all in registers, so that the loops around it need no memory of theirs. */
static void NAME(repair)(T *out, VECTOR x, WHERE good, NAME(scalar_function) scalar) TNRI_COLD;
static void NAME(repair)(T *out, VECTOR x, WHERE good, NAME(scalar_function) scalar)
{
    for (int i = 0; i < NAME(WIDTH); ++i) {
        if (!NAME(holds)(good, i)) {
            out[i] = scalar(x[i]);
        }
    }
}

/* One vector; out may be in. No scalar function: the vector function refuses nothing. */
LANES_INLINE void NAME(map_one)(T *out, const T *in, NAME(vector_function) vector, NAME(scalar_function) scalar)
{
    VECTOR x;
    memcpy(&x, in, sizeof x);
    WHERE good = NAME(everywhere)();
    const VECTOR y = vector(x, &good);
    memcpy(out, &y, sizeof y);
    if (TNRI_UNLIKELY(scalar != NULL && !NAME(all)(good))) {
        NAME(repair)(out, x, good, scalar);
    }
}

/* Whole vectors in a compact run; out is in or apart from it. The rest is not done; gives how many are. */
LANES_INLINE int64_t NAME(map_run)(T *out, const T *in, int64_t count, bool stream, NAME(vector_function) vector,
                                   NAME(scalar_function) scalar)
{
    int64_t i = 0;
    if (stream) {
        for (; count - i >= NAME(STREAM_BLOCK); i += NAME(STREAM_BLOCK)) {
            _Alignas(64) T block[NAME(STREAM_BLOCK)];
            for (int k = 0; k < NAME(STREAM_BLOCK); k += NAME(WIDTH)) {
                NAME(map_one)(block + k, in + i + k, vector, scalar);
            }
            tnri_stream_block(out + i, block);
        }
    }
    for (; count - i >= NAME(WIDTH); i += NAME(WIDTH)) {
        NAME(map_one)(out + i, in + i, vector, scalar);
    }
    return i;
}

typedef int64_t (*NAME(run_function))(T *out, const T *in, int64_t count, bool stream);

/* A compact run with its end. */
static void NAME(map_line)(T *out, const T *in, int64_t count, bool stream, NAME(run_function) run)
{
    const int64_t done = run(out, in, count, stream);
    if (done < count) {
        T rest[NAME(WIDTH)];
        for (int k = 0; k < NAME(WIDTH); ++k) {
            rest[k] = k < count - done ? in[done + k] : (T)1;
        }
        run(rest, rest, NAME(WIDTH), false);
        memcpy(out + done, rest, (size_t)(count - done) * sizeof(T));
    }
}

static void NAME(map)(const tnri_plane *p, NAME(run_function) run)
{
    const int64_t width = (int64_t)sizeof(T);
    if (p->step[0] == width && p->step[1] == width && (p->lines == 1 || p->count >= NAME(WIDTH))) {
        for (int64_t j = 0; j < p->lines; ++j) {
            NAME(map_line)
            ((T *)(void *)(p->data[0] + j * p->jump[0]), (const T *)(const void *)(p->data[1] + j * p->jump[1]),
             p->count, p->stream, run);
        }
        return;
    }
    place from = {0, 0};
    place to = {0, 0};
    for (int64_t left = p->count * p->lines; left > 0; left -= NAME(GATHER_BLOCK)) {
        T block[NAME(GATHER_BLOCK)];
        const int64_t count = left < NAME(GATHER_BLOCK) ? left : NAME(GATHER_BLOCK);
        for (int64_t i = 0; i < count; ++i) {
            block[i] = *(const T *)(const void *)next_place(p, 1, &from);
        }
        NAME(map_line)(block, block, count, false, run);
        for (int64_t i = 0; i < count; ++i) {
            *(T *)(void *)next_place(p, 0, &to) = block[i];
        }
    }
}

#define FUNCTION exp
#define SCALAR MATH(exp)
#include "math_function.tmpl.h"
#define FUNCTION log
#define SCALAR MATH(log)
#include "math_function.tmpl.h"
#define FUNCTION sin
#define SCALAR MATH(sin)
#include "math_function.tmpl.h"
#define FUNCTION cos
#define SCALAR MATH(cos)
#include "math_function.tmpl.h"
#define FUNCTION tanh
#define SCALAR NULL
#include "math_function.tmpl.h"
#define FUNCTION sqrt
#define SCALAR NULL
#include "math_function.tmpl.h"
#define FUNCTION rsqrt
#define SCALAR NULL
#include "math_function.tmpl.h"
#define FUNCTION expm1
#define SCALAR MATH(expm1)
#include "math_function.tmpl.h"
#define FUNCTION log1p
#define SCALAR MATH(log1p)
#include "math_function.tmpl.h"

static void NAME(pow)(const tnri_plane *p)
{
    for (int64_t j = 0; j < p->lines; ++j) {
        char *out = p->data[0] + j * p->jump[0];
        const char *a = p->data[1] + j * p->jump[1];
        const char *b = p->data[2] + j * p->jump[2];
        for (int64_t i = 0; i < p->count; ++i) {
            *(T *)(void *)(out + i * p->step[0]) = MATH(pow)(*(const T *)(const void *)(a + i * p->step[1]),
                                                             *(const T *)(const void *)(b + i * p->step[2]));
        }
    }
}

#undef VECTOR
#undef WHERE
