/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elementwise kernels, casts, copies, fills, reshapes, triangles and scans, launched by hand over random layouts of rank 0 to 8: the
 * same bits as the CPU's engine has for the same elements, and not a byte written beside them.
 */
#include "launching.h"

static const tnr_dtype dtypes[] = {TNR_F32, TNR_F64, TNR_C32, TNR_C64, TNR_I32, TNR_I64, TNR_BOOL};

/* Often one run of any length, about what blocks and vectors end at; else a few axes. */
static int draw_shape(launching *of, int64_t *shape)
{
    static const int64_t lengths[] = {1, 2, 7, 8, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 8191, 9000};
    const int rank = draw(of, 3) == 0 ? 1 : (int)draw(of, LAUNCH_RANK + 1);
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) {
        const uint64_t most = rank == 1 ? 0 : count > 2000 ? 1 : rank > 4 ? 4 : 40;
        shape[axis] = rank == 1 ? lengths[draw(of, 15)] : 1 + (int64_t)draw(of, most);
        count *= shape[axis];
    }
    return rank;
}

static tnri_kernel_operand told(const operand *op)
{
    const tnri_kernel_operand made = {operand_address(op), op->width, op->strides};
    return made;
}

typedef tnr_status (*unary)(tnr_engine *, const tnr_view *, tnr_tensor **);
typedef tnr_status (*binary)(tnr_engine *, const tnr_view *, const tnr_view *, tnr_tensor **);

typedef struct map_case {
    tnri_map_op op;
    int inputs;
    unary one;
    binary two;
    int comparison;
} map_case;

static const map_case cases[] = {
    {TNRI_MAP_ADD, 2, NULL, tnr_add, -1},
    {TNRI_MAP_SUB, 2, NULL, tnr_sub, -1},
    {TNRI_MAP_MUL, 2, NULL, tnr_mul, -1},
    {TNRI_MAP_DIV, 2, NULL, tnr_div, -1},
    {TNRI_MAP_REM, 2, NULL, tnr_rem, -1},
    {TNRI_MAP_POW, 2, NULL, tnr_pow, -1},
    {TNRI_MAP_MAXIMUM, 2, NULL, tnr_maximum, -1},
    {TNRI_MAP_MINIMUM, 2, NULL, tnr_minimum, -1},
    {TNRI_MAP_NEG, 1, tnr_neg, NULL, -1},
    {TNRI_MAP_ABS, 1, tnr_abs, NULL, -1},
    {TNRI_MAP_SIZE, 1, tnr_abs, NULL, -1},
    {TNRI_MAP_SIGN, 1, tnr_sign, NULL, -1},
    {TNRI_MAP_SIGN_COMPLEX, 1, tnr_sign, NULL, -1},
    {TNRI_MAP_CONJ, 1, tnr_conj, NULL, -1},
    {TNRI_MAP_EQUAL, 2, NULL, NULL, TNR_COMPARE_EQUAL},
    {TNRI_MAP_NOT_EQUAL, 2, NULL, NULL, TNR_COMPARE_NOT_EQUAL},
    {TNRI_MAP_LESS, 2, NULL, NULL, TNR_COMPARE_LESS},
    {TNRI_MAP_LESS_EQUAL, 2, NULL, NULL, TNR_COMPARE_LESS_EQUAL},
    {TNRI_MAP_CLAMP, 3, NULL, NULL, -1},
    {TNRI_MAP_SELECT, 3, NULL, NULL, -1},
};

/* What the CPU's engine makes of the same elements. */
static tnr_tensor *expected_of(launching *of, const map_case *c, const operand *in, const bool *scalar)
{
    tnr_tensor *tensors[3] = {NULL, NULL, NULL};
    tnr_view views[3];
    tnr_tensor *out = NULL;
    for (int i = 0; i < c->inputs; i++) {
        tensors[i] = operand_tensor(of, &in[i], scalar[i] ? 0 : 1, NULL);
        views[i] = view_of(tensors[i]);
    }
    if (c->one != NULL) {
        OK(c->one(of->cpu, &views[0], &out));
    } else if (c->two != NULL) {
        OK(c->two(of->cpu, &views[0], &views[1], &out));
    } else if (c->comparison >= 0) {
        OK(tnr_compare(of->cpu, (tnr_comparison)c->comparison, &views[0], &views[1], &out));
    } else if (c->op == TNRI_MAP_CLAMP) {
        OK(tnr_clamp(of->cpu, &views[0], &views[1], &views[2], &out));
    } else {
        OK(tnr_select(of->cpu, &views[0], &views[1], &views[2], &out));
    }
    for (int i = 0; i < c->inputs; i++) {
        release(&tensors[i]);
    }
    return out;
}

