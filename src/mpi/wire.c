/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers of transfers as bytes: little-endian fields at fixed places, the shape, a checksum. Pure; no MPI, no allocation.
 *
 *   0 magic | 4 version | 8 dtype | 12 rank | 16 flags | 20 epoch | 24 number | 28 source | 32 channel | 36 ack | 40 count |
 *   48 bytes | 56 chunk | 64 domain | 72 allocation | 80 length of the header | 84 zero | 88 extents | checksum
 *
 * The decoder takes any bytes: it looks at nothing outside them, and a header that it accepts agrees with itself and with what the
 * receiver expects, so that what follows may trust every field but `domain` and `allocation`, which only inform. The
 * checksum finds damage and foreign messages; it is no defence against someone who means harm, the other checks are.
 */
#include "mpi_internal.h"

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_DTYPE = 8,
    AT_RANK = 12,
    AT_FLAGS = 16,
    AT_EPOCH = 20,
    AT_NUMBER = 24,
    AT_SOURCE = 28,
    AT_CHANNEL = 32,
    AT_ACK = 36,
    AT_COUNT = 40,
    AT_BYTES = 48,
    AT_CHUNK = 56,
    AT_DOMAIN = 64,
    AT_ALLOCATION = 72,
    AT_LENGTH = 80,
    AT_ZERO = 84,
    AT_SHAPE = 88
};
_Static_assert(AT_SHAPE + 8 == TNRI_WIRE_FIXED_BYTES, "the fields and the checksum");

/* Compilers make one store or load of these where bytes lie that way round. */
static void put_u32(unsigned char *to, uint32_t value)
{
    for (unsigned byte = 0; byte < 4; byte++) {
        to[byte] = (unsigned char)(value >> (8U * byte) & 0xFFU);
    }
}

static void put_u64(unsigned char *to, uint64_t value)
{
    for (unsigned byte = 0; byte < 8; byte++) {
        to[byte] = (unsigned char)(value >> (8U * byte) & 0xFFU);
    }
}

static uint32_t get_u32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8U | (uint32_t)from[2] << 16U | (uint32_t)from[3] << 24U;
}

static uint64_t get_u64(const unsigned char *from)
{
    return (uint64_t)get_u32(from) | (uint64_t)get_u32(from + 4) << 32U;
}

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0xD6E8FEB86659FD93);
    return sum ^ sum >> 32U;
}

/*
 * Eight bytes at a time, in two chains that a processor runs side by side. Every step is one-to-one, so that one changed word always
 * changes the sum. `length` is a multiple of 8.
 */
static uint64_t checksum(const unsigned char *bytes, uint32_t length)
{
    uint64_t even = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t odd = UINT64_C(0xC2B2AE3D27D4EB4F);
    uint32_t at = 0;
    for (; at + 16 <= length; at += 16) {
        even = mix(even, get_u64(bytes + at));
        odd = mix(odd, get_u64(bytes + at + 8));
    }
    if (at < length) {
        even = mix(even, get_u64(bytes + at));
    }
    return mix(even, odd);
}

uint32_t tnri_wire_encode(const tnri_header *header, unsigned char *bytes)
{
    const uint32_t length = TNRI_WIRE_BYTES(header->rank);
    put_u32(bytes + AT_MAGIC, TNRI_WIRE_MAGIC);
    put_u32(bytes + AT_VERSION, TNRI_WIRE_VERSION);
    put_u32(bytes + AT_DTYPE, header->dtype);
    put_u32(bytes + AT_RANK, header->rank);
    put_u32(bytes + AT_FLAGS, header->flags);
    put_u32(bytes + AT_EPOCH, header->epoch);
    put_u32(bytes + AT_NUMBER, header->number);
    put_u32(bytes + AT_SOURCE, header->source);
    put_u32(bytes + AT_CHANNEL, header->channel);
    put_u32(bytes + AT_ACK, header->ack);
    put_u64(bytes + AT_COUNT, header->count);
    put_u64(bytes + AT_BYTES, header->bytes);
    put_u64(bytes + AT_CHUNK, header->chunk);
    put_u64(bytes + AT_DOMAIN, header->domain);
    put_u64(bytes + AT_ALLOCATION, header->allocation);
    put_u32(bytes + AT_LENGTH, length);
    put_u32(bytes + AT_ZERO, 0);
    for (uint32_t axis = 0; axis < header->rank; axis++) {
        put_u64(bytes + AT_SHAPE + 8U * axis, (uint64_t)header->shape[axis]);
    }
    put_u64(bytes + length - 8U, checksum(bytes, length - 8U));
    return length;
}

