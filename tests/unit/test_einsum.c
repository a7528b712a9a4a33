/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Einsum by hand: the rows of the project's list of bugs that are about contractions, by name; one operand, numbers, empty extents;
 * refusals before the first write; limits; leases; warm calls that take nothing.
 */
#include <math.h>

#include "support/einsum_test.h"

static tnr_domain *heap;
static tnr_engine *engine;

static int set_up(void **state)
{
    (void)state;
    heap = make_heap();
    OK(tnr_engine_create(heap, NULL, &engine));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(tnr_engine_destroy(&engine));
    close_domain(&heap);
    return 0;
}

/* ---- Short ways ------------------------------------------------------------------------------------------------------------------- */

typedef struct operand {
    tnr_tensor *tensor;
    tnr_view view;
    double *data;
} operand;

/* f64, elements in memory order; NULL: 1, 2, 3, ... */
static operand tensor_of(int rank, const int64_t *shape, const double *elements)
{
    operand made = {.tensor = make_counting(heap, rank, shape)};
    void *data;
    OK(tnr_tensor_host_data_mut(made.tensor, &data));
    made.data = data;
    made.view = view_of(made.tensor);
    for (int64_t i = 0; elements != NULL && i < count_of(rank, shape); i++) {
        made.data[i] = elements[i];
    }
    return made;
}

#define ELEMENTS(...) ((const double[]){__VA_ARGS__})

static tnr_tensor *einsum(const char *equation, const operand *operands, int count)
{
    const tnr_view *views[TNR_EINSUM_OPERANDS];
    tnr_tensor *made = NULL;
    for (int i = 0; i < count; i++) {
        views[i] = &operands[i].view;
    }
    OK(tnr_einsum(engine, equation, views, count, NULL, &made));
    return made;
}

/* The equation of these operands, which go, has that shape and these elements in memory order. */
static void check(const char *equation, operand *operands, int count, int rank, const int64_t *shape,
                  const double *elements)
{
    tnr_tensor *made = einsum(equation, operands, count);
    const tnr_view view = view_of(made);
    assert_int_equal(view.rank, rank);
    assert_true(same_numbers(view.shape, shape, rank));
    for (int64_t i = 0; i < count_of(rank, shape); i++) {
        if (host_of(made)[i] != elements[i]) {
            fail_msg("%s: element %d is %g, expected %g", equation, (int)i, host_of(made)[i], elements[i]);
        }
    }
    release(&made);
    for (int i = 0; i < count; i++) {
        release(&operands[i].tensor);
    }
}

#define ONE(a) ((operand[]){a}), 1
#define TWO(a, b) ((operand[]){a, b}), 2
#define THREE(a, b, c) ((operand[]){a, b, c}), 3
#define SCALAR 0, NULL

/* Refused, by both forms, with nothing written, allocated or leased. */
static void refuse(tnr_status status, const char *equation, const operand *operands, int count,
                   const tnr_einsum_options *options, int rank, const int64_t *shape, const char *text)
{
    const tnr_view *views[TNR_EINSUM_OPERANDS + 1];
    for (int i = 0; i < count; i++) {
        views[i] = &operands[i].view;
    }
    operand out = tensor_of(rank, shape, NULL);
    const tnr_view_mut view = view_mut_of(out.tensor);
    const tnr_domain_statistics before = statistics_of(heap);
    tnr_tensor *made = untouched();
    EXPECT(status, tnr_einsum(engine, equation, views, count, options, &made));
    TEXT_HAS(text);
    assert_ptr_equal(made, untouched());
    EXPECT(status, tnr_einsum_into(engine, equation, views, count, options, &view));
    TEXT_HAS(text);
    SAME_STATISTICS(heap, &before);
    for (int64_t i = 0; i < count_of(rank, shape); i++) {
        assert_true(out.data[i] == (double)(i + 1));
    }
    for (int i = 0; i < count; i++) { /* no lease is left */
        tnr_tensor *same = operands[i].tensor;
        void *data;
        OK(tnr_tensor_host_data_mut(same, &data));
    }
    release(&out.tensor);
}

/* ---- Rows of the list of bugs --------------------------------------------------------------------------------------------------------- */

