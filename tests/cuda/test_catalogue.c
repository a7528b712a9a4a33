/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines of a device: the whole catalogue on tensors of every kind of device memory against the naive models, against an engine of CPUs
 * where the arithmetic is the same.
 */
#include "mirror.h"

#include "../../src/cuda/engine_internal.h"

/* Of each operation and dtype; TENURE_TEST_CUDA_ROUNDS: more of them. */
enum { ROUNDS = 4 };

static catalogue_random draws;

static void check(stage *of, const catalogue_call *use, tnr_domain *inputs_in, tnr_domain *output_in)
{
    catalogue_operand inputs[CATALOGUE_INPUTS];
    catalogue_operand output;
    mirrored in[CATALOGUE_INPUTS] = {{.tensor = NULL}};
    mirrored out = {.tensor = NULL};
    tnr_view views[CATALOGUE_INPUTS];
    for (int i = 0; i < use->op->arity; ++i) {
        catalogue_input_make(&draws, of->s.heap, use, i, use->op->layouts, false, &inputs[i]);
        mirror_up(of, &inputs[i], inputs_in, false, &in[i]);
        views[i] = in[i].view.view;
    }
    catalogue_output_make(&draws, of->s.heap, use, use->reads_output ? CATALOGUE_VALUES : CATALOGUE_DIRT, &output);
    mirror_up(of, &output, output_in, true, &out);
    if (use->op->into != NULL) {
        catalogue_array expected = catalogue_expect(use, inputs, &output.array);
        catalogue_ok(use->op->into(of->engine, use, views, &out.view), use->op->name);
        mirror_down(of, &out, &output);
        catalogue_operand_check(use, &output, &expected);
        catalogue_array_free(&expected);
    }
    if (use->op->make != NULL) {
        catalogue_call fresh = *use;
        fresh.reads_output = false;
        catalogue_array expected = catalogue_expect(&fresh, inputs, NULL);
        tnr_tensor *made = NULL;
        catalogue_ok(use->op->make(of->engine, &fresh, views, &made), use->op->name);
        mirror_check(of, &fresh, &made, &expected);
        catalogue_array_free(&expected);
    }
    for (int i = 0; i < use->op->arity; ++i) {
        mirror_down(of, &in[i], &inputs[i]);
        catalogue_operand_unchanged(&inputs[i]);
        catalogue_operand_free(&inputs[i]);
        release(&in[i].tensor);
    }
    catalogue_operand_free(&output);
    release(&out.tensor);
}

static void run_family(stage *of, const catalogue_family *family, int rounds, int64_t limit)
{
    static const tnr_cuda_memory kinds[] = {TNR_CUDA_POOL, TNR_CUDA_PLAIN, TNR_CUDA_MANAGED};
    for (int o = 0; o < family->count; ++o) {
        const catalogue_op *op = &family->ops[o];
        for (unsigned dtype = TNR_F32; dtype < TNR_DTYPE_END; ++dtype) {
            for (int round = 0; (op->dtypes & CATALOGUE_BIT(dtype)) != 0 && round < rounds; ++round) {
                const catalogue_call use = catalogue_choose(&draws, op, (tnr_dtype)dtype, limit);
                check(of, &use, of->s.domain[kinds[round % 3]], of->s.domain[kinds[(round + 1) % 3]]);
            }
        }
    }
}

/* One device object and one engine for all of them: where kernels are compiled when they are wanted, each module is so once. */
static stage shared;

static void one_device_for_all(void **state)
{
    (void)state;
    const tnr_cuda_engine_options options = stage_options("off");
    const uint64_t seed = scene_number("TENURE_TEST_SEED", 11);
    print_message("seed %llu\n", (unsigned long long)seed);
    stage_begin(&shared, seed, &options);
    draws = (catalogue_random){seed * 7919 + 1};
}

static void nothing_is_left(void **state)
{
    (void)state;
    stage_end(&shared);
}

static void run_catalogue(const catalogue_family *family)
{
    run_family(&shared, family, (int)scene_number("TENURE_TEST_CUDA_ROUNDS", ROUNDS), 8);
    scene_expect_clean();
}

static void elementwise(void **state)
{
    (void)state;
    run_catalogue(&catalogue_elementwise);
}

static void reductions(void **state)
{
    (void)state;
    run_catalogue(&catalogue_reduction);
}

static void structure(void **state)
{
    (void)state;
    run_catalogue(&catalogue_structure);
}

static void zeros(void **state)
{
    (void)state;
    run_catalogue(&catalogue_zeros);
}

static void indices(void **state)
{
    (void)state;
    run_catalogue(&catalogue_index);
}

static void products(void **state)
{
    (void)state;
    run_catalogue(&catalogue_product);
    run_catalogue(&catalogue_contract);
}

/* However small: by cuBLAS, and packed whatever it cannot read. */
static void products_by_cublas(void **state)
{
    (void)state;
    stage of = shared;
    const tnr_cuda_engine_options options = stage_options(scene_blas());
    const int rounds = 3 * (int)scene_number("TENURE_TEST_CUDA_ROUNDS", ROUNDS);
    const tnr_cuda_statistics before = scene_counts(&of.s);
    OK(tnr_cuda_engine_create(of.s.heap, of.s.lane[0], &options, &of.engine));
    tnri_cuda_engine *inside = tnr_engine_provider.state(of.engine, &tnri_cuda_engines);
    assert_non_null(inside);
    inside->blas_from = 0.0;
    for (int packs = 0; packs < 2; ++packs) {
        inside->pack_from = packs == 0 ? 1 : INT64_MAX;
        run_family(&of, &catalogue_product, rounds, 8);
        run_family(&of, &catalogue_contract, rounds, 6);
    }
    tnr_cuda_statistics counts = scene_counts(&of.s);
    counts.blas_products -= before.blas_products;
    counts.packed -= before.packed;
    counts.products -= before.products;
    print_message("%llu by cuBLAS, %llu operands packed, %llu by the library's kernel\n",
                  (unsigned long long)counts.blas_products, (unsigned long long)counts.packed,
                  (unsigned long long)counts.products);
    if (scene_fake() != NULL || inside->blas.state == TNRI_BLAS_READY) {
        assert_true(counts.blas_products > 20 && counts.packed > 20 && counts.products > 20);
        tnr_engine_info info;
        OK(tnr_engine_describe(of.engine, &info));
        assert_string_equal(info.blas, "cublas");
    }
    scene_expect_clean();
    OK(tnr_engine_destroy(&of.engine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_for_all),
        cmocka_unit_test(elementwise),
        cmocka_unit_test(reductions),
        cmocka_unit_test(structure),
        cmocka_unit_test(zeros),
        cmocka_unit_test(indices),
        cmocka_unit_test(products),
        cmocka_unit_test(products_by_cublas),
        cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
