/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather, scatter and the look at indices, launched by hand: windows of any rank at random places, many of them the same ones,
 * against plain loops that go by the order of the vectors, bit for bit; by each way of scattering that a layout allows.
 */
#include "launching.h"

typedef struct windows_case {
    tnri_windows_layout layout;
    operand tensor;
    operand result;
    operand indices;
    int batch_rank;
    int tensor_rank;
    int entry_axes[3];
    bool overlap;
} windows_case;

static int64_t index_of(const windows_case *c, int64_t vector, int entry)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    const char *from = operand_at(&c->indices, vector + entry * c->layout.vectors); /* entries are the last axis */
    if (c->layout.wide != 0) {
        memcpy(&wide, from, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, from, sizeof(narrow));
    return narrow;
}

static void make_case(launching *of, windows_case *c, tnr_dtype dtype, bool strays)
{
    int64_t tensor_shape[3];
    int64_t result_shape[LAUNCH_RANK];
    int64_t index_shape[LAUNCH_RANK];
    int64_t window[3];
    memset(c, 0, sizeof(*c));
    tnri_windows_layout *l = &c->layout;
    c->tensor_rank = 1 + (int)draw(of, 3);
    c->batch_rank = (int)draw(of, 3);
    l->batch_rank = c->batch_rank;
    l->window_rank = c->tensor_rank;
    l->entries = 1 + (int32_t)draw(of, (uint64_t)c->tensor_rank);
    l->wide = (int32_t)draw(of, 2);
    l->vectors = 1;
    for (int axis = 0; axis < c->batch_rank; axis++) {
        index_shape[axis] = result_shape[axis] = 1 + (int64_t)draw(of, axis == 0 && draw(of, 2) == 0 ? 700 : 6);
        l->vectors *= index_shape[axis];
    }
    const int first = (int)draw(of, (uint64_t)c->tensor_rank);
    for (int axis = 0; axis < c->tensor_rank; axis++) {
        tensor_shape[axis] = 1 + (int64_t)draw(of, 9);
        window[axis] = tensor_shape[axis];
    }
    for (int entry = 0; entry < l->entries; entry++) {
        const int axis = (first + entry) % c->tensor_rank;
        c->entry_axes[entry] = axis;
        window[axis] = draw(of, 3) == 0 ? 1 + (int64_t)draw(of, (uint64_t)tensor_shape[axis]) : 1;
        c->overlap = c->overlap || window[axis] > 1;
        l->limit[entry] = tensor_shape[axis] - window[axis];
    }
    for (int axis = 0; axis < c->tensor_rank; axis++) {
        result_shape[c->batch_rank + axis] = window[axis];
    }
    index_shape[c->batch_rank] = l->entries;
    operand_make(of, &c->tensor, dtype, c->tensor_rank, tensor_shape, false, draw(of, 2) == 0, false);
    operand_make(of, &c->result, dtype, c->batch_rank + c->tensor_rank, result_shape, false, draw(of, 2) == 0, false);
    operand_make(of, &c->indices, l->wide != 0 ? TNR_I64 : TNR_I32, c->batch_rank + 1, index_shape, false,
                 draw(of, 2) == 0, false);
    for (int64_t at = 0; at < c->indices.count; at++) {
        const int entry = (int)(at / l->vectors);
        int64_t place = (int64_t)draw(of, (uint64_t)l->limit[entry] + 1);
        place += strays && draw(of, 200) == 0 ? (draw(of, 2) == 0 ? 1000 : -1000) : 0;
        const int32_t narrow = (int32_t)place;
        memcpy(operand_at(&c->indices, at), l->wide != 0 ? (const void *)&place : (const void *)&narrow,
               c->indices.width);
    }
    device_give(of, c->indices.buffer);
    c->indices.buffer = device_take(of, (uint64_t)c->indices.elements * c->indices.width, c->indices.bytes);
    l->entry_step = l->entries > 1 ? c->indices.strides[c->batch_rank] * (int64_t)c->indices.width : 0;
    for (int axis = 0; axis < c->batch_rank + c->tensor_rank; axis++) {
        const bool alone = result_shape[axis] == 1;
        const bool batch = axis < c->batch_rank;
        l->shape[axis] = result_shape[axis];
        l->result[axis] = alone ? 0 : c->result.strides[axis] * (int64_t)c->result.width;
        l->other[axis] = alone   ? 0
                         : batch ? c->indices.strides[axis] * (int64_t)c->indices.width
                                 : c->tensor.strides[axis - c->batch_rank] * (int64_t)c->tensor.width;
    }
    for (int entry = 0; entry < l->entries; entry++) {
        l->tensor[entry] =
            l->limit[entry] == 0 ? 0 : c->tensor.strides[c->entry_axes[entry]] * (int64_t)c->tensor.width;
    }
    tnri_windows_layout_finish(l, c->overlap);
}

static void end_case(launching *of, windows_case *c)
{
    operand_end(of, &c->tensor);
    operand_end(of, &c->result);
    operand_end(of, &c->indices);
}

/* Number of the tensor's element that element `element` of the window of this vector is. */
static int64_t place_of(const windows_case *c, int64_t vector, int64_t element)
{
    int64_t at = 0;
    int64_t each = 1;
    for (int axis = 0; axis < c->tensor_rank; axis++) {
        const int64_t window = c->layout.shape[c->batch_rank + axis];
        int64_t index = element % window;
        element /= window;
        for (int entry = 0; entry < c->layout.entries; entry++) {
            if (c->entry_axes[entry] == axis) {
                const int64_t told = index_of(c, vector, entry);
                index += told < 0 ? 0 : told > c->layout.limit[entry] ? c->layout.limit[entry] : told;
            }
        }
        at += index * each;
        each *= c->tensor.shape[axis];
    }
    return at;
}

