/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products by the library's own kernels, launched by hand: tiles, lines and splits, strides of any kind, tables of offsets, batches,
 * conjugation, alpha and beta; within docs/product.md's bound. And the functions of complex numbers against the C library's.
 */
#include "launching.h"

#include <float.h>
#include <math.h>

static void get(const operand *op, int64_t at, bool conjugate, double *to)
{
    const char *from = operand_at(op, at);
    to[0] = to[1] = 0.0;
    for (int part = 0; part < (op->width > tnr_dtype_alignment(op->dtype) ? 2 : 1); part++) {
        float single;
        if (tnr_dtype_alignment(op->dtype) == sizeof(float)) {
            memcpy(&single, from + (size_t)part * sizeof(single), sizeof(single));
            to[part] = (double)single;
        } else {
            memcpy(&to[part], from + (size_t)part * sizeof(double), sizeof(double));
        }
    }
    to[1] = conjugate ? -to[1] : to[1];
}

static void multiply(const double *x, const double *y, double *to)
{
    const double re = x[0] * y[0] - x[1] * y[1];
    to[1] = x[0] * y[1] + x[1] * y[0];
    to[0] = re;
}

/* A group of one axis, or of two by tables that the device wrote. */
static void make_group(launching *of, tnri_product_group *g, int axes, const int64_t *extents,
                       const operand *const *operands, const int *first_axes, uint64_t *tables)
{
    memset(g, 0, sizeof(*g));
    g->size = 1;
    for (int axis = 0; axis < axes; axis++) {
        g->size *= extents[axis];
    }
    for (int i = 0; i < 3; i++) {
        tables[i] = 0;
        if (axes == 1 && operands[i] != NULL) {
            g->step[i] = extents[0] == 1 ? 0 : operands[i]->strides[first_axes[i]] * (int64_t)operands[i]->width;
        }
    }
    if (axes < 2) {
        return;
    }
    tnri_offsets_layout layout;
    memset(&layout, 0, sizeof(layout));
    layout.count = g->size;
    layout.rank = axes;
    memcpy(layout.words, extents, (size_t)axes * sizeof(*extents));
    int64_t *words = layout.words + axes;
    for (int i = 0; i < 3; i++) {
        for (int axis = 0; axis < axes && operands[i] != NULL; axis++) {
            *words++ =
                extents[axis] == 1 ? 0 : operands[i]->strides[first_axes[i] + axis] * (int64_t)operands[i]->width;
        }
        tables[i] = operands[i] != NULL ? device_take(of, (uint64_t)g->size * 8, NULL) : 0;
        g->table[i] = (const int64_t *)(uintptr_t)tables[i];
    }
    void *parameters[] = {&layout, &tables[0], &tables[1], &tables[2]};
    device_launch(of, TNRI_KERNEL_offsets, tnri_map_blocks(g->size, 1), parameters);
}

