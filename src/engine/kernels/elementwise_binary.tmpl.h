/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One binary kernel: KERNEL applies APPLY, in the dtype that elementwise.tmpl.h is being included for. Compact runs, alone or
 * with one operand held still, are loops that the compiler turns into vector code; everything else walks by bytes.
 */

static void NAME(KERNEL)(const plane *p)
{
    const int64_t width = (int64_t)sizeof(T);
    const int64_t count = p->count; /* all in locals, which no output can alias */
    const int64_t lines = p->lines;
    const int64_t out_step = p->step[0], out_jump = p->jump[0];
    const int64_t a_step = p->step[1], a_jump = p->jump[1];
    const int64_t b_step = p->step[2], b_jump = p->jump[2];
    char *const first_out = p->data[0];
    const char *const first_a = p->data[1];
    const char *const first_b = p->data[2];
    for (int64_t j = 0; j < lines; ++j) {
        char *out = first_out + j * out_jump;
        const char *a = first_a + j * a_jump;
        const char *b = first_b + j * b_jump;
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
}

#undef KERNEL
#undef APPLY
