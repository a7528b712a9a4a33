/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries with a BLAS interface: blas.h. */
#define _GNU_SOURCE /* RTLD_DEEPBIND */

#include "blas.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const tnr_c64 one64 = {1.0, 0.0};
static const tnr_c64 zero64 = {0.0, 0.0};
static const tnr_c32 one32 = {1.0F, 0.0F};
static const tnr_c32 zero32 = {0.0F, 0.0F};
static const char letters[BENCH_BLAS_DTYPES] = {'s', 'd', 'c', 'z'};

int bench_blas_index(tnr_dtype dtype) { return (int)dtype - (int)TNR_F32; }

void bench_product_run(const bench_product *p)
{
    const bool wide = p->dtype % 2 == 1;
    const int lda = p->turn_a == 'N' ? p->m : p->k;
    const int ldb = p->turn_b == 'N' ? p->k : p->n;
    p->gemm(&p->turn_a, &p->turn_b, &p->m, &p->n, &p->k, wide ? (const void *)&one64 : (const void *)&one32, p->a, &lda,
            p->b, &ldb, wide ? (const void *)&zero64 : (const void *)&zero32, p->c, &p->m);
}

/* ---- Which kernels ------------------------------------------------------------------------------------------------------- */

/*
 * What the libraries would take by themselves on a machine with a better name. Both know processors by their names, and take kernels
 * that are years too old where a virtual machine hides it.
 */
void bench_blas_environment(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    const char *core = getenv("TENURE_BENCH_OPENBLAS_CORE");
    __builtin_cpu_init();
    const bool v4 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                    __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    const bool v3 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (core == NULL) {
        core = v4 ? "SkylakeX" : __builtin_cpu_is("amd") != 0 ? "Zen" : "Haswell";
        core = v3 ? core : "";
    }
    if (*core != '\0') {
        (void)setenv("OPENBLAS_CORETYPE", core, 1);
        (void)unsetenv("OPENBLAS_L2_SIZE");
    }
    if (v4) {
        (void)setenv("BLIS_ARCH_TYPE", "skx", 0);
    }
#endif
    /* Threads that wait for long, or spin, would be in the way of what is measured in turns with them. */
    (void)setenv("OPENBLAS_THREAD_TIMEOUT", "17", 0);
    (void)setenv("GOMP_SPINCOUNT", "20000", 0);
}

/* ---- Finding them --------------------------------------------------------------------------------------------------------- */

static void *load(const char *suite, const char *variable, const char *fallback)
{
    char text[512];
    const char *path = getenv(variable);
    if (path == NULL || *path == '\0') {
        path = fallback;
    }
    if (path == NULL) {
        (void)snprintf(text, sizeof text, "%s not set", variable);
        bench_note(suite, text);
        return NULL;
    }
    int flags = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND)
    flags |= RTLD_DEEPBIND; /* its own functions, although this process may have others of the same names */
#endif
    void *library = dlopen(path, flags);
    if (library == NULL) {
        (void)snprintf(text, sizeof text, "%s: %s", variable, dlerror());
        bench_note(suite, text);
    }
    return library;
}

