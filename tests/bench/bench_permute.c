/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suite "permute": the 57 permutations of the TTC set (tests/data/ttc57.txt: rank, axes, extents of the source), f32 and,
 * with the largest extent halved, f64; in memory, into an output of the caller's, one worker and two. Against memcpy of the
 * same bytes and, when HPTT_LIB names it, HPTT's one-call interface, which plans by estimate. Then small reversals, a matrix
 * in cache, and what a plan costs.
 *
 * Twelve of the cases, unless TENURE_BENCH_FULL is set. Figures of memory are GB/s, read and written.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/storage.h"
#include "tenure/tenure.h"

#define MOST_RANK 6
#define MOST_BYTES ((uint64_t)240 << 20)

typedef void (*hptt_f32)(const int *, int, float, const float *, const int *, const int *, float, float *, const int *,
                         int, int);
typedef void (*hptt_f64)(const int *, int, double, const double *, const int *, const int *, double, double *,
                         const int *, int, int);

static struct scene {
    tnr_domain *heap;
    tnr_topology *topology;
    tnr_engine *engines[2]; /* the second NULL where there is one CPU */
    char *memory[2];
    hptt_f32 hptt_f32;
    hptt_f64 hptt_f64;
    bool failed;
} s;

static void must(tnr_status status)
{
    if (status != TNR_OK) {
        bench_note("permute", tnr_last_error());
        s.failed = true;
    }
}

typedef struct problem {
    char name[96];
    tnr_dtype dtype;
    int rank;
    int axes[MOST_RANK];
    int64_t shape[MOST_RANK];
    uint64_t bytes;
    tnr_tensor *tensors[2];
    tnr_view source;
    tnr_view_mut target;
} problem;

/* Tensors over the kept memory, so that nothing is touched for the first time while the clock runs. */
static void open_problem(problem *p)
{
    int64_t out_shape[MOST_RANK];
    p->bytes = tnr_dtype_size(p->dtype);
    for (int i = 0; i < p->rank; ++i) {
        out_shape[i] = p->shape[p->axes[i]];
        p->bytes *= (uint64_t)p->shape[i];
    }
    must(tnr_tensor_adopt(s.heap, p->dtype, p->rank, p->shape, s.memory[0], p->bytes, NULL, NULL, &p->tensors[0]));
    must(tnr_tensor_adopt(s.heap, p->dtype, p->rank, out_shape, s.memory[1], p->bytes, NULL, NULL, &p->tensors[1]));
    if (!s.failed) {
        must(tnr_tensor_view(p->tensors[0], &p->source));
        must(tnr_tensor_view_mut(p->tensors[1], &p->target));
    }
}

static void close_problem(problem *p)
{
    for (int i = 0; i < 2; ++i) {
        if (p->tensors[i] != NULL) {
            must(tnr_tensor_release(&p->tensors[i]));
        }
    }
}

static void run_ours(const problem *p, tnr_engine *engine)
{
    must(tnr_permute_into(engine, &p->source, p->axes, &p->target));
}

static void run_hptt(const problem *p, int threads)
{
    int extents[MOST_RANK];
    for (int i = 0; i < p->rank; ++i) {
        extents[i] = (int)p->shape[i];
    }
    if (p->dtype == TNR_F32) {
        s.hptt_f32(p->axes, p->rank, 1.0F, (const float *)(void *)s.memory[0], extents, NULL, 0.0F,
                   (float *)(void *)s.memory[1], NULL, threads, 0);
    } else {
        s.hptt_f64(p->axes, p->rank, 1.0, (const double *)(void *)s.memory[0], extents, NULL, 0.0,
                   (double *)(void *)s.memory[1], NULL, threads, 0);
    }
}

/* The best of so many rounds of `calls` executions, in ns each; what is compared is measured in turns by the caller. */
typedef struct best {
    double ns;
} best;

#define TIME(result, calls, statement)                                                 \
    do {                                                                               \
        const uint64_t begin_ = bench_now_ns();                                        \
        for (int call_ = 0; call_ < (calls); ++call_) {                                \
            statement;                                                                 \
        }                                                                              \
        const double each_ = (double)(bench_now_ns() - begin_) / (calls);              \
        (result).ns = (result).ns == 0.0 || each_ < (result).ns ? each_ : (result).ns; \
    } while (0)

/* ---- In memory ---------------------------------------------------------------------------------------------------------- */

/* Ratios of one table: products, to be rooted, and the worst. */
typedef struct score {
    double memcpy_logs;
    double memcpy_worst;
    double hptt_logs;
    double hptt_worst;
    int cases;
} score;

