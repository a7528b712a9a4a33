/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing of elements of one size: E the type, SIZED(x) the suffix. See product_kernels.h. */

/* Slices whose rows are neighbours: a few vectors per k. */
static void SIZED(pack_unit)(E *restrict to, const E *restrict from, const int64_t *depths, int64_t depth, int slice)
{
    for (int64_t p = 0; p < depth; ++p, to += slice) {
        memcpy(to, from + depths[p], (size_t)slice * sizeof(E));
    }
}

/* Rows whose elements along k are neighbours, eight of them at a time: read in lines, written side by side. */
static void SIZED(pack_lines)(E *restrict to, const E *restrict from, const int64_t *rows, int live, int64_t depth,
                              int slice)
{
    int64_t p = 0;
    for (; p + 8 <= depth; p += 8, to += 8 * (int64_t)slice) {
        for (int r = 0; r < live; ++r) {
            const E *line = from + rows[r] + p;
            E *at = to + r;
            for (int q = 0; q < 8; ++q) {
                at[q * slice] = line[q];
            }
        }
    }
    for (; p < depth; ++p, to += slice) {
        for (int r = 0; r < live; ++r) {
            to[r] = from[rows[r] + p];
        }
    }
}

static void SIZED(pack)(void *packed, const void *elements, const int64_t *rows, int64_t count, bool unit,
                        const int64_t *depths, int64_t depth, bool unit_depth, int slice)
{
    E *to = packed;
    const E *from = elements;
    for (int64_t i = 0; i < count; i += slice, to += (int64_t)slice * depth) {
        const int live = count - i < slice ? (int)(count - i) : slice;
        if (live < slice) {
            memset(to, 0, (size_t)slice * (size_t)depth * sizeof(E));
        }
        if (unit && live == slice) {
            SIZED(pack_unit)(to, from + rows[i], depths, depth, slice);
        } else if (unit_depth) {
            SIZED(pack_lines)(to, from + depths[0], rows + i, live, depth, slice);
        } else {
            for (int64_t p = 0; p < depth; ++p) {
                const E *column = from + depths[p];
                for (int r = 0; r < live; ++r) {
                    to[p * slice + r] = column[rows[i + r]];
                }
            }
        }
    }
}

#undef E
#undef SIZED
