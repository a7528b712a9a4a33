/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of products, checked, as kernels want them. */
#include "product_internal.h"

/* The scalar as the dtype has it. */
static tnr_c64 rounded(tnr_dtype dtype, tnr_scalar scalar)
{
    static const bool single[TNR_DTYPE_END] = {[TNR_F32] = true, [TNR_C32] = true};
    const tnr_c64 exact = {scalar.re, tnri_is_complex(dtype) ? scalar.im : 0.0};
    if (!single[dtype]) {
        return exact;
    }
    /* volatile: GCC 12 at -O2 may take two neighbours to float and back by doing neither */
    const volatile float re = (float)exact.re;
    const volatile float im = (float)exact.im;
    return (tnr_c64){re, im};
}

static bool is_real(tnr_c64 scalar, double value) { return scalar.re == value && scalar.im == 0.0; }

/* The defaults, as most calls have them. */
static bool are_plain(const tnr_product_options *options)
{
    return options->size == sizeof *options && options->alpha.re == 1.0 && options->alpha.im == 0.0 &&
           options->beta.re == 0.0 && options->beta.im == 0.0 && !options->conjugate_a && !options->conjugate_b;
}

tnr_status tnri_finish_from(const char *op, const tnr_product_options *options, tnr_dtype dtype, bool into,
                            tnri_finish *finish)
{
    if (are_plain(options)) {
        return tnri_finish_take(op, NULL, dtype, into, finish);
    }
    tnr_product_options taken = TNR_PRODUCT_OPTIONS;
    TNR_TRY(tnri_options_take(op, options, sizeof taken, &taken, sizeof taken));
    finish->alpha = rounded(dtype, taken.alpha);
    finish->beta = rounded(dtype, taken.beta);
    finish->nothing = is_real(finish->alpha, 0.0);
    finish->overwrite = is_real(finish->beta, 0.0);
    finish->plain = finish->overwrite && is_real(finish->alpha, 1.0);
    finish->keep = is_real(finish->beta, 1.0);
    finish->add = finish->keep && is_real(finish->alpha, 1.0);
    const bool complex = tnri_is_complex(dtype);
    finish->conjugate_a = complex && taken.conjugate_a;
    finish->conjugate_b = complex && taken.conjugate_b;
    TNR_REQUIRE(finish->overwrite || into, TNR_ERR_ARGUMENT, "%s: beta must be 0 where there is no output yet", op);
    return TNR_OK;
}
