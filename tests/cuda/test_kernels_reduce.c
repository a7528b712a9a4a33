/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions, argmax and argmin, launched by hand: random layouts, any axes gone, in one launch and in two. Exact where order does
 * not matter, within tenure/reduction.h's bound of sums elsewhere; the same bits with any number of blocks.
 */
#include "launching.h"

#include <float.h>
#include <math.h>

static double part_of(tnr_dtype dtype, const char *element, int part)
{
    float single;
    double wide;
    if (dtype == TNR_F32 || dtype == TNR_C32) {
        memcpy(&single, element + (size_t)part * sizeof(float), sizeof(single));
        return (double)single;
    }
    memcpy(&wide, element + (size_t)part * sizeof(double), sizeof(wide));
    return wide;
}

typedef struct reduce_case {
    tnri_kernel_reduce_op op;
    tnr_status (*call)(tnr_engine *, const tnr_view *, const int *, int, tnr_tensor **);
    bool special;
} reduce_case;

static const reduce_case cases[] = {
    {TNRI_KERNEL_SUM, tnr_sum, false},  {TNRI_KERNEL_PROD, tnr_prod, false}, {TNRI_KERNEL_MAX, tnr_max, true},
    {TNRI_KERNEL_MIN, tnr_min, true},   {TNRI_KERNEL_ALL, tnr_all, true},    {TNRI_KERNEL_ANY, tnr_any, true},
    {TNRI_KERNEL_NORM, tnr_norm, true}, {TNRI_KERNEL_ARGMAX, NULL, true},    {TNRI_KERNEL_ARGMIN, NULL, true},
};

/* Are both the same, or near one another beside `size`? */
static bool near(double a, double b, double size, double epsilon)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    return a == b || fabs(a - b) <= size * epsilon;
}

static void expect_near(const operand *out, const tnr_tensor *expected, const operand *in, const reduce_case *c,
                        int64_t terms)
{
    const bool single = out->dtype == TNR_F32 || out->dtype == TNR_C32;
    const double epsilon = single ? (double)FLT_EPSILON : DBL_EPSILON;
    const void *data = NULL;
    double all = 0.0;
    OK(tnr_tensor_host_data(expected, &data));
    for (int64_t at = 0; at < in->count && c->op == TNRI_KERNEL_SUM; at++) {
        all += fabs(part_of(in->dtype, operand_at(in, at), 0));
        all += in->dtype == TNR_C32 || in->dtype == TNR_C64 ? fabs(part_of(in->dtype, operand_at(in, at), 1)) : 0.0;
    }
    for (int64_t at = 0; at < out->count; at++) {
        const char *theirs = (const char *)data + (size_t)at * out->width;
        const bool is_complex = out->dtype == TNR_C32 || out->dtype == TNR_C64;
        double size = 0.0;
        for (int part = 0; part < (is_complex ? 2 : 1); part++) {
            size += fabs(part_of(out->dtype, theirs, part));
        }
        for (int part = 0; part < (is_complex ? 2 : 1); part++) {
            const double a = part_of(out->dtype, operand_at(out, at), part);
            const double b = part_of(out->dtype, theirs, part);
            const double beside =
                c->op == TNRI_KERNEL_SUM ? all * 32.0 : size * (c->op == TNRI_KERNEL_PROD ? 8.0 * (double)terms : 40.0);
            if (!near(a, b, beside, epsilon)) {
                print_error("op %d of %s: %.17g, expected %.17g\n", (int)c->op, tnr_dtype_name(in->dtype), a, b);
                fail();
            }
        }
    }
}

static void run_reduction(launching *of, tnri_reduce_layout layout, int kernel, uint64_t target, uint64_t source,
                          int blocks)
{
    const uint64_t bytes = tnri_reduce_scratch(&layout);
    uint64_t partials = bytes != 0 ? device_take(of, bytes, NULL) : 0;
    void *parameters[] = {&layout, &target, &source, &partials};
    const uint64_t scratch = partials;
    device_launch(of, kernel, tnri_reduce_blocks(&layout, blocks), parameters);
    if (bytes != 0) {
        tnri_reduce_layout_join(&layout);
        source = 0;
        device_launch(of, kernel, tnri_reduce_blocks(&layout, blocks), parameters);
        device_give(of, scratch);
    }
}

