/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From functions on vectors to kernels over planes, for one real dtype; and the roots, which the hardware has.
 *
 * Whatever its place, an element goes through the same vector function: tails are padded with ones, which no function minds,
 * and elements that do not lie in compact runs are gathered into a block first.
 */
enum { NAME(WIDTH) = sizeof(NAME(lanes)) / sizeof(T), NAME(STREAM_BLOCK) = TNRI_STREAM_BYTES / sizeof(T) };
enum { NAME(GATHER_BLOCK) = 64 };

/* Functions of one number get their input as b, too. */
typedef int64_t (*NAME(run_function))(T *out, const T *a, const T *b, int64_t count, bool stream);

/* A compact run with its end. */
static void NAME(map_line)(T *out, const T *a, const T *b, int64_t count, bool stream, NAME(run_function) run)
{
    const int64_t done = run(out, a, b, count, stream);
    if (done < count) {
        T rest[2][NAME(WIDTH)];
        for (int k = 0; k < NAME(WIDTH); ++k) {
            rest[0][k] = k < count - done ? a[done + k] : (T)1;
            rest[1][k] = k < count - done ? b[done + k] : (T)1;
        }
        run(rest[0], rest[0], rest[1], NAME(WIDTH), false);
        memcpy(out + done, rest[0], (size_t)(count - done) * sizeof(T));
    }
}

static void NAME(map)(const tnri_plane *p, NAME(run_function) run)
{
    const int last = p->operands - 1;
    bool compact = p->lines == 1 || p->count >= NAME(WIDTH);
    for (int k = 0; k <= last; ++k) {
        compact = compact && p->step[k] == (int64_t)sizeof(T);
    }
    if (compact) {
        for (int64_t j = 0; j < p->lines; ++j) {
            NAME(map_line)
            ((T *)(void *)(p->data[0] + j * p->jump[0]), (const T *)(const void *)(p->data[1] + j * p->jump[1]),
             (const T *)(const void *)(p->data[last] + j * p->jump[last]), p->count, p->stream, run);
        }
        return;
    }
    place at[1 + TNRI_CALL_INPUTS] = {{0, 0}};
    for (int64_t left = p->count * p->lines; left > 0; left -= NAME(GATHER_BLOCK)) {
        T block[1 + TNRI_CALL_INPUTS][NAME(GATHER_BLOCK)];
        const int64_t count = left < NAME(GATHER_BLOCK) ? left : NAME(GATHER_BLOCK);
        for (int k = 1; k <= last; ++k) {
            for (int64_t i = 0; i < count; ++i) {
                block[k][i] = *(const T *)(const void *)next_place(p, k, &at[k]);
            }
        }
        NAME(map_line)(block[0], block[1], block[last], count, false, run);
        for (int64_t i = 0; i < count; ++i) {
            *(T *)(void *)next_place(p, 0, &at[0]) = block[0][i];
        }
    }
}

#define FUNCTION exp
#define RESULT(x, y) NAME(exp_lanes)(x)
#include "math_function.tmpl.h"
#define FUNCTION log
#define RESULT(x, y) NAME(log_lanes)(x)
#include "math_function.tmpl.h"
#define FUNCTION sin
#define RESULT(x, y) NAME(sin_lanes)(x)
#include "math_function.tmpl.h"
#define FUNCTION cos
#define RESULT(x, y) NAME(cos_lanes)(x)
#include "math_function.tmpl.h"
#define FUNCTION tanh
#define RESULT(x, y) NAME(tanh_lanes)(x)
#include "math_function.tmpl.h"
#define FUNCTION expm1
#define RESULT(x, y) NAME(expm1_lanes)(x)
#include "math_function.tmpl.h"
#define FUNCTION log1p
#define RESULT(x, y) NAME(log1p_lanes)(x)
#include "math_function.tmpl.h"
#define FUNCTION pow
#define RESULT(x, y) NAME(pow_lanes)(x, y)
#include "math_function.tmpl.h"

#define OUT T
#define IN T
#define HOW STREAMS
#define KERNEL sqrt
#define APPLY MATH(sqrt)
#include "unary.tmpl.h"
#define KERNEL rsqrt
#define APPLY 1 / MATH(sqrt)
#include "unary.tmpl.h"
#undef OUT
#undef IN
#undef HOW
