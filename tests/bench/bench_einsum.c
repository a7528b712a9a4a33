/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suite "einsum": many operands in one call and from a plan. Matrix product states of c64 with two states per site: one site's update
 * of an environment, an environment carried over 32 sites, and the inner product of two states of 8 sites as one equation; chains of
 * matrices, an outer product, a permuted product; and how long finding a path takes. Against two products of a BLAS library for each
 * site where the operands lie so that nothing else is to be done, and NumPy's einsum(optimize='greedy').
 *
 * One worker, and two for what is worth it. NumPy is timed in a process of its own, not in turns with ours.
 */
#include "bench.h"
#include "blas.h"
#include "loops.h"
#include "race.h"
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE "einsum"

enum { SITES = 32, STATES = 2, MOST_BOND = 64, MOST_BYTES = 200 << 20, MOST_OPERANDS = TNR_EINSUM_OPERANDS };

static bench_scene scene;
static bench_blases blases;
static char *memory; /* operands, one behind the other, then the result, then the other one's result */
static size_t used;

/* Everything a measured call looks at. */
static struct operands {
    const char *equation;
    tnr_dtype dtype;
    int count;
    tnr_tensor *tensors[MOST_OPERANDS + 1];
    tnr_view views[MOST_OPERANDS];
    const tnr_view *list[MOST_OPERANDS];
    tnr_view out_view;
    tnr_view_mut out;
    tnr_einsum_options options;
    tnr_plan *plan;
    tnr_contraction_path path;
} s;

static void must(tnr_status status) { bench_scene_must(&scene, status); }

static const char *plural(int workers) { return workers == 1 ? "1 worker" : "2 workers"; }

/* ---- Operands ------------------------------------------------------------------------------------------------------------ */

/* So many bytes of the memory, filled. */
static void *take(size_t bytes)
{
    char *at = memory + used;
    used += (bytes + 63) / 64 * 64;
    if (used > MOST_BYTES) {
        bench_note(SUITE, "the cases need more memory than was thought of");
        scene.failed = true;
        return memory;
    }
    double *values = (double *)(void *)at;
    for (size_t i = 0; i < bytes / sizeof(double); ++i) {
        values[i] = (double)((i * 7 + used) % 1009) / 1009.0 - 0.5;
    }
    return at;
}

static tnr_tensor *open_tensor(tnr_dtype dtype, int rank, const int64_t *shape, void **data)
{
    tnr_tensor *tensor = NULL;
    size_t bytes = tnr_dtype_size(dtype);
    for (int axis = 0; axis < rank; ++axis) {
        bytes *= (size_t)shape[axis];
    }
    void *at = take(bytes);
    if (!scene.failed) {
        must(tnr_tensor_adopt(scene.heap, dtype, rank, shape, at, bytes, NULL, NULL, &tensor));
    }
    if (data != NULL) {
        *data = at;
    }
    return tensor;
}

/* The next word of labels of an equation; its extents too. Returns its length. */
static int next_word(const char **at, const int64_t extents[128], int64_t shape[TNR_MAX_RANK])
{
    int rank = 0;
    while (**at == ',' || **at == '-' || **at == '>') {
        ++*at;
    }
    for (; **at != '\0' && **at != ',' && **at != '-'; ++*at) {
        shape[rank++] = extents[(unsigned char)**at];
    }
    return rank;
}

static void close_case(void)
{
    must(tnr_plan_destroy(&s.plan));
    for (int i = 0; i <= MOST_OPERANDS; ++i) {
        must(tnr_tensor_release(&s.tensors[i]));
    }
    used = 0;
}

