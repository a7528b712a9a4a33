/* SPDX-License-Identifier: BSD-3-Clause */
/* The one loop that elementwise kernels of small builds share. */
#include "elementwise_kernels.h"

void tnri_plane_each(const tnri_plane *plane, void (*one)(char *const *at))
{
    char *at[1 + TNRI_CALL_INPUTS];
    for (int64_t line = 0; line < plane->lines; ++line) {
        for (int k = 0; k < plane->operands; ++k) {
            at[k] = plane->data[k] + line * plane->jump[k];
        }
        for (int64_t i = 0; i < plane->count; ++i) {
            one(at);
            for (int k = 0; k < plane->operands; ++k) {
                at[k] += plane->step[k];
            }
        }
    }
}
