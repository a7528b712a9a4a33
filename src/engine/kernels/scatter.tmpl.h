/* SPDX-License-Identifier: BSD-3-Clause */
/* Additions of scatter for one dtype (each_dtype.inl.h). Byte steps. */

#define AT(base, byte_offset) (*(T *)(void *)((base) + (byte_offset)))
#define CAT(base, byte_offset) (*(const T *)(const void *)((base) + (byte_offset)))

/* Elements side by side in one window: none is met twice. */
static inline void NAME(add_row)(char *target, const char *updates, int64_t count)
{
    const int64_t width = (int64_t)sizeof(T);
    TNRI_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
        AT(target, i * width) = NAME(plus)(AT(target, i * width), CAT(updates, i * width));
    }
}

/* So few that a loop over them costs more than they do. */
static inline void NAME(add_few)(char *target, const char *updates, int64_t count)
{
    const int64_t width = (int64_t)sizeof(T);
    AT(target, 0) = NAME(plus)(AT(target, 0), CAT(updates, 0));
    if (count > 1) {
        AT(target, width) = NAME(plus)(AT(target, width), CAT(updates, width));
    }
    if (count > 2) {
        AT(target, 2 * width) = NAME(plus)(AT(target, 2 * width), CAT(updates, 2 * width));
    }
    if (count > 3) {
        AT(target, 3 * width) = NAME(plus)(AT(target, 3 * width), CAT(updates, 3 * width));
    }
}

/* The same rows of many windows, one window after the other: their elements may be the same ones. */
static void NAME(add_rows)(char *target, const int64_t *in_target, const char *updates, const int64_t *in_updates,
                           int64_t windows, const tnri_rows *rows)
{
    const int64_t width = (int64_t)sizeof(T);
    const bool together = rows->target_step == width && rows->source_step == width;
    for (int64_t i = 0; i < windows; ++i) {
        char *to = target + in_target[i];
        const char *from = updates + in_updates[i];
        for (int64_t row = 0; row < rows->rows; ++row) {
            if (together && rows->count <= 4) {
                NAME(add_few)(to, from, rows->count);
            } else if (together) {
                NAME(add_row)(to, from, rows->count);
            } else {
                for (int64_t k = 0; k < rows->count; ++k) {
                    AT(to, k * rows->target_step) =
                        NAME(plus)(AT(to, k * rows->target_step), CAT(from, k * rows->source_step));
                }
            }
            to += rows->target_row;
            from += rows->source_row;
        }
    }
}

/* The same element of many windows, one after the other: they may be one element. */
static void NAME(add_picked)(char *target, const int64_t *in_target, const char *updates, const int64_t *in_updates,
                             int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        AT(target, in_target[i]) = NAME(plus)(AT(target, in_target[i]), CAT(updates, in_updates[i]));
    }
}

/* Likewise for windows with one index each, which are looked up on the way, `step` apart in the updates. */
static void NAME(add_taken)(char *target, const tnri_lookup *at, const char *updates, int64_t step, int64_t count)
{
    const int64_t width = (int64_t)sizeof(T);
    const char *indices = at->indices;
    if (tnri_lookup_plain_i32(at, width) && step == width) {
        for (int64_t i = 0; i < count; ++i) {
            const uint32_t index = ((const uint32_t *)(const void *)indices)[i];
            char *to = target + (int64_t)(index < at->most_i32 ? index : at->most_i32) * width;
            AT(to, 0) = NAME(plus)(AT(to, 0), CAT(updates, i * width));
        }
    } else if (at->wide) {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t index = *(const int64_t *)(const void *)(indices + i * at->step);
            char *to = target + tnri_index_held(index, at->limit) * at->scale;
            AT(to, 0) = NAME(plus)(AT(to, 0), CAT(updates, i * step));
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            const int64_t index = *(const int32_t *)(const void *)(indices + i * at->step);
            char *to = target + tnri_index_held(index, at->limit) * at->scale;
            AT(to, 0) = NAME(plus)(AT(to, 0), CAT(updates, i * step));
        }
    }
}

#undef AT
#undef CAT
