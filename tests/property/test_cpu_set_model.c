/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random CPU sets against an array of bools: every question after every change, lists there and back, and random texts, which
 * a second, slower parser must judge alike. TENURE_TEST_SEED sets the seed.
 */
#include <time.h>

#include "support/storage_test.h"
#include "tenure/topology.h"

enum { ROUNDS = 300, CHANGES = 60, TEXTS = 200000, LONGEST = 24 };

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state += UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 */
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % below;
}

static int set_up(void **state)
{
    (void)state;
    const char *text = getenv("TENURE_TEST_SEED");
    random_state = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    print_message("TENURE_TEST_SEED=%llu\n", (unsigned long long)random_state);
    return 0;
}

static void check_against(const tnr_cpu_set *set, const bool *model)
{
    int count = 0;
    int cpu = TNR_NONE;
    for (int i = 0; i < TNR_MAX_CPUS; i++) {
        assert_int_equal(tnr_cpu_set_has(set, i), model[i]);
        if (model[i]) {
            cpu = tnr_cpu_set_next(set, cpu);
            assert_int_equal(cpu, i);
            count++;
        }
    }
    assert_int_equal(tnr_cpu_set_next(set, cpu), TNR_NONE);
    assert_int_equal(tnr_cpu_set_count(set), count);
}

static void test_sets_agree_with_arrays(void **state)
{
    (void)state;
    static bool model[TNR_MAX_CPUS];
    for (int round = 0; round < ROUNDS; round++) {
        tnr_cpu_set set = {{0}};
        tnr_cpu_set outer;
        memset(model, 0, sizeof(model));
        const uint64_t span = draw(3) == 0 ? TNR_MAX_CPUS : 1 + draw(200);
        const uint64_t changes = draw(CHANGES);
        for (uint64_t i = 0; i < changes; i++) {
            const int cpu = (int)draw(span);
            model[cpu] = draw(3) != 0;
            if (model[cpu]) {
                OK(tnr_cpu_set_add(&set, cpu));
            } else {
                OK(tnr_cpu_set_remove(&set, cpu));
            }
        }
        check_against(&set, model);

        char text[CHANGES * 6 + 8];
        OK(tnr_cpu_set_format(&set, text, sizeof(text), NULL));
        tnr_cpu_set again;
        if (tnr_cpu_set_count(&set) == 0) {
            EXPECT(TNR_ERR_ARGUMENT, tnr_cpu_set_parse(text, &again));
            continue;
        }
        OK(tnr_cpu_set_parse(text, &again));
        assert_memory_equal(&again, &set, sizeof(set));

        outer = set;
        const int other = (int)draw(TNR_MAX_CPUS);
        OK(tnr_cpu_set_add(&outer, other));
        assert_true(tnr_cpu_set_within(&set, &outer));
        assert_int_equal(tnr_cpu_set_within(&outer, &set), model[other]);
    }
}

/* ---- A second opinion on lists ------------------------------------------------------------------------------------------- */

/* The digits of text[*at...]; -1: none. All numbers that are too large are one, so that ranges of them do not fall. */
static long model_number(const char *text, size_t *at)
{
    long value = -1;
    while (text[*at] >= '0' && text[*at] <= '9') {
        value = (value < 0 ? 0 : value) * 10 + (text[*at] - '0');
        value = value > TNR_MAX_CPUS ? TNR_MAX_CPUS : value;
        ++*at;
    }
    return value;
}

static tnr_status model_parse(const char *text, bool *model)
{
    bool beyond = false;
    size_t at = 0;
    memset(model, 0, TNR_MAX_CPUS * sizeof(*model));
    do {
        const long first = model_number(text, &at);
        long last = first;
        long stride = 1;
        if (text[at] == '-') {
            at++;
            last = model_number(text, &at);
            if (text[at] == ':') {
                at++;
                stride = model_number(text, &at);
            }
        }
        if (first < 0 || last < 0 || stride < 1 || last < first || (text[at] != ',' && text[at] != '\0')) {
            return TNR_ERR_ARGUMENT;
        }
        beyond = beyond || last >= TNR_MAX_CPUS;
        for (long cpu = first; cpu <= last && cpu < TNR_MAX_CPUS; cpu += stride) {
            model[cpu] = true;
        }
    } while (text[at++] == ',');
    return beyond ? TNR_ERR_BOUNDS : TNR_OK;
}

static void random_text(char *text)
{
    static const char alphabet[] = "0123456789,,,---::";
    const uint64_t length = draw(LONGEST);
    for (uint64_t i = 0; i < length; i++) {
        text[i] = draw(60) == 0 ? (char)(1 + draw(255)) : alphabet[draw(sizeof(alphabet) - 1)];
    }
    text[length] = '\0';
}

/* A list that is well formed, more often than not. */
static void random_list(char *text, size_t room)
{
    size_t length = 0;
    const uint64_t items = 1 + draw(4);
    for (uint64_t i = 0; i < items; i++) {
        const unsigned first = (unsigned)draw(draw(8) == 0 ? 8200 : 130);
        const unsigned last = first + (unsigned)draw(90);
        const char *const comma = i != 0 ? "," : "";
        const uint64_t shape = draw(4);
        int wrote = 0;
        if (shape == 0) {
            wrote = snprintf(text + length, room - length, "%s%u-%u:%u", comma, first, last, (unsigned)draw(9));
        } else if (shape == 1) {
            wrote = snprintf(text + length, room - length, "%s%u-%u", comma, first, last);
        } else {
            wrote = snprintf(text + length, room - length, "%s%u", comma, first);
        }
        assert_true(wrote > 0 && (size_t)wrote < room - length);
        length += (size_t)wrote;
    }
}

static void test_two_parsers_agree(void **state)
{
    (void)state;
    static bool model[TNR_MAX_CPUS];
    int good = 0;
    for (int i = 0; i < TEXTS; i++) {
        char text[128];
        if (i % 2 == 0) {
            random_text(text);
        } else {
            random_list(text, sizeof(text));
        }
        tnr_cpu_set set = {{0}};
        const tnr_status expected = model_parse(text, model);
        const tnr_status found = tnr_cpu_set_parse(text, &set);
        if (found != expected) {
            print_error("\"%s\": %s, expected %s\n", text, tnr_status_name(found), tnr_status_name(expected));
            fail();
        }
        if (expected == TNR_OK) {
            int count = 0;
            for (int cpu = 0; cpu < TNR_MAX_CPUS; cpu++) {
                count += model[cpu] ? 1 : 0;
                if (model[cpu] != tnr_cpu_set_has(&set, cpu)) {
                    print_error("\"%s\": CPU %d\n", text, cpu);
                    fail();
                }
            }
            assert_int_equal(tnr_cpu_set_count(&set), count);
            good++;
        }
    }
    assert_true(good > TEXTS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets_agree_with_arrays),
        cmocka_unit_test(test_two_parsers_agree),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
