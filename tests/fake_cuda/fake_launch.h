/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels by name, between what the host's compiler made of them (C++) and the fake driver (C). */
#ifndef TENURE_TESTS_FAKE_LAUNCH_H
#define TENURE_TESTS_FAKE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_PARAMETERS = 8, FAKE_THREADS = 256 };

typedef struct fake_kernel {
    const char *name;
    int parameters;
    size_t bytes[FAKE_PARAMETERS];
    bool address[FAKE_PARAMETERS]; /* this parameter is one of the device's */
    void (*call)(void *const *values);
    bool once; /* no kernel: called once */
    struct fake_kernel *next;
} fake_kernel;

/* When the fake is loaded. */
void fake_kernel_add(fake_kernel *kernel);
const fake_kernel *fake_kernel_find(const char *name);

/* One launch, now: so many blocks of 256 threads. */
void fake_device_run(const fake_kernel *kernel, unsigned blocks, void *const *values);

/* Given by the driver: where bytes are, looks at random, faults of kernels. */
char *fake_device_bytes(uint64_t address, size_t bytes, size_t alignment);
uint64_t fake_device_random(void);
/* Mistakes that tests plant. */
bool fake_device_has_barriers(void);
uint64_t fake_device_first_block(void);
bool fake_device_loses_a_thread(void);
void fake_device_blame(const char *what);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_TESTS_FAKE_LAUNCH_H */