static void note_score(const char *name, const score *all)
{
    char text[200];
    const int length = snprintf(text, sizeof text, "%s: %d cases, geometric mean %.3f of memcpy, worst %.3f", name,
                                all->cases, exp(all->memcpy_logs / all->cases), all->memcpy_worst);
    if (all->hptt_worst != 0.0) {
        snprintf(text + length, sizeof text - (size_t)length, "; %.3f of HPTT, worst %.3f",
                 exp(all->hptt_logs / all->cases), all->hptt_worst);
    }
    bench_note("permute", text);
}

static bool read_case(FILE *file, problem *p, tnr_dtype dtype)
{
    char text[128];
    if (fgets(text, sizeof text, file) == NULL) {
        return false;
    }
    text[strcspn(text, "\n")] = 0;
    memset(p, 0, sizeof *p);
    p->dtype = dtype;
    char *at = text;
    p->rank = (int)strtol(at, &at, 10);
    if (p->rank < 1 || p->rank > MOST_RANK) {
        return false;
    }
    for (int i = 0; i < p->rank; ++i) {
        p->axes[i] = (int)strtol(at, &at, 10);
    }
    int longest = 0;
    for (int i = 0; i < p->rank; ++i) {
        p->shape[i] = strtoll(at, &at, 10);
        longest = p->shape[i] > p->shape[longest] ? i : longest;
    }
    if (dtype == TNR_F64) {
        p->shape[longest] /= 2;
    }
    snprintf(p->name, sizeof p->name, "%s %.60s", dtype == TNR_F32 ? "f32" : "f64", text + 2);
    return true;
}

static void measure_case(problem *p, score scores[2])
{
    best copied = {0.0};
    best ours[2] = {{0.0}, {0.0}};
    best peer[2] = {{0.0}, {0.0}};
    const bool hptt = p->dtype == TNR_F32 ? s.hptt_f32 != NULL : s.hptt_f64 != NULL;
    for (int round = 0; round < 5; ++round) {
        TIME(copied, 1, memcpy(s.memory[1], s.memory[0], p->bytes));
        for (int i = 0; i < 2; ++i) {
            if (s.engines[i] != NULL) {
                TIME(ours[i], 1, run_ours(p, s.engines[i]));
                if (hptt) {
                    TIME(peer[i], 1, run_hptt(p, i + 1));
                }
            }
        }
    }
    const double moved = 2.0 * (double)p->bytes;
    for (int i = 0; i < 2 && s.engines[i] != NULL; ++i) {
        char name[128];
        snprintf(name, sizeof name, "%s, %s", p->name, i == 0 ? "1 worker" : "2 workers");
        const double ratio = copied.ns / ours[i].ns;
        bench_row("permute", name, "GB/s", moved / ours[i].ns, "memcpy, 1 thread", moved / copied.ns, false);
        scores[i].memcpy_logs += log(ratio);
        scores[i].memcpy_worst =
            scores[i].cases == 0 || ratio < scores[i].memcpy_worst ? ratio : scores[i].memcpy_worst;
        if (hptt) {
            const double ahead = peer[i].ns / ours[i].ns;
            bench_row("permute", name, "GB/s", moved / ours[i].ns, i == 0 ? "HPTT, 1 thread" : "HPTT, 2 threads",
                      moved / peer[i].ns, false);
            scores[i].hptt_logs += log(ahead);
            scores[i].hptt_worst = scores[i].cases == 0 || ahead < scores[i].hptt_worst ? ahead : scores[i].hptt_worst;
        }
        ++scores[i].cases;
    }
}

static void bench_memory(tnr_dtype dtype)
{
    const char *full = getenv("TENURE_BENCH_FULL");
    const int every = full != NULL && *full != '\0' && *full != '0' ? 1 : 5;
    FILE *file = fopen(TENURE_BENCH_DATA "/ttc57.txt", "r");
    if (file == NULL) {
        bench_note("permute", TENURE_BENCH_DATA "/ttc57.txt cannot be read");
        return;
    }
    score scores[2];
    memset(scores, 0, sizeof scores);
    problem p;
    for (int i = 0; read_case(file, &p, dtype) && !s.failed; ++i) {
        if (i % every != 0) {
            continue;
        }
        open_problem(&p);
        if (!s.failed) {
            measure_case(&p, scores);
        }
        close_problem(&p);
    }
    fclose(file);
    note_score(dtype == TNR_F32 ? "f32, 1 worker" : "f64, 1 worker", &scores[0]);
    if (s.engines[1] != NULL) {
        note_score(dtype == TNR_F32 ? "f32, 2 workers" : "f64, 2 workers", &scores[1]);
    }
}

