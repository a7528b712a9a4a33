/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: new data in every run, paths that are told, what each mismatch is answered, leases, and what cannot be planned.
 */
#include "support/plan_test.h"

static void runs_take_new_data(void **state)
{
    (void)state;
    quads first = make_quads(1.0, 2.0);
    tnr_plan *plan = plan_of(&first, NULL, NULL);
    for (int round = 0; round < 5; round++) {
        quads q = make_quads(round, 3.0);
        tnr_tensor *made = NULL;
        OK(tnr_plan_run(plan, list_of(&q), 2, &made));
        all_elements_are(made, 256, 48.0 * round);
        release(&made);
        OK(tnr_plan_run_into(plan, list_of(&q), 2, &q.into));
        all_elements_are(q.out, 256, 48.0 * round);
        free_quads(&q);
    }
    free_quads(&first); /* a plan has no data */
    quads last = make_quads(-1.0, -1.0);
    OK(tnr_plan_run_into(plan, list_of(&last), 2, &last.into));
    all_elements_are(last.out, 256, 16.0);
    free_quads(&last);
    OK(tnr_plan_destroy(&plan));
    assert_null(plan);
    OK(tnr_plan_destroy(&plan));
    OK(tnr_plan_destroy(NULL));
}

static void alpha_and_beta_are_the_plans(void **state)
{
    (void)state;
    quads q = make_quads(1.0, 2.0);
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.alpha.re = 0.5;
    options.beta.re = -1.0;
    tnr_plan *plan = plan_of(&q, &q.into.view, &options);
    release(&q.out);
    q.out = filled(4, SHAPE(4, 4, 4, 4), 3.0);
    q.into = view_mut_of(q.out);
    OK(tnr_plan_run_into(plan, list_of(&q), 2, &q.into));
    all_elements_are(q.out, 256, 13.0);
    OK(tnr_plan_run_into(plan, list_of(&q), 2, &q.into));
    all_elements_are(q.out, 256, 3.0);
    tnr_tensor *made = untouched();
    EXPECT(TNR_ERR_LAYOUT, tnr_plan_run(plan, list_of(&q), 2, &made));
    TEXT_HAS("tnr_plan_run_into");
    assert_ptr_equal(made, untouched());
    tnr_plan *refused = untouched();
    EXPECT(TNR_ERR_ARGUMENT,
           tnr_plan_contract(engine, &q.views[0], "abcd", &q.views[1], "cdef", NULL, "abef", &options, &refused));
    assert_ptr_equal(refused, untouched());
    OK(tnr_plan_destroy(&plan));
    /* alpha 0: nothing is read */
    options.alpha.re = 0.0;
    options.beta.re = 2.0;
    plan = plan_of(&q, &q.into.view, &options);
    quads poison = make_quads((double)NAN, (double)INFINITY);
    OK(tnr_plan_run_into(plan, list_of(&poison), 2, &q.into));
    all_elements_are(q.out, 256, 6.0);
    OK(tnr_plan_destroy(&plan));
    free_quads(&poison);
    free_quads(&q);
}

static const char *const chain = "ab,bc,cd,d->a";

static void an_einsum_with_intermediates(void **state)
{
    (void)state;
    tnr_tensor *tensors[4] = {filled(2, SHAPE(30, 40), 1.0), filled(2, SHAPE(40, 50), 1.0),
                              filled(2, SHAPE(50, 60), 1.0), filled(1, SHAPE(60), 1.0)};
    tnr_view views[4];
    const tnr_view *list[4];
    for (int i = 0; i < 4; i++) {
        views[i] = view_of(tensors[i]);
        list[i] = &views[i];
    }
    for (int mode = 0; mode <= TNR_EINSUM_LEFT_TO_RIGHT; mode++) {
        tnr_einsum_options options = TNR_EINSUM_OPTIONS;
        options.mode = (tnr_einsum_mode)mode;
        options.alpha.re = 2.0;
        tnr_plan *plan = NULL;
        OK(tnr_plan_einsum(engine, chain, list, 4, NULL, &options, &plan));
        const tnr_domain_statistics before = statistics_of(heap);
        tnr_tensor *out = filled(1, SHAPE(30), (double)NAN);
        tnr_view_mut into = view_mut_of(out);
        OK(tnr_plan_run_into(plan, list, 4, &into));
        all_elements_are(out, 30, 2.0 * 40 * 50 * 60);
        release(&out);
        SAME_STATISTICS(heap, &before);
        tnr_contraction_path asked;
        tnr_contraction_path told;
        OK(tnr_einsum_path(chain, list, 4, &options, &asked));
        OK(tnr_plan_path(plan, &told));
        assert_memory_equal(&asked, &told, sizeof told);
        OK(tnr_plan_destroy(&plan));
    }
    for (int i = 0; i < 4; i++) {
        release(&tensors[i]);
    }
}

