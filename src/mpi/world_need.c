/* SPDX-License-Identifier: BSD-3-Clause */
/* What a world takes of its home, told before it is made: the sum of what those who take it say, each block by itself. */
#include "flight_internal.h"

static tnr_status add(tnr_need *sum, uint64_t bytes, uint64_t count)
{
    tnr_need term;
    TNR_TRY(tnr_block_need(bytes, count, &term));
    return tnr_need_add(sum, &term, 1);
}

tnr_status tnr_world_need(const tnr_world_options *options, int size, int transfers, tnr_need *need)
{
    static const char *const op = "world_need";
    TNR_REQUIRE(need != NULL, TNR_ERR_ARGUMENT, "%s: need is NULL", op);
    TNR_REQUIRE(size >= 1 && transfers >= 0, TNR_ERR_ARGUMENT,
                "%s: %d ranks and %d transfers; at least one rank, and no negative number", op, size, transfers);
    tnr_world_options taken;
    TNR_TRY(tnri_world_options_take(op, options, &taken));
    const uint64_t ranks = (uint64_t)size;
    const uint64_t moving = tnri_min_u64((uint64_t)transfers, tnri_flights_count(&taken));
    const bool near = !taken.no_shared && size > 1;
    uint64_t record = 0;
    uint64_t room = 0;
    tnri_world_bytes(size, &record, &room);
    tnr_need sum = {0, 0, 0};
    TNR_TRY(add(&sum, record, 1));
    TNR_TRY(add(&sum, room, 1));
    TNR_TRY(add(&sum, tnri_flights_bytes(&taken, size), 1));
    TNR_TRY(add(&sum, tnri_collective_bytes(size), 1));
    TNR_TRY(add(&sum, tnri_near_bytes(size), near ? 1 : 0));
    TNR_TRY(add(&sum, tnri_pack_bytes(&taken), moving * TNRI_PACKS));
    TNR_TRY(add(&sum, tnri_exchange_bytes(1), moving));
    uint64_t sheets = 0;
    TNR_TRY(add(&sum, tnri_mail_sheets(near ? (ranks - 1) * moving : 0, &sheets), sheets));
    *need = sum;
    return TNR_OK;
}
