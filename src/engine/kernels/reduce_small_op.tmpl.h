/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operation of one dtype for reduce_small_kernels.c. Define before OP, LIFT(x) and JOIN(x, y) as for reduce_op.tmpl.h; where they
 * differ from T, AS_IT_IS and NULL, also ACC, END and RULES; and BEATS(x, best) where there is an arg kernel.
 */
#ifndef ACC
#define ACC T
#endif
#ifndef END
#define END AS_IT_IS
#endif
#ifndef RULES
#define RULES NULL
#endif

#define OPNAME(x) NAME(OPNAME_(x, OP))
#define OPNAME_(x, op) OPNAME__(x, op)
#define OPNAME__(x, op) x##_##op

static void OPNAME(column)(const tnri_reduction *r, char *acc, const char *a, int64_t step, int64_t rows, bool more)
{
    (void)r;
    const T *term = (const T *)(const void *)a;
    ACC sum = LIFT(*term);
    if (more) {
        const ACC before = *(const ACC *)(const void *)acc;
        sum = JOIN(before, sum);
    }
    for (int64_t i = 1; i < rows; ++i) {
        a += step;
        term = (const T *)(const void *)a;
        const ACC lifted = LIFT(*term);
        sum = JOIN(sum, lifted);
    }
    *(ACC *)(void *)acc = sum;
}

static void OPNAME(join)(char *acc, const char *other)
{
    ACC *to = (ACC *)(void *)acc;
    const ACC x = *to;
    const ACC y = *(const ACC *)(const void *)other;
    *to = JOIN(x, y);
}

static const tnri_reduce_terms OPNAME(terms) = {OPNAME(column), OPNAME(join), sizeof(ACC), END, RULES};

#if defined(BEATS) && TNRI_HAS_I64
static void OPNAME(arg_look)(const char *a, int64_t step, int64_t first, int64_t rows, int64_t across, int64_t columns,
                             tnri_arg_best *best)
{
    for (int64_t j = 0; j < columns; ++j) {
        const char *at = a + j * across;
        T value = *(const T *)(const void *)at;
        best->index[j] = first;
        for (int64_t i = 1; i < rows; ++i) {
            at += step;
            const T x = *(const T *)(const void *)at;
            if (BEATS(x, value)) {
                value = x;
                best->index[j] = first + i;
            }
        }
    }
}
#endif

#undef OPNAME
#undef OPNAME_
#undef OPNAME__
#undef OP
#undef ACC
#undef LIFT
#undef JOIN
#undef END
#undef RULES
#undef BEATS
