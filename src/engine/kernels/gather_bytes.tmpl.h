/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of gather for rows of bytes that lie side by side: between one and two WORDs of them, by one word at either end.
 * Expects WORD (a type without alignment that may alias any) and NAME(x).
 */

static void NAME(rows)(char *target, const int64_t *in_target, const char *source, const int64_t *in_source,
                       int64_t windows, const tnri_rows *rows)
{
    const int64_t bytes = rows->count * rows->target_step;
    const int64_t high = bytes - (int64_t)sizeof(WORD);
    for (int64_t i = 0; i < windows; ++i) {
        char *to = target + in_target[i];
        const char *from = source + in_source[i];
        for (int64_t row = 0; row < rows->rows; ++row) {
            *(WORD *)(void *)to = *(const WORD *)(const void *)from;
            *(WORD *)(void *)(to + high) = *(const WORD *)(const void *)(from + high);
            to += rows->target_row;
            from += rows->source_row;
        }
    }
}

#undef WORD
#undef NAME
