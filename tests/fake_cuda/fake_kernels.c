/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake's kernels: names that map to functions of the host's, run when their stream comes to them. And a compiler with NVRTC's
 * symbols whose image is the text itself: TENURE_NVRTC may name the fake.
 */
#include <stdlib.h>
#include <string.h>

#include "../../src/cuda/kernels_internal.h"
#include "fake_internal.h"

/* ---- Modules and launches --------------------------------------------------------------------------------------------------------- */

typedef struct fake_function {
    const char *name;
    uint64_t element_bytes;
} fake_function;

static fake_function functions[] = {{"tnri_pack_1", 1}, {"tnri_pack_4", 4}, {"tnri_pack_8", 8}, {"tnri_pack_16", 16}};

FAKE_API CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    FAKE_BEGIN("cuModuleLoadData", true);
    if (image == NULL || strstr(image, "tnri_pack_") == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_IMAGE); /* a real one's: the fake runs no machine code */
    }
    *module = fake_new(FAKE_MODULE, fake_current(), sizeof(fake_object));
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuModuleUnload(CUmodule handle)
{
    FAKE_BEGIN("cuModuleUnload", true);
    fake_object *module = fake_find(FAKE_MODULE, handle, "a module is unloaded twice");
    if (module == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    fake_bury(module);
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name)
{
    FAKE_BEGIN("cuModuleGetFunction", true);
    if (fake_find(FAKE_MODULE, handle, "a function of no module") == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    for (size_t at = 0; at < sizeof(functions) / sizeof(functions[0]); at++) {
        if (strcmp(functions[at].name, name) == 0) {
            *function = (CUfunction)&functions[at];
            return fake_leave(CUDA_SUCCESS);
        }
    }
    return fake_leave(CUDA_ERROR_NOT_FOUND);
}

FAKE_API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream behind,
                                 void **parameters, void **extra)
{
    FAKE_BEGIN("cuLaunchKernel", true);
    fake_stream *stream = fake_find(FAKE_STREAM, behind, "a launch in no stream");
    const bool right = grid_x >= 1 && grid_x <= 0x7FFFFFFF && grid_y == 1 && grid_z == 1 && block_x >= 1 &&
                       block_x <= 1024 && block_y == 1 && block_z == 1 && shared == 0 && extra == NULL;
    if (stream == NULL || stream->object.device != fake_current() || !right) {
        fake_blame(&fake.misuse, "a launch of no size, or in a stream of another context");
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    fake_op *op = fake_op_new();
    op->what = FAKE_LAUNCH;
    op->width = ((const fake_function *)(const void *)function)->element_bytes;
    op->height = 1;
    op->depth = 1;
    op->snapshot = malloc(sizeof(tnri_pack_layout));
    memcpy(op->snapshot, parameters[0], sizeof(tnri_pack_layout));
    memcpy(&op->target.address, parameters[1], sizeof(op->target.address));
    memcpy(&op->source.address, parameters[2], sizeof(op->source.address));
    fake_push(stream, op);
    return fake_leave(CUDA_SUCCESS);
}

/* Where an element is now; NULL, and blame, when it may not be touched. */
static char *element(uint64_t address, uint64_t bytes)
{
    const fake_memory *memory = fake_memory_at(address);
    if (memory == NULL || bytes > memory->bytes - (address - memory->address)) {
        fake_blame(&fake.out_of_bounds, "a kernel leaves its allocation");
        return NULL;
    }
    if (!memory->born || memory->ended) {
        fake_blame(&fake.use_after_free, memory->ended ? "a kernel ran after its memory was freed"
                                                       : "a kernel ran before its memory was allocated");
        return NULL;
    }
    return memory->shadow + (address - memory->address);
}

void fake_run_kernel(const fake_op *op)
{
    tnri_pack_layout layout;
    memcpy(&layout, op->snapshot, sizeof(layout));
    for (int64_t at = 0; at < layout.count; at++) {
        uint64_t to = op->target.address;
        uint64_t from = op->source.address;
        int64_t rest = at;
        for (int64_t axis = 0; axis < layout.rank; axis++) {
            const int64_t index = rest % layout.shape[axis];
            rest /= layout.shape[axis];
            to += (uint64_t)(index * layout.target[axis]);
            from += (uint64_t)(index * layout.source[axis]);
        }
        char *target = element(to, op->width);
        const char *source = element(from, op->width);
        if (target == NULL || source == NULL) {
            return;
        }
        memcpy(target, source, op->width);
    }
}

/* ---- The compiler -------------------------------------------------------------------------------------------------------------------- */

FAKE_API int nvrtcCreateProgram(char **program, const char *text, const char *name, int headers, const char *const *a,
                                const char *const *b);
FAKE_API int nvrtcDestroyProgram(char **program);
FAKE_API int nvrtcCompileProgram(char *program, int count, const char *const *options);
FAKE_API int nvrtcGetCUBINSize(const char *program, size_t *bytes);
FAKE_API int nvrtcGetCUBIN(const char *program, char *image);
FAKE_API int nvrtcGetProgramLogSize(const char *program, size_t *bytes);
FAKE_API int nvrtcGetProgramLog(const char *program, char *text);

int nvrtcCreateProgram(char **program, const char *text, const char *name, int headers, const char *const *a,
                       const char *const *b)
{
    (void)name;
    (void)headers;
    (void)a;
    (void)b;
    *program = malloc(strlen(text) + 1);
    memcpy(*program, text, strlen(text) + 1);
    return 0;
}

int nvrtcDestroyProgram(char **program)
{
    free(*program);
    *program = NULL;
    return 0;
}

int nvrtcCompileProgram(char *program, int count, const char *const *options)
{
    return program != NULL && count > 0 && strstr(options[0], "sm_") != NULL ? 0 : 6;
}

int nvrtcGetCUBINSize(const char *program, size_t *bytes)
{
    *bytes = strlen(program);
    return 0;
}

int nvrtcGetCUBIN(const char *program, char *image)
{
    memcpy(image, program, strlen(program));
    return 0;
}

int nvrtcGetProgramLogSize(const char *program, size_t *bytes)
{
    (void)program;
    *bytes = 1;
    return 0;
}

int nvrtcGetProgramLog(const char *program, char *text)
{
    (void)program;
    text[0] = '\0';
    return 0;
}
