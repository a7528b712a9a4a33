/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy kernels for one element size. Expects WORD (an aliasing-safe type of that size), NAME(x), and SIDE: elements per cache
 * line, the side of a transposition tile. Byte strides throughout.
 */

#define AT(base, byte_offset) (*(WORD *)(void *)((base) + (byte_offset)))
#define CAT(base, byte_offset) (*(const WORD *)(const void *)((base) + (byte_offset)))

static void NAME(line)(char *target, int64_t target_step, const char *source, int64_t source_step, int64_t count)
{
    const int64_t width = (int64_t)sizeof(WORD);
    if (target_step == width && source_step == width) {
        if (count * width >= 64) {
            memcpy(target, source, (size_t)(count * width));
        } else {
            for (int64_t i = 0; i < count; ++i) {
                AT(target, i * width) = CAT(source, i * width);
            }
        }
    } else if (target_step == width && source_step == 0) {
        const WORD value = CAT(source, 0);
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * width) = value;
        }
    } else if (target_step == width) {
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * width) = CAT(source, i * source_step);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * target_step) = CAT(source, i * source_step);
        }
    }
}

/* A tile of rows x columns: the target is walked along its lines, the source along its columns. */
static inline void NAME(tile)(char *target, int64_t target_row, int64_t target_column, const char *source,
                              int64_t source_row, int64_t source_column, int64_t rows, int64_t columns)
{
    for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
            AT(target, i * target_row + j * target_column) = CAT(source, i * source_row + j * source_column);
        }
    }
}

/*
 * A whole tile of unit steps goes through a buffer: each line of source and target is then touched in one go, which matters
 * where power-of-two strides put all lines of a tile into the same few places of the cache.
 */
static inline void NAME(full_tile)(char *target, int64_t target_column, const char *source, int64_t source_row)
{
    WORD buffer[SIDE][SIDE];
    for (int64_t i = 0; i < SIDE; ++i) {
        memcpy(buffer[i], source + i * source_row, sizeof buffer[i]);
    }
    for (int64_t j = 0; j < SIDE; ++j) {
        char *line = target + j * target_column;
        for (int64_t i = 0; i < SIDE; ++i) {
            AT(line, i * (int64_t)sizeof(WORD)) = buffer[i][j];
        }
    }
}

/*
 * Axis 0 ("row", where the target steps least) against axis 1 ("column", where the source does). Tiles of one cache line a
 * side, so that every line of either operand is used up while it is in the first-level cache; bands of columns keep the
 * pages in reach of the address-translation cache.
 */
static void NAME(transpose)(char *target, int64_t target_row, int64_t target_column, const char *source,
                            int64_t source_row, int64_t source_column, int64_t rows, int64_t columns)
{
    const int64_t width = (int64_t)sizeof(WORD);
    const bool unit = target_row == width && source_column == width;
    for (int64_t begin = 0; begin < columns; begin += BAND) {
        const int64_t end = columns - begin < BAND ? columns : begin + BAND;
        for (int64_t i = 0; i < rows; i += SIDE) {
            const int64_t height = rows - i < SIDE ? rows - i : SIDE;
            for (int64_t j = begin; j < end; j += SIDE) {
                const int64_t breadth = end - j < SIDE ? end - j : SIDE;
                char *to = target + i * target_row + j * target_column;
                const char *from = source + i * source_row + j * source_column;
                if (unit && height == SIDE && breadth == SIDE) {
                    NAME(full_tile)(to, target_column, from, source_row);
                } else {
                    NAME(tile)(to, target_row, target_column, from, source_row, source_column, height, breadth);
                }
            }
        }
    }
}

/* Axes 0 and 1 of the nest at its present position. */
static void NAME(plane)(const tnri_nest *nest, bool transposed)
{
    const int64_t *target = nest->strides[0];
    const int64_t *source = nest->strides[1];
    if (transposed) {
        NAME(transpose)
        (nest->data[0], target[0], target[1], nest->data[1], source[0], source[1], nest->shape[0], nest->shape[1]);
        return;
    }
    const int64_t lines = nest->rank > 1 ? nest->shape[1] : 1;
    for (int64_t j = 0; j < lines; ++j) {
        const int64_t target_offset = nest->rank > 1 ? j * target[1] : 0;
        const int64_t source_offset = nest->rank > 1 ? j * source[1] : 0;
        NAME(line)(nest->data[0] + target_offset, target[0], nest->data[1] + source_offset, source[0], nest->shape[0]);
    }
}

#undef AT
#undef CAT
#undef WORD
#undef NAME
#undef SIDE
