/* SPDX-License-Identifier: BSD-3-Clause */
/* Umpire as a peer, by its C interface (libumpire's umpire_* symbols; its allocators are two words: an address, a number). */
#ifndef TENURE_TESTS_BENCH_UMPIRE_H
#define TENURE_TESTS_BENCH_UMPIRE_H

#include <stdbool.h>
#include <stddef.h>

/* Load the library that UMPIRE_LIB names and make a pool over its host memory. False, and a note, when that cannot be. */
bool bench_umpire_start(const char *suite);

void *bench_umpire_take(size_t bytes);
void bench_umpire_give(void *address);

#endif /* TENURE_TESTS_BENCH_UMPIRE_H */
