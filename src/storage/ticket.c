/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations in flight: the calls of ticket.h, which ask the companion that made the ticket. */
#include "provider.h"

tnr_status tnr_ticket_test(tnr_ticket **ticket, bool *done)
{
    TNR_REQUIRE(ticket != NULL && *ticket != NULL && done != NULL, TNR_ERR_ARGUMENT,
                "ticket_test: ticket and done must not be NULL");
    bool over = false;
    const tnr_status status = (*ticket)->kind->advance(*ticket, false, &over);
    if (over) {
        *ticket = NULL;
    } else if (status != TNR_OK) {
        return status;
    }
    *done = over;
    return status;
}

tnr_status tnr_ticket_wait(tnr_ticket **ticket)
{
    if (ticket == NULL || *ticket == NULL) {
        return TNR_OK;
    }
    bool over = false;
    const tnr_status status = (*ticket)->kind->advance(*ticket, true, &over);
    if (over) {
        *ticket = NULL;
    }
    return status;
}

tnr_status tnr_ticket_abandon(tnr_ticket **ticket)
{
    if (ticket == NULL || *ticket == NULL) {
        return TNR_OK;
    }
    TNR_TRY((*ticket)->kind->abandon(*ticket));
    *ticket = NULL;
    return TNR_OK;
}
