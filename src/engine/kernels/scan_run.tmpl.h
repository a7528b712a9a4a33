/* SPDX-License-Identifier: BSD-3-Clause */
/* One scan: NAME(SCAN) finds the first element for which IS is true, or -1. */

static int64_t NAME(SCAN)(const char *data, int64_t step, int64_t count)
{
    for (int64_t begin = 0; begin < count; begin += STRIP) {
        const int64_t length = count - begin < STRIP ? count - begin : STRIP;
        const char *strip = data + begin * step;
        UNSIGNED found = 0;
        if (step == (int64_t)sizeof(T)) {
            const T *run = (const T *)(const void *)strip;
            for (int64_t i = 0; i < length; ++i) {
                found |= (UNSIGNED)IS(run[i]);
            }
        } else {
            for (int64_t i = 0; i < length; ++i) {
                found |= (UNSIGNED)IS(*(const T *)(const void *)(strip + i * step));
            }
        }
        for (int64_t i = 0; found != 0 && i < length; ++i) {
            if (IS(*(const T *)(const void *)(strip + i * step))) {
                return begin + i;
            }
        }
    }
    return -1;
}

#undef SCAN
#undef IS