static void test_CT_01_repeated_labels_are_joint_diagonals(void **state)
{
    (void)state;
    check("iii->i", ONE(tensor_of(3, SHAPE(2, 2, 2), NULL)), 1, SHAPE(2), ELEMENTS(1, 8));
    check("iii->", ONE(tensor_of(3, SHAPE(2, 2, 2), NULL)), SCALAR, ELEMENTS(9));
    check("ijj->i", ONE(tensor_of(3, SHAPE(2, 2, 2), NULL)), 1, SHAPE(2), ELEMENTS(8, 10));
    check("jij->i", ONE(tensor_of(3, SHAPE(2, 2, 2), NULL)), 1, SHAPE(2), ELEMENTS(7, 11));
    operand a = tensor_of(4, SHAPE(2, 2, 3, 3), NULL);
    for (int i = 0; i < 36; i++) {
        a.data[i] = i % 2 == i / 2 % 2 && i / 4 % 3 == i / 12 ? 1.0 : 100.0;
    }
    check("iijj->", ONE(a), SCALAR, ELEMENTS(6));
    check("ii->", ONE(tensor_of(2, SHAPE(3, 3), ELEMENTS(1, 4, 7, 2, 5, 8, 3, 6, 9))), SCALAR, ELEMENTS(15));
}

static void test_CT_03_one_label_has_one_extent(void **state)
{
    (void)state;
    operand three = tensor_of(1, SHAPE(3), NULL);
    operand one = tensor_of(1, SHAPE(1), NULL);
    refuse(TNR_ERR_SHAPE, "i,i->", TWO(three, one), NULL, SCALAR, "label i has extents 3");
    operand a = tensor_of(2, SHAPE(2, 3), NULL);
    operand b = tensor_of(2, SHAPE(1, 4), NULL);
    refuse(TNR_ERR_SHAPE, "ij,jk->ik", TWO(a, b), NULL, 2, SHAPE(2, 4), "label j has extents 3");
    operand middle = tensor_of(2, SHAPE(3, 4), NULL);
    operand last = tensor_of(2, SHAPE(1, 2), NULL);
    refuse(TNR_ERR_SHAPE, "ij,jk,kl->il", THREE(a, middle, last), NULL, 2, SHAPE(2, 2), "label k has extents 4");
    refuse(TNR_ERR_ARGUMENT, "ij->ijk", ONE(a), NULL, 3, SHAPE(2, 3, 1), "label k of the result");
    for (int mode = TNR_EINSUM_AUTOMATIC; mode <= TNR_EINSUM_LEFT_TO_RIGHT; mode++) {
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        options.mode = (tnr_einsum_mode)mode;
        refuse(TNR_ERR_SHAPE, "ij,jk,kl->il", THREE(a, middle, last), &options, 2, SHAPE(2, 2), "label k");
    }
    release(&three.tensor);
    release(&one.tensor);
    release(&a.tensor);
    release(&b.tensor);
    release(&middle.tensor);
    release(&last.tensor);
}

static void test_CT_05_extents_of_zero(void **state)
{
    (void)state;
    check("i,i->", TWO(tensor_of(1, SHAPE(0), NULL), tensor_of(1, SHAPE(0), NULL)), SCALAR, ELEMENTS(0));
    check("ij,jk,kl->il",
          THREE(tensor_of(2, SHAPE(2, 0), NULL), tensor_of(2, SHAPE(0, 3), NULL), tensor_of(2, SHAPE(3, 2), NULL)), 2,
          SHAPE(2, 2), ELEMENTS(0, 0, 0, 0));
    check("i,j->ij", TWO(tensor_of(1, SHAPE(0), NULL), tensor_of(1, SHAPE(3), NULL)), 2, SHAPE(0, 3), NULL);
    check("i->", ONE(tensor_of(1, SHAPE(0), NULL)), SCALAR, ELEMENTS(0));
    check("ij->i", ONE(tensor_of(2, SHAPE(2, 0), NULL)), 1, SHAPE(2), ELEMENTS(0, 0));
    /* beta times what there was */
    operand a = tensor_of(2, SHAPE(2, 0), NULL);
    operand b = tensor_of(2, SHAPE(0, 2), NULL);
    operand c = tensor_of(2, SHAPE(2, 2), NULL);
    operand out = tensor_of(2, SHAPE(2, 2), NULL);
    const tnr_view_mut view = view_mut_of(out.tensor);
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    options.beta.re = 3.0;
    OK(tnr_einsum_into(engine, "ij,jk,kl->il", (const tnr_view *[]){&a.view, &b.view, &c.view}, 3, &options, &view));
    for (int i = 0; i < 4; i++) {
        assert_true(out.data[i] == 3.0 * (i + 1));
    }
    options.beta.re = 0.0;
    for (int i = 0; i < 4; i++) {
        out.data[i] = (double)NAN;
    }
    OK(tnr_einsum_into(engine, "ij,jk,kl->il", (const tnr_view *[]){&a.view, &b.view, &c.view}, 3, &options, &view));
    for (int i = 0; i < 4; i++) {
        assert_true(out.data[i] == 0.0);
    }
    release(&a.tensor);
    release(&b.tensor);
    release(&c.tensor);
    release(&out.tensor);
}

