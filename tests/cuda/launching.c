/* SPDX-License-Identifier: BSD-3-Clause */
#include "launching.h"

#include <math.h>

void launching_begin(launching *of, uint64_t seed)
{
    memset(of, 0, sizeof(*of));
    of->seed = scene_number("TENURE_TEST_SEED", seed);
    of->random = of->seed * 0x9E3779B97F4A7C15U + 1;
    print_message("seed %llu\n", (unsigned long long)of->seed);
    scene_begin(&of->s, of->seed, NULL);
    OK(tnr_engine_create(of->s.heap, NULL, &of->cpu));
}

void launching_end(launching *of)
{
    OK(tnr_engine_destroy(&of->cpu));
    scene_end(&of->s);
}

uint64_t draw(launching *of, uint64_t below)
{
    of->random ^= of->random << 13;
    of->random ^= of->random >> 7;
    of->random ^= of->random << 17;
    return (of->random >> 11) % below;
}

static double draw_real(launching *of, bool special, bool single)
{
    static const double specials[] = {0.0,      -0.0,  1.0,     -1.0,   0.5,          3.0e38,
                                      -1.0e-38, 1e308, -1e-308, 4e-320, 2147483648.0, -9.3e18};
    if (special && draw(of, 4) == 0) {
        const uint64_t which = draw(of, 15);
        const double value = which == 12   ? (double)INFINITY
                             : which == 13 ? -(double)INFINITY
                             : which == 14 ? (double)NAN
                                           : specials[which];
        return single && which < 12 && fabs(value) > 3e38 ? 3.0e38 : value;
    }
    return ((double)draw(of, 1000001) - 500000.0) / 65536.0;
}

void draw_element(launching *of, tnr_dtype dtype, bool special, void *to)
{
    const float single[2] = {(float)draw_real(of, special, true), (float)draw_real(of, special, true)};
    const double wide[2] = {draw_real(of, special, false), draw_real(of, special, false)};
    const int32_t small = (int32_t)(draw(of, 4) == 0 ? draw(of, UINT64_C(1) << 32) : draw(of, 21) - 10);
    const int64_t whole = draw(of, 4) == 0 ? (int64_t)(draw(of, UINT64_C(1) << 53) << 11) : (int64_t)draw(of, 21) - 10;
    const uint8_t truth = (uint8_t)(draw(of, 2) != 0 ? 1 + draw(of, 2) * 4 : 0);
    const void *from = dtype == TNR_F32 || dtype == TNR_C32   ? (const void *)single
                       : dtype == TNR_F64 || dtype == TNR_C64 ? (const void *)wide
                       : dtype == TNR_I32                     ? (const void *)&small
                       : dtype == TNR_I64                     ? (const void *)&whole
                                                              : (const void *)&truth;
    memcpy(to, from, tnr_dtype_size(dtype));
}

void operand_make(launching *of, operand *op, tnr_dtype dtype, int rank, const int64_t *shape, bool repeats,
                  bool compact, bool special)
{
    int order[LAUNCH_RANK];
    memset(op, 0, sizeof(*op));
    op->dtype = dtype;
    op->width = tnr_dtype_size(dtype);
    op->rank = rank;
    op->count = 1;
    for (int axis = 0; axis < rank; axis++) {
        op->shape[axis] = shape[axis];
        op->count *= shape[axis];
        order[axis] = axis;
    }
    for (int axis = rank - 1; axis > 0 && !compact; axis--) {
        const int other = (int)draw(of, (uint64_t)axis + 1);
        const int moved = order[axis];
        order[axis] = order[other];
        order[other] = moved;
    }
    int64_t step = compact || draw(of, 2) != 0 ? 1 : 2;
    int64_t low = 0;
    int64_t high = 0;
    for (int i = 0; i < rank; i++) {
        const int axis = order[i];
        if (repeats && draw(of, 6) == 0) {
            continue;
        }
        op->strides[axis] = step;
        step *= shape[axis];
        if (!compact) {
            step += draw(of, 3) == 0 ? (int64_t)draw(of, 3) : 0;
            op->strides[axis] *= draw(of, 4) == 0 ? -1 : 1;
        }
        if (shape[axis] == 1 && draw(of, 2) == 0) {
            op->strides[axis] = INT64_MIN / 32; /* means nothing */
        } else {
            *(op->strides[axis] < 0 ? &low : &high) += op->strides[axis] * (shape[axis] - 1);
        }
    }
    op->first = -low + (int64_t)draw(of, 5);
    op->elements = op->first + high + 1 + (int64_t)draw(of, 5);
    op->bytes = malloc((size_t)op->elements * op->width);
    for (int64_t at = 0; at < op->elements; at++) {
        draw_element(of, dtype, special, op->bytes + (size_t)at * op->width);
    }
    op->buffer = device_take(of, (uint64_t)op->elements * op->width, op->bytes);
}

uint64_t operand_address(const operand *op) { return op->buffer + (uint64_t)op->first * op->width; }

char *operand_at(const operand *op, int64_t at)
{
    int64_t place = op->first;
    for (int axis = 0; axis < op->rank; axis++) {
        place += op->shape[axis] == 1 ? 0 : at % op->shape[axis] * op->strides[axis];
        at /= op->shape[axis];
    }
    return op->bytes + (size_t)place * op->width;
}