static void a_contractions_path_is_one_step(void **state)
{
    (void)state;
    quads q = make_quads(1.0, 1.0);
    tnr_plan *plan = plan_of(&q, NULL, NULL);
    tnr_contraction_path path;
    char text[300];
    OK(tnr_plan_path(plan, &path));
    assert_int_equal(path.operands, 2);
    assert_int_equal(path.step_count, 1);
    assert_true(path.flops == 2.0 * 16 * 16 * 16 && path.intermediate_bytes == 0 && path.steps[0].elements == 256.0);
    assert_string_equal(path.steps[0].equation, "abcd,cdef->abef");
    OK(tnr_einsum_format(&path, text, sizeof text, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_path(plan, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_path(NULL, &path));
    OK(tnr_plan_destroy(&plan));
    /* labels of one operand alone are summed before, as an einsum does it: c of one, e f g of the other, then d of both */
    OK(tnr_plan_contract(engine, &q.views[0], "abcd", &q.views[1], "efgd", NULL, "ab", NULL, &plan));
    OK(tnr_plan_path(plan, &path));
    assert_true(path.flops == 256.0 + 256.0 + 2.0 * 64 && path.steps[0].elements == 16.0);
    assert_true(path.largest == 64 && path.intermediate_bytes == 64 * 8 + 64);
    tnr_contraction_path same;
    OK(tnr_einsum_path("abcd,efgd->ab", list_of(&q), 2, NULL, &same));
    assert_memory_equal(&path, &same, sizeof path);
    OK(tnr_plan_destroy(&plan));
    free_quads(&q);
}

/* ---- Mismatches -------------------------------------------------------------------------------------------------------------------------- */

static void refused(tnr_plan *plan, const tnr_view *a, const tnr_view *b, const tnr_view_mut *out, tnr_status status,
                    const char *text)
{
    const tnr_view *const list[2] = {a, b};
    EXPECT(status, tnr_plan_run_into(plan, list, 2, out));
    TEXT_HAS(text);
}

static void each_mismatch_has_its_status(void **state)
{
    (void)state;
    quads q = make_quads(1.0, 1.0);
    const tnr_view *a = &q.views[0];
    const tnr_view *b = &q.views[1];
    tnr_plan *plan = plan_of(&q, &q.into.view, NULL);
    const tnr_view *const three[3] = {a, b, b};
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run_into(plan, three, 3, &q.into));
    TEXT_HAS("2 in the plan, 3 given");
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run_into(plan, three, 1, &q.into));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run_into(plan, three, 0, &q.into));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run_into(plan, NULL, 2, &q.into));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run_into(plan, three, 2, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run_into(NULL, three, 2, &q.into));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run(NULL, three, 2, &(tnr_tensor *){NULL}));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_run(plan, three, 2, NULL));
    refused(plan, a, NULL, &q.into, TNR_ERR_ARGUMENT, "operand 1 is NULL");

    tnr_tensor *single = NULL;
    OK(tnr_tensor_zeros(heap, TNR_F32, 4, SHAPE(4, 4, 4, 4), &single));
    const tnr_view of_singles = view_of(single);
    tnr_view_mut into_singles = view_mut_of(single);
    refused(plan, a, &of_singles, &q.into, TNR_ERR_DTYPE, "operand 1 is f32");
    refused(plan, a, b, &into_singles, TNR_ERR_DTYPE, "out is f32");
    release(&single);

    tnr_view matrix;
    OK(tnr_view_reshape(a, 2, SHAPE(16, 16), &matrix));
    refused(plan, &matrix, b, &q.into, TNR_ERR_SHAPE, "operand 0 has rank 2");
    tnr_view less;
    OK(tnr_view_slice_axis(b, 3, (tnr_range){0, 3, 1}, &less));
    refused(plan, a, &less, &q.into, TNR_ERR_SHAPE, "operand 1 has extent 3 on axis 3");
    tnr_view_mut less_out;
    OK(tnr_view_mut_slice_axis(&q.into, 0, (tnr_range){0, 2, 1}, &less_out));
    refused(plan, a, b, &less_out, TNR_ERR_SHAPE, "out has extent 2 on axis 0");

    const int turned[4] = {1, 0, 2, 3};
    tnr_view permuted;
    tnr_view_mut permuted_out;
    OK(tnr_view_permute(a, turned, &permuted));
    refused(plan, &permuted, b, &q.into, TNR_ERR_LAYOUT, "operand 0 steps by 4 along axis 0");
    OK(tnr_view_mut_permute(&q.into, turned, &permuted_out));
    refused(plan, a, b, &permuted_out, TNR_ERR_LAYOUT, "out steps by 4 along axis 0");
    for (int i = 0; i < 256; i++) {
        assert_true(isnan(host_of(q.out)[i]));
    }
    OK(tnr_plan_destroy(&plan));
    /* made for a new tensor: a view of another layout is none */
    plan = plan_of(&q, NULL, NULL);
    refused(plan, a, b, &permuted_out, TNR_ERR_LAYOUT, "out steps by 4 along axis 0");
    refused(plan, a, b, &less_out, TNR_ERR_SHAPE, "out has extent 2");
    OK(tnr_plan_destroy(&plan));
    free_quads(&q);
}

