/* SPDX-License-Identifier: BSD-3-Clause */
/* Where bytes really are, as the system tells it now, and where a thread may run. Touches none of the bytes. */
#include "place_internal.h"

/* Pages per question: what stands on the stack is 12 KiB, or 384 bytes. */
enum { BATCH = TNRI_SMALL ? 32 : 1024 };

static void count_page(tnr_residence *residence, int wanted, int found)
{
    if (found < 0) {
        return; /* never touched, or not in memory now */
    }
    residence->present++;
    if (found == wanted) {
        residence->at_node++;
    } else {
        residence->elsewhere++;
    }
    if (found < TNR_MAX_NODES) {
        residence->nodes.words[found / 64] |= UINT64_C(1) << (found % 64);
    }
}

tnr_status tnr_residence_of(const void *address, uint64_t bytes, int node, tnr_residence *residence)
{
    static const char *const op = "residence_of";
    TNR_REQUIRE(residence != NULL && (address != NULL || bytes == 0), TNR_ERR_ARGUMENT,
                "%s: address and residence must not be NULL", op);
    TNR_REQUIRE(node >= TNR_NONE && node < TNR_MAX_NODES, TNR_ERR_BOUNDS, "%s: node %d is not in 0 to %d", op, node,
                TNR_MAX_NODES - 1);
    const uint64_t page = tnri_place_page_bytes();
    const uint64_t begin = (uint64_t)(uintptr_t)address;
    uint64_t end;
    TNR_REQUIRE(tnri_add_u64(begin, bytes, &end) && end <= UINTPTR_MAX, TNR_ERR_OVERFLOW,
                "%s: %llu bytes leave the address space", op, TNRI_LLU(bytes));
    tnr_residence found;
    memset(&found, 0, sizeof(found));
    const uint64_t first = begin / page;
    found.pages = bytes != 0 ? (end - 1) / page - first + 1 : 0;
    for (uint64_t done = 0; done < found.pages;) {
        void *addresses[BATCH];
        int nodes[BATCH];
        const uint64_t batch = tnri_min_u64(found.pages - done, BATCH);
        for (uint64_t at = 0; at < batch; at++) {
            addresses[at] = (void *)(uintptr_t)((first + done + at) * page);
            nodes[at] = TNR_NONE;
        }
        const int error = tnri_place_locate(batch, addresses, nodes);
        TNR_REQUIRE(error == 0, TNR_ERR_UNSUPPORTED, "%s: the system does not tell where pages are (errno %d)", op,
                    error);
        for (uint64_t at = 0; at < batch; at++) {
            count_page(&found, node, nodes[at]);
        }
        done += batch;
    }
    *residence = found;
    return TNR_OK;
}

tnr_status tnr_thread_affinity(tnr_cpu_set *set)
{
    TNR_REQUIRE(set != NULL, TNR_ERR_ARGUMENT, "thread_affinity: set must not be NULL");
    tnr_cpu_set found;
    const int error = tnri_place_affinity(&found);
    TNR_REQUIRE(error == 0, TNR_ERR_UNSUPPORTED,
                "thread_affinity: the system does not tell where the thread may run (errno %d)", error);
    *set = found;
    return TNR_OK;
}
