/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory for an MPI that takes it: whether a world's may have it, and the address of a transfer's while it is under way.
 *
 * Guarantees: never unless MPI said so when the world was made, after MPI_Init, in the process that asks. What this library found when it
 * was compiled counts for nothing; whether MPI's answer is more than how MPI was built is MPI's affair (device_query_cuda.c). The two off
 * switches come before that question. Only memory of domains that expose it, which those of addresses that other libraries cannot take do
 * not, and only dense layouts: MPI walks others run by run, which devices are slow at. What must come first is over before MPI has the
 * address: the domain waits for that, in whatever call this is. Where the domain says that it cannot be now (TNR_ERR_UNSUPPORTED: a device
 * that is not current) the transfer is staged.
 */
#include <stdlib.h>

#include "flight_internal.h"

static const char variable[] = "TENURE_MPI_DEVICE";

tnr_status tnri_device_decide(const char *op, const tnr_world_options *options, tnr_world_device *device)
{
    const char *word = getenv(variable);
    const bool said = word != NULL && *word != '\0';
    const bool off = said && strcmp(word, "off") == 0;
    TNR_REQUIRE(!said || off || strcmp(word, "auto") == 0, TNR_ERR_ARGUMENT, "%s: %s is \"%s\"; off or auto expected",
                op, variable, word);
    *device = options->no_device ? TNR_WORLD_DEVICE_OFF : off ? TNR_WORLD_DEVICE_OFF_ENVIRONMENT : tnri_device_query();
    return TNR_OK;
}

const char *tnr_world_device_text(tnr_world_device device)
{
    switch (device) {
    case TNR_WORLD_DEVICE_UNKNOWN:
        return "staged: this MPI has no way to ask whether it takes device memory";
    case TNR_WORLD_DEVICE_REFUSED:
        return "staged: MPI answers that it takes no device memory";
    case TNR_WORLD_DEVICE_OFF:
        return "staged: options.no_device";
    case TNR_WORLD_DEVICE_OFF_ENVIRONMENT:
        return "staged: TENURE_MPI_DEVICE is off";
    case TNR_WORLD_DEVICE_DIRECT:
        return "direct: MPI answers that it takes device memory";
    default:
        return "unknown";
    }
}

static bool is_exposable(const tnr_world *world, const tnri_stream *stream)
{
    return world->device == TNR_WORLD_DEVICE_DIRECT && stream->away != NULL && stream->dense && stream->bytes != 0 &&
           stream->away->domain->exposes;
}

static tnr_map_mode mode_of(const tnri_flight *flight)
{
    return flight->kind == TNRI_SEND ? TNR_MAP_READ : TNR_MAP_WRITE;
}

tnr_status tnri_flight_expose(tnri_flight *flight)
{
    void *block = NULL;
    TNR_TRY(tnr_provider.away_expose(flight->stream.away, mode_of(flight), &block));
    flight->exposed = (char *)block + tnri_away_byte(flight->stream.data);
    return TNR_OK;
}

tnr_status tnri_flight_go_direct(tnri_flight *flight, bool *direct)
{
    *direct = false;
    if (!is_exposable(flight->world, &flight->stream)) {
        return TNR_OK;
    }
    const tnr_status status = tnri_flight_expose(flight);
    if (status == TNR_ERR_UNSUPPORTED) {
        return TNR_OK;
    }
    TNR_TRY(status);
    *direct = true;
    if (flight->prepared) {
        tnri_flight_conceal(flight);
    }
    return TNR_OK;
}

void tnri_flight_conceal(tnri_flight *flight)
{
    if (TNRI_UNLIKELY(flight->exposed != NULL)) {
        flight->exposed = NULL;
        tnr_provider.away_conceal(flight->stream.away, mode_of(flight));
    }
}
