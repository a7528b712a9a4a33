/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs over many orders of streams, and again each with faults at random calls: no wrong value, no leak that is not
 * counted, nothing done to freed memory, no hang. TENURE_TEST_SEED: the first seed; TENURE_TEST_CUDA_SEEDS: how many (1000; 40 under sanitizers, 20 on a device).
 */
#include "program.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { STEPS = 90 };

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t first(void) { return number_of("TENURE_TEST_SEED", 1); }
static uint64_t many(void)
{
    return number_of("TENURE_TEST_CUDA_SEEDS", scene_fake() == NULL ? 20 : SANITIZED ? 40 : 1000);
}

static void expect_nothing(uint64_t seed, const program_answer *answer)
{
    if (answer->text[0] != '\0') {
        print_error("seed %llu: %s\n", (unsigned long long)seed, answer->text);
    }
    assert_string_equal(answer->text, "");
    assert_int_equal(answer->wrong, 0);
}

static void seeds(void **state)
{
    (void)state;
    uint64_t operations = 0;
    uint64_t refused = 0;
    for (uint64_t seed = first(); seed < first() + many(); seed++) {
        const program_answer answer = program_run(seed, STEPS, NULL);
        expect_nothing(seed, &answer);
        assert_int_equal(answer.failed, 0);
        operations += (uint64_t)answer.operations;
        refused += (uint64_t)answer.refused;
    }
    print_message("%llu seeds, %llu operations of engines, %llu refused\n", (unsigned long long)many(),
                  (unsigned long long)operations, (unsigned long long)refused);
    assert_true(operations > 20 * many() && refused < operations / 4);
}

static void seeds_with_faults(void **state)
{
    (void)state;
    NEEDS_FAKE();
    static const int codes[] = {2, 1, 999, 700, 46, 2};
    int fired = 0;
    int failed = 0;
    for (uint64_t seed = first(); seed < first() + many(); seed++) {
        const program_answer whole = program_run(seed, STEPS, NULL);
        uint64_t dice = seed * 2654435761U;
        for (int round = 0; round < 3; round++) {
            dice = dice * 6364136223846793005U + 1442695040888963407U;
            program_fault fault = {.at = 1 + (dice >> 20) % whole.calls, .code = codes[(dice >> 8) % 6]};
            fault.fatal = fault.code == 999 || fault.code == 700;
            const program_answer answer = program_run(seed, STEPS, &fault);
            if (answer.text[0] != '\0') {
                print_error("fault: call %llu, code %d\n", (unsigned long long)fault.at, fault.code);
            }
            expect_nothing(seed, &answer);
            fired += answer.fault ? 1 : 0;
            failed += answer.failed;
        }
    }
    print_message("%d faults fired, %d calls failed for it\n", fired, failed);
    assert_true((uint64_t)fired > many());
}

/* One entry of the driver fails from some call on, for ever. */
static void seeds_with_lasting_faults(void **state)
{
    (void)state;
    NEEDS_FAKE();
    static const char *const entries[] = {"cuEventRecord",
                                          "cuEventQuery",
                                          "cuEventSynchronize",
                                          "cuStreamWaitEvent",
                                          "cuStreamSynchronize",
                                          "cuMemFreeAsync",
                                          "cuMemFree_v2",
                                          "cuMemFreeHost",
                                          "cuEventCreate",
                                          "cuMemHostAlloc",
                                          "cuMemAllocFromPoolAsync",
                                          "cuMemcpy2DAsync_v2",
                                          "cuMemcpy3DAsync_v2",
                                          "cuMemcpyDtoDAsync_v2",
                                          "cuMemcpyDtoHAsync_v2",
                                          "cuCtxPushCurrent_v2",
                                          "cuLaunchKernel",
                                          "cuModuleLoadData",
                                          "cuMemAlloc_v2",
                                          "cuMemAllocManaged",
                                          "cuMemcpyHtoDAsync_v2",
                                          "cuMemPoolTrimTo",
                                          "cuModuleGetFunction",
                                          "cublasCreate_v2",
                                          "cublasSetStream_v2",
                                          "cublasSetWorkspace_v2",
                                          "cublasDestroy_v2",
                                          "cublasDgemm_v2",
                                          "cublasZgemm_v2"};
    for (uint64_t seed = first(); seed < first() + many(); seed++) {
        uint64_t dice = seed * 0x9E3779B97F4A7C15U;
        program_fault fault = {.at = 1 + (dice >> 40) % 20, .code = 1, .for_ever = true};
        fault.entry = entries[(dice >> 20) % (sizeof(entries) / sizeof(entries[0]))];
        const program_answer answer = program_run(seed, STEPS, &fault);
        if (answer.text[0] != '\0') {
            print_error("fault: %s from its call %llu on\n", fault.entry, (unsigned long long)fault.at);
        }
        expect_nothing(seed, &answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds),
        cmocka_unit_test(seeds_with_faults),
        cmocka_unit_test(seeds_with_lasting_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
