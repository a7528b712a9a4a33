/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels of axes, and the product that labelled operands are: what contractions and einsum share. */
#ifndef TENURE_ENGINE_LABELS_INTERNAL_H
#define TENURE_ENGINE_LABELS_INTERNAL_H

#include "product_internal.h"

/* Letters and digits. */
#define TNRI_LABELS (26 + 26 + 10)

/* What is known of one label. */
typedef struct tnri_label {
    int64_t extent;
    int64_t a, b, c; /* steps in elements: the sum of those of all axes that have it */
    bool in_a, in_b, in_c;
} tnri_label;

/* 0 to TNRI_LABELS - 1; -1 for a character that is no label. */
int tnri_label_number(char character);

/* Put a label's axis in the group where it belongs; those groups have been emptied before. Steps along an extent of 1 do not matter. */
void tnri_product_add_label(tnri_product *product, const tnri_label *label);

/* No axes, one index, in every group. */
void tnri_product_clear(tnri_product *product);

/* Neighbouring axes that are one in every operand become one. After the last label. */
void tnri_product_fuse(tnri_product *product);

#endif /* TENURE_ENGINE_LABELS_INTERNAL_H */