static void open_case(const char *equation, tnr_dtype dtype, const int64_t extents[128], uint64_t conjugate)
{
    int64_t shape[TNR_MAX_RANK];
    const char *at = equation;
    s.equation = equation;
    s.dtype = dtype;
    s.options = (tnr_einsum_options)TNR_EINSUM_OPTIONS;
    s.options.conjugate = conjugate;
    s.count = 1;
    for (const char *c = equation; *c != '\0'; ++c) {
        s.count += *c == ',';
    }
    for (int i = 0; i <= s.count && !scene.failed; ++i) {
        const int rank = next_word(&at, extents, shape);
        s.tensors[i] = open_tensor(dtype, rank, shape, NULL);
        if (!scene.failed && i < s.count) {
            must(tnr_tensor_view(s.tensors[i], &s.views[i]));
            s.list[i] = &s.views[i];
        }
    }
    if (!scene.failed) {
        must(tnr_tensor_view(s.tensors[s.count], &s.out_view));
        must(tnr_tensor_view_mut(s.tensors[s.count], &s.out));
        must(tnr_plan_einsum(scene.engine, equation, s.list, s.count, &s.out_view, &s.options, &s.plan));
        must(tnr_einsum_path(equation, s.list, s.count, &s.options, &s.path));
    }
}

/* ---- What is measured ------------------------------------------------------------------------------------------------------ */

static void ours(void *unused)
{
    (void)unused;
    must(tnr_einsum_into(scene.engine, s.equation, s.list, s.count, &s.options, &s.out));
}

static void ours_plan(void *unused)
{
    (void)unused;
    must(tnr_plan_run_into(s.plan, s.list, s.count, &s.out));
}

static void ours_path(void *unused)
{
    (void)unused;
    must(tnr_einsum_path(s.equation, s.list, s.count, &s.options, &s.path));
}

/* ---- NumPy ------------------------------------------------------------------------------------------------------------------ */

/* Arrays of the case's shapes in a list; false: no NumPy. Those that are conjugated here are so before the clock runs there. */
static bool numpy_operands(void)
{
    char statement[512];
    if (!bench_numpy_set("operands = []; rng = np.random.default_rng(1)")) {
        return false;
    }
    for (int i = 0; i < s.count; ++i) {
        size_t length = (size_t)snprintf(statement, sizeof statement, "shape = (");
        for (int axis = 0; axis < s.views[i].rank; ++axis) {
            length += (size_t)snprintf(statement + length, sizeof statement - length, "%lld,",
                                       (long long)s.views[i].shape[axis]);
        }
        (void)snprintf(statement + length, sizeof statement - length, "); operands.append(rng.random(shape) - 0.5%s)",
                       s.dtype == TNR_C64 ? " + 1j * rng.random(shape)" : "");
        if (!bench_numpy_set(statement)) {
            return false;
        }
    }
    return true;
}

