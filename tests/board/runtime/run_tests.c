/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the tests of one file (cmocka.h beside this), one after another. Also on machines without cmocka: tests/standin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "board.h"
#include "cmocka.h"

enum { FAILED = 1, SKIPPED = 2 };
static jmp_buf out_of_test;

static void say(const char *format, va_list arguments)
{
    char text[512];
    const int length = vsnprintf(text, sizeof text, format, arguments);
    board_write(text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
}

void print_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void print_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

_Noreturn void _fail(const char *file, int line)
{
    print_error("%s:%d: failed\n", file, line);
    longjmp(out_of_test, FAILED);
}

_Noreturn void _skip(const char *file, int line)
{
    (void)file;
    (void)line;
    longjmp(out_of_test, SKIPPED);
}

_Noreturn void board_fail_because(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    print_error("\n");
    _fail(file, line);
}

void board_strings(const char *a, const char *b, const char *file, int line)
{
    if (strcmp(a, b) != 0) {
        board_fail_because(file, line, "\"%s\" and \"%s\"", a, b);
    }
}

static int run_one(const struct CMUnitTest *test, void **state)
{
    const int how = setjmp(out_of_test);
    if (how == 0) {
        if (test->setup_func != NULL && test->setup_func(state) != 0) {
            return FAILED;
        }
        test->test_func(state);
        if (test->teardown_func != NULL && test->teardown_func(state) != 0) {
            return FAILED;
        }
    }
    return how;
}

static int run_fixture(CMFixtureFunction fixture, void **state)
{
    const int how = setjmp(out_of_test);
    return fixture == NULL ? 0 : how == 0 ? fixture(state) : how;
}

extern const char board_left_out[]; /* names between spaces: images.cmake says why */

static bool is_left_out(const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(board_left_out, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == board_left_out || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

int board_run_tests(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup, CMFixtureFunction teardown)
{
    void *group_state = NULL;
    size_t failed = 0;
    size_t skipped = 0;
    if (run_fixture(setup, &group_state) != 0) {
        print_error("the group's setup failed\n");
        return 1;
    }
    for (size_t i = 0; i < count; ++i) {
        void *state = group_state;
        if (is_left_out(tests[i].name)) {
            print_message("left out %s\n", tests[i].name);
            ++skipped;
            continue;
        }
        const int how = run_one(&tests[i], &state);
        print_message("%s %s\n", how == 0 ? "passed " : how == SKIPPED ? "skipped" : "FAILED ", tests[i].name);
        failed += how == FAILED;
        skipped += how == SKIPPED;
    }
    if (run_fixture(teardown, &group_state) != 0) {
        print_error("the group's teardown failed\n");
        ++failed;
    }
    print_message("%u tests, %u failed, %u skipped\n", (unsigned)count, (unsigned)failed, (unsigned)skipped);
    return failed != 0 || count == 0 ? 1 : 0;
}
