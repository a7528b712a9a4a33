/* SPDX-License-Identifier: BSD-3-Clause */
/* Additions of scatter for one dtype (each_dtype.inl.h). Byte steps. */

#define AT(base, byte_offset) (*(T *)(void *)((base) + (byte_offset)))
#define CAT(base, byte_offset) (*(const T *)(const void *)((base) + (byte_offset)))

/* Neighbouring elements of one window: none is met twice. */
static void NAME(add_line)(char *target, int64_t target_step, const char *updates, int64_t updates_step, int64_t count)
{
    const int64_t width = (int64_t)sizeof(T);
    if (target_step == width && updates_step == width) {
        TNRI_INDEPENDENT
        for (int64_t i = 0; i < count; ++i) {
            AT(target, i * width) = NAME(plus)(AT(target, i * width), CAT(updates, i * width));
        }
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        AT(target, i * target_step) = NAME(plus)(AT(target, i * target_step), CAT(updates, i * updates_step));
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

#undef AT
#undef CAT
