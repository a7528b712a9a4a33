/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of our own: CUDA C as text, compiled by NVRTC for the device at hand at first use. What is here is what a launch and
 * its kernel must agree on; the fake driver of the tests knows it too.
 */
#ifndef TENURE_CUDA_KERNELS_INTERNAL_H
#define TENURE_CUDA_KERNELS_INTERNAL_H

#include <stdint.h>

/* More than any tensor has, so that the kernel's text does not depend on TNR_MAX_RANK. */
#define TNRI_PACK_RANK 64

/*
 * tnri_pack_1, _4, _8, _16 (bytes of an element): (tnri_pack_layout layout, target address, source address). Steps in bytes, of the
 * target and of the source. Every element once; indices of 64 bits; any number of threads.
 */
typedef struct tnri_pack_layout {
    int64_t count;
    int64_t rank;
    int64_t shape[TNRI_PACK_RANK];
    int64_t target[TNRI_PACK_RANK];
    int64_t source[TNRI_PACK_RANK];
} tnri_pack_layout;

/* Text of all kernels. */
extern const char tnri_kernel_source[];

enum { TNRI_PACK_THREADS = 256, TNRI_PACK_MOST_BLOCKS = 65535, TNRI_IMAGE_MOST_BYTES = 1 << 20 };

#endif /* TENURE_CUDA_KERNELS_INTERNAL_H */
