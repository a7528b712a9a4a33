/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contractions of two against the sum over all labels by definition: ranks 0 to 8, all dtypes, any layout (steps that are padded,
 * permuted, negative or 0), labels that are repeated, summed, kept, or in one operand alone, extents of 0 and 1, conjugates, alpha and
 * beta. Outputs and scratch held NaN. Whole numbers exactly, others within the bound of their accumulation; the same bits from an engine
 * with workers, from one without a cache of plans, from a plan, and the second time. An output that is an operand is refused.
 *
 * TENURE_TEST_STEPS sets how many (20,000; under a sanitizer 1,000), TENURE_TEST_SEED which.
 */
#include "support/einsum_test.h"
#include "support/engines_world.h"

#include "engine/engine_internal.h"

#if defined(TNRI_SANITIZED)
enum { CASES = 1000 };
#else
enum { CASES = 20000 };
#endif

enum { MOST_RANK = 8, RANDOM_PAIR_LABELS = 12 };

/* What a product finds in the scratch is no number. */
static void poison_scratch(tnr_engine *engine)
{
    if (engine->scratch.bytes != 0) {
        memset(engine->scratch.address, 0xFF, (size_t)engine->scratch.bytes);
    }
}

/* ---- Cases ------------------------------------------------------------------------------------------------------------------------------- */

/* Mostly labels that the operand does not have yet; of the other operand every second one. */
static void random_labels(const sum_case *c, const term *other, term *t)
{
    t->rank = (int)within(0, MOST_RANK);
    for (int i = 0; i < t->rank; i++) {
        char label = (char)('a' + within(0, c->labels - 1));
        for (int tries = 0; tries < 12 && !chance(12); tries++) {
            label = (char)('a' + within(0, c->labels - 1));
            if (other != NULL && other->rank > 0 && chance(2)) {
                label = other->labels[within(0, other->rank - 1)];
            }
            if (!term_has(t, label)) {
                break;
            }
        }
        t->labels[i] = label;
        t->labels[i + 1] = '\0';
    }
}

static sum_case random_pair(int64_t least, int64_t most)
{
    sum_case c;
    int64_t loop;
    do {
        memset(&c, 0, sizeof c);
        c.dtype = (tnr_dtype[]){TNR_F32, TNR_F64, TNR_C32, TNR_C64}[within(0, 3)];
        c.count = 2;
        c.labels = (int)within(1, RANDOM_PAIR_LABELS);
        const int64_t large = most > 5000 ? 160 : chance(6) ? 24 : 4;
        for (int i = 0; i < c.labels; i++) {
            c.extents[i] = least == 0 && chance(80) ? 0 : chance(5) ? 1 : within(1, chance(3) ? large : 3);
        }
        random_labels(&c, NULL, &c.terms[0]);
        random_labels(&c, &c.terms[0], &c.terms[1]);
        for (int i = 0; i < c.labels && c.out.rank < MOST_RANK; i++) {
            if (case_has(&c, (char)('a' + i)) && !chance(3)) { /* in any place */
                const int at = (int)within(0, c.out.rank);
                memmove(&c.out.labels[at + 1], &c.out.labels[at], (size_t)(c.out.rank - at));
                c.out.labels[at] = (char)('a' + i);
                c.out.rank++;
            }
        }
        loop = case_loop(&c);
    } while (loop < least || loop > most || term_count(&c, &c.terms[0]) > 200000 ||
             term_count(&c, &c.terms[1]) > 200000 || term_count(&c, &c.out) > 200000);
    write_equation(&c);
    return c;
}

/* A label at any place of a term. */
static void insert_label(term *t, char label)
{
    const int at = (int)within(0, t->rank);
    memmove(&t->labels[at + 1], &t->labels[at], (size_t)(t->rank - at));
    t->labels[at] = label;
    t->labels[++t->rank] = '\0';
}

