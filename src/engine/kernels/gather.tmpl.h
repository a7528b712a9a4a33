/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves of gather for one element size. Expects WORD (an aliasing-safe type of that size) and NAME(x). Byte steps.
 */

#define AT(base, byte_offset) (*(WORD *)(void *)((base) + (byte_offset)))
#define CAT(base, byte_offset) (*(const WORD *)(const void *)((base) + (byte_offset)))

/* Neighbouring elements of one window. */
static void NAME(line)(char *target, int64_t target_step, const char *source, int64_t source_step, int64_t count)
{
    const int64_t width = (int64_t)sizeof(WORD);
    if (target_step == width && source_step == width && count * width >= 16) {
        memcpy(target, source, (size_t)(count * width));
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        AT(target, i * target_step) = CAT(source, i * source_step);
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

#undef AT
#undef CAT
#undef WORD
#undef NAME
