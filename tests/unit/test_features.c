/* SPDX-License-Identifier: BSD-3-Clause */
/* The feature report and the run-time check of hwloc's version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arena/features_internal.h"
#include "tenure/tenure.h"

static void features_are_filled(void **state)
{
    tnr_feature_set features;
    (void)state;
    memset(&features, 0xA5, sizeof features);
    tnr_features(&features);
    assert_string_equal(features.version, TNR_VERSION_STRING);
    assert_int_equal(features.max_rank, TNR_MAX_RANK);
    assert_int_not_equal((int)features.bounded, (int)features.threads);
    const char *const words[] = {features.hwloc, features.blis,     features.mpi,
                                 features.cuda,  features.sanitize, features.vector_math};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_non_null(words[i]);
        assert_true(words[i][0] != '\0');
    }
#ifdef NDEBUG
    assert_false(features.debug);
#else
    assert_true(features.debug);
#endif
    for (size_t i = 0; i < sizeof features.reserved / sizeof features.reserved[0]; i++) {
        assert_null(features.reserved[i]);
    }
    tnr_features(NULL); /* never fails */
}

static void version_macros_agree(void **state)
{
    (void)state;
    unsigned numbers[3] = {0};
    size_t part = 0;
    for (const char *c = TNR_VERSION_STRING; *c != '\0'; c++) {
        if (*c == '.') {
            part++;
            assert_true(part < 3);
        } else {
            numbers[part] = numbers[part] * 10U + (unsigned)(*c - '0');
        }
    }
    assert_int_equal(numbers[0], TNR_VERSION_MAJOR);
    assert_int_equal(numbers[1], TNR_VERSION_MINOR);
    assert_int_equal(numbers[2], TNR_VERSION_PATCH);
}

static void check_accepts_what_runs(void **state)
{
    (void)state;
    assert_int_equal(tnr_check_build(), TNR_OK);
}

static void check_refuses_other_headers(void **state)
{
    (void)state;
    tnr_build build = tnr_build_of_headers();
    assert_int_equal(tnr_features_check(NULL), TNR_ERR_ARGUMENT);
    build.max_rank++;
    assert_int_equal(tnr_features_check(&build), TNR_ERR_ARGUMENT);
    assert_non_null(strstr(tnr_last_error(), "TNR_MAX_RANK"));
    build = tnr_build_of_headers();
    build.version_minor++;
    assert_int_equal(tnr_features_check(&build), TNR_ERR_ARGUMENT);
    build = tnr_build_of_headers();
    build.size += 8;
    assert_int_equal(tnr_features_check(&build), TNR_ERR_ARGUMENT);
    size_t *const sizes[] = {&build.view_bytes, &build.exported_bytes, &build.ledger_bytes, &build.descriptor_bytes};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        build = tnr_build_of_headers();
        *sizes[i] -= 8;
        assert_int_equal(tnr_features_check(&build), TNR_ERR_ARGUMENT);
    }
}

/* BI-02: headers of one hwloc and the library of another. */
static void bi_02_hwloc_major_must_match(void **state)
{
    (void)state;
    assert_int_equal(tnri_hwloc_version_check(0x00020900U, 0x00020900U), TNR_OK);
    assert_int_equal(tnri_hwloc_version_check(0x00020000U, 0x00020b00U), TNR_OK);
    assert_int_equal(tnri_hwloc_version_check(0x00020900U, 0x00010b06U), TNR_ERR_BACKEND);
    assert_non_null(strstr(tnr_last_error(), "hwloc"));
    assert_int_equal(tnri_hwloc_version_check(0x00020900U, 0x00030000U), TNR_ERR_BACKEND);
    assert_int_equal(tnri_hwloc_version_check(0x00030000U, 0x00020900U), TNR_ERR_BACKEND);
    assert_int_equal(tnri_hwloc_version_check(0x00020900U, 0U), TNR_ERR_BACKEND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_filled),          cmocka_unit_test(version_macros_agree),
        cmocka_unit_test(check_accepts_what_runs),      cmocka_unit_test(check_refuses_other_headers),
        cmocka_unit_test(bi_02_hwloc_major_must_match),
    };
    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
