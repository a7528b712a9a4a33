/* SPDX-License-Identifier: BSD-3-Clause */
/* Append-only tables in chunks of growing size; see group_internal.h. */
#include "group_internal.h"

static uint64_t chunk_entries(int chunk) { return (uint64_t)TNRI_TABLE_FIRST << chunk; }

/* Entries in the first `chunks` chunks. */
static uint64_t room(int chunks) { return chunk_entries(chunks) - TNRI_TABLE_FIRST; }

void *tnri_table_at(const tnri_table *table, uint32_t index)
{
    /* Chunk k begins at entry 8 * (2^k - 1): the highest bit of index + 8 tells k. */
    const uint64_t shifted = (uint64_t)index + TNRI_TABLE_FIRST;
    const int chunk = (int)(tnri_highest_bit(shifted) - tnri_highest_bit(TNRI_TABLE_FIRST));
    return (char *)table->chunks[chunk].address + (shifted - chunk_entries(chunk)) * table->entry_bytes;
}

static int chunks_for(uint64_t entries)
{
    int chunks = 0;
    while (room(chunks) < entries) {
        chunks++;
    }
    return chunks;
}

void tnri_table_trim(tnr_domain *home, tnri_table *table)
{
    const int needed = chunks_for(table->count > table->kept ? table->count : table->kept);
    while (table->chunk_count > needed) {
        tnri_record_give(home, &table->chunks[--table->chunk_count]);
    }
}

tnr_status tnri_table_reserve(const char *op, tnr_domain *home, tnri_table *table, uint32_t more)
{
    const uint64_t wanted = (uint64_t)table->count + more;
    TNR_REQUIRE(wanted <= TNRI_TABLE_MOST, TNR_ERR_OVERFLOW, "%s: %llu entries are more than slots can number", op,
                TNRI_LLU(wanted));
    const int chunks = chunks_for(wanted);
    while (table->chunk_count < chunks) {
        const tnr_status status = tnri_record_take(home, chunk_entries(table->chunk_count) * table->entry_bytes,
                                                   &table->chunks[table->chunk_count]);
        if (status != TNR_OK) {
            tnri_table_trim(home, table);
            return status;
        }
        table->chunk_count++;
    }
    return TNR_OK;
}

void tnri_table_free(tnr_domain *home, tnri_table *table)
{
    table->count = 0;
    table->kept = 0;
    tnri_table_trim(home, table);
}

tnr_status tnri_table_need(size_t entry_bytes, uint32_t entries, tnr_need *need)
{
    tnr_need sum = {0, 0, 0};
    for (int chunk = 0; chunk < chunks_for(entries); chunk++) {
        tnr_need term;
        TNR_TRY(tnri_record_need(chunk_entries(chunk) * entry_bytes, &term));
        TNR_TRY(tnr_need_add(&sum, &term, 1));
    }
    *need = sum;
    return TNR_OK;
}
