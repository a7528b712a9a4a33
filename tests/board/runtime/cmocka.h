/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of cmocka's interface that our tests use, for boards: named tests one after another, asserts that end a test. A test file
 * is compiled against this instead of cmocka.h as it is; one image, one file.
 */
#ifndef TENURE_TESTS_BOARD_CMOCKA_H
#define TENURE_TESTS_BOARD_CMOCKA_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef int (*CMFixtureFunction)(void **state);
typedef void (*CMUnitTestFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func;
    CMFixtureFunction teardown_func;
    void *initial_state;
};

#define cmocka_unit_test(f)     \
    {                           \
#f, f, NULL, NULL, NULL \
    }
#define cmocka_unit_test_setup_teardown(f, setup, teardown) \
    {                                                       \
#f, f, setup, teardown, NULL                        \
    }
#define cmocka_run_group_tests(tests, setup, teardown) \
    board_run_tests(tests, sizeof(tests) / sizeof(tests)[0], setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) cmocka_run_group_tests(tests, setup, teardown)

int board_run_tests(const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup, CMFixtureFunction teardown);
void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void _fail(const char *file, int line);
_Noreturn void _skip(const char *file, int line);
_Noreturn void board_fail_because(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define fail() _fail(__FILE__, __LINE__)
#define skip() _skip(__FILE__, __LINE__)
#define fail_msg(...) board_fail_because(__FILE__, __LINE__, __VA_ARGS__)

#define BOARD_ASSERT(condition, text)                             \
    do {                                                          \
        if (!(condition)) {                                       \
            board_fail_because(__FILE__, __LINE__, "%s", (text)); \
        }                                                         \
    } while (0)
#define BOARD_COMPARE(a, relation, b)                                                           \
    do {                                                                                        \
        const uintmax_t board_a = (uintmax_t)(a);                                               \
        const uintmax_t board_b = (uintmax_t)(b);                                               \
        if (!(board_a relation board_b)) {                                                      \
            board_fail_because(__FILE__, __LINE__, "%s %s %s: %#llx, %#llx", #a, #relation, #b, \
                               (unsigned long long)board_a, (unsigned long long)board_b);       \
        }                                                                                       \
    } while (0)
#define assert_true(c) BOARD_ASSERT((c), #c)
#define assert_false(c) BOARD_ASSERT(!(c), "not: " #c)
#define assert_non_null(p) BOARD_ASSERT((p) != NULL, #p " is NULL")
#define assert_null(p) BOARD_ASSERT((p) == NULL, #p " is not NULL")
#define assert_int_equal(a, b) BOARD_COMPARE(a, ==, b)
#define assert_int_not_equal(a, b) BOARD_COMPARE(a, !=, b)
#define assert_ptr_equal(a, b) BOARD_ASSERT((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_ptr_not_equal(a, b) BOARD_ASSERT((const void *)(a) != (const void *)(b), #a " != " #b)
#define assert_string_equal(a, b) board_strings((a), (b), __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) BOARD_ASSERT(memcmp((a), (b), (size)) == 0, "bytes of " #a " and " #b)
#define assert_memory_not_equal(a, b, size) BOARD_ASSERT(memcmp((a), (b), (size)) != 0, "bytes of " #a " and " #b)
#define assert_in_range(value, low, high)                                                                         \
    BOARD_ASSERT((uintmax_t)(value) >= (uintmax_t)(low) && (uintmax_t)(value) <= (uintmax_t)(high), #value " in " \
                                                                                                           "range")

void board_strings(const char *a, const char *b, const char *file, int line);

#endif /* TENURE_TESTS_BOARD_CMOCKA_H */
