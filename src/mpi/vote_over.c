/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ranks of a communicator agree, or all hear why not, while there is no world yet: inside MPI's own blocking calls. One all-reduce
 * of minima decides: over the number of the first rank that fails, and, where words are to be compared, over each word and its
 * complement, so that one message tells both the least and the greatest. Only when there is something to tell do further ones travel.
 */
#include "mpi_internal.h"

typedef struct vote {
    const char *op;
    MPI_Comm comm;
    int rank;
    int size;
    uint64_t mine[2 * TNRI_VOTE_WORDS + 1];
    uint64_t all[2 * TNRI_VOTE_WORDS + 1];
} vote;

static tnr_status minima(vote *of, int count)
{
    return tnri_mpi(of->op, "MPI_Allreduce", MPI_Allreduce(of->mine, of->all, count, MPI_UINT64_T, MPI_MIN, of->comm));
}

static tnr_status broadcast(const vote *of, void *bytes, size_t count, int root)
{
    return tnri_mpi(of->op, "MPI_Bcast", MPI_Bcast(bytes, (int)count, MPI_BYTE, root, of->comm));
}

/* `first` failed: its text goes to all that did not. */
static tnr_status tell_reason(const vote *of, int first, char *text)
{
    TNR_TRY(broadcast(of, text, TNR_ERROR_TEXT_BYTES, first));
    text[TNR_ERROR_TEXT_BYTES - 1] = '\0';
    return tnri_fail(TNR_ERR_PEER, "%s: rank %d: %s", of->op, first, tnri_text_after(of->op, text));
}

/* Name `index` of a list separated by commas; its last for all that follow. */
static void pick_name(const char *names, int index, char *name, size_t bytes)
{
    const char *comma = strchr(names, ',');
    for (; index > 0 && comma != NULL; index--) {
        names = comma + 1;
        comma = strchr(names, ',');
    }
    const size_t length = tnri_min_u64(comma != NULL ? (size_t)(comma - names) : strlen(names), bytes - 1);
    memcpy(name, names, length);
    name[length] = '\0';
}

/* Word `index` is not the same everywhere: find the first rank that differs from rank 0, and say so on all. */
static tnr_status tell_difference(vote *of, const char *what, int index, uint64_t mine)
{
    of->all[0] = mine;
    TNR_TRY(broadcast(of, of->all, sizeof(of->all[0]), 0));
    const uint64_t first = of->all[0];
    of->mine[0] = mine != first ? (uint64_t)of->rank : (uint64_t)of->size;
    TNR_TRY(minima(of, 1));
    const int other = of->all[0] < (uint64_t)of->size ? (int)of->all[0] : 0;
    of->all[0] = mine;
    TNR_TRY(broadcast(of, of->all, sizeof(of->all[0]), other));
    char name[64];
    pick_name(what, index, name, sizeof(name));
    return tnri_fail(TNR_ERR_PEER, "%s: the ranks do not agree on %s: rank 0 has %llu, rank %d has %llu", of->op, name,
                     TNRI_LLU(first), other, TNRI_LLU(of->all[0]));
}

static tnr_status decide(vote *of, tnr_status mine, char *text, const char *what, const uint64_t *words, int count)
{
    of->mine[0] = mine != TNR_OK ? (uint64_t)of->rank : (uint64_t)of->size;
    for (int index = 0; index < count; index++) {
        of->mine[1 + index] = mine != TNR_OK ? UINT64_MAX : words[index];
        of->mine[1 + count + index] = mine != TNR_OK ? UINT64_MAX : ~words[index];
    }
    TNR_TRY(minima(of, 1 + 2 * count));
    if (of->all[0] < (uint64_t)of->size) {
        return tell_reason(of, (int)of->all[0], text);
    }
    for (int index = 0; index < count; index++) {
        if (of->all[1 + index] != ~of->all[1 + count + index]) {
            return tell_difference(of, what, index, words[index]);
        }
    }
    return TNR_OK;
}

tnr_status tnri_vote_over(const char *op, MPI_Comm comm, int rank, int size, tnr_status mine, const char *what,
                          const uint64_t *words, int count)
{
    if (size == 1) {
        return mine;
    }
    vote of = {.op = op, .comm = comm, .rank = rank, .size = size};
    char text[TNR_ERROR_TEXT_BYTES] = ""; /* what happens meanwhile may record another */
    char told[TNR_ERROR_TEXT_BYTES];
    if (mine != TNR_OK) {
        memcpy(text, tnr_last_error(), sizeof(text));
    }
    memcpy(told, text, sizeof(told));
    const tnr_status verdict = decide(&of, mine, told, what, words, words != NULL ? count : 0);
    return mine != TNR_OK ? tnri_fail(mine, "%s", text) : verdict;
}
