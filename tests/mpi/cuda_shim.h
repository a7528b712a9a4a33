/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program between the library and MPI that looks at every address: none is a device's, unless MPI was said to take device memory
 * (query.h). Then it plays such an MPI: sends and receives of device memory go to and from where the fake driver has the bytes, now or
 * when the message comes, and so without any regard to what is still queued: whoever lets MPI have memory too early sees wrong bytes.
 * Failures on order. Included once, by a test program.
 */
#ifndef TENURE_TESTS_MPI_CUDA_SHIM_H
#define TENURE_TESTS_MPI_CUDA_SHIM_H

#include <dlfcn.h>

#include "../fake_cuda/fake_cuda.h"
#include "query.h"
#include "tenure/cuda.h"

/* One message with device memory in it. */
typedef struct shim_message {
    const char *address;
    uint64_t bytes;
    bool sent;
} shim_message;

enum { SHIM_MESSAGES = 64 };

static struct {
    void *driver;
    fake_cuda *fake;
    fake_cuda_owner_fn owner_of;
    fake_cuda_bytes_fn bytes_of;
    int (*context_retain)(void **context, int device); /* the driver's own calls, as a program makes them; 0: well */
    int (*context_release)(int device);
    int (*context_push)(void *context);
    int (*context_pop)(void **context);
    int (*context_current)(void **context);
    shim_message messages[SHIM_MESSAGES]; /* the first of them */
    int count;
    int calls;   /* MPI_Isend and MPI_Irecv */
    int fail_at; /* the fail_at-th from when both are set; 0: none */
    int failed;
    bool
        withholds; /* the end of a large message, until the device has done something since it was given to MPI; but for the last */
    int large;        /* messages sent meanwhile */
    int last;         /* so many there are */
    MPI_Request held; /* the latest of them */
    uint64_t held_at; /* what the device had done by then */
    int withheld;     /* so often */
    bool
        one_handle; /* this MPI gives all sends that are over at once the same request: none can be told from the others, or withheld */
} shim;

/* The fake as new, with this seed. */
static inline void shim_begin(uint64_t seed)
{
    fake_cuda_control_fn control;
    fake_cuda_reset_fn reset;
    shim.driver = dlopen(FAKE_CUDA_PATH, RTLD_NOW | RTLD_LOCAL);
    CHECK(shim.driver != NULL);
    *(void **)&control = dlsym(shim.driver, "fake_cuda_control");
    *(void **)&reset = dlsym(shim.driver, "fake_cuda_reset");
    *(void **)&shim.owner_of = dlsym(shim.driver, "fake_cuda_owner_of");
    *(void **)&shim.bytes_of = dlsym(shim.driver, "fake_cuda_bytes");
    *(void **)&shim.context_retain = dlsym(shim.driver, "cuDevicePrimaryCtxRetain");
    *(void **)&shim.context_release = dlsym(shim.driver, "cuDevicePrimaryCtxRelease_v2");
    *(void **)&shim.context_push = dlsym(shim.driver, "cuCtxPushCurrent_v2");
    *(void **)&shim.context_pop = dlsym(shim.driver, "cuCtxPopCurrent_v2");
    *(void **)&shim.context_current = dlsym(shim.driver, "cuCtxGetCurrent");
    CHECK(shim.context_retain != NULL && shim.context_release != NULL && shim.context_push != NULL);
    CHECK(shim.context_pop != NULL && shim.context_current != NULL);
    CHECK(control != NULL && reset != NULL && shim.owner_of != NULL && shim.bytes_of != NULL);
    reset(seed);
    shim.fake = control();
    shim.count = 0;
    shim.calls = 0;
    shim.fail_at = 0;
    shim.failed = 0;
}

