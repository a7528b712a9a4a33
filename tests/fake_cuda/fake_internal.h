/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the fake driver share. */
#ifndef TENURE_TESTS_FAKE_INTERNAL_H
#define TENURE_TESTS_FAKE_INTERNAL_H

#include <cuda.h>
#include <stddef.h>

#include "fake_cuda.h"
#include "fake_launch.h"

#define FAKE_API __attribute__((visibility("default")))

enum { FAKE_DEVICES = 4 };

/* Contexts, streams, events and pools: all on one list, by kind. */
typedef enum fake_kind {
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_POOL,
    FAKE_MODULE,
    FAKE_HANDLE, /* of cuBLAS */
    FAKE_MEMORY, /* memory from here on */
    FAKE_PINNED,
    FAKE_REGISTERED
} fake_kind;

typedef struct fake_object {
    struct fake_object *next; /* all that ever were since the last reset */
    fake_kind kind;
    int device;
    bool alive; /* not destroyed or freed by a call */
} fake_object;

typedef struct fake_op fake_op;

typedef struct fake_stream {
    fake_object object;
    fake_op *first;
    fake_op *last;
} fake_stream;

typedef struct fake_event {
    fake_object object;
    uint64_t recorded;
    uint64_t done;
} fake_event;

typedef struct fake_pool {
    fake_object object;
    uint64_t threshold;
    uint64_t used;
    uint64_t reserved;
    unsigned peers;
} fake_pool;

/* Device memory (also managed), or page-locked host memory. */
typedef struct fake_memory {
    fake_object object;
    uint64_t address;
    uint64_t bytes;
    char *shadow;   /* where the bytes are */
    uint64_t taken; /* of them */
    fake_pool *pool;
    bool managed;
    bool born;  /* the stream has come to its allocation */
    bool ended; /* and to its release */
} fake_memory;

/* One side of a copy. */
typedef struct fake_side {
    bool host;
    bool locked; /* host memory that the device reads and writes when it comes to it */
    uint64_t address;
    uint64_t pitch;
    uint64_t slice; /* bytes */
    int device;
} fake_side;

struct fake_op {
    fake_op *next;
    enum { FAKE_COPY, FAKE_RECORD, FAKE_WAIT, FAKE_TAKE, FAKE_GIVE, FAKE_LAUNCH } what;
    fake_event *event;
    uint64_t number;
    fake_memory *memory;
    fake_side target;
    fake_side source;
    uint64_t width;
    uint64_t height;
    uint64_t depth;
    char *snapshot; /* of pageable source memory, packed; of a launch, its parameters */
    const fake_kernel *kernel;
    int device;        /* of a launch */
    int address_count; /* of a launch: addresses among its parameters */
    uint64_t addresses[FAKE_PARAMETERS];
};

typedef struct fake_context {
    int refs;
    CUresult dead;
    uint64_t used_bytes;
} fake_context;

extern fake_cuda fake;
extern fake_context fake_contexts[FAKE_DEVICES];
extern fake_object *fake_objects;

/* Begin a call: locks; false: it fails with *code, unlocked. `needs`: a current context that is not dead. */
bool fake_enter(const char *entry, bool needs, CUresult *code);
CUresult fake_leave(CUresult code);
#define FAKE_BEGIN(entry, needs)               \
    CUresult code_;                            \
    if (!fake_enter((entry), (needs), &code_)) \
    return code_

/* Another stream of the same context, for planted bugs; the same when there is none. */
fake_stream *fake_stray(fake_stream *stream);
/* Device of the current context; -1: none. */
int fake_current(void);
uint64_t fake_random(void);
void fake_blame(uint64_t *count, const char *what);
void *fake_new(fake_kind kind, int device, size_t bytes);
/* A live object, or NULL and blame. */
void *fake_find(fake_kind kind, const void *handle, const char *what);
void fake_bury(fake_object *object);

/* memory */
fake_memory *fake_memory_at(uint64_t address); /* that contains it, freed ones too; NULL */
bool fake_memory_is_forbidden(uint64_t address);
/* By a device that it is on, or that was given access to its pool. */
bool fake_memory_is_reached(const fake_memory *memory, int device);
bool fake_is_locked(uint64_t address, uint64_t bytes, bool *partly);
void fake_memory_reset(void);
void fake_memory_drop(fake_memory *memory); /* its bytes go */
void fake_memory_end(fake_memory *memory);  /* the stream comes to its release */

/* kernels: a launch, now */
void fake_run_kernel(const fake_op *op);

/* running */
void fake_push(fake_stream *stream, fake_op *op);
fake_op *fake_op_new(void);
void fake_run_some(void);
/* Run until the stream is empty, the event's number is done, or this operation ran. False: it never will. */
bool fake_run_stream(const fake_stream *stream);
bool fake_run_event(const fake_event *event, uint64_t number);
bool fake_run_op(const fake_stream *stream, const fake_op *op);
void fake_clear_stream(fake_stream *stream);
bool fake_is_queued(uint64_t address, uint64_t bytes);
uint64_t fake_reach(const fake_op *op, const fake_side *side); /* bytes from its address on that it touches */

#endif /* TENURE_TESTS_FAKE_INTERNAL_H */
