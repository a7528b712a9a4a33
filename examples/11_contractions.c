/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 11: A contraction is said in labels, one for each axis. What a label is follows from where it stands.
 *
 * From matmul to einsum, in the order of docs/contraction.md, which quotes this file: operands in any layout, results in any layout, nothing
 * transposed on the way, and a path that is known before the first number is multiplied.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static tnr_domain *heap;
static tnr_engine *engine;

/* A tensor of small whole numbers: sums of their products are exact, in whatever order they are added. */
static tnr_tensor *numbers(tnr_dtype dtype, int rank, const int64_t *shape)
{
    static uint32_t random = 1;
    tnr_tensor *tensor = NULL;
    tnr_tensor_info info;
    void *data = NULL;
    CHECK(tnr_tensor_zeros(heap, dtype, rank, shape, &tensor) == TNR_OK);
    CHECK(tnr_tensor_describe(tensor, &info) == TNR_OK);
    CHECK(tnr_tensor_host_data_mut(tensor, &data) == TNR_OK);
    for (uint64_t i = 0; i < info.bytes / sizeof(double); i++) { /* f64, or c64: pairs of them */
        random = random * 1664525U + 1013904223U;
        ((double *)data)[i] = (double)(random >> 28U) - 8.0;
    }
    return tensor;
}

static tnr_view view_of(const tnr_tensor *tensor)
{
    tnr_view view;
    CHECK(tnr_tensor_view(tensor, &view) == TNR_OK);
    return view;
}

static tnr_view_mut mut_view_of(tnr_tensor *tensor)
{
    tnr_view_mut view;
    CHECK(tnr_tensor_view_mut(tensor, &view) == TNR_OK);
    return view;
}

/* One element of an f64 view. */
static double get(const tnr_view *view, const int64_t *index)
{
    double value = 0.0;
    CHECK(tnr_view_get(view, index, &value) == TNR_OK);
    return value;
}

static void release(tnr_tensor **tensor) { CHECK(tnr_tensor_release(tensor) == TNR_OK); }

/* ---- Products of matrices ---------------------------------------------------------------------------------------- */

static void products(void)
{
    tnr_tensor *a_tensor = numbers(TNR_F64, 2, SHAPE(4, 3));
    tnr_tensor *b_tensor = numbers(TNR_F64, 2, SHAPE(3, 5));
    const tnr_view a = view_of(a_tensor);
    const tnr_view b = view_of(b_tensor);

    /* c[i,j] = sum over k of a[i,k] b[k,j] */
    tnr_tensor *c_tensor = NULL;
    CHECK(tnr_matmul(engine, &a, &b, NULL, &c_tensor) == TNR_OK); /* 4 x 5, from the engine's pool */

    tnr_view_mut c = mut_view_of(c_tensor);
    double sum = 0.0;
    for (int64_t k = 0; k < 3; k++) {
        sum += get(&a, SHAPE(2, k)) * get(&b, SHAPE(k, 4));
    }
    CHECK(get(&c.view, SHAPE(2, 4)) == sum);

    /* c = 2 a b + c, as a program says it that thinks in rows: c^T = 2 b^T a^T + c^T, all of them views. */
    tnr_view a_turned;
    tnr_view b_turned;
    tnr_view_mut c_turned;
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.alpha.re = 2.0;
    options.beta.re = 1.0; /* add to what is there */
    CHECK(tnr_view_permute(&a, NULL, &a_turned) == TNR_OK);
    CHECK(tnr_view_permute(&b, NULL, &b_turned) == TNR_OK);
    CHECK(tnr_view_mut_permute(&c, NULL, &c_turned) == TNR_OK);
    CHECK(tnr_matmul_into(engine, &b_turned, &a_turned, &options, &c_turned) == TNR_OK);
    CHECK(get(&c.view, SHAPE(2, 4)) == 3.0 * sum);

    /* The same by labels: no views are turned, for labels say which axis is which. */
    CHECK(tnr_contract_into(engine, &b, "kj", &a, "ik", "ij", NULL, &c) == TNR_OK);
    CHECK(get(&c.view, SHAPE(2, 4)) == sum);
    release(&c_tensor);
    release(&b_tensor);
    release(&a_tensor);
}

static void conjugates(void)
{
    tnr_tensor *a_tensor = numbers(TNR_C64, 2, SHAPE(6, 3));
    const tnr_view a = view_of(a_tensor);
    tnr_tensor *gram = NULL;

    /* gram = a^H a: the left operand is conjugated as it is read. */
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.conjugate_a = true;
    CHECK(tnr_contract(engine, &a, "ki", &a, "kj", "ij", &options, &gram) == TNR_OK);

    const tnr_view g = view_of(gram);
    tnr_c64 diagonal = {0.0, 1.0};
    CHECK(tnr_view_get(&g, SHAPE(1, 1), &diagonal) == TNR_OK && diagonal.re > 0.0 && diagonal.im == 0.0);
    release(&gram);
    release(&a_tensor);
}