static void one_product(launching *of, tnr_dtype dtype, int *ways)
{
    /* groups: m (1 or 2 axes), n, k (1 or 2 axes), batch; operands a [m.. k.. batch], b [k.. n batch], c [m.. n batch] */
    static const int64_t sizes[] = {1, 2, 3, 15, 16, 17, 33, 64, 65, 70};
    const int m_axes = 1 + (int)draw(of, 2);
    const int k_axes = 1 + (int)draw(of, 2);
    int64_t m[2] = {sizes[draw(of, 10)], 2};
    int64_t n[1] = {sizes[draw(of, 10)]};
    int64_t k[2] = {draw(of, 5) == 0 ? 700 + (int64_t)draw(of, 900) : sizes[draw(of, 10)], 3};
    int64_t batch[1] = {draw(of, 3) == 0 ? 1 + (int64_t)draw(of, 3) : 1};
    if (k[0] > 100 && m[0] > 16 && n[0] > 16) {
        n[0] = 16;
        m[0] = 17;
    }
    const int64_t a_shape[5] = {m[0], m_axes == 2 ? m[1] : k[0],
                                m_axes == 2   ? k[0]
                                : k_axes == 2 ? k[1]
                                              : batch[0],
                                m_axes == 2 ? (k_axes == 2 ? k[1] : batch[0]) : batch[0], batch[0]};
    const int64_t b_shape[4] = {k[0], k_axes == 2 ? k[1] : n[0], k_axes == 2 ? n[0] : batch[0], batch[0]};
    const int64_t c_shape[4] = {m[0], m_axes == 2 ? m[1] : n[0], m_axes == 2 ? n[0] : batch[0], batch[0]};
    operand a;
    operand b;
    operand c;
    operand_make(of, &a, dtype, m_axes + k_axes + 1, a_shape, true, false, false);
    operand_make(of, &b, dtype, k_axes + 2, b_shape, true, false, false);
    operand_make(of, &c, dtype, m_axes + 2, c_shape, false, draw(of, 2) == 0, false);
    tnri_product_layout l;
    uint64_t tables[12];
    memset(&l, 0, sizeof(l));
    make_group(of, &l.m, m_axes, m, (const operand *const[]){&a, NULL, &c}, (const int[]){0, 0, 0}, tables);
    make_group(of, &l.n, 1, n, (const operand *const[]){NULL, &b, &c}, (const int[]){0, k_axes, m_axes}, tables + 3);
    make_group(of, &l.k, k_axes, k, (const operand *const[]){&a, &b, NULL}, (const int[]){m_axes, 0, 0}, tables + 6);
    make_group(of, &l.batch, 1, batch, (const operand *const[]){&a, &b, &c},
               (const int[]){m_axes + k_axes, k_axes + 1, m_axes + 1}, tables + 9);
    const bool is_complex = dtype == TNR_C32 || dtype == TNR_C64;
    l.plain = draw(of, 2) == 0;
    l.overwrite = draw(of, 2) == 0;
    l.keep = l.overwrite == 0 && draw(of, 2) == 0;
    l.alpha[0] = l.plain != 0 ? 1.0 : 0.5;
    l.alpha[1] = is_complex && l.plain == 0 ? -0.25 : 0.0;
    l.beta[0] = l.overwrite != 0 ? 0.0 : l.keep != 0 ? 1.0 : 2.0;
    l.conjugate_a = is_complex && draw(of, 2) == 0;
    l.conjugate_b = is_complex && draw(of, 2) == 0;
    tnri_product_layout_finish(&l, (int)dtype);
    ways[l.way]++;
    ways[2] += l.splits > 1 ? 1 : 0;
    uint64_t addresses[4] = {operand_address(&c), operand_address(&a), operand_address(&b), 0};
    const uint64_t scratch = tnri_product_scratch_bytes(&l, (int)dtype);
    addresses[3] = scratch != 0 ? device_take(of, scratch, NULL) : 0;
    void *parameters[] = {&l, &addresses[0], &addresses[1], &addresses[2], &addresses[3]};
    operand before = c;
    before.bytes = malloc((size_t)c.elements * c.width);
    memcpy(before.bytes, c.bytes, (size_t)c.elements * c.width);
    const tnri_kernel first = l.way == TNRI_PRODUCT_WAY_TILES ? TNRI_KERNEL_product_f32 : TNRI_KERNEL_product_lines_f32;
    device_launch(of, tnri_product_kernel_at(first, (int)dtype), tnri_product_blocks(&l, 1), parameters);
    if (scratch != 0) {
        const uint64_t partials = addresses[3];
        device_launch(of, tnri_product_kernel_at(TNRI_KERNEL_product_join_f32, (int)dtype),
                      tnri_product_join_blocks(&l, 1), parameters);
        device_give(of, partials);
    }
    operand_fetch(of, &c);
    const double epsilon = tnr_dtype_alignment(dtype) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON;
    for (int64_t at = 0; at < c.count; at++) {
        const int64_t i = at % l.m.size;
        const int64_t j = at / l.m.size % l.n.size;
        const int64_t item = at / l.m.size / l.n.size;
        double sum[2] = {0, 0};
        double size = 0.0;
        for (int64_t q = 0; q < l.k.size; q++) {
            double x[2];
            double y[2];
            double product[2];
            get(&a, i + (q + item * l.k.size) * l.m.size, l.conjugate_a != 0, x);
            get(&b, q + (j + item * l.n.size) * l.k.size, l.conjugate_b != 0, y);
            multiply(x, y, product);
            sum[0] += product[0];
            sum[1] += product[1];
            size += (fabs(x[0]) + fabs(x[1])) * (fabs(y[0]) + fabs(y[1]));
        }
        double got[2];
        double there[2];
        double expected[2];
        get(&before, at, false, there);
        get(&c, at, false, got);
        multiply(l.alpha, sum, expected);
        for (int part = 0; part < 2 && l.overwrite == 0; part++) {
            expected[part] += l.beta[0] * there[part];
        }
        for (int part = 0; part < 2; part++) {
            if (!(fabs(got[part] - expected[part]) <=
                  epsilon * (double)(2 * l.k.size + 4) * (size + fabs(there[part]) * 2.0))) {
                print_error("%s: %lld x %lld x %lld: element %lld is %.17g, not %.17g (seed %llu)\n",
                            tnr_dtype_name(dtype), (long long)l.m.size, (long long)l.n.size, (long long)l.k.size,
                            (long long)at, got[part], expected[part], (unsigned long long)of->seed);
                fail();
            }
        }
    }
    free(before.bytes);
    for (int i = 0; i < 12; i++) {
        if (tables[i] != 0) {
            device_give(of, tables[i]);
        }
    }
    operand_end(of, &a);
    operand_end(of, &b);
    operand_end(of, &c);
}

