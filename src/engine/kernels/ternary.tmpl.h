/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kernel of three inputs: NAME(KERNEL) writes OUT APPLY(FIRST, OUT, OUT). Compact runs are loops that the compiler turns
 * into vector code, with the last two inputs compact or held still; everything else walks by bytes.
 */

#if TNRI_SMALL

static void JOIN_SUFFIX(NAME(KERNEL), one)(char *const *at)
{
    *(OUT *)(void *)at[0] = APPLY(*(const FIRST *)(const void *)at[1], *(const OUT *)(const void *)at[2],
                                  *(const OUT *)(const void *)at[3]);
}

static void NAME(KERNEL)(const tnri_plane *p) { tnri_plane_each(p, JOIN_SUFFIX(NAME(KERNEL), one)); }

#else

static void NAME(KERNEL)(const tnri_plane *p)
{
    const int64_t width = (int64_t)sizeof(OUT);
    const int64_t count = p->count; /* all in locals, which no output can alias */
    const int64_t lines = p->lines;
    const int64_t out_step = p->step[0], out_jump = p->jump[0];
    const int64_t a_step = p->step[1], a_jump = p->jump[1];
    const int64_t b_step = p->step[2], b_jump = p->jump[2];
    const int64_t c_step = p->step[3], c_jump = p->jump[3];
    char *const first_out = p->data[0];
    const char *const first_a = p->data[1];
    const char *const first_b = p->data[2];
    const char *const first_c = p->data[3];
#if HOW == STREAMS
    const bool stream = p->stream;
#endif
    const bool run = out_step == width && a_step == (int64_t)sizeof(FIRST);
    for (int64_t j = 0; j < lines; ++j) {
        int64_t i = 0;
        char *out = first_out + j * out_jump;
        const char *a = first_a + j * a_jump;
        const char *b = first_b + j * b_jump;
        const char *c = first_c + j * c_jump;
        OUT *to = (OUT *)(void *)out;
        const FIRST *one = (const FIRST *)(const void *)a;
        const OUT *two = (const OUT *)(const void *)b;
        const OUT *three = (const OUT *)(const void *)c;
        if (run && b_step == width && c_step == width) {
#define VALUE(i) APPLY(one[i], two[i], three[i])
#include "run.tmpl.h"
        } else if (run && b_step == 0 && c_step == 0) {
            const OUT held = *two;
            const OUT also = *three;
#define VALUE(i) APPLY(one[i], held, also)
#include "run.tmpl.h"
        } else if (run && b_step == width && c_step == 0) {
            const OUT held = *three;
#define VALUE(i) APPLY(one[i], two[i], held)
#include "run.tmpl.h"
        } else if (run && b_step == 0 && c_step == width) {
            const OUT held = *two;
#define VALUE(i) APPLY(one[i], held, three[i])
#include "run.tmpl.h"
        }
        for (; i < count; ++i) {
            *(OUT *)(void *)(out + i * out_step) =
                APPLY(*(const FIRST *)(const void *)(a + i * a_step), *(const OUT *)(const void *)(b + i * b_step),
                      *(const OUT *)(const void *)(c + i * c_step));
        }
    }
}

#endif

#undef KERNEL
#undef APPLY
