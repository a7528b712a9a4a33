/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake's streams: queues of operations that run one at a time, in a seeded order, when somebody waits or now and then. */
#include <stdlib.h>
#include <string.h>

#include "fake_internal.h"

fake_op *fake_op_new(void) { return calloc(1, sizeof(fake_op)); }

void fake_push(fake_stream *stream, fake_op *op)
{
    if (stream->last != NULL) {
        stream->last->next = op;
    } else {
        stream->first = op;
    }
    stream->last = op;
}

static void pop(fake_stream *stream)
{
    fake_op *op = stream->first;
    stream->first = op->next;
    stream->last = stream->first == NULL ? NULL : stream->last;
    free(op->snapshot);
    free(op);
}

void fake_clear_stream(fake_stream *stream)
{
    while (stream->first != NULL) {
        pop(stream);
    }
}

uint64_t fake_reach(const fake_op *op, const fake_side *side)
{
    return (op->depth - 1) * side->slice + (op->height - 1) * side->pitch + op->width;
}

/* Where a side's bytes are now; NULL, and blame, when they may not be touched. */
static char *resolve(const fake_op *op, const fake_side *side)
{
    const uint64_t bytes = fake_reach(op, side);
    if (side->host) {
        bool partly = false;
        if (side->locked && !fake_is_locked(side->address, bytes, &partly)) {
            fake_blame(&fake.use_after_free, "a copy ran after its page-locked memory was given back");
            return NULL;
        }
        return (char *)(uintptr_t)side->address;
    }
    const fake_memory *memory = fake_memory_at(side->address);
    if (memory == NULL || bytes > memory->bytes - (side->address - memory->address)) {
        fake_blame(&fake.out_of_bounds, "a copy leaves its allocation");
        return NULL;
    }
    if (!memory->born) {
        fake_blame(&fake.use_after_free, "a copy ran before its memory was allocated");
        return NULL;
    }
    if (memory->ended) {
        fake_blame(&fake.use_after_free, "a copy ran after its memory was freed");
        return NULL;
    }
    return memory->shadow + (side->address - memory->address);
}

static void copy(const fake_op *op)
{
    char *target = resolve(op, &op->target);
    const char *source = op->snapshot != NULL ? op->snapshot : resolve(op, &op->source);
    if (target == NULL || source == NULL) {
        return;
    }
    for (uint64_t plane = 0; plane < op->depth; plane++) {
        for (uint64_t row = 0; row < op->height; row++) {
            const uint64_t packed = (plane * op->height + row) * op->width;
            memmove(target + plane * op->target.slice + row * op->target.pitch,
                    source + (op->snapshot != NULL ? packed : plane * op->source.slice + row * op->source.pitch),
                    op->width);
        }
    }
}

static bool is_runnable(const fake_stream *stream)
{
    const fake_op *op = stream->first;
    return op != NULL && (op->what != FAKE_WAIT || op->event->done >= op->number);
}

static void run_first(fake_stream *stream)
{
    fake_op *op = stream->first;
    fake.run++;
    switch (op->what) {
    case FAKE_COPY:
        copy(op);
        break;
    case FAKE_RECORD:
        op->event->done = op->event->done < op->number ? op->number : op->event->done;
        break;
    case FAKE_TAKE:
        op->memory->born = true;
        break;
    case FAKE_GIVE:
        fake_memory_end(op->memory);
        break;
    case FAKE_LAUNCH:
        fake_run_kernel(op);
        break;
    case FAKE_WAIT:
        break;
    }
    pop(stream);
}

/* Some stream goes on by one operation; `best` more often than others. False: none can. */
static bool run_one(const fake_stream *best)
{
    fake_stream *candidates[64];
    int count = 0;
    for (fake_object *at = fake_objects; at != NULL && count < 64; at = at->next) {
        fake_stream *stream = (fake_stream *)at;
        if (at->kind == FAKE_STREAM && is_runnable(stream) && fake_contexts[at->device].dead == CUDA_SUCCESS) {
            if (stream == best && fake_random() % 4 != 0) {
                run_first(stream);
                return true;
            }
            candidates[count++] = stream;
        }
    }
    if (count == 0) {
        return false;
    }
    run_first(candidates[fake_random() % (unsigned)count]);
    return true;
}

void fake_run_some(void)
{
    while (fake_random() % 256 < fake.eagerness && run_one(NULL)) {
    }
}

bool fake_run_stream(const fake_stream *stream)
{
    while (stream->first != NULL) {
        if (!run_one(stream)) {
            fake_blame(&fake.hangs, "a stream waits for what never comes");
            return false;
        }
    }
    return true;
}

bool fake_run_event(const fake_event *event, uint64_t number)
{
    while (event->done < number) {
        if (!run_one(NULL)) {
            fake_blame(&fake.hangs, "an event is waited for that never comes");
            return false;
        }
    }
    return true;
}

bool fake_run_op(const fake_stream *stream, const fake_op *op)
{
    for (;;) {
        const fake_op *at = stream->first;
        while (at != NULL && at != op) {
            at = at->next;
        }
        if (at == NULL) {
            return true;
        }
        if (!run_one(stream)) {
            fake_blame(&fake.hangs, "a copy to pageable memory waits for what never comes");
            return false;
        }
    }
}

bool fake_is_queued(uint64_t address, uint64_t bytes)
{
    for (fake_object *at = fake_objects; at != NULL; at = at->next) {
        if (at->kind != FAKE_STREAM || fake_contexts[at->device].dead != CUDA_SUCCESS) {
            continue;
        }
        for (const fake_op *op = ((fake_stream *)at)->first; op != NULL; op = op->next) {
            const fake_side *sides[2] = {&op->target, &op->source};
            for (int i = 0; i < op->address_count; i++) {
                if (op->addresses[i] >= address && op->addresses[i] - address < bytes) {
                    return true;
                }
            }
            for (int side = 0; side < 2 && op->what == FAKE_COPY; side++) {
                const uint64_t begin = sides[side]->address;
                if ((side == 0 || op->snapshot == NULL) && begin < address + bytes &&
                    address < begin + fake_reach(op, sides[side])) {
                    return true;
                }
            }
        }
    }
    return false;
}
