/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures of contractions that other libraries had, as they were reported: each test is named after its row in the project's list of
 * bugs. Every row by every way: a contraction of two, an einsum, a plan of either; planned anew, from the cache, and without one; as
 * new tensors and into views that held NaN. Rows of one operand, or of many, are in test_einsum.c.
 */
#include <math.h>

#include "support/einsum_test.h"

enum { ENGINES = 2 };

static tnr_domain *heap;
static tnr_engine *engines[ENGINES]; /* with a cache, and without */

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    for (int i = 0; i < ENGINES; i++) {
        tnr_engine_options options = TNR_ENGINE_OPTIONS;
        options.plan_cache_bytes = i == 0 ? TNR_PLAN_CACHE_BYTES : 0;
        OK(tnr_engine_create(heap, &options, &engines[i]));
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < ENGINES; i++) {
        OK(tnr_engine_destroy(&engines[i]));
    }
    close_domain(&heap);
    return 0;
}

/* ---- All ways -------------------------------------------------------------------------------------------------------------------------------- */

/* An operand: f64, elements in memory order; NULL: 1, 2, 3, ... */
typedef struct operand {
    int rank;
    const int64_t *shape;
    const double *elements;
} operand;

#define OF(rank, shape, ...) ((operand){rank, shape, (const double[]){__VA_ARGS__}})
#define COUNTING(rank, shape) ((operand){rank, shape, NULL})
#define EMPTY(rank, shape) COUNTING(rank, shape)

static tnr_tensor *tensor_of(const operand *o)
{
    tnr_tensor *made = make_counting(heap, o->rank, o->shape);
    void *data;
    OK(tnr_tensor_host_data_mut(made, &data));
    for (int64_t i = 0; o->elements != NULL && i < count_of(o->rank, o->shape); i++) {
        ((double *)data)[i] = o->elements[i];
    }
    return made;
}

typedef struct scene {
    const char *labels[3];
    char equation[64];
    tnr_tensor *tensors[2];
    tnr_view views[2];
    const tnr_view *list[2];
    tnr_tensor *out;
    tnr_view_mut into;
} scene;

static void open_scene(scene *s, const char *a_labels, operand a, const char *b_labels, operand b,
                       const char *out_labels, int rank, const int64_t *shape)
{
    s->labels[0] = a_labels;
    s->labels[1] = b_labels;
    s->labels[2] = out_labels;
    (void)snprintf(s->equation, sizeof s->equation, "%s,%s->%s", a_labels, b_labels, out_labels);
    s->tensors[0] = tensor_of(&a);
    s->tensors[1] = tensor_of(&b);
    for (int i = 0; i < 2; i++) {
        s->views[i] = view_of(s->tensors[i]);
        s->list[i] = &s->views[i];
    }
    const double poison = (double)NAN;
    OK(tnr_tensor_full(heap, TNR_F64, rank, shape, &poison, &s->out));
    s->into = view_mut_of(s->out);
}

static void close_scene(scene *s)
{
    release(&s->tensors[0]);
    release(&s->tensors[1]);
    release(&s->out);
}

enum { CONTRACT, EINSUM, PLANNED_CONTRACT, PLANNED_EINSUM, WAYS };

/* A new tensor, or into the view. */
static tnr_status go(tnr_engine *engine, const scene *s, int way, tnr_tensor **made)
{
    if (way == CONTRACT) {
        return made != NULL
                   ? tnr_contract(engine, s->list[0], s->labels[0], s->list[1], s->labels[1], s->labels[2], NULL, made)
                   : tnr_contract_into(engine, s->list[0], s->labels[0], s->list[1], s->labels[1], s->labels[2], NULL,
                                       &s->into);
    }
    if (way == EINSUM) {
        return made != NULL ? tnr_einsum(engine, s->equation, s->list, 2, NULL, made)
                            : tnr_einsum_into(engine, s->equation, s->list, 2, NULL, &s->into);
    }
    tnr_plan *plan = NULL;
    const tnr_view *out = made != NULL ? NULL : &s->into.view;
    tnr_status status = way == PLANNED_CONTRACT ? tnr_plan_contract(engine, s->list[0], s->labels[0], s->list[1],
                                                                    s->labels[1], out, s->labels[2], NULL, &plan)
                                                : tnr_plan_einsum(engine, s->equation, s->list, 2, out, NULL, &plan);
    if (status == TNR_OK) {
        status = made != NULL ? tnr_plan_run(plan, s->list, 2, made) : tnr_plan_run_into(plan, s->list, 2, &s->into);
    }
    OK(tnr_plan_destroy(&plan));
    return status;
}

