/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 04: A pool keeps what is released, up to a cap, for the next request of that size.
 *
 * A pool is a domain over another domain. Loops that make and drop tensors of the same sizes reach the system once. The
 * cap holds at every moment. A pool may be closed while its tensors live: they stay valid, and their bytes then go
 * straight to the parent.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tenure/tenure.h>

/* Every answer is looked at; a surprise ends the program. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tnr_last_error()); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static tnr_pool_statistics figures(tnr_domain *pool)
{
    tnr_pool_statistics statistics;
    CHECK(tnr_pool_statistics_get(pool, &statistics) == TNR_OK);
    return statistics;
}

int main(void)
{
    const int64_t shape[2] = {64, 64}; /* 32 KiB of f64 */
    tnr_domain *heap = NULL;
    tnr_domain *pool = NULL;
    tnr_tensor *tensor = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);

    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = 102400; /* 100 KiB: room for three such buffers */
    CHECK(tnr_pool_create(heap, &options, &pool) == TNR_OK);

    /* A hundred tensors, one buffer. */
    for (int i = 0; i < 100; i++) {
        CHECK(tnr_tensor_zeros(pool, TNR_F64, 2, shape, &tensor) == TNR_OK);
        CHECK(tnr_tensor_release(&tensor) == TNR_OK);
    }
    tnr_pool_statistics now = figures(pool);
    CHECK(now.misses == 1 && now.hits == 99 && now.buffers == 1 && now.capacity_bytes == 32768);
    printf("100 tensors: %d request to the heap, %d served from the pool\n", (int)now.misses, (int)now.hits);

    /* Sizes are rounded up to a class: exact at powers of two, at most a quarter more between them. */
    uint64_t class_bytes = 0;
    CHECK(tnr_pool_class_bytes(33000, &class_bytes) == TNR_OK);
    CHECK(class_bytes >= 33000 && class_bytes <= 33000 + 33000 / 4);
    printf("a request for 33000 bytes gets a buffer of %d\n", (int)class_bytes);

    /* Four buffers come back, three fit under the cap. */
    tnr_tensor *four[4] = {NULL, NULL, NULL, NULL};
    for (int i = 0; i < 4; i++) {
        CHECK(tnr_tensor_zeros(pool, TNR_F64, 2, shape, &four[i]) == TNR_OK);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(tnr_tensor_release(&four[i]) == TNR_OK);
        CHECK(figures(pool).capacity_bytes <= options.max_bytes);
    }
    now = figures(pool);
    CHECK(now.buffers == 3 && now.evictions == 1);
    printf("four came back: %d are kept, %d went\n", (int)now.buffers, (int)now.evictions);

    /* Memory is wanted elsewhere: give it up. */
    uint64_t freed = 0;
    CHECK(tnr_pool_trim(pool, 0, &freed) == TNR_OK && freed == 98304);

    /* The pool goes before its tensor does. */
    CHECK(tnr_tensor_zeros(pool, TNR_F64, 2, shape, &tensor) == TNR_OK);
    CHECK(tnr_domain_close(&pool) == TNR_OK && pool == NULL);
    const void *data = NULL;
    CHECK(tnr_tensor_host_data(tensor, &data) == TNR_OK && *(const double *)data == 0.0);
    CHECK(tnr_domain_close(&heap) == TNR_ERR_BUSY); /* the bytes are its own */
    printf("refused: %s\n", tnr_last_error());
    CHECK(tnr_tensor_release(&tensor) == TNR_OK);
    printf("the tensor outlived its pool\n");

    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
