/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A domain that plays a device's memory: the addresses of its blocks are mapped without any right, so that whoever touches them from
 * the host ends by a signal; its read and write copy through a second mapping of the same pages, count, check what they are asked for,
 * and fail on order. An MPI that says it takes device memory (query.h) gets the second mapping's addresses: expose and conceal count,
 * check, and fail on order too.
 */
#ifndef TENURE_TESTS_MPI_DEVICE_H
#define TENURE_TESTS_MPI_DEVICE_H

#include "layouts.h"

enum { DEVICE_BLOCKS = 256 };

typedef struct device_block {
    uint64_t begin;
    uint64_t bytes; /* 0: free */
} device_block;

typedef struct device {
    tnr_domain *domain;
    char *forbidden; /* what blocks say */
    char *pages;     /* where it really is */
    uint64_t room;
    uint64_t capacity; /* bytes that may be out; may be changed */
    uint64_t out;
    device_block blocks[DEVICE_BLOCKS];
    int64_t reads;
    int64_t writes;
    int64_t fail_read;   /* so many reads from now on: that one fails; 0: none */
    int64_t fail_write;  /* likewise */
    int64_t fail_expose; /* likewise */
    int64_t failed;      /* that did */
    int64_t exposures;
    int64_t exposed; /* now */
} device;

void device_make(device *of, tnr_domain *home);
/* Nothing of it is out. */
void device_end(device *of);

/* Bytes of a tensor of the device, by the back door. */
char *device_bytes(const device *of, const tnr_tensor *tensor);
/* A window of the same layout on a tensor of the same bytes, in the device (or a pool over it: `domain`). */
void device_twin(const device *of, tnr_domain *domain, const layout_piece *host, layout_piece *away);
/* All bytes of the owner of one are those of the other. */
bool device_same(const device *of, const layout_piece *away, const layout_piece *host);
/* A copy in host memory, by the back door. */
void device_download(const device *of, const tnr_tensor *tensor, tnr_domain *heap, tnr_tensor **host);

#endif /* TENURE_TESTS_MPI_DEVICE_H */
