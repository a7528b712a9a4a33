/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kernel of a vector function: FUNCTION is its name, SCALAR what computes the lanes that it refuses, or NULL.
 */
#define RUN FUNCTION_NAME(FUNCTION, run)
#define VECTOR_FUNCTION FUNCTION_NAME(FUNCTION, lanes)

/* A function of its own, so that its loops have the registers for themselves. */
static TNRI_NOINLINE int64_t NAME(RUN)(T *out, const T *in, int64_t count, bool stream)
{
    return NAME(map_run)(out, in, count, stream, NAME(VECTOR_FUNCTION), SCALAR);
}

static void NAME(FUNCTION)(const tnri_plane *p) { NAME(map)(p, NAME(RUN)); }

#undef RUN
#undef VECTOR_FUNCTION
#undef FUNCTION
#undef SCALAR
