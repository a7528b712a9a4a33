/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plane copy for one element size. Expects WORD (an aliasing-safe type of that size), NAME(x), SIDE: elements per cache
 * line, the side of a tile, and SQUARE, CORNER: sides of the squares that NAME(square) and NAME(corner) transpose.
 */

#define AT(base, byte_offset) (*(WORD *)(void *)((base) + (byte_offset)))
#define CAT(base, byte_offset) (*(const WORD *)(const void *)((base) + (byte_offset)))
#define WIDTH ((int64_t)sizeof(WORD))

/* One run of elements, steps known to be of one of the usual kinds. */
static inline void NAME(line)(char *restrict target, int64_t target_step, const char *restrict source,
                              int64_t source_step, int64_t count)
{
    if (target_step == WIDTH && source_step == WIDTH) {
        if (count * WIDTH >= 128) {
            memcpy(target, source, (size_t)(count * WIDTH));
        } else {
            for (int64_t i = 0; i < count; ++i) {
                AT(target, i * WIDTH) = CAT(source, i * WIDTH);
            }
        }
    } else if (target_step == WIDTH && source_step == 0) {
        const WORD value = CAT(source, 0);
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * WIDTH) = value;
        }
    } else if (target_step == WIDTH && source_step == -WIDTH) {
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * WIDTH) = CAT(source, i * -WIDTH);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * target_step) = CAT(source, i * source_step);
        }
    }
}

/* Any steps: the target is walked along its lines, the source along its columns. */
static void NAME(scalar)(char *target, int64_t target_row, int64_t target_column, const char *source,
                         int64_t source_row, int64_t source_column, int64_t rows, int64_t columns)
{
    if (rows >= columns) {
        for (int64_t j = 0; j < columns; ++j) {
            NAME(line)(target + j * target_column, target_row, source + j * source_column, source_row, rows);
        }
    } else {
        for (int64_t i = 0; i < rows; ++i) {
            NAME(line)(target + i * target_row, target_column, source + i * source_row, source_column, columns);
        }
    }
}

/* Up to SIDE x SIDE elements in squares; the last square of an edge overlaps the one before. */
static inline __attribute__((always_inline)) void NAME(squares)(char *target, int64_t target_column, const char *source,
                                                                int64_t source_row, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i += SQUARE) {
        const int64_t at_i = rows - i < SQUARE ? rows - SQUARE : i;
        for (int64_t j = 0; j < columns; j += SQUARE) {
            const int64_t at_j = columns - j < SQUARE ? columns - SQUARE : j;
            NAME(square)
            (target + at_i * WIDTH + at_j * target_column, target_column, source + at_i * source_row + at_j * WIDTH,
             source_row);
        }
    }
}

/* A tile that is not whole. */
static void NAME(rest)(char *target, int64_t target_column, const char *source, int64_t source_row, int64_t rows,
                       int64_t columns)
{
    if (rows >= SQUARE && columns >= SQUARE) {
        NAME(squares)(target, target_column, source, source_row, rows, columns);
    } else if (rows >= CORNER && columns >= CORNER) {
        for (int64_t j = 0; j < columns; j += CORNER) {
            const int64_t at_j = columns - j < CORNER ? columns - CORNER : j;
            for (int64_t i = 0; i < rows; i += CORNER) {
                const int64_t at_i = rows - i < CORNER ? rows - CORNER : i;
                NAME(corner)
                (target + at_i * WIDTH + at_j * target_column, target_column, source + at_i * source_row + at_j * WIDTH,
                 source_row);
            }
        }
    } else {
        NAME(scalar)(target, WIDTH, target_column, source, source_row, WIDTH, rows, columns);
    }
}

/* Unit steps along the target's rows and the source's columns, in tiles of whole lines on both sides. */
static void NAME(transpose)(char *target, const char *source, const tnri_copy_plane *plane)
{
    const int64_t source_row = plane->source_row;
    const int64_t target_column = plane->target_column;
    const int64_t ahead = plane->ahead;
    if (plane->rows == SQUARE && plane->columns == SQUARE) { /* what small tensors are made of */
        NAME(square)(target, target_column, source, source_row);
        return;
    }
    for (int64_t i = 0; i < plane->rows; i += SIDE) {
        const int64_t rows = plane->rows - i < SIDE ? plane->rows - i : SIDE;
        for (int64_t j = 0; j < plane->columns; j += SIDE) {
            const int64_t columns = plane->columns - j < SIDE ? plane->columns - j : SIDE;
            char *to = target + i * WIDTH + j * target_column;
            const char *from = source + i * source_row + j * WIDTH;
            if (ahead != 0) {
                for (int64_t r = 0; r < rows; ++r) {
                    TNRI_FETCH((uintptr_t)from + (uintptr_t)(r * source_row) + (uintptr_t)ahead);
                }
            }
            if (rows == SIDE && columns == SIDE) {
                NAME(squares)(to, target_column, from, source_row, SIDE, SIDE);
            } else {
                NAME(rest)(to, target_column, from, source_row, rows, columns);
            }
        }
    }
}

