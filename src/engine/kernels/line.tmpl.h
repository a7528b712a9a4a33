/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves of one row of elements. Expects WORD (an aliasing-safe type of an element's size) and NAME(x). Byte steps. */

static void NAME(line)(char *target, int64_t target_step, const char *source, int64_t source_step, int64_t count)
{
    const int64_t width = (int64_t)sizeof(WORD);
    if (target_step == width && source_step == width && count * width >= 64) {
        memcpy(target, source, (size_t)(count * width));
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        *(WORD *)(void *)(target + i * target_step) = *(const WORD *)(const void *)(source + i * source_step);
    }
}

#undef WORD
#undef NAME
