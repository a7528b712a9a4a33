/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake's devices, contexts, streams and events; faults; the control block. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_internal.h"

enum { DEPTH = 64 };

fake_cuda fake;
fake_context fake_contexts[FAKE_DEVICES];
fake_object *fake_objects;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t state = 88172645463325252U;
static _Thread_local CUcontext stack[DEPTH];
static _Thread_local int depth;

/* ---- Control ------------------------------------------------------------------------------------------------------------------- */

FAKE_API fake_cuda *fake_cuda_control(void);
FAKE_API void fake_cuda_reset(uint64_t seed);
FAKE_API int fake_cuda_depth(void);
FAKE_API fake_cuda_owner fake_cuda_owner_of(const void *address);
FAKE_API void *fake_cuda_bytes(const void *address, uint64_t bytes);

fake_cuda *fake_cuda_control(void) { return &fake; }
int fake_cuda_depth(void) { return depth; }

fake_cuda_owner fake_cuda_owner_of(const void *address)
{
    (void)pthread_mutex_lock(&mutex);
    const fake_memory *memory = fake_memory_at((uint64_t)(uintptr_t)address);
    const bool forbidden = fake_memory_is_forbidden((uint64_t)(uintptr_t)address);
    (void)pthread_mutex_unlock(&mutex);
    return forbidden ? FAKE_OF_DEVICE : memory != NULL ? FAKE_OF_BOTH : FAKE_OF_HOST;
}

void *fake_cuda_bytes(const void *address, uint64_t bytes)
{
    const uint64_t at = (uint64_t)(uintptr_t)address;
    (void)pthread_mutex_lock(&mutex);
    const fake_memory *memory = fake_memory_at(at);
    const bool whole = memory != NULL && memory->object.alive && bytes <= memory->bytes - (at - memory->address);
    char *found = whole ? memory->shadow + (at - memory->address) : NULL;
    (void)pthread_mutex_unlock(&mutex);
    return found;
}

void fake_cuda_reset(uint64_t seed)
{
    while (fake_objects != NULL) {
        fake_object *object = fake_objects;
        fake_objects = object->next;
        if (object->kind == FAKE_STREAM) {
            fake_clear_stream((fake_stream *)object);
        } else if (object->kind >= FAKE_MEMORY) {
            fake_memory_drop((fake_memory *)object);
        }
        free(object);
    }
    fake_memory_reset();
    memset(fake_contexts, 0, sizeof(fake_contexts));
    memset(&fake, 0, sizeof(fake));
    fake.devices = 2;
    fake.version = 13000;
    fake.pools = true;
    fake.managed = true;
    fake.concurrent = true;
    fake.reaches = true;
    fake.max_pitch = INT32_MAX;
    fake.memory_bytes = UINT64_C(1) << 30;
    fake.eagerness = 32;
    fake.seed = seed;
    state = seed * 2862933555777941757U + 3037000493U;
    depth = 0;
}

__attribute__((constructor)) static void begin(void) { fake_cuda_reset(1); }

uint64_t fake_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

void fake_blame(uint64_t *count, const char *what)
{
    ++*count;
    if (fake.first[0] == '\0') {
        (void)snprintf(fake.first, sizeof(fake.first), "%s", what);
    }
}

/* ---- Calls ---------------------------------------------------------------------------------------------------------------------- */

static int device_of(CUcontext context)
{
    for (int device = 0; device < FAKE_DEVICES; device++) {
        if (context == (CUcontext)&fake_contexts[device]) {
            return device;
        }
    }
    return -1;
}

int fake_current(void) { return depth > 0 ? device_of(stack[depth - 1]) : -1; }

static bool falls_due(const char *entry)
{
    if (fake.fail_at == 0 || (fake.fail_entry != NULL && strcmp(fake.fail_entry, entry) != 0)) {
        return false;
    }
    if (fake.fail_at > 1) {
        fake.fail_at--;
        return false;
    }
    fake.fail_at = fake.fail_for_ever ? 1 : 0;
    fake.faults++;
    return true;
}