static void NAME(plane)(char *target, const char *source, const tnri_copy_plane *plane)
{
    if (plane->target_row == WIDTH && plane->source_column == WIDTH && plane->source_row != WIDTH) {
        NAME(transpose)(target, source, plane);
        return;
    }
    if (plane->target_row == WIDTH) {
        for (int64_t j = 0; j < plane->columns; ++j) {
            NAME(line)
            (target + j * plane->target_column, WIDTH, source + j * plane->source_column, plane->source_row,
             plane->rows);
        }
    } else {
        NAME(scalar)
        (target, plane->target_row, plane->target_column, source, plane->source_row, plane->source_column, plane->rows,
         plane->columns);
    }
}

/* Unit steps along the rows of both sides. */
static void NAME(runs)(char *target, const char *source, const tnri_copy_plane *plane)
{
    for (int64_t j = 0; j < plane->columns; ++j) {
        run(target + j * plane->target_column, source + j * plane->source_column, plane->rows * WIDTH);
    }
}

/*
 * As NAME(transpose), past the caches: whole lines of the target, put together in a buffer so that those that follow on
 * each other are stored in one go. SIDE rows of the source are read side by side, which the machine's own prefetching
 * follows as long as they go on.
 */
static void NAME(tiles)(char *target, const char *source, const tnri_copy_plane *plane)
{
    _Alignas(64) char buffer[TNRI_COPY_BUFFER];
    const int64_t source_row = plane->source_row;
    const int64_t run = plane->rows * WIDTH;
    for (int64_t i = 0; i < plane->rows; i += SIDE) {
        for (int64_t j = 0; j < plane->columns; j += SIDE) {
            const int64_t columns = plane->columns - j < SIDE ? plane->columns - j : SIDE;
            char *to = buffer + i * WIDTH + j * run;
            const char *from = source + i * source_row + j * WIDTH;
            for (int64_t r = 0; r < SIDE; ++r) {
                TNRI_FETCH((uintptr_t)from + (uintptr_t)(r * source_row) + (uintptr_t)plane->ahead);
            }
            if (columns == SIDE) {
                NAME(squares)(to, run, from, source_row, SIDE, SIDE);
            } else {
                NAME(rest)(to, run, from, source_row, SIDE, columns);
            }
        }
    }
    for (int64_t j = 0; j < plane->columns; ++j) {
        char *to = target + j * plane->target_column;
        const char *from = buffer + j * run;
        for (int64_t offset = 0; offset < run; offset += 64) {
            tnri_stream_line(to + offset, from + offset);
        }
    }
}

/* As NAME(transpose), column by column of tiles, and for each line that is read another one is fetched. */
static void NAME(blocks)(char *target, const char *source, const tnri_copy_plane *plane)
{
    const int64_t source_row = plane->source_row;
    const int64_t target_column = plane->target_column;
    for (int64_t j = 0; j < plane->columns; j += SIDE) {
        const int64_t columns = plane->columns - j < SIDE ? plane->columns - j : SIDE;
        for (int64_t i = 0; i < plane->rows; i += SIDE) {
            const int64_t rows = plane->rows - i < SIDE ? plane->rows - i : SIDE;
            char *to = target + i * WIDTH + j * target_column;
            const char *from = source + i * source_row + j * WIDTH;
            tnri_copy_fetch_lines(plane->fetch, rows);
            if (rows == SIDE && columns == SIDE) {
                NAME(squares)(to, target_column, from, source_row, SIDE, SIDE);
            } else {
                NAME(rest)(to, target_column, from, source_row, rows, columns);
            }
        }
    }
}

#undef AT
#undef CAT
#undef WIDTH
#undef WORD
#undef NAME
#undef SIDE
#undef SQUARE
#undef CORNER
