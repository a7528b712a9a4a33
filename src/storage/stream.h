/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores that go past the caches, in whole cache lines, and a hint to fetch: the few things that plain C cannot say. By the
 * widest registers of the instruction set that a file is compiled for; where it has no such stores, they are ordinary ones.
 *
 * They are not ordered with other stores: whoever asked for them ends with tnri_stream_fence.
 */
#ifndef TENURE_STORAGE_STREAM_H
#define TENURE_STORAGE_STREAM_H

#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Towards the second-level cache: the first one is small, and rows at power-of-two distances share its places. */
#define TNRI_FETCH(address) __builtin_prefetch((const void *)(uintptr_t)(address), 0, 2)

/* Sixty-four bytes from anywhere to a multiple of 64. */
#if defined(__AVX512F__)
static inline void tnri_stream_line(char *target, const char *source)
{
    _mm512_stream_si512((__m512i *)(void *)target, _mm512_loadu_si512((const void *)source));
}
#elif defined(__AVX__)
static inline void tnri_stream_line(char *target, const char *source)
{
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)source);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(source + 32));
    _mm256_stream_si256((__m256i *)(void *)target, low);
    _mm256_stream_si256((__m256i *)(void *)(target + 32), high);
}
#elif defined(__SSE2__)
static inline void tnri_stream_line(char *target, const char *source)
{
    const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)source);
    const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(source + 16));
    const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(source + 32));
    const __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(source + 48));
    _mm_stream_si128((__m128i *)(void *)target, a);
    _mm_stream_si128((__m128i *)(void *)(target + 16), b);
    _mm_stream_si128((__m128i *)(void *)(target + 32), c);
    _mm_stream_si128((__m128i *)(void *)(target + 48), d);
}
#else
static inline void tnri_stream_line(char *target, const char *source) { __builtin_memcpy(target, source, 64); }
#endif

/*
 * Two lines at once, to a multiple of 64. What is computed into a local block and given to this stays in registers: both
 * sides have the same vectors.
 */
#define TNRI_STREAM_BYTES 128

static inline void tnri_stream_block(void *target, const void *block)
{
    tnri_stream_line(target, block);
    tnri_stream_line((char *)target + 64, (const char *)block + 64);
}

#if defined(__SSE2__)
static inline void tnri_stream_fence(void) { _mm_sfence(); }
#else
static inline void tnri_stream_fence(void) {}
#endif

#endif /* TENURE_STORAGE_STREAM_H */