/* Rows, columns and summed indices of one or two labels each, in any order everywhere, so large that operands are packed. */
static sum_case random_packed_pair(int64_t least, int64_t most)
{
    sum_case c;
    do {
        memset(&c, 0, sizeof c);
        c.dtype = (tnr_dtype[]){TNR_F32, TNR_F64, TNR_C32, TNR_C64}[within(0, 3)];
        c.count = 2;
        for (int group = 0; group < 3; group++) {
            term *const of[2] = {group == 0 ? &c.out : &c.terms[0], group == 1 ? &c.out : &c.terms[1]};
            for (int more = (int)within(1, 2); more > 0; more--) {
                const char label = (char)('a' + c.labels);
                c.extents[c.labels++] = chance(2) ? 4 * within(1, 10) : within(2, 40);
                insert_label(of[0], label);
                insert_label(of[1], label);
            }
        }
    } while (case_loop(&c) < least || case_loop(&c) > most || term_count(&c, &c.terms[0]) > 200000 ||
             term_count(&c, &c.terms[1]) > 200000 || term_count(&c, &c.out) > 200000);
    write_equation(&c);
    return c;
}

/* An input may stand still along an axis. */
static void repeat_elements(seen *s)
{
    for (int i = 0; i < s->view.view.rank; i++) {
        if (chance(6) && s->view.view.strides[i] >= 0) {
            s->view.view.strides[i] = 0;
        }
    }
}

static tnr_product_options random_options(bool accumulate)
{
    tnr_product_options options = TNR_PRODUCT_OPTIONS;
    options.conjugate_a = chance(2);
    options.conjugate_b = chance(2);
    if (chance(3)) {
        options.alpha = (tnr_scalar){(double)within(-2, 2), (double)within(-1, 1)};
    }
    if (accumulate) {
        options.beta = (tnr_scalar){(double)within(-2, 2), (double)within(-1, 1)};
    }
    return options;
}

/* ---- One case ------------------------------------------------------------------------------------------------------------------------------ */

typedef struct pair_case {
    sum_case c;
    seen operands[2];
    seen out;
    size_t bytes; /* of the output's owner */
    char *before;
    char *first; /* what the first engine made of it */
    tnr_product_options options;
} pair_case;

static void complain(const sum_case *c, int64_t at, double complex found, double complex wanted)
{
    for (int i = 0; i < c->labels; i++) {
        print_error("%c=%lld ", 'a' + i, (long long)c->extents[i]);
    }
    print_error("\n");
    fail_msg("%s %s, element %lld: %g%+gi, expected %g%+gi", tnr_dtype_name(c->dtype), c->equation, (long long)at,
             creal(found), cimag(found), creal(wanted), cimag(wanted));
}

static void open_case(world *w, pair_case *p, const sum_case *c, bool whole, bool accumulate)
{
    p->c = *c;
    for (int i = 0; i < 2; i++) {
        p->operands[i] = make_seen(w->heap, c, &c->terms[i], chance(3));
        fill_seen(c, &p->operands[i], whole);
        if (chance(4)) {
            repeat_elements(&p->operands[i]);
        }
    }
    p->out = make_seen(w->heap, c, &c->out, chance(3));
    p->bytes = (size_t)p->out.count * tnr_dtype_size(c->dtype);
    p->before = malloc(p->bytes + 1);
    p->first = malloc(p->bytes + 1);
    assert_non_null(p->before);
    assert_non_null(p->first);
    p->options = random_options(accumulate);
    if (accumulate) {
        fill_seen(c, &p->out, whole);
    } else {
        for (int64_t i = 0; i < p->out.count; i++) {
            element_set(c->dtype, p->out.data, i, (double)NAN, (double)NAN);
        }
    }
    if (p->bytes != 0) {
        memcpy(p->before, p->out.data, p->bytes);
    }
}

static void close_case(pair_case *p)
{
    release(&p->operands[0].tensor);
    release(&p->operands[1].tensor);
    release(&p->out.tensor);
    free(p->before);
    free(p->first);
}

static void restore(pair_case *p)
{
    if (p->bytes != 0) {
        memcpy(p->out.data, p->before, p->bytes);
    }
}

