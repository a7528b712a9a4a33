/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every module of kernels, as NVRTC is given it, compiles for the architectures that matter; the assembler's report says that no
 * kernel keeps in memory what should be in registers. What nvcc made when the library was built is there and whole.
 */
#define _DEFAULT_SOURCE /* strtok_r */
#include <dlfcn.h>

#include "scene.h"

#include "../../src/cuda/cuda_internal.h"

typedef void *program;
typedef struct compiler {
    int (*create)(program *, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(program, int, const char *const *);
    int (*image_bytes)(program, size_t *);
    int (*log_bytes)(program, size_t *);
    int (*log)(program, char *);
    int (*destroy)(program *);
} compiler;

static bool find(void *library, const char *name, void *member)
{
    void *found = dlsym(library, name);
    memcpy(member, &found, sizeof(found));
    return found != NULL;
}

static bool load(compiler *of)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    void *library = NULL;
    for (int at = 0; at < 3 && library == NULL; at++) {
        library = dlopen(names[at], RTLD_NOW | RTLD_LOCAL);
    }
    return library != NULL && find(library, "nvrtcCreateProgram", &of->create) &&
           find(library, "nvrtcCompileProgram", &of->compile) && find(library, "nvrtcGetCUBINSize", &of->image_bytes) &&
           find(library, "nvrtcGetProgramLogSize", &of->log_bytes) && find(library, "nvrtcGetProgramLog", &of->log) &&
           find(library, "nvrtcDestroyProgram", &of->destroy);
}

static const char *text_of(const char *module)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s.cu", module);
    for (const tnri_kernel_file *file = tnri_kernel_files; file->name != NULL; file++) {
        if (strcmp(file->name, name) == 0) {
            return file->text;
        }
    }
    return NULL;
}

/* "ptxas info : Compiling entry function 'tnri_x' ...", then "... N bytes spill stores ...", then "... Used R registers". */
static void look_at(char *report, int *kernels, int *most)
{
    char kernel[128] = "";
    char *rest = NULL;
    for (char *line = strtok_r(report, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *at = strstr(line, "entry function '");
        if (at != NULL) {
            (void)snprintf(kernel, sizeof(kernel), "%s", at + 16);
        }
        if (strstr(line, "bytes spill stores") != NULL && strstr(line, " 0 bytes spill stores") == NULL) {
            print_error("%s: %s\n", kernel, line);
            fail();
        }
        at = strstr(line, "Used ");
        if (at != NULL) {
            const int registers = (int)strtol(at + 5, NULL, 10);
            *most = registers > *most ? registers : *most;
            ++*kernels;
        }
    }
}

static void by_nvrtc(void **state)
{
    (void)state;
    static const char *const architectures[] = {"sm_80", "sm_90", "sm_100"};
    compiler of;
    memset(&of, 0, sizeof(of));
    if (!load(&of)) {
        print_message("skipped: no NVRTC on this machine\n");
        skip();
    }
    for (int at = 0; at < 3; at++) {
        int all = 0;
        for (int module = 0; module < TNRI_MODULES; module++) {
            const char *texts[TNRI_KERNEL_MOST_FILES];
            const char *names[TNRI_KERNEL_MOST_FILES];
            char architecture[64];
            int files = 0;
            int kernels = 0;
            int most = 0;
            size_t bytes = 0;
            size_t said = 0;
            program made = NULL;
            for (const tnri_kernel_file *file = tnri_kernel_files; file->name != NULL; file++, files++) {
                names[files] = file->name;
                texts[files] = file->text;
            }
            (void)snprintf(architecture, sizeof(architecture), "--gpu-architecture=%s", architectures[at]);
            const char *const options[] = {architecture, "--std=c++17", "--fmad=false", "--ptxas-options=-v"};
            assert_int_equal(
                of.create(&made, text_of(tnri_module_names[module]), tnri_module_names[module], files, texts, names),
                0);
            const int code = of.compile(made, 4, options);
            assert_int_equal(of.log_bytes(made, &said), 0);
            char *report = calloc(said + 1, 1);
            assert_int_equal(of.log(made, report), 0);
            if (code != 0) {
                print_error("%s\n", report);
            }
            assert_int_equal(code, 0);
            assert_int_equal(of.image_bytes(made, &bytes), 0);
            look_at(report, &kernels, &most);
            print_message("%s %s: %d kernels, %zu bytes, at most %d registers\n", architectures[at],
                          tnri_module_names[module], kernels, bytes, most);
            assert_true(bytes <= TNRI_IMAGE_MOST_BYTES);
            all += kernels;
            free(report);
            assert_int_equal(of.destroy(&made), 0);
        }
        assert_int_equal(all, TNRI_KERNELS);
    }
}

static void by_nvcc(void **state)
{
    (void)state;
    static const unsigned char fat[4] = {0x50, 0xED, 0x55, 0xBA};
    size_t bytes = 0;
    if (tnri_module_images[0] == NULL) {
        print_message("skipped: built without nvcc, or for no architecture\n");
        skip();
    }
    for (int module = 0; module < TNRI_MODULES; module++) {
        assert_memory_equal(tnri_module_images[module], fat, sizeof(fat));
        bytes += tnri_module_image_bytes[module];
    }
    print_message("%zu bytes\n", bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_nvrtc), cmocka_unit_test(by_nvcc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
