/* SPDX-License-Identifier: BSD-3-Clause */
/* What an engine's options ask for. Whether the topology has it: engine_cpus.c. */
#include "team_internal.h"

tnr_status tnri_engine_options_take(const char *op, const tnr_engine_options *options, tnr_engine_options *taken)
{
    static const tnr_engine_options defaults = TNR_ENGINE_OPTIONS;
    *taken = defaults;
    TNR_TRY(tnri_options_take(op, options, offsetof(tnr_engine_options, topology), taken, sizeof *taken));
    TNR_REQUIRE(taken->topology != NULL || (taken->cpus == NULL && taken->node == TNR_NONE && taken->workers == 0),
                TNR_ERR_ARGUMENT, "%s: cpus, node and workers need a topology", op);
    TNR_REQUIRE(taken->workers >= 0, TNR_ERR_ARGUMENT, "%s: %d workers", op, taken->workers);
    TNR_REQUIRE(taken->node >= TNR_NONE, TNR_ERR_ARGUMENT, "%s: node %d", op, taken->node);
    return TNR_OK;
}
