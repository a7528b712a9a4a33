/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix products through BLIS's typed interface, which takes row and column strides and conjugation as they are. The only
 * file that includes blis.h.
 *
 * Guarantees: the calling thread alone computes; BLIS is handed only operands that its own checks accept, because a failed
 * check there prints and aborts. BLIS keeps its packing buffers in memory pools of its own, from the C library, under mutexes
 * that no fork handler of its takes: no fork cuts a call.
 */
#define _POSIX_C_SOURCE 200809L /* blis.h names POSIX barriers */

#include "engine_internal.h"

#if defined(__GNUC__) /* the vendor's header is not written for our warnings */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#include <blis.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

static rntm_t one_thread(void)
{
    rntm_t rntm;
    bli_rntm_init(&rntm);
    bli_rntm_set_num_threads(1, &rntm);
    return rntm;
}

bool tnri_blis_works(void)
{
    if (bli_info_get_int_type_size() != (gint_t)(8 * sizeof(gint_t))) {
        return false;
    }
    /* [[1,2],[3,4]] x [[5,6],[7,8]], row-major, with a stride on both sides that a wrong integer width would misread. */
    const double a[8] = {1, 0, 2, 0, 3, 0, 4, 0};
    const double b[4] = {5, 6, 7, 8};
    double c[4] = {-1, -1, -1, -1};
    double one = 1.0;
    double nothing = 0.0;
    tnri_foreign_begin();
    rntm_t rntm = one_thread();
    bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, 2, 2, 2, &one, (double *)a, 4, 2, (double *)b, 2, 1, &nothing, c,
                 2, 1, NULL, &rntm);
    tnri_foreign_end();
    return c[0] == 19.0 && c[1] == 22.0 && c[2] == 43.0 && c[3] == 50.0;
}