/* Elements of the shape, by the rules of layouts: nothing negative, empty when an extent is 0, else a product in 63 bits. */
static bool shape_count(const tnri_header *header, uint64_t *count)
{
    bool empty = false;
    uint64_t product = 1;
    bool fits = true;
    for (uint32_t axis = 0; axis < header->rank; axis++) {
        const int64_t extent = header->shape[axis];
        if (extent < 0) {
            return false;
        }
        empty = empty || extent == 0;
        fits = fits && tnri_mul_u64(product, (uint64_t)extent, &product) && product <= INT64_MAX;
    }
    *count = empty ? 0 : product;
    return empty || fits;
}

/* Is this a whole header of ours? *length of it. */
static tnr_status frame_check(const char *op, const unsigned char *bytes, uint64_t length, uint32_t *header_length)
{
    TNR_REQUIRE(length >= TNRI_WIRE_FIXED_BYTES, TNR_ERR_MPI, "%s: header of %llu bytes, at least %d expected", op,
                TNRI_LLU(length), (int)TNRI_WIRE_FIXED_BYTES);
    TNR_REQUIRE(get_u32(bytes + AT_MAGIC) == TNRI_WIRE_MAGIC, TNR_ERR_MPI, "%s: the message is none of tenure's", op);
    TNR_REQUIRE(get_u32(bytes + AT_VERSION) == TNRI_WIRE_VERSION, TNR_ERR_MPI,
                "%s: header of version %llu, %d expected", op, TNRI_LLU(get_u32(bytes + AT_VERSION)),
                (int)TNRI_WIRE_VERSION);
    const uint32_t rank = get_u32(bytes + AT_RANK);
    TNR_REQUIRE(rank <= TNR_MAX_RANK, TNR_ERR_MPI, "%s: header of a tensor of rank %llu, at most %d expected", op,
                TNRI_LLU(rank), TNR_MAX_RANK);
    const uint32_t own = TNRI_WIRE_BYTES(rank);
    TNR_REQUIRE(get_u32(bytes + AT_LENGTH) == own && get_u32(bytes + AT_ZERO) == 0 && length >= own, TNR_ERR_MPI,
                "%s: header says %llu bytes of the %llu that came, %llu expected", op,
                TNRI_LLU(get_u32(bytes + AT_LENGTH)), TNRI_LLU(length), TNRI_LLU(own));
    TNR_REQUIRE(get_u64(bytes + own - 8U) == checksum(bytes, own - 8U), TNR_ERR_MPI,
                "%s: header is damaged: its checksum is wrong", op);
    *header_length = own;
    return TNR_OK;
}

static void read_fields(const unsigned char *bytes, tnri_header *header)
{
    memset(header, 0, sizeof(*header));
    header->dtype = get_u32(bytes + AT_DTYPE);
    header->rank = get_u32(bytes + AT_RANK);
    header->flags = get_u32(bytes + AT_FLAGS);
    header->epoch = get_u32(bytes + AT_EPOCH);
    header->number = get_u32(bytes + AT_NUMBER);
    header->source = get_u32(bytes + AT_SOURCE);
    header->channel = get_u32(bytes + AT_CHANNEL);
    header->ack = get_u32(bytes + AT_ACK);
    header->count = get_u64(bytes + AT_COUNT);
    header->bytes = get_u64(bytes + AT_BYTES);
    header->chunk = get_u64(bytes + AT_CHUNK);
    header->domain = get_u64(bytes + AT_DOMAIN);
    header->allocation = get_u64(bytes + AT_ALLOCATION);
    for (uint32_t axis = 0; axis < header->rank; axis++) {
        header->shape[axis] = (int64_t)get_u64(bytes + AT_SHAPE + 8U * axis);
    }
}

