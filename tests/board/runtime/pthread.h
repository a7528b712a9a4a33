/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests that start a thread where a board has none: what it would do is done at once. */
#ifndef TENURE_TESTS_BOARD_PTHREAD_H
#define TENURE_TESTS_BOARD_PTHREAD_H

#include <stddef.h>
#include <sys/types.h> /* has another type of that name */

struct board_thread {
    void *result;
};
#define pthread_t struct board_thread

static inline int pthread_create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument)
{
    (void)attributes;
    thread->result = start(argument);
    return 0;
}

static inline int pthread_join(pthread_t thread, void **result)
{
    if (result != NULL) {
        *result = thread.result;
    }
    return 0;
}

#endif /* TENURE_TESTS_BOARD_PTHREAD_H */
