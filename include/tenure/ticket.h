/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file ticket.h
 * An operation still in flight: a copy between ranks (mpi.h) or to and from a device (cuda.h).
 *
 * The call that starts the operation makes the ticket; it holds the leases of what the operation touches, so that nobody
 * changes or frees those bytes meanwhile (TNR_ERR_BUSY). Ending it gives the leases back: tnr_ticket_wait, or
 * tnr_ticket_test once it says done, or tnr_ticket_abandon.
 *
 * Threads: one thread at a time may use a ticket; which threads, the calls that make tickets say.
 */
#ifndef TENURE_TICKET_H
#define TENURE_TICKET_H

#include "tenure/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tnr_ticket tnr_ticket;

/**
 * Go on with the operation without waiting for other ranks. For a device it may wait where memory of that device goes between ranks: until
 * what the device was given before on these tensors is over, and while it copies a piece. When it is over, well or not, *done is true,
 * *ticket NULL, its leases are given back and its status is the answer; else *done is false and the answer TNR_OK. TNR_ERR_ARGUMENT for
 * NULL.
 */
TNR_API TNR_MUST_CHECK tnr_status tnr_ticket_test(tnr_ticket **ticket, bool *done);

/** Go on until the operation is over; null *ticket. Its status. NULL and a pointer to NULL are fine. */
TNR_API TNR_MUST_CHECK tnr_status tnr_ticket_wait(tnr_ticket **ticket);

/**
 * Give up an operation that no partner has answered yet, and null *ticket: nothing was moved. TNR_ERR_BUSY, ticket as it was,
 * when it has begun to move bytes or the partner may have seen it: wait for it then. NULL and a pointer to NULL are fine.
 */
TNR_API tnr_status tnr_ticket_abandon(tnr_ticket **ticket);

#ifdef __cplusplus
}
#endif

#endif /* TENURE_TICKET_H */