static void products(void **state)
{
    (void)state;
    launching of;
    int ways[3] = {0, 0, 0};
    launching_begin(&of, 31);
    for (int round = 0; round < 80; round++) {
        one_product(&of, (tnr_dtype)(TNR_F32 + round % 4), ways);
    }
    assert_true(ways[0] > 5 && ways[1] > 5 && ways[2] > 5);
    launching_end(&of);
}

/* ---- Functions ---------------------------------------------------------------------------------------------------------------------------- */

typedef tnr_status (*unary)(tnr_engine *, const tnr_view *, tnr_tensor **);
static const unary functions[] = {tnr_exp,  tnr_log,   tnr_sin,   tnr_cos,  tnr_tanh,
                                  tnr_sqrt, tnr_rsqrt, tnr_expm1, tnr_log1p};

/* Parts of one function's results: NaN and NaN, the same, or near beside the size of the whole number. */
static bool part_agrees(double got, double expected, double other, double size, double epsilon)
{
    if (isnan(got) || isnan(expected)) {
        return isnan(got) && isnan(expected);
    }
    if (isinf(expected) || isinf(got)) { /* beside NaN its sign is not told */
        return isinf(expected) && isinf(got) && (isnan(other) || (got > 0) == (expected > 0));
    }
    if (expected == 0.0 && got == 0.0) {
        return isnan(other) || signbit(got) == signbit(expected);
    }
    return fabs(got - expected) <= epsilon * size;
}

