/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests miss on boards: an environment, an allocator's function, and the heap domain, which bounded builds lack: linked with
 * --wrap=tnr_heap_create, "heaps" of the tests are arenas in static regions.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tenure/tenure.h"

/* Boards have no environment, and do less. */
char *getenv(const char *name)
{
    static char steps[] = "4000";
    return strcmp(name, "TENURE_TEST_STEPS") == 0 ? steps : NULL;
}

/* newlib's aligned_alloc asks for it and does not have it. */
int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    *memory = memalign(alignment, bytes);
    return *memory != NULL ? 0 : ENOMEM;
}

/* ---- Heaps ---------------------------------------------------------------------------------------------------------------------- */

enum { HEAPS = 4, LARGE = 8 << 20, MEDIUM = 2 << 20, SMALL = 256 << 10 };
__attribute__((section(".arena"), aligned(64))) static unsigned char large[LARGE];
__attribute__((section(".arena"), aligned(64))) static unsigned char medium[MEDIUM];
__attribute__((section(".arena"), aligned(64))) static unsigned char small[2][SMALL];
static unsigned char *const regions[HEAPS] = {large, medium, small[0], small[1]};
static const uint64_t region_bytes[HEAPS] = {LARGE, MEDIUM, SMALL, SMALL};
static const uint64_t most_blocks[HEAPS] = {16000, 4000, 800, 800};
static tnr_domain *heaps[HEAPS];

tnr_status __wrap_tnr_heap_create(tnr_domain **domain);
tnr_status __wrap_tnr_domain_close(tnr_domain **domain);
tnr_status __real_tnr_domain_close(tnr_domain **domain);

tnr_status __wrap_tnr_heap_create(tnr_domain **domain)
{
    for (int i = 0; i < HEAPS; ++i) {
        if (heaps[i] == NULL) {
            tnr_arena_options options = TNR_ARENA_OPTIONS;
            options.max_blocks = most_blocks[i];
            const tnr_status status = tnr_arena_create(regions[i], region_bytes[i], &options, &heaps[i]);
            *domain = heaps[i];
            return status;
        }
    }
    return tnr_set_error(TNR_ERR_MEMORY, "harness: all regions are in use");
}

tnr_status __wrap_tnr_domain_close(tnr_domain **domain)
{
    tnr_domain *const closing = domain != NULL ? *domain : NULL;
    const tnr_status status = __real_tnr_domain_close(domain);
    for (int i = 0; i < HEAPS && status == TNR_OK && closing != NULL; ++i) {
        if (heaps[i] == closing) {
            heaps[i] = NULL;
        }
    }
    return status;
}