/* ---- In cache, and small -------------------------------------------------------------------------------------------------- */

static void bench_small(const char *name, tnr_dtype dtype, int rank, int64_t extent, int calls)
{
    problem p = {.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; ++i) {
        p.axes[i] = rank - 1 - i;
        p.shape[i] = extent;
    }
    open_problem(&p);
    const bool hptt = dtype == TNR_F32 ? s.hptt_f32 != NULL : s.hptt_f64 != NULL;
    best ours = {0.0};
    best copied = {0.0};
    best peer = {0.0};
    for (int round = 0; round < 25 && !s.failed; ++round) {
        TIME(ours, calls, run_ours(&p, s.engines[0]));
        TIME(copied, calls, memcpy(s.memory[1], s.memory[0], p.bytes));
        if (hptt) {
            TIME(peer, calls, run_hptt(&p, 1));
        }
    }
    bench_row("permute", name, "ns", ours.ns, "memcpy", copied.ns, true);
    if (hptt) {
        bench_row("permute", name, "ns", ours.ns, "HPTT, plan and run", peer.ns, true);
    }
    close_problem(&p);
}

static void bench_planning(void)
{
    static const int64_t shape[6] = {32, 15, 15, 15, 15, 32};
    int64_t target_strides[6];
    int64_t source_strides[6];
    int64_t step = 1;
    for (int i = 0; i < 6; ++i) {
        target_strides[i] = step;
        step *= shape[i];
    }
    step = 1;
    for (int i = 5; i >= 0; --i) {
        source_strides[i] = step;
        step *= shape[i];
    }
    tnri_copy_plan plan;
    best ours = {0.0};
    for (int round = 0; round < 25; ++round) {
        TIME(ours, 10000,
             tnri_copy_plan_make(&plan, tnri_copy_kernels_of(tnri_isa_best()), true, 4, 6, shape, s.memory[1],
                                 target_strides, s.memory[0], source_strides));
    }
    bench_row("permute", "planning, rank 6", "ns", ours.ns, "none", 0.0, true);
}

int bench_permute(void)
{
    memset(&s, 0, sizeof s);
    void *library = bench_library("permute", "HPTT_LIB", NULL);
    if (!bench_function(library, "sTensorTranspose", &s.hptt_f32) ||
        !bench_function(library, "dTensorTranspose", &s.hptt_f64)) {
        s.hptt_f32 = NULL;
        s.hptt_f64 = NULL;
    }
    must(tnr_heap_create(&s.heap));
    must(tnr_topology_create(s.heap, NULL, &s.topology));
    for (int i = 0; i < 2 && !s.failed; ++i) {
        tnr_engine_options options = TNR_ENGINE_OPTIONS;
        options.topology = s.topology;
        options.workers = i + 1;
        if (tnr_engine_create(s.heap, &options, &s.engines[i]) != TNR_OK) {
            bench_note("permute", tnr_last_error());
        }
        s.memory[i] = aligned_alloc(4096, MOST_BYTES);
        s.failed = s.failed || s.memory[i] == NULL;
    }
    s.failed = s.failed || s.engines[0] == NULL;
    if (!s.failed) {
        for (uint64_t i = 0; i < MOST_BYTES / sizeof(double); ++i) {
            ((double *)(void *)s.memory[0])[i] = 1.0 + (double)(i % 1000003);
        }
        memset(s.memory[1], 0, MOST_BYTES);
        bench_small("reversal of 4^4 f64", TNR_F64, 4, 4, 2000);
        bench_small("reversal of 8^4 f64", TNR_F64, 4, 8, 200);
        bench_small("reversal of 16^4 f64", TNR_F64, 4, 16, 10);
        bench_small("transposition of 1000 x 1000 f32", TNR_F32, 2, 1000, 1);
        bench_planning();
        bench_memory(TNR_F32);
        bench_memory(TNR_F64);
    }
    for (int i = 0; i < 2; ++i) {
        if (s.engines[i] != NULL) {
            must(tnr_engine_destroy(&s.engines[i]));
        }
        free(s.memory[i]);
    }
    if (s.topology != NULL) {
        must(tnr_topology_destroy(&s.topology));
    }
    if (s.heap != NULL) {
        must(tnr_domain_close(&s.heap));
    }
    return s.failed ? 1 : 0;
}
