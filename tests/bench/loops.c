/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand loops per instruction set, the pair of threads, NumPy in a child process, and measuring in turns. */
#define _GNU_SOURCE
#include "loops.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* ---- Loops ----------------------------------------------------------------------------------------------------------- */

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#endif

#if defined(__x86_64__)
#include <immintrin.h>

#define LOOP(x) x##_sse2
#define TARGET
#define LANES 2
#define STREAM(p, v) _mm_stream_pd((p), (__m128d)(v))
#include "loops.tmpl.h"

#define LOOP(x) x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 4
#define STREAM(p, v) _mm256_stream_pd((p), (__m256d)(v))
#include "loops.tmpl.h"

#define LOOP(x) x##_avx512
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#define LANES 8
#define STREAM(p, v) _mm512_stream_pd((p), (__m512d)(v))
#include "loops.tmpl.h"

#define SET(name, words)                                                                  \
    {                                                                                     \
        words, copy_##name, add_##name, copy_stream_##name, add_stream_##name, sum_##name \
    }

const bench_loops *bench_loops_best(void)
{
    static const bench_loops sets[] = {SET(sse2, "sse2"), SET(avx2, "avx2"), SET(avx512, "avx512")};
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
        return &sets[2];
    }
    return __builtin_cpu_supports("avx2") ? &sets[1] : &sets[0];
}

#else

static void copy_plain(double *to, const double *a, const double *b, int64_t count)
{
    (void)b;
    memcpy(to, a, (size_t)count * sizeof *to);
}

static void add_plain(double *to, const double *a, const double *b, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        to[i] = a[i] + b[i];
    }
}

static double sum_plain(const double *a, int64_t count)
{
    double sums[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        for (int k = 0; k < 16; ++k) {
            sums[k] += a[i + k];
        }
    }
    double total = 0.0;
    for (; i < count; ++i) {
        total += a[i];
    }
    for (int k = 0; k < 16; ++k) {
        total += sums[k];
    }
    return total;
}

const bench_loops *bench_loops_best(void)
{
    static const bench_loops plain = {"plain", copy_plain, add_plain, NULL, NULL, sum_plain};
    return &plain;
}

#endif

/* ---- Two threads ------------------------------------------------------------------------------------------------------- */

static struct {
    pthread_t thread;
    cpu_set_t before; /* the caller's affinity */
    atomic_int turn;  /* 0: idle, 1: work, 2: end */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool asleep;
    void (*loop)(double *, const double *, const double *, int64_t);
    double (*sum)(const double *, int64_t);
    double *to;
    const double *a;
    const double *b;
    int64_t count;
    double total;
    int cpus[2];
} pair;

static void pin(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

void bench_pin_first(bool on)
{
    static cpu_set_t before;
    if (!on) {
        (void)sched_setaffinity(0, sizeof before, &before);
    } else if (sched_getaffinity(0, sizeof before, &before) == 0) {
        int cpu = 0;
        while (!CPU_ISSET((size_t)cpu, &before)) {
            ++cpu;
        }
        pin(cpu);
    }
}

static void *second(void *unused)
{
    (void)unused;
    pin(pair.cpus[1]);
    uint64_t idle_since = bench_now_ns();
    for (;;) {
        int turn = atomic_load_explicit(&pair.turn, memory_order_acquire);
        if (turn == 0 &&
            bench_now_ns() - idle_since > 50000U) { /* out of the way of what is measured in turns with us */
            pthread_mutex_lock(&pair.lock);
            atomic_store(&pair.asleep, true);
            while ((turn = atomic_load(&pair.turn)) == 0) {
                pthread_cond_wait(&pair.wake, &pair.lock);
            }
            atomic_store(&pair.asleep, false);
            pthread_mutex_unlock(&pair.lock);
        }
        if (turn == 2) {
            return NULL;
        }
        if (turn == 1) {
            if (pair.loop != NULL) {
                pair.loop(pair.to, pair.a, pair.b, pair.count);
            } else {
                pair.total = pair.sum(pair.a, pair.count);
            }
            atomic_store_explicit(&pair.turn, 0, memory_order_release);
            idle_since = bench_now_ns();
        }
    }
}

static void say(int turn)
{
    atomic_store(&pair.turn, turn);
    if (atomic_load(&pair.asleep)) {
        pthread_mutex_lock(&pair.lock);
        pthread_cond_signal(&pair.wake);
        pthread_mutex_unlock(&pair.lock);
    }
}

bool bench_pair_open(void)
{
    if (sched_getaffinity(0, sizeof pair.before, &pair.before) != 0 || CPU_COUNT(&pair.before) < 2) {
        return false;
    }
    int found = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; ++cpu) {
        if (CPU_ISSET((size_t)cpu, &pair.before)) {
            pair.cpus[found++] = cpu;
        }
    }
    atomic_store(&pair.turn, 0);
    atomic_store(&pair.asleep, false);
    pthread_mutex_init(&pair.lock, NULL);
    pthread_cond_init(&pair.wake, NULL);
    pin(pair.cpus[0]);
    if (pthread_create(&pair.thread, NULL, second, NULL) != 0) {
        (void)sched_setaffinity(0, sizeof pair.before, &pair.before);
        return false;
    }
    return true;
}

