/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels: their text compiles for every architecture that matters, by NVRTC and by nvcc, and spills nothing; copies on the
 * device go by them where they should, with and without NVRTC the same values.
 */
#define _DEFAULT_SOURCE /* popen, mkstemps */
#include "scene.h"

#include "../../src/cuda/cuda_internal.h"

static const int architectures[][2] = {{8, 0}, {9, 0}, {10, 0}};
enum { ARCHITECTURES = 3 };

static void by_nvrtc(void **state)
{
    (void)state;
    tnr_domain *heap = make_heap();
    for (int at = 0; at < ARCHITECTURES; at++) {
        tnr_block image;
        const tnr_status status =
            tnri_nvrtc_compile("test", NULL, architectures[at][0], architectures[at][1], heap, &image);
        if (status == TNR_ERR_UNSUPPORTED) {
            print_message("skipped: no NVRTC on this machine\n");
            OK(tnr_domain_close(&heap));
            skip();
        }
        OK(status);
        assert_memory_equal(image.address, "\177ELF", 4);
        print_message("sm_%d%d: %llu bytes\n", architectures[at][0], architectures[at][1],
                      (unsigned long long)image.tag);
        tnr_provider.record_give(heap, &image);
    }
    tnr_block none;
    EXPECT(TNR_ERR_UNSUPPORTED, tnri_nvrtc_compile("test", "off", 9, 0, heap, &none));
    EXPECT(TNR_ERR_BACKEND, tnri_nvrtc_compile("test", NULL, 1, 0, heap, &none)); /* no such architecture */
    OK(tnr_domain_close(&heap));
}

/* "0 bytes stack frame, 0 bytes spill stores" of each kernel, from the assembler's report. */
static void by_nvcc(void **state)
{
    (void)state;
    if (NVCC_PATH[0] == '\0') {
        print_message("skipped: the toolkit has no nvcc\n");
        skip();
    }
    for (int at = 0; at < ARCHITECTURES; at++) {
        char command[2048];
        char file[512];
        const char *folder = getenv("TENURE_BUILD_DIR");
        (void)snprintf(file, sizeof(file), "%s/kernels_XXXXXX.cu", folder != NULL ? folder : ".");
        const int handle = mkstemps(file, 3);
        assert_true(handle >= 0);
        FILE *out = fdopen(handle, "w");
        assert_non_null(out);
        (void)fputs(tnri_kernel_source, out);
        assert_int_equal(fclose(out), 0);
        (void)snprintf(command, sizeof(command), "%s -std=c++14 -cubin -arch=sm_%d%d -Xptxas -v -o %s.cubin %s 2>&1",
                       NVCC_PATH, architectures[at][0], architectures[at][1], file, file);
        FILE *said = popen(command, "r");
        assert_non_null(said);
        char line[1024];
        int kernels = 0;
        int spills = 0;
        while (fgets(line, sizeof(line), said) != NULL) {
            kernels += strstr(line, "bytes spill stores") != NULL;
            spills += strstr(line, "bytes spill stores") != NULL && strstr(line, " 0 bytes spill stores") == NULL;
        }
        assert_int_equal(pclose(said), 0);
        assert_int_equal(kernels, 4);
        assert_int_equal(spills, 0);
        (void)remove(file);
        (void)snprintf(line, sizeof(line), "%s.cubin", file);
        (void)remove(line);
    }
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
    }
}

/* A device that refuses the image has no kernels, which is found out once; copies go the other way. */
static void images_may_be_refused(void **state)
{
    (void)state;
    NEEDS_FAKE();
    static const char *const entries[] = {"cuModuleLoadData", "cuModuleGetFunction"};
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_nvrtc),
        cmocka_unit_test(by_nvcc),
        cmocka_unit_test(copies_by_kernels),
        cmocka_unit_test(images_may_be_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