static void check_elements(const scene *s, const tnr_tensor *tensor, int64_t count, const double *elements)
{
    for (int64_t i = 0; i < count; i++) {
        if (host_of(tensor)[i] != elements[i]) {
            fail_msg("%s: element %d is %g, expected %g", s->equation, (int)i, host_of(tensor)[i], elements[i]);
        }
    }
}

static void check(const char *a_labels, operand a, const char *b_labels, operand b, const char *out_labels, int rank,
                  const int64_t *shape, const double *elements)
{
    scene s;
    open_scene(&s, a_labels, a, b_labels, b, out_labels, rank, shape);
    const int64_t count = count_of(rank, shape);
    for (int round = 0; round < 2 * ENGINES * WAYS; round++) {
        tnr_engine *engine = engines[round % ENGINES];
        tnr_tensor *made = NULL;
        OK(go(engine, &s, round / ENGINES % WAYS, &made));
        const tnr_view view = view_of(made);
        assert_int_equal(view.rank, rank);
        assert_true(same_numbers(view.shape, shape, rank));
        check_elements(&s, made, count, elements);
        release(&made);
        void *data;
        OK(tnr_tensor_host_data_mut(s.out, &data));
        for (int64_t i = 0; i < count; i++) {
            ((double *)data)[i] = (double)NAN;
        }
        OK(go(engine, &s, round / ENGINES % WAYS, NULL));
        check_elements(&s, s.out, count, elements);
    }
    close_scene(&s);
}

/* Refused with one status by every way, with nothing written. */
static void refuse(tnr_status status, const char *text, const char *a_labels, operand a, const char *b_labels,
                   operand b, const char *out_labels, int rank, const int64_t *shape)
{
    scene s;
    open_scene(&s, a_labels, a, b_labels, b, out_labels, rank, shape);
    for (int round = 0; round < ENGINES * WAYS; round++) {
        tnr_engine *engine = engines[round % ENGINES];
        tnr_tensor *made = untouched();
        EXPECT(status, go(engine, &s, round / ENGINES, &made));
        TEXT_HAS(text);
        assert_ptr_equal(made, untouched());
        EXPECT(status, go(engine, &s, round / ENGINES, NULL));
        TEXT_HAS(text);
    }
    for (int64_t i = 0; i < count_of(rank, shape); i++) {
        assert_true(isnan(host_of(s.out)[i]));
    }
    close_scene(&s);
}

#define SCALAR 0, NULL
#define ELEMENTS(...) ((const double[]){__VA_ARGS__})

/* ---- The rows -------------------------------------------------------------------------------------------------------------------------------- */

static void test_CT_01_repeated_labels_are_joint_diagonals(void **state)
{
    (void)state;
    const operand one = OF(0, NULL, 1.0);
    const operand eight = COUNTING(3, SHAPE(2, 2, 2));
    check("iii", eight, "", one, "i", 1, SHAPE(2), ELEMENTS(1, 8));
    check("iii", eight, "", one, "", SCALAR, ELEMENTS(9));
    check("ijj", eight, "", one, "i", 1, SHAPE(2), ELEMENTS(8, 10));
    check("", one, "jij", eight, "i", 1, SHAPE(2), ELEMENTS(7, 11));
    double traces[36];
    for (int i = 0; i < 36; i++) {
        traces[i] = i % 2 == i / 2 % 2 && i / 4 % 3 == i / 12 ? 1.0 : 100.0;
    }
    check("iijj", (operand){4, SHAPE(2, 2, 3, 3), traces}, "", one, "", SCALAR, ELEMENTS(6));
    const operand nine = OF(2, SHAPE(3, 3), 1, 4, 7, 2, 5, 8, 3, 6, 9);
    check("ii", nine, "", one, "", SCALAR, ELEMENTS(15));
    check("ii", nine, "ii", nine, "", SCALAR, ELEMENTS(1 + 25 + 81));
    check("ii", nine, "ij", nine, "j", 1, SHAPE(3), ELEMENTS(1 + 20 + 63, 2 + 25 + 72, 3 + 30 + 81));
}

