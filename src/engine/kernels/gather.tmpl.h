/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of gather for one element size. Expects WORD (an aliasing-safe type of that size) and NAME(x). Byte steps.
 */

#define AT(base, byte_offset) (*(WORD *)(void *)((base) + (byte_offset)))
#define CAT(base, byte_offset) (*(const WORD *)(const void *)((base) + (byte_offset)))

/* The same rows of many windows, of elements that do not lie side by side. */
static void NAME(rows)(char *target, const int64_t *in_target, const char *source, const int64_t *in_source,
                       int64_t windows, const tnri_rows *rows)
{
    for (int64_t i = 0; i < windows; ++i) {
        for (int64_t row = 0; row < rows->rows; ++row) {
            char *to = target + in_target[i] + row * rows->target_row;
            const char *from = source + in_source[i] + row * rows->source_row;
            for (int64_t k = 0; k < rows->count; ++k) {
                AT(to, k * rows->target_step) = CAT(from, k * rows->source_step);
            }
        }
    }
}

/* The same element of many windows. */
static void NAME(pick)(char *target, const int64_t *in_target, const char *source, const int64_t *in_source,
                       int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        AT(target, in_target[i]) = CAT(source, in_source[i]);
    }
}

/* Likewise where the elements are `step` apart in the target. */
static void NAME(pick_run)(char *target, int64_t step, const char *source, const int64_t *in_source, int64_t count)
{
    const int64_t width = (int64_t)sizeof(WORD);
    if (step == width) {
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * width) = CAT(source, in_source[i]);
        }
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        AT(target, i * step) = CAT(source, in_source[i]);
    }
}

/* Likewise for windows with one index each, which are looked up on the way. */
static void NAME(take)(char *target, int64_t step, const char *source, const tnri_lookup *at, int64_t count)
{
    const int64_t width = (int64_t)sizeof(WORD);
    const char *indices = at->indices;
    if (tnri_lookup_plain_i32(at, width) && step == width) {
        for (int64_t i = 0; i < count; ++i) {
            const uint32_t index = ((const uint32_t *)(const void *)indices)[i];
            AT(target, i * width) = CAT(source, (int64_t)(index < at->most_i32 ? index : at->most_i32) * width);
        }
    } else if (at->wide) {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t index = *(const int64_t *)(const void *)(indices + i * at->step);
            AT(target, i * step) = CAT(source, tnri_index_held(index, at->limit) * at->scale);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t index = *(const int32_t *)(const void *)(indices + i * at->step);
            AT(target, i * step) = CAT(source, tnri_index_held(index, at->limit) * at->scale);
        }
    }
}

#undef AT
#undef CAT
#undef WORD
#undef NAME
