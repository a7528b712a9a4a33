/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of the math functions of one complex dtype: one element after another. */

static inline T NAME(narrow)(tnr_c64 z) { return (T){(REAL)z.re, (REAL)z.im}; }

static inline void NAME(map_complex)(const tnri_plane *p, tnr_c64 (*function)(tnr_c64))
{
    for (int64_t j = 0; j < p->lines; ++j) {
        char *out = p->data[0] + j * p->jump[0];
        const char *a = p->data[1] + j * p->jump[1];
        for (int64_t i = 0; i < p->count; ++i) {
            const T z = *(const T *)(const void *)(a + i * p->step[1]);
            *(T *)(void *)(out + i * p->step[0]) = NAME(narrow)(function(NAME(widen)(z)));
        }
    }
}

static void NAME(exp)(const tnri_plane *p) { NAME(map_complex)(p, complex_exp); }
static void NAME(log)(const tnri_plane *p) { NAME(map_complex)(p, complex_log); }
static void NAME(sin)(const tnri_plane *p) { NAME(map_complex)(p, complex_sin); }
static void NAME(cos)(const tnri_plane *p) { NAME(map_complex)(p, complex_cos); }
static void NAME(tanh)(const tnri_plane *p) { NAME(map_complex)(p, complex_tanh); }
static void NAME(sqrt)(const tnri_plane *p) { NAME(map_complex)(p, complex_sqrt); }
static void NAME(rsqrt)(const tnri_plane *p) { NAME(map_complex)(p, complex_rsqrt); }
static void NAME(expm1)(const tnri_plane *p) { NAME(map_complex)(p, complex_expm1); }
static void NAME(log1p)(const tnri_plane *p) { NAME(map_complex)(p, complex_log1p); }

static void NAME(pow)(const tnri_plane *p)
{
    for (int64_t j = 0; j < p->lines; ++j) {
        char *out = p->data[0] + j * p->jump[0];
        const char *a = p->data[1] + j * p->jump[1];
        const char *b = p->data[2] + j * p->jump[2];
        for (int64_t i = 0; i < p->count; ++i) {
            const T base = *(const T *)(const void *)(a + i * p->step[1]);
            const T exponent = *(const T *)(const void *)(b + i * p->step[2]);
            *(T *)(void *)(out + i * p->step[0]) = NAME(narrow)(complex_pow(NAME(widen)(base), NAME(widen)(exponent)));
        }
    }
}
