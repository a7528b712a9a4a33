/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers compute in the floating-point environment of the call that they serve, not of the moment when the engine was made:
 * the same bits as on the calling thread alone, whatever the direction of rounding and whether denormals are flushed. Row
 * BI-01: the caller's own environment is what it was.
 */
#include "support/team_test.h"

#include <fenv.h>

enum { COUNT = 300000 };

static tnr_domain *heap;
static tnr_topology *topology;

/* Denormals are flushed, results and operands; false: this machine is not known here. */
#if defined(__x86_64__)
#include <xmmintrin.h>

static bool flush_denormals(bool on)
{
    _mm_setcsr(on ? _mm_getcsr() | 0x8040U : _mm_getcsr() & ~0x8040U);
    return true;
}
#elif defined(__aarch64__)
static bool flush_denormals(bool on)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    control = on ? control | UINT64_C(1) << 24 : control & ~(UINT64_C(1) << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
    return true;
}
#else
static bool flush_denormals(bool on)
{
    (void)on;
    return false;
}
#endif

static int set_up(void **state)
{
    (void)state;
    start_a_thread();
    heap = make_heap();
    topology = make_topology(heap);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(tnr_topology_destroy(&topology));
    close_domain(&heap);
    return 0;
}

static tnr_tensor *spread(double first, double step)
{
    tnr_tensor *tensor = NULL;
    void *data = NULL;
    OK(tnr_tensor_zeros(heap, TNR_F64, 1, SHAPE(COUNT), &tensor));
    OK(tnr_tensor_host_data_mut(tensor, &data));
    for (int i = 0; i < COUNT; i++) {
        ((double *)data)[i] = first + step * i;
    }
    return tensor;
}

/* Quotients and their sum, by an engine; the number of quotients that are 0. */
typedef struct results {
    tnr_tensor *quotients;
    tnr_tensor *sum;
    int zeros;
} results;

static results divide(tnr_engine *engine, const tnr_tensor *a, const tnr_tensor *b)
{
    results made = {NULL, NULL, 0};
    const tnr_view left = view_of(a);
    const tnr_view right = view_of(b);
    const int axis = 0;
    OK(tnr_div(engine, &left, &right, &made.quotients));
    const tnr_view quotients = view_of(made.quotients);
    OK(tnr_sum(engine, &quotients, &axis, 1, &made.sum));
    const void *data = NULL;
    OK(tnr_tensor_host_data(made.quotients, &data));
    for (int i = 0; i < COUNT; i++) {
        made.zeros += ((const double *)data)[i] == 0.0 ? 1 : 0;
    }
    return made;
}

static bool same_bits(const tnr_tensor *a, const tnr_tensor *b, size_t bytes)
{
    const void *left = NULL;
    const void *right = NULL;
    OK(tnr_tensor_host_data(a, &left));
    OK(tnr_tensor_host_data(b, &right));
    return memcmp(left, right, bytes) == 0;
}

/* By an engine all of whose work is another thread's, and by one without threads. */
static void both_agree(tnr_engine *team, const tnr_tensor *a, const tnr_tensor *b, int zeros)
{
    tnr_engine *alone = NULL;
    OK(tnr_engine_create(heap, NULL, &alone));
    results expected = divide(alone, a, b);
    results found = divide(team, a, b);
    assert_int_equal(expected.zeros, zeros);
    assert_int_equal(found.zeros, zeros);
    assert_true(same_bits(expected.quotients, found.quotients, COUNT * sizeof(double)));
    assert_true(same_bits(expected.sum, found.sum, sizeof(double)));
    release(&expected.quotients);
    release(&expected.sum);
    release(&found.quotients);
    release(&found.sum);
    OK(tnr_engine_destroy(&alone));
}

/* The caller on one CPU, the only worker on another. */
static tnr_engine *make_remote(tnr_cpu_set *before)
{
    const tnr_cpu_set here = only(usable_cpu(0));
    const tnr_cpu_set there = only(usable_cpu(1));
    *before = bind_to(&here);
    return make_team(heap, topology, &there);
}

static void rounds_as_the_caller_does_now(void **state)
{
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    NEEDS_CPUS(2);
    tnr_cpu_set before;
    tnr_engine *team = make_remote(&before);
    tnr_tensor *a = spread(1.0, 0.0);
    tnr_tensor *b = spread(3.0, 1.0);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(fesetround(modes[i]), 0);
        both_agree(team, a, b, 0);
        assert_int_equal(fegetround(), modes[i]);
    }
    release(&a);
    release(&b);
    OK(tnr_engine_destroy(&team));
    (void)bind_to(&before);
}

static void flushes_denormals_as_the_caller_does_now(void **state)
{
    (void)state;
    NEEDS_CPUS(2);
    if (!flush_denormals(false)) {
        print_message("skipped: how this machine flushes denormals is not known here\n");
        skip();
    }
    tnr_cpu_set before;
    tnr_engine *team = make_remote(&before);
    tnr_tensor *a = spread(1e-307, 0.0);
    tnr_tensor *b = spread(1000.0, 1.0);
    for (int round = 0; round < 3; round++) {
        const bool on = round == 1;
        (void)flush_denormals(on);
        both_agree(team, a, b, on ? COUNT : 0);
    }
    volatile double small = 1e-310;
    assert_true(small * 0.5 > 0.0);
    release(&a);
    release(&b);
    OK(tnr_engine_destroy(&team));
    (void)bind_to(&before);
}

/* What the caller raised before the call is raised after it, and making and ending engines raises nothing. */
static void bugs_bi_01_the_callers_environment_is_its_own(void **state)
{
    (void)state;
    tnr_tensor *a = spread(1.0, 0.0);
    tnr_tensor *b = spread(4.0, 0.0);
    fenv_t asked;
    assert_int_equal(feholdexcept(&asked), 0);
    assert_int_equal(feraiseexcept(FE_DIVBYZERO), 0);
    const int raised = fetestexcept(FE_ALL_EXCEPT);
    tnr_engine *team = make_team(heap, topology, NULL);
    results made = divide(team, a, b); /* exact */
    OK(tnr_engine_destroy(&team));
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), raised);
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_int_equal(fesetenv(&asked), 0);
    release(&made.quotients);
    release(&made.sum);
    release(&a);
    release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_as_the_caller_does_now),
        cmocka_unit_test(flushes_denormals_as_the_caller_does_now),
        cmocka_unit_test(bugs_bi_01_the_callers_environment_is_its_own),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
