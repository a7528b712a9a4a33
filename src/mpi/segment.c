/* SPDX-License-Identifier: BSD-3-Clause */
/* New POSIX shared memory with a name that nobody else has: of the process, the time, and a number. Its size is the caller's affair. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "near_internal.h"

enum { TRIES = 16 };

int tnri_segment_create(tnri_segment_name name, const char *kind)
{
    for (int try = 0; try < TRIES; try++) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        (void)snprintf(name, sizeof(tnri_segment_name), "/tenure-%s%ld-%lx-%d", kind, (long)getpid(),
                       (unsigned long)now.tv_sec * 1000000000UL + (unsigned long)now.tv_nsec, try);
        const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
        if (file >= 0) {
            return file;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    name[0] = '\0';
    return -1;
}
