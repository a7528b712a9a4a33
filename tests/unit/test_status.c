/* SPDX-License-Identifier: BSD-3-Clause */
/* The answers and their texts: one list behind enum, names and docs; one text per thread, cut, never printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "arena/base.h"
#include "tenure/tenure.h"

static void names_and_texts_come_from_the_list(void **state)
{
    (void)state;
#define CHECK_ROW(constant, value, name, meaning)         \
    assert_int_equal(constant, value);                    \
    assert_string_equal(tnr_status_name(constant), name); \
    assert_string_equal(tnr_status_text(constant), meaning);
    TNR_STATUS_MAP(CHECK_ROW)
#undef CHECK_ROW
    assert_string_equal(tnr_status_name((tnr_status)99), "unknown");
    assert_non_null(tnr_status_text((tnr_status)-1));
}

/* docs/errors.md carries exactly the rows that the list makes. */
static void the_table_in_the_docs_is_the_list(void **state)
{
    (void)state;
    const char *root = getenv("TENURE_SOURCE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/docs/errors.md", root != NULL ? root : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    static char page[65536];
    const size_t length = fread(page, 1, sizeof page - 1, file);
    fclose(file);
    page[length] = '\0';
    int rows = 0;
#define FIND_ROW(constant, value, name, meaning)                                                  \
    assert_non_null(strstr(page, "| `" #constant "` | " #value " | " name " | " meaning " |\n")); \
    rows++;
    TNR_STATUS_MAP(FIND_ROW)
#undef FIND_ROW
    int found = 0;
    for (const char *at = page; (at = strstr(at, "\n| `TNR_")) != NULL; at++) {
        found++;
    }
    assert_int_equal(found, rows);
}

static void a_recorded_text_is_kept_and_cut(void **state)
{
    (void)state;
    assert_int_equal(tnr_set_error(TNR_ERR_IO, "disk: gone"), TNR_ERR_IO);
    assert_string_equal(tnr_last_error(), "disk: gone");
    assert_int_equal(tnr_set_error(TNR_OK, "not a failure"), TNR_OK);
    assert_string_equal(tnr_last_error(), "disk: gone");
    assert_int_equal(tnr_set_error(TNR_ERR_PEER, NULL), TNR_ERR_PEER);
    assert_string_equal(tnr_last_error(), tnr_status_text(TNR_ERR_PEER));
    char text[2 * TNR_ERROR_TEXT_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(tnr_set_error(TNR_ERR_IO, text), TNR_ERR_IO);
    assert_int_equal(strlen(tnr_last_error()), TNR_ERROR_TEXT_BYTES - 1);
    /* the present text may be part of the next one */
    (void)tnr_set_error(TNR_ERR_IO, "inner");
    assert_int_equal(tnri_fail(TNR_ERR_IO, "outer: %s", tnr_last_error()), TNR_ERR_IO);
    assert_string_equal(tnr_last_error(), "outer: inner");
}

static void numbers_are_written_as_printf_writes_them(void **state)
{
    (void)state;
    char expected[TNR_ERROR_TEXT_BYTES];
    snprintf(expected, sizeof expected, "%s %d %d %lld %lld %llu %llu %%", "s", 0, INT32_MIN, 0LL, TNRI_LL(INT64_MIN),
             TNRI_LLU(UINT64_MAX), 10ULL);
    (void)tnri_fail(TNR_ERR_IO, "%s %d %d %lld %lld %llu %llu %%", "s", 0, INT32_MIN, 0LL, TNRI_LL(INT64_MIN),
                    TNRI_LLU(UINT64_MAX), 10ULL);
    assert_string_equal(tnr_last_error(), expected);
}

static void *other_thread(void *seen)
{
    *(int *)seen = tnr_last_error()[0] == '\0';
    (void)tnr_set_error(TNR_ERR_BUSY, "of the other thread");
    return NULL;
}

static void every_thread_has_its_own_text(void **state)
{
    (void)state;
    int began_empty = 0;
    pthread_t thread;
    (void)tnr_set_error(TNR_ERR_IO, "of this thread");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &began_empty), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(began_empty);
    assert_string_equal(tnr_last_error(), "of this thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_texts_come_from_the_list),
        cmocka_unit_test(the_table_in_the_docs_is_the_list),
        cmocka_unit_test(a_recorded_text_is_kept_and_cut),
        cmocka_unit_test(numbers_are_written_as_printf_writes_them),
        cmocka_unit_test(every_thread_has_its_own_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
