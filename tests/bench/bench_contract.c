/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suite "contract": the 24 contractions of TCCG (tests/data/tccg24.txt), f64, by tnr_contract_into and from a plan; one contraction of
 * 4x4x4x4; and the three mode products of a volume. Against TBLIS when TBLIS_LIB names it, turning and multiplying with the best
 * library's product (ttgt.h; permutations ours and, when HPTT_LIB names it, HPTT's), the bare product of the same m, n, k on operands
 * that lie as matrices already, and NumPy's einsum. All but NumPy are timed in turns and their results compared.
 *
 * Extents are scaled down so that a case takes 64 MB and 1.5 Gflop at most, thin ones apart; TENURE_BENCH_FULL=1 takes them as listed
 * (4 GB of memory, half an hour).
 */
#include "bench.h"
#include "blas.h"
#include "loops.h"
#include "race.h"
#include "scene.h"
#include "tblis.h"
#include "tccg.h"
#include "ttgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE "contract"

enum { A, B, C, THEIRS, ROOM, BUFFERS = ROOM + 3 };

static bench_scene scene;
static bench_blases blases;
static bench_hptt hptt;
static bool tblis;
static bool full;
static double *memory[BUFFERS];
static int64_t elements[BUFFERS];

/* Everything a measured call looks at. */
static struct operands {
    bench_labelled list[3]; /* a, b, c */
    tnr_tensor *tensors[3];
    tnr_view views[3];
    tnr_view_mut out;
    tnr_plan *plan;
    tnr_engine *engine; /* of the plan, and of the call that is no scene's */
} s;

static void must(tnr_status status) { bench_scene_must(&scene, status); }

static const char *plural(int workers) { return workers == 1 ? "1 worker" : "2 workers"; }

/* ---- Operands ------------------------------------------------------------------------------------------------------------ */

static void close_case(void)
{
    must(tnr_plan_destroy(&s.plan));
    for (int i = 0; i < 3; ++i) {
        must(tnr_tensor_release(&s.tensors[i]));
    }
}

static void open_case(void)
{
    for (int i = 0; i < 3 && !scene.failed; ++i) {
        bench_labelled *of = &s.list[i];
        of->data = memory[i];
        must(tnr_tensor_adopt(scene.heap, TNR_F64, of->rank, of->shape, of->data,
                              (uint64_t)bench_labelled_count(of) * sizeof(double), NULL, NULL, &s.tensors[i]));
        if (!scene.failed) {
            must(tnr_tensor_view(s.tensors[i], &s.views[i]));
        }
    }
    if (!scene.failed) {
        must(tnr_tensor_view_mut(s.tensors[C], &s.out));
        must(tnr_plan_contract(scene.engine, &s.views[A], s.list[A].labels, &s.views[B], s.list[B].labels, &s.views[C],
                               s.list[C].labels, NULL, &s.plan));
    }
}

static void compare(const char *peer, const char *where, double terms)
{
    const int64_t count = bench_labelled_count(&s.list[C]);
    for (int64_t i = 0; i < count; ++i) {
        if (!(fabs(memory[C][i] - memory[THEIRS][i]) <= terms * 1e-15)) {
            char text[200];
            (void)snprintf(text, sizeof text, "%.90s: ours and %.60s differ: %g and %g", where, peer, memory[C][i],
                           memory[THEIRS][i]);
            bench_note(SUITE, text);
            scene.failed = true;
            return;
        }
    }
}

/* ---- What is measured ------------------------------------------------------------------------------------------------------ */

static void ours(void *unused)
{
    (void)unused;
    must(tnr_contract_into(scene.engine, &s.views[A], s.list[A].labels, &s.views[B], s.list[B].labels, s.list[C].labels,
                           NULL, &s.out));
}

static void ours_alone(void *unused)
{
    (void)unused;
    must(tnr_contract_into(scene.engines[0], &s.views[A], s.list[A].labels, &s.views[B], s.list[B].labels,
                           s.list[C].labels, NULL, &s.out));
}

static void ours_plan(void *unused)
{
    (void)unused;
    const tnr_view *const operands[2] = {&s.views[A], &s.views[B]};
    must(tnr_plan_run_into(s.plan, operands, 2, &s.out));
}