static double numpy_einsum(void)
{
    char expression[512];
    (void)snprintf(expression, sizeof expression, "np.einsum('%s', *operands, optimize='greedy')", s.equation);
    return numpy_operands() ? bench_numpy(expression, 0) : 0.0;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------------------ */

typedef struct scores {
    bench_score best; /* against the best library */
    bench_score plans;
    bench_score numpy;
} scores;

static void row(const char *name, const char *unit, double scale, double ours_ns, const char *peer, double peer_ns)
{
    if (peer_ns > 0.0) {
        bench_row(SUITE, name, unit, ours_ns / scale, peer, peer_ns / scale, true);
    }
}

/* A race's rows, ours first and from a plan second, then NumPy's. */
static void rows(const bench_field *field, const char *title, int workers, double numpy_ns, scores *score)
{
    char name[200];
    const double ns = field->racers[0].ns;
    const double plan_ns = field->racers[1].ns;
    (void)snprintf(name, sizeof name, "%s, %s", title, plural(workers));
    for (int i = 2; i < field->count; ++i) {
        row(name, "us", 1000.0, ns, field->racers[i].name, field->racers[i].ns);
    }
    row(name, "us", 1000.0, ns, "NumPy", numpy_ns);
    (void)snprintf(name, sizeof name, "%s, from a plan, %s", title, plural(workers));
    const int best = bench_fastest(field, 2);
    if (best > 0) {
        row(name, "us", 1000.0, plan_ns, field->racers[best].name, field->racers[best].ns);
        bench_score_add(&score->best, field->racers[best].ns / ns, title);
        bench_score_add(&score->plans, field->racers[best].ns / plan_ns, title);
    }
    row(name, "us", 1000.0, plan_ns, "the same call without a plan", ns);
    if (numpy_ns > 0.0) {
        bench_score_add(&score->numpy, numpy_ns / ns, title);
    }
}

static void score_rows(const scores *score, const char *what, int workers)
{
    char name[100];
    (void)snprintf(name, sizeof name, "%s, %s", what, plural(workers));
    bench_score_rows(SUITE, &score->best, name, "best library at each point");
    bench_score_rows(SUITE, &score->numpy, name, "NumPy");
    (void)snprintf(name, sizeof name, "%s, from plans, %s", what, plural(workers));
    bench_score_rows(SUITE, &score->plans, name, "best library at each point");
}

/* ---- Environments of matrix product states ---------------------------------------------------------------------------------- */

/* Environments e, one before and one behind each site; a and b: one tensor of each state per site; t between the two products. */
static struct chain {
    int sites;
    int bond;
    tnr_tensor *tensors[3 * SITES + 2];
    tnr_view e_views[2];
    tnr_view_mut e_targets[2];
    tnr_view a_views[SITES];
    tnr_view b_views[SITES];
    void *a[SITES];
    void *b[SITES];
    void *e[2];
    void *others[2]; /* environments of the other ones */
    void *t;
    tnr_plan *plan;
    tnr_einsum_options options;
} chain;

static const char *const site = "ab,asc,bsd->cd";

static void close_chain(void)
{
    must(tnr_plan_destroy(&chain.plan));
    for (int i = 0; i < 3 * SITES + 2; ++i) {
        must(tnr_tensor_release(&chain.tensors[i]));
    }
    used = 0;
}

static void open_chain(int sites, int bond)
{
    const int64_t square[2] = {bond, bond};
    const int64_t of_site[3] = {bond, STATES, bond};
    const size_t bytes = (size_t)bond * (size_t)bond * sizeof(tnr_c64);
    int taken = 0;
    memset(&chain, 0, sizeof chain);
    chain.sites = sites;
    chain.bond = bond;
    chain.options = (tnr_einsum_options)TNR_EINSUM_OPTIONS;
    chain.options.conjugate = UINT64_C(1) << 1;
    for (int i = 0; i < 2 && !scene.failed; ++i) {
        chain.tensors[taken] = open_tensor(TNR_C64, 2, square, &chain.e[i]);
        if (!scene.failed) {
            must(tnr_tensor_view(chain.tensors[taken], &chain.e_views[i]));
            must(tnr_tensor_view_mut(chain.tensors[taken], &chain.e_targets[i]));
        }
        ++taken;
        chain.others[i] = take(bytes);
        memcpy(chain.others[i], chain.e[i], bytes);
    }
    chain.t = take(STATES * bytes);
    for (int i = 0; i < sites && !scene.failed; ++i) {
        chain.tensors[taken] = open_tensor(TNR_C64, 3, of_site, &chain.a[i]);
        chain.tensors[taken + 1] = open_tensor(TNR_C64, 3, of_site, &chain.b[i]);
        if (!scene.failed) {
            must(tnr_tensor_view(chain.tensors[taken], &chain.a_views[i]));
            must(tnr_tensor_view(chain.tensors[taken + 1], &chain.b_views[i]));
        }
        taken += 2;
    }
    if (!scene.failed) {
        const tnr_view *const operands[3] = {&chain.e_views[0], &chain.a_views[0], &chain.b_views[0]};
        must(tnr_plan_einsum(scene.engine, site, operands, 3, &chain.e_views[1], &chain.options, &chain.plan));
    }
}

static void ours_chain(void *unused)
{
    (void)unused;
    for (int i = 0; i < chain.sites; ++i) {
        const tnr_view *const operands[3] = {&chain.e_views[i % 2], &chain.a_views[i], &chain.b_views[i]};
        must(tnr_einsum_into(scene.engine, site, operands, 3, &chain.options, &chain.e_targets[1 - i % 2]));
    }
}

static void ours_chain_plan(void *unused)
{
    (void)unused;
    for (int i = 0; i < chain.sites; ++i) {
        const tnr_view *const operands[3] = {&chain.e_views[i % 2], &chain.a_views[i], &chain.b_views[i]};
        must(tnr_plan_run_into(chain.plan, operands, 3, &chain.e_targets[1 - i % 2]));
    }
}

static void peer_chain(void *context)
{
    const bench_blas *blas = context;
    const int bond = chain.bond;
    for (int i = 0; i < chain.sites; ++i) {
        bench_product_run(&(bench_product){blas->gemm[3], 3, 'N', 'N', bond, STATES * bond, bond, chain.others[i % 2],
                                           chain.b[i], chain.t});
        bench_product_run(&(bench_product){blas->gemm[3], 3, 'C', 'N', bond, bond, STATES * bond, chain.a[i], chain.t,
                                           chain.others[1 - i % 2]});
    }
}

/* One run of each from the same environment: what they give is the same but for rounding. */
static void compare_chains(const bench_field *field, const char *title)
{
    const size_t count = 2 * (size_t)chain.bond * (size_t)chain.bond;
    double *start = malloc(count * sizeof *start);
    if (start == NULL) {
        return;
    }
    memcpy(start, chain.e[0], count * sizeof *start);
    const int last = chain.sites % 2;
    for (int racer = 1; racer < field->count && !scene.failed; ++racer) {
        double largest = 0.0;
        double apart = 0.0;
        memcpy(chain.e[0], start, count * sizeof *start);
        memcpy(chain.others[0], start, count * sizeof *start);
        if (racer == 1) {
            ours_chain(NULL);
            memcpy(chain.others[last], chain.e[last], count * sizeof *start);
            memcpy(chain.e[0], start, count * sizeof *start);
            ours_chain_plan(NULL);
        } else {
            ours_chain(NULL);
            field->racers[racer].run(field->racers[racer].context);
        }
        for (size_t i = 0; i < count; ++i) {
            const double one = ((double *)chain.e[last])[i];
            const double other = ((double *)chain.others[last])[i];
            largest = fmax(largest, fabs(one));
            apart = fmax(apart, fabs(one - other));
        }
        if (!(apart <= 1e-11 * largest)) {
            char text[240];
            (void)snprintf(text, sizeof text, "%.90s: ours and %.60s differ by %g of %g", title,
                           field->racers[racer].name, apart, largest);
            bench_note(SUITE, text);
            scene.failed = true;
        }
    }
    memset(chain.e[0], 0, count * sizeof *start); /* from now on nothing grows from run to run */
    memset(chain.others[0], 0, count * sizeof *start);
    free(start);
}

static double numpy_chain(void)
{
    char statement[256];
    (void)snprintf(statement, sizeof statement,
                   "n = %d; rng = np.random.default_rng(1); new = lambda *x: rng.random(x) + 1j * rng.random(x) - 0.5; "
                   "e = np.zeros((n, n), complex); ab = [(new(n, 2, n), new(n, 2, n)) for _ in range(%d)]",
                   chain.bond, chain.sites);
    return bench_numpy_set("import functools") && bench_numpy_set(statement)
               ? bench_numpy("functools.reduce(lambda x, y: np.einsum('ab,asc,bsd->cd', x, y[0], y[1], "
                             "optimize='greedy'), ab, e)",
                             0)
               : 0.0;
}

static void measure_chain(int sites, int bond, int workers, scores *score)
{
    bench_field field = {.count = 0};
    char title[80];
    open_chain(sites, bond);
    if (scene.failed) {
        return;
    }
    (void)snprintf(title, sizeof title, "%s, bond %d, c64", sites == 1 ? "site of an MPS" : "MPS chain of 32 sites",
                   bond);
    bench_enter(&field, ours_chain, NULL, "ours");
    bench_enter(&field, ours_chain_plan, NULL, "ours, from a plan");
    for (int i = 0; i < blases.count; ++i) {
        if (bench_blas_use(&blases.list[i], workers)) {
            bench_enter(&field, peer_chain, &blases.list[i], "two products a site, %s", blases.list[i].name);
        }
    }
    compare_chains(&field, title);
    if (!scene.failed) {
        bench_race(&field, 150.0, workers == 1);
        rows(&field, title, workers, workers == 1 ? numpy_chain() : 0.0, score);
    }
    close_chain();
}

static void chains(int workers)
{
    static const int bonds[] = {1, 2, 4, 8, 16, 32, MOST_BOND};
    scores one;
    scores all;
    memset(&one, 0, sizeof one);
    memset(&all, 0, sizeof all);
    for (size_t i = 0; i < sizeof bonds / sizeof *bonds && !scene.failed; ++i) {
        measure_chain(1, bonds[i], workers, &one);
        if (bonds[i] >= 4 && !scene.failed) {
            measure_chain(SITES, bonds[i], workers, &all);
        }
    }
    score_rows(&one, "sites", workers);
    score_rows(&all, "MPS chains, bonds 4 to 64", workers);
}

/* ---- Equations ---------------------------------------------------------------------------------------------------------------- */

static void measure(const char *title, const char *equation, tnr_dtype dtype, const int64_t extents[128],
                    uint64_t conjugate, int workers, scores *score)
{
    bench_field field = {.count = 0};
    open_case(equation, dtype, extents, conjugate);
    if (!scene.failed) {
        bench_enter(&field, ours, NULL, "ours");
        bench_enter(&field, ours_plan, NULL, "ours, from a plan");
        bench_race(&field, 150.0, workers == 1);
        rows(&field, title, workers, workers == 1 ? numpy_einsum() : 0.0, score);
    }
    close_case();
}

static void set_all(int64_t extents[128], int64_t extent)
{
    for (int i = 0; i < 128; ++i) {
        extents[i] = extent;
    }
}

/* Inner product of two states of 8 sites. Bonds of one are a to g, of the other h to n, states A to H. */
static const char *const inner = "Aa,Ah,aBb,hBi,bCc,iCj,cDd,jDk,dEe,kEl,eFf,lFm,fGg,mGn,gH,nH->";

/* A chain of so many matrices: "ab,bc,...->az", letters and then capitals. */
static const char *matrix_chain(int count, char text[3 * MOST_OPERANDS + 8])
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = 0;
    for (int i = 0; i < count; ++i) {
        text[length++] = names[i];
        text[length++] = names[i + 1];
        text[length++] = ',';
    }
    (void)snprintf(text + length - 1, 8, "->a%c", names[count]);
    return text;
}