static void test_CT_06_numbers_as_results_and_operands(void **state)
{
    (void)state;
    check("abc,abc->",
          TWO(tensor_of(3, SHAPE(2, 2, 2), ELEMENTS(2, 2, 2, 2, 2, 2, 2, 2)),
              tensor_of(3, SHAPE(2, 2, 2), ELEMENTS(3, 3, 3, 3, 3, 3, 3, 3))),
          SCALAR, ELEMENTS(48));
    check(",ij->ij", TWO(tensor_of(SCALAR, ELEMENTS(3)), tensor_of(2, SHAPE(2, 2), NULL)), 2, SHAPE(2, 2),
          ELEMENTS(3, 6, 9, 12));
    check(",->", TWO(tensor_of(SCALAR, ELEMENTS(3)), tensor_of(SCALAR, ELEMENTS(4))), SCALAR, ELEMENTS(12));
    check("->", ONE(tensor_of(SCALAR, ELEMENTS(3))), SCALAR, ELEMENTS(3));
    check(",,->", THREE(tensor_of(SCALAR, ELEMENTS(3)), tensor_of(SCALAR, ELEMENTS(4)), tensor_of(SCALAR, ELEMENTS(5))),
          SCALAR, ELEMENTS(60));
}

static void test_CT_08_a_summed_label_of_one_operand(void **state)
{
    (void)state;
    /* memory order of [[1, 2], [3, 4]] over b, k and of [[1, 1], [1, 2]] over j, k */
    check("obk,ijk->ioj",
          TWO(tensor_of(3, SHAPE(1, 2, 2), ELEMENTS(1, 3, 2, 4)), tensor_of(3, SHAPE(1, 2, 2), ELEMENTS(1, 1, 1, 2))),
          3, SHAPE(1, 1, 2), ELEMENTS(10, 16));
    check("ab,cd,e->a",
          THREE(tensor_of(2, SHAPE(2, 2), NULL), tensor_of(2, SHAPE(2, 2), NULL), tensor_of(1, SHAPE(3), NULL)), 1,
          SHAPE(2), ELEMENTS(240, 360));
}

