/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that a program opens, and whose destructor calls the program back: at exit, after all handlers of atexit. */
#include <stddef.h>

static void (*at_end)(void);

__attribute__((visibility("default"))) void late_library_at_end(void (*run)(void));

void late_library_at_end(void (*run)(void)) { at_end = run; }

__attribute__((destructor)) static void end(void)
{
    if (at_end != NULL) {
        at_end();
    }
}
