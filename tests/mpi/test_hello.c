/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3
 * wraps: tnri_hello_fill
 * Ranks of different builds: whatever it is in which one differs, no rank gets a world, all hear what it is and between whom, and nothing
 * stays behind. */
#include "../../src/mpi/mpi_internal.h"

#include "ranks.h"

static tnr_domain *heap;
static int other_word = -1; /* of this rank's hello */
static uint64_t other_value;

void __real_tnri_hello_fill(uint64_t *words);
void __wrap_tnri_hello_fill(uint64_t *words);

void __wrap_tnri_hello_fill(uint64_t *words)
{
    __real_tnri_hello_fill(words);
    if (other_word >= 0) {
        words[other_word] = other_value;
    }
}

static void nothing_is_left(void)
{
    tnr_domain_statistics statistics;
    CHECK_OK(tnr_domain_statistics_get(heap, &statistics));
    CHECK(statistics.blocks == 0 && atomic_load(&tnri_mpi_live.communicators) == 0);
}

/* As all who speak the same version hear it. */
static void a_world_is_made(void)
{
    tnr_world *world = NULL;
    CHECK_OK(tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_OK(tnr_world_barrier(world));
    CHECK_OK(tnr_world_destroy(&world));
    nothing_is_left();
}

static void each_word_on_each_rank(void)
{
    static const char *const names[TNRI_HELLO_WORDS] = {
        "the form of the hello", "the version of tenure",   "the byte order", "the highest rank of a tensor",
        "the table of dtypes",   "the version of the wire", "reserved"};
    uint64_t usual[TNRI_HELLO_WORDS];
    __real_tnri_hello_fill(usual);
    for (int word = 0; word < TNRI_HELLO_WORDS; word++) {
        for (int odd = 0; odd < ranks_size; odd++) {
            char text[200];
            tnr_world *world = NULL;
            const uint64_t value = odd % 2 == 0 ? usual[word] + 1 : UINT64_MAX; /* more, and as much more as can be */
            other_word = odd == ranks_me ? word : -1;
            other_value = value;
            CHECK_STATUS(TNR_ERR_PEER, tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
            (void)snprintf(text, sizeof(text),
                           "world_create: the ranks do not agree on %s: rank 0 has %llu, rank %d has %llu", names[word],
                           (unsigned long long)(odd == 0 ? value : usual[word]), odd == 0 ? 1 : odd,
                           (unsigned long long)(odd == 0 ? usual[word] : value));
            CHECK(strcmp(tnr_last_error(), text) == 0);
            CHECK(world == NULL);
            nothing_is_left();
            other_word = -1;
            a_world_is_made();
        }
    }
}

/* What is wrong with a call comes before what differs; of several differences the first is told. */
static void more_than_one_thing_is_wrong(void)
{
    const bool last = ranks_me == ranks_size - 1;
    tnr_world *world = NULL;
    other_word = last ? 3 : ranks_me == 0 ? 5 : -1;
    other_value = 77;
    CHECK_STATUS(last ? TNR_ERR_ARGUMENT : TNR_ERR_PEER,
                 tnr_world_create(last ? NULL : heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_TEXT("home or result is NULL");
    CHECK_STATUS(TNR_ERR_PEER, tnr_world_create(heap, MPI_COMM_WORLD, NULL, &world));
    CHECK_TEXT("the highest rank of a tensor: rank 0 has 16, rank ");
    CHECK_TEXT(" has 77");
    CHECK(world == NULL);
    other_word = -1;
    a_world_is_made();
}

int main(int argc, char **argv)
{
    static const rank_test tests[] = {
        RANK_TEST(a_world_is_made),
        RANK_TEST(each_word_on_each_rank),
        RANK_TEST(more_than_one_thing_is_wrong),
    };
    CHECK_OK(tnr_heap_create(&heap));
    const int result = ranks_main(argc, argv, MPI_THREAD_FUNNELED, tests, sizeof(tests) / sizeof(tests[0]));
    CHECK_OK(tnr_domain_close(&heap));
    return result;
}