static void gathers(void **state)
{
    (void)state;
    static const tnr_dtype widths[] = {TNR_BOOL, TNR_I32, TNR_F64, TNR_C64};
    launching of;
    launching_begin(&of, 21);
    for (int round = 0; round < 60; round++) {
        windows_case c;
        make_case(&of, &c, widths[round % 4], round % 2 == 0);
        uint64_t addresses[3] = {operand_address(&c.result), operand_address(&c.tensor), operand_address(&c.indices)};
        void *parameters[] = {&c.layout, &addresses[0], &addresses[1], &addresses[2]};
        device_launch(&of, tnri_kernel_of_width(TNRI_KERNEL_gather_1, c.result.width), tnri_gather_blocks(&c.layout, 1),
                      parameters);
        operand_fetch(&of, &c.result);
        for (int64_t at = 0; at < c.result.count; at++) {
            const int64_t place = place_of(&c, at % c.layout.vectors, at / c.layout.vectors);
            assert_memory_equal(operand_at(&c.result, at), operand_at(&c.tensor, place), c.result.width);
        }
        end_case(&of, &c);
    }
    launching_end(&of);
}

static void add_one(tnr_dtype dtype, char *to, const char *update)
{
    const size_t part = tnr_dtype_alignment(dtype);
    for (size_t at = 0; at < tnr_dtype_size(dtype); at += part) {
        float single[2];
        double wide[2];
        uint32_t word[2];
        uint64_t whole[2];
        switch (dtype) {
        case TNR_F32:
        case TNR_C32:
            memcpy(&single[0], to + at, part);
            memcpy(&single[1], update + at, part);
            single[0] += single[1];
            memcpy(to + at, &single[0], part);
            break;
        case TNR_F64:
        case TNR_C64:
            memcpy(&wide[0], to + at, part);
            memcpy(&wide[1], update + at, part);
            wide[0] += wide[1];
            memcpy(to + at, &wide[0], part);
            break;
        case TNR_I32:
            memcpy(&word[0], to + at, part);
            memcpy(&word[1], update + at, part);
            word[0] += word[1];
            memcpy(to + at, &word[0], part);
            break;
        default:
            memcpy(&whole[0], to + at, part);
            memcpy(&whole[1], update + at, part);
            whole[0] += whole[1];
            memcpy(to + at, &whole[0], part);
            break;
        }
    }
}

static void scatters(void **state)
{
    (void)state;
    launching of;
    int ways[3] = {0, 0, 0};
    launching_begin(&of, 22);
    for (int round = 0; round < 120; round++) {
        windows_case c;
        const tnr_dtype dtype = (tnr_dtype)(TNR_F32 + round % 6);
        make_case(&of, &c, dtype, round % 5 == 0);
        if (!c.overlap && c.layout.way != TNRI_SCATTER_ELEMENTS && round % 3 == 0) {
            c.layout.way = round % 2 == 0 ? TNRI_SCATTER_ELEMENTS : TNRI_SCATTER_TURNS; /* slower, but right too */
        }
        ways[c.layout.way]++;
        uint64_t addresses[3] = {operand_address(&c.tensor), operand_address(&c.result), operand_address(&c.indices)};
        void *parameters[] = {&c.layout, &addresses[0], &addresses[1], &addresses[2]};
        operand expected = c.tensor;
        expected.bytes = malloc((size_t)expected.elements * expected.width);
        memcpy(expected.bytes, c.tensor.bytes, (size_t)expected.elements * expected.width);
        device_launch(&of, tnri_scatter_kernel((int)dtype), tnri_scatter_blocks(&c.layout, 1), parameters);
        operand_fetch(&of, &c.tensor);
        for (int64_t vector = 0; vector < c.layout.vectors; vector++) {
            for (int64_t element = 0; element < c.layout.elements; element++) {
                add_one(dtype, operand_at(&expected, place_of(&c, vector, element)),
                        operand_at(&c.result, vector + element * c.layout.vectors));
            }
        }
        assert_memory_equal(c.tensor.bytes, expected.bytes, (size_t)expected.elements * expected.width);
        free(expected.bytes);
        end_case(&of, &c);
    }
    assert_true(ways[0] > 5 && ways[1] > 5 && ways[2] > 5);
    launching_end(&of);
}

static void strays(void **state)
{
    (void)state;
    launching of;
    launching_begin(&of, 23);
    for (int round = 0; round < 80; round++) {
        windows_case c;
        make_case(&of, &c, TNR_F32, round % 4 != 0);
        int64_t found[2] = {INT64_MAX, -1};
        int64_t expected[2] = {INT64_MAX, 0};
        for (int64_t at = c.layout.vectors * c.layout.entries - 1; at >= 0; at--) {
            const int entry = (int)(at % c.layout.entries);
            const int64_t value = index_of(&c, at / c.layout.entries, entry);
            if (value < 0 || value > c.layout.limit[entry]) {
                expected[0] = at;
                expected[1] = value;
            }
        }
        uint64_t indices = operand_address(&c.indices);
        uint64_t answer = device_take(&of, sizeof(found), found);
        void *parameters[] = {&c.layout, &indices, &answer};
        device_launch(&of, TNRI_KERNEL_windows_check, tnri_map_blocks(c.layout.vectors, 1), parameters);
        device_launch(&of, TNRI_KERNEL_windows_value, 1, parameters);
        device_read(&of, answer, sizeof(found), found);
        assert_int_equal(found[0], expected[0]);
        assert_int_equal(found[1], expected[1]);
        device_give(&of, answer);
        end_case(&of, &c);
    }
    launching_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gathers), cmocka_unit_test(scatters), cmocka_unit_test(strays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
