/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A driver that plays devices, for tests only: a shared object with the driver's own symbols. It is never installed, and every
 * device that it shows says in its name what it is.
 *
 * - Device addresses lie in a range that the host may not touch; the bytes are elsewhere. New and freed memory is poisoned.
 * - Streams run late, one operation at a time, in an order that a seed chooses; what nobody waits for may not run at all.
 *   Copies from pageable memory read it when they are called, to pageable memory are over when they return, and with
 *   page-locked memory touch it when they run: as a device does.
 * - Everything that is done to freed, foreign, unborn or never known memory, streams, events and contexts is counted.
 * - Large allocations are sparse: what nobody touches takes no memory of the host's, and is not poisoned but at both ends.
 * - Any call can be made to fail: by its number, by its name, once or for ever; and hooks make it behave as if the library had
 *   forgotten a call, so that tests can prove that they notice.
 */
#ifndef TENURE_TESTS_FAKE_CUDA_H
#define TENURE_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

/* Planted bugs: as if the library forgot something, or did it elsewhere. */
typedef struct fake_plants {
    bool drop_waits;     /* cuStreamWaitEvent does nothing */
    bool false_ready;    /* queries and waits say that it is over */
    bool hollow_waits;   /* waits of the host return at once; queries are answered truly */
    bool skip_pop;       /* cuCtxPopCurrent does nothing */
    bool stray_launches; /* kernels, ... */
    bool stray_events;   /* ... events, ... */
    bool stray_blas;     /* ... and what cuBLAS makes, go in another stream of the context */
    bool lost_workspace; /* cublasSetWorkspace does nothing */
    bool no_barriers;    /* __syncthreads does nothing */
    bool lost_thread;    /* the last thread of the last block does not run */
} fake_plants;

typedef struct fake_cuda {
    /* What there is: before the driver is looked at. */
    int devices;
    int version;
    int init_code;
    bool pools;
    bool managed;
    bool concurrent;
    bool reaches; /* devices each other's memory */
    int numa;
    int max_pitch;
    uint64_t memory_bytes; /* of each device */
    /* How it behaves. */
    uint64_t seed;
    uint64_t first_block; /* of kernels' grids: those before it do not run */
    unsigned eagerness;   /* of 256: how often a call lets some stream go on */
    /* Faults: the fail_at-th call from when it is set, of those named fail_entry (NULL: all), answers fail_code. */
    uint64_t fail_at;
    const char *fail_entry;
    int fail_code;
    bool fail_for_ever; /* and so does every such call after it */
    bool fail_fatal;    /* the context is dead from then on */
    bool unloading;     /* every call answers CUDA_ERROR_DEINITIALIZED */
    fake_plants planted;
    /* Counts. */
    uint64_t calls;
    uint64_t faults; /* that were fired */
    uint64_t use_after_free;
    uint64_t double_free;
    uint64_t out_of_bounds;
    uint64_t misuse; /* handles, contexts, pitches */
    uint64_t held;   /* copies to pageable memory that kept their caller until the stream had come to them */
    uint64_t hangs;  /* waits for what can never be */
    uint64_t leaked; /* objects that lived when the last holder of their context let go */
    uint64_t live;   /* objects: streams, events, pools, allocations, page-locked ranges */
    uint64_t run;    /* operations that ran */
    uint64_t live_bytes;
    char first[160]; /* of the faults of the library: the first one, in words */
} fake_cuda;

/* The one control block, by dlsym; and back to the beginning, all objects gone. */
typedef fake_cuda *(*fake_cuda_control_fn)(void);
typedef void (*fake_cuda_reset_fn)(uint64_t seed);
/* Depth of this thread's stack of contexts. */
typedef int (*fake_cuda_depth_fn)(void);
/*
 * What a transport would do with an address: whose it is, and, for one that takes device memory, where the bytes of live memory of a
 * device are; NULL when they are not all in one allocation.
 */
typedef enum fake_cuda_owner { FAKE_OF_HOST, FAKE_OF_DEVICE, FAKE_OF_BOTH } fake_cuda_owner;
typedef fake_cuda_owner (*fake_cuda_owner_fn)(const void *address);
typedef void *(*fake_cuda_bytes_fn)(const void *address, uint64_t bytes);

#endif /* TENURE_TESTS_FAKE_CUDA_H */
