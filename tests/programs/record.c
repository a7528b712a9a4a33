/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One domain over the C library that writes a line for every block: "+ number bytes" when it goes out, "- number" when it comes back, to
 * the file that TENURE_TRACE names. Engines that the example asks its machine for are made in it, with pools that retain nothing, so that
 * every tensor is seen. Compiled with TENURE_TESTS_RECORD_C, so that the calls of this file are the library's own.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "record.h"

enum { ENGINES = 16 };

static struct {
    pthread_mutex_t mutex;
    FILE *file;
    unsigned long count;
    tnr_domain *base;
    tnr_domain *domain;
    tnr_engine *engines[ENGINES];
    int nodes[ENGINES];
    int made;
} recording = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static tnr_status take(void *state, uint64_t bytes, uint64_t alignment, tnr_block *block)
{
    (void)state;
    const size_t whole = (size_t)((bytes + alignment - 1) / alignment * alignment);
    void *const address = aligned_alloc((size_t)alignment, whole);
    if (address == NULL) {
        return tnr_set_error(TNR_ERR_MEMORY, "record: no memory");
    }
    pthread_mutex_lock(&recording.mutex);
    block->address = address;
    block->bytes = whole;
    block->tag = ++recording.count;
    (void)fprintf(recording.file, "+ %lu %llu\n", recording.count, (unsigned long long)bytes);
    pthread_mutex_unlock(&recording.mutex);
    return TNR_OK;
}

static void give(void *state, const tnr_block *block)
{
    (void)state;
    pthread_mutex_lock(&recording.mutex);
    (void)fprintf(recording.file, "- %llu\n", (unsigned long long)block->tag);
    pthread_mutex_unlock(&recording.mutex);
    free(block->address);
}

tnr_status record_heap_create(tnr_domain **heap)
{
    const char *name = getenv("TENURE_TRACE");
    recording.file = fopen(name != NULL ? name : "trace.txt", "w");
    if (recording.file == NULL) {
        return tnr_set_error(TNR_ERR_IO, "record: TENURE_TRACE names no file that can be written");
    }
    const tnr_domain_ops ops = {.name = "record", .allocate = take, .release = give};
    tnr_domain_config config = TNR_DOMAIN_CONFIG;
    config.ops = &ops;
    tnr_status status = tnr_heap_create(&recording.base);
    if (status == TNR_OK) {
        status = tnr_domain_create(recording.base, &config, &recording.domain);
    }
    *heap = recording.domain;
    return status;
}

tnr_status record_domain_close(tnr_domain **domain)
{
    const bool last = *domain == recording.domain;
    tnr_status status = tnr_domain_close(domain);
    if (last && status == TNR_OK) {
        status = tnr_domain_close(&recording.base);
        (void)fclose(recording.file);
    }
    return status;
}

tnr_status record_machine_engine(tnr_machine *machine, int node, tnr_engine **engine)
{
    (void)machine;
    for (int i = 0; i < recording.made; i++) {
        if (recording.nodes[i] == node || node == TNR_NONE) {
            *engine = recording.engines[i];
            return TNR_OK;
        }
    }
    if (recording.made == ENGINES) {
        return tnr_set_error(TNR_ERR_MEMORY, "record: too many engines");
    }
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.pool_max_bytes = 0;
    const tnr_status status = tnr_engine_create(recording.domain, &options, engine);
    if (status == TNR_OK) {
        recording.nodes[recording.made] = node == TNR_NONE ? tnr_machine_node_at(machine, 0) : node;
        recording.engines[recording.made++] = *engine;
    }
    return status;
}

tnr_status record_machine_destroy(tnr_machine **machine)
{
    while (recording.made > 0) {
        const tnr_status status = tnr_engine_destroy(&recording.engines[recording.made - 1]);
        if (status != TNR_OK) {
            return status;
        }
        recording.made--;
    }
    return tnr_machine_destroy(machine);
}