/* Does it agree with itself? */
static tnr_status fields_check(const char *op, const tnri_header *header, uint64_t payload)
{
    TNR_REQUIRE(header->dtype > TNR_DTYPE_NONE && header->dtype < TNR_DTYPE_END, TNR_ERR_MPI,
                "%s: header with dtype %llu, which is none", op, TNRI_LLU(header->dtype));
    TNR_REQUIRE((header->flags & ~(uint32_t)(TNRI_WIRE_EAGER | TNRI_WIRE_SHARED)) == 0, TNR_ERR_MPI,
                "%s: header with flags %llu, which are not known", op, TNRI_LLU(header->flags));
    uint64_t count = 0;
    uint64_t bytes = 0;
    TNR_REQUIRE(shape_count(header, &count) && count == header->count, TNR_ERR_MPI,
                "%s: header with %llu elements, which its shape does not have", op, TNRI_LLU(header->count));
    TNR_REQUIRE(tnri_mul_u64(count, tnr_dtype_size((tnr_dtype)header->dtype), &bytes) && bytes <= INT64_MAX &&
                    bytes == header->bytes,
                TNR_ERR_MPI, "%s: header with %llu bytes for %llu elements of %s", op, TNRI_LLU(header->bytes),
                TNRI_LLU(count), tnr_dtype_name((tnr_dtype)header->dtype));
    TNR_REQUIRE(header->chunk >= 1 && header->chunk <= TNRI_CHUNK_MOST, TNR_ERR_MPI,
                "%s: header with messages of %llu bytes, 1 to %llu expected", op, TNRI_LLU(header->chunk),
                TNRI_LLU(TNRI_CHUNK_MOST));
    const bool eager = (header->flags & TNRI_WIRE_EAGER) != 0;
    TNR_REQUIRE(payload == (eager ? bytes : 0), TNR_ERR_MPI,
                "%s: %llu bytes behind the header, %llu expected: the message was cut or is not ours", op,
                TNRI_LLU(payload), TNRI_LLU(eager ? bytes : 0));
    return TNR_OK;
}

/* Is it what this receiver waits for? */
static tnr_status limits_check(const char *op, const tnri_header *header, const tnri_wire_limits *limits)
{
    TNR_REQUIRE(header->source == limits->source, TNR_ERR_MPI, "%s: header of rank %llu, of rank %llu expected", op,
                TNRI_LLU(header->source), TNRI_LLU(limits->source));
    TNR_REQUIRE(header->epoch == limits->epoch, TNR_ERR_MPI, "%s: header of world number %llu, %llu expected", op,
                TNRI_LLU(header->epoch), TNRI_LLU(limits->epoch));
    TNR_REQUIRE(header->channel == limits->channel, TNR_ERR_MPI, "%s: header on channel %llu, %llu expected", op,
                TNRI_LLU(header->channel), TNRI_LLU(limits->channel));
    TNR_REQUIRE(header->bytes <= limits->most_bytes, TNR_ERR_MEMORY,
                "%s: rank %llu sends %llu bytes; options.receive_max_bytes is %llu", op, TNRI_LLU(header->source),
                TNRI_LLU(header->bytes), TNRI_LLU(limits->most_bytes));
    return TNR_OK;
}

tnr_status tnri_wire_decode(const char *op, const unsigned char *bytes, uint64_t length, const tnri_wire_limits *limits,
                            tnri_header *header)
{
    uint32_t own = 0;
    TNR_TRY(frame_check(op, bytes, length, &own));
    tnri_header seen;
    read_fields(bytes, &seen);
    TNR_TRY(fields_check(op, &seen, length - own));
    TNR_TRY(limits_check(op, &seen, limits));
    *header = seen;
    return TNR_OK;
}

tnr_status tnri_wire_check(const char *op, const tnri_header *header, uint64_t payload, const tnri_wire_limits *limits)
{
    TNR_REQUIRE(header->rank <= TNR_MAX_RANK, TNR_ERR_MPI, "%s: header of a tensor of rank %llu, at most %d expected",
                op, TNRI_LLU(header->rank), TNR_MAX_RANK);
    TNR_TRY(fields_check(op, header, payload));
    return limits_check(op, header, limits);
}
