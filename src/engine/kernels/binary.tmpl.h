/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kernel of two inputs: NAME(KERNEL) writes OUT APPLY(IN, IN). Compact runs, alone or with one input held still, are
 * loops that the compiler turns into vector code; everything else walks by bytes. HOW: see run.tmpl.h.
 */

#if TNRI_SMALL

static void JOIN_SUFFIX(NAME(KERNEL), one)(char *const *at)
{
    *(OUT *)(void *)at[0] = APPLY(*(const IN *)(const void *)at[1], *(const IN *)(const void *)at[2]);
}

static void NAME(KERNEL)(const tnri_plane *p) { tnri_plane_each(p, JOIN_SUFFIX(NAME(KERNEL), one)); }

#else

static void NAME(KERNEL)(const tnri_plane *p)
{
    const int64_t width = (int64_t)sizeof(IN);
    const int64_t count = p->count; /* all in locals, which no output can alias */
    const int64_t lines = p->lines;
    const int64_t out_step = p->step[0], out_jump = p->jump[0];
    const int64_t a_step = p->step[1], a_jump = p->jump[1];
    const int64_t b_step = p->step[2], b_jump = p->jump[2];
    char *const first_out = p->data[0];
    const char *const first_a = p->data[1];
    const char *const first_b = p->data[2];
#if HOW == STREAMS
    const bool stream = p->stream;
#endif
    for (int64_t j = 0; j < lines; ++j) {
        int64_t i = 0;
        char *out = first_out + j * out_jump;
        const char *a = first_a + j * a_jump;
        const char *b = first_b + j * b_jump;
        OUT *to = (OUT *)(void *)out;
        const IN *left = (const IN *)(const void *)a;
        const IN *right = (const IN *)(const void *)b;
        if (out_step == (int64_t)sizeof(OUT) && a_step == width && b_step == width) {
#define VALUE(i) APPLY(left[i], right[i])
#include "run.tmpl.h"
        } else if (out_step == (int64_t)sizeof(OUT) && a_step == width && b_step == 0) {
            const IN held = *right;
#define VALUE(i) APPLY(left[i], held)
#include "run.tmpl.h"
        } else if (out_step == (int64_t)sizeof(OUT) && a_step == 0 && b_step == width) {
            const IN held = *left;
#define VALUE(i) APPLY(held, right[i])
#include "run.tmpl.h"
        }
        for (; i < count; ++i) {
            *(OUT *)(void *)(out + i * out_step) =
                APPLY(*(const IN *)(const void *)(a + i * a_step), *(const IN *)(const void *)(b + i * b_step));
        }
    }
}

#endif

#undef KERNEL
#undef APPLY
