/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every module of kernels, as NVRTC is given it, compiles for the architectures that matter; the assembler's report says that no
 * kernel keeps in memory what should be in registers. What nvcc made when the library was built is there and whole, for each architecture
 * of the build, and its assembler's report says the same.
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

/* What the assembler reports of the kernels of one architecture. */
typedef struct assembled {
    int kernels;
    int most;   /* registers */
    int spills; /* kernels that keep in memory what should be in registers */
} assembled;

/*
 * "ptxas info : Compiling entry function 'tnri_x' for 'sm_80'", then "... N bytes spill stores, M bytes spill loads", then
 * "... Used R registers". Of all architectures where `architecture` is NULL. The text is cut into lines.
 */
static assembled look_at(char *report, const char *architecture)
{
    assembled of = {0, 0, 0};
    char kernel[192] = "";
    bool looks = false;
    char *rest = NULL;
    for (char *line = strtok_r(report, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *at = strstr(line, "entry function '");
        if (at != NULL) {
            (void)snprintf(kernel, sizeof(kernel), "%s", at + 16);
            looks = architecture == NULL || strstr(at, architecture) != NULL;
        } else if (strstr(line, "Function properties for ") != NULL) {
            (void)snprintf(kernel, sizeof(kernel), "%s", line); /* a kernel's, or those of a function that it calls */
        }
        if (looks && strstr(line, "bytes spill stores") != NULL &&
            (strstr(line, " 0 bytes spill stores") == NULL || strstr(line, " 0 bytes spill loads") == NULL)) {
            print_error("%s: %s: %s\n", architecture != NULL ? architecture : "", kernel, line);
            of.spills++;
        }
        at = strstr(line, "Used ");
        if (looks && at != NULL) {
            const int registers = (int)strtol(at + 5, NULL, 10);
            of.most = registers > of.most ? registers : of.most;
            of.kernels++;
        }
    }
    return of;
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
            const assembled found = look_at(report, NULL);
            print_message("%s %s: %d kernels, %zu bytes, at most %d registers\n", architectures[at],
                          tnri_module_names[module], found.kernels, bytes, found.most);
            assert_int_equal(found.spills, 0);
            assert_true(bytes <= TNRI_IMAGE_MOST_BYTES);
            all += found.kernels;
            free(report);
            assert_int_equal(of.destroy(&made), 0);
        }
        assert_int_equal(all, TNRI_KERNELS);
    }
}

static char *whole_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_error("no file %s\n", path);
        fail();
        return NULL;
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long bytes = ftell(file);
    assert_true(bytes > 0);
    rewind(file);
    char *text = calloc((size_t)bytes + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), (size_t)bytes);
    (void)fclose(file);
    return text;
}

static void by_nvcc(void **state)
{
    (void)state;
    static const unsigned char fat[4] = {0x50, 0xED, 0x55, 0xBA};
    if (tnri_module_images[0] == NULL) {
        print_message("skipped: built without nvcc, or for no architecture\n");
        skip();
    }
    for (int module = 0; module < TNRI_MODULES; module++) {
        assert_memory_equal(tnri_module_images[module], fat, sizeof(fat));
        print_message("%s: %zu bytes\n", tnri_module_names[module], tnri_module_image_bytes[module]);
    }
    char list[] = KERNEL_ARCHITECTURES;
    char *rest = NULL;
    for (const char *number = strtok_r(list, " ", &rest); number != NULL; number = strtok_r(NULL, " ", &rest)) {
        char architecture[32];
        int kernels = 0;
        int most = 0;
        (void)snprintf(architecture, sizeof(architecture), "'sm_%s'", number);
        for (int module = 0; module < TNRI_MODULES; module++) {
            char path[1024];
            (void)snprintf(path, sizeof(path), "%s/%s.report", KERNEL_REPORTS, tnri_module_names[module]);
            char *report = whole_file(path);
            const assembled found = look_at(report, architecture);
            assert_int_equal(found.spills, 0);
            kernels += found.kernels;
            most = found.most > most ? found.most : most;
            free(report);
        }
        print_message("%s: %d kernels, at most %d registers\n", architecture, kernels, most);
        assert_int_equal(kernels, TNRI_KERNELS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_nvrtc), cmocka_unit_test(by_nvcc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
