/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands of the catalogue on a device: each is made on the host, and goes there and back. */
#ifndef TENURE_TESTS_CUDA_MIRROR_H
#define TENURE_TESTS_CUDA_MIRROR_H

#include "catalogue/catalogue.h"
#include "scene.h"

/* An operand on the device with the layout of one on the host. */
typedef struct mirrored {
    tnr_tensor *tensor;
    tnr_view_mut view;
} mirrored;

/* Of the host's operand, in this domain; `distinct`: the view is one to write to. */
void mirror_up(const stage *of, const catalogue_operand *host, tnr_domain *domain, bool distinct, mirrored *made);
/* What is on the device, beside the view too, becomes what is on the host. */
void mirror_down(const stage *of, const mirrored *away, catalogue_operand *host);
/* A tensor that an operation made there is what is expected; it is released. */
void mirror_check(const stage *of, const catalogue_call *use, tnr_tensor **made, const catalogue_array *expected);

#endif /* TENURE_TESTS_CUDA_MIRROR_H */