static void test_CT_09_limits_are_exact(void **state)
{
    (void)state;
    /* ranks */
    int64_t ones[TNR_MAX_RANK];
    char equation[4 * (TNR_MAX_RANK + 2)];
    char labels[TNR_MAX_RANK + 2];
    for (int i = 0; i < TNR_MAX_RANK; i++) {
        ones[i] = i % 5 == 0 ? 2 : 1;
        labels[i] = (char)('a' + i);
    }
    labels[TNR_MAX_RANK] = '\0';
    operand full = tensor_of(TNR_MAX_RANK, ones, NULL);
    (void)snprintf(equation, sizeof equation, "%s->%s", labels, labels);
    tnr_tensor *made = einsum(equation, &full, 1);
    assert_int_equal(view_of(made).rank, TNR_MAX_RANK);
    assert_true(host_of(made)[3] == 4.0);
    release(&made);
    (void)snprintf(equation, sizeof equation, "%sz->%s", labels, labels);
    refuse(TNR_ERR_SHAPE, equation, &full, 1, NULL, SCALAR, "more than");
    operand extra = tensor_of(1, SHAPE(2), NULL);
    (void)snprintf(equation, sizeof equation, "%s,z->z%s", labels, labels);
    refuse(TNR_ERR_SHAPE, equation, TWO(full, extra), NULL, SCALAR, "more than");
    release(&full.tensor);
    release(&extra.tensor);

    /* labels of extent 1, 30 where there may be so many operands, and all 62 that there are */
    enum { SINGLES = TNR_EINSUM_OPERANDS < 30 ? TNR_EINSUM_OPERANDS : 30 };
    operand vectors[TNR_EINSUM_OPERANDS + 1];
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char text[4 * TNR_EINSUM_LABELS];
    char *at = text;
    for (int i = 0; i < SINGLES; i++) {
        vectors[i] = tensor_of(1, SHAPE(1), ELEMENTS(i % 3 == 0 ? 2.0 : 1.0));
        at += snprintf(at, 3, "%s%c", i > 0 ? "," : "", names[i]);
    }
    (void)snprintf(at, 3, "->");
    check(text, vectors, SINGLES, SCALAR, ELEMENTS(1 << (SINGLES + 2) / 3));
    at = text;
    for (int i = 0; i < 31 && TNR_EINSUM_OPERANDS > 30; i++) {
        vectors[i] = tensor_of(2, SHAPE(1, 2), ELEMENTS(1, i == 30 ? 1 : 0));
        at += snprintf(at, 4, "%s%c%c", i > 0 ? "," : "", names[2 * i], names[2 * i + 1]);
    }
    if (TNR_EINSUM_OPERANDS > 30) {
        (void)snprintf(at, 5, "->89");
        check(text, vectors, 31, 2, SHAPE(1, 2), ELEMENTS(1, 1));
    }

    /* operands */
    at = text;
    for (int i = 0; i <= TNR_EINSUM_OPERANDS; i++) {
        vectors[i] = tensor_of(1, SHAPE(2), ELEMENTS(1, i == 0 ? 5 : 1));
        at += snprintf(at, 3, "%sa", i > 0 ? "," : "");
    }
    (void)snprintf(at, 4, "->a");
    char range[24];
    (void)snprintf(range, sizeof range, "1 to %d operands", TNR_EINSUM_OPERANDS);
    refuse(TNR_ERR_ARGUMENT, text, vectors, TNR_EINSUM_OPERANDS + 1, NULL, 1, SHAPE(2), range);
    refuse(TNR_ERR_ARGUMENT, text, vectors, 0, NULL, 1, SHAPE(2), range);
    (void)snprintf(at - 2, 4, "->a");
    check(text, vectors, TNR_EINSUM_OPERANDS, 1, SHAPE(2), ELEMENTS(1, 5));
    release(&vectors[TNR_EINSUM_OPERANDS].tensor);

    /* axes of intermediates: 2 * TNR_MAX_RANK, and one more */
    if (TNR_MAX_RANK == 16) {
        static const char *const a = "abcdefghijklmnop";
        static const char *const b = "qrstuvwxyzABCDEF";
        const int64_t twos[16] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        operand p = tensor_of(16, twos, NULL);
        operand q = tensor_of(16, twos, NULL);
        operand s = tensor_of(2, SHAPE(2, 2), ELEMENTS(1, 2, 3, 4));
        (void)snprintf(text, sizeof text, "%s,%s,aq->", a, b);
        check(text, THREE(p, q, s), SCALAR, ELEMENTS(1 + 2 * 2 + 3 * 2 + 4 * 4));
        tnr_view views[3];
        int64_t wide[16];
        int64_t strides[16];
        for (int i = 0; i < 16; i++) {
            wide[i] = 2;
            strides[i] = 0;
        }
        operand number = tensor_of(SCALAR, ELEMENTS(1));
        OK(tnr_tensor_region(number.tensor, 16, wide, strides, 0, &views[0]));
        OK(tnr_tensor_region(number.tensor, 16, wide, strides, 0, &views[1]));
        OK(tnr_tensor_region(number.tensor, 16, wide, strides, 0, &views[2]));
        tnr_contraction_path path;
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        options.mode = TNR_EINSUM_LEFT_TO_RIGHT;
        const tnr_view *const list[3] = {&views[0], &views[1], &views[2]};
        (void)snprintf(text, sizeof text, "%s,%s,abcdefghqrstuvwx->", a, b); /* half of each is summed first */
        OK(tnr_einsum_path(text, list, 3, &options, &path));
        assert_int_equal(path.largest, 65536);
        OK(tnr_tensor_region(number.tensor, 2, wide, strides, 0, &views[2]));
        const tnr_view *const four[5] = {&views[0], &views[1], &views[2], &views[0], &views[1]};
        (void)snprintf(text, sizeof text, "%s,%s,01,%s,%s->01", a, b, a, b);
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_einsum_path(text, four, 5, &options, &path)); /* 32 axes, then 34 */
        TEXT_HAS("more than 32 axes");
        options.mode = TNR_EINSUM_EXACT; /* pairs of the same labels first */
        OK(tnr_einsum_path(text, four, 5, &options, &path));
        options.mode = TNR_EINSUM_GREEDY;
        OK(tnr_einsum_path(text, four, 5, &options, &path));
        release(&number.tensor);
    }
}

/* ---- One operand, and two --------------------------------------------------------------------------------------------------------------- */

