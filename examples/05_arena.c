/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 05: An arena is one region, and it never grows.
 *
 * Say what you need, ask how many bytes that takes, hand the region over. From then on nothing reaches malloc:
 * tensors, their handles, pools and scratch all lie inside. When it is full, the answer is an error that says how much
 * is free, and everything is as it was.
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

int main(void)
{
    const int64_t shape[2] = {32, 32}; /* 8 KiB of f64 */

    /* The need: four such tensors, and one raw block of 1000 bytes. */
    tnr_need need = {0, 0, 0};
    tnr_need part;
    CHECK(tnr_tensor_need(TNR_F64, 2, shape, 4, &part) == TNR_OK);
    CHECK(tnr_need_add(&need, &part, 1) == TNR_OK);
    CHECK(tnr_block_need(1000, 1, &part) == TNR_OK);
    CHECK(tnr_need_add(&need, &part, 1) == TNR_OK);

    tnr_arena_options options = TNR_ARENA_OPTIONS;
    uint64_t bytes = 0;
    uint64_t control = 0;
    options.handles = need.handles; /* from the start, so that every filling fits and not only the first */
    CHECK(tnr_arena_bytes(&need, &options, &bytes, &control, &options.max_blocks) == TNR_OK);
    printf("four tensors of 8 KiB and a block of 1000 bytes need an arena of less than 64 KiB: %s\n",
           bytes < 65536 ? "yes" : "no");

    /* The region may come from anywhere: here from malloc, on a board from the linker. Any alignment will do. */
    void *region = malloc(bytes + 63);
    tnr_domain *arena = NULL;
    CHECK(region != NULL);
    CHECK(tnr_arena_create(region, bytes + 63, &options, &arena) == TNR_OK);

    tnr_tensor *tensor[4] = {NULL, NULL, NULL, NULL};
    tnr_block block;
    for (int i = 0; i < 4; i++) {
        CHECK(tnr_tensor_zeros(arena, TNR_F64, 2, shape, &tensor[i]) == TNR_OK);
    }
    CHECK(tnr_domain_allocate(arena, 1000, 64, &block) == TNR_OK);
    printf("all of it fits\n");

    /* A fifth does not. Nothing changed: the statistics are the same, the arena is sound. */
    tnr_tensor *fifth = NULL;
    tnr_domain_statistics before;
    tnr_domain_statistics after;
    CHECK(tnr_domain_statistics_get(arena, &before) == TNR_OK);
    CHECK(tnr_tensor_zeros(arena, TNR_F64, 2, shape, &fifth) == TNR_ERR_MEMORY && fifth == NULL);
    printf("refused: %s\n", tnr_last_error());
    CHECK(tnr_domain_statistics_get(arena, &after) == TNR_OK);
    CHECK(after.blocks == before.blocks && after.free_bytes == before.free_bytes);
    CHECK(tnr_arena_check(arena) == TNR_OK);

    /* Room that is given back merges with its neighbours at once: two tensors make room for one twice as long. */
    const int64_t longer[2] = {32, 64};
    CHECK(tnr_tensor_release(&tensor[1]) == TNR_OK);
    CHECK(tnr_tensor_release(&tensor[2]) == TNR_OK);
    CHECK(tnr_tensor_zeros(arena, TNR_F64, 2, longer, &tensor[1]) == TNR_OK);
    printf("two that went made room for one of twice the size\n");

    /* A block counts once. */
    CHECK(tnr_domain_release(arena, &block) == TNR_OK);
    CHECK(tnr_domain_release(arena, &block) == TNR_ERR_STALE);
    printf("refused: %s\n", tnr_last_error());

    for (int i = 0; i < 4; i++) {
        CHECK(tnr_tensor_release(&tensor[i]) == TNR_OK); /* NULL is fine */
    }
    CHECK(tnr_domain_close(&arena) == TNR_OK);
    free(region);
    return 0;
}
