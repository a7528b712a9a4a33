/* SPDX-License-Identifier: BSD-3-Clause */
/* Give a failing status on to the caller: TRY(call) in functions that answer a tnr_status. */
#ifndef DENOISE_TRY_H
#define DENOISE_TRY_H

#include <tenure/tenure.h>

#define TRY(call)                        \
    do {                                 \
        const tnr_status tried = (call); \
        if (tried != TNR_OK) {           \
            return tried;                \
        }                                \
    } while (0)

#endif