/* ---- Labels -------------------------------------------------------------------------------------------------------- */

static void labels(void)
{
    tnr_tensor *a_tensor = numbers(TNR_F64, 3, SHAPE(4, 3, 7));
    tnr_tensor *b_tensor = numbers(TNR_F64, 3, SHAPE(7, 3, 5));
    tnr_tensor *u_tensor = numbers(TNR_F64, 1, SHAPE(4));
    tnr_tensor *v_tensor = numbers(TNR_F64, 1, SHAPE(5));
    const tnr_view a = view_of(a_tensor);
    const tnr_view b = view_of(b_tensor);
    const tnr_view u = view_of(u_tensor);
    const tnr_view v = view_of(v_tensor);
    tnr_tensor *out = NULL;
    tnr_view view;

    /* A batch: n is in all three. For each n, a matrix product; the batch may be any axis of each. */
    CHECK(tnr_contract(engine, &a, "ikn", &b, "nkj", "nij", NULL, &out) == TNR_OK); /* 7 x 4 x 5 */
    view = view_of(out);
    double sum = 0.0;
    for (int64_t k = 0; k < 3; k++) {
        sum += get(&a, SHAPE(1, k, 6)) * get(&b, SHAPE(6, k, 2));
    }
    CHECK(get(&view, SHAPE(6, 1, 2)) == sum);
    release(&out);

    /* Both k and n summed: two tensors meet over two axes, whose order is not the same in them. */
    CHECK(tnr_contract(engine, &a, "ikn", &b, "nkj", "ji", NULL, &out) == TNR_OK); /* 5 x 4, as asked for */
    view = view_of(out);
    sum = 0.0;
    for (int64_t n = 0; n < 7; n++) {
        for (int64_t k = 0; k < 3; k++) {
            sum += get(&a, SHAPE(1, k, n)) * get(&b, SHAPE(n, k, 2));
        }
    }
    CHECK(get(&view, SHAPE(2, 1)) == sum);
    release(&out);

    /* The outer product: nothing is summed. */
    CHECK(tnr_contract(engine, &u, "i", &v, "j", "ij", NULL, &out) == TNR_OK);
    view = view_of(out);
    CHECK(get(&view, SHAPE(3, 2)) == get(&u, SHAPE(3)) * get(&v, SHAPE(2)));
    release(&out);

    /* The inner product, also over several axes: everything is summed, and the result has rank 0. */
    CHECK(tnr_contract(engine, &a, "ikn", &a, "ikn", "", NULL, &out) == TNR_OK);
    view = view_of(out);
    CHECK(get(&view, NULL) > 0.0);
    release(&out);

    /* A label that stands in one operand alone is summed there, first of all: sums of b's planes, times u. */
    CHECK(tnr_contract(engine, &u, "i", &b, "nkj", "in", NULL, &out) == TNR_OK);
    view = view_of(out);
    sum = 0.0;
    for (int64_t j = 0; j < 5; j++) {
        for (int64_t k = 0; k < 3; k++) {
            sum += get(&b, SHAPE(4, k, j));
        }
    }
    CHECK(get(&view, SHAPE(0, 4)) == get(&u, SHAPE(0)) * sum);
    release(&out);

    release(&v_tensor);
    release(&u_tensor);
    release(&b_tensor);
    release(&a_tensor);
}

static void diagonals(void)
{
    tnr_tensor *m_tensor = numbers(TNR_F64, 2, SHAPE(5, 5));
    tnr_tensor *v_tensor = numbers(TNR_F64, 1, SHAPE(5));
    const tnr_view m = view_of(m_tensor);
    const tnr_view v = view_of(v_tensor);
    const tnr_view *const one[] = {&m};
    tnr_tensor *out = NULL;
    tnr_view view;

    /* Twice in one operand is its diagonal. With a vector: diagonal times vector, element for element. */
    CHECK(tnr_contract(engine, &m, "ii", &v, "i", "i", NULL, &out) == TNR_OK);
    view = view_of(out);
    CHECK(get(&view, SHAPE(3)) == get(&m, SHAPE(3, 3)) * get(&v, SHAPE(3)));
    release(&out);

    /* Of one operand alone: its trace, its diagonal, sums of its rows. tnr_einsum takes any number of operands, also one. */
    CHECK(tnr_einsum(engine, "ii->", one, 1, NULL, &out) == TNR_OK);
    view = view_of(out);
    double trace = 0.0;
    for (int64_t i = 0; i < 5; i++) {
        trace += get(&m, SHAPE(i, i));
    }
    CHECK(get(&view, NULL) == trace);
    release(&out);

    CHECK(tnr_einsum(engine, "ij->i", one, 1, NULL, &out) == TNR_OK);
    view = view_of(out);
    CHECK(view.rank == 1 && view.shape[0] == 5);
    release(&out);
    release(&v_tensor);
    release(&m_tensor);
}

