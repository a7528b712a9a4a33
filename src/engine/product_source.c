/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose kernels an engine's products use: what its options say, else TENURE_PRODUCTS, else a rule that looks at the machine and
 * measures nothing, so that a program's results are the same from run to run.
 *
 * The rule: the library's own kernels, which are at the machine's limit wherever they have its vectors: x86-64-v3 and v4, NEON. On
 * other machines those of BLIS, where BLIS has any that are written for the processor. An instruction set that TENURE_ISA names is
 * meant: then they are the library's own.
 */
#include "product_internal.h"

static const tnri_product_table *const tables[] = TNRI_ISA_TABLES(tnri_product_kernels);

const tnri_product_kernel *tnri_product_kernel_of(tnri_isa isa, tnr_dtype dtype) { return &tables[isa]->of[dtype]; }

static const tnri_product_table *automatic(tnri_isa isa)
{
#if defined(__aarch64__)
    const bool own_are_best = true;
#else
    const bool own_are_best = isa >= TNRI_ISA_V3;
#endif
    if (!own_are_best && tnri_environment(TNRI_WORD_ISA) == NULL) {
        bool native = false;
        const tnri_product_table *blis = tnri_product_blis(tables[isa], &native);
        if (blis != NULL && native) {
            return blis;
        }
    }
    return tables[isa];
}

/* What is asked for: the options' word, or the environment's. */
static tnr_status asked(const char *op, tnr_product_source *source)
{
    if (*source == TNR_PRODUCTS_AUTOMATIC) {
        const char *word = tnri_environment(TNRI_WORD_PRODUCTS);
        if (word != NULL && strcmp(word, "own") == 0) {
            *source = TNR_PRODUCTS_OWN;
        } else if (word != NULL) {
            TNR_REQUIRE(strcmp(word, "blis") == 0, TNR_ERR_ARGUMENT,
                        "%s: TENURE_PRODUCTS is \"%s\", expected own or blis", op, word);
            *source = TNR_PRODUCTS_BLIS;
        }
    }
    return TNR_OK;
}

tnr_status tnri_product_source_take(const char *op, tnr_product_source source, tnri_isa isa,
                                    const tnri_product_table **products)
{
    TNR_TRY(asked(op, &source));
    switch (source) {
    case TNR_PRODUCTS_AUTOMATIC:
        *products = automatic(isa);
        return TNR_OK;
    case TNR_PRODUCTS_OWN:
        *products = tables[isa];
        return TNR_OK;
    case TNR_PRODUCTS_BLIS: {
        bool native;
        const tnri_product_table *blis = tnri_product_blis(tables[isa], &native);
        TNR_REQUIRE(blis != NULL, TNR_ERR_UNSUPPORTED, "%s: products by BLIS: it is not built in, or its kernels fail",
                    op);
        *products = blis;
        return TNR_OK;
    }
    }
    return tnri_fail_enumeration(op, "products", (int)source);
}

const char *tnri_product_source_name(const tnri_product_table *products)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; ++i) {
        if (products == tables[i]) {
            return "own";
        }
    }
    return "blis";
}
