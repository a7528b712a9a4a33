/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's own plain atomics, for tests that name the header. */
#ifndef TENURE_TESTS_BOARD_STDATOMIC_H
#define TENURE_TESTS_BOARD_STDATOMIC_H

#include "arena/atomics.h"

#define _Atomic /* NOLINT: there is one thread */
#define atomic_load(object) (*(object))
#define atomic_store(object, value) ((void)(*(object) = (value)))
#define atomic_fetch_add(object, value) BOARD_CHANGE(object, *board_object + (value))
#define atomic_fetch_sub(object, value) BOARD_CHANGE(object, *board_object - (value))
#define BOARD_CHANGE(object, after)                             \
    __extension__({                                             \
        __auto_type board_object = (object);                    \
        const __typeof__(*board_object) before = *board_object; \
        *board_object = (after);                                \
        before;                                                 \
    })

#endif /* TENURE_TESTS_BOARD_STDATOMIC_H */