static void compute(tnr_engine *engine, pair_case *p)
{
    const sum_case *c = &p->c;
    restore(p);
    OK(tnr_contract_into(engine, &p->operands[0].view.view, c->terms[0].labels, &p->operands[1].view.view,
                         c->terms[1].labels, c->out.labels, &p->options, &p->out.view));
}

static void same_bits_as_first(const pair_case *p)
{
    if (p->bytes != 0 && memcmp(p->first, p->out.data, p->bytes) != 0) {
        fail_msg("%s %s: other bits", tnr_dtype_name(p->c.dtype), p->c.equation);
    }
}

/* Where in the output's owner the i-th element of the view is. */
static int64_t place_of(const pair_case *p, int64_t i)
{
    int64_t at = p->out.view.view.offset;
    for (int axis = 0; axis < p->c.out.rank; axis++) {
        const int64_t extent = extent_of(&p->c, p->c.out.labels[axis]);
        at += p->out.view.view.strides[axis] * (i % extent);
        i /= extent;
    }
    return at;
}

/* Every element of the view as by definition; beside the view nothing was written. */
static void check_by_definition(const pair_case *p, bool whole)
{
    const sum_case *c = &p->c;
    const bool complex_case = is_complex(c->dtype);
    const int64_t count = term_count(c, &c->out);
    double complex *sums = calloc((size_t)count + 1, sizeof *sums);
    double *magnitudes = calloc((size_t)count + 1, sizeof *magnitudes);
    bool *inside = calloc((size_t)p->out.count + 1, sizeof *inside);
    assert_non_null(sums);
    assert_non_null(magnitudes);
    assert_non_null(inside);
    const uint64_t conjugate =
        complex_case ? (uint64_t)p->options.conjugate_a | (uint64_t)p->options.conjugate_b << 1 : 0;
    sum_by_definition(c, p->operands, conjugate, sums, magnitudes);
    const double complex alpha = p->options.alpha.re + (complex_case ? I * p->options.alpha.im : 0.0);
    const double complex beta = p->options.beta.re + (complex_case ? I * p->options.beta.im : 0.0);
    const double epsilon = is_single(c->dtype) ? (double)FLT_EPSILON : DBL_EPSILON;
    /* terms of each sum, the factors, and as many again for the definition's own */
    const double roundings = (complex_case ? 4.0 : 2.0) * ((double)(count > 0 ? case_loop(c) / count : 0) + 6.0);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = place_of(p, i);
        const double complex old = beta != 0.0 ? element_get(c->dtype, p->before, at) : 0.0;
        const double complex expected = alpha * sums[i] + beta * old;
        const double bound = whole ? 0.0 : epsilon * roundings * (cabs(alpha) * magnitudes[i] + cabs(beta) * cabs(old));
        const double complex found = element_get(c->dtype, p->out.data, at);
        inside[at] = true;
        if (!(cabs(found - expected) <= bound)) {
            complain(c, i, found, expected);
        }
    }
    const size_t size = tnr_dtype_size(c->dtype);
    for (int64_t i = 0; i < p->out.count; i++) {
        const size_t at = (size_t)i * size;
        assert_true(inside[i] || memcmp((const char *)p->out.data + at, p->before + at, size) == 0);
    }
    free(sums);
    free(magnitudes);
    free(inside);
}

static void check_made(const pair_case *p, const tnr_tensor *made)
{
    const sum_case *c = &p->c;
    const void *data;
    OK(tnr_tensor_host_data(made, &data));
    for (int64_t i = 0; i < term_count(c, &c->out); i++) {
        const int64_t at = place_of(p, i);
        const double complex wanted = element_get(c->dtype, p->first, at);
        const double complex found = element_get(c->dtype, data, i);
        if (!(cabs(found - wanted) <= 1e-5 * cabs(wanted) + 1e-4)) { /* another layout may go another way */
            complain(c, i, found, wanted);
        }
    }
}

