/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of elements that no operation changes: copies of any layout, fills, reshapes, triangles. Elements are words of 1, 4, 8 and
 * 16 bytes.
 *
 * Copies: neighbouring threads take neighbouring elements of the target, in the order of its memory (the launch sorts the axes), so
 * that writes are whole lines. Where the source's neighbours lie along another axis, tnri_turn goes by tiles through shared memory,
 * so that reads are whole lines too.
 */
#include "walk.cuh"

template <class WORD> struct same_word {
    template <int N> MEMBER void run(WORD *result, const WORD *a, const nothing *, const nothing *) const
    {
        UNROLLED
        for (int k = 0; k < N; k++) {
            result[k] = a[k];
        }
    }
};

#define PACK(bytes, WORD)                                                             \
    KERNEL(pack_##bytes)(SAME(tnri_map_layout) l, char *target, const char *a)        \
    {                                                                                 \
        walk<WORD, WORD, nothing, nothing>(l, 0, target, a, 0, 0, same_word<WORD>()); \
    }
PACK(1, uint8_t)
PACK(4, uint32_t)
PACK(8, uint64_t)
PACK(16, sixteen)

/* ---- Fills ---------------------------------------------------------------------------------------------------------------------------- */

DEVICE void take_value(const tnri_value &from, uint8_t &to) { to = (uint8_t)from.low; }
DEVICE void take_value(const tnri_value &from, uint32_t &to) { to = (uint32_t)from.low; }
DEVICE void take_value(const tnri_value &from, uint64_t &to) { to = from.low; }
DEVICE void take_value(const tnri_value &from, sixteen &to) { to = sixteen{from.low, from.high}; }

template <class WORD> struct one_value {
    WORD value;
    template <int N> MEMBER void run(WORD *result, const nothing *, const nothing *, const nothing *) const
    {
        UNROLLED
        for (int k = 0; k < N; k++) {
            result[k] = value;
        }
    }
};

#define FILL(bytes, WORD)                                                         \
    KERNEL(fill_##bytes)(SAME(tnri_map_layout) l, char *target, tnri_value value) \
    {                                                                             \
        one_value<WORD> of;                                                       \
        take_value(value, of.value);                                              \
        walk<WORD, nothing, nothing, nothing>(l, 0, target, 0, 0, 0, of);         \
    }
FILL(1, uint8_t)
FILL(4, uint32_t)
FILL(8, uint64_t)
FILL(16, sixteen)

/* ---- Turned copies --------------------------------------------------------------------------------------------------------------------- */

#define TILE 32

template <class WORD>
DEVICE void turn(const tnri_map_layout &l, char *target, const char *source, WORD (*tile)[TILE + 1])
{
    const int64_t tiles_0 = (l.shape[0] - 1) / TILE + 1;
    const int64_t tiles_1 = (l.shape[1] - 1) / TILE + 1;
    const int64_t planes = l.count / (l.shape[0] * l.shape[1]);
    const int64_t *const steps[2] = {l.steps[0], l.steps[1]};
    const int column = (int)threadIdx.x % TILE;
    const int row = (int)threadIdx.x / TILE;
    const int rows = TNRI_KERNEL_THREADS / TILE;
    for (int64_t at = blockIdx.x; at < tiles_0 * tiles_1 * planes; at += gridDim.x) {
        const int64_t first_0 = at % tiles_0 * TILE;
        const int64_t first_1 = at / tiles_0 % tiles_1 * TILE;
        int64_t offsets[2];
        offsets_of<2>(at / tiles_0 / tiles_1, l.rank - 2, l.shape, l.by, 2, steps, offsets);
        UNROLLED
        for (int r = 0; r < TILE; r += rows) {
            const int64_t i = first_0 + r + row;
            const int64_t j = first_1 + column;
            if (i < l.shape[0] && j < l.shape[1]) {
                tile[r + row][column] = load<WORD>(source + offsets[1] + i * l.steps[1][0] + j * l.steps[1][1]);
            }
        }
        __syncthreads();
        UNROLLED
        for (int r = 0; r < TILE; r += rows) {
            const int64_t i = first_0 + column;
            const int64_t j = first_1 + r + row;
            if (i < l.shape[0] && j < l.shape[1]) {
                store<WORD>(target + offsets[0] + i * l.steps[0][0] + j * l.steps[0][1], tile[column][r + row]);
            }
        }
        __syncthreads(); /* the tile is read before the next one is written */
    }
}

#define TURN(bytes, WORD)                                                      \
    KERNEL(turn_##bytes)(SAME(tnri_map_layout) l, char *target, const char *a) \
    {                                                                          \
        __shared__ WORD tile[TILE][TILE + 1];                                  \
        turn<WORD>(l, target, a, tile);                                        \
    }
TURN(1, uint8_t)
TURN(4, uint32_t)
TURN(8, uint64_t)
TURN(16, sixteen)

/* ---- Two layouts without a common shape ----------------------------------------------------------------------------------------------- */

template <class WORD> DEVICE void reshape(const tnri_reshape_layout &l, char *target, const char *source)
{
    for (int64_t at = thread_number(); at < l.count; at += threads_in_all()) {
        const int64_t to = offset_of(at, l.rank[0], l.shape[0], l.by[0], 0, l.steps[0]);
        const int64_t from = offset_of(at, l.rank[1], l.shape[1], l.by[1], 0, l.steps[1]);
        store<WORD>(target + to, load<WORD>(source + from));
    }
}

#define RESHAPE(bytes, WORD) \
    KERNEL(reshape_##bytes)(SAME(tnri_reshape_layout) l, char *target, const char *a) { reshape<WORD>(l, target, a); }
RESHAPE(1, uint8_t)
RESHAPE(4, uint32_t)
RESHAPE(8, uint64_t)
RESHAPE(16, sixteen)

/* ---- Triangles -------------------------------------------------------------------------------------------------------------------------- */

template <class WORD> DEVICE void triangle(const tnri_triangle_layout &l, char *target, const char *source)
{
    const int64_t *const steps[2] = {l.steps[0], l.steps[1]};
    for (int64_t at = thread_number(); at < l.count; at += threads_in_all()) {
        const int64_t i = at % l.shape[0];
        const int64_t j = at / l.shape[0] % l.shape[1];
        int64_t offsets[2];
        offsets_by_division<2>(at, l.count, l.rank, l.shape, steps, offsets);
        WORD word;
        memset(&word, 0, sizeof(word));
        /* i - j does not overflow, nor is k added to anything */
        if (l.upper != 0 ? j - i >= l.k : j - i <= l.k) {
            word = load<WORD>(source + offsets[1]);
        }
        store<WORD>(target + offsets[0], word);
    }
}

#define TRIANGLE(bytes, WORD)                                                           \
    KERNEL(triangle_##bytes)(SAME(tnri_triangle_layout) l, char *target, const char *a) \
    {                                                                                   \
        triangle<WORD>(l, target, a);                                                   \
    }
TRIANGLE(1, uint8_t)
TRIANGLE(4, uint32_t)
TRIANGLE(8, uint64_t)
TRIANGLE(16, sixteen)
