/* SPDX-License-Identifier: BSD-3-Clause */
/* A group whose tests pass and whose teardown fails, of which cmocka's answer tells nothing: the test that runs it must fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void passes(void **state) { (void)state; }

static int fails(void **state)
{
    (void)state;
    return -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes)};
    return cmocka_run_group_tests(tests, NULL, fails);
}
