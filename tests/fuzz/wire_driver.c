/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_wire [EXECUTIONS]: the fuzz target without libFuzzer: good headers, changed at random, a million times or as many as are
 * asked for. Prints its seed, and takes TENURE_TEST_SEED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../src/mpi/mpi_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern unsigned long long fuzz_accepted;

enum { MOST_BYTES = 1 + TNRI_WIRE_MOST_BYTES + 256 };

static uint64_t state;

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545F4914F6CDD1D);
}

/* Numbers at which arithmetic goes wrong. */
static uint64_t odd_number(void)
{
    const uint64_t power = UINT64_C(1) << random64() % 64;
    switch (random64() % 4) {
    case 0:
        return power - 1;
    case 1:
        return power;
    case 2:
        return power + 1;
    default:
        return random64() % 9;
    }
}

/* A good header, or nearly. */
static size_t begin(uint8_t *bytes)
{
    tnri_header header;
    memset(&header, 0, sizeof(header));
    header.dtype = TNR_DTYPE_NONE + 1 + (uint32_t)(random64() % (TNR_DTYPE_END - TNR_DTYPE_NONE - 1));
    header.rank = (uint32_t)(random64() % (TNR_MAX_RANK + 1));
    header.epoch = 1;
    header.count = 1;
    header.chunk = 1 + random64() % TNRI_CHUNK_MOST;
    for (uint32_t axis = 0; axis < header.rank; axis++) {
        header.shape[axis] = (int64_t)(random64() % 8 == 0 ? odd_number() : random64() % 4);
        header.count *= (uint64_t)header.shape[axis];
    }
    header.bytes = header.count * tnr_dtype_size((tnr_dtype)header.dtype);
    const bool eager = header.bytes <= 256 && random64() % 2 == 0;
    header.flags = eager ? TNRI_WIRE_EAGER : 0;
    bytes[0] = (uint8_t)random64();
    return 1 + tnri_wire_encode(&header, bytes + 1) + (eager ? (size_t)header.bytes : 0);
}

static size_t change(uint8_t *bytes, size_t size)
{
    const size_t at = random64() % size;
    switch (random64() % 6) {
    case 0:
        bytes[at] ^= (uint8_t)(1U << random64() % 8);
        break;
    case 1:
        bytes[at] = (uint8_t)random64();
        break;
    case 2:
        size = random64() % 8 == 0 ? random64() % MOST_BYTES : size;
        break;
    case 3:
        bytes[0] = (uint8_t)random64();
        break;
    default:
        if (size > 1 + 8) { /* one field */
            const uint64_t value = random64() % 2 == 0 ? odd_number() : random64();
            const size_t width = random64() % 2 == 0 ? 4 : 8;
            memcpy(bytes + 1 + random64() % ((size - 1) / width) * width, &value, width);
        }
        break;
    }
    return size != 0 ? size : 1;
}

int main(int argc, char **argv)
{
    const unsigned long long executions = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    const char *given = getenv("TENURE_TEST_SEED");
    const unsigned long long seed = given != NULL ? strtoull(given, NULL, 0) : (unsigned long long)time(NULL);
    printf("TENURE_TEST_SEED=%llu\n", seed);
    (void)fflush(stdout);
    state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1U;
    static uint8_t bytes[MOST_BYTES];
    size_t size = 0;
    for (unsigned long long done = 0; done < executions; done++) {
        if (done % 8 == 0) {
            size = begin(bytes);
        }
        (void)LLVMFuzzerTestOneInput(bytes, size);
        size = change(bytes, size);
    }
    printf("%llu executions, %llu headers accepted\n", executions, fuzz_accepted);
    /* both answers must come often, or this tries less than it says */
    const bool tried = fuzz_accepted > executions / 100 && fuzz_accepted < executions - executions / 10;
    return tried || executions < 1000 ? 0 : 1;
}