static void steps_that_mean_nothing_do_not_matter(void **state)
{
    (void)state;
    tnr_tensor *one = filled(3, SHAPE(1, 5, 1), 2.0);
    tnr_tensor *other = filled(3, SHAPE(3, 5, 4), 3.0);
    const tnr_view compact = view_of(one);
    tnr_view sliced = view_of(other);
    OK(tnr_view_slice_axis(&sliced, 0, (tnr_range){1, 2, 1}, &sliced));
    OK(tnr_view_slice_axis(&sliced, 2, (tnr_range){0, 1, 1}, &sliced));
    tnr_tensor *five = filled(3, SHAPE(1, 5, 1), 1.0);
    tnr_view widely = view_of(five);
    widely.strides[0] = 77;
    widely.strides[2] = -5;
    tnr_plan *plan = NULL;
    OK(tnr_plan_contract(engine, &compact, "abc", &compact, "abc", NULL, "", NULL, &plan));
    const tnr_view *const list[2] = {&compact, &widely};
    tnr_tensor *made = NULL;
    OK(tnr_plan_run(plan, list, 2, &made));
    assert_true(host_of(made)[0] == 10.0);
    release(&made);
    const tnr_view *const stepping[2] = {&sliced, &compact}; /* 3 along the axis of 5 */
    EXPECT(TNR_ERR_LAYOUT, tnr_plan_run(plan, stepping, 2, &made));
    OK(tnr_plan_destroy(&plan));

    /* without elements */
    tnr_tensor *empty = filled(2, SHAPE(0, 4), 0.0);
    tnr_view bare = view_of(empty);
    tnr_view oddly = bare;
    oddly.strides[1] = 1000;
    OK(tnr_plan_contract(engine, &bare, "ka", &bare, "kb", NULL, "ab", NULL, &plan));
    const tnr_view *const odd[2] = {&oddly, &bare};
    OK(tnr_plan_run(plan, odd, 2, &made));
    all_elements_are(made, 16, 0.0);
    release(&made);
    OK(tnr_plan_destroy(&plan));
    release(&empty);
    release(&five);
    release(&other);
    release(&one);
}