/* ---- Where the result goes ------------------------------------------------------------------------------------------- */

static void layouts(void)
{
    tnr_tensor *a_tensor = numbers(TNR_F64, 2, SHAPE(4, 3));
    tnr_tensor *b_tensor = numbers(TNR_F64, 2, SHAPE(3, 3));
    tnr_tensor *video_tensor = numbers(TNR_F64, 3, SHAPE(10, 8, 6));
    const tnr_view a = view_of(a_tensor);
    const tnr_view b = view_of(b_tensor);
    const tnr_view_mut video = mut_view_of(video_tensor);
    const double between = get(&video.view, SHAPE(2, 1, 0));
    tnr_view_mut plane;
    tnr_view_mut target;

    /* Into every second row and column of plane 2 of a larger tensor. What lies between stays. */
    const tnr_range every_second[2] = {{0, 8, 2}, {0, TNR_END, 2}}; /* 4 x 3 of 8 x 6 */
    CHECK(tnr_view_mut_select(&video, 0, 2, &plane) == TNR_OK);
    CHECK(tnr_view_mut_slice(&plane, every_second, &target) == TNR_OK);
    CHECK(tnr_contract_into(engine, &a, "ik", &b, "kj", "ij", NULL, &target) == TNR_OK);

    double sum = 0.0;
    for (int64_t k = 0; k < 3; k++) {
        sum += get(&a, SHAPE(3, k)) * get(&b, SHAPE(k, 1));
    }
    CHECK(get(&video.view, SHAPE(2, 6, 2)) == sum);
    CHECK(get(&video.view, SHAPE(2, 1, 0)) == between);

    /* A result on top of an operand is refused before the first write. */
    CHECK(tnr_contract_into(engine, &target.view, "ik", &b, "kj", "ij", NULL, &target) == TNR_ERR_OVERLAP);
    printf("refused: %s\n", tnr_last_error());
    CHECK(get(&video.view, SHAPE(2, 6, 2)) == sum);
    release(&video_tensor);
    release(&b_tensor);
    release(&a_tensor);
}

/* ---- Many operands --------------------------------------------------------------------------------------------------- */

static void many_operands(void)
{
    tnr_tensor *tensors[3] = {numbers(TNR_F64, 2, SHAPE(100, 10)), numbers(TNR_F64, 2, SHAPE(10, 200)),
                              numbers(TNR_F64, 2, SHAPE(200, 5))};
    const tnr_view a = view_of(tensors[0]);
    const tnr_view b = view_of(tensors[1]);
    const tnr_view c = view_of(tensors[2]);
    tnr_tensor *out = NULL;

    /* A chain, 100 x 10, 10 x 200, 200 x 5. Which pair goes first is found out before, from the shapes. */
    const tnr_view *const chain[] = {&a, &b, &c};
    CHECK(tnr_einsum(engine, "ij,jk,kl->il", chain, 3, NULL, &out) == TNR_OK); /* 100 x 5 */

    /* The path can be looked at without computing anything. */
    tnr_contraction_path path;
    char text[1024];
    CHECK(tnr_einsum_path("ij,jk,kl->il", chain, 3, NULL, &path) == TNR_OK);
    CHECK(tnr_einsum_format(&path, text, sizeof text, NULL) == TNR_OK);
    printf("%s", text);

    static const char expected[] =
        "3 operands, path exact: 30000 flops (at once 3000000), largest intermediate 50 elements, "
        "intermediates 448 bytes\n"
        "  3 = 1 2  jk,kl->jl  20000 flops, 50 elements\n"
        "  4 = 0 3  ij,jl->il  10000 flops, 500 elements\n";
    CHECK(strcmp(text, expected) == 0);

    /* From left to right would be twenty times the work here. */
    tnr_einsum_options options = TNR_EINSUM_OPTIONS;
    tnr_contraction_path naive;
    options.mode = TNR_EINSUM_LEFT_TO_RIGHT;
    CHECK(tnr_einsum_path("ij,jk,kl->il", chain, 3, &options, &naive) == TNR_OK);
    CHECK(naive.flops == 600000.0 && path.flops == 30000.0);

    /* A path that was found once can be given: nothing is searched. Of the steps only a and b are looked at. */
    tnr_einsum_options given = TNR_EINSUM_OPTIONS;
    const tnr_einsum_step steps[2] = {{.a = 1, .b = 2}, {.a = 0, .b = 3}}; /* 3 is what the first step made */
    given.steps = steps;
    given.step_count = 2;
    tnr_view_mut again = mut_view_of(out);
    CHECK(tnr_einsum_into(engine, "ij,jk,kl->il", chain, 3, &given, &again) == TNR_OK);

    double sum = 0.0;
    for (int64_t j = 0; j < 10; j++) {
        for (int64_t k = 0; k < 200; k++) {
            sum += get(&a, SHAPE(77, j)) * get(&b, SHAPE(j, k)) * get(&c, SHAPE(k, 3));
        }
    }
    CHECK(get(&again.view, SHAPE(77, 3)) == sum);

    /* Warm calls take nothing from the heap: intermediates have their places in the engine's scratch. */
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    CHECK(tnr_domain_statistics_get(heap, &before) == TNR_OK);
    for (int i = 0; i < 100; i++) {
        CHECK(tnr_einsum_into(engine, "ij,jk,kl->il", chain, 3, NULL, &again) == TNR_OK);
    }
    CHECK(tnr_domain_statistics_get(heap, &after) == TNR_OK);
    CHECK(after.allocations == before.allocations);

    release(&out);
    for (int i = 0; i < 3; i++) {
        release(&tensors[i]);
    }
}

