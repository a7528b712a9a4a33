/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packed matrix product of one real or complex dtype (each_dtype.inl.h), in register tiles of MV vectors of rows by NR columns:
 * REAL_MV and REAL_NR, or COMPLEX_MV and COMPLEX_NR.
 *
 *   packed a: slices of MR rows; per k: MR values (complex: MR real parts, then MR imaginary parts)
 *   packed b: slices of NR columns; per k: NR values (complex: NR real parts, then NR imaginary parts)
 *
 * Conjugation happens while packing. Slices are filled up with zeros, which are computed and thrown away.
 */

#define VEC REAL_NAME(vector)
#define LANES ((int)(sizeof(VEC) / sizeof(REAL)))
#define MR (MV * LANES)
#if KIND == KIND_COMPLEX
#define PARTS 2
#define MV COMPLEX_MV
#define NR COMPLEX_NR
#else
#define PARTS 1
#define MV REAL_MV
#define NR REAL_NR
#endif

/* Pack `extent` rows (or columns) by `depth` of k in slices of `slice`. */
static void NAME(pack)(REAL *to, const T *from, int64_t step, int64_t step_k, int64_t extent, int64_t depth, int slice,
                       bool conjugate)
{
#if KIND != KIND_COMPLEX
    (void)conjugate;
#endif
    for (int64_t i = 0; i < extent; i += slice) {
        const int live = extent - i < slice ? (int)(extent - i) : slice;
        const T *base = from + i * step;
        for (int64_t p = 0; p < depth; ++p, to += PARTS * slice) {
            const T *line = base + p * step_k;
#if KIND == KIND_COMPLEX
            for (int r = 0; r < live; ++r) {
                const T value = line[r * step];
                to[r] = value.re;
                to[slice + r] = conjugate ? -value.im : value.im;
            }
            for (int r = live; r < slice; ++r) {
                to[r] = 0;
                to[slice + r] = 0;
            }
#else
            if (live == slice && step == 1) {
                for (int r = 0; r < slice; ++r) {
                    to[r] = line[r];
                }
            } else {
                for (int r = 0; r < live; ++r) {
                    to[r] = line[r * step];
                }
                for (int r = live; r < slice; ++r) {
                    to[r] = 0;
                }
            }
#endif
        }
    }
}

/*
 * One register tile: sums[column][part][vector of rows] = sum over depth. Packed a is aligned for VEC, since each step of k is
 * whole vectors. The tile is named element by element only, so that it can live in registers.
 */
static inline void NAME(micro)(const REAL *a, const REAL *b, int64_t depth, VEC *sums)
{
    VEC tile[NR][PARTS][MV];
    for (int j = 0; j < NR; ++j) {
        for (int v = 0; v < MV; ++v) {
            tile[j][0][v] = (VEC){0};
            tile[j][PARTS - 1][v] = (VEC){0};
        }
    }
    for (int64_t p = 0; p < depth; ++p, a += PARTS * MR, b += PARTS * NR) {
        const VEC *left = (const VEC *)(const void *)a;
        for (int j = 0; j < NR; ++j) {
#if KIND == KIND_COMPLEX
            const VEC re = b[j] - (VEC){0};
            const VEC im = b[NR + j] - (VEC){0};
            for (int v = 0; v < MV; ++v) {
                tile[j][0][v] += left[v] * re;
                tile[j][0][v] -= left[MV + v] * im;
                tile[j][1][v] += left[v] * im;
                tile[j][1][v] += left[MV + v] * re;
            }
#else
            for (int v = 0; v < MV; ++v) {
                tile[j][0][v] += left[v] * b[j];
            }
#endif
        }
    }
    for (int j = 0; j < NR; ++j) {
        for (int v = 0; v < MV; ++v) {
            sums[j * PARTS * MV + v] = tile[j][0][v];
            sums[(j * PARTS + PARTS - 1) * MV + v] = tile[j][PARTS - 1][v];
        }
    }
}