static void leases_and_overlap_as_in_every_operation(void **state)
{
    (void)state;
    quads q = make_quads(1.0, 1.0);
    tnr_plan *plan = plan_of(&q, NULL, NULL);
    tnr_read_map reading;
    tnr_write_map writing;
    const tnr_view_mut a_mut = view_mut_of(q.a);
    OK(tnr_map_read(&q.into.view, &reading));
    EXPECT(TNR_ERR_BUSY, tnr_plan_run_into(plan, list_of(&q), 2, &q.into));
    OK(tnr_unmap_read(&reading));
    OK(tnr_map_write(&a_mut, &writing));
    tnr_tensor *made = untouched();
    EXPECT(TNR_ERR_BUSY, tnr_plan_run(plan, list_of(&q), 2, &made));
    assert_ptr_equal(made, untouched());
    OK(tnr_unmap_write(&writing));
    EXPECT(TNR_ERR_OVERLAP, tnr_plan_run_into(plan, list_of(&q), 2, &a_mut));
    all_elements_are(q.a, 256, 1.0);

    tnr_tensor *gone = filled(4, SHAPE(4, 4, 4, 4), 1.0);
    const tnr_view stale = view_of(gone);
    release(&gone);
    const tnr_view *const with_stale[2] = {&q.views[0], &stale};
    EXPECT(TNR_ERR_STALE, tnr_plan_run_into(plan, with_stale, 2, &q.into));
    for (int i = 0; i < 256; i++) {
        assert_true(isnan(host_of(q.out)[i]));
    }
    OK(tnr_plan_run_into(plan, list_of(&q), 2, &q.into));
    all_elements_are(q.out, 256, 16.0);

    tnr_domain *away = NULL;
    test_memory memory = {0};
    away = make_program_domain(heap, &memory, TNR_ACCESS_NONE);
    tnr_draft *draft = NULL;
    tnr_tensor *distant = NULL;
    OK(tnr_draft_begin(away, TNR_F64, 4, SHAPE(4, 4, 4, 4), &draft));
    OK(tnr_draft_commit(&draft, &distant));
    const tnr_view unreachable = view_of(distant);
    const tnr_view *const with_distant[2] = {&unreachable, &q.views[1]};
    EXPECT(TNR_ERR_RESIDENCY, tnr_plan_run(plan, with_distant, 2, &made));
    release(&distant);
    close_domain(&away);
    OK(tnr_plan_destroy(&plan));
    free_quads(&q);
}

/* ---- Refused plans -------------------------------------------------------------------------------------------------------------------------- */