/* Divisors that are not 0, exponents that are not negative. */
static void make_allowed(operand *op, tnri_map_op what)
{
    for (int64_t at = 0; at < op->elements; at++) {
        char *here = op->bytes + (size_t)at * op->width;
        int64_t value = 0;
        int32_t small = 0;
        memcpy(op->width == 4 ? (void *)&small : (void *)&value, here, op->width);
        value = op->width == 4 ? small : value;
        value = what == TNRI_MAP_POW ? value & 0x7FFFFFF : value == 0 ? -1 : value;
        small = (int32_t)value;
        memcpy(here, op->width == 4 ? (void *)&small : (void *)&value, op->width);
    }
}

static void one_map(launching *of, const map_case *c, tnr_dtype dtype)
{
    int64_t shape[LAUNCH_RANK];
    const int rank = draw_shape(of, shape);
    const bool compact = draw(of, 3) == 0;
    const bool is_complex = dtype == TNR_C32 || dtype == TNR_C64;
    const bool integer = dtype == TNR_I32 || dtype == TNR_I64;
    operand out;
    operand in[3];
    bool scalar[3] = {false, false, false};
    int32_t op = (int32_t)c->op;
    tnri_kernel_operand operands[4];
    const tnr_dtype made = c->comparison >= 0 ? TNR_BOOL : c->op == TNRI_MAP_SIZE ? tnr_dtype_real(dtype) : dtype;
    operand_make(of, &out, made, rank, shape, false, compact, false);
    operands[0] = told(&out);
    const int lifted = is_complex && c->two != NULL && draw(of, 4) == 0 ? 1 + (int)draw(of, 2) : 0;
    int64_t still[LAUNCH_RANK] = {0};
    for (int i = 0; i < c->inputs; i++) {
        scalar[i] = lifted == i + 1 || (lifted == 0 && c->inputs == 2 && draw(of, 5) == 0 && !scalar[0]);
        const tnr_dtype of_input = c->op == TNRI_MAP_SELECT && i == 0 ? TNR_BOOL
                                   : lifted == i + 1                  ? tnr_dtype_real(dtype)
                                                                      : dtype;
        operand_make(of, &in[i], of_input, scalar[i] ? 0 : rank, shape, true, compact, true);
        if (integer && i == 1 && (c->op == TNRI_MAP_DIV || c->op == TNRI_MAP_REM || c->op == TNRI_MAP_POW)) {
            make_allowed(&in[i], c->op);
            device_give(of, in[i].buffer);
            in[i].buffer = device_take(of, (uint64_t)in[i].elements * in[i].width, in[i].bytes);
        }
        operands[i + 1] = told(&in[i]);
        operands[i + 1].strides = scalar[i] ? still : in[i].strides;
    }
    op |= lifted == 1 ? TNRI_MAP_REAL_1 : lifted == 2 ? TNRI_MAP_REAL_2 : 0;
    tnri_map_layout layout;
    uint64_t addresses[4] = {0, 0, 0, 0};
    tnri_map_layout_make(&layout, rank, shape, c->inputs + 1, operands);
    for (int i = 0; i <= c->inputs; i++) {
        addresses[i] = operands[i].address;
    }
    void *parameters[] = {&layout, &op, &addresses[0], &addresses[1], &addresses[2], &addresses[3]};
    device_launch(of, tnri_map_kernel(c->op, (int)dtype), tnri_map_blocks(layout.count, 1), parameters);
    operand_fetch(of, &out);
    tnr_tensor *expected = expected_of(of, c, in, scalar);
    const bool all_scalar = scalar[0] && (c->inputs == 1 || scalar[1]);
    if (!all_scalar) {
        expect_elements(of, &out, expected, tnri_kernel_names[tnri_map_kernel(c->op, (int)dtype)]);
    }
    release(&expected);
    for (int i = 0; i < c->inputs; i++) {
        operand_end(of, &in[i]);
    }
    operand_end(of, &out);
}

static void maps(void **state)
{
    (void)state;
    launching of;
    launching_begin(&of, 1);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        for (int dtype = 0; dtype < 7; dtype++) {
            for (int round = 0; round < 5 && tnri_map_kernel(cases[at].op, (int)dtypes[dtype]) >= 0; round++) {
                one_map(&of, &cases[at], dtypes[dtype]);
            }
        }
    }
    launching_end(&of);
}

