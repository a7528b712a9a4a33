/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Umpire's pool through its C interface, whose generated wrappers pass every object as an address and the index of its
 * destructor. The quick pool where the version has it in C, else the default pool.
 */
#include "bench_umpire.h"

#include "bench.h"

typedef struct umpire_object {
    void *address;
    int destructor;
} umpire_object;

static void *(*allocate)(umpire_object *allocator, size_t bytes);
static void (*deallocate)(umpire_object *allocator, void *address);
static umpire_object pool;

bool bench_umpire_start(const char *suite)
{
    void *library = bench_library(suite, "UMPIRE_LIB", NULL);
    umpire_object *(*get_manager)(umpire_object *) = NULL;
    umpire_object *(*get_allocator)(umpire_object *, const char *, umpire_object *) = NULL;
    umpire_object *(*make_pool)(umpire_object *, const char *, umpire_object, size_t, size_t, umpire_object *) = NULL;
    if (library == NULL || !bench_function(library, "umpire_resourcemanager_get_instance", &get_manager) ||
        !bench_function(library, "umpire_resourcemanager_get_allocator_by_name", &get_allocator) ||
        !(bench_function(library, "umpire_resourcemanager_make_allocator_quick_pool", &make_pool) ||
          bench_function(library, "umpire_resourcemanager_make_allocator_pool", &make_pool)) ||
        !bench_function(library, "umpire_allocator_allocate", &allocate) ||
        !bench_function(library, "umpire_allocator_deallocate", &deallocate)) {
        return false;
    }
    umpire_object manager = {NULL, 0};
    umpire_object host = {NULL, 0};
    return get_manager(&manager) != NULL && get_allocator(&manager, "HOST", &host) != NULL &&
           make_pool(&manager, "tenure-bench", host, (size_t)1 << 20, (size_t)1 << 20, &pool) != NULL;
}

void *bench_umpire_take(size_t bytes) { return allocate(&pool, bytes); }

void bench_umpire_give(void *address) { deallocate(&pool, address); }