void operand_fetch(launching *of, operand *op)
{
    const size_t bytes = (size_t)op->elements * op->width;
    char *now = malloc(bytes);
    device_read(of, op->buffer, bytes, now);
    for (int64_t at = 0; at < op->count; at++) {
        char *here = operand_at(op, at);
        memcpy(here, now + (here - op->bytes), op->width);
    }
    assert_memory_equal(op->bytes, now, bytes);
    free(now);
}

void operand_end(launching *of, operand *op)
{
    device_give(of, op->buffer);
    free(op->bytes);
}

tnr_tensor *operand_tensor(launching *of, const operand *op, int rank, const int64_t *shape)
{
    char *values = malloc((size_t)op->count * op->width);
    tnr_tensor *tensor = NULL;
    for (int64_t at = 0; at < op->count; at++) {
        memcpy(values + (size_t)at * op->width, operand_at(op, at), op->width);
    }
    OK(tnr_tensor_from_column_major(of->s.heap, op->dtype, rank, shape != NULL ? shape : &op->count, values,
                                    (uint64_t)op->count * op->width, &tensor));
    free(values);
    return tensor;
}

/* ---- The device ----------------------------------------------------------------------------------------------------------------------- */

static const char op_name[] = "test";

uint64_t device_take(launching *of, uint64_t bytes, const void *holds)
{
    tnr_cuda_device *device = of->s.device;
    CUdeviceptr address = 0;
    OK(tnri_device_enter(op_name, device));
    OK(TNRI_CUDA(op_name, device, memory_take, &address, bytes));
    if (holds != NULL) {
        OK(TNRI_CUDA(op_name, device, copy_in, address, holds, bytes, device->lanes[1].stream));
    }
    OK(TNRI_CUDA(op_name, device, stream_synchronize, device->lanes[1].stream));
    OK(tnri_device_leave(device, true, TNR_OK));
    return address;
}

void device_read(launching *of, uint64_t address, uint64_t bytes, void *to)
{
    tnr_cuda_device *device = of->s.device;
    OK(tnri_device_enter(op_name, device));
    OK(TNRI_CUDA(op_name, device, copy_out, to, address, bytes, device->lanes[1].stream));
    OK(TNRI_CUDA(op_name, device, stream_synchronize, device->lanes[1].stream));
    OK(tnri_device_leave(device, true, TNR_OK));
}

void device_give(launching *of, uint64_t address)
{
    tnr_cuda_device *device = of->s.device;
    OK(tnri_device_enter(op_name, device));
    OK(TNRI_CUDA(op_name, device, memory_give, address));
    OK(tnri_device_leave(device, true, TNR_OK));
}

void device_launch(launching *of, int kernel, unsigned blocks, void **parameters)
{
    tnr_cuda_device *device = of->s.device;
    CUfunction function = NULL;
    OK(tnri_device_enter(op_name, device));
    OK(tnri_kernel_get(op_name, device, kernel, &function));
    OK(TNRI_CUDA(op_name, device, launch, function, blocks, 1, 1, TNRI_KERNEL_THREADS, 1, 1, 0, device->lanes[1].stream,
                 parameters, NULL));
    OK(TNRI_CUDA(op_name, device, stream_synchronize, device->lanes[1].stream));
    OK(tnri_device_leave(device, true, TNR_OK));
    scene_expect_clean();
}

/* ---- Comparing ------------------------------------------------------------------------------------------------------------------------ */

bool same_element(tnr_dtype dtype, const void *a, const void *b)
{
    const size_t width = tnr_dtype_size(dtype);
    if (memcmp(a, b, width) == 0) {
        return true;
    }
    for (size_t at = 0; at < width; at += tnr_dtype_alignment(dtype)) {
        const char *x = (const char *)a + at;
        const char *y = (const char *)b + at;
        float single[2];
        double wide[2];
        switch (dtype) {
        case TNR_F32:
        case TNR_C32:
            memcpy(&single[0], x, sizeof(float));
            memcpy(&single[1], y, sizeof(float));
            if (memcmp(x, y, sizeof(float)) != 0 && !(isnan(single[0]) && isnan(single[1]))) {
                return false;
            }
            break;
        case TNR_F64:
        case TNR_C64:
            memcpy(&wide[0], x, sizeof(double));
            memcpy(&wide[1], y, sizeof(double));
            if (memcmp(x, y, sizeof(double)) != 0 && !(isnan(wide[0]) && isnan(wide[1]))) {
                return false;
            }
            break;
        default:
            return false;
        }
    }
    return true;
}

void expect_elements(launching *of, const operand *op, const tnr_tensor *expected, const char *what)
{
    const void *data = NULL;
    tnr_tensor_info info;
    OK(tnr_tensor_describe(expected, &info));
    assert_int_equal(info.count, op->count);
    OK(tnr_tensor_host_data(expected, &data));
    for (int64_t at = 0; at < op->count; at++) {
        if (!same_element(op->dtype, operand_at(op, at), (const char *)data + (size_t)at * op->width)) {
            print_error("%s of %s: element %lld of %lld differs (seed %llu)\n", what, tnr_dtype_name(op->dtype),
                        (long long)at, (long long)op->count, (unsigned long long)of->seed);
            fail();
        }
    }
}
