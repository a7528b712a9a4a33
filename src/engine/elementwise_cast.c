/* SPDX-License-Identifier: BSD-3-Clause */
/* Casts: one operation per target dtype. */
#include "elementwise_internal.h"

static const tnri_operation casts[TNR_DTYPE_END] = {
    [TNR_F32] =
        {
            .name = "cast",
            .rows = TNRI_ROWS(tnri_cast_kernels, to[TNR_F32]),
            .code = TNRI_DO_CAST,
            .rule = TNRI_TO_RESULT,
            .result = TNR_F32,
            .inputs = {"a"},
            .takes_stream = true,
            .picoseconds = 200,
        },
    [TNR_F64] =
        {
            .name = "cast",
            .rows = TNRI_ROWS(tnri_cast_kernels, to[TNR_F64]),
            .code = TNRI_DO_CAST,
            .rule = TNRI_TO_RESULT,
            .result = TNR_F64,
            .inputs = {"a"},
            .takes_stream = true,
            .picoseconds = 200,
        },
    [TNR_C32] =
        {
            .name = "cast",
            .rows = TNRI_ROWS(tnri_cast_kernels, to[TNR_C32]),
            .code = TNRI_DO_CAST,
            .rule = TNRI_TO_RESULT,
            .result = TNR_C32,
            .inputs = {"a"},
            .takes_stream = true,
            .picoseconds = 200,
        },
    [TNR_C64] =
        {
            .name = "cast",
            .rows = TNRI_ROWS(tnri_cast_kernels, to[TNR_C64]),
            .code = TNRI_DO_CAST,
            .rule = TNRI_TO_RESULT,
            .result = TNR_C64,
            .inputs = {"a"},
            .takes_stream = true,
            .picoseconds = 200,
        },
    [TNR_I32] =
        {
            .name = "cast",
            .rows = TNRI_ROWS(tnri_cast_kernels, to[TNR_I32]),
            .code = TNRI_DO_CAST,
            .rule = TNRI_TO_RESULT,
            .result = TNR_I32,
            .inputs = {"a"},
            .takes_stream = true,
            .picoseconds = 200,
        },
    [TNR_I64] =
        {
            .name = "cast",
            .rows = TNRI_ROWS(tnri_cast_kernels, to[TNR_I64]),
            .code = TNRI_DO_CAST,
            .rule = TNRI_TO_RESULT,
            .result = TNR_I64,
            .inputs = {"a"},
            .takes_stream = true,
            .picoseconds = 200,
        },
    [TNR_BOOL] =
        {
            .name = "cast",
            .rows = TNRI_ROWS(tnri_cast_kernels, to[TNR_BOOL]),
            .code = TNRI_DO_CAST,
            .rule = TNRI_TO_RESULT,
            .result = TNR_BOOL,
            .inputs = {"a"},
            .picoseconds = 200,
        },
};

tnr_status tnr_cast(tnr_engine *engine, const tnr_view *a, tnr_dtype dtype, tnr_tensor **out)
{
    if (dtype <= TNR_DTYPE_NONE || dtype >= TNR_DTYPE_END) {
        return tnri_fail_enumeration("cast", "dtype", (int)dtype);
    }
    return tnri_elementwise_one(engine, &casts[dtype], a, (tnri_target){.made = out});
}

tnr_status tnr_cast_into(tnr_engine *engine, const tnr_view *a, const tnr_view_mut *out)
{
    /* Without a dtype to go by, any cast says what is wrong with the engine, a or out. */
    const tnr_dtype dtype = out != NULL && tnri_view_plausible(&out->view) ? out->view.dtype : TNR_F64;
    return tnri_elementwise_one(engine, &casts[dtype], a, (tnri_target){.into = out});
}