static void test_CT_03_one_label_has_one_extent(void **state)
{
    (void)state;
    const operand three = COUNTING(1, SHAPE(3));
    const operand one = COUNTING(1, SHAPE(1));
    refuse(TNR_ERR_SHAPE, "label i has extents 3", "i", three, "i", one, "", SCALAR);
    refuse(TNR_ERR_SHAPE, "label i has extents 1", "i", one, "i", three, "", SCALAR);
    refuse(TNR_ERR_SHAPE, "label j has extents 3", "ij", COUNTING(2, SHAPE(2, 3)), "jk", COUNTING(2, SHAPE(1, 4)), "ik",
           2, SHAPE(2, 4));
    refuse(TNR_ERR_SHAPE, "label i has extents 3", "ii", COUNTING(2, SHAPE(3, 1)), "j", one, "", SCALAR);
    refuse(TNR_ERR_ARGUMENT, "label k of the result", "ij", COUNTING(2, SHAPE(2, 3)), "j", three, "ijk", 3,
           SHAPE(2, 3, 1));
}

static void test_CT_05_extents_of_zero(void **state)
{
    (void)state;
    check("i", EMPTY(1, SHAPE(0)), "i", EMPTY(1, SHAPE(0)), "", SCALAR, ELEMENTS(0));
    check("ij", EMPTY(2, SHAPE(2, 0)), "jk", EMPTY(2, SHAPE(0, 3)), "ik", 2, SHAPE(2, 3), ELEMENTS(0, 0, 0, 0, 0, 0));
    check("i", EMPTY(1, SHAPE(0)), "j", COUNTING(1, SHAPE(3)), "ij", 2, SHAPE(0, 3), NULL);
    check("i", EMPTY(1, SHAPE(0)), "j", COUNTING(1, SHAPE(3)), "j", 1, SHAPE(3), ELEMENTS(0, 0, 0));
    check("i", EMPTY(1, SHAPE(0)), "", OF(0, NULL, (double)NAN), "", SCALAR, ELEMENTS(0));
    /* beta times what there was */
    scene s;
    open_scene(&s, "ij", EMPTY(2, SHAPE(2, 0)), "jk", EMPTY(2, SHAPE(0, 2)), "ik", 2, SHAPE(2, 2));
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    for (int round = 0; round < 6; round++) {
        void *data;
        OK(tnr_tensor_host_data_mut(s.out, &data));
        for (int i = 0; i < 4; i++) {
            ((double *)data)[i] = i + 1.0;
        }
        options.beta.re = round < 2 ? 0.0 : round < 4 ? 1.0 : 2.0;
        OK(tnr_contract_into(engines[round % 2], s.list[0], "ij", s.list[1], "jk", "ik", &options, &s.into));
        for (int i = 0; i < 4; i++) {
            assert_true(host_of(s.out)[i] == options.beta.re * (i + 1.0));
        }
    }
    close_scene(&s);
}

static void test_CT_06_numbers_as_results_and_operands(void **state)
{
    (void)state;
    check("abc", OF(3, SHAPE(2, 2, 2), 2, 2, 2, 2, 2, 2, 2, 2), "abc", OF(3, SHAPE(2, 2, 2), 3, 3, 3, 3, 3, 3, 3, 3),
          "", SCALAR, ELEMENTS(48));
    check("", OF(0, NULL, 3), "ij", COUNTING(2, SHAPE(2, 2)), "ij", 2, SHAPE(2, 2), ELEMENTS(3, 6, 9, 12));
    check("", OF(0, NULL, 3), "ij", COUNTING(2, SHAPE(2, 2)), "ji", 2, SHAPE(2, 2), ELEMENTS(3, 9, 6, 12));
    check("", OF(0, NULL, 3), "", OF(0, NULL, 4), "", SCALAR, ELEMENTS(12));
}

static void test_CT_08_a_summed_label_of_one_operand(void **state)
{
    (void)state;
    check("obk", OF(3, SHAPE(1, 2, 2), 1, 3, 2, 4), "ijk", OF(3, SHAPE(1, 2, 2), 1, 1, 1, 2), "ioj", 3, SHAPE(1, 1, 2),
          ELEMENTS(10, 16));
    check("ik", COUNTING(2, SHAPE(2, 3)), "kx", COUNTING(2, SHAPE(3, 2)), "i", 1, SHAPE(2),
          ELEMENTS(5 + 3 * 7 + 5 * 9, 2 * 5 + 4 * 7 + 6 * 9));
    check("ab", COUNTING(2, SHAPE(2, 2)), "cd", COUNTING(2, SHAPE(2, 2)), "", SCALAR, ELEMENTS(100));
}

