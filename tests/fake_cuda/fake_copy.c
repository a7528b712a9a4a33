/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake's copies: checked when they are called, run when their stream comes to them. */
#include <stdlib.h>
#include <string.h>

#include "fake_internal.h"

/* What the driver would read of pageable memory before it returns. */
static void take_snapshot(fake_op *op)
{
    op->snapshot = malloc(op->width * op->height * op->depth);
    for (uint64_t plane = 0; plane < op->depth; plane++) {
        for (uint64_t row = 0; row < op->height; row++) {
            memcpy(op->snapshot + (plane * op->height + row) * op->width,
                   (const char *)(uintptr_t)op->source.address + plane * op->source.slice + row * op->source.pitch,
                   op->width);
        }
    }
}

/* Managed memory is device memory that has a host pointer; the rest of the host's is page-locked or not. */
static bool check_side(const fake_op *op, fake_side *side)
{
    const bool rows = op->height > 1 || op->depth > 1;
    if (rows &&
        (side->pitch < op->width || side->pitch > (uint64_t)fake.max_pitch || side->slice < side->pitch * op->height)) {
        fake_blame(&fake.misuse, "a copy whose rows or planes overlap, or lie too far apart");
        return false;
    }
    if (!side->host) {
        if (fake_memory_at(side->address) == NULL) {
            fake_blame(&fake.misuse, "a copy of device memory that is none");
            return false;
        }
        return true;
    }
    if (fake_memory_at(side->address) != NULL && !fake_memory_at(side->address)->managed) {
        fake_blame(&fake.misuse, "a device address is given as the host's");
        return false;
    }
    bool partly = false;
    side->locked = fake_is_locked(side->address, fake_reach(op, side), &partly);
    return true;
}

static CUresult give_copy(const fake_op *what, CUstream behind)
{
    fake_stream *stream = fake_find(FAKE_STREAM, behind, "a copy in no stream");
    if (stream == NULL || stream->object.device != fake_current()) {
        fake_blame(&fake.misuse, "a copy in a stream of another context");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    fake_op *op = fake_op_new();
    *op = *what;
    op->next = NULL;
    op->what = FAKE_COPY;
    if (op->width == 0 || op->height == 0 || op->depth == 0 || !check_side(op, &op->target) ||
        !check_side(op, &op->source)) {
        free(op);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (op->source.host && !op->source.locked) {
        take_snapshot(op);
    }
    const bool now = op->target.host && !op->target.locked;
    fake.held += now && stream->first != NULL ? 1 : 0;
    fake_push(stream, op);
    return now && !fake_run_op(stream, op) ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_SUCCESS;
}

static fake_side flat(bool host, uint64_t address, uint64_t bytes)
{
    const fake_side side = {.host = host, .address = address, .pitch = bytes, .slice = bytes};
    return side;
}

static CUresult give_run(fake_side target, fake_side source, size_t bytes, CUstream stream)
{
    const fake_op op = {.target = target, .source = source, .width = bytes, .height = 1, .depth = 1};
    return give_copy(&op, stream);
}

FAKE_API CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    FAKE_BEGIN("cuMemcpyHtoDAsync_v2", true);
    return fake_leave(give_run(flat(false, to, bytes), flat(true, (uint64_t)(uintptr_t)from, bytes), bytes, stream));
}

FAKE_API CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    FAKE_BEGIN("cuMemcpyDtoHAsync_v2", true);
    return fake_leave(give_run(flat(true, (uint64_t)(uintptr_t)to, bytes), flat(false, from, bytes), bytes, stream));
}

FAKE_API CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    FAKE_BEGIN("cuMemcpyDtoDAsync_v2", true);
    return fake_leave(give_run(flat(false, to, bytes), flat(false, from, bytes), bytes, stream));
}

/* A copy of as many bytes that the host has here: what a fill is. */
FAKE_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    FAKE_BEGIN("cuMemsetD8Async", true);
    if (bytes == 0) {
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    char *values = malloc(bytes);
    memset(values, value, bytes);
    const CUresult code =
        give_run(flat(false, to, bytes), flat(true, (uint64_t)(uintptr_t)values, bytes), bytes, stream);
    free(values);
    return fake_leave(code);
}

static fake_side side_of(CUmemorytype type, const void *host, CUdeviceptr address, uint64_t pitch, uint64_t slice)
{
    const fake_side side = {.host = type == CU_MEMORYTYPE_HOST,
                            .address = type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : address,
                            .pitch = pitch,
                            .slice = slice};
    return side;
}

FAKE_API CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    FAKE_BEGIN("cuMemcpy2DAsync_v2", true);
    const fake_op op = {
        .target =
            side_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstPitch, copy->dstPitch * copy->Height),
        .source =
            side_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcPitch, copy->srcPitch * copy->Height),
        .width = copy->WidthInBytes,
        .height = copy->Height,
        .depth = 1,
    };
    return fake_leave(give_copy(&op, stream));
}

FAKE_API CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    FAKE_BEGIN("cuMemcpy3DAsync_v2", true);
    const fake_op op = {
        .target = side_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstPitch,
                          copy->dstPitch * copy->dstHeight),
        .source = side_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcPitch,
                          copy->srcPitch * copy->srcHeight),
        .width = copy->WidthInBytes,
        .height = copy->Height,
        .depth = copy->Depth,
    };
    return fake_leave(give_copy(&op, stream));
}

static bool may_reach(CUdeviceptr address, int device)
{
    const fake_memory *memory = fake_memory_at(address);
    return memory == NULL || fake_memory_is_reached(memory, device);
}

FAKE_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    FAKE_BEGIN("cuMemcpy3DPeerAsync", true);
    const fake_op op = {
        .target = side_of(copy->dstMemoryType, NULL, copy->dstDevice, copy->dstPitch, copy->dstPitch * copy->dstHeight),
        .source = side_of(copy->srcMemoryType, NULL, copy->srcDevice, copy->srcPitch, copy->srcPitch * copy->srcHeight),
        .width = copy->WidthInBytes,
        .height = copy->Height,
        .depth = copy->Depth,
    };
    if (!may_reach(copy->srcDevice, fake_current()) || !may_reach(copy->dstDevice, fake_current())) {
        fake_blame(&fake.misuse,
                   "a copy between devices that have no access, which a driver would send through the host");
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    }
    return fake_leave(give_copy(&op, stream));
}
