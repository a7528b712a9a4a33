/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kernel of one input: NAME(KERNEL) writes OUT APPLY(IN). Compact runs are loops that the compiler turns into vector
 * code; everything else walks by bytes. HOW: see run.tmpl.h.
 */

#if TNRI_SMALL

static void JOIN_SUFFIX(NAME(KERNEL), one)(char *const *at)
{
    *(OUT *)(void *)at[0] = APPLY(*(const IN *)(const void *)at[1]);
}

static void NAME(KERNEL)(const tnri_plane *p) { tnri_plane_each(p, JOIN_SUFFIX(NAME(KERNEL), one)); }

#else

static void NAME(KERNEL)(const tnri_plane *p)
{
    const int64_t count = p->count; /* all in locals, which no output can alias */
    const int64_t lines = p->lines;
    const int64_t out_step = p->step[0], out_jump = p->jump[0];
    const int64_t a_step = p->step[1], a_jump = p->jump[1];
    char *const first_out = p->data[0];
    const char *const first_a = p->data[1];
#if HOW == STREAMS
    const bool stream = p->stream;
#endif
    for (int64_t j = 0; j < lines; ++j) {
        int64_t i = 0;
        char *out = first_out + j * out_jump;
        const char *a = first_a + j * a_jump;
        if (out_step == (int64_t)sizeof(OUT) && a_step == (int64_t)sizeof(IN)) {
            OUT *to = (OUT *)(void *)out;
            const IN *from = (const IN *)(const void *)a;
#define VALUE(i) APPLY(from[i])
#include "run.tmpl.h"
        }
        for (; i < count; ++i) {
            *(OUT *)(void *)(out + i * out_step) = APPLY(*(const IN *)(const void *)(a + i * a_step));
        }
    }
}

#endif

#undef KERNEL
#undef APPLY
