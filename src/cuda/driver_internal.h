/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver, as one table of functions that is filled at run time: the list of what the library calls, and what its answers
 * mean. The only header that includes <cuda.h>, for types; nothing is linked.
 *
 * Versions are asked for by name: memcpy and context calls changed their parameters in CUDA 3.2 and 4.0, and the names without
 * _v2 are the old ones, which still exist.
 */
#ifndef TENURE_CUDA_DRIVER_INTERNAL_H
#define TENURE_CUDA_DRIVER_INTERNAL_H

#include <cuda.h>

#include "../storage/provider.h"
#include "tenure/cuda.h"

/* tnri_fail, TNR_TRY and TNR_REQUIRE of base.h record their texts in the core. */
#define tnri_record_failure tnr_provider.record_failure

/* X(member, name in the driver, parameters). */
#define TNRI_CUDA_CALLS(X)                                                                   \
    X(init, "cuInit", (unsigned))                                                            \
    X(driver_version, "cuDriverGetVersion", (int *))                                         \
    X(error_name, "cuGetErrorName", (CUresult, const char **))                               \
    X(device_count, "cuDeviceGetCount", (int *))                                             \
    X(device_get, "cuDeviceGet", (CUdevice *, int))                                          \
    X(device_name, "cuDeviceGetName", (char *, int, CUdevice))                               \
    X(device_uuid, "cuDeviceGetUuid_v2", (CUuuid *, CUdevice))                               \
    X(device_attribute, "cuDeviceGetAttribute", (int *, CUdevice_attribute, CUdevice))       \
    X(device_bytes, "cuDeviceTotalMem_v2", (size_t *, CUdevice))                             \
    X(device_reaches, "cuDeviceCanAccessPeer", (int *, CUdevice, CUdevice))                  \
    X(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                   \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                           \
    X(context_state, "cuDevicePrimaryCtxGetState", (CUdevice, unsigned *, int *))            \
    X(context_push, "cuCtxPushCurrent_v2", (CUcontext))                                      \
    X(context_pop, "cuCtxPopCurrent_v2", (CUcontext *))                                      \
    X(context_current, "cuCtxGetCurrent", (CUcontext *))                                     \
    X(stream_create, "cuStreamCreate", (CUstream *, unsigned))                               \
    X(stream_destroy, "cuStreamDestroy_v2", (CUstream))                                      \
    X(stream_query, "cuStreamQuery", (CUstream))                                             \
    X(stream_synchronize, "cuStreamSynchronize", (CUstream))                                 \
    X(stream_wait, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                       \
    X(event_create, "cuEventCreate", (CUevent *, unsigned))                                  \
    X(event_destroy, "cuEventDestroy_v2", (CUevent))                                         \
    X(event_record, "cuEventRecord", (CUevent, CUstream))                                    \
    X(event_query, "cuEventQuery", (CUevent))                                                \
    X(event_synchronize, "cuEventSynchronize", (CUevent))                                    \
    X(memory_take, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                 \
    X(memory_give, "cuMemFree_v2", (CUdeviceptr))                                            \
    X(managed_take, "cuMemAllocManaged", (CUdeviceptr *, size_t, unsigned))                  \
    X(pinned_take, "cuMemHostAlloc", (void **, size_t, unsigned))                            \
    X(pinned_give, "cuMemFreeHost", (void *))                                                \
    X(host_register, "cuMemHostRegister_v2", (void *, size_t, unsigned))                     \
    X(host_unregister, "cuMemHostUnregister", (void *))                                      \
    X(pool_create, "cuMemPoolCreate", (CUmemoryPool *, const CUmemPoolProps *))              \
    X(pool_destroy, "cuMemPoolDestroy", (CUmemoryPool))                                      \
    X(pool_set, "cuMemPoolSetAttribute", (CUmemoryPool, CUmemPool_attribute, void *))        \
    X(pool_get, "cuMemPoolGetAttribute", (CUmemoryPool, CUmemPool_attribute, void *))        \
    X(pool_trim, "cuMemPoolTrimTo", (CUmemoryPool, size_t))                                  \
    X(pool_access, "cuMemPoolSetAccess", (CUmemoryPool, const CUmemAccessDesc *, size_t))    \
    X(pool_take, "cuMemAllocFromPoolAsync", (CUdeviceptr *, size_t, CUmemoryPool, CUstream)) \
    X(pool_give, "cuMemFreeAsync", (CUdeviceptr, CUstream))                                  \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream))        \
    X(copy_out, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))             \
    X(copy_on, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))         \
    X(copy_rows, "cuMemcpy2DAsync_v2", (const CUDA_MEMCPY2D *, CUstream))                    \
    X(copy_planes, "cuMemcpy3DAsync_v2", (const CUDA_MEMCPY3D *, CUstream))                  \
    X(copy_peer, "cuMemcpy3DPeerAsync", (const CUDA_MEMCPY3D_PEER *, CUstream))              \
    X(fill_bytes, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))         \
    X(module_load, "cuModuleLoadData", (CUmodule *, const void *))                           \
    X(module_function, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))        \
    X(module_unload, "cuModuleUnload", (CUmodule))                                           \
    X(launch, "cuLaunchKernel",                                                              \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

#define TNRI_CUDA_MEMBER(member, name, parameters) CUresult(CUDAAPI *member) parameters;
typedef struct tnri_driver {
    TNRI_CUDA_CALLS(TNRI_CUDA_MEMBER)
} tnri_driver;
#undef TNRI_CUDA_MEMBER

/* CUDA 11.4: the first with all of these. */
enum { TNRI_CUDA_LEAST_VERSION = 11040 };

/* Fill the table, start the driver and count devices; never fails, and *driver is only of use when it is AVAILABLE. */
void tnri_driver_look(const char *path, tnri_driver *driver, tnr_cuda_sight *sight);

/* "CUDA_ERROR_OUT_OF_MEMORY"; "unknown error" when the driver does not say. */
const char *tnri_driver_error(const tnri_driver *driver, CUresult code);

/* Errors after which a context answers nothing else any more. */
bool tnri_driver_is_fatal(CUresult code);

#endif /* TENURE_CUDA_DRIVER_INTERNAL_H */
