/* SPDX-License-Identifier: BSD-3-Clause */
/* Truth values as vectors of all ones and all zeros, where the instruction set has no mask registers. */
LANES_INLINE where_f32 everywhere_f32(void) { return ~(where_f32){0}; }
LANES_INLINE where_f64 everywhere_f64(void) { return ~(where_f64){0}; }
LANES_INLINE where_f32 at_most_f32(lanes_f32 a, lanes_f32 b) { return a <= b; }
LANES_INLINE where_f64 at_most_f64(lanes_f64 a, lanes_f64 b) { return a <= b; }
LANES_INLINE where_f32 under_f32(bits_f32 a, bits_f32 b) { return (where_f32)a < (where_f32)b; }
LANES_INLINE where_f64 under_f64(bits_f64 a, bits_f64 b) { return (where_f64)a < (where_f64)b; }
LANES_INLINE where_f32 both_f32(where_f32 p, where_f32 q) { return p & q; }
LANES_INLINE where_f64 both_f64(where_f64 p, where_f64 q) { return p & q; }
LANES_INLINE bool holds_f32(where_f32 p, int i) { return p[i] != 0; }
LANES_INLINE bool holds_f64(where_f64 p, int i) { return p[i] != 0; }