static void run_planned(world *w, pair_case *p)
{
    const sum_case *c = &p->c;
    const tnr_view *const list[2] = {&p->operands[0].view.view, &p->operands[1].view.view};
    tnr_plan *plan = NULL;
    restore(p);
    OK(tnr_plan_contract(w->engine, list[0], c->terms[0].labels, list[1], c->terms[1].labels, &p->out.view.view,
                         c->out.labels, &p->options, &plan));
    poison_scratch(w->engine);
    OK(tnr_plan_run_into(plan, list, 2, &p->out.view));
    same_bits_as_first(p);
    OK(tnr_plan_destroy(&plan));
}

/* The output may not be an operand, nor lie across one. */
static void refuse_aliases(world *w, pair_case *p)
{
    const sum_case *c = &p->c;
    const term *t = &c->terms[0];
    const tnr_view_mut own = p->operands[0].view;
    for (int i = 0; i < t->rank; i++) {
        if (own.view.strides[i] == 0 || strchr(t->labels, t->labels[i]) != &t->labels[i] || own.view.shape[i] == 0) {
            return;
        }
    }
    const size_t bytes = (size_t)p->operands[0].count * tnr_dtype_size(c->dtype);
    char *kept = malloc(bytes + 1);
    assert_non_null(kept);
    memcpy(kept, p->operands[0].data, bytes);
    const tnr_view *a = &p->operands[0].view.view;
    const tnr_view *b = &p->operands[1].view.view;
    EXPECT(TNR_ERR_OVERLAP,
           tnr_contract_into(w->engine, a, t->labels, b, c->terms[1].labels, t->labels, &p->options, &own));
    tnr_plan *plan = NULL;
    const tnr_view *const list[2] = {a, b};
    OK(tnr_plan_contract(w->engine, a, t->labels, b, c->terms[1].labels, a, t->labels, &p->options, &plan));
    EXPECT(TNR_ERR_OVERLAP, tnr_plan_run_into(plan, list, 2, &own));
    OK(tnr_plan_destroy(&plan));
    assert_memory_equal(kept, p->operands[0].data, bytes);
    free(kept);
}

static void one_case(world *w, const sum_case *c)
{
    pair_case p;
    const bool whole = chance(2);
    open_case(w, &p, c, whole, chance(3));
    if (chance(8)) {
        poison_scratch(w->engine);
    }
    compute(w->engine, &p);
    check_by_definition(&p, whole);
    if (p.bytes != 0) {
        memcpy(p.first, p.out.data, p.bytes);
    }
    compute(w->engine, &p); /* from the cache */
    same_bits_as_first(&p);
    compute(w->bare, &p);
    same_bits_as_first(&p);
    if (w->team != NULL) {
        compute(w->team, &p);
        same_bits_as_first(&p);
    }
    if (chance(3)) {
        run_planned(w, &p);
    }
    if (chance(5)) {
        refuse_aliases(w, &p);
    }
    if (p.options.beta.re == 0.0 && (p.options.beta.im == 0.0 || !is_complex(c->dtype)) && chance(3)) {
        tnr_tensor *made = NULL;
        OK(tnr_contract(w->engine, &p.operands[0].view.view, c->terms[0].labels, &p.operands[1].view.view,
                        c->terms[1].labels, c->out.labels, &p.options, &made));
        check_made(&p, made);
        release(&made);
    }
    close_case(&p);
}

static int64_t cases(void)
{
    const char *given = getenv("TENURE_TEST_STEPS");
    return given != NULL ? strtoll(given, NULL, 0) : CASES;
}

static void contractions_are_sums_by_definition(void **state)
{
    (void)state;
    world w;
    seed_from_environment();
    open_world(&w);
    const int64_t count = cases();
    for (int64_t i = 0; i < count; i++) {
        if (i % 100 == 0) { /* new scratch, dirty; an empty cache */
            close_engines(&w);
            open_engines(&w);
        }
        const sum_case c = i % 100 == 99   ? random_pair(0, 40000)
                           : i % 100 == 49 ? random_packed_pair(2000, 400000)
                                           : random_pair(0, 800);
        one_case(&w, &c);
    }
    close_world(&w);
}