static void casts(void **state)
{
    (void)state;
    launching of;
    launching_begin(&of, 2);
    for (int round = 0; round < 49 * 4; round++) {
        int64_t shape[LAUNCH_RANK];
        const int rank = draw_shape(&of, shape);
        const bool compact = draw(&of, 2) == 0;
        operand out;
        operand in;
        operand_make(&of, &out, dtypes[round / 7 % 7], rank, shape, false, compact, false);
        operand_make(&of, &in, dtypes[round % 7], rank, shape, true, compact, true);
        tnri_kernel_operand operands[2] = {told(&out), told(&in)};
        tnri_map_layout layout;
        int32_t to = (int32_t)out.dtype;
        tnri_map_layout_make(&layout, rank, shape, 2, operands);
        void *parameters[] = {&layout, &to, &operands[0].address, &operands[1].address};
        device_launch(&of, tnri_cast_kernel((int)in.dtype), tnri_map_blocks(layout.count, 1), parameters);
        operand_fetch(&of, &out);
        tnr_tensor *from = operand_tensor(&of, &in, 1, NULL);
        tnr_tensor *expected = NULL;
        const tnr_view view = view_of(from);
        OK(tnr_cast(of.cpu, &view, out.dtype, &expected));
        expect_elements(&of, &out, expected, tnr_dtype_name(in.dtype));
        release(&expected);
        release(&from);
        operand_end(&of, &in);
        operand_end(&of, &out);
    }
    launching_end(&of);
}

static void expect_copied(const operand *out, const operand *in)
{
    for (int64_t at = 0; at < out->count; at++) {
        assert_memory_equal(operand_at(out, at), operand_at(in, at), out->width);
    }
}

/* Copies of every width; now and then with extents about a tile's, turned. */
static void copies(void **state)
{
    (void)state;
    static const tnr_dtype widths[] = {TNR_BOOL, TNR_I32, TNR_F64, TNR_C64};
    launching of;
    int turned = 0;
    launching_begin(&of, 3);
    for (int round = 0; round < 160; round++) {
        int64_t shape[LAUNCH_RANK];
        int rank = draw_shape(&of, shape);
        if (round % 2 == 0) {
            rank = 2 + (int)draw(&of, 3);
            for (int axis = 0; axis < rank; axis++) {
                shape[axis] = axis > 1 ? 1 + (int64_t)draw(&of, 3) : 30 + (int64_t)draw(&of, 40);
            }
        }
        operand out;
        operand in;
        operand_make(&of, &out, widths[round % 4], rank, shape, false, draw(&of, 3) == 0, false);
        operand_make(&of, &in, widths[round % 4], rank, shape, true, false, false);
        tnri_kernel_operand operands[2] = {told(&out), told(&in)};
        tnri_map_layout layout;
        tnri_copy_layout_make(&layout, rank, shape, operands);
        const bool by_tiles = layout.way == TNRI_WAY_TURNED;
        void *parameters[] = {&layout, &operands[0].address, &operands[1].address};
        device_launch(&of, tnri_kernel_of_width(by_tiles ? TNRI_KERNEL_turn_1 : TNRI_KERNEL_pack_1, out.width),
                      by_tiles ? tnri_turn_blocks(&layout, 1) : tnri_map_blocks(layout.count, 1), parameters);
        turned += by_tiles ? 1 : 0;
        operand_fetch(&of, &out);
        expect_copied(&out, &in);
        operand_end(&of, &in);
        operand_end(&of, &out);
    }
    assert_true(turned > 10);
    launching_end(&of);
}