void bench_pair_close(void)
{
    say(2);
    pthread_join(pair.thread, NULL);
    (void)sched_setaffinity(0, sizeof pair.before, &pair.before);
}

static int64_t hand_over(int64_t count)
{
    const int64_t half = count / 16 * 8;
    pair.count = count - half;
    say(1);
    return half;
}

static void wait_for_second(void)
{
    while (atomic_load_explicit(&pair.turn, memory_order_acquire) != 0) {
    }
}

void bench_pair_run(void (*loop)(double *, const double *, const double *, int64_t), double *to, const double *a,
                    const double *b, int64_t count)
{
    const int64_t half = count / 16 * 8;
    pair.loop = loop;
    pair.to = to + half;
    pair.a = a + half;
    pair.b = b + half;
    loop(to, a, b, hand_over(count));
    wait_for_second();
}

double bench_pair_sum(double (*loop)(const double *, int64_t), const double *a, int64_t count)
{
    pair.loop = NULL;
    pair.sum = loop;
    pair.a = a + count / 16 * 8;
    const double total = loop(a, hand_over(count));
    wait_for_second();
    return total + pair.total;
}

/* ---- NumPy ------------------------------------------------------------------------------------------------------------- */

static struct {
    pid_t child;
    FILE *to;
    FILE *from;
} numpy;

static const char script[] =
    "import sys, time\n"
    "import numpy as np\n"
    "clock = time.thread_time_ns if sys.argv[1:] == ['thread'] else time.perf_counter_ns\n"
    "print('numpy', np.__version__, flush=True)\n"
    "n = 0\n"
    "for line in sys.stdin:\n"
    "    count, expression = line.rstrip('\\n').split(' ', 1)\n"
    "    if int(count) < 0:\n"
    "        try: exec(expression); print(1, flush=True)\n"
    "        except Exception: print(0, flush=True)\n"
    "        continue\n"
    "    if int(count) and n != int(count):\n"
    "        n = int(count)\n"
    "        a = (np.arange(n) % 1000 + 1) / 1000.0\n"
    "        b = (np.arange(n) % 777 + 1) / 777.0\n"
    "        out = np.zeros(n)\n"
    "    code = compile(expression, 'case', 'eval')\n"
    "    for _ in range(3):\n"
    "        start = clock(); eval(code); once = clock() - start\n"
    "        if once > 200000000: break\n"
    "    repeats = max(1, min(1000, 2000000 // max(once, 1)))\n"
    "    samples = []\n"
    "    begin = clock()\n"
    "    while len(samples) < (5 if once < 200000000 else 2) or (clock() - begin < 200000000 and "
    "len(samples) < 101):\n"
    "        start = clock()\n"
    "        for _ in range(repeats): eval(code)\n"
    "        samples.append((clock() - start) / repeats)\n"
    "    samples.sort()\n"
    "    print(samples[len(samples) // 2], flush=True)\n";

