/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of wire headers, written a second time: tests change bytes and make the sum right again. */
#ifndef TENURE_TESTS_SUPPORT_WIRE_SEAL_H
#define TENURE_TESTS_SUPPORT_WIRE_SEAL_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t wire_word(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;
    for (size_t byte = count; byte-- > 0;) {
        word = word << 8 | bytes[byte];
    }
    return word;
}

static inline void wire_word_set(unsigned char *bytes, size_t count, uint64_t word)
{
    for (size_t byte = 0; byte < count; byte++) {
        bytes[byte] = (unsigned char)(word & 0xFF);
        word >>= 8;
    }
}

/* `length` is a multiple of 8: the header's, its sum included. */
static inline void wire_seal(unsigned char *bytes, size_t length)
{
    uint64_t sums[2] = {UINT64_C(0x9E3779B97F4A7C15), UINT64_C(0xC2B2AE3D27D4EB4F)};
    for (size_t at = 0; at < length; at += 8) {
        const size_t last = at + 8 == length; /* the place of the sum: the odd words' chain goes into the even words' */
        uint64_t *sum = &sums[last ? 0 : at / 8 % 2];
        *sum ^= last ? sums[1] : wire_word(bytes + at, 8);
        *sum *= UINT64_C(0xD6E8FEB86659FD93);
        *sum ^= *sum >> 32;
    }
    wire_word_set(bytes + length - 8, 8, sums[0]);
}

#endif /* TENURE_TESTS_SUPPORT_WIRE_SEAL_H */
