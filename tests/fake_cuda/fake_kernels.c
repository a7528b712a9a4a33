/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake's kernels: the library's own, compiled for the host (fake_module.cpp), run when their stream comes to them. And a compiler with NVRTC's
 * symbols whose image is the text itself: TENURE_NVRTC may name the fake.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_internal.h"

/* ---- Modules and launches --------------------------------------------------------------------------------------------------------- */

/* What the fake's compiler made, or a fat binary of nvcc's: its kernels are known by name. Machine code for one device is refused. */
static bool is_image(const void *image)
{
    static const unsigned char fat[4] = {0x50, 0xED, 0x55, 0xBA};
    return image != NULL && (memcmp(image, fat, 4) == 0 || strncmp(image, "/* SPDX", 7) == 0);
}

FAKE_API CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    FAKE_BEGIN("cuModuleLoadData", true);
    if (!is_image(image)) {
        return fake_leave(CUDA_ERROR_INVALID_IMAGE);
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
    const fake_kernel *kernel = fake_kernel_find(name);
    if (kernel == NULL) {
        return fake_leave(CUDA_ERROR_NOT_FOUND);
    }
    *function = (CUfunction)(uintptr_t)kernel;
    return fake_leave(CUDA_SUCCESS);
}

enum { VALUE = 16 }; /* where a parameter may begin */

static size_t rounded_up(size_t bytes) { return (bytes + VALUE - 1) / VALUE * VALUE; }

/* The parameters as they are now; addresses among them are noted. */
static void take_parameters(fake_op *op, void *const *parameters)
{
    const fake_kernel *kernel = op->kernel;
    size_t bytes = 0;
    for (int i = 0; i < kernel->parameters; i++) {
        bytes += rounded_up(kernel->bytes[i]);
    }
    op->snapshot = malloc(bytes);
    bytes = 0;
    for (int i = 0; i < kernel->parameters; i++) {
        memcpy(op->snapshot + bytes, parameters[i], kernel->bytes[i]);
        bytes += rounded_up(kernel->bytes[i]);
        if (kernel->address[i]) {
            memcpy(&op->addresses[op->address_count++], parameters[i], sizeof(uint64_t));
        }
    }
}

FAKE_API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream behind,
                                 void **parameters, void **extra)
{
    FAKE_BEGIN("cuLaunchKernel", true);
    fake_stream *stream = fake_find(FAKE_STREAM, behind, "a launch in no stream");
    const bool right = grid_x >= 1 && grid_x <= 0x7FFFFFFF && grid_y == 1 && grid_z == 1 && block_x == FAKE_THREADS &&
                       block_y == 1 && block_z == 1 && shared == 0 && extra == NULL;
    if (stream == NULL || stream->object.device != fake_current() || !right) {
        fake_blame(&fake.misuse, "a launch of no size, or in a stream of another context");
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    fake_op *op = fake_op_new();
    op->what = FAKE_LAUNCH;
    op->kernel = (const fake_kernel *)(uintptr_t)function;
    op->number = grid_x;
    op->device = stream->object.device;
    take_parameters(op, parameters);
    fake_push(fake.planted.stray_launches ? fake_stray(stream) : stream, op);
    return fake_leave(CUDA_SUCCESS);
}

/* ---- What running kernels ask for --------------------------------------------------------------------------------------------------- */

static char nowhere[256]; /* what is read of memory that may not be touched, and where it is written to */
static const fake_memory *touched[4];
static unsigned next_touched;
static int running_on;

char *fake_device_bytes(uint64_t address, size_t bytes, size_t alignment)
{
    if (address % alignment != 0) {
        fake_blame(&fake.misuse, "a kernel reads or writes an element that is not aligned");
    }
    for (int i = 0; i < 4; i++) {
        const fake_memory *memory = touched[i];
        if (memory != NULL && address >= memory->address && address - memory->address < memory->bytes &&
            bytes <= memory->bytes - (address - memory->address)) {
            return memory->shadow + (address - memory->address);
        }
    }
    const fake_memory *memory = fake_memory_at(address);
    if (memory == NULL || bytes > memory->bytes - (address - memory->address)) {
        fake_blame(&fake.out_of_bounds, "a kernel leaves its allocation");
        return nowhere;
    }
    if (!memory->born || memory->ended) {
        fake_blame(&fake.use_after_free, memory->ended ? "a kernel ran after its memory was freed"
                                                       : "a kernel ran before its memory was allocated");
        return nowhere;
    }
    if (!fake_memory_is_reached(memory, running_on)) {
        fake_blame(&fake.misuse, "a kernel reads or writes memory of a device that it has no access to");
        return nowhere;
    }
    touched[next_touched++ % 4] = memory;
    return memory->shadow + (address - memory->address);
}

uint64_t fake_device_random(void) { return fake_random(); }
uint64_t fake_device_first_block(void) { return fake.first_block; }
bool fake_device_has_barriers(void) { return !fake.planted.no_barriers; }
bool fake_device_loses_a_thread(void) { return fake.planted.lost_thread; }
void fake_device_blame(const char *what) { fake_blame(&fake.misuse, what); }

void fake_run_kernel(const fake_op *op)
{
    void *values[FAKE_PARAMETERS];
    size_t at = 0;
    for (int i = 0; i < op->kernel->parameters; i++) {
        values[i] = op->snapshot + at;
        at += rounded_up(op->kernel->bytes[i]);
    }
    running_on = op->device;
    memset(touched, 0, sizeof(touched)); /* whether memory may be touched is asked anew */
    if (op->kernel->once) {
        op->kernel->call(values);
    } else {
        fake_device_run(op->kernel, (unsigned)op->number, values);
    }
    memset(touched, 0, sizeof(touched));
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
