/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Products by BLIS's kernels for other processors, as its BLIS_ARCH_TYPE asks for: right, or refused because their tiles do not fit ours. In
 * children, for BLIS is asked once per process.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "engine/product_internal.h"
#include "support/matrix.h"

enum { RIGHT = 10, REFUSED, WRONG, ENDED };

static int try_context(const char *name)
{
    tnr_engine_options options = TNR_ENGINE_OPTIONS;
    options.products = TNR_PRODUCTS_BLIS;
    if (setenv("BLIS_ARCH_TYPE", name, 1) != 0 || tnr_heap_create(&heap) != TNR_OK) {
        return WRONG;
    }
    const tnr_status made = tnr_engine_create(heap, &options, &engine);
    if (made != TNR_OK) {
        return made == TNR_ERR_UNSUPPORTED && strstr(tnr_last_error(), "BLIS") != NULL ? REFUSED : WRONG;
    }
    for (int64_t n = 47; n < 320; n += 53) {
        if (!product_of_ones(n)) {
            return WRONG;
        }
    }
    return RIGHT;
}

static int answer_of(const char *name)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        (void)signal(SIGILL, SIG_DFL); /* not the test's own handler */
        (void)signal(SIGABRT, SIG_DFL);
        _exit(try_context(name));
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status) &&
        WTERMSIG(status) == SIGABRT) { /* BLIS ends programs that ask for what it was built without */
        return ENDED;
    }
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void other_contexts_are_right_or_refused(void **state)
{
    (void)state;
    static const char *const words[] = {
        [RIGHT] = "right", [REFUSED] = "refused", [WRONG] = "wrong", [ENDED] = "not on this machine"};
    tnr_feature_set features;
    tnr_features(&features);
    if (strcmp(features.blis, "off") == 0) {
        assert_int_equal(answer_of("0"), REFUSED);
        return;
    }
    int used = 0;
    for (char name[] = "0"; name[0] <= '9'; ++name[0]) { /* which is which differs from version to version */
        const int answer = answer_of(name);
        print_message("%s: %s\n", name, words[answer]);
        assert_int_not_equal(answer, WRONG);
        used += answer == RIGHT;
    }
    assert_true(used > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_contexts_are_right_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
