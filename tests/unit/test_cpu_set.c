/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of CPUs and nodes: limits, NULL, and the lists that taskset and Slurm write. The random half is a property test. */
#include "support/storage_test.h"
#include "tenure/topology.h"

enum { TEXT_BYTES = 1024 };

static const char *list_of(const tnr_cpu_set *set)
{
    static char text[TEXT_BYTES];
    OK(tnr_cpu_set_format(set, text, sizeof(text), NULL));
    return text;
}

static tnr_cpu_set parsed(const char *text)
{
    tnr_cpu_set set;
    OK(tnr_cpu_set_parse(text, &set));
    return set;
}

static void test_zeroed_set_is_empty(void **state)
{
    (void)state;
    const tnr_cpu_set set = {{0}};
    assert_int_equal(tnr_cpu_set_count(&set), 0);
    assert_int_equal(tnr_cpu_set_next(&set, TNR_NONE), TNR_NONE);
    assert_false(tnr_cpu_set_has(&set, 0));
    assert_string_equal(list_of(&set), "");
}

static void test_members_at_both_ends_and_at_word_limits(void **state)
{
    (void)state;
    static const int members[] = {0, 1, 63, 64, 127, 128, 4095, TNR_MAX_CPUS - 1};
    enum { COUNT = sizeof(members) / sizeof(members[0]) };
    tnr_cpu_set set = {{0}};
    for (int i = 0; i < COUNT; i++) {
        OK(tnr_cpu_set_add(&set, members[i]));
        OK(tnr_cpu_set_add(&set, members[i])); /* twice is once */
    }
    assert_int_equal(tnr_cpu_set_count(&set), COUNT);
    int cpu = TNR_NONE;
    for (int i = 0; i < COUNT; i++) {
        cpu = tnr_cpu_set_next(&set, cpu);
        assert_int_equal(cpu, members[i]);
        assert_true(tnr_cpu_set_has(&set, cpu));
    }
    assert_int_equal(tnr_cpu_set_next(&set, cpu), TNR_NONE);
    for (int i = 0; i < COUNT; i++) {
        OK(tnr_cpu_set_remove(&set, members[i]));
        assert_false(tnr_cpu_set_has(&set, members[i]));
        assert_int_equal(tnr_cpu_set_count(&set), COUNT - 1 - i);
    }
}

static void test_numbers_out_of_range(void **state)
{
    (void)state;
    static const int outside[] = {-2, TNR_NONE, TNR_MAX_CPUS, TNR_MAX_CPUS + 64, INT32_MAX, INT32_MIN};
    tnr_cpu_set set = {{0}};
    OK(tnr_cpu_set_add(&set, 7));
    const tnr_cpu_set before = set;
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        EXPECT(TNR_ERR_BOUNDS, tnr_cpu_set_add(&set, outside[i]));
        TEXT_HAS("8191");
        EXPECT(TNR_ERR_BOUNDS, tnr_cpu_set_remove(&set, outside[i]));
        assert_false(tnr_cpu_set_has(&set, outside[i]));
        assert_int_equal(tnr_cpu_set_next(&set, outside[i]), outside[i] < 0 ? 7 : TNR_NONE);
    }
    assert_memory_equal(&set, &before, sizeof(set));
}

static void test_null_sets(void **state)
{
    (void)state;
    tnr_cpu_set set = {{1}};
    char text[8];
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_add(NULL, 0));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_remove(NULL, 0));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_parse(NULL, &set));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_parse("0", NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_format(NULL, text, sizeof(text), NULL));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_format(&set, NULL, 4, NULL));
    assert_false(tnr_cpu_set_has(NULL, 0));
    assert_int_equal(tnr_cpu_set_count(NULL), 0);
    assert_int_equal(tnr_cpu_set_next(NULL, TNR_NONE), TNR_NONE);
    assert_true(tnr_cpu_set_within(NULL, &set));
    assert_true(tnr_cpu_set_within(NULL, NULL));
    assert_false(tnr_cpu_set_within(&set, NULL));
}

static void test_within(void **state)
{
    (void)state;
    const tnr_cpu_set inner = parsed("3,64-70,8191");
    const tnr_cpu_set outer = parsed("0-100,8000-8191");
    const tnr_cpu_set other = parsed("0-100");
    assert_true(tnr_cpu_set_within(&inner, &outer));
    assert_true(tnr_cpu_set_within(&inner, &inner));
    assert_false(tnr_cpu_set_within(&outer, &inner));
    assert_false(tnr_cpu_set_within(&inner, &other));
}

static void test_lists_that_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *canonical;
        int count;
    } rows[] = {
        {"0", "0", 1},
        {"0-3,8,10-14:2", "0-3,8,10,12,14", 8},
        {"0-6:2", "0,2,4,6", 4},
        {"0-7:2", "0,2,4,6", 4},
        {"5-5", "5", 1},
        {"5-5:9", "5", 1},
        {"1-9:100", "1", 1},
        {"3,2,1", "1-3", 3},
        {"1,1,0-2", "0-2", 3},
        {"007", "7", 1},
        {"8191", "8191", 1},
        {"0-8191", "0-8191", 8192},
        {"0-8191:8191", "0,8191", 2},
        {"62-65", "62-65", 4},
        {"0-4:99999999999999999999", "0", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const tnr_cpu_set set = parsed(rows[i].text);
        assert_int_equal(tnr_cpu_set_count(&set), rows[i].count);
        assert_string_equal(list_of(&set), rows[i].canonical);
    }
}