/* ---- Before the first call --------------------------------------------------------------------------------------------- */

/* An engine that has all scratch from the start: what the path keeps, and the largest of the products. */
static void scratch_from_the_start(void)
{
    tnr_tensor *tensor = numbers(TNR_F64, 2, SHAPE(300, 300));
    const tnr_view a = view_of(tensor);
    const tnr_view *const operands[] = {&a, &a, &a};
    tnr_need need;
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    tnr_engine *prepared = NULL;
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    tnr_tensor *out = NULL;
    CHECK(tnr_tensor_zeros(heap, TNR_F64, 2, SHAPE(300, 300), &out) == TNR_OK);
    const tnr_view_mut target = mut_view_of(out);

    tnr_view square;
    CHECK(tnr_view_shaped(TNR_F64, 2, SHAPE(300, 300), &square) == TNR_OK); /* there is no such tensor yet */
    const tnr_view *const shapes[] = {&square, &square, &square};
    CHECK(tnr_einsum_need("ij,jk,kl->il", shapes, 3, NULL, 0, &need) == TNR_OK);
    options.scratch_bytes = need.bytes;
    CHECK(tnr_engine_create(heap, &options, &prepared) == TNR_OK);

    CHECK(tnr_domain_statistics_get(heap, &before) == TNR_OK);
    CHECK(tnr_einsum_into(prepared, "ij,jk,kl->il", operands, 3, NULL, &target) == TNR_OK);
    CHECK(tnr_domain_statistics_get(heap, &after) == TNR_OK);
    CHECK(after.allocations == before.allocations);
    printf("the first call of an engine with %llu bytes of scratch: no block from the heap\n",
           (unsigned long long)options.scratch_bytes);

    CHECK(tnr_engine_destroy(&prepared) == TNR_OK);
    release(&out);
    release(&tensor);
}

static void refusals(void)
{
    tnr_tensor *a_tensor = numbers(TNR_F64, 2, SHAPE(4, 3));
    tnr_tensor *b_tensor = numbers(TNR_F64, 2, SHAPE(5, 3));
    const tnr_view a = view_of(a_tensor);
    const tnr_view b = view_of(b_tensor);
    tnr_tensor *out = NULL;

    CHECK(tnr_contract(engine, &a, "ik", &b, "kj", "ij", NULL, &out) == TNR_ERR_SHAPE); /* k is 3, and 5 */
    printf("refused: %s\n", tnr_last_error()); /* contract: label k has extents 3 and, in b, 5 */
    CHECK(tnr_contract(engine, &a, "ik", &b, "jk", "il", NULL, &out) == TNR_ERR_ARGUMENT); /* nobody has l */
    printf("refused: %s\n", tnr_last_error());
    CHECK(out == NULL);
    release(&b_tensor);
    release(&a_tensor);
}

int main(void)
{
    CHECK(tnr_heap_create(&heap) == TNR_OK);
    CHECK(tnr_engine_create(heap, NULL, &engine) == TNR_OK);
    products();
    conjugates();
    labels();
    diagonals();
    layouts();
    many_operands();
    scratch_from_the_start();
    refusals();
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
