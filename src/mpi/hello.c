/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank says of its library before anything else, so that ranks of different builds part at once, knowing why. */
#include "mpi_internal.h"

/* What every version of the library compares first, in this order and number, for ever. */
const char tnri_hello_names[] = "the form of the hello,the version of tenure,the byte order,the highest rank of a "
                                "tensor,the table of dtypes,the version of the wire,reserved";

void tnri_hello_fill(uint64_t *words)
{
    const uint32_t probe = 1;
    unsigned char first;
    memcpy(&first, &probe, 1);
    uint64_t dtypes = 0;
    for (int dtype = TNR_DTYPE_NONE + 1; dtype < TNR_DTYPE_END; dtype++) {
        dtypes = dtypes * 31U + (uint64_t)dtype * 17U + tnr_dtype_size((tnr_dtype)dtype);
    }
    words[0] = 1;
    words[1] = TNR_VERSION_MAJOR * 1000000U + TNR_VERSION_MINOR * 1000U + TNR_VERSION_PATCH;
    words[2] = first == 1 ? 1 : 2; /* little, big */
    words[3] = TNR_MAX_RANK;
    words[4] = dtypes;
    words[5] = TNRI_WIRE_VERSION;
    words[6] = 0;
}
