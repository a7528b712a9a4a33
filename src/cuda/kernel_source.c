/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels' text.
 *
 * Packing: neighbouring threads take neighbouring elements of the target, in the order of its memory (the launch sorts the axes),
 * so that writes are whole lines whatever the source's layout is. Elements of 16 bytes are aligned to 8 only.
 */
#include "kernels_internal.h"

const char tnri_kernel_source[] =
    "struct layout {\n"
    "    long long count;\n"
    "    long long rank;\n"
    "    long long shape[64];\n"
    "    long long target[64];\n"
    "    long long source[64];\n"
    "};\n"
    "struct sixteen {\n"
    "    unsigned long long low;\n"
    "    unsigned long long high;\n"
    "};\n"
    "template <typename T> __device__ void pack(const layout &l, char *target, const char *source)\n"
    "{\n"
    "    const long long step = (long long)gridDim.x * blockDim.x;\n"
    "    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < l.count; at += step) {\n"
    "        long long rest = at;\n"
    "        long long to = 0;\n"
    "        long long from = 0;\n"
    "        for (int axis = 0; axis < (int)l.rank; axis++) {\n"
    "            const long long extent = l.shape[axis];\n"
    "            const long long index = rest % extent;\n"
    "            rest /= extent;\n"
    "            to += index * l.target[axis];\n"
    "            from += index * l.source[axis];\n"
    "        }\n"
    "        *(T *)(target + to) = *(const T *)(source + from);\n"
    "    }\n"
    "}\n"
    "#define PACK(bytes, type) \\\n"
    "    extern \"C\" __global__ void tnri_pack_##bytes(const __grid_constant__ layout l, char *target, const char "
    "*source) \\\n"
    "    { \\\n"
    "        pack<type>(l, target, source); \\\n"
    "    }\n"
    "PACK(1, unsigned char)\n"
    "PACK(4, unsigned int)\n"
    "PACK(8, unsigned long long)\n"
    "PACK(16, sixteen)\n";