/* The driver has nothing to complain of, and nothing is left there. */
static inline void shim_end(void)
{
    const fake_cuda *fake = shim.fake;
    if (fake->first[0] != '\0') {
        (void)fprintf(stderr, "the driver says: %s\n", fake->first);
    }
    CHECK(fake->use_after_free == 0 && fake->double_free == 0 && fake->out_of_bounds == 0);
    CHECK(fake->misuse == 0 && fake->hangs == 0 && fake->leaked == 0 && fake->live == 0);
    query_state.answer = 0;
}

/* A buffer that MPI is given. What it may use instead. */
static void *shim_look(const void *data, uint64_t bytes, bool sent)
{
    void *same = (void *)(uintptr_t)data;
    if (shim.fake == NULL || data == NULL || shim.owner_of(data) == FAKE_OF_HOST || bytes == 0) {
        return same;
    }
    CHECK(shim.owner_of(data) == FAKE_OF_DEVICE); /* managed memory stays out of it */
    CHECK(query_state.answer == 1);
    same = shim.bytes_of(data, bytes);
    CHECK(same != NULL); /* alive, and all in one allocation */
    if (shim.count < SHIM_MESSAGES) {
        shim.messages[shim.count] = (shim_message){data, bytes, sent};
    }
    shim.count++;
    return same;
}

static void *shim_buffer(const void *data, int count, MPI_Datatype type, bool sent)
{
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    (void)PMPI_Type_get_true_extent(type, &low, &extent);
    if (type != MPI_BYTE) { /* walked by MPI: never a device's */
        CHECK(shim.fake == NULL || data == NULL || shim.owner_of((const char *)data + low) == FAKE_OF_HOST);
        return (void *)(uintptr_t)data;
    }
    return shim_look(data, (uint64_t)count * (uint64_t)extent, sent);
}

static bool shim_fails(void)
{
    shim.calls++;
    const bool due = shim.fail_at > 0 && --shim.fail_at == 0;
    shim.failed += due ? 1 : 0;
    return due;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    const void *real = shim_buffer(data, count, type, true);
    if (shim_fails()) {
        return MPI_ERR_OTHER;
    }
    const int code = PMPI_Isend(real, count, type, to, tag, comm, request);
    if (shim.withholds && count >= 1024) {
        shim.one_handle = shim.one_handle || (shim.large > 0 && *request == shim.held);
        shim.held = *request;
        shim.held_at = shim.fake->run;
        shim.large++;
    }
    return code;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    if (shim.withholds && !shim.one_handle && *request == shim.held && shim.large < shim.last &&
        shim.fake->run == shim.held_at) {
        shim.withheld++;
        *done = 0;
        return MPI_SUCCESS;
    }
    return PMPI_Test(request, done, status);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    void *real = shim_buffer(data, count, type, false);
    return shim_fails() ? MPI_ERR_OTHER : PMPI_Irecv(real, count, type, from, tag, comm, request);
}

/* All else that takes buffers gets the host's alone. */
static void shim_host(const void *data)
{
    CHECK(shim.fake == NULL || data == NULL || data == MPI_IN_PLACE || shim.owner_of(data) == FAKE_OF_HOST);
}

int MPI_Rget(void *data, int count, MPI_Datatype type, int rank, MPI_Aint at, int there, MPI_Datatype theirs,
             MPI_Win window, MPI_Request *request)
{
    shim_host(data);
    return PMPI_Rget(data, count, type, rank, at, there, theirs, window, request);
}

int MPI_Win_attach(MPI_Win window, void *data, MPI_Aint bytes)
{
    shim_host(data);
    return PMPI_Win_attach(window, data, bytes);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    shim_host(data);
    return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Allreduce(const void *data, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    shim_host(data);
    shim_host(to);
    return PMPI_Allreduce(data, to, count, type, op, comm);
}

int MPI_Allgather(const void *data, int count, MPI_Datatype type, void *to, int each, MPI_Datatype theirs,
                  MPI_Comm comm)
{
    shim_host(data);
    shim_host(to);
    return PMPI_Allgather(data, count, type, to, each, theirs, comm);
}

#endif /* TENURE_TESTS_MPI_CUDA_SHIM_H */
