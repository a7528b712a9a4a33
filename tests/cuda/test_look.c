/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for a driver: every answer that there is, and opening where there is nothing. */
#define _POSIX_C_SOURCE 200809L /* setenv, fork */
#include "scene.h"

#include <unistd.h>

static tnr_cuda_sight look(const char *driver)
{
    tnr_cuda_sight sight;
    tnr_cuda_look(driver, &sight);
    return sight;
}

static void no_driver(void **state)
{
    (void)state;
    const tnr_cuda_sight sight = look("/nowhere/libcuda.so.1");
    assert_int_equal(sight.state, TNR_CUDA_NO_DRIVER);
    assert_non_null(strstr(sight.text, "/nowhere/libcuda.so.1"));
    assert_int_equal(look("off").state, TNR_CUDA_NO_DRIVER);
    assert_null(strstr(look("off").text, "TENURE_CUDA_DRIVER")); /* which nobody set */
    tnr_cuda_look(NULL, NULL);
}

static void environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("TENURE_CUDA_DRIVER", "off", 1), 0);
    assert_int_equal(look(NULL).state, TNR_CUDA_NO_DRIVER);
    assert_non_null(strstr(look(NULL).text, "TENURE_CUDA_DRIVER"));
    scene_reset(1);
    assert_int_equal(setenv("TENURE_CUDA_DRIVER", scene_driver(), 1), 0);
    assert_int_equal(look(NULL).state, TNR_CUDA_AVAILABLE);
    assert_int_equal(unsetenv("TENURE_CUDA_DRIVER"), 0);
}

/* Whatever this machine has, the usual name gives an answer and no crash. */
static void usual_name(void **state)
{
    (void)state;
    const tnr_cuda_sight sight = look("libcuda.so.1");
    assert_true(sight.text[0] != '\0');
    print_message("here: %s\n", sight.text);
}

static void stub(void **state)
{
    (void)state;
    if (access(CUDA_STUB_PATH, R_OK) != 0) {
        print_message("skipped: the toolkit has no stub at %s\n", CUDA_STUB_PATH);
        skip();
    }
    assert_int_equal(look(CUDA_STUB_PATH).state, TNR_CUDA_STUB);
}

static void on_the_fake(void **state)
{
    (void)state;
    NEEDS_FAKE();
    fake_cuda *fake = scene_fake();
    scene_reset(1);
    tnr_cuda_sight sight = look(scene_driver());
    assert_int_equal(sight.state, TNR_CUDA_AVAILABLE);
    assert_int_equal(sight.devices, 2);
    assert_int_equal(sight.driver_version, 13000);
    assert_string_equal(sight.text, "2 devices");
    fake->devices = 0;
    assert_int_equal(look(scene_driver()).state, TNR_CUDA_NO_DEVICE);
    fake->init_code = 100;
    assert_int_equal(look(scene_driver()).state, TNR_CUDA_NO_DEVICE);
    fake->init_code = 34;
    assert_int_equal(look(scene_driver()).state, TNR_CUDA_STUB);
    fake->init_code = 802;
    sight = look(scene_driver());
    assert_int_equal(sight.state, TNR_CUDA_INIT_FAILED);
    assert_non_null(strstr(sight.text, "cuInit"));
    fake->init_code = 0;
    fake->version = 10020;
    sight = look(scene_driver());
    assert_int_equal(sight.state, TNR_CUDA_TOO_OLD);
    assert_non_null(strstr(sight.text, "10.2"));
    assert_int_equal(fake->live, 0);
}

/* A library that is no driver. */
static void wrong_library(void **state)
{
    (void)state;
    const tnr_cuda_sight sight = look("libm.so.6");
    assert_int_equal(sight.state, TNR_CUDA_TOO_OLD);
    assert_non_null(strstr(sight.text, "cuInit"));
}

static void opening_without(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_cuda_device *device = untouched();
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    options.driver = "off";
    EXPECT(TNR_ERR_UNSUPPORTED, tnr_cuda_device_open(heap, &options, &device));
    assert_ptr_equal(device, untouched());
    options.driver = scene_driver();
    scene_reset(1);
    options.ordinal = 17;
    EXPECT(TNR_ERR_BOUNDS, tnr_cuda_device_open(heap, &options, &device));
    TEXT_HAS("device 17");
    options.ordinal = 0;
    options.by_uuid = true;
    EXPECT(TNR_ERR_BOUNDS, tnr_cuda_device_open(heap, &options, &device));
    options.by_uuid = false;
    options.lanes = 9;
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_device_open(heap, &options, &device));
    options.lanes = 0;
    options.chunk_bytes = 100;
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_device_open(heap, &options, &device));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cuda_device_open(NULL, NULL, &device));
    assert_ptr_equal(device, untouched());
    OK(tnr_domain_close(&heap));
    scene_expect_clean();
}

/* Every call of opening fails once: nothing stays. */
static void opening_fails_anywhere(void **state)
{
    (void)state;
    NEEDS_FAKE();
    fake_cuda *fake = scene_fake();
    tnr_domain *heap = make_heap();
    tnr_cuda_options options = TNR_CUDA_OPTIONS;
    options.driver = scene_driver();
    int failures = 0;
    for (uint64_t number = 1; number < 100; number++) {
        scene_reset(number);
        fake->fail_at = number;
        fake->fail_code = 1;
        tnr_cuda_device *device = NULL;
        const tnr_status status = tnr_cuda_device_open(heap, &options, &device);
        if (status == TNR_OK) {
            fake->fail_at = 0;
            OK(tnr_cuda_device_close(&device));
        } else {
            failures++;
            assert_null(device);
            assert_true(tnr_last_error()[0] != '\0');
        }
        assert_true(fake->live == 0 || fake->faults != 0);
        assert_int_equal(statistics_of(heap).blocks, 0);
        scene_expect_clean();
    }
    assert_true(failures > 12);
    OK(tnr_domain_close(&heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_driver),       cmocka_unit_test(environment),
        cmocka_unit_test(usual_name),      cmocka_unit_test(stub),
        cmocka_unit_test(on_the_fake),     cmocka_unit_test(wrong_library),
        cmocka_unit_test(opening_without), cmocka_unit_test(opening_fails_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