static void varying(int64_t extents[128])
{
    uint64_t random = 20261130;
    for (int i = 0; i < 128; ++i) {
        extents[i] = 8 + (int64_t)(bench_random(&random) % 121);
    }
}

static void equations(int workers)
{
    scores score;
    int64_t extents[128];
    char text[3 * MOST_OPERANDS + 8];
    char title[80];
    memset(&score, 0, sizeof score);
    for (int bond = 4; bond <= MOST_BOND && !scene.failed; bond *= 4) {
        set_all(extents, bond);
        for (int state = 'A'; state <= 'H'; ++state) {
            extents[state] = STATES;
        }
        (void)snprintf(title, sizeof title, "inner product of two MPS of 8 sites, bond %d, c64", bond);
        measure(title, inner, TNR_C64, extents, 0x5555, workers, &score);
    }
    set_all(extents, 64);
    measure("chain of 10 matrices of 64x64, f64", matrix_chain(10, text), TNR_F64, extents, 0, workers, &score);
    varying(extents);
    measure("chain of 10 matrices, extents 8 to 128, f64", matrix_chain(10, text), TNR_F64, extents, 0, workers,
            &score);
    measure("chain of 31 matrices, extents 8 to 128, f64", matrix_chain(31, text), TNR_F64, extents, 0, workers,
            &score);
    set_all(extents, 32);
    measure("abcd,dbef->acef, extents 32, f64", "abcd,dbef->acef", TNR_F64, extents, 0, workers, &score);
    set_all(extents, 1024);
    measure("outer product of two vectors of 1024, f64", "a,b->ab", TNR_F64, extents, 0, workers, &score);
    set_all(extents, 10);
    measure("ij,jk,kl->il, extents 10, f64", "ij,jk,kl->il", TNR_F64, extents, 0, workers, &score);
    score_rows(&score, "equations", workers);
}