static void one_reduction(launching *of, const reduce_case *c, tnr_dtype dtype, int *splits)
{
    int64_t shape[LAUNCH_RANK];
    int64_t kept[LAUNCH_RANK];
    int64_t target_strides[LAUNCH_RANK] = {0};
    int axes[LAUNCH_RANK];
    int rank = 1 + (int)draw(of, 5);
    const bool long_one = draw(of, 3) == 0;
    const bool arg = c->call == NULL;
    uint64_t gone = draw(of, UINT64_C(1) << rank);
    gone = arg ? UINT64_C(1) << draw(of, (uint64_t)rank) : gone;
    int gone_count = 0;
    int kept_count = 0;
    int64_t terms = 1;
    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = 1 + (int64_t)draw(of, rank > 3 ? 5 : 12);
    }
    if (long_one) {
        rank = rank > 2 ? 2 : rank;
        gone = rank == 1 ? 1 : 1 + draw(of, 2);
        shape[0] = 1 + (int64_t)draw(of, 12000);
        shape[1] = 1 + (int64_t)draw(of, 3);
        if (draw(of, 2) == 0 && rank == 2) {
            const int64_t other = shape[0];
            shape[0] = shape[1];
            shape[1] = other;
        }
    }
    for (int axis = 0; axis < rank; axis++) {
        if ((gone >> axis & 1U) != 0) {
            axes[gone_count++] = axis;
            terms *= shape[axis];
        } else {
            kept[kept_count++] = shape[axis];
        }
    }
    operand in;
    operand out;
    const tnr_dtype made = arg ? TNR_I64 : c->op == TNRI_KERNEL_NORM ? tnr_dtype_real(dtype) : dtype;
    operand_make(of, &in, dtype, rank, shape, true, draw(of, 3) == 0, c->special);
    operand_make(of, &out, made, kept_count, kept, false, draw(of, 2) == 0, false);
    for (int axis = 0, at = 0; axis < rank; axis++) {
        target_strides[axis] = (gone >> axis & 1U) != 0 ? 0 : out.strides[at++];
    }
    tnri_reduce_layout layout;
    tnri_reduce_layout_make(&layout, c->op, (int)dtype, rank, shape, gone, in.strides, target_strides);
    *splits += layout.chunks > 1 ? 1 : 0;
    const int kernel = tnri_reduce_kernel(c->op, (int)dtype);
    run_reduction(of, layout, kernel, operand_address(&out), operand_address(&in), 1);
    operand_fetch(of, &out);
    tnr_tensor *from = operand_tensor(of, &in, rank, shape);
    tnr_tensor *expected = NULL;
    const tnr_view view = view_of(from);
    if (arg && c->op == TNRI_KERNEL_ARGMAX) {
        OK(tnr_argmax(of->cpu, &view, axes[0], &expected));
    } else if (arg) {
        OK(tnr_argmin(of->cpu, &view, axes[0], &expected));
    } else {
        OK(c->call(of->cpu, &view, axes, gone_count, &expected));
    }
    const bool inexact = (c->op == TNRI_KERNEL_SUM || c->op == TNRI_KERNEL_PROD || c->op == TNRI_KERNEL_NORM) &&
                         dtype != TNR_I32 && dtype != TNR_I64;
    if (inexact) {
        expect_near(&out, expected, &in, c, terms);
    } else {
        expect_elements(of, &out, expected, "reduction");
    }
    /* the same bits by another number of blocks */
    char *once = malloc((size_t)out.elements * out.width);
    memcpy(once, out.bytes, (size_t)out.elements * out.width);
    run_reduction(of, layout, kernel, operand_address(&out), operand_address(&in), 3);
    operand_fetch(of, &out);
    assert_memory_equal(once, out.bytes, (size_t)out.elements * out.width);
    free(once);
    release(&expected);
    release(&from);
    operand_end(of, &in);
    operand_end(of, &out);
}

static void reductions(void **state)
{
    (void)state;
    launching of;
    int splits = 0;
    launching_begin(&of, 11);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        for (int dtype = TNR_F32; dtype < TNR_DTYPE_END; dtype++) {
            for (int round = 0; round < 6 && tnri_reduce_kernel(cases[at].op, dtype) >= 0; round++) {
                one_reduction(&of, &cases[at], (tnr_dtype)dtype, &splits);
            }
        }
    }
    assert_true(splits > 5);
    launching_end(&of);
}

/* Magnitudes whose squares leave the range, infinities beside NaN. */
static void norms_beyond_the_range(void **state)
{
    (void)state;
    static const double rows[][4] = {
        {3e200, 4e200, 0, 0},
        {3e-200, 4e-200, 0, 0},
        {1e308, 1e308, 1e300, 1},
        {4e-320, 3e-320, 0, 0},
        {(double)INFINITY, (double)NAN, 1, 2},
        {(double)NAN, 1, 2, 3},
        {0, -0.0, 0, 0},
        {1e160, 1e-160, 3, 4},
    };
    launching of;
    launching_begin(&of, 12);
    for (int row = 0; row < 8; row++) {
        for (int single = 0; single < 2; single++) {
            operand in;
            operand out;
            const int64_t four = 4;
            const int64_t zero = 0;
            operand_make(&of, &in, single != 0 ? TNR_F32 : TNR_F64, 1, &four, false, true, false);
            operand_make(&of, &out, in.dtype, 0, NULL, false, true, false);
            for (int at = 0; at < 4; at++) {
                const float narrow = (float)rows[row][at];
                memcpy(operand_at(&in, at), single != 0 ? (const void *)&narrow : (const void *)&rows[row][at],
                       in.width);
            }
            device_give(&of, in.buffer);
            in.buffer = device_take(&of, (uint64_t)in.elements * in.width, in.bytes);
            tnri_reduce_layout layout;
            tnri_reduce_layout_make(&layout, TNRI_KERNEL_NORM, (int)in.dtype, 1, &four, 1, in.strides, &zero);
            run_reduction(&of, layout, tnri_reduce_kernel(TNRI_KERNEL_NORM, (int)in.dtype), operand_address(&out),
                          operand_address(&in), 1);
            operand_fetch(&of, &out);
            tnr_tensor *from = operand_tensor(&of, &in, 1, NULL);
            tnr_tensor *expected = NULL;
            const tnr_view view = view_of(from);
            const int axis = 0;
            OK(tnr_norm(of.cpu, &view, &axis, 1, &expected));
            expect_near(&out, expected, &in, &cases[6], 4);
            release(&expected);
            release(&from);
            operand_end(&of, &in);
            operand_end(&of, &out);
        }
    }
    launching_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reductions), cmocka_unit_test(norms_beyond_the_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