/* Write `rows` x `columns` of a tile to c. `first`: this is the first stretch of k, so beta counts. */
static void NAME(flush)(const tnri_gemm *gemm, const REAL *sums, T *c, int rows, int columns, bool first)
{
    const T alpha = NAME(scalar)(gemm->alpha);
    const T beta = NAME(scalar)(gemm->beta);
    for (int j = 0; j < columns; ++j) {
        const REAL *column = sums + j * PARTS * MR;
        T *to = c + j * gemm->c_column;
        for (int i = 0; i < rows; ++i) {
            T *element = to + i * gemm->c_row;
#if KIND == KIND_COMPLEX
            const T sum = {column[i], column[MR + i]};
#else
            const T sum = column[i];
#endif
            T value = gemm->plain ? sum : NAME(times)(alpha, sum); /* 1 + 0i times an infinity would be NaN */
            if (!first) {
                value = NAME(plus)(value, *element);
            } else if (!gemm->overwrite) {
                value = NAME(plus)(value, NAME(times)(beta, *element));
            }
            *element = value;
        }
    }
}

/* Extents of the blocks for a product of these extents; they grow with them. */
static gemm_blocks NAME(gemm_blocks)(int64_t m, int64_t n, int64_t k)
{
    gemm_blocks blocks;
    blocks.m = m < GEMM_MC / MR * MR ? (m + MR - 1) / MR * MR : GEMM_MC / MR * MR;
    blocks.n = n < GEMM_NC / NR * NR ? (n + NR - 1) / NR * NR : GEMM_NC / NR * NR;
    blocks.k = k < GEMM_KC ? k : GEMM_KC;
    const uint64_t a_bytes = (uint64_t)(blocks.m * blocks.k) * sizeof(T);
    const uint64_t b_bytes = (uint64_t)(blocks.n * blocks.k) * sizeof(T);
    blocks.a_bytes = (a_bytes + 63U) & ~(uint64_t)63U;
    blocks.bytes = blocks.a_bytes + ((b_bytes + 63U) & ~(uint64_t)63U);
    return blocks;
}

static void NAME(gemm_packed)(const tnri_gemm *gemm, char *scratch)
{
    const gemm_blocks blocks = NAME(gemm_blocks)(gemm->m, gemm->n, gemm->k);
    REAL *packed_a = (REAL *)(void *)scratch;
    REAL *packed_b = (REAL *)(void *)(scratch + blocks.a_bytes);
    const T *a = gemm->a;
    const T *b = gemm->b;
    T *c = gemm->c;
    VEC sums[NR * PARTS * MV];
    for (int64_t jc = 0; jc < gemm->n; jc += blocks.n) {
        const int64_t width = gemm->n - jc < blocks.n ? gemm->n - jc : blocks.n;
        for (int64_t pc = 0; pc < gemm->k; pc += blocks.k) {
            const int64_t depth = gemm->k - pc < blocks.k ? gemm->k - pc : blocks.k;
            NAME(pack)
            (packed_b, b + pc * gemm->b_row + jc * gemm->b_column, gemm->b_column, gemm->b_row, width, depth, NR,
             gemm->conjugate_b);
            for (int64_t ic = 0; ic < gemm->m; ic += blocks.m) {
                const int64_t height = gemm->m - ic < blocks.m ? gemm->m - ic : blocks.m;
                NAME(pack)
                (packed_a, a + ic * gemm->a_row + pc * gemm->a_column, gemm->a_row, gemm->a_column, height, depth, MR,
                 gemm->conjugate_a);
                for (int64_t jr = 0; jr < width; jr += NR) {
                    const int columns = width - jr < NR ? (int)(width - jr) : NR;
                    for (int64_t ir = 0; ir < height; ir += MR) {
                        const int rows = height - ir < MR ? (int)(height - ir) : MR;
                        NAME(micro)(packed_a + ir * depth * PARTS, packed_b + jr * depth * PARTS, depth, sums);
                        NAME(flush)
                        (gemm, (const REAL *)(const void *)sums,
                         c + (ic + ir) * gemm->c_row + (jc + jr) * gemm->c_column, rows, columns, pc == 0);
                    }
                }
            }
        }
    }
}

#undef VEC
#undef LANES
#undef MR
#undef PARTS
#undef MV
#undef NR