static void fills_reshapes_and_triangles(void **state)
{
    (void)state;
    static const tnr_dtype widths[] = {TNR_BOOL, TNR_I32, TNR_F64, TNR_C64};
    launching of;
    launching_begin(&of, 4);
    for (int round = 0; round < 120; round++) {
        int64_t shape[LAUNCH_RANK];
        int rank = draw_shape(&of, shape);
        operand out;
        operand in;
        operand_make(&of, &out, widths[round % 4], rank, shape, false, draw(&of, 3) == 0, false);
        tnri_map_layout layout;
        tnri_value value = {0, 0};
        draw_element(&of, out.dtype, true, &value);
        tnri_kernel_operand target = told(&out);
        tnri_map_layout_make(&layout, rank, shape, 1, &target);
        void *fill[] = {&layout, &target.address, &value};
        device_launch(&of, tnri_kernel_of_width(TNRI_KERNEL_fill_1, out.width), tnri_map_blocks(layout.count, 1), fill);
        operand_fetch(&of, &out);
        for (int64_t at = 0; at < out.count; at++) {
            assert_memory_equal(operand_at(&out, at), &value, out.width);
        }
        /* the same elements under the shape turned round */
        int64_t other[LAUNCH_RANK];
        for (int axis = 0; axis < rank; axis++) {
            other[axis] = shape[rank - 1 - axis];
        }
        operand_make(&of, &in, out.dtype, rank, other, true, false, false);
        tnri_reshape_layout reshape;
        tnri_reshape_layout_make(&reshape, out.width, rank, shape, out.strides, rank, other, in.strides);
        uint64_t addresses[2] = {operand_address(&out), operand_address(&in)};
        void *reshaped[] = {&reshape, &addresses[0], &addresses[1]};
        device_launch(&of, tnri_kernel_of_width(TNRI_KERNEL_reshape_1, out.width), tnri_map_blocks(out.count, 1),
                      reshaped);
        operand_fetch(&of, &out);
        expect_copied(&out, &in);
        operand_end(&of, &in);
        operand_make(&of, &in, out.dtype, rank, shape, true, false, false);
        if (rank >= 2) {
            tnri_triangle_layout triangle;
            memset(&triangle, 0, sizeof(triangle));
            triangle.count = out.count;
            triangle.k = (int64_t)draw(&of, 9) - 4;
            triangle.k = round % 10 == 0 ? INT64_MIN : round % 10 == 1 ? INT64_MAX : triangle.k;
            triangle.rank = rank;
            triangle.upper = round % 3 == 0;
            for (int axis = 0; axis < rank; axis++) {
                triangle.shape[axis] = shape[axis];
                triangle.steps[0][axis] = shape[axis] == 1 ? 0 : out.strides[axis] * (int64_t)out.width;
                triangle.steps[1][axis] = shape[axis] == 1 ? 0 : in.strides[axis] * (int64_t)in.width;
            }
            addresses[1] = operand_address(&in);
            void *parameters[] = {&triangle, &addresses[0], &addresses[1]};
            device_launch(&of, tnri_kernel_of_width(TNRI_KERNEL_triangle_1, out.width), tnri_map_blocks(out.count, 1),
                          parameters);
            operand_fetch(&of, &out);
            static const char zeros[16];
            for (int64_t at = 0; at < out.count; at++) {
                const int64_t i = at % shape[0];
                const int64_t j = at / shape[0] % shape[1];
                const bool stays = triangle.upper != 0 ? j - i >= triangle.k : j - i <= triangle.k;
                assert_memory_equal(operand_at(&out, at), stays ? operand_at(&in, at) : zeros, out.width);
            }
        }
        operand_end(&of, &in);
        operand_end(&of, &out);
    }
    launching_end(&of);
}

static void scans(void **state)
{
    (void)state;
    launching of;
    launching_begin(&of, 5);
    for (int round = 0; round < 60; round++) {
        int64_t shape[LAUNCH_RANK];
        const int rank = draw_shape(&of, shape);
        const bool wide = round % 2 == 0;
        int32_t kind = round / 2 % 2 == 0 ? TNRI_SCAN_ZERO : TNRI_SCAN_NEGATIVE;
        operand in;
        operand_make(&of, &in, wide ? TNR_I64 : TNR_I32, rank, shape, true, false, false);
        int64_t expected = INT64_MAX;
        for (int64_t at = in.count - 1; at >= 0; at--) {
            int64_t value = 0;
            int32_t small = 0;
            memcpy(wide ? (void *)&value : (void *)&small, operand_at(&in, at), in.width);
            value = wide ? value : small;
            expected = (kind == TNRI_SCAN_ZERO ? value == 0 : value < 0) ? at : expected;
        }
        const int64_t none = INT64_MAX;
        int64_t found = 0;
        uint64_t address = operand_address(&in);
        uint64_t answer = device_take(&of, sizeof(none), &none);
        tnri_reshape_layout layout;
        tnri_reshape_layout_make(&layout, in.width, rank, shape, in.strides, 0, NULL, NULL);
        void *parameters[] = {&layout, &kind, &address, &answer};
        device_launch(&of, wide ? TNRI_KERNEL_scan_i64 : TNRI_KERNEL_scan_i32, tnri_map_blocks(in.count, 1),
                      parameters);
        device_read(&of, answer, sizeof(found), &found);
        assert_int_equal(found, expected);
        device_give(&of, answer);
        operand_end(&of, &in);
    }
    launching_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps),   cmocka_unit_test(casts),
        cmocka_unit_test(copies), cmocka_unit_test(fills_reshapes_and_triangles),
        cmocka_unit_test(scans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