static void what_cannot_be_planned(void **state)
{
    (void)state;
    quads q = make_quads(1.0, 1.0);
    const tnr_view *a = &q.views[0];
    const tnr_view *b = &q.views[1];
    tnr_plan *plan = untouched();
    const tnr_domain_statistics before = statistics_of(heap);
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, a, "abcd", b, "cdef", NULL, "abef", NULL, NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(NULL, a, "abcd", b, "cdef", NULL, "abef", NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, NULL, "abcd", b, "cdef", NULL, "abef", NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, a, NULL, b, "cdef", NULL, "abef", NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, a, "abcd", b, "cdef", NULL, NULL, NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, a, "ab,d", b, "cdef", NULL, "abef", NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, a, "abcd", b, "cdef", NULL, "abeg", NULL, &plan));
    EXPECT(TNR_ERR_SHAPE, tnr_plan_contract(engine, a, "abc", b, "cdef", NULL, "abef", NULL, &plan));
    EXPECT(TNR_ERR_SHAPE, tnr_plan_contract(engine, a, "abcd", b, "cdef", &q.into.view, "abe", NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum(engine, NULL, list_of(&q), 2, NULL, NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum(engine, "abcd,cdef->abef", list_of(&q), 33, NULL, NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum(engine, "abcd,cdef->abef", NULL, 2, NULL, NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum(engine, "abcd,cdef", list_of(&q), 2, NULL, NULL, &plan));
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum(engine, "abcd,cdef->abef", list_of(&q), 2, NULL, NULL, NULL));
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    const tnr_einsum_step wrong[1] = {{.a = 0, .b = 2}};
    options.steps = wrong;
    options.step_count = 1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum(engine, "abcd,cdef->abef", list_of(&q), 2, NULL, &options, &plan));
    options.step_count = 7;
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_einsum(engine, "abcd,cdef->abef", list_of(&q), 2, NULL, &options, &plan));

    tnr_view far = *a; /* descriptors of nothing: no owner is asked */
    far.strides[3] = INT64_MAX / 4;
    EXPECT(TNR_ERR_OVERFLOW, tnr_plan_contract(engine, &far, "abcd", b, "cdef", NULL, "abef", NULL, &plan));
    far.strides[3] = INT64_MAX / 64;
    EXPECT(TNR_ERR_OVERFLOW, tnr_plan_contract(engine, &far, "abcd", b, "cdef", NULL, "abef", NULL, &plan));
    far.strides[3] = 64;
    far.shape[0] = -1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, &far, "abcd", b, "cdef", NULL, "abef", NULL, &plan));
    far.rank = TNR_MAX_RANK + 1;
    EXPECT(TNR_ERR_ARGUMENT, tnr_plan_contract(engine, &far, "abcd", b, "cdef", NULL, "abef", NULL, &plan));
    tnr_view flat = q.into.view;
    flat.strides[1] = 0;
    EXPECT(TNR_ERR_OVERLAP, tnr_plan_contract(engine, a, "abcd", b, "cdef", &flat, "abef", NULL, &plan));
    tnr_tensor *whole = NULL;
    OK(tnr_tensor_zeros(heap, TNR_I32, 4, SHAPE(4, 4, 4, 4), &whole));
    const tnr_view integers = view_of(whole);
    EXPECT(TNR_ERR_DTYPE, tnr_plan_contract(engine, a, "abcd", &integers, "cdef", NULL, "abef", NULL, &plan));
    EXPECT(TNR_ERR_UNSUPPORTED,
           tnr_plan_contract(engine, &integers, "abcd", &integers, "cdef", NULL, "abef", NULL, &plan));
    release(&whole);
    /* what is made is counted in 63 bits: 2^40 elements of a broadcast number, twice */
    tnr_tensor *number = filled(0, NULL, 1.0);
    tnr_view broad = view_of(number);
    broad.rank = 2;
    broad.shape[0] = broad.shape[1] = INT64_C(1) << 20;
    broad.strides[0] = broad.strides[1] = 0;
    EXPECT(TNR_ERR_OVERFLOW, tnr_plan_contract(engine, &broad, "ab", &broad, "cd", NULL, "abcd", NULL, &plan));
    release(&number);
    assert_ptr_equal(plan, untouched());
    SAME_STATISTICS(heap, &before);
    plan = NULL; /* two sums, of one operand each; and nobody minds that its owner is gone */
    OK(tnr_plan_contract(engine, &broad, "ab", &broad, "cd", NULL, "", NULL, &plan));
    OK(tnr_plan_destroy(&plan));
    plan = plan_of(&q, NULL, NULL); /* the engine is as it was */
    OK(tnr_plan_destroy(&plan));
    free_quads(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_take_new_data),
        cmocka_unit_test(alpha_and_beta_are_the_plans),
        cmocka_unit_test(an_einsum_with_intermediates),
        cmocka_unit_test(a_contractions_path_is_one_step),
        cmocka_unit_test(each_mismatch_has_its_status),
        cmocka_unit_test(steps_that_mean_nothing_do_not_matter),
        cmocka_unit_test(leases_and_overlap_as_in_every_operation),
        cmocka_unit_test(what_cannot_be_planned),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