static void one_operand_alone(void **state)
{
    (void)state;
    check("ij->ji", ONE(tensor_of(2, SHAPE(2, 3), NULL)), 2, SHAPE(3, 2), ELEMENTS(1, 3, 5, 2, 4, 6));
    check("ij->ij", ONE(tensor_of(2, SHAPE(2, 2), NULL)), 2, SHAPE(2, 2), ELEMENTS(1, 2, 3, 4));
    check("iij->j", ONE(tensor_of(3, SHAPE(2, 2, 2), NULL)), 1, SHAPE(2), ELEMENTS(5, 13));
    check("ii->i", ONE(tensor_of(2, SHAPE(2, 2), NULL)), 1, SHAPE(2), ELEMENTS(1, 4));
    check("i->", ONE(tensor_of(1, SHAPE(4), NULL)), SCALAR, ELEMENTS(10));
    check("ij->j", ONE(tensor_of(2, SHAPE(2, 3), NULL)), 1, SHAPE(3), ELEMENTS(3, 7, 11));
    check("ij->", ONE(tensor_of(2, SHAPE(1, 1), ELEMENTS(7))), SCALAR, ELEMENTS(7));
    /* with a factor and what there was: a sum, then a product with 1 */
    operand a = tensor_of(2, SHAPE(2, 3), NULL);
    operand out = tensor_of(1, SHAPE(3), NULL);
    const tnr_view_mut view = view_mut_of(out.tensor);
    const tnr_view *const views[1] = {&a.view};
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    options.alpha.re = 2.0;
    options.beta.re = -1.0;
    OK(tnr_einsum_into(engine, "ij->j", views, 1, &options, &view));
    assert_true(out.data[0] == 5.0 && out.data[1] == 12.0 && out.data[2] == 19.0);
    release(&a.tensor);
    release(&out.tensor);
}

static void conjugates_of_each_operand(void **state)
{
    (void)state;
    const tnr_c64 values[3][2] = {{{1, 2}, {3, -1}}, {{0, 1}, {2, 2}}, {{1, -1}, {-2, 1}}};
    tnr_tensor *tensors[3];
    tnr_view views[3];
    const tnr_view *list[3];
    for (int i = 0; i < 3; i++) {
        OK(tnr_tensor_from_column_major(heap, TNR_C64, 1, SHAPE(2), values[i], sizeof values[i], &tensors[i]));
        views[i] = view_of(tensors[i]);
        list[i] = &views[i];
    }
    for (uint64_t mask = 0; mask < 8; mask++) {
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        options.conjugate = mask;
        for (int count = 1; count <= 3; count++) {
            if (mask >> count != 0) {
                continue;
            }
            double complex expected = 0.0;
            for (int at = 0; at < 2; at++) {
                double complex product = 1.0;
                for (int i = 0; i < count; i++) {
                    const double complex value = values[i][at].re + I * values[i][at].im;
                    product *= (mask >> i & 1U) != 0 ? conj(value) : value;
                }
                expected += product;
            }
            tnr_tensor *made = NULL;
            OK(tnr_einsum(engine, &"a,a,a->"[2 * (3 - count)], list, count, &options, &made));
            const void *data;
            OK(tnr_tensor_host_data(made, &data));
            assert_true(element_get(TNR_C64, data, 0) == expected);
            release(&made);
        }
    }
    for (int i = 0; i < 3; i++) {
        release(&tensors[i]);
    }
}

static void alpha_zero_reads_no_operand(void **state)
{
    (void)state;
    operand a = tensor_of(2, SHAPE(2, 2), ELEMENTS((double)NAN, (double)NAN, (double)NAN, (double)NAN));
    operand out = tensor_of(2, SHAPE(2, 2), NULL);
    const tnr_view_mut view = view_mut_of(out.tensor);
    const tnr_view *const views[3] = {&a.view, &a.view, &a.view};
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    options.alpha.re = 0.0;
    options.beta.re = 1.0;
    for (int count = 1; count <= 3; count++) {
        OK(tnr_einsum_into(engine,
                           count == 1   ? "ij->ij"
                           : count == 2 ? "ij,jk->ik"
                                        : "ij,jk,kl->il",
                           views, count, &options, &view));
        for (int i = 0; i < 4; i++) {
            assert_true(out.data[i] == i + 1.0);
        }
    }
    release(&a.tensor);
    release(&out.tensor);
}

/* ---- Refusals ------------------------------------------------------------------------------------------------------------------------ */