static void bare_product(void *context) { bench_product_run(context); }

static void tblis_operands(bench_tblis_operand list[3])
{
    for (int i = 0; i < 3; ++i) {
        memset(&list[i], 0, sizeof list[i]);
        list[i].rank = s.list[i].rank;
        memcpy(list[i].shape, s.list[i].shape, sizeof list[i].shape);
        memcpy(list[i].labels, s.list[i].labels, sizeof list[i].labels);
        list[i].data = i == C ? memory[THEIRS] : s.list[i].data;
    }
}

/* ---- NumPy ------------------------------------------------------------------------------------------------------------------ */

/* Nanoseconds of einsum on arrays of these shapes, the first axis contiguous as ours; 0: it is not there. */
static double numpy_einsum(void)
{
    char statement[256];
    char expression[128];
    for (int i = 0; i < 3; ++i) {
        char shape[128] = "";
        size_t length = 0;
        for (int axis = 0; axis < s.list[i].rank; ++axis) {
            length +=
                (size_t)snprintf(shape + length, sizeof shape - length, "%lld,", (long long)s.list[i].shape[axis]);
        }
        (void)snprintf(statement, sizeof statement, "%c = np.asfortranarray(np.random.default_rng(1).random((%s)))",
                       "ABC"[i], shape);
        if (!bench_numpy_set(statement)) {
            return 0.0;
        }
    }
    (void)snprintf(expression, sizeof expression, "np.einsum('%s,%s->%s', A, B, out=C, optimize='greedy')",
                   s.list[A].labels, s.list[B].labels, s.list[C].labels);
    return bench_numpy(expression, 0);
}

/* ---- One contraction ---------------------------------------------------------------------------------------------------------- */

typedef struct scores {
    bench_score par;   /* against the better of TBLIS and turning */
    bench_score plans; /* the same, from a plan */
    bench_score bare;
    bench_score numpy;
    bench_score two;
} scores;

/* The fastest library's product of these extents on whole matrices, entered as a racer by the caller. */
static int best_bare(bench_product products[BENCH_BLAS_MOST], const bench_product *like, int workers)
{
    bench_field field = {.count = 0};
    int which[BENCH_BLAS_MOST];
    for (int i = 0; i < blases.count; ++i) {
        if (bench_blas_use(&blases.list[i], workers)) {
            products[i] = (bench_product){
                blases.list[i].gemm[1], 1, 'N', 'N', like->m, like->n, like->k, memory[A], memory[B], memory[THEIRS]};
            which[field.count] = i;
            bench_enter(&field, bare_product, &products[i], "%s", blases.list[i].name);
        }
    }
    bench_race(&field, 20.0, workers == 1);
    const int best = bench_fastest(&field, 0);
    return best < 0 ? -1 : which[best];
}

static void row(const char *name, const char *unit, double work, double ours_ns, const char *peer, double peer_ns)
{
    if (peer_ns > 0.0 && work > 0.0) {
        bench_row(SUITE, name, unit, work / ours_ns, peer, work / peer_ns, false);
    } else if (peer_ns > 0.0) {
        bench_row(SUITE, name, unit, ours_ns, peer, peer_ns, true);
    }
}

