/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 08: Bytes never move unless a call says so by name, and the ledger has it in writing.
 *
 * Each domain keeps a ledger: what was allocated and what was copied in it, how often, how many bytes, and why. Views,
 * splits, groups, mappings and exports never appear there. Read it to find hidden cost, or to prove there is none.
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

/* The names of the reasons come from the same list as the constants. */
#define NAME(constant, name) name,
static const char *const allocation_names[] = {TNR_ALLOCATION_REASONS(NAME)};
static const char *const copy_names[] = {TNR_COPY_REASONS(NAME)};
#undef NAME

static void show(const char *kind, const char *const *names, const tnr_ledger_entry *entries, int count)
{
    for (int i = 0; i < count; i++) {
        if (entries[i].count != 0) {
            printf("  %-10s %-15s %llu, %llu bytes\n", kind, names[i], (unsigned long long)entries[i].count,
                   (unsigned long long)entries[i].bytes);
        }
    }
}

int main(void)
{
    const int64_t shape[2] = {3, 4}; /* 96 bytes of f64 */
    const double rows[12] = {0};
    tnr_domain *heap = NULL;
    tnr_engine *engine = NULL;
    tnr_tensor *a = NULL;
    tnr_tensor *b = NULL;
    tnr_tensor *c = NULL;
    CHECK(tnr_heap_create(&heap) == TNR_OK);

    /* An engine whose outputs lie in the heap itself, so that one ledger shows all. */
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.output = heap;
    CHECK(tnr_engine_create(heap, &options, &engine) == TNR_OK);
    CHECK(tnr_ledger_reset(heap) == TNR_OK);

    /* Copies, each by its name. */
    tnr_view view;
    tnr_view turned;
    tnr_view_mut out;
    CHECK(tnr_tensor_from_row_major(heap, TNR_F64, 2, shape, rows, sizeof rows, &a) == TNR_OK);
    CHECK(tnr_tensor_view(a, &view) == TNR_OK);
    CHECK(tnr_tensor_duplicate(&view, heap, &b) == TNR_OK);
    CHECK(tnr_view_permute(&view, NULL, &turned) == TNR_OK);
    CHECK(tnr_to_contiguous(engine, &turned, &c) == TNR_OK);
    CHECK(tnr_tensor_view_mut(b, &out) == TNR_OK);
    CHECK(tnr_copy_into(engine, &view, &out) == TNR_OK);

    tnr_ledger ledger;
    CHECK(tnr_ledger_get(heap, &ledger) == TNR_OK);
    printf("three tensors and four copies:\n");
    show("allocation", allocation_names, ledger.allocations, TNR_ALLOCATION_REASON_END);
    show("copy", copy_names, ledger.copies, TNR_COPY_REASON_END);
    CHECK(ledger.copies[TNR_COPY_FROM_ROW_MAJOR].count == 1 && ledger.copies[TNR_COPY_FROM_ROW_MAJOR].bytes == 96);
    CHECK(ledger.copies[TNR_COPY_DUPLICATE].count == 1 && ledger.copies[TNR_COPY_TO_CONTIGUOUS].count == 1);
    CHECK(ledger.copies[TNR_COPY_COPY_INTO].count == 1);

    /* No copies, whatever it looks like: turn, cut, group, take, export. */
    tnr_group *group = NULL;
    tnr_slot slot;
    tnr_exported exported;
    tnr_ledger later;
    CHECK(tnr_group_create(heap, &group) == TNR_OK);
    CHECK(tnr_group_append(group, &c, &slot) == TNR_OK);
    CHECK(tnr_group_take(group, slot, &c) == TNR_OK);
    CHECK(tnr_tensor_export(&c, &exported) == TNR_OK);
    CHECK(tnr_tensor_import(heap, &exported, &c) == TNR_OK);
    CHECK(tnr_ledger_get(heap, &later) == TNR_OK);
    for (int i = 0; i < TNR_COPY_REASON_END; i++) {
        CHECK(later.copies[i].count == ledger.copies[i].count);
    }
    printf("into a group, out of it, exported, imported: no copy\n");

    CHECK(tnr_group_release(&group) == TNR_OK);
    CHECK(tnr_tensor_release(&a) == TNR_OK);
    CHECK(tnr_tensor_release(&b) == TNR_OK);
    CHECK(tnr_tensor_release(&c) == TNR_OK);
    CHECK(tnr_engine_destroy(&engine) == TNR_OK);
    CHECK(tnr_domain_close(&heap) == TNR_OK);
    return 0;
}