static void equations_that_are_none(void **state)
{
    (void)state;
    operand a = tensor_of(2, SHAPE(2, 2), NULL);
    operand b = tensor_of(2, SHAPE(2, 2), NULL);
    static const struct {
        const char *equation;
        tnr_status status;
        const char *text;
    } rows[] = {{"ij,jk", TNR_ERR_ARGUMENT, "no \"->\""},
                {"ij,jk>ik", TNR_ERR_ARGUMENT, "character '>' (at 5"},
                {"ij,j_->i", TNR_ERR_ARGUMENT, "character '_' (at 4"},
                {"ij,jk->i k", TNR_ERR_ARGUMENT, "character ' ' (at 8"},
                {"ij,jk->ik,", TNR_ERR_ARGUMENT, "character ',' (at 9"},
                {"ij,jk->ik->", TNR_ERR_ARGUMENT, "character '-' (at 9"},
                {"ij->ij", TNR_ERR_ARGUMENT, "1 in the equation, 2 given"},
                {"ij,jk,kl->il", TNR_ERR_ARGUMENT, "3 in the equation, 2 given"},
                {"ij,jk->iik", TNR_ERR_ARGUMENT, "twice"},
                {"ij,jk->il", TNR_ERR_ARGUMENT, "in no operand"},
                {"i,jk->ik", TNR_ERR_SHAPE, "labels for 1"},
                {"ijk,jk->ik", TNR_ERR_SHAPE, "labels for 3"},
                {"", TNR_ERR_ARGUMENT, "no \"->\""},
                {"ij, jk->ik", TNR_ERR_ARGUMENT, "character ' ' (at 3, counted from 0)"},
                {"ij,jk ->ik", TNR_ERR_ARGUMENT, "character ' ' (at 5"},
                {"ij,jk-> ik", TNR_ERR_ARGUMENT, "character ' ' (at 7"},
                {" ij,jk->ik", TNR_ERR_ARGUMENT, "character ' ' (at 0"},
                {"...i,ij->...j", TNR_ERR_ARGUMENT, "character '.' (at 0"},
                {"ij,jk=>ik", TNR_ERR_ARGUMENT, "character '=' (at 5"},
                {"ij,jk-ik", TNR_ERR_ARGUMENT, "character '-' (at 5"},
                {"ij,jk->i,k", TNR_ERR_ARGUMENT, "character ',' (at 8"},
                {"ijk, jk", TNR_ERR_ARGUMENT, "character ' ' (at 4"},
                {"ijk->i", TNR_ERR_ARGUMENT, "1 in the equation, 2 given"},
                {"ijk,j,k,l->i", TNR_ERR_ARGUMENT, "4 in the equation, 2 given"},
                {NULL, TNR_ERR_ARGUMENT, "equation is NULL"},
                {"ij,jk\xC3\xA4->ik", TNR_ERR_ARGUMENT, "byte 195 (at 5"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        refuse(rows[i].status, rows[i].equation, TWO(a, b), NULL, 2, SHAPE(2, 2), rows[i].text);
        tnr_contraction_path path;
        EXPECT(rows[i].status,
               tnr_einsum_path(rows[i].equation, (const tnr_view *[]){&a.view, &b.view}, 2, NULL, &path));
    }
    release(&a.tensor);
    release(&b.tensor);
}

static void options_that_are_wrong(void **state)
{
    (void)state;
    operand a = tensor_of(2, SHAPE(2, 2), NULL);
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    options.conjugate = 8;
    refuse(TNR_ERR_ARGUMENT, "ij,jk,kl->il", THREE(a, a, a), &options, 2, SHAPE(2, 2), "conjugate");
    options = (tnr_einsum_options)TNR_EINSUM_OPTIONS;
    options.mode = TNR_EINSUM_GIVEN; /* by nobody */
    refuse(TNR_ERR_ARGUMENT, "ij,jk,kl->il", THREE(a, a, a), &options, 2, SHAPE(2, 2), "step_count is 0");
    options.mode = (tnr_einsum_mode)5;
    refuse(TNR_ERR_ARGUMENT, "ij,jk,kl->il", THREE(a, a, a), &options, 2, SHAPE(2, 2), "mode");
    options = (tnr_einsum_options)TNR_EINSUM_OPTIONS;
    options.size = 3;
    refuse(TNR_ERR_ARGUMENT, "ij,jk,kl->il", THREE(a, a, a), &options, 2, SHAPE(2, 2), "");
    options = (tnr_einsum_options)TNR_EINSUM_OPTIONS;
    tnr_einsum_step steps[3] = {{.a = 0, .b = 1}, {.a = 3, .b = 2}};
    options.steps = steps;
    static const int wrong[][5] = {{1, 0, 1, 3, 2},  {3, 0, 1, 3, 2}, {-1, 0, 1, 3, 2}, {2, 0, 0, 3, 2},
                                   {2, 0, 3, 1, 2},  {2, 0, 1, 0, 2}, {2, 0, 1, 3, 3},  {2, 0, 1, 4, 2},
                                   {2, -1, 1, 3, 2}, {2, 0, 1, 1, 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.step_count = wrong[i][0];
        steps[0].a = wrong[i][1];
        steps[0].b = wrong[i][2];
        steps[1].a = wrong[i][3];
        steps[1].b = wrong[i][4];
        refuse(TNR_ERR_ARGUMENT, "ij,jk,kl->il", THREE(a, a, a), &options, 2, SHAPE(2, 2), "step");
    }
    options.step_count = 2;
    options.steps = NULL;
    refuse(TNR_ERR_ARGUMENT, "ij,jk,kl->il", THREE(a, a, a), &options, 2, SHAPE(2, 2), "steps is NULL");
    /* beta without an output */
    const tnr_view *const views[1] = {&a.view};
    tnr_tensor *made = untouched();
    options = (tnr_einsum_options)TNR_EINSUM_OPTIONS;
    options.beta.re = 1.0;
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, "ij->ij", views, 1, &options, &made));
    assert_ptr_equal(made, untouched());
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(NULL, "ij->ij", views, 1, NULL, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, "ij->ij", views, 1, NULL, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum_into(engine, "ij->ij", views, 1, NULL, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, "ij->ij", NULL, 1, NULL, &made));
    EXPECT(TNR_ERR_ARGUMENT, tnr_einsum(engine, "ij->ij", (const tnr_view *const[]){NULL}, 1, NULL, &made));
    release(&a.tensor);
}

