/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores past the caches, for kernel files: by the widest registers of the instruction set that the file is compiled for.
 * They are not ordered with other stores: whoever asked for them ends with TNRI_STREAM_FENCE.
 */
#ifndef TENURE_ENGINE_STREAM_H
#define TENURE_ENGINE_STREAM_H

/* Ways of a run (run.tmpl.h). */
#define PLAIN 1
#define STREAMS 2
#define NARROW 3
#define NARROW_BLOCK 32

#include <stdint.h>
#include <string.h>

#define TNRI_STREAM_BYTES 128 /* of one block, which begins on a cache line */

/*
 * Copy a block past the caches. What is computed into a local block and given to this stays in registers: both sides have the
 * same vectors.
 */
#if defined(__x86_64__)
#include <immintrin.h>
static inline void tnri_stream_block(void *to, const void *block)
{
    char *target = to;
    const char *source = block;
#if defined(__AVX512F__)
    for (int i = 0; i < TNRI_STREAM_BYTES; i += 64) {
        _mm512_stream_si512((__m512i *)(void *)(target + i), _mm512_load_si512((const void *)(source + i)));
    }
#elif defined(__AVX__)
    for (int i = 0; i < TNRI_STREAM_BYTES; i += 32) {
        _mm256_stream_si256((__m256i *)(void *)(target + i),
                            _mm256_load_si256((const __m256i *)(const void *)(source + i)));
    }
#else
    for (int i = 0; i < TNRI_STREAM_BYTES; i += 16) {
        _mm_stream_si128((__m128i *)(void *)(target + i), _mm_load_si128((const __m128i *)(const void *)(source + i)));
    }
#endif
}
#define TNRI_STREAM_FENCE() _mm_sfence()
#else /* no such stores that C reaches: plain ones */
static inline void tnri_stream_block(void *to, const void *block) { memcpy(to, block, TNRI_STREAM_BYTES); }
#define TNRI_STREAM_FENCE() ((void)0)
#endif

#endif /* TENURE_ENGINE_STREAM_H */