static void test_CT_09_limits_are_exact(void **state)
{
    (void)state;
    char labels[TNR_MAX_RANK + 2] = "";
    char others[TNR_MAX_RANK + 2] = "";
    int64_t shape[TNR_MAX_RANK];
    for (int i = 0; i < TNR_MAX_RANK; i++) {
        labels[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[i % 31];
        others[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[31 + i % 31];
        shape[i] = i == 0 || i == TNR_MAX_RANK - 1 ? 2 : 1;
    }
    const operand wide = COUNTING(TNR_MAX_RANK, shape);
    check(labels, wide, labels, wide, labels, TNR_MAX_RANK, shape, ELEMENTS(1, 4, 9, 16));
    check(labels, wide, others, wide, "", SCALAR, ELEMENTS(100));
    const char out[3] = {labels[TNR_MAX_RANK - 1], others[0], '\0'};
    check(labels, wide, others, wide, out, 2, SHAPE(2, 2), ELEMENTS(3 * 4, 7 * 4, 3 * 6, 7 * 6));
    /* labels for one axis more than an operand has, and than any can have */
    labels[TNR_MAX_RANK] = '9';
    scene s;
    open_scene(&s, labels, wide, others, wide, "", SCALAR);
    for (int way = 0; way < WAYS; way++) {
        EXPECT(TNR_ERR_SHAPE, go(engines[0], &s, way, NULL));
        TEXT_HAS("more than");
    }
    labels[TNR_MAX_RANK] = '\0';
    char many[2 * TNR_MAX_RANK + 1] = "";
    memcpy(many, labels, TNR_MAX_RANK);
    memcpy(many + TNR_MAX_RANK, others, TNR_MAX_RANK);
    tnr_tensor *made = untouched();
    EXPECT(TNR_ERR_SHAPE, tnr_contract(engines[0], s.list[0], labels, s.list[1], others, many, NULL, &made));
    TEXT_HAS("labels for more than");
    close_scene(&s);
}

/* ---- Batches of products ------------------------------------------------------------------------------------------------------------- */

static void test_MM_05_an_operand_that_is_the_same_for_every_batch(void **state)
{
    (void)state;
    tnr_tensor *a = make_counting(heap, 2, SHAPE(2, 2));
    tnr_tensor *b = make_counting(heap, 3, SHAPE(2, 2, 3));
    tnr_tensor *out = make_counting(heap, 3, SHAPE(2, 2, 3));
    void *data;
    OK(tnr_tensor_host_data_mut(b, &data));
    for (int i = 0; i < 12; i++) {
        const int of_batch = i / 4 + 1;
        ((double *)data)[i] = i % 4 == 0 || i % 4 == 3 ? (double)of_batch : 0.0;
    }
    OK(tnr_tensor_host_data_mut(a, &data));
    memcpy(data, ELEMENTS(1, 3, 2, 4), 4 * sizeof(double));
    tnr_view repeated;
    const tnr_view batch = view_of(b);
    const tnr_view_mut into = view_mut_of(out);
    OK(tnr_tensor_region(a, 3, SHAPE(2, 2, 3), SHAPE(1, 2, 0), 0, &repeated));
    for (int round = 0; round < 4; round++) {
        OK(tnr_contract_into(engines[round % 2], &repeated, "ikb", &batch, "kjb", "ijb", NULL, &into));
        for (int i = 0; i < 12; i++) {
            const int of_batch = i / 4 + 1;
            assert_true(host_of(out)[i] == of_batch * host_of(a)[i % 4]);
        }
    }
    release(&a);
    release(&b);
    release(&out);
}

static void test_MM_06_a_batch_in_the_middle_of_a_buffer(void **state)
{
    (void)state;
    tnr_tensor *a = make_counting(heap, 3, SHAPE(2, 2, 2));
    const double nine = 9.0;
    tnr_tensor *buffer = NULL;
    tnr_view_mut tile;
    OK(tnr_tensor_full(heap, TNR_F64, 3, SHAPE(4, 3, 3), &nine, &buffer));
    OK(tnr_tensor_region_mut(buffer, 3, SHAPE(2, 2, 2), SHAPE(1, 4, 12), 5, &tile));
    const tnr_view view = view_of(a);
    OK(tnr_contract_into(engines[0], &view, "ikb", &view, "kjb", "ijb", NULL, &tile));
    static const double products[8] = {7, 10, 15, 22, 67, 78, 91, 106};
    for (int i = 0; i < 36; i++) {
        const int row = i % 4 - 1;
        const int column = i / 4 % 3 - 1;
        const bool inside = row >= 0 && row < 2 && column >= 0 && i < 24;
        assert_true(host_of(buffer)[i] == (inside ? products[row + 2 * column + 4 * (i / 12)] : 9.0));
    }
    release(&a);
    release(&buffer);
}

static void test_MM_08_batches_of_large_complex_products(void **state)
{
    (void)state;
    const tnr_c64 one = {1.0, 0.0};
    tnr_tensor *ones = NULL;
    tnr_tensor *made = NULL;
    const void *data;
    OK(tnr_tensor_full(heap, TNR_C64, 3, SHAPE(257, 257, 2), &one, &ones));
    const tnr_view view = view_of(ones);
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.conjugate_b = true;
    OK(tnr_contract(engines[0], &view, "ikb", &view, "jkb", "ijb", &options, &made));
    OK(tnr_tensor_host_data(made, &data));
    for (int i = 0; i < 257 * 257 * 2; i++) {
        assert_true(((const tnr_c64 *)data)[i].re == 257.0 && ((const tnr_c64 *)data)[i].im == 0.0);
    }
    release(&made);
    release(&ones);
}

/* A real operand and a complex one: refused as they are, and a product of reals with the complex ones seen as pairs. */
static void real_with_complex_operands_as_pairs(void **state)
{
    (void)state;
    enum { M = 5, N = 4, K = 37 };
    tnr_tensor *real = NULL;
    tnr_tensor *pairs[2] = {NULL, NULL};
    void *data[3];
    OK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(M, K), &real));
    OK(tnr_tensor_zeros(heap, TNR_C64, 2, SHAPE(K, N), &pairs[0]));
    OK(tnr_tensor_zeros(heap, TNR_C64, 2, SHAPE(M, N), &pairs[1]));
    OK(tnr_tensor_host_data_mut(real, &data[0]));
    OK(tnr_tensor_host_data_mut(pairs[0], &data[1]));
    OK(tnr_tensor_host_data_mut(pairs[1], &data[2]));
    for (int64_t i = 0; i < (int64_t)M * K; i++) {
        element_set(TNR_F64, data[0], i, (double)(i % 7) - 3.0, 0.0);
    }
    for (int64_t i = 0; i < (int64_t)K * N; i++) {
        element_set(TNR_C64, data[1], i, (double)(i % 5) - 2.0, (double)(i % 11) - 4.0);
    }
    const tnr_view a = view_of(real);
    const tnr_view b = view_of(pairs[0]);
    tnr_view_mut c = view_mut_of(pairs[1]);
    for (int i = 0; i < ENGINES; i++) {
        EXPECT(TNR_ERR_DTYPE, tnr_matmul_into(engines[i], &a, &b, NULL, &c));
        EXPECT(TNR_ERR_DTYPE, tnr_contract_into(engines[i], &a, "ik", &b, "kj", "ij", NULL, &c));
        tnr_view as_pairs;
        tnr_view_mut out;
        OK(tnr_view_as_real(&b, &as_pairs));
        OK(tnr_view_mut_as_real(&c, &out));
        OK(tnr_contract_into(engines[i], &a, "ik", &as_pairs, "ckj", "cij", NULL, &out));
        for (int64_t at = 0; at < (int64_t)M * N; at++) {
            double complex sum = 0.0;
            for (int64_t k = 0; k < K; k++) {
                sum += element_get(TNR_F64, data[0], at % M + k * M) * element_get(TNR_C64, data[1], k + at / M * K);
            }
            assert_true(element_get(TNR_C64, data[2], at) == sum); /* whole numbers */
            element_set(TNR_C64, data[2], at, (double)NAN, (double)NAN);
        }
    }
    release(&real);
    release(&pairs[0]);
    release(&pairs[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_CT_01_repeated_labels_are_joint_diagonals),
        cmocka_unit_test(test_CT_03_one_label_has_one_extent),
        cmocka_unit_test(test_CT_05_extents_of_zero),
        cmocka_unit_test(test_CT_06_numbers_as_results_and_operands),
        cmocka_unit_test(test_CT_08_a_summed_label_of_one_operand),
        cmocka_unit_test(test_CT_09_limits_are_exact),
        cmocka_unit_test(test_MM_05_an_operand_that_is_the_same_for_every_batch),
        cmocka_unit_test(test_MM_06_a_batch_in_the_middle_of_a_buffer),
        cmocka_unit_test(test_MM_08_batches_of_large_complex_products),
        cmocka_unit_test(real_with_complex_operands_as_pairs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
