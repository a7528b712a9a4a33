/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of one size, taken from the home sixteen at a time and kept until the device object is closed. */
#include "cuda_internal.h"

enum { PIECE_ITEMS = 16 };

typedef struct tnri_store_piece {
    struct tnri_store_piece *next;
    tnr_block block;
} tnri_store_piece;

#define HEAD_BYTES ((sizeof(tnri_store_piece) + TNRI_UNIT - 1) / TNRI_UNIT * TNRI_UNIT)

tnr_status tnri_store_take(tnri_store *store, tnr_domain *home, void **item)
{
    const size_t each = (store->item + TNRI_UNIT - 1) / TNRI_UNIT * TNRI_UNIT;
    if (store->free == NULL) {
        tnr_block block;
        TNR_TRY(tnr_provider.record_take(home, HEAD_BYTES + each * PIECE_ITEMS, &block));
        tnri_store_piece *piece = block.address;
        piece->block = block;
        piece->next = store->pieces;
        store->pieces = piece;
        for (size_t i = 0; i < PIECE_ITEMS; i++) {
            tnri_store_give(store, (char *)block.address + HEAD_BYTES + i * each);
        }
    }
    void *taken = store->free;
    memcpy(&store->free, taken, sizeof(void *));
    memset(taken, 0, store->item);
    *item = taken;
    return TNR_OK;
}

void tnri_store_give(tnri_store *store, void *item)
{
    memcpy(item, &store->free, sizeof(void *));
    store->free = item;
}

void tnri_store_end(tnri_store *store, tnr_domain *home)
{
    while (store->pieces != NULL) {
        const tnri_store_piece *piece = store->pieces;
        const tnr_block block = piece->block;
        store->pieces = piece->next;
        tnr_provider.record_give(home, &block);
    }
    store->free = NULL;
}