static void dtypes_shapes_and_overlaps(void **state)
{
    (void)state;
    operand a = tensor_of(2, SHAPE(2, 2), NULL);
    operand b = tensor_of(2, SHAPE(2, 2), NULL);
    operand whole = {.tensor = NULL};
    OK(tnr_tensor_zeros(heap, TNR_I32, 2, SHAPE(2, 2), &whole.tensor));
    whole.view = view_of(whole.tensor);
    refuse(TNR_ERR_DTYPE, "ij,jk,kl->il", THREE(a, b, whole), NULL, 2, SHAPE(2, 2), "f64");
    const tnr_view_mut into_whole = view_mut_of(whole.tensor);
    const tnr_view *const views[3] = {&a.view, &b.view, &a.view};
    EXPECT(TNR_ERR_DTYPE, tnr_einsum_into(engine, "ij,jk,kl->il", views, 3, NULL, &into_whole));
    EXPECT(TNR_ERR_UNSUPPORTED,
           tnr_einsum_into(engine, "ij->ij", (const tnr_view *[]){&whole.view}, 1, NULL, &into_whole));
    tnr_contraction_path path;
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_einsum_path("ij->ij", (const tnr_view *[]){&whole.view}, 1, NULL, &path));
    /* an output of another shape, and one that is an operand */
    operand wrong = tensor_of(2, SHAPE(2, 3), NULL);
    const tnr_view_mut into_wrong = view_mut_of(wrong.tensor);
    EXPECT(TNR_ERR_SHAPE, tnr_einsum_into(engine, "ij,jk,kl->il", views, 3, NULL, &into_wrong));
    const tnr_view_mut into_b = view_mut_of(b.tensor);
    EXPECT(TNR_ERR_OVERLAP, tnr_einsum_into(engine, "ij,jk,kl->il", views, 3, NULL, &into_b));
    EXPECT(TNR_ERR_OVERLAP, tnr_einsum_into(engine, "ij->ij", (const tnr_view *[]){&b.view}, 1, NULL, &into_b));
    for (int i = 0; i < 4; i++) {
        assert_true(b.data[i] == i + 1.0);
    }
    /* leased by another for writing; gone */
    tnr_write_map map;
    OK(tnr_map_write(&into_b, &map));
    tnr_tensor *made = untouched();
    EXPECT(TNR_ERR_BUSY, tnr_einsum(engine, "ij,jk,kl->il", views, 3, NULL, &made));
    OK(tnr_unmap_write(&map));
    release(&b.tensor);
    EXPECT(TNR_ERR_STALE, tnr_einsum(engine, "ij,jk,kl->il", views, 3, NULL, &made));
    assert_ptr_equal(made, untouched());
    void *data;
    OK(tnr_tensor_host_data_mut(a.tensor, &data)); /* no lease is left on it */
    release(&a.tensor);
    release(&whole.tensor);
    release(&wrong.tensor);
}

