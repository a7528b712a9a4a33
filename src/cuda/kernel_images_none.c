/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds where there is no nvcc: kernels are compiled at run time, by NVRTC. */
#include "kernels_internal.h"

const unsigned char *const tnri_module_images[TNRI_MODULES] = {NULL};
const size_t tnri_module_image_bytes[TNRI_MODULES] = {0};
