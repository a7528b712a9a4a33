/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout arithmetic: counts, byte sizes, compact strides, reach and bounds of a shape with strides.
 *
 * Pure functions of integers; nothing here knows tensors. Every product and sum is checked in 64 bits, and overflow is
 * told apart from bad arguments. A zero extent makes the count 0, wherever it stands and whatever the others give. The
 * stride of an axis of extent 1 never reaches a result.
 *
 * Does not prove elements distinct (injective.c) or views apart (overlap.c).
 */
#include "storage.h"

tnr_status tnri_shape_count(const char *op, int rank, const int64_t *shape, int64_t *count)
{
    TNR_REQUIRE(rank >= 0 && rank <= TNR_MAX_RANK, TNR_ERR_ARGUMENT, "%s: rank from 0 to %d expected, found %d", op,
                TNR_MAX_RANK, rank);
    TNR_REQUIRE(rank == 0 || shape != NULL, TNR_ERR_ARGUMENT, "%s: a shape expected, found NULL", op);

    int64_t product = 1;
    bool fits = true;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        TNR_REQUIRE(shape[i] >= 0, TNR_ERR_ARGUMENT, "%s: extents >= 0 expected, axis %d has %lld", op, i,
                    TNRI_LL(shape[i]));
        empty |= shape[i] == 0;
        fits = fits && tnri_mul_i64(product, shape[i], &product);
    }
    TNR_REQUIRE(fits || empty, TNR_ERR_OVERFLOW, "%s: the element count of the shape does not fit 63 bits", op);
    *count = empty ? 0 : product;
    return TNR_OK;
}

tnr_status tnri_shape_bytes(const char *op, tnr_dtype dtype, int rank, const int64_t *shape, int64_t *count,
                            uint64_t *bytes)
{
    const size_t size = tnr_dtype_size(dtype);
    TNR_REQUIRE(size != 0, TNR_ERR_ARGUMENT, "%s: a dtype expected, found %d", op, (int)dtype);

    int64_t elements;
    int64_t product;
    TNR_TRY(tnri_shape_count(op, rank, shape, &elements));
    TNR_REQUIRE(tnri_mul_i64(elements, (int64_t)size, &product), TNR_ERR_OVERFLOW,
                "%s: %lld elements of %s do not fit 63 bits of bytes", op, TNRI_LL(elements), tnr_dtype_name(dtype));
    *count = elements;
    *bytes = (uint64_t)product;
    return TNR_OK;
}

void tnri_compact_strides(int rank, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = 0; i < rank; i++) {
        strides[i] = stride;
        int64_t next;
        if (shape[i] > 1 && tnri_mul_i64(stride, shape[i], &next)) {
            stride = next;
        }
    }
}

tnr_status tnri_reach(const char *op, int rank, const int64_t *shape, const int64_t *strides, int64_t *low,
                      int64_t *high)
{
    int64_t lowest = 0;
    int64_t highest = 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] <= 1) {
            continue;
        }
        int64_t step;
        bool fits = tnri_mul_i64(shape[i] - 1, strides[i], &step);
        if (fits) {
            int64_t *end = step < 0 ? &lowest : &highest;
            fits = tnri_add_i64(*end, step, end);
        }
        TNR_REQUIRE(fits, TNR_ERR_OVERFLOW, "%s: extent %lld with stride %lld on axis %d reaches beyond 64 bits", op,
                    TNRI_LL(shape[i]), TNRI_LL(strides[i]), i);
    }
    *low = lowest;
    *high = highest;
    return TNR_OK;
}

tnr_status tnri_layout_check(const char *op, int rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                             int64_t elements, int64_t *count)
{
    int64_t number;
    TNR_TRY(tnri_shape_count(op, rank, shape, &number));
    TNR_REQUIRE(rank == 0 || strides != NULL, TNR_ERR_ARGUMENT, "%s: strides expected, found NULL", op);
    if (number == 0) {
        TNR_REQUIRE(offset >= 0 && offset <= elements, TNR_ERR_BOUNDS,
                    "%s: an empty view's offset from 0 to %lld expected, found %lld", op, TNRI_LL(elements),
                    TNRI_LL(offset));
        *count = 0;
        return TNR_OK;
    }

    int64_t low = 0;
    int64_t high = 0;
    TNR_TRY(tnri_reach(op, rank, shape, strides, &low, &high));
    TNR_REQUIRE(tnri_add_i64(offset, low, &low) && tnri_add_i64(offset, high, &high), TNR_ERR_OVERFLOW,
                "%s: offset %lld and the reach of the strides do not fit 64 bits", op, TNRI_LL(offset));
    TNR_REQUIRE(low >= 0 && high < elements, TNR_ERR_BOUNDS,
                "%s: elements from 0 to %lld expected, the view touches %lld to %lld", op, TNRI_LL(elements - 1),
                TNRI_LL(low), TNRI_LL(high));
    *count = number;
    return TNR_OK;
}

bool tnri_is_compact(int rank, const int64_t *shape, const int64_t *strides)
{
    int64_t expected = 1;
    bool follows = true;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0) {
            return true;
        }
        if (shape[i] > 1 && follows) {
            follows = strides[i] == expected && tnri_mul_i64(expected, shape[i], &expected);
        }
    }
    return follows;
}
