/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One binary kernel: BINARY, in the dtype that elementwise.tmpl.h is being included for. Compact runs, alone or with one
 * operand held still, are loops that the compiler turns into vector code; everything else walks by bytes.
 */

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define APPLY NAME(JOIN(BINARY, 1))

static void NAME(BINARY)(char *out, int64_t out_step, const char *a, int64_t a_step, const char *b, int64_t b_step,
                         int64_t count)
{
    const int64_t width = (int64_t)sizeof(T);
    T *to = (T *)(void *)out;
    const T *left = (const T *)(const void *)a;
    const T *right = (const T *)(const void *)b;
    if (out_step == width && a_step == width && b_step == width) {
        TNRI_INDEPENDENT
        for (int64_t i = 0; i < count; ++i) {
            to[i] = APPLY(left[i], right[i]);
        }
    } else if (out_step == width && a_step == width && b_step == 0) {
        const T held = *right;
        TNRI_INDEPENDENT
        for (int64_t i = 0; i < count; ++i) {
            to[i] = APPLY(left[i], held);
        }
    } else if (out_step == width && a_step == 0 && b_step == width) {
        const T held = *left;
        TNRI_INDEPENDENT
        for (int64_t i = 0; i < count; ++i) {
            to[i] = APPLY(held, right[i]);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            *(T *)(void *)(out + i * out_step) =
                APPLY(*(const T *)(const void *)(a + i * a_step), *(const T *)(const void *)(b + i * b_step));
        }
    }
}

#undef APPLY
#undef JOIN
#undef JOIN_
#undef BINARY