/* ---- Paths -------------------------------------------------------------------------------------------------------------------- */

static void path(const char *title, const char *equation, const int64_t extents[128], tnr_einsum_mode mode,
                 const char *numpy_mode)
{
    bench_field field = {.count = 0};
    char expression[512];
    char name[100];
    open_case(equation, TNR_F64, extents, 0);
    if (!scene.failed) {
        s.options.mode = mode;
        bench_enter(&field, ours_path, NULL, "ours");
        bench_race(&field, 100.0, true);
        (void)snprintf(name, sizeof name, "path of a %s", title);
        (void)snprintf(expression, sizeof expression, "np.einsum_path('%s', *operands, optimize='%s')", equation,
                       numpy_mode);
        const double numpy_ns = numpy_operands() ? bench_numpy(expression, 0) : 0.0;
        if (numpy_ns > 0.0) {
            row(name, "us", 1000.0, field.racers[0].ns, "NumPy's path and report", numpy_ns);
        } else {
            bench_row(SUITE, name, "us", field.racers[0].ns / 1000.0, "none", 0.0, true);
        }
    }
    close_case();
}

static void paths(void)
{
    int64_t extents[128];
    char text[3 * MOST_OPERANDS + 8];
    varying(extents);
    path("chain of 3, exact", matrix_chain(3, text), extents, TNR_EINSUM_EXACT, "optimal");
    path("chain of 6, exact", matrix_chain(6, text), extents, TNR_EINSUM_EXACT, "optimal");
    path("chain of 12, exact", matrix_chain(12, text), extents, TNR_EINSUM_EXACT, "greedy");
    path("chain of 10, greedy", matrix_chain(10, text), extents, TNR_EINSUM_GREEDY, "greedy");
    path("chain of 31, greedy", matrix_chain(31, text), extents, TNR_EINSUM_GREEDY, "greedy");
}

/* ---- The suite ----------------------------------------------------------------------------------------------------------------- */

int bench_einsum(void)
{
    memset(&s, 0, sizeof s);
    memory = aligned_alloc(4096, MOST_BYTES);
    if (bench_scene_open(&scene, SUITE, UINT64_C(1) << 30) && memory != NULL) {
        bench_blas_open(SUITE, &blases);
        for (int workers = 1; workers <= 2 && !scene.failed; ++workers) {
            if (!bench_scene_use(&scene, workers)) {
                continue;
            }
            const bool numpy = workers == 1 && bench_numpy_open(SUITE, workers);
            chains(workers);
            equations(workers);
            if (workers == 1) {
                paths();
            }
            if (numpy) {
                bench_numpy_close();
            }
        }
    }
    close_case();
    close_chain();
    free(memory);
    bench_scene_close(&scene);
    return scene.failed;
}