static void one_function(launching *of, int function, tnr_dtype dtype, int64_t count, const char *values)
{
    operand in;
    operand out;
    operand other;
    const bool two = function == 9;
    operand_make(of, &in, dtype, 1, &count, false, true, false);
    operand_make(of, &other, dtype, 1, &count, false, true, false);
    operand_make(of, &out, dtype, 1, &count, false, false, false);
    for (int64_t at = 0; at < count; at++) {
        memcpy(operand_at(&in, at), values + (size_t)at * in.width, in.width);
    }
    device_give(of, in.buffer);
    in.buffer = device_take(of, (uint64_t)in.elements * in.width, in.bytes);
    const tnri_kernel_operand told[3] = {{operand_address(&out), out.width, out.strides},
                                         {operand_address(&in), in.width, in.strides},
                                         {operand_address(&other), other.width, other.strides}};
    tnri_kernel_operand operands[3] = {told[0], told[1], told[2]};
    tnri_map_layout layout;
    tnri_map_layout_make(&layout, 1, &count, two ? 3 : 2, operands);
    uint64_t none = 0;
    void *parameters[] = {&layout, &operands[0].address, &operands[1].address, two ? &operands[2].address : &none};
    device_launch(of, tnri_math_kernel_at((tnri_kernel)((int)TNRI_KERNEL_exp_f32 + function), (int)dtype),
                  tnri_map_blocks(count, 1), parameters);
    operand_fetch(of, &out);
    tnr_tensor *from = operand_tensor(of, &in, 1, NULL);
    tnr_tensor *by = operand_tensor(of, &other, 1, NULL);
    tnr_tensor *made = NULL;
    const tnr_view views[2] = {view_of(from), view_of(by)};
    const void *data = NULL;
    OK(two ? tnr_pow(of->cpu, &views[0], &views[1], &made) : functions[function](of->cpu, &views[0], &made));
    OK(tnr_tensor_host_data(made, &data));
    operand expected = out;
    expected.bytes = (char *)(uintptr_t)data;
    expected.first = 0;
    expected.strides[0] = 1;
    const bool single = tnr_dtype_alignment(dtype) == sizeof(float);
    const double epsilon = single ? 8.0 * (double)FLT_EPSILON : (two ? 4096.0 : 16.0) * DBL_EPSILON;
    for (int64_t at = 0; at < count; at++) {
        double z[2];
        double w[2];
        get(&out, at, false, z);
        get(&expected, at, false, w);
        const double size = fabs(w[0]) + fabs(w[1]) + (single ? 1e-44 : 1e-320);
        if (!part_agrees(z[0], w[0], w[1], size, epsilon) || !part_agrees(z[1], w[1], w[0], size, epsilon)) {
            double x[2];
            get(&in, at, false, x);
            print_error("function %d of %s at (%.17g, %.17g): (%.17g, %.17g), expected (%.17g, %.17g)\n", function,
                        tnr_dtype_name(dtype), x[0], x[1], z[0], z[1], w[0], w[1]);
            fail();
        }
    }
    release(&made);
    release(&by);
    release(&from);
    operand_end(of, &in);
    operand_end(of, &other);
    operand_end(of, &out);
}

static void functions_agree(void **state)
{
    (void)state;
    static const double parts[] = {0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   0.5,
                                   -0.75,
                                   3.0,
                                   -3.0,
                                   25.0,
                                   -30.0,
                                   700.0,
                                   -700.0,
                                   715.0,
                                   1e-8,
                                   -1e-8,
                                   1e-300,
                                   1e300,
                                   -1e300,
                                   (double)INFINITY,
                                   -(double)INFINITY,
                                   (double)NAN,
                                   1.5707963267948966,
                                   0.6,
                                   0.8,
                                   -1e-310};
    enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
    static char values[PARTS * PARTS * 16];
    launching of;
    launching_begin(&of, 41);
    for (int dtype = TNR_F32; dtype <= TNR_C64; dtype++) {
        const bool is_complex = dtype == TNR_C32 || dtype == TNR_C64;
        const bool single = dtype == TNR_F32 || dtype == TNR_C32;
        const size_t width = tnr_dtype_size((tnr_dtype)dtype);
        for (int at = 0; at < PARTS * PARTS; at++) {
            const double wide[2] = {parts[at % PARTS], parts[at / PARTS]};
            const float narrow[2] = {(float)wide[0], (float)wide[1]};
            memcpy(values + (size_t)at * width, single ? (const void *)narrow : (const void *)wide, width);
        }
        for (int function = 0; function < 9; function++) {
            one_function(&of, function, (tnr_dtype)dtype, is_complex ? PARTS * PARTS : PARTS, values);
        }
        for (int at = 0; at < PARTS * PARTS; at++) {
            const double wide[2] = {0.01 + (double)draw(&of, 4000) / 1000.0, (double)draw(&of, 4000) / 1000.0 - 2.0};
            const float narrow[2] = {(float)wide[0], (float)wide[1]};
            memcpy(values + (size_t)at * width, single ? (const void *)narrow : (const void *)wide, width);
        }
        for (int function = 0; function < 9; function++) {
            one_function(&of, function, (tnr_dtype)dtype, PARTS * PARTS, values);
        }
    }
    launching_end(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(functions_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
