/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the random programs notice? The fake behaves as if the library had left something out or done it elsewhere, or the library's own books
 * lose what an engine entered. Each must be found out by many seeds. README.md has the table, with those of kernels.
 */
#include "program.h"

enum { STEPS = 120, SEEDS = 60 };

/* How many of the seeds find it out, and what the first one says. */
static int found_out(const program_fault *fault, char *first, size_t bytes)
{
    int found = 0;
    first[0] = '\0';
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const program_answer answer = program_run(seed, STEPS, fault);
        if (answer.text[0] != '\0') {
            found++;
            if (first[0] == '\0') {
                (void)snprintf(first, bytes, "seed %d: %s", (int)seed, answer.text);
            }
        }
    }
    return found;
}

static void expect_found_out(const char *what, const program_fault *fault)
{
    char first[300];
    const int found = found_out(fault, first, sizeof(first));
    print_message("%s: %d of %d seeds, %s\n", what, found, (int)SEEDS, first);
    assert_true(found >= 5);
}

static void nothing_planted(void **state)
{
    (void)state;
    NEEDS_FAKE();
    char first[300];
    const program_fault nothing = {.at = 0};
    assert_int_equal(found_out(&nothing, first, sizeof(first)), 0);
}

static void missing_event_waits(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.drop_waits = true};
    expect_found_out("a lane does not wait for another", &fault);
}

static void believed_too_early(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.false_ready = true};
    expect_found_out("work is taken for over that is not", &fault);
}

static void context_not_given_back(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.skip_pop = true};
    expect_found_out("the context is not popped", &fault);
}

static void waits_that_return_at_once(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.hollow_waits = true};
    expect_found_out("the host does not wait: before it maps managed memory, or reads what came", &fault);
}

static void launched_in_another_lane(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.stray_launches = true};
    expect_found_out("kernels go in another lane", &fault);
}

static void marked_in_another_lane(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.stray_events = true};
    expect_found_out("events stand behind another lane's work", &fault);
}

static void cublas_in_another_lane(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.stray_blas = true};
    expect_found_out("the handle of cuBLAS has another lane's stream", &fault);
}

static void cublas_without_workspace(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.planted.lost_workspace = true};
    expect_found_out("cuBLAS has no workspace of ours", &fault);
}

static void operands_not_noted(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.loss = LOSE_OPERANDS};
    expect_found_out("the engine does not note what it touches", &fault);
}

static void scratch_ended_too_early(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.loss = END_SCRATCH};
    expect_found_out("scratch, that of plans too, goes with work in flight", &fault);
}

static void workspace_is_stale(void **state)
{
    (void)state;
    NEEDS_FAKE();
    const program_fault fault = {.loss = END_WORKSPACE};
    expect_found_out("cuBLAS goes on with a workspace that was given back", &fault);
}

/* A block freed under work, by a caller that goes around the library: the fake sees that too. */
static void freed_under_a_copy(void **state)
{
    (void)state;
    NEEDS_FAKE();
    int caught = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) { /* by chance the copy has run before */
        scene s;
        scene_begin(&s, seed, NULL);
        scene_fake()->eagerness = 0;
        tnr_tensor *a = scene_on_device(&s, TNR_CUDA_PLAIN, 1000, 1);
        tnr_tensor *b = NULL;
        const tnr_view view = view_of(a);
        OK(tnr_cuda_duplicate(s.lane[1], &view, s.domain[TNR_CUDA_PLAIN], &b));
        scene_fake()->planted.false_ready = true; /* every event says "over" */
        OK(tnr_tensor_release(&a));
        scene_fake()->planted.false_ready = false;
        caught += scene_fake()->use_after_free > 0 ? 1 : 0;
        release(&b);
        for (int memory = 0; memory < TNR_CUDA_MEMORY_END; memory++) {
            OK(tnr_domain_close(&s.domain[memory]));
        }
        OK(tnr_cuda_device_close(&s.device));
        OK(tnr_domain_close(&s.heap));
    }
    assert_true(caught > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_planted),           cmocka_unit_test(missing_event_waits),
        cmocka_unit_test(believed_too_early),        cmocka_unit_test(context_not_given_back),
        cmocka_unit_test(waits_that_return_at_once), cmocka_unit_test(launched_in_another_lane),
        cmocka_unit_test(marked_in_another_lane),    cmocka_unit_test(cublas_in_another_lane),
        cmocka_unit_test(cublas_without_workspace),  cmocka_unit_test(operands_not_noted),
        cmocka_unit_test(scratch_ended_too_early),   cmocka_unit_test(workspace_is_stale),
        cmocka_unit_test(freed_under_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
