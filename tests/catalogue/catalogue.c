/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers, value arrays and operands of the catalogue. */
#include "catalogue/catalogue.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Random numbers: xorshift64 (Marsaglia, 2003) ---------------------------------------------------------------------------- */

catalogue_random catalogue_seed(uint64_t fallback)
{
    const char *text = getenv("TENURE_TEST_SEED");
    catalogue_random random = {text != NULL ? strtoull(text, NULL, 10) : fallback};
    random.state += random.state == 0;
    print_message("seed %llu\n", (unsigned long long)random.state);
    return random;
}

uint64_t catalogue_next(catalogue_random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state;
}

int64_t catalogue_below(catalogue_random *random, int64_t limit)
{
    return (int64_t)((catalogue_next(random) >> 8) % (uint64_t)limit);
}

/* ---- Values ------------------------------------------------------------------------------------------------------------------- */

static void *need(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    assert_non_null(memory);
    return memory;
}

catalogue_array catalogue_array_make(tnr_dtype dtype, int rank, const int64_t *shape)
{
    catalogue_array array = {.dtype = dtype, .rank = rank, .count = 1};
    for (int i = 0; i < rank; ++i) {
        array.shape[i] = shape[i];
        array.count *= shape[i];
    }
    array.values = need((size_t)array.count, sizeof *array.values);
    array.scale = need((size_t)array.count, sizeof *array.scale);
    return array;
}

void catalogue_array_free(catalogue_array *array)
{
    free(array->values);
    free(array->scale);
    *array = (catalogue_array){.dtype = TNR_DTYPE_NONE};
}

int64_t catalogue_position(const catalogue_array *array, const int64_t *index)
{
    int64_t position = 0;
    for (int i = array->rank - 1; i >= 0; --i) {
        position = position * array->shape[i] + index[i];
    }
    return position;
}

bool catalogue_step(int rank, const int64_t *shape, int64_t *index)
{
    for (int i = 0; i < rank; ++i) {
        if (++index[i] < shape[i]) {
            return true;
        }
        index[i] = 0;
    }
    return false;
}

static catalogue_value load(tnr_dtype dtype, const unsigned char *at)
{
    catalogue_value value = {0.0L, 0.0L, 0};
    float f32[2] = {0};
    double f64[2] = {0};
    int32_t i32;
    switch (dtype) {
    case TNR_F32:
        memcpy(f32, at, 4);
        value.re = f32[0];
        break;
    case TNR_F64:
        memcpy(f64, at, 8);
        value.re = f64[0];
        break;
    case TNR_C32:
        memcpy(f32, at, 8);
        value.re = f32[0];
        value.im = f32[1];
        break;
    case TNR_C64:
        memcpy(f64, at, 16);
        value.re = f64[0];
        value.im = f64[1];
        break;
    case TNR_I32:
        memcpy(&i32, at, 4);
        value.integer = i32;
        break;
    case TNR_I64:
        memcpy(&value.integer, at, 8);
        break;
    default:
        value.integer = *at;
        break;
    }
    return value;
}

static double random_real(catalogue_random *random) { return (double)(catalogue_below(random, 4001) - 2000) / 512.0; }

/* Floats are short binary fractions of either sign; integers any bits; bools any byte, for any non-zero one reads as true. */
static catalogue_value random_value(catalogue_random *random, tnr_dtype dtype)
{
    catalogue_value value = {0.0L, 0.0L, 0};
    if (catalogue_is_float(dtype)) {
        value.re = random_real(random);
        value.im = catalogue_is_complex(dtype) ? random_real(random) : 0.0L;
    } else {
        const uint64_t bits = catalogue_next(random);
        value.integer = dtype == TNR_I32    ? (int64_t)(int32_t)(uint32_t)bits
                        : dtype == TNR_BOOL ? (int64_t)(bits & 0xFFU)
                                            : (int64_t)bits;
    }
    return value;
}