/* Every dtype's product against sums made here. */
static bool right(const bench_blas *blas)
{
    enum { M = 37, N = 29, K = 43 };
    static double a[2 * M * K];
    static double b[2 * K * N];
    static double c[2 * M * N];
    for (int d = 0; d < BENCH_BLAS_DTYPES; ++d) {
        const int parts = d < 2 ? 1 : 2;
        const bool wide = d % 2 == 1;
        for (int i = 0; i < parts * M * K; ++i) {
            const double value = (double)(i * 7 % 13) - 6.0;
            wide ? (void)(a[i] = value) : (void)(((float *)a)[i] = (float)value);
        }
        for (int i = 0; i < parts * K * N; ++i) {
            const double value = (double)(i * 5 % 11) - 5.0;
            wide ? (void)(b[i] = value) : (void)(((float *)b)[i] = (float)value);
        }
        if (blas->gemm[d] == NULL) {
            return false;
        }
        bench_product_run(&(bench_product){blas->gemm[d], d, 'N', 'N', M, N, K, a, b, c});
        for (int i = 0; i < M; ++i) {
            for (int j = 0; j < N; ++j) {
                double re = 0.0;
                double im = 0.0;
                for (int k = 0; k < K; ++k) {
                    const int at = parts * (i + k * M);
                    const int bt = parts * (k + j * K);
                    const double ar = (double)(at * 7 % 13) - 6.0;
                    const double br = (double)(bt * 5 % 11) - 5.0;
                    const double ai = parts == 1 ? 0.0 : (double)((at + 1) * 7 % 13) - 6.0;
                    const double bi = parts == 1 ? 0.0 : (double)((bt + 1) * 5 % 11) - 5.0;
                    re += ar * br - ai * bi;
                    im += ar * bi + ai * br;
                }
                const int ct = parts * (i + j * M);
                const double got_re = wide ? c[ct] : (double)((float *)c)[ct];
                const double got_im = parts == 1 ? 0.0 : wide ? c[ct + 1] : (double)((float *)c)[ct + 1];
                if (!(fabs(got_re - re) + fabs(got_im - im) < 1e-3)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void find_functions(void *library, bench_blas *blas)
{
    char name[16];
    for (int d = 0; d < BENCH_BLAS_DTYPES; ++d) {
        (void)snprintf(name, sizeof name, "%cgemm_", letters[d]);
        (void)bench_function(library, name, &blas->gemm[d]);
        (void)snprintf(name, sizeof name, "%cgemv_", letters[d]);
        (void)bench_function(library, name, &blas->gemv[d]);
        (void)snprintf(name, sizeof name, d < 2 ? "%cger_" : "%cgeru_", letters[d]);
        (void)bench_function(library, name, &blas->ger[d]);
    }
    (void)bench_function(library, "sdot_", &blas->sdot);
    (void)bench_function(library, "ddot_", &blas->ddot);
}

static void take(const char *suite, bench_blases *all, const bench_blas *found, const char *version)
{
    char text[256];
    if (!right(found)) {
        (void)snprintf(text, sizeof text, "%s gives wrong results here or lacks a function: left out", found->name);
    } else {
        all->list[all->count++] = *found;
        (void)snprintf(text, sizeof text, "peer: %s (%s)%s", found->name, version,
                       found->two ? "" : ", one thread only");
    }
    bench_note(suite, text);
}

static void find_openblas(const char *suite, bench_blases *all)
{
    void *library = load(suite, "OPENBLAS_LIB", "libopenblas.so.0");
    bench_blas found;
    const char *(*corename)(void) = NULL;
    const char *(*config)(void) = NULL;
    if (library == NULL) {
        return;
    }
    memset(&found, 0, sizeof found);
    find_functions(library, &found);
    (void)bench_function(library, "openblas_get_corename", &corename);
    (void)bench_function(library, "openblas_get_config", &config);
    found.two = bench_function(library, "openblas_set_num_threads", &found.threads) &&
                (config == NULL || strstr(config(), "SINGLE_THREADED") == NULL);
    (void)snprintf(found.name, sizeof found.name, "OpenBLAS %s", corename != NULL ? corename() : "?");
    take(suite, all, &found, config != NULL ? config() : "version unknown");
}

static void find_blis(const char *suite, bench_blases *all)
{
    void *library = load(suite, "BLIS_LIB", "libblis.so.4");
    bench_blas found;
    void (*init)(void) = NULL;
    int (*query)(void) = NULL;
    const char *(*name)(int) = NULL;
    const char *(*version)(void) = NULL;
    int (*threading)(void) = NULL;
    if (library == NULL) {
        return;
    }
    memset(&found, 0, sizeof found);
    find_functions(library, &found);
    if (bench_function(library, "bli_init", &init)) {
        init(); /* BLIS 0.9 aborts when it is asked for its kernels before, and BLIS_ARCH_TYPE names them */
    }
    const bool named =
        bench_function(library, "bli_arch_query_id", &query) && bench_function(library, "bli_arch_string", &name);
    (void)bench_function(library, "bli_info_get_version_str", &version);
    found.two = bench_function(library, "bli_info_get_enable_threading", &threading) && threading() != 0 &&
                bench_function(library, "bli_thread_set_num_threads_", &found.threads_at);
    (void)snprintf(found.name, sizeof found.name, "BLIS %s", named ? name(query()) : "?");
    take(suite, all, &found, version != NULL ? version() : "version unknown");
}

static void find_eigen(const char *suite, bench_blases *all)
{
    void *library = load(suite, "EIGEN_LIB", NULL);
    bench_blas found;
    if (library == NULL) {
        return;
    }
    memset(&found, 0, sizeof found);
    find_functions(library, &found);
    found.two = bench_function(library, "eigen_set_threads", &found.threads);
    (void)snprintf(found.name, sizeof found.name, "Eigen");
    take(suite, all, &found, "kernels as its compiler's options had it");
}

void bench_blas_open(const char *suite, bench_blases *blases)
{
    memset(blases, 0, sizeof *blases);
    find_openblas(suite, blases);
    find_blis(suite, blases);
    find_eigen(suite, blases);
    if (blases->count == 0) {
        bench_note(suite, "no BLAS is here: rows against one are left out");
    }
    for (int i = 0; i < blases->count; ++i) { /* its threads start now, free to run anywhere */
        if (bench_blas_use(&blases->list[i], 2)) {
            (void)right(&blases->list[i]);
        }
    }
}

bool bench_blas_use(const bench_blas *blas, int workers)
{
    if (blas->two && blas->threads != NULL) {
        blas->threads(workers);
    } else if (blas->two) {
        blas->threads_at(&workers);
    }
    return workers == 1 || blas->two;
}
