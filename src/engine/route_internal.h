/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing over inputs that are asked for one by one, so that nobody needs an array of them. */
#ifndef TENURE_ENGINE_ROUTE_INTERNAL_H
#define TENURE_ENGINE_ROUTE_INTERNAL_H

#include "engine_internal.h"
#include "tenure/machine.h"

/* `at` may be asked for the same input several times. */
typedef struct tnri_route_source {
    tnr_status (*at)(const void *context, size_t index, tnr_route_input *input);
    const void *context;
    size_t count;
} tnri_route_source;

/* As tnr_route. */
tnr_status tnri_route(tnr_route_policy policy, const tnri_route_source *source, int32_t named, int32_t otherwise,
                      int32_t *node, tnr_route_reason *reason);

#endif /* TENURE_ENGINE_ROUTE_INTERNAL_H */