static void measure(const char *title, int workers, bool in_ns, double milliseconds, scores *score)
{
    enum { OURS, PLAN };
    bench_field field = {.count = 0};
    bench_labelled others[3];
    bench_ttgt ttgt[2];
    bench_product products[BENCH_BLAS_MOST];
    bench_tblis_operand operands[3];
    char name[160];
    open_case();
    memcpy(others, s.list, sizeof others);
    others[C].data = memory[THEIRS];
    bench_ttgt_open(&ttgt[0], &scene, others, &memory[ROOM]);
    if (scene.failed) {
        bench_ttgt_close(&ttgt[0]);
        return;
    }
    const bench_product *whole = &ttgt[0].product;
    const double flops = 2.0 * whole->m * whole->n * whole->k;
    (void)snprintf(name, sizeof name, "%s, %s", title, plural(workers));
    bench_enter(&field, ours, NULL, "ours");
    bench_enter(&field, ours_plan, NULL, "ours, from a plan");
    const int blas = best_bare(products, whole, workers);
    int bare = -1;
    if (blas >= 0) {
        bare = field.count;
        bench_enter(&field, bare_product, &products[blas], "bare %s", blases.list[blas].name);
        ttgt[0].product.gemm = blases.list[blas].gemm[1];
        ttgt[0].threads = workers;
        const char *turned = bench_ttgt_turned(&ttgt[0]);
        bench_enter(&field, bench_ttgt_run, &ttgt[0], "turning %s, %s", turned, blases.list[blas].name);
        ttgt[1] = ttgt[0];
        ttgt[1].hptt = hptt;
        if (hptt != NULL && strcmp(turned, "none") != 0) {
            bench_enter(&field, bench_ttgt_run, &ttgt[1], "turning %s by HPTT, %s", turned, blases.list[blas].name);
        }
    }
    if (tblis) {
        tblis_operands(operands);
        bench_tblis_threads(workers);
        bench_enter(&field, bench_tblis_run, operands, "TBLIS");
    }
    ours(NULL);
    for (int i = OURS + 1; i < field.count && !scene.failed; ++i) {
        field.racers[i].run(field.racers[i].context);
        if (i != PLAN && i != bare) {
            compare(field.racers[i].name, name, (double)whole->k + 100.0);
        }
    }
    if (!scene.failed) {
        bench_race(&field, milliseconds, workers == 1);
        const double ns = field.racers[OURS].ns;
        const double work = in_ns ? 0.0 : flops;
        const char *unit = in_ns ? "ns" : "GFLOP/s";
        double par = 0.0;
        for (int i = PLAN + 1; i < field.count; ++i) {
            row(name, unit, work, ns, field.racers[i].name, field.racers[i].ns);
            par = i != bare && (par == 0.0 || field.racers[i].ns < par) ? field.racers[i].ns : par;
        }
        const double numpy = workers == 1 || full ? numpy_einsum() : 0.0;
        row(name, unit, work, ns, "NumPy einsum", numpy);
        char from_plan[200];
        (void)snprintf(from_plan, sizeof from_plan, "%s, from a plan", name);
        row(from_plan, unit, work, field.racers[PLAN].ns, "the same call without a plan", ns);
        if (par > 0.0) {
            bench_score_add(&score->par, par / ns, title);
            bench_score_add(&score->plans, par / field.racers[PLAN].ns, title);
        }
        if (bare >= 0) {
            bench_score_add(&score->bare, field.racers[bare].ns / ns, title);
        }
        if (numpy > 0.0) {
            bench_score_add(&score->numpy, numpy / ns, title);
        }
        if (workers == 2) {
            bench_field two = {.count = 0};
            bench_enter(&two, ours, NULL, "ours");
            bench_enter(&two, ours_alone, NULL, "1 worker");
            bench_race(&two, milliseconds / 2.0, false);
            row(name, unit, work, two.racers[0].ns, "1 worker", two.racers[1].ns);
            bench_score_add(&score->two, two.racers[1].ns / two.racers[0].ns, title);
        }
    }
    bench_ttgt_close(&ttgt[0]);
}

/* ---- The list ------------------------------------------------------------------------------------------------------------------ */

static FILE *open_list(void)
{
    FILE *file = fopen(TENURE_BENCH_DATA "/tccg24.txt", "r");
    if (file == NULL) {
        bench_note(SUITE, TENURE_BENCH_DATA "/tccg24.txt cannot be read");
    }
    return file;
}

