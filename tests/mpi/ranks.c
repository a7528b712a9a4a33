/* SPDX-License-Identifier: BSD-3-Clause */
/* Running the tests of ranks.h. */
#include "ranks.h"

#include <stdarg.h>
#include <time.h>

int ranks_me;
int ranks_size;

void ranks_fail(const char *file, int line, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "rank %d of %d: %s:%d: %s\n", ranks_me, ranks_size, file, line, text);
    (void)fflush(stderr);
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

unsigned long long ranks_seed(void)
{
    unsigned long long seed = 0;
    if (ranks_me == 0) {
        const char *given = getenv("TENURE_TEST_SEED");
        seed = given != NULL ? strtoull(given, NULL, 0) : (unsigned long long)time(NULL);
        printf("TENURE_TEST_SEED=%llu\n", seed);
    }
    CHECK(MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    return seed;
}

int ranks_main(int argc, char **argv, int level, const rank_test *tests, size_t count)
{
    int granted;
    if (MPI_Init_thread(&argc, &argv, level, &granted) != MPI_SUCCESS) {
        return 1;
    }
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &ranks_me);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks_size);
    for (size_t index = 0; index < count; index++) {
        (void)MPI_Barrier(MPI_COMM_WORLD);
        if (argc > 1 && strstr(tests[index].name, argv[1]) == NULL) {
            continue;
        }
        tests[index].run();
        (void)MPI_Barrier(MPI_COMM_WORLD);
        if (ranks_me == 0) {
            printf("ok %s on %d\n", tests[index].name, ranks_size);
            (void)fflush(stdout);
        }
    }
    (void)MPI_Finalize();
    return 0;
}