/* Of a call that needs a context. */
static CUresult state_of_current(void)
{
    const int device = fake_current();
    if (device < 0 || fake_contexts[device].refs == 0) {
        fake_blame(&fake.misuse, "a call needs a context, and none is current");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return fake_contexts[device].dead;
}

static CUresult fail_here(void)
{
    const int device = fake_current();
    if (fake.fail_fatal && device >= 0) {
        fake_contexts[device].dead = (CUresult)fake.fail_code;
    }
    return (CUresult)fake.fail_code;
}

bool fake_enter(const char *entry, bool needs, CUresult *code)
{
    (void)pthread_mutex_lock(&mutex);
    fake.calls++;
    if (fake.unloading) {
        *code = CUDA_ERROR_DEINITIALIZED;
    } else {
        *code = falls_due(entry) ? fail_here() : needs ? state_of_current() : CUDA_SUCCESS;
    }
    if (*code != CUDA_SUCCESS) {
        (void)pthread_mutex_unlock(&mutex);
        return false;
    }
    fake_run_some();
    return true;
}

CUresult fake_leave(CUresult code)
{
    (void)pthread_mutex_unlock(&mutex);
    return code;
}

void *fake_new(fake_kind kind, int device, size_t bytes)
{
    fake_object *made = calloc(1, bytes);
    made->kind = kind;
    made->device = device;
    made->alive = true;
    made->next = fake_objects;
    fake_objects = made;
    fake.live++;
    return made;
}

void *fake_find(fake_kind kind, const void *handle, const char *what)
{
    for (fake_object *at = fake_objects; at != NULL; at = at->next) {
        if ((const void *)at == handle && at->kind == kind) {
            if (at->alive) {
                return at;
            }
            break;
        }
    }
    fake_blame(&fake.misuse, what);
    return NULL;
}

void fake_bury(fake_object *object)
{
    object->alive = false;
    fake.live--;
}

/* ---- Driver and devices ------------------------------------------------------------------------------------------------------------- */

FAKE_API CUresult cuInit(unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuInit", false);
    return fake_leave((CUresult)fake.init_code);
}

FAKE_API CUresult cuDriverGetVersion(int *version)
{
    FAKE_BEGIN("cuDriverGetVersion", false);
    *version = fake.version;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuGetErrorName(CUresult error, const char **name)
{
    switch ((int)error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        *name = "CUDA_ERROR_OUT_OF_MEMORY";
        break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
        *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
        break;
    case CUDA_ERROR_DEINITIALIZED:
        *name = "CUDA_ERROR_DEINITIALIZED";
        break;
    case CUDA_ERROR_INVALID_VALUE:
        *name = "CUDA_ERROR_INVALID_VALUE";
        break;
    default:
        *name = "CUDA_ERROR_OF_THE_FAKE";
        break;
    }
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetCount(int *count)
{
    FAKE_BEGIN("cuDeviceGetCount", false);
    *count = fake.devices;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    FAKE_BEGIN("cuDeviceGet", false);
    *device = ordinal;
    return fake_leave(ordinal >= 0 && ordinal < fake.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

FAKE_API CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    FAKE_BEGIN("cuDeviceGetName", false);
    (void)snprintf(name, (size_t)bytes, "tenure fake device %d (no hardware)", device);
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    FAKE_BEGIN("cuDeviceGetUuid_v2", false);
    memset(uuid, 0xFA, sizeof(*uuid));
    uuid->bytes[15] = (char)device;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    FAKE_BEGIN("cuDeviceTotalMem_v2", false);
    *bytes = fake.memory_bytes;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    FAKE_BEGIN("cuDeviceGetAttribute", false);
    switch ((int)which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        *value = fake.pools;
        break;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        *value = fake.managed;
        break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        *value = fake.concurrent;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
        *value = fake.max_pitch;
        break;
    case 134:
        *value = fake.numa;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 1; /* few threads, so that each goes on to a next element */
        break;
    default:
        *value = 0;
        break;
    }
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    (void)device;
    (void)peer;
    FAKE_BEGIN("cuDeviceCanAccessPeer", false);
    *can = fake.reaches;
    return fake_leave(CUDA_SUCCESS);
}

/* ---- Contexts ------------------------------------------------------------------------------------------------------------------------ */

FAKE_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    FAKE_BEGIN("cuDevicePrimaryCtxRetain", false);
    fake_contexts[device].refs++;
    *context = (CUcontext)&fake_contexts[device];
    return fake_leave(CUDA_SUCCESS);
}

/* All that lives in a context goes with it. */
static void end_context(int device)
{
    for (fake_object *at = fake_objects; at != NULL; at = at->next) {
        if (at->device == device && at->kind == FAKE_STREAM) {
            fake_clear_stream((fake_stream *)at);
        }
        if (at->device == device && at->alive) {
            fake.leaked++;
            fake_bury(at);
            if (at->kind >= FAKE_MEMORY) {
                ((fake_memory *)at)->ended = true;
                fake_memory_drop((fake_memory *)at);
            }
        }
    }
    memset(&fake_contexts[device], 0, sizeof(fake_contexts[device]));
}

FAKE_API CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    FAKE_BEGIN("cuDevicePrimaryCtxRelease_v2", false);
    if (fake_contexts[device].refs == 0) {
        fake_blame(&fake.misuse, "a context is released that nobody retains");
        return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (--fake_contexts[device].refs == 0) {
        end_context(device);
    }
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    FAKE_BEGIN("cuDevicePrimaryCtxGetState", false);
    *flags = 0;
    *active = fake_contexts[device].refs > 0;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxPushCurrent(CUcontext context)
{
    FAKE_BEGIN("cuCtxPushCurrent_v2", false);
    const int device = device_of(context);
    if (device < 0 || fake_contexts[device].refs == 0 || depth == DEPTH) {
        fake_blame(&fake.misuse, "a context is pushed that is none, or too many are");
        return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    stack[depth++] = context;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxPopCurrent(CUcontext *context)
{
    FAKE_BEGIN("cuCtxPopCurrent_v2", false);
    if (depth == 0) {
        fake_blame(&fake.misuse, "a context is popped, and none is there");
        return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    *context = stack[depth - 1];
    depth -= fake.planted.skip_pop ? 0 : 1;
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = depth > 0 ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}

/* ---- Streams --------------------------------------------------------------------------------------------------------------------------- */

static bool is_here(const fake_object *object)
{
    if (object->device != fake_current()) {
        fake_blame(&fake.misuse, "a stream or event of another context");
        return false;
    }
    return true;
}

FAKE_API CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuStreamCreate", true);
    *stream = fake_new(FAKE_STREAM, fake_current(), sizeof(fake_stream));
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuStreamDestroy(CUstream handle)
{
    FAKE_BEGIN("cuStreamDestroy_v2", true);
    fake_stream *stream = fake_find(FAKE_STREAM, handle, "a stream is destroyed twice");
    if (stream == NULL || !is_here(&stream->object)) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    fake_bury(&stream->object); /* what is queued runs on */
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuStreamQuery(CUstream handle)
{
    FAKE_BEGIN("cuStreamQuery", true);
    const fake_stream *stream = fake_find(FAKE_STREAM, handle, "a stream is asked that is none");
    if (stream == NULL || !is_here(&stream->object)) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    return fake_leave(stream->first == NULL || fake.planted.false_ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

FAKE_API CUresult cuStreamSynchronize(CUstream handle)
{
    FAKE_BEGIN("cuStreamSynchronize", true);
    const fake_stream *stream = fake_find(FAKE_STREAM, handle, "a stream is waited for that is none");
    if (stream == NULL || !is_here(&stream->object)) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    const bool over = fake.planted.false_ready || fake.planted.hollow_waits || fake_run_stream(stream);
    return fake_leave(over ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT);
}

FAKE_API CUresult cuStreamWaitEvent(CUstream handle, CUevent behind, unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuStreamWaitEvent", true);
    fake_stream *stream = fake_find(FAKE_STREAM, handle, "a stream that is none is to wait");
    fake_event *event = fake_find(FAKE_EVENT, behind, "a stream is to wait for an event that is none");
    if (stream == NULL || event == NULL || !is_here(&stream->object)) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (!fake.planted.drop_waits) {
        fake_op *op = fake_op_new();
        op->what = FAKE_WAIT;
        op->event = event;
        op->number = event->recorded;
        fake_push(stream, op);
    }
    return fake_leave(CUDA_SUCCESS);
}

fake_stream *fake_stray(fake_stream *stream)
{
    for (fake_object *at = fake_objects; at != NULL; at = at->next) {
        if (at->kind == FAKE_STREAM && at->alive && at->device == stream->object.device && at != &stream->object) {
            return (fake_stream *)at;
        }
    }
    return stream;
}

/* ---- Events ---------------------------------------------------------------------------------------------------------------------------- */

FAKE_API CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    FAKE_BEGIN("cuEventCreate", true);
    *event = fake_new(FAKE_EVENT, fake_current(), sizeof(fake_event));
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuEventDestroy(CUevent handle)
{
    FAKE_BEGIN("cuEventDestroy_v2", true);
    fake_event *event = fake_find(FAKE_EVENT, handle, "an event is destroyed twice");
    if (event == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    fake_bury(&event->object);
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuEventRecord(CUevent handle, CUstream behind)
{
    FAKE_BEGIN("cuEventRecord", true);
    fake_event *event = fake_find(FAKE_EVENT, handle, "an event is recorded that is none");
    fake_stream *stream = fake_find(FAKE_STREAM, behind, "an event is recorded in no stream");
    if (event == NULL || stream == NULL || !is_here(&event->object) || !is_here(&stream->object)) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    fake_op *op = fake_op_new();
    op->what = FAKE_RECORD;
    op->event = event;
    op->number = ++event->recorded;
    fake_push(fake.planted.stray_events ? fake_stray(stream) : stream, op);
    return fake_leave(CUDA_SUCCESS);
}

FAKE_API CUresult cuEventQuery(CUevent handle)
{
    FAKE_BEGIN("cuEventQuery", true);
    const fake_event *event = fake_find(FAKE_EVENT, handle, "an event is asked that is none");
    if (event == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (fake_random() % 8 == 0) { /* so that asking long enough helps */
        (void)fake_run_event(event, event->recorded);
    }
    return fake_leave(event->done >= event->recorded || fake.planted.false_ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

FAKE_API CUresult cuEventSynchronize(CUevent handle)
{
    FAKE_BEGIN("cuEventSynchronize", true);
    const fake_event *event = fake_find(FAKE_EVENT, handle, "an event is waited for that is none");
    if (event == NULL) {
        return fake_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    const bool over = fake.planted.false_ready || fake.planted.hollow_waits || fake_run_event(event, event->recorded);
    return fake_leave(over ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT);
}
