/* SPDX-License-Identifier: BSD-3-Clause */
/* tenure-bench [SUITE...]: run suites, all of them when none is named, and print one JSON object per line. */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blas.h"

/* A build may have only some of the suites. */
#if defined(__GNUC__)
#pragma weak bench_arena
#pragma weak bench_pool
#pragma weak bench_dispatch
#pragma weak bench_elementwise
#pragma weak bench_reduce
#pragma weak bench_permute
#pragma weak bench_gemm
#pragma weak bench_contract
#pragma weak bench_einsum
#pragma weak bench_copy
#pragma weak bench_cuda
#endif

static const struct suite {
    const char *name;
    int (*run)(void);
} suites[] = {
    {"arena", bench_arena},       {"pool", bench_pool},
    {"dispatch", bench_dispatch}, {"elementwise", bench_elementwise},
    {"reduce", bench_reduce},     {"permute", bench_permute},
    {"gemm", bench_gemm},         {"contract", bench_contract},
    {"einsum", bench_einsum},     {"copy", bench_copy},
    {"cuda", bench_cuda},
};

#define SUITES (sizeof(suites) / sizeof(suites[0]))

/* ---- Output ------------------------------------------------------------------------------------------------------ */

static void print_string(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar((unsigned char)*text < 0x20 ? ' ' : *text);
    }
    putchar('"');
}

void bench_row(const char *suite, const char *name, const char *unit, double ours, const char *peer, double peer_value,
               bool smaller_is_better)
{
    const double ratio = smaller_is_better ? peer_value / ours : ours / peer_value;
    fputs("{\"suite\": ", stdout);
    print_string(suite);
    fputs(", \"case\": ", stdout);
    print_string(name);
    fputs(", \"unit\": ", stdout);
    print_string(unit);
    printf(", \"ours\": %.6g, \"peer\": ", ours);
    print_string(peer);
    printf(", \"peer_value\": %.6g, \"ratio\": %.4g}\n", peer_value, ratio);
    fflush(stdout);
}

void bench_note(const char *suite, const char *text)
{
    fputs("{\"suite\": ", stdout);
    print_string(suite);
    fputs(", \"note\": ", stdout);
    print_string(text);
    fputs("}\n", stdout);
    fflush(stdout);
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

uint64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

double bench_ns_per_tick(void)
{
    static double length;
    if (length == 0.0) {
        const uint64_t start_ns = bench_now_ns();
        const uint64_t start = bench_ticks();
        while (bench_now_ns() - start_ns < 50000000U) {
        }
        const uint64_t ticks = bench_ticks() - start;
        length = (double)(bench_now_ns() - start_ns) / (double)ticks;
    }
    return length;
}

static int compare_samples(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

void bench_sort(uint32_t *samples, size_t count) { qsort(samples, count, sizeof(*samples), compare_samples); }

double bench_quantile(const uint32_t *sorted, size_t count, double quantile)
{
    const size_t at = (size_t)(quantile * (double)(count - 1) + 0.5);
    return (double)sorted[at];
}

/* ---- Peers ------------------------------------------------------------------------------------------------------- */

void *bench_library(const char *suite, const char *variable, const char *fallback)
{
    char text[512];
    const char *path = getenv(variable);
    if (path == NULL || *path == '\0') {
        path = fallback;
    }
    if (path == NULL) {
        snprintf(text, sizeof(text), "%s not set", variable);
        bench_note(suite, text);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(text, sizeof(text), "%s: %s", variable, dlerror());
        bench_note(suite, text);
    }
    return library;
}

bool bench_function(void *library, const char *name, void *function)
{
    void *address = library != NULL ? dlsym(library, name) : NULL;
    memcpy(function, &address, sizeof(address));
    return address != NULL;
}

int main(int count, char **arguments)
{
    int failures = 0;
#if defined(__linux__)
    /* jemalloc wants more room for thread-local variables than glibc keeps for libraries that are loaded late. */
    if (setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=65536", 0) == 0 &&
        getenv("TENURE_BENCH_AGAIN") == NULL && setenv("TENURE_BENCH_AGAIN", "1", 1) == 0) {
        execv("/proc/self/exe", arguments);
    }
#endif
    bench_blas_environment();
    for (size_t i = 0; i < SUITES; i++) {
        bool wanted = count < 2;
        for (int j = 1; j < count; j++) {
            wanted = wanted || strcmp(arguments[j], suites[i].name) == 0;
        }
        if (!wanted) {
            continue;
        }
        if (suites[i].run == NULL) {
            bench_note(suites[i].name, "not in this build");
        } else if (suites[i].run() != 0) {
            bench_note(suites[i].name, "failed");
            failures++;
        }
    }
    for (int j = 1; j < count; j++) {
        bool known = false;
        for (size_t i = 0; i < SUITES; i++) {
            known = known || strcmp(arguments[j], suites[i].name) == 0;
        }
        if (!known) {
            fprintf(stderr, "tenure-bench: no suite %s\n", arguments[j]);
            failures++;
        }
    }
    return failures != 0;
}