static void test_lists_that_are_refused(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "",     ",",   "0,",      ",0",     "0,,1",  "3-1",  "-",    "-3",  "3-",     "0--3",    "0-3-5",
        "0-6:", "3:2", "0-6:0",   "0-6:-1", " 0",    "0 ",   "0, 1", "0\n", "a",      "0x3",     "1.5",
        "+1",   "0;1", "0-3:2:2", "0-3,",   "1-0x5", "-1-3", "~3",   "all", "0-3,8-", "0-3,9-8",
    };
    tnr_cpu_set set = parsed("1-2");
    const tnr_cpu_set before = set;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_parse(malformed[i], &set));
        TEXT_HAS("cpu_set_parse");
    }
    static const char *const beyond[] = {"8192",    "0-8192", "0,8192", "8192-9000", "99999999999999999999999",
                                         "0,8192,1"};
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        EXPECT(TNR_ERR_BOUNDS, tnr_cpu_set_parse(beyond[i], &set));
        TEXT_HAS(beyond[i]);
    }
    /* Malformed counts before out of range. */
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_parse("8192,", &set));
    assert_memory_equal(&set, &before, sizeof(set));
    EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_parse("0-3,9-8", &set));
    TEXT_HAS("from character 7 on");
}

static void test_format_says_what_it_takes(void **state)
{
    (void)state;
    const tnr_cpu_set set = parsed("0-2,8191");
    char text[16];
    memset(text, '#', sizeof(text));
    size_t needed = 0;
    EXPECT(TNR_ERR_BOUNDS, tnr_cpu_set_format(&set, NULL, 0, &needed));
    assert_int_equal(needed, sizeof("0-2,8191"));
    needed = 0;
    EXPECT(TNR_ERR_BOUNDS, tnr_cpu_set_format(&set, text, sizeof("0-2,8191") - 1, &needed));
    assert_int_equal(needed, sizeof("0-2,8191"));
    assert_int_equal(text[0], '#');
    OK(tnr_cpu_set_format(&set, text, sizeof("0-2,8191"), NULL));
    assert_string_equal(text, "0-2,8191");
    assert_int_equal(text[sizeof("0-2,8191")], '#');
}

static void test_longest_list(void **state)
{
    (void)state;
    const tnr_cpu_set odd = parsed("1-8191:2");
    size_t needed = 0;
    EXPECT(TNR_ERR_BOUNDS, tnr_cpu_set_format(&odd, NULL, 0, &needed));
    char *text = malloc(needed);
    assert_non_null(text);
    OK(tnr_cpu_set_format(&odd, text, needed, NULL));
    const tnr_cpu_set again = parsed(text);
    assert_memory_equal(&again, &odd, sizeof(odd));
    free(text);
}

static void test_node_sets(void **state)
{
    (void)state;
    tnr_node_set set = {{0}};
    assert_int_equal(tnr_node_set_count(&set), 0);
    assert_int_equal(tnr_node_set_next(&set, TNR_NONE), TNR_NONE);
    set.words[0] = UINT64_C(1) << 63 | 1U;
    set.words[TNR_MAX_NODES / 64 - 1] = UINT64_C(1) << 63;
    assert_int_equal(tnr_node_set_count(&set), 3);
    assert_int_equal(tnr_node_set_next(&set, TNR_NONE), 0);
    assert_int_equal(tnr_node_set_next(&set, 0), 63);
    assert_int_equal(tnr_node_set_next(&set, 63), TNR_MAX_NODES - 1);
    assert_int_equal(tnr_node_set_next(&set, TNR_MAX_NODES - 1), TNR_NONE);
    assert_int_equal(tnr_node_set_next(&set, INT32_MAX), TNR_NONE);
    assert_true(tnr_node_set_has(&set, 63));
    assert_false(tnr_node_set_has(&set, 62));
    assert_false(tnr_node_set_has(&set, TNR_NONE));
    assert_false(tnr_node_set_has(&set, TNR_MAX_NODES));
    assert_false(tnr_node_set_has(NULL, 0));
    assert_int_equal(tnr_node_set_count(NULL), 0);
    assert_int_equal(tnr_node_set_next(NULL, TNR_NONE), TNR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_set_is_empty),
        cmocka_unit_test(test_members_at_both_ends_and_at_word_limits),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_null_sets),
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_lists_that_are_read),
        cmocka_unit_test(test_lists_that_are_refused),
        cmocka_unit_test(test_format_says_what_it_takes),
        cmocka_unit_test(test_longest_list),
        cmocka_unit_test(test_node_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
