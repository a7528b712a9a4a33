/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One compact run of an output: to[i] = VALUE(i) from `i` on, past the caches when `stream`. OUT is the type of an element.
 * The loops are for the compiler to make vector code of. HOW is
 *
 *   PLAIN    all up to `count`
 *   STREAMS  the same, and takes the hint to stream
 *   NARROW   for outputs of a byte each: whole blocks only, for the ways to end a loop over such wide vectors would take more
 *            room than everything else; the caller walks the rest element by element
 *
 * VALUE is undefined afterwards.
 */
#if HOW == STREAMS
if (stream) {
    enum { BLOCK = TNRI_STREAM_BYTES / sizeof(OUT) };
    for (; count - i >= BLOCK; i += BLOCK) {
        _Alignas(64) OUT block[BLOCK];
        for (int64_t k = 0; k < BLOCK; ++k) {
            block[k] = VALUE(i + k);
        }
        tnri_stream_block(to + i, block);
    }
}
#endif
#if HOW == NARROW
for (; count - i >= NARROW_BLOCK; i += NARROW_BLOCK) {
    TNRI_INDEPENDENT
    for (int64_t k = i; k < i + NARROW_BLOCK; ++k) {
        to[k] = VALUE(k);
    }
}
#else
TNRI_INDEPENDENT
for (; i < count; ++i) {
    to[i] = VALUE(i);
}
#endif
#undef VALUE