/* Large enough to be shared out: the same bits from one worker and from all, whatever the layout. */
static void any_number_of_workers_gives_the_same_bits(void **state)
{
    (void)state;
    world w;
    seed_from_environment();
    open_world(&w);
    if (w.team == NULL) {
        close_world(&w);
        skip();
    }
    tnr_engine_info info;
    OK(tnr_engine_describe(w.team, &info));
    assert_true(info.workers == 1 || tnri_engine_lanes(w.team, 10000000) > 1); /* what takes so long is shared out */
    const int64_t count = cases() / 100;
    for (int64_t i = 0; i < count; i++) {
        pair_case p;
        const sum_case c = i % 2 == 0 ? random_pair(400000, 8000000) : random_packed_pair(400000, 8000000);
        open_case(&w, &p, &c, false, chance(3));
        poison_scratch(w.engine);
        poison_scratch(w.team);
        compute(w.engine, &p);
        if (p.bytes != 0) {
            memcpy(p.first, p.out.data, p.bytes);
        }
        compute(w.team, &p);
        same_bits_as_first(&p);
        close_case(&p);
    }
    close_world(&w);
}

/* Scratch of the first call: what the needs say, which is one thing for contractions and einsum, or less where a layout spares it. */
static void scratch_is_never_more_than_the_need(void **state)
{
    (void)state;
    enum { CALLS = 400 };
    world w;
    int took = 0;
    int summed_alone = 0;
    seed_from_environment();
    open_world(&w);
    for (int i = 0; i < CALLS; i++) {
        pair_case p;
        const sum_case c = random_pair(0, i % 4 == 0 ? 400000 : 20000);
        const tnr_view *list[2];
        tnr_engine_options options = TNR_ENGINE_OPTIONS;
        tnr_engine *engine = NULL;
        tnr_need need;
        tnr_need of_einsum;
        tnr_contraction_path path;
        open_case(&w, &p, &c, true, false);
        list[0] = &p.operands[0].view.view;
        list[1] = &p.operands[1].view.view;
        OK(tnr_contract_need(list[0], c.terms[0].labels, list[1], c.terms[1].labels, c.out.labels, 0, &need));
        OK(tnr_einsum_need(c.equation, list, 2, NULL, 0, &of_einsum));
        OK(tnr_einsum_path(c.equation, list, 2, NULL, &path));
        assert_memory_equal(&need, &of_einsum, sizeof need);
        options.plan_cache_bytes = i % 2 == 0 ? 0 : TNR_PLAN_CACHE_BYTES;
        OK(tnr_engine_create(w.domain, &options, &engine));
        compute(engine, &p);
        check_by_definition(&p, true);
        if (engine->scratch.bytes > need.bytes) {
            fail_msg("%s %s: scratch of %llu bytes, need %llu", tnr_dtype_name(c.dtype), c.equation,
                     (unsigned long long)engine->scratch.bytes, (unsigned long long)need.bytes);
        }
        took += engine->scratch.bytes != 0 ? 1 : 0;
        summed_alone += path.intermediate_bytes != 0 ? 1 : 0;
        OK(tnr_engine_destroy(&engine));
        close_case(&p);
    }
    close_world(&w);
    assert_true(took > 20 && summed_alone > 20); /* else this tells nothing */
}

/* TENURE_PRODUCTS may ask for kernels that this build or machine does not have. */
static bool has_products(void)
{
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    if (tnr_heap_create(&heap) != TNR_OK) {
        return true; /* the tests will say more */
    }
    const tnr_status status = tnr_engine_create(heap, NULL, &engine);
    if (status == TNR_ERR_UNSUPPORTED) {
        printf("skipped: %s\n", tnr_last_error());
    }
    (void)tnr_engine_destroy(&engine);
    (void)tnr_domain_close(&heap);
    return status != TNR_ERR_UNSUPPORTED;
}

int main(void)
{
    if (!has_products()) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contractions_are_sums_by_definition),
        cmocka_unit_test(any_number_of_workers_gives_the_same_bits),
        cmocka_unit_test(scratch_is_never_more_than_the_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
