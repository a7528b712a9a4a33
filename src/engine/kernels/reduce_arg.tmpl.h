/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * argmax or argmin of one dtype (reduce.tmpl.h). Define before ARG, max or min, and BEATS(x, best), for elements and for
 * vectors: does a later element take the place of the best so far?
 */

#define ARGNAME(x) NAME(ARGNAME_(x, ARG))
#define ARGNAME_(x, arg) ARGNAME__(x, arg)
#define ARGNAME__(x, arg) x##_##arg

#define AT(p) (*(const T *)(const void *)(p))

typedef NAME(flag) ARGNAME(places) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));

/* Best of up to TILE_ROWS whole rows of neighbours: tile and fold of the reduction itself. */
static T ARGNAME(peak)(const T *a, int64_t rows)
{
    _Alignas(64) T columns[ROW_BYTES / sizeof(T)];
    const int64_t width = ROW_BYTES / (int64_t)sizeof(T);
    ARGNAME(tile_unit)(NULL, columns, (const char *)a, ROW_BYTES, rows, width);
    ARGNAME(fold)(columns, width, 1);
    return columns[0];
}

/* A run of neighbours: the best of each tile is found at vector speed; where in its tile it is, only of the last that won. */
static void ARGNAME(look_run)(const T *a, int64_t first, int64_t count, tnri_arg_best *best)
{
    const int64_t width = ROW_BYTES / (int64_t)sizeof(T);
    T value = a[0];
    int64_t begin = 0; /* of the tile that holds it */
    for (int64_t i = 0; i < count && !NAME(is_nan)(value); i += TILE_ROWS * width) {
        const int64_t rows = (count - i) / width < TILE_ROWS ? (count - i) / width : TILE_ROWS;
        if (rows > 0) {
            const T peak = ARGNAME(peak)(a + i, rows);
            if (BEATS(peak, value)) {
                value = peak;
                begin = i;
            }
        }
        for (int64_t k = i + rows * width; rows < TILE_ROWS && k < count; ++k) {
            if (BEATS(a[k], value)) {
                value = a[k];
                begin = k;
            }
        }
    }
    while (NAME(is_nan)(value) ? !NAME(is_nan)(a[begin]) : a[begin] != value) {
        ++begin;
    }
    best->index[0] = first + begin;
    *(T *)(void *)best->values = value;
}

/* One column, any step. */
static void ARGNAME(look_column)(const char *a, int64_t step, int64_t first, int64_t rows, tnri_arg_best *best)
{
    T value = AT(a);
    int64_t at = 0;
    for (int64_t i = 1; i < rows; ++i) {
        const T x = AT(a + i * step);
        if (BEATS(x, value)) {
            value = x;
            at = i;
        }
    }
    best->index[0] = first + at;
    *(T *)(void *)best->values = value;
}

/* Fewer rows than a position as wide as the element can number. */
static void ARGNAME(look_rows)(const char *a, int64_t step, int64_t first, int64_t rows, int64_t across,
                               int64_t columns, tnri_arg_best *best)
{
    T *restrict values = (T *)(void *)best->values;
    _Alignas(64) NAME(flag) at[ARG_COLUMNS];
    for (int64_t j = 0; j < columns; ++j) {
        values[j] = AT(a + j * across);
        at[j] = 0;
    }
    const int64_t wide = VECTOR_BYTES / (int64_t)sizeof(T);
    const int64_t vectors = across == (int64_t)sizeof(T) ? columns / wide : 0;
    for (int64_t i = 1; i < rows; ++i) {
        const char *row = a + i * step;
        const NAME(flag) here = (NAME(flag))i;
        for (int64_t v = 0; v < vectors; ++v) {
            NAME(loose) *best_there = (NAME(loose) *)(void *)(values + v * wide);
            ARGNAME(places) *at_there = (ARGNAME(places) *)(void *)(at + v * wide);
            const NAME(vector) x = *(const NAME(loose) *)(const void *)(row + v * VECTOR_BYTES);
            const NAME(vector) so_far = *best_there;
            const NAME(mask) wins = BEATS(x, so_far);
            *best_there = (NAME(vector))((wins & (NAME(mask))x) | (~wins & (NAME(mask))so_far));
            *at_there = (wins & here) | (~wins & *at_there);
        }
        for (int64_t j = vectors * wide; j < columns; ++j) {
            const T x = AT(row + j * across);
            if (BEATS(x, values[j])) {
                values[j] = x;
                at[j] = here;
            }
        }
    }
    for (int64_t j = 0; j < columns; ++j) {
        best->index[j] = first + at[j];
    }
}

static void ARGNAME(arg_merge)(tnri_arg_best *best, const tnri_arg_best *later, int64_t columns)
{
    T *values = (T *)(void *)best->values;
    const T *others = (const T *)(const void *)later->values;
    for (int64_t j = 0; j < columns; ++j) {
        if (BEATS(others[j], values[j])) {
            values[j] = others[j];
            best->index[j] = later->index[j];
        }
    }
}

static void ARGNAME(arg_look)(const char *a, int64_t step, int64_t first, int64_t rows, int64_t across, int64_t columns,
                              tnri_arg_best *best)
{
    if (columns == 1 && step == (int64_t)sizeof(T)) {
        ARGNAME(look_run)((const T *)(const void *)a, first, rows, best);
        return;
    }
    if (columns == 1) {
        ARGNAME(look_column)(a, step, first, rows, best);
        return;
    }
    const int64_t most = INT64_C(1) << 30;
    ARGNAME(look_rows)(a, step, first, rows < most ? rows : most, across, columns, best);
    for (int64_t i = most; i < rows; i += most) {
        tnri_arg_best later;
        ARGNAME(look_rows)(a + i * step, step, first + i, rows - i < most ? rows - i : most, across, columns, &later);
        ARGNAME(arg_merge)(best, &later, columns);
    }
}

#undef ARGNAME
#undef ARGNAME_
#undef ARGNAME__
#undef AT
#undef ARG
#undef BEATS