static long double special(catalogue_random *random, long double ordinary)
{
    static const double list[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
    return catalogue_below(random, 16) == 0 ? list[catalogue_below(random, 5)] : ordinary;
}

static void store(tnr_dtype dtype, catalogue_value value, unsigned char *at)
{
    const double f64[2] = {(double)value.re, (double)value.im};
    const float f32[2] = {(float)value.re, (float)value.im};
    const int32_t i32 = (int32_t)value.integer;
    const unsigned char truth = (unsigned char)value.integer;
    switch (dtype) {
    case TNR_F32:
        memcpy(at, f32, 4);
        break;
    case TNR_F64:
        memcpy(at, f64, 8);
        break;
    case TNR_C32:
        memcpy(at, f32, 8);
        break;
    case TNR_C64:
        memcpy(at, f64, 16);
        break;
    case TNR_I32:
        memcpy(at, &i32, 4);
        break;
    case TNR_I64:
        memcpy(at, &value.integer, 8);
        break;
    default:
        *at = truth;
        break;
    }
}

/* ---- Layouts ------------------------------------------------------------------------------------------------------------------- */

/* Fill operand->first and strides; elements that the owner needs. */
static int64_t choose_layout(catalogue_random *random, int rank, const int64_t *shape, unsigned layouts, bool distinct,
                             catalogue_operand *operand)
{
    int order[TNR_MAX_RANK];
    for (int i = 0; i < rank; ++i) {
        order[i] = i;
    }
    for (int i = rank - 1; i > 0 && (layouts & CATALOGUE_PERMUTED) != 0; --i) {
        const int64_t j = catalogue_below(random, i + 1);
        const int axis = order[i];
        order[i] = order[j];
        order[j] = axis;
    }
    const bool gaps = (layouts & CATALOGUE_STRIDED) != 0;
    int64_t step = gaps ? 1 + catalogue_below(random, 3) : 1;
    int64_t elements = 1;
    operand->first = 0;
    for (int i = 0; i < rank; ++i) {
        const int axis = order[i];
        const int64_t extent = shape[axis] == 0 ? 1 : shape[axis];
        if ((layouts & CATALOGUE_WILD) != 0 && shape[axis] == 1) {
            static const int64_t wild[4] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, INT64_MAX / 2 + 1};
            operand->strides[axis] = wild[catalogue_below(random, 4)];
            continue;
        }
        if (!distinct && (layouts & CATALOGUE_BROADCAST) != 0 && catalogue_below(random, 3) == 0) {
            operand->strides[axis] = 0;
            continue;
        }
        operand->strides[axis] = step;
        elements += step * (extent - 1);
        if ((layouts & CATALOGUE_BACKWARDS) != 0 && catalogue_below(random, 2) == 0) {
            operand->first += step * (extent - 1);
            operand->strides[axis] = -step;
        }
        step = step * extent + (gaps ? catalogue_below(random, 3) : 0);
    }
    if (gaps) {
        const int64_t margin = catalogue_below(random, 4);
        operand->first += margin;
        elements += 2 * margin;
    }
    return elements;
}

/* One of the layouts that the mask allows. */
static unsigned pick_layout(catalogue_random *random, unsigned layouts)
{
    if ((layouts & CATALOGUE_COMPACT) != 0 && catalogue_below(random, 4) == 0) {
        return CATALOGUE_COMPACT;
    }
    return layouts & (unsigned)catalogue_below(random, 64) & ~(unsigned)CATALOGUE_COMPACT;
}

/* ---- Operands -------------------------------------------------------------------------------------------------------------------- */

static int64_t element_of(const catalogue_operand *operand, const int64_t *index)
{
    int64_t element = operand->first;
    for (int i = 0; i < operand->array.rank; ++i) {
        element += index[i] * operand->strides[i];
    }
    return element;
}

static void write_owner(tnr_tensor *tensor, const unsigned char *raw, uint64_t bytes)
{
    tnr_view_mut all;
    tnr_write_map map;
    catalogue_ok(tnr_tensor_view_mut(tensor, &all), "view of an operand's owner");
    catalogue_ok(tnr_map_write(&all, &map), "map of an operand's owner");
    if (bytes != 0) {
        memcpy(map.data, raw, (size_t)bytes);
    }
    catalogue_ok(tnr_unmap_write(&map), "unmap of an operand's owner");
}

