/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program and keeps what it says: exit code, standard output and standard error, by way of two files in a folder of the test's.
 * Include after <cmocka.h>; the test defines _POSIX_C_SOURCE 200809L.
 */
#ifndef TENURE_TESTS_SUPPORT_RUN_PROGRAM_H
#define TENURE_TESTS_SUPPORT_RUN_PROGRAM_H

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* unistd.h does not declare it */

enum { RUN_TEXT_BYTES = 8192, RUN_WORDS = 12, RUN_PATH_BYTES = 128 };

/* What one run of a program left behind. */
typedef struct outcome {
    int code; /* exit code, or -1 */
    char out[RUN_TEXT_BYTES];
    char err[RUN_TEXT_BYTES];
} outcome;

static inline void run_load(const char *path, char text[RUN_TEXT_BYTES])
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    const size_t length = fread(text, 1, RUN_TEXT_BYTES - 1, in);
    assert_int_equal(fclose(in), 0);
    text[length] = '\0';
}

/* Run `program` with these words after its name, NULL at the end. */
static inline outcome run_program(const char *program, const char *folder, const char *const *words)
{
    outcome result = {.code = -1};
    char out[RUN_PATH_BYTES];
    char err[RUN_PATH_BYTES];
    char *arguments[RUN_WORDS + 2] = {(char *)(uintptr_t)program};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int status = 0;
    (void)snprintf(out, sizeof out, "%s/stdout", folder);
    (void)snprintf(err, sizeof err, "%s/stderr", folder);
    for (int i = 0; words[i] != NULL; i++) {
        assert_true(i < RUN_WORDS);
        arguments[i + 1] = (char *)(uintptr_t)words[i];
    }
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    assert_int_equal(posix_spawn_file_actions_addopen(&actions, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    assert_int_equal(posix_spawn(&child, program, &actions, NULL, arguments, environ), 0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    run_load(out, result.out);
    run_load(err, result.err);
    return result;
}

/* One line that begins with `name` and a colon and holds `fragment`, exit code 1, silence on stdout. */
static inline void run_refused(const char *program, const char *folder, const char *name, const char *const *words,
                               const char *fragment)
{
    const outcome result = run_program(program, folder, words);
    const char *end = strchr(result.err, '\n');
    const size_t length = strlen(name);
    if (result.code != 1 || end == NULL || end[1] != '\0' || result.out[0] != '\0' ||
        strstr(result.err, fragment) == NULL || strncmp(result.err, name, length) != 0 || result.err[length] != ':') {
        fail_msg("expected one line of %s with \"%s\" and code 1; code %d, stdout \"%s\", stderr \"%s\"", name,
                 fragment, result.code, result.out, result.err);
    }
}

static inline bool run_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Remove the folder: empty but for what every run leaves, else a test left more, and the answer is not 0. */
static inline int run_remove_folder(const char *folder)
{
    char path[RUN_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/stdout", folder);
    (void)remove(path);
    (void)snprintf(path, sizeof path, "%s/stderr", folder);
    (void)remove(path);
    return rmdir(folder);
}

#endif /* TENURE_TESTS_SUPPORT_RUN_PROGRAM_H */
