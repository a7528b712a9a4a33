/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel FUNCTION of one real dtype, from RESULT(x, y): what the provider's function gives for one vector of each input. */
#define ONE FUNCTION_NAME(FUNCTION, one)
#define RUN FUNCTION_NAME(FUNCTION, run)

static inline void NAME(ONE)(T *out, const T *a, const T *b)
{
    NAME(lanes) x;
    NAME(lanes) y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    x = RESULT(x, y);
    memcpy(out, &x, sizeof x);
}

/* Whole vectors of a compact run; out is an input or apart from it. The rest is not done; gives how many are. */
static int64_t NAME(RUN)(T *out, const T *a, const T *b, int64_t count, bool stream)
{
    int64_t i = 0;
    if (stream) {
        for (; count - i >= NAME(STREAM_BLOCK); i += NAME(STREAM_BLOCK)) {
            _Alignas(64) T block[NAME(STREAM_BLOCK)];
            for (int k = 0; k < NAME(STREAM_BLOCK); k += NAME(WIDTH)) {
                NAME(ONE)(block + k, a + i + k, b + i + k);
            }
            tnri_stream_block(out + i, block);
        }
    }
    for (; count - i >= NAME(WIDTH); i += NAME(WIDTH)) {
        NAME(ONE)(out + i, a + i, b + i);
    }
    return i;
}

static void NAME(FUNCTION)(const tnri_plane *p) { NAME(map)(p, NAME(RUN)); }

#undef ONE
#undef RUN
#undef FUNCTION
#undef RESULT