static unsigned char *read_owner(tnr_tensor *tensor, uint64_t bytes)
{
    unsigned char *raw = need((size_t)bytes, 1);
    tnr_view all;
    tnr_read_map map;
    catalogue_ok(tnr_tensor_view(tensor, &all), "view of an operand's owner");
    catalogue_ok(tnr_map_read(&all, &map), "map of an operand's owner");
    if (bytes != 0) {
        memcpy(raw, map.data, (size_t)bytes);
    }
    catalogue_ok(tnr_unmap_read(&map), "unmap of an operand's owner");
    return raw;
}

/* `call` and `input` say whose input it is; call NULL: nobody's. */
static void make_operand(catalogue_random *random, tnr_domain *domain, tnr_dtype dtype, int rank, const int64_t *shape,
                         unsigned layouts, bool distinct, catalogue_content content, const catalogue_call *call,
                         int input, catalogue_operand *operand)
{
    const size_t size = tnr_dtype_size(dtype);
    const unsigned layout = pick_layout(random, layouts);
    operand->array = catalogue_array_make(dtype, rank, shape);
    int64_t elements = choose_layout(random, rank, shape, layout, distinct, operand);
    const bool whole = layout == CATALOGUE_COMPACT;
    elements = whole ? operand->array.count : elements;
    operand->raw_bytes = (uint64_t)elements * size;
    operand->raw = need((size_t)operand->raw_bytes, 1);
    memset(operand->raw, 0xFF, (size_t)operand->raw_bytes);
    int64_t index[TNR_MAX_RANK] = {0};
    if (content == CATALOGUE_VALUES && operand->array.count > 0) {
        do {
            catalogue_value value = random_value(random, dtype);
            if (call != NULL && call->op->specials && catalogue_is_float(dtype)) {
                value.re = special(random, value.re);
                value.im = catalogue_is_complex(dtype) ? special(random, value.im) : 0.0L;
            }
            if (call != NULL && call->op->adjust != NULL) {
                call->op->adjust(random, call, input, &value);
            }
            store(dtype, value, operand->raw + (size_t)element_of(operand, index) * size);
        } while (catalogue_step(rank, shape, index));
    }
    if (operand->array.count > 0) { /* only now: with stride 0 a later index overwrites an earlier one */
        do {
            operand->array.values[catalogue_position(&operand->array, index)] =
                load(dtype, operand->raw + (size_t)element_of(operand, index) * size);
        } while (catalogue_step(rank, shape, index));
    }
    if (whole) {
        catalogue_ok(tnr_tensor_zeros(domain, dtype, rank, shape, &operand->tensor), "owner of an operand");
        catalogue_ok(tnr_tensor_view_mut(operand->tensor, &operand->view), "view of an operand");
    } else {
        catalogue_ok(tnr_tensor_zeros(domain, dtype, 1, &elements, &operand->tensor), "owner of an operand");
        catalogue_ok(
            tnr_tensor_region(operand->tensor, rank, shape, operand->strides, operand->first, &operand->view.view),
            "region of an operand");
    }
    if (distinct && !whole) {
        catalogue_ok(
            tnr_tensor_region_mut(operand->tensor, rank, shape, operand->strides, operand->first, &operand->view),
            "region of an output");
    }
    write_owner(operand->tensor, operand->raw, operand->raw_bytes);
}

void catalogue_operand_make(catalogue_random *random, tnr_domain *domain, tnr_dtype dtype, int rank,
                            const int64_t *shape, unsigned layouts, bool distinct, catalogue_content content,
                            catalogue_operand *operand)
{
    make_operand(random, domain, dtype, rank, shape, layouts, distinct, content, NULL, 0, operand);
}

void catalogue_input_make(catalogue_random *random, tnr_domain *domain, const catalogue_call *call, int input,
                          unsigned layouts, bool distinct, catalogue_operand *operand)
{
    make_operand(random, domain, call->input_dtype[input], call->input_rank[input], call->input_shape[input], layouts,
                 distinct, CATALOGUE_VALUES, call, input, operand);
}

void catalogue_output_make(catalogue_random *random, tnr_domain *domain, const catalogue_call *call,
                           catalogue_content content, catalogue_operand *operand)
{
    make_operand(random, domain, call->output_dtype, call->rank, call->shape, CATALOGUE_ANY_OUTPUT, true, content, NULL,
                 0, operand);
}

void catalogue_operand_free(catalogue_operand *operand)
{
    catalogue_ok(tnr_tensor_release(&operand->tensor), "release of an operand");
    catalogue_array_free(&operand->array);
    free(operand->raw);
    operand->raw = NULL;
}