static void say_extents(void)
{
    FILE *file = open_list();
    bench_tccg p;
    while (file != NULL && bench_tccg_read(file, full, &p)) {
        char text[256];
        size_t length = (size_t)snprintf(text, sizeof text, "%s:", p.title);
        for (int i = 0; i < 3; ++i) {
            length += (size_t)snprintf(text + length, sizeof text - length, i == 0 ? " " : ", ");
            for (int axis = 0; axis < p.list[i].rank; ++axis) {
                length += (size_t)snprintf(text + length, sizeof text - length, axis == 0 ? "%lld" : "x%lld",
                                           (long long)p.list[i].shape[axis]);
            }
        }
        bench_note(SUITE, text);
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void tccg(int workers)
{
    FILE *file = open_list();
    scores score;
    char what[100];
    bench_tccg p;
    memset(&score, 0, sizeof score);
    while (file != NULL && !scene.failed && bench_tccg_read(file, full, &p)) {
        memcpy(s.list, p.list, sizeof s.list);
        measure(p.title, workers, false, full ? 2000.0 : 250.0, &score);
        close_case();
    }
    if (file != NULL) {
        fclose(file);
    }
    (void)snprintf(what, sizeof what, "the list, %s", plural(workers));
    bench_score_rows(SUITE, &score.par, what, tblis ? "better of TBLIS and turning" : "turning and multiplying");
    bench_score_rows(SUITE, &score.bare, what, "bare product");
    bench_score_rows(SUITE, &score.numpy, what, "NumPy einsum");
    bench_score_rows(SUITE, &score.two, what, "1 worker");
    (void)snprintf(what, sizeof what, "the list from plans, %s", plural(workers));
    bench_score_rows(SUITE, &score.plans, what, tblis ? "better of TBLIS and turning" : "turning and multiplying");
}

/* ---- A small one ---------------------------------------------------------------------------------------------------------------- */

static void small(void)
{
    scores unused;
    memset(&unused, 0, sizeof unused);
    static const char *const names[3] = {"aebf", "fdec", "abcd"};
    for (int i = 0; i < 3; ++i) {
        s.list[i] = (bench_labelled){.rank = 4, .shape = {4, 4, 4, 4}};
        (void)snprintf(s.list[i].labels, sizeof s.list[i].labels, "%s", names[i]);
    }
    measure("abcd-aebf-fdec, all extents 4", 1, true, 200.0, &unused);
    close_case();
}

/* ---- Mode products ---------------------------------------------------------------------------------------------------------------- */

typedef struct slices {
    bench_product product; /* of the first */
    int count;
    int64_t a, c; /* elements from one to the next */
} slices;

static void peer_slices(void *context)
{
    const slices *all = context;
    bench_product one = all->product;
    for (int i = 0; i < all->count; ++i) {
        bench_product_run(&one);
        one.a = (const double *)one.a + all->a;
        one.c = (double *)one.c + all->c;
    }
}

static void mode(int which, int workers, bench_score *score)
{
    enum { I = 181, J = 217, K = 181 };
    static const char *const wanted[3] = {"ajk", "ibk", "ijc"};
    static const char *const factor[3] = {"ai", "bj", "ck"};
    static const int extents[3] = {I, J, K};
    bench_field field = {.count = 0};
    slices peers[BENCH_BLAS_MOST];
    bench_tblis_operand operands[3];
    char name[100];
    char title[60];
    const int64_t extent = extents[which];
    s.list[A] = (bench_labelled){.labels = "ijk", .rank = 3, .shape = {I, J, K}};
    s.list[B] = (bench_labelled){.rank = 2, .shape = {extent, extent}};
    s.list[C] = (bench_labelled){.rank = 3, .shape = {I, J, K}};
    (void)snprintf(s.list[B].labels, sizeof s.list[B].labels, "%s", factor[which]);
    (void)snprintf(s.list[C].labels, sizeof s.list[C].labels, "%s", wanted[which]);
    open_case();
    if (scene.failed) {
        return;
    }
    (void)snprintf(title, sizeof title, "mode %d of 181x217x181", which + 1);
    (void)snprintf(name, sizeof name, "%s, %s", title, plural(workers));
    bench_enter(&field, ours, NULL, "ours");
    for (int i = 0; i < blases.count; ++i) {
        if (bench_blas_use(&blases.list[i], workers)) {
            const bench_gemm_function gemm = blases.list[i].gemm[1];
            const bench_product first[3] = {
                {gemm, 1, 'N', 'N', I, J * K, I, memory[B], memory[A], memory[THEIRS]},
                {gemm, 1, 'N', 'T', I, J, J, memory[A], memory[B], memory[THEIRS]},
                {gemm, 1, 'N', 'T', I * J, K, K, memory[A], memory[B], memory[THEIRS]},
            };
            const bool many = which == 1;
            peers[i] = (slices){first[which], many ? K : 1, I * J, I * J};
            bench_enter(&field, peer_slices, &peers[i], "%s%s", many ? "a product for each slice by " : "",
                        blases.list[i].name);
        }
    }
    if (tblis) {
        tblis_operands(operands);
        bench_tblis_threads(workers);
        bench_enter(&field, bench_tblis_run, operands, "TBLIS");
    }
    ours(NULL);
    for (int i = 1; i < field.count && !scene.failed; ++i) {
        field.racers[i].run(field.racers[i].context);
        compare(field.racers[i].name, name, 300.0);
    }
    if (!scene.failed) {
        const double flops = 2.0 * I * J * K * (double)extent;
        bench_race(&field, full ? 2000.0 : 400.0, workers == 1);
        for (int i = 1; i < field.count; ++i) {
            row(name, "GFLOP/s", flops, field.racers[0].ns, field.racers[i].name, field.racers[i].ns);
        }
        const int best = bench_fastest(&field, 1);
        if (best > 0) {
            bench_score_add(score, field.racers[best].ns / field.racers[0].ns, title);
        }
        if (workers == 1) {
            row(name, "GFLOP/s", flops, field.racers[0].ns, "NumPy einsum", numpy_einsum());
        }
    }
    close_case();
}

/* ---- The suite ----------------------------------------------------------------------------------------------------------------------- */

/* Room for the largest of everything, touched once. */
static bool take_memory(void)
{
    FILE *file = open_list();
    bench_tccg p;
    for (int i = 0; i < BUFFERS; ++i) {
        elements[i] = i < ROOM ? 181 * 217 * 181 : 256;
    }
    while (file != NULL && bench_tccg_read(file, full, &p)) {
        for (int i = 0; i < 3; ++i) {
            const int64_t count = bench_labelled_count(&p.list[i]);
            elements[i] = count > elements[i] ? count : elements[i];
            elements[ROOM + i] = count > elements[ROOM + i] ? count : elements[ROOM + i];
        }
    }
    elements[THEIRS] = elements[C];
    if (file != NULL) {
        fclose(file);
    }
    for (int i = 0; i < BUFFERS; ++i) {
        memory[i] = aligned_alloc(4096, ((uint64_t)elements[i] * sizeof(double) + 4095) / 4096 * 4096);
        if (memory[i] == NULL) {
            bench_note(SUITE, "not enough memory");
            return false;
        }
        const int64_t period = i == A ? 1009 : 773;
        for (int64_t j = 0; j < elements[i]; ++j) {
            memory[i][j] = (double)(j % period) / (double)period - 0.5;
        }
    }
    return true;
}

static void all_of(int workers)
{
    bench_score modes = {.count = 0};
    char what[60];
    const bool numpy = (workers == 1 || full) && bench_numpy_open(SUITE, workers);
    if (workers == 1) {
        small();
    }
    for (int which = 0; which < 3 && !scene.failed; ++which) {
        mode(which, workers, &modes);
    }
    (void)snprintf(what, sizeof what, "mode products, %s", plural(workers));
    bench_score_rows(SUITE, &modes, what, "best at each point");
    tccg(workers);
    if (numpy) {
        bench_numpy_close();
    }
}

int bench_contract(void)
{
    const char *wish = getenv("TENURE_BENCH_FULL");
    full = wish != NULL && *wish != '\0' && *wish != '0';
    memset(&s, 0, sizeof s);
    if (bench_scene_open(&scene, SUITE, UINT64_C(1) << 30) && take_memory()) {
        bench_blas_open(SUITE, &blases);
        tblis = bench_tblis_open(SUITE);
        (void)bench_function(bench_library(SUITE, "HPTT_LIB", NULL), "dTensorTranspose", &hptt);
        if (!full) {
            bench_note(SUITE, "extents are scaled down; TENURE_BENCH_FULL=1 takes those of the list");
            say_extents();
        }
        for (int workers = 1; workers <= 2 && !scene.failed; ++workers) {
            if (bench_scene_use(&scene, workers)) {
                all_of(workers);
            }
        }
    }
    close_case();
    for (int i = 0; i < BUFFERS; ++i) {
        free(memory[i]);
        memory[i] = NULL;
    }
    bench_scene_close(&scene);
    return scene.failed;
}