/* ---- Scratch --------------------------------------------------------------------------------------------------------------------------- */

static void warm_calls_take_nothing(void **state)
{
    (void)state;
    operand a = tensor_of(2, SHAPE(60, 70), NULL);
    operand b = tensor_of(2, SHAPE(70, 80), NULL);
    operand c = tensor_of(2, SHAPE(80, 50), NULL);
    operand out = tensor_of(2, SHAPE(50, 60), NULL);
    const tnr_view_mut view = view_mut_of(out.tensor);
    const tnr_view *const views[3] = {&a.view, &b.view, &c.view};
    OK(tnr_einsum_into(engine, "ab,bc,cd->da", views, 3, NULL, &view));
    const tnr_domain_statistics before = statistics_of(heap);
    for (int i = 0; i < 50; i++) {
        OK(tnr_einsum_into(engine, "ab,bc,cd->da", views, 3, NULL, &view));
    }
    const tnr_domain_statistics after = statistics_of(heap);
    assert_true(after.allocations == before.allocations);
    release(&a.tensor);
    release(&b.tensor);
    release(&c.tensor);
    release(&out.tensor);
}

/* What the path says, with what products say, is enough from the first call on. */
static void scratch_that_was_given_is_enough(void **state)
{
    (void)state;
    operand a = tensor_of(2, SHAPE(60, 170), NULL);
    operand b = tensor_of(2, SHAPE(170, 180), NULL);
    operand c = tensor_of(3, SHAPE(180, 50, 2), NULL);
    operand out = tensor_of(2, SHAPE(50, 60), NULL);
    const tnr_view_mut view = view_mut_of(out.tensor);
    const tnr_view *const views[3] = {&a.view, &b.view, &c.view};
    tnr_contraction_path path;
    OK(tnr_einsum_path("ab,bc,cde->da", views, 3, NULL, &path));
    assert_true(path.intermediate_bytes >= 180 * 50 * sizeof(double));
    tnr_need need;
    OK(tnr_matmul_need(TNR_F64, 180, 180, 180, 1, &need));
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.scratch_bytes = path.intermediate_bytes + need.bytes;
    tnr_engine *prepared = NULL;
    OK(tnr_engine_create(heap, &options, &prepared));
    const tnr_domain_statistics before = statistics_of(heap);
    OK(tnr_einsum_into(prepared, "ab,bc,cde->da", views, 3, NULL, &view));
    const tnr_domain_statistics after = statistics_of(heap);
    assert_true(after.allocations == before.allocations);
    OK(tnr_engine_destroy(&prepared));
    release(&a.tensor);
    release(&b.tensor);
    release(&c.tensor);
    release(&out.tensor);
}

/* Axes of an intermediate are ordered so that they fuse in both products: a site of a matrix product state packs nothing. */
static void small_chains_pack_nothing(void **state)
{
    (void)state;
    operand e = tensor_of(2, SHAPE(4, 4), NULL);
    operand a = tensor_of(3, SHAPE(4, 2, 4), NULL);
    operand b = tensor_of(3, SHAPE(4, 2, 4), NULL);
    operand out = tensor_of(2, SHAPE(4, 4), NULL);
    const tnr_view_mut view = view_mut_of(out.tensor);
    const tnr_view *const views[3] = {&e.view, &a.view, &b.view};
    tnr_contraction_path path;
    OK(tnr_einsum_path("ab,asc,bsd->cd", views, 3, NULL, &path));
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.scratch_bytes = path.intermediate_bytes;
    tnr_engine *prepared = NULL;
    OK(tnr_engine_create(heap, &options, &prepared));
    const tnr_domain_statistics before = statistics_of(heap);
    OK(tnr_einsum_into(prepared, "ab,asc,bsd->cd", views, 3, NULL, &view));
    const tnr_domain_statistics after = statistics_of(heap);
    assert_true(after.allocations == before.allocations);
    OK(tnr_engine_destroy(&prepared));
    release(&e.tensor);
    release(&a.tensor);
    release(&b.tensor);
    release(&out.tensor);
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
        cmocka_unit_test(one_operand_alone),
        cmocka_unit_test(conjugates_of_each_operand),
        cmocka_unit_test(alpha_zero_reads_no_operand),
        cmocka_unit_test(equations_that_are_none),
        cmocka_unit_test(options_that_are_wrong),
        cmocka_unit_test(dtypes_shapes_and_overlaps),
        cmocka_unit_test(warm_calls_take_nothing),
        cmocka_unit_test(scratch_that_was_given_is_enough),
        cmocka_unit_test(small_chains_pack_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
