/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of one dtype (each_dtype.inl.h).
 *
 * Pairwise: a range is halved until it is short, so the error of a float sum grows with the logarithm of its length
 * (Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14, 1993). Several reduced axes are nested: each
 * axis is pairwise over the sums of the axes inside it. Byte strides.
 */

#define ELEMENT(p) (*(const T *)(const void *)(p))

/* A run along one axis: sixteen accumulators at the leaves, which also makes vector code of unit runs. */
static T NAME(line)(const char *a, int64_t step, int64_t count)
{
    if (count > LINE_LEAF) {
        const int64_t half = count / 2 / LANES * LANES;
        return NAME(plus)(NAME(line)(a, step, half), NAME(line)(a + half * step, step, count - half));
    }
    T sum = NAME(zero)();
    int64_t i = 0;
    if (count >= LANES) {
        T lanes[LANES];
        if (step == (int64_t)sizeof(T)) {
            const T *unit = (const T *)(const void *)a;
            for (int j = 0; j < LANES; ++j) {
                lanes[j] = unit[j];
            }
            for (i = LANES; i + LANES <= count; i += LANES) {
                for (int j = 0; j < LANES; ++j) {
                    lanes[j] = NAME(plus)(lanes[j], unit[i + j]);
                }
            }
        } else {
            for (int j = 0; j < LANES; ++j) {
                lanes[j] = ELEMENT(a + j * step);
            }
            for (i = LANES; i + LANES <= count; i += LANES) {
                for (int j = 0; j < LANES; ++j) {
                    lanes[j] = NAME(plus)(lanes[j], ELEMENT(a + (i + j) * step));
                }
            }
        }
        for (int width = LANES / 2; width > 0; width /= 2) {
            for (int j = 0; j < width; ++j) {
                lanes[j] = NAME(plus)(lanes[j], lanes[j + width]);
            }
        }
        sum = lanes[0];
    } else {
        sum = ELEMENT(a);
        i = 1;
    }
    for (; i < count; ++i) {
        sum = NAME(plus)(sum, ELEMENT(a + i * step));
    }
    return sum;
}

/* `count` steps of axis `axis`, all of the axes inside it. */
static T NAME(total)(const reduced_axes *reduced, const char *a, int axis, int64_t count)
{
    const int64_t step = reduced->strides[axis];
    if (axis == 0) {
        return NAME(line)(a, step, count);
    }
    if (count > AXIS_LEAF) {
        const int64_t half = count / 2;
        return NAME(plus)(NAME(total)(reduced, a, axis, half),
                          NAME(total)(reduced, a + half * step, axis, count - half));
    }
    T sum = NAME(total)(reduced, a, axis - 1, reduced->shape[axis - 1]);
    for (int64_t i = 1; i < count; ++i) {
        sum = NAME(plus)(sum, NAME(total)(reduced, a + i * step, axis - 1, reduced->shape[axis - 1]));
    }
    return sum;
}

/*
 * The same for a strip of `width` <= STRIP neighbouring outputs at once: used when the source's shortest step is along an
 * axis that is kept. sums[j] gets the total that starts at a + j * across.
 */
static void NAME(strip)(const reduced_axes *reduced, const char *a, int64_t across, int64_t width, int axis,
                        int64_t count, T *sums)
{
    const int64_t step = reduced->strides[axis];
    if (count > AXIS_LEAF) {
        T other[STRIP];
        const int64_t half = count / 2;
        NAME(strip)(reduced, a, across, width, axis, half, sums);
        NAME(strip)(reduced, a + half * step, across, width, axis, count - half, other);
        for (int64_t j = 0; j < width; ++j) {
            sums[j] = NAME(plus)(sums[j], other[j]);
        }
        return;
    }
    if (axis > 0) {
        T other[STRIP];
        NAME(strip)(reduced, a, across, width, axis - 1, reduced->shape[axis - 1], sums);
        for (int64_t i = 1; i < count; ++i) {
            NAME(strip)(reduced, a + i * step, across, width, axis - 1, reduced->shape[axis - 1], other);
            for (int64_t j = 0; j < width; ++j) {
                sums[j] = NAME(plus)(sums[j], other[j]);
            }
        }
        return;
    }
    for (int64_t j = 0; j < width; ++j) {
        sums[j] = ELEMENT(a + j * across);
    }
    for (int64_t i = 1; i < count; ++i) {
        const char *row = a + i * step;
        if (across == (int64_t)sizeof(T)) {
            const T *unit = (const T *)(const void *)row;
            for (int64_t j = 0; j < width; ++j) {
                sums[j] = NAME(plus)(sums[j], unit[j]);
            }
        } else {
            for (int64_t j = 0; j < width; ++j) {
                sums[j] = NAME(plus)(sums[j], ELEMENT(row + j * across));
            }
        }
    }
}

/* A run of outputs: kept axis 0 of the walk. `by_strips` when that axis has the source's shortest step. */
static void NAME(sum)(const reduced_axes *reduced, char *out, int64_t out_step, const char *a, int64_t a_step,
                      int64_t count, bool by_strips)
{
    const int last = reduced->rank - 1;
    if (!by_strips) {
        for (int64_t i = 0; i < count; ++i) {
            *(T *)(void *)(out + i * out_step) = NAME(total)(reduced, a + i * a_step, last, reduced->shape[last]);
        }
        return;
    }
    T sums[STRIP];
    for (int64_t i = 0; i < count; i += STRIP) {
        const int64_t width = count - i < STRIP ? count - i : STRIP;
        NAME(strip)(reduced, a + i * a_step, a_step, width, last, reduced->shape[last], sums);
        for (int64_t j = 0; j < width; ++j) {
            *(T *)(void *)(out + (i + j) * out_step) = sums[j];
        }
    }
}

#undef ELEMENT