void catalogue_operand_unchanged(const catalogue_operand *operand)
{
    unsigned char *now = read_owner(operand->tensor, operand->raw_bytes);
    if (operand->raw_bytes != 0) {
        assert_memory_equal(now, operand->raw, (size_t)operand->raw_bytes);
    }
    free(now);
}

static bool close_enough(long double found, long double expected, long double bound)
{
    if (isnan(expected) || isnan(found)) {
        return isnan(expected) && isnan(found);
    }
    return found == expected || fabsl(found - expected) <= bound;
}

static void check_value(const catalogue_call *call, const catalogue_array *expected, int64_t at, catalogue_value found)
{
    const catalogue_value want = expected->values[at];
    bool good;
    if (catalogue_is_float(call->output_dtype)) {
        const bool single = call->output_dtype == TNR_F32 || call->output_dtype == TNR_C32;
        const long double epsilon = single ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
        const long double bound = (long double)call->op->tolerance * epsilon * expected->scale[at];
        good = close_enough(found.re, want.re, bound) && close_enough(found.im, want.im, bound);
    } else {
        good = found.integer == want.integer;
    }
    if (!good) {
        fail_msg("%s %s: element %lld is %.17Lg %.17Lg %lld, expected %.17Lg %.17Lg %lld (scale %Lg)", call->op->name,
                 tnr_dtype_name(call->output_dtype), (long long)at, found.re, found.im, (long long)found.integer,
                 want.re, want.im, (long long)want.integer, expected->scale[at]);
    }
}

void catalogue_operand_check(const catalogue_call *call, const catalogue_operand *operand,
                             const catalogue_array *expected)
{
    const size_t size = tnr_dtype_size(call->output_dtype);
    unsigned char *now = read_owner(operand->tensor, operand->raw_bytes);
    unsigned char *beside = need((size_t)operand->raw_bytes, 1);
    memcpy(beside, operand->raw, (size_t)operand->raw_bytes);
    int64_t index[TNR_MAX_RANK] = {0};
    if (operand->array.count > 0) {
        do {
            const size_t offset = (size_t)element_of(operand, index) * size;
            check_value(call, expected, catalogue_position(expected, index), load(call->output_dtype, now + offset));
            memcpy(beside + offset, now + offset, size);
        } while (catalogue_step(operand->array.rank, operand->array.shape, index));
    }
    if (operand->raw_bytes != 0) {
        assert_memory_equal(now, beside, (size_t)operand->raw_bytes);
    }
    free(now);
    free(beside);
}

void catalogue_tensor_check(const catalogue_call *call, tnr_tensor *tensor, const catalogue_array *expected)
{
    tnr_tensor_info info;
    catalogue_ok(tnr_tensor_describe(tensor, &info), "describe of an output");
    assert_int_equal(info.dtype, call->output_dtype);
    assert_int_equal(info.rank, expected->rank);
    for (int i = 0; i < expected->rank; ++i) {
        assert_true(info.shape[i] == expected->shape[i]);
    }
    assert_true(info.count == expected->count);
    const size_t size = tnr_dtype_size(call->output_dtype);
    unsigned char *now = read_owner(tensor, info.bytes);
    for (int64_t i = 0; i < expected->count; ++i) {
        check_value(call, expected, i, load(call->output_dtype, now + (size_t)i * size));
    }
    free(now);
}

catalogue_array catalogue_expect(const catalogue_call *call, const catalogue_operand *inputs,
                                 const catalogue_array *old)
{
    catalogue_array expected = catalogue_array_make(call->output_dtype, call->rank, call->shape);
    catalogue_array arrays[CATALOGUE_INPUTS];
    for (int i = 0; i < call->op->arity; ++i) {
        arrays[i] = inputs[i].array;
    }
    for (int64_t i = 0; i < expected.count && old != NULL; ++i) {
        expected.values[i] = old->values[i];
    }
    call->op->model(call, arrays, &expected);
    return expected;
}

void catalogue_ok(tnr_status status, const char *what)
{
    if (status != TNR_OK) {
        fail_msg("%s: %s: %s", what, tnr_status_name(status), tnr_last_error());
    }
}