bool bench_numpy_open(const char *suite, int threads)
{
    const char *python = getenv("TENURE_BENCH_PYTHON"); /* one that has NumPy, where the first of PATH has not */
    python = python != NULL ? python : "/usr/bin/python3";
    int down[2];
    int up[2];
    if (pipe(down) != 0 || pipe(up) != 0) {
        return false;
    }
    numpy.child = fork();
    if (numpy.child == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        close(down[1]);
        close(up[0]);
        (void)freopen("/dev/null", "w", stderr);
        (void)setenv("OPENBLAS_NUM_THREADS", threads == 1 ? "1" : "2", 1);
        (void)setenv("OMP_NUM_THREADS", threads == 1 ? "1" : "2", 1);
        const char *clock = getenv("TENURE_BENCH_CLOCK"); /* as bench_race takes it */
        execlp(python, python, "-c", script, threads == 1 && clock != NULL ? clock : "", (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    numpy.to = fdopen(down[1], "w");
    numpy.from = fdopen(up[0], "r");
    char line[100];
    char note[160];
    if (numpy.child < 0 || fgets(line, sizeof line, numpy.from) == NULL) {
        bench_note(suite, "python3 with NumPy is not here: its rows are left out");
        bench_numpy_close();
        return false;
    }
    line[strcspn(line, "\n")] = '\0';
    snprintf(note, sizeof note, "peer: %s, %s", line, threads == 1 ? "one thread" : "two threads");
    bench_note(suite, note);
    return true;
}

void bench_numpy_close(void)
{
    if (numpy.to != NULL) {
        fclose(numpy.to);
        fclose(numpy.from);
        waitpid(numpy.child, NULL, 0);
    }
    memset(&numpy, 0, sizeof numpy);
}

bool bench_numpy_set(const char *statement)
{
    char line[100];
    if (numpy.to == NULL) {
        return false;
    }
    fprintf(numpy.to, "-1 %s\n", statement);
    fflush(numpy.to);
    return fgets(line, sizeof line, numpy.from) != NULL && line[0] == '1';
}

double bench_numpy(const char *expression, int64_t count)
{
    char line[100];
    if (numpy.to == NULL) {
        return 0.0;
    }
    fprintf(numpy.to, "%lld %s\n", (long long)count, expression);
    fflush(numpy.to);
    return fgets(line, sizeof line, numpy.from) != NULL ? strtod(line, NULL) : 0.0;
}

/* ---- Measuring ----------------------------------------------------------------------------------------------------------- */

#define SAMPLES 201

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double timed(void (*run)(void *), void *context, int64_t each)
{
    const uint64_t start = bench_now_ns();
    for (int64_t i = 0; i < each; ++i) {
        run(context);
    }
    return (double)(bench_now_ns() - start) / (double)each;
}

bench_pairing bench_in_turns(void (*ours)(void *), void (*peer)(void *), void *context, double milliseconds)
{
    static double samples[2][SAMPLES];
    (void)timed(ours, context, 2);
    const double once = timed(ours, context, 1);
    int64_t each = (int64_t)(50000.0 / (once + 1.0)) + 1;
    each = each > 100000 ? 100000 : each;
    if (peer != NULL) {
        (void)timed(peer, context, 2);
    }
    const uint64_t begin = bench_now_ns();
    int count = 0;
    while (count < SAMPLES && (count < 5 || (double)(bench_now_ns() - begin) < milliseconds * 1e6)) {
        samples[0][count] = timed(ours, context, each);
        samples[1][count] = peer == NULL ? 0.0 : timed(peer, context, each);
        ++count;
    }
    qsort(samples[0], (size_t)count, sizeof(double), compare_doubles);
    qsort(samples[1], (size_t)count, sizeof(double), compare_doubles);
    return (bench_pairing){samples[0][count / 2], samples[1][count / 2]};
}
