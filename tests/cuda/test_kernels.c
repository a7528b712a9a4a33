/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels: NVRTC makes images of their text; copies on the device go by them where they should, with and without NVRTC the same
 * values.
 */
#define _DEFAULT_SOURCE /* setenv */
#include "scene.h"

#include "../../src/cuda/cuda_internal.h"

static void by_nvrtc(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    tnr_block image;
    const tnr_status status = tnri_nvrtc_compile("test", NULL, TNRI_MODULE_cast, 9, 0, heap, &image);
    if (status == TNR_ERR_UNSUPPORTED) {
        print_message("skipped: no NVRTC on this machine\n");
        OK(tnr_domain_close(&heap));
        skip();
    }
    OK(status);
    assert_memory_equal(image.address, "\177ELF", 4);
    tnr_provider.record_give(heap, &image);
    tnr_block none;
    EXPECT(TNR_ERR_UNSUPPORTED, tnri_nvrtc_compile("test", "off", TNRI_MODULE_move, 9, 0, heap, &none));
    EXPECT(TNR_ERR_BACKEND, tnri_nvrtc_compile("test", NULL, TNRI_MODULE_move, 1, 0, heap, &none)); /* no such device */
    OK(tnr_domain_close(&heap));
}

/* A transposed copy of every element size, by kernels and by the driver's copies. */
static void copies_by_kernels(void **state)
{
    (void)state;
    enum { ROWS = 37, COLUMNS = 53 };
    static const tnr_dtype dtypes[] = {TNR_BOOL, TNR_I32, TNR_F64, TNR_C64};
    for (int with = 0; with < 2; with++) {
        scene s;
        tnr_cuda_options options = SCENE_SMALL;
        assert_int_equal(setenv("TENURE_CUDA_IMAGES", "off", 1), 0); /* what NVRTC makes, or nothing */
        options.nvrtc = with == 0 ? "off" : NULL;
        scene_begin(&s, 5, &options);
        for (int at = 0; at < 4; at++) {
            static unsigned char values[ROWS * COLUMNS * 16];
            const uint64_t element = tnr_dtype_size(dtypes[at]);
            const uint64_t bytes = ROWS * COLUMNS * element;
            tnr_tensor *host = NULL;
            tnr_tensor *away = NULL;
            tnr_tensor *turned = NULL;
            tnr_tensor *back = NULL;
            for (uint64_t i = 0; i < bytes; i++) {
                values[i] = (unsigned char)(dtypes[at] == TNR_BOOL ? i * 7 % 3 == 0 : i * 131 % 251);
            }
            OK(tnr_tensor_from_column_major(s.heap, dtypes[at], 2, SHAPE(ROWS, COLUMNS), values, bytes, &host));
            tnr_view view = view_of(host);
            OK(tnr_cuda_upload(s.lane[0], &view, s.domain[TNR_CUDA_POOL], &away));
            view = view_of(away);
            OK(tnr_view_permute(&view, NULL, &view));
            const uint64_t launches = scene_counts(&s).launches;
            OK(tnr_cuda_duplicate(s.lane[1], &view, s.domain[TNR_CUDA_PLAIN], &turned));
            if (with == 0 || scene_fake() != NULL) {
                assert_int_equal(scene_counts(&s).launches - launches, with);
            }
            view = view_of(turned);
            OK(tnr_cuda_download(s.lane[0], &view, s.heap, &back));
            const void *data = NULL;
            OK(tnr_tensor_host_data(back, &data));
            for (uint64_t i = 0; i < ROWS; i++) {
                for (uint64_t j = 0; j < COLUMNS; j++) {
                    assert_memory_equal((const char *)data + (j + i * COLUMNS) * element,
                                        values + (i + j * ROWS) * element, element);
                }
            }
            tnr_tensor *gone[] = {host, away, turned, back};
            for (int i = 0; i < 4; i++) {
                release(&gone[i]);
            }
        }
        scene_end(&s);
        assert_int_equal(unsetenv("TENURE_CUDA_IMAGES"), 0);
    }
}

/* A device that refuses the image has no kernels, which is found out once; copies go the other way. */
static void images_may_be_refused(void **state)
{
    (void)state;
    NEEDS_FAKE();
    static const char *const entries[] = {"cuModuleLoadData", "cuModuleGetFunction"};
    assert_int_equal(setenv("TENURE_CUDA_IMAGES", "off", 1), 0);
    for (int entry = 0; entry < 2; entry++) {
        scene s;
        scene_begin(&s, 6, NULL);
        scene_fake()->fail_entry = entries[entry];
        scene_fake()->fail_at = 1;
        scene_fake()->fail_code = 209;
        tnr_tensor *away = scene_on_device(&s, TNR_CUDA_POOL, 35, 1);
        tnr_view view;
        OK(tnr_tensor_region(away, 2, SHAPE(5, 7), SHAPE(7, 1), 0, &view));
        for (int round = 0; round < 2; round++) {
            tnr_tensor *copy = NULL;
            OK(tnr_cuda_duplicate(s.lane[0], &view, s.domain[TNR_CUDA_POOL], &copy));
            release(&copy);
        }
        assert_int_equal(scene_counts(&s).launches, 0);
        assert_int_equal(scene_fake()->faults, 1);
        release(&away);
        scene_end(&s);
    }
    assert_int_equal(unsetenv("TENURE_CUDA_IMAGES"), 0);
}

/* Why there is no compiler is said; a product that is refused for it is not counted. */
static void no_compiler(void **state)
{
    (void)state;
    static const char *const files[] = {"off", "/nowhere/libnvrtc.so", "libm.so.6"};
    static const char *const texts[] = {"options.nvrtc is off", "/nowhere/libnvrtc.so", "no nvrtcCreateProgram"};
    assert_int_equal(setenv("TENURE_CUDA_IMAGES", "off", 1), 0);
    for (int at = 0; at < 3; at++) {
        scene s;
        tnr_cuda_options options = SCENE_SMALL;
        tnr_cuda_engine_options own = TNR_CUDA_ENGINE_OPTIONS;
        tnr_engine *engine = NULL;
        tnr_tensor *matrix = NULL;
        tnr_tensor *none = untouched();
        options.nvrtc = files[at];
        own.cublas = "off";
        scene_begin(&s, 5, &options);
        OK(tnr_cuda_engine_create(s.heap, s.lane[0], &own, &engine));
        OK(tnr_cuda_zeros(s.lane[0], s.domain[TNR_CUDA_POOL], TNR_F64, 2, SHAPE(3, 3), &matrix));
        const tnr_view view = view_of(matrix);
        EXPECT(TNR_ERR_UNSUPPORTED, tnr_matmul(engine, &view, &view, NULL, &none));
        TEXT_HAS(texts[at]);
        assert_ptr_equal(none, untouched());
        assert_int_equal(scene_counts(&s).products, 0);
        release(&matrix);
        OK(tnr_engine_destroy(&engine));
        scene_end(&s);
    }
    assert_int_equal(unsetenv("TENURE_CUDA_IMAGES"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_nvrtc),
        cmocka_unit_test(copies_by_kernels),
        cmocka_unit_test(images_may_be_refused),
        cmocka_unit_test(no_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
