/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVRTC, loaded at first use by its path: text of CUDA C to an image for one architecture. Its few functions are declared here, for
 * a toolkit may come without its header. Not there: TNR_ERR_UNSUPPORTED, and nothing else changes.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "cuda_internal.h"

typedef void *program;

#define NVRTC_CALLS(X)                                                                        \
    X(create, "nvrtcCreateProgram",                                                           \
      (program *, const char *, const char *, int, const char *const *, const char *const *)) \
    X(destroy, "nvrtcDestroyProgram", (program *))                                            \
    X(compile, "nvrtcCompileProgram", (program, int, const char *const *))                    \
    X(image_bytes, "nvrtcGetCUBINSize", (program, size_t *))                                  \
    X(image, "nvrtcGetCUBIN", (program, char *))                                              \
    X(log_bytes, "nvrtcGetProgramLogSize", (program, size_t *))                               \
    X(log, "nvrtcGetProgramLog", (program, char *))

#define MEMBER(member, name, parameters) int(*member) parameters;
typedef struct compiler {
    NVRTC_CALLS(MEMBER)
} compiler;
#undef MEMBER

/* Also why not, where that is known; it stays until the thread's next dlopen or dlsym. */
static void *open_library(const char *path, const char **why)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    const bool named = path != NULL && path[0] != '\0';
    void *library = NULL;
    if (!named) {
        path = getenv("TENURE_NVRTC");
    }
    if (path != NULL && strcmp(path, "off") == 0) {
        *why = named ? "options.nvrtc is off" : "TENURE_NVRTC is off";
        return NULL;
    }
    if (path != NULL && path[0] != '\0') {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    } else {
        for (size_t at = 0; at < sizeof(names) / sizeof(names[0]) && library == NULL; at++) {
            library = dlopen(names[at], RTLD_NOW | RTLD_LOCAL);
        }
    }
    const char *said = library == NULL ? dlerror() : NULL;
    *why = said != NULL ? said : "it cannot be loaded";
    return library;
}

static bool fill(void *library, compiler *of, const char **why)
{
#define FIND(member, name, parameters)              \
    {                                               \
        void *found = dlsym(library, name);         \
        if (found == NULL) {                        \
            *why = "the file has no " name;         \
            return false;                           \
        }                                           \
        memcpy(&of->member, &found, sizeof(found)); \
    }
    NVRTC_CALLS(FIND)
#undef FIND
    return true;
}

/* "--gpu-architecture=sm_90" */
static void name_architecture(int major, int minor, char *text)
{
    static const char head[] = "--gpu-architecture=sm_";
    size_t at = sizeof(head) - 1;
    memcpy(text, head, at);
    at += (size_t)tnri_put_decimal(text + at, (uint64_t)major);
    at += (size_t)tnri_put_decimal(text + at, (uint64_t)minor);
    text[at] = '\0';
}

static tnr_status run(const char *op, const compiler *of, program made, int major, int minor, tnr_domain *home,
                      tnr_block *image)
{
    char architecture[64];
    name_architecture(major, minor, architecture);
    const char *const options[] = {architecture, "--std=c++17", "--fmad=false"};
    size_t bytes = 0;
    if (of->compile(made, 3, options) != 0) {
        char said[TNR_ERROR_TEXT_BYTES];
        said[0] = '\0';
        if (of->log_bytes(made, &bytes) == 0 && bytes != 0 && bytes <= sizeof(said) && of->log(made, said) == 0) {
            said[sizeof(said) - 1] = '\0';
        }
        return tnri_fail(TNR_ERR_BACKEND, "%s: NVRTC does not compile the kernels for sm_%d%d: %s", op, major, minor,
                         said);
    }
    TNR_REQUIRE(of->image_bytes(made, &bytes) == 0 && bytes != 0 && bytes <= TNRI_IMAGE_MOST_BYTES, TNR_ERR_BACKEND,
                "%s: NVRTC has no image for sm_%d%d", op, major, minor);
    tnr_block block;
    TNR_TRY(tnr_provider.record_take(home, bytes + 1, &block)); /* zeroed: also a text ends */
    if (of->image(made, block.address) != 0) {
        tnr_provider.record_give(home, &block);
        return tnri_fail(TNR_ERR_BACKEND, "%s: NVRTC does not give its image", op);
    }
    block.tag = bytes;
    *image = block;
    return TNR_OK;
}

/* "map.cu" among the files, and all of them as what it may include. */
static const char *find_text(tnri_module module, int *count, const char **texts, const char **names)
{
    const char *const wanted = tnri_module_names[module];
    const size_t length = strlen(wanted);
    const char *text = NULL;
    *count = 0;
    for (const tnri_kernel_file *file = tnri_kernel_files; file->name != NULL && *count < TNRI_KERNEL_MOST_FILES;
         file++) {
        if (strncmp(file->name, wanted, length) == 0 && strcmp(file->name + length, ".cu") == 0) {
            text = file->text;
        } else {
            names[*count] = file->name;
            texts[(*count)++] = file->text;
        }
    }
    return text;
}

tnr_status tnri_nvrtc_compile(const char *op, const char *path, tnri_module module, int major, int minor,
                              tnr_domain *home, tnr_block *image)
{
    compiler of;
    const char *texts[TNRI_KERNEL_MOST_FILES];
    const char *names[TNRI_KERNEL_MOST_FILES];
    int count;
    const char *why;
    void *library = open_library(path, &why);
    TNR_REQUIRE(library != NULL && fill(library, &of, &why), TNR_ERR_UNSUPPORTED,
                "%s: no kernels of the library for this device, and no NVRTC to make them (TENURE_NVRTC names its "
                "file): %s",
                op, why);
    program made = NULL;
    const char *text = find_text(module, &count, texts, names);
    TNR_REQUIRE(of.create(&made, text, tnri_module_names[module], count, texts, names) == 0, TNR_ERR_BACKEND,
                "%s: NVRTC takes no program", op);
    const tnr_status status = run(op, &of, made, major, minor, home, image);
    (void)of.destroy(&made);
    return status;
}
