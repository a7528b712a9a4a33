/* SPDX-License-Identifier: BSD-3-Clause */
/* TENURE_POOL_MAX_BYTES: read once per process, so each case is a child process of its own. */
#define _POSIX_C_SOURCE 200809L /* fork, setenv, alarm */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tenure/domain.h"

#define VARIABLE "TENURE_POOL_MAX_BYTES"

/* Exit codes of a child. */
enum { AS_EXPECTED = 0, WRONG_STATUS = 1, WRONG_CAP = 2, WRONG_TEXT = 3, NO_HEAP = 4 };

static tnr_status create(tnr_domain *heap, uint64_t max_bytes, tnr_pool_statistics *statistics)
{
    tnr_pool_options options = TNR_POOL_OPTIONS;
    options.max_bytes = max_bytes;
    tnr_domain *pool = NULL;
    tnr_status status = tnr_pool_create(heap, &options, &pool);
    if (status == TNR_OK) {
        status = tnr_pool_statistics_get(pool, statistics);
        if (tnr_domain_close(&pool) != TNR_OK) {
            status = TNR_ERR_BUSY;
        }
    }
    return status;
}

static int wait_for(pid_t child)
{
    assert_true(child > 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int child_expects_cap(const char *value, uint64_t cap)
{
    tnr_domain *heap;
    tnr_pool_statistics statistics;
    if (value == NULL ? unsetenv(VARIABLE) != 0 : setenv(VARIABLE, value, 1) != 0) {
        return WRONG_STATUS;
    }
    if (tnr_heap_create(&heap) != TNR_OK) {
        return NO_HEAP;
    }
    if (create(heap, TNR_POOL_MAX_BYTES_AUTO, &statistics) != TNR_OK) {
        return WRONG_STATUS;
    }
    if (statistics.max_bytes != cap) {
        return WRONG_CAP;
    }
    return tnr_domain_close(&heap) == TNR_OK ? AS_EXPECTED : WRONG_STATUS;
}

static int child_expects_refusal(const char *value)
{
    tnr_domain *heap;
    tnr_pool_statistics statistics;
    if (setenv(VARIABLE, value, 1) != 0 || tnr_heap_create(&heap) != TNR_OK) {
        return NO_HEAP;
    }
    /* Every time, not only the first; and a cap that is stated needs no environment. */
    for (int time = 0; time < 2; time++) {
        if (create(heap, TNR_POOL_MAX_BYTES_AUTO, &statistics) != TNR_ERR_ARGUMENT) {
            return WRONG_STATUS;
        }
        if (strstr(tnr_last_error(), value) == NULL || strstr(tnr_last_error(), VARIABLE) == NULL) {
            return WRONG_TEXT;
        }
    }
    if (create(heap, 12345, &statistics) != TNR_OK || statistics.max_bytes != 12345) {
        return WRONG_CAP;
    }
    return tnr_domain_close(&heap) == TNR_OK ? AS_EXPECTED : WRONG_STATUS;
}

static void expect_cap(const char *value, uint64_t cap)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(child_expects_cap(value, cap));
    }
    assert_int_equal(wait_for(child), AS_EXPECTED);
}

static void expect_refusal(const char *value)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(child_expects_refusal(value));
    }
    assert_int_equal(wait_for(child), AS_EXPECTED);
}

static void not_set_is_100_mib(void **state)
{
    (void)state;
    expect_cap(NULL, 104857600);
    expect_cap(NULL, TNR_POOL_DEFAULT_MAX_BYTES);
}

static void numbers_with_and_without_suffix(void **state)
{
    (void)state;
    expect_cap("0", 0);
    expect_cap("1", 1);
    expect_cap("0123", 123);
    expect_cap("104857601", 104857601);
    expect_cap("3K", 3072);
    expect_cap("7M", 7340032);
    expect_cap("2G", UINT64_C(2) << 30);
    expect_cap("0G", 0);
    expect_cap("18446744073709551615", UINT64_MAX);
    expect_cap("17179869183G", UINT64_C(17179869183) << 30);
}

static void anything_else_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const values[] = {"",
                                         " ",
                                         "x",
                                         "12x",
                                         "12 ",
                                         " 12",
                                         "-1",
                                         "+1",
                                         "1.5",
                                         "1KK",
                                         "1k",
                                         "1KB",
                                         "K",
                                         "0x10",
                                         "1T",
                                         "1e3",
                                         "\xff\xfe",
                                         "18446744073709551616",
                                         "17179869184G",
                                         "99999999999999999999999"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        expect_refusal(values[i]);
    }
}

static int child_changes_its_mind(void)
{
    tnr_domain *heap;
    tnr_pool_statistics statistics;
    tnr_domain *pool = NULL;
    if (setenv(VARIABLE, "4K", 1) != 0 || tnr_heap_create(&heap) != TNR_OK) {
        return NO_HEAP;
    }
    if (create(heap, TNR_POOL_MAX_BYTES_AUTO, &statistics) != TNR_OK || statistics.max_bytes != 4096) {
        return WRONG_CAP;
    }
    if (setenv(VARIABLE, "nonsense", 1) != 0 || tnr_pool_create(heap, NULL, &pool) != TNR_OK ||
        tnr_pool_statistics_get(pool, &statistics) != TNR_OK || statistics.max_bytes != 4096) {
        return WRONG_CAP;
    }
    /* The same constant means the same in set_max_bytes. */
    if (tnr_pool_set_max_bytes(pool, 9) != TNR_OK || tnr_pool_set_max_bytes(pool, TNR_POOL_MAX_BYTES_AUTO) != TNR_OK ||
        tnr_pool_statistics_get(pool, &statistics) != TNR_OK || statistics.max_bytes != 4096) {
        return WRONG_CAP;
    }
    return tnr_domain_close(&pool) == TNR_OK && tnr_domain_close(&heap) == TNR_OK ? AS_EXPECTED : WRONG_STATUS;
}

static void read_once_per_process(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        _exit(child_changes_its_mind());
    }
    assert_int_equal(wait_for(child), AS_EXPECTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_set_is_100_mib),
        cmocka_unit_test(numbers_with_and_without_suffix),
        cmocka_unit_test(anything_else_is_refused_by_name),
        cmocka_unit_test(read_once_per_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
