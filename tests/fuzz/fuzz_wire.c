/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostile wire headers. The entry that libFuzzer calls (TENURE_FUZZ=ON, Clang); wire_driver.c calls it without.
 *
 * The first byte says how much is put right before the rest is decoded, so that mutations reach the checks behind the
 * checksum: 1 magic and version, 2 lengths, 4 element count and bytes, 8 what the receiver expects, 16 the checksum. Whatever comes:
 * no step outside the bytes, nothing written on refusal, a text that says why; and what is accepted agrees with itself,
 * encodes to the same bytes, and may be allocated for.
 */
#include <stdlib.h>

#include "../../src/mpi/mpi_internal.h"
#include "support/wire_seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many were accepted: a driver whose mutations all stop at the first check proves little. */
extern unsigned long long fuzz_accepted;
unsigned long long fuzz_accepted;

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void put_right(unsigned how, unsigned char *bytes, size_t length, tnri_wire_limits *limits)
{
    if (length < TNRI_WIRE_FIXED_BYTES) {
        return;
    }
    if ((how & 1U) != 0) {
        wire_word_set(bytes, 4, TNRI_WIRE_MAGIC);
        wire_word_set(bytes + 4, 4, TNRI_WIRE_VERSION);
    }
    uint64_t rank = wire_word(bytes + 12, 4);
    if ((how & 2U) != 0) {
        rank = rank % (TNR_MAX_RANK + 1);
        rank = TNRI_WIRE_BYTES(rank) > length ? (length - TNRI_WIRE_FIXED_BYTES) / 8 : rank;
        wire_word_set(bytes + 12, 4, rank);
        wire_word_set(bytes + 80, 8, TNRI_WIRE_BYTES(rank));
    }
    if (rank > TNR_MAX_RANK || TNRI_WIRE_BYTES(rank) > length) {
        return;
    }
    if ((how & 4U) != 0) {
        const uint64_t dtype = wire_word(bytes + 8, 4) % (TNR_DTYPE_END + 1);
        uint64_t count = 1;
        for (size_t axis = 0; axis < rank; axis++) {
            const uint64_t extent = wire_word(bytes + 88 + 8 * axis, 8);
            count *= extent; /* wraps, as a careless sender's would */
        }
        wire_word_set(bytes + 8, 4, dtype);
        wire_word_set(bytes + 16, 4, wire_word(bytes + 16, 4) & 3U);
        wire_word_set(bytes + 40, 8, count);
        wire_word_set(bytes + 48, 8, count * tnr_dtype_size((tnr_dtype)dtype));
        wire_word_set(bytes + 56, 8, wire_word(bytes + 56, 8) % (TNRI_CHUNK_MOST + 2));
    }
    if ((how & 8U) != 0) {
        limits->epoch = (uint32_t)wire_word(bytes + 20, 4);
        limits->source = (uint32_t)wire_word(bytes + 28, 4);
        limits->channel = (uint32_t)wire_word(bytes + 32, 4);
    }
    if ((how & 16U) != 0) {
        wire_seal(bytes, TNRI_WIRE_BYTES(rank));
    }
}

static void check_accepted(const tnri_header *header, const unsigned char *bytes, size_t length,
                           const tnri_wire_limits *limits)
{
    require(header->dtype > TNR_DTYPE_NONE && header->dtype < TNR_DTYPE_END && header->rank <= TNR_MAX_RANK);
    require(header->epoch == limits->epoch && header->source == limits->source && header->channel == limits->channel);
    require(header->bytes <= limits->most_bytes && header->chunk >= 1 && header->chunk <= TNRI_CHUNK_MOST);
    int64_t count = -1;
    uint64_t payload = 0;
    require(tnr_provider.shape_bytes("fuzz", (tnr_dtype)header->dtype, (int)header->rank, header->shape, &count,
                                     &payload) == TNR_OK);
    require((uint64_t)count == header->count && payload == header->bytes);
    unsigned char again[TNRI_WIRE_MOST_BYTES];
    const uint32_t own = tnri_wire_encode(header, again);
    require(own <= length && memcmp(again, bytes, own) == 0);
    require(length - own == ((header->flags & TNRI_WIRE_EAGER) != 0 ? header->bytes : 0));
    fuzz_accepted++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const size_t length = size - 1;
    unsigned char *bytes = malloc(length != 0 ? length : 1); /* exactly as long: sanitizers see a step outside */
    if (bytes == NULL) {
        return 0;
    }
    memcpy(bytes, data + 1, length);
    tnri_wire_limits limits = {1, 0, 0, (data[0] & 32U) != 0 ? UINT64_MAX : UINT64_C(1) << 30U};
    put_right(data[0], bytes, length, &limits);
    tnri_header header;
    memset(&header, 0x5A, sizeof(header));
    const tnri_header before = header;
    const tnr_status status = tnri_wire_decode("fuzz", bytes, length, &limits, &header);
    if (status == TNR_OK) {
        check_accepted(&header, bytes, length, &limits);
    } else {
        require(status == TNR_ERR_MPI || status == TNR_ERR_MEMORY);
        require(memcmp(&header, &before, sizeof(header)) == 0);
        require(strncmp(tnr_last_error(), "fuzz: ", 6) == 0);
    }
    free(bytes);
    return 0;
}
