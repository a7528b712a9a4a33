/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the storage tour (examples/storage_tour of TENURE_BUILD_DIR) and checks each of its lines against
 * tests/data/storage_tour.txt. Skipped where examples are not built.
 */
#define _POSIX_C_SOURCE 200809L /* access, popen */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINE_BYTES = 256, PATH_BYTES = 4096, SKIPPED = 77 };

/* A file below the folder that an environment variable names. */
static void path_below(const char *variable, const char *otherwise, const char *rest, char path[PATH_BYTES])
{
    const char *folder = getenv(variable);
    (void)snprintf(path, PATH_BYTES, "%s/%s", folder != NULL ? folder : otherwise, rest);
}

/* Next line of a file without its end; false at the end of the file. */
static int next_line(FILE *file, char line[LINE_BYTES])
{
    if (fgets(line, LINE_BYTES, file) == NULL) {
        (void)snprintf(line, LINE_BYTES, "(end)");
        return 0;
    }
    line[strcspn(line, "\n")] = '\0';
    return 1;
}

static void every_line_is_as_expected(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    char command[PATH_BYTES + 2];
    path_below("TENURE_SOURCE_DIR", ".", "tests/data/storage_tour.txt", path);
    FILE *expected = fopen(path, "r");
    assert_non_null(expected);
    path_below("TENURE_BUILD_DIR", "build", "examples/storage_tour", path);
    (void)snprintf(command, sizeof command, "'%s'", path);
    FILE *tour = popen(command, "r");
    assert_non_null(tour);

    char wanted[LINE_BYTES];
    char found[LINE_BYTES];
    int lines = 0;
    int wrong = 0;
    for (;;) {
        const int more_wanted = next_line(expected, wanted);
        const int more_found = next_line(tour, found);
        if (!more_wanted && !more_found) {
            break;
        }
        lines++;
        if (strcmp(wanted, found) != 0) {
            print_error("line %d\n  expected: %s\n  found:    %s\n", lines, wanted, found);
            wrong++;
        }
    }
    assert_int_equal(fclose(expected), 0);
    assert_int_equal(pclose(tour), 0); /* the tour's own verdict */
    assert_int_equal(wrong, 0);
    assert_true(lines > 40);
}

int main(void)
{
    char path[PATH_BYTES];
    path_below("TENURE_BUILD_DIR", "build", "examples/storage_tour", path);
    if (access(path, X_OK) != 0) {
        (void)fprintf(stderr, "skipped: %s is not built\n", path);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_as_expected),
    };
    return cmocka_run_group_tests_name("storage_tour", tests, NULL, NULL);
}
