/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers of views: leases, checks, one transfer, ledger; and their tickets.
 *
 * Guarantees: a call that fails has given its leases back, and undone a new tensor, but for host memory that the device itself
 * may still be using: that keeps its lease, in quarantine, until tnri_flights_recover hears of a proof. A ticket always
 * ends: well, or with the error of the device.
 */
#include "cuda_internal.h"

/* ---- Checks ------------------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_views_agree(const char *op, const tnr_view *target, const tnr_view *source)
{
    TNR_REQUIRE(target->dtype == source->dtype, TNR_ERR_DTYPE, "%s: the target is %s, the source %s", op,
                tnr_dtype_name(target->dtype), tnr_dtype_name(source->dtype));
    TNR_REQUIRE(target->rank == source->rank, TNR_ERR_SHAPE, "%s: the target has rank %d, the source %d", op,
                (int)target->rank, (int)source->rank);
    for (int axis = 0; axis < target->rank && axis < TNR_MAX_RANK; axis++) {
        TNR_REQUIRE(target->shape[axis] == source->shape[axis], TNR_ERR_SHAPE,
                    "%s: axis %d has %lld elements in the target, %lld in the source", op, axis,
                    TNRI_LL(target->shape[axis]), TNRI_LL(source->shape[axis]));
    }
    return TNR_OK;
}

/* Is this domain (NULL: adopted memory) one where the device's side of a copy may lie? */
tnr_status tnri_check_device_domain(const char *op, tnr_cuda_device *device, const tnr_domain *domain,
                                    const tnri_hint *hint)
{
    (void)pthread_mutex_lock(&device->mutex);
    const tnri_cuda_domain *own = domain != NULL ? tnri_domain_of(device, domain) : NULL;
    const bool good = own != NULL && own->memory != TNR_CUDA_PINNED;
    (void)pthread_mutex_unlock(&device->mutex);
    if (good) {
        return TNR_OK;
    }
    TNR_REQUIRE(own != NULL || !tnri_domain_is_device(domain), TNR_ERR_FOREIGN,
                "%s: %s \"%s\" is of another device object (device %d) than the lane (device %d): %s", op, hint->what,
                tnr_domain_name(domain), tnr_domain_placement(domain).device, device->info.ordinal, hint->foreign);
    return tnri_fail(TNR_ERR_RESIDENCY, "%s: %s \"%s\" is no memory of the device: %s", op, hint->what,
                     domain != NULL ? tnr_domain_name(domain) : "adopted", hint->host);
}

tnr_status tnri_find_away(const char *op, tnr_cuda_device *device, const tnri_operand *operand, const tnri_hint *hint,
                          tnri_memory **memory, uint64_t *base)
{
    const tnr_tensor *root = operand->view->root;
    TNR_TRY(tnri_check_device_domain(op, device, root->domain, hint));
    if (operand->held.count == 0) {
        *memory = NULL;
        return TNR_OK;
    }
    const uint64_t address = (uint64_t)(uintptr_t)root->block.address;
    (void)pthread_mutex_lock(&device->mutex);
    *memory = tnri_memory_find(device, address);
    (void)pthread_mutex_unlock(&device->mutex);
    TNR_REQUIRE(*memory != NULL, TNR_ERR_FOREIGN, "%s: the block is none of the device object's", op);
    *base = address + tnri_away_byte(operand->data);
    return TNR_OK;
}

/* ---- Operands ------------------------------------------------------------------------------------------------------------------------ */

#define ON_HOST "tnr_copy_into copies between host domains, "

/* By way, for the domain of the target and for that of the source. */
static const tnri_hint HINTS[][2] = {
    [TNRI_UPLOAD] = {{"the target's domain", ON_HOST "tnr_cuda_download from a device", TNRI_OWN_LANE},
                     {NULL, NULL, NULL}},
    [TNRI_DOWNLOAD] = {{NULL, NULL, NULL},
                       {"the source's domain", ON_HOST "tnr_cuda_upload to a device", TNRI_OWN_LANE}},
    [TNRI_ON_DEVICE] = {{"the target's domain", "tnr_cuda_download copies to the host", "tnr_cuda_copy_between"},
                        {"the source's domain", "tnr_cuda_upload it", "tnr_cuda_copy_between"}},
};

static tnr_status give_operands(tnri_flight *flight, bool host_too)
{
    tnr_status status = TNR_OK;
    if (flight->aways != 0) {
        status = tnr_provider.access_end(flight->away, flight->aways);
        flight->aways = 0;
    }
    if (flight->has_host && host_too) {
        const tnr_status given = tnr_provider.access_end(&flight->host, 1);
        status = status == TNR_OK ? given : status;
        flight->has_host = false;
    }
    return status;
}

/* Which side of a transfer it was, of which the core sees one at a time. */
static tnr_status fail_side(const tnri_flight *flight, bool write, tnr_status status)
{
    const char *text = tnr_last_error();
    const size_t length = strlen(flight->op);
    const bool begins = strncmp(text, flight->op, length) == 0 && text[length] == ':' && text[length + 1] == ' ';
    return tnri_fail(status, "%s: the %s: %s", flight->op, write ? "target" : "source",
                     begins ? text + length + 2 : text);
}

/* The host's side of a transfer, which may lie on a device. */
static tnr_status take_host(tnri_flight *flight)
{
    const bool write = flight->host.write;
    const tnr_status status = tnr_provider.access_begin(flight->op, &flight->host, 1, TNRI_APART);
    if (status == TNR_ERR_RESIDENCY && tnri_domain_is_device(flight->host.view->root->domain)) {
        return tnri_fail(status,
                         "%s: the %s lies on a device (\"%s\"): tnr_cuda_duplicate and tnr_cuda_copy_into copy there, "
                         "tnr_cuda_copy_between from one device object to another",
                         flight->op, write ? "target" : "source", tnr_domain_name(flight->host.view->root->domain));
    }
    return status == TNR_OK ? status : fail_side(flight, write, status);
}

/* Both sides of one owner: nothing for a transfer, whose leases are on two. */
static tnr_status refuse_one_owner(const tnri_flight *flight)
{
    tnri_operand both[2] = {{.view = &flight->target_view, .write = true}, {.view = &flight->source_view}};
    TNR_TRY(tnr_provider.access_begin_bare(flight->op, both, 2, TNRI_APART));
    tnr_status status = TNR_OK;
    if (both[0].held.count != 0) {
        const tnri_hint *hint = &HINTS[flight->way][flight->way == TNRI_DOWNLOAD ? 1 : 0];
        status = tnri_check_device_domain(flight->op, flight->lane->device, flight->target_view.root->domain, hint);
        if (status == TNR_OK) {
            status = tnri_fail(TNR_ERR_ARGUMENT, "%s: both sides are of one owner: tnr_cuda_copy_into copies within it",
                               flight->op);
        }
    }
    const tnr_status given = tnr_provider.access_end(both, 2);
    return status == TNR_OK ? given : status;
}

/* Leases on both sides; data of both. */
static tnr_status take_operands(tnri_flight *flight)
{
    const bool on_device = flight->way == TNRI_ON_DEVICE;
    tnri_operand target = {.view = &flight->target_view, .write = true};
    tnri_operand source = {.view = &flight->source_view, .write = false};
    flight->away[0] = flight->way == TNRI_DOWNLOAD ? source : target;
    flight->away[1] = source;
    flight->host = flight->way == TNRI_DOWNLOAD ? target : source;
    const int aways = on_device ? 2 : 1;
    const bool same = target.view->root == source.view->root && target.view->generation == source.view->generation;
    if (!on_device && same && target.view->root != NULL) {
        TNR_TRY(refuse_one_owner(flight));
    }
    const tnr_status status = tnr_provider.access_begin_bare(flight->op, flight->away, aways, TNRI_APART);
    if (status != TNR_OK) {
        return on_device ? status : fail_side(flight, flight->away[0].write, status);
    }
    flight->aways = aways;
    if (!on_device) {
        TNR_TRY(take_host(flight));
        flight->has_host = true;
    }
    return TNR_OK;
}

/* Lowest and highest byte that the host's side touches, relative to its first element. */
static void host_reach(const tnr_view *view, int64_t *low, int64_t *high)
{
    const int64_t element = (int64_t)tnr_dtype_size(view->dtype);
    *low = 0;
    *high = element;
    for (int axis = 0; axis < view->rank; axis++) {
        const int64_t reach = view->shape[axis] == 1 ? 0 : view->strides[axis] * (view->shape[axis] - 1) * element;
        *(reach < 0 ? low : high) += reach;
    }
}

/* Is the host's side page-locked, so that the device reaches it itself? Under the lock. */
static bool host_is_locked(tnri_flight *flight)
{
    const tnr_view *view = flight->host.view;
    const tnr_tensor *root = view->root;
    if (root->domain != NULL) {
        return tnri_domain_is_pinned(root->domain);
    }
    int64_t low;
    int64_t high;
    host_reach(view, &low, &high);
    flight->registered = tnri_registered_find(flight->lane->device, (uint64_t)(uintptr_t)(flight->host.data + low),
                                              (uint64_t)(high - low));
    if (flight->registered != NULL) {
        flight->registered->users++;
    }
    return flight->registered != NULL;
}

static tnr_status find_memory(tnri_flight *flight)
{
    tnr_cuda_device *device = flight->lane->device;
    const tnri_hint *hints = HINTS[flight->way];
    uint64_t source_base = 0;
    if (flight->way == TNRI_DOWNLOAD) {
        return tnri_find_away(flight->op, device, &flight->away[0], &hints[1], &flight->source, &flight->base);
    }
    TNR_TRY(tnri_find_away(flight->op, device, &flight->away[0], &hints[0], &flight->target, &flight->base));
    if (flight->way == TNRI_ON_DEVICE) {
        TNR_TRY(tnri_find_away(flight->op, device, &flight->away[1], &hints[1], &flight->source, &source_base));
        flight->host_base = (char *)(uintptr_t)source_base;
    }
    return TNR_OK;
}

/* Everything but the device's own work is ready. Under the lock. */
static void prepare(tnri_flight *flight)
{
    if (flight->way == TNRI_ON_DEVICE) {
        return;
    }
    const tnr_view *away = flight->away[0].view;
    flight->host_base = flight->host.data;
    tnri_pair_make(&flight->pair, tnr_dtype_size(away->dtype), away->rank, away->shape, away->strides,
                   flight->host.view->strides);
    tnri_transfer_prepare(flight, host_is_locked(flight));
}

/* ---- Making and ending ----------------------------------------------------------------------------------------------------------------- */

tnr_status tnri_order_take(tnr_cuda_lane *lane, const tnri_order *order, tnri_flight **flight)
{
    tnr_cuda_device *device = lane->device;
    void *item;
    (void)pthread_mutex_lock(&device->mutex);
    const tnr_status status = tnri_store_take(&device->flight_store, device->home, &item);
    (void)pthread_mutex_unlock(&device->mutex);
    TNR_TRY(status);
    tnri_flight *made = item;
    made->ticket.kind = &tnri_transfer_tickets;
    made->lane = lane;
    made->op = order->op;
    made->way = order->way;
    made->reason = order->reason;
    made->source_view = *order->source;
    *flight = made;
    return TNR_OK;
}

static void flight_give(tnri_flight *flight)
{
    tnr_cuda_device *device = flight->lane->device;
    (void)pthread_mutex_lock(&device->mutex);
    if (flight->registered != NULL) {
        flight->registered->users--;
    }
    tnri_store_give(&device->flight_store, flight);
    (void)pthread_mutex_unlock(&device->mutex);
}

/* The device may still touch the host's memory: what holds it stays. Under the lock. */
static void lose(tnri_flight *flight)
{
    tnr_cuda_device *device = flight->lane->device;
    flight->next = device->lost;
    device->lost = flight;
    device->lost_count++;
    device->counts.quarantined++;
    device->counts.quarantined_ever++;
}

tnr_status tnri_order_conclude(tnri_flight *flight, tnr_status status, bool lost, tnr_tensor **tensor)
{
    tnr_domain *ledger = flight->ledger;
    const tnr_status given = give_operands(flight, !lost);
    status = status == TNR_OK ? given : status;
    if (lost && flight->owns_output && flight->way == TNRI_DOWNLOAD) {
        return status; /* its bytes stay too */
    }
    if (flight->owns_output) {
        status = tnr_provider.output_end(&flight->output, status, tensor);
        flight->owns_output = false;
    }
    if (status == TNR_OK) {
        tnr_provider.ledger_copy(ledger, flight->reason, flight->ledger_bytes);
    }
    if (!lost) {
        flight_give(flight);
    }
    return status;
}

void tnri_flights_recover(tnr_cuda_device *device)
{
    (void)pthread_mutex_lock(&device->mutex);
    tnri_flight *list = device->lost;
    device->lost = NULL;
    device->counts.quarantined -= device->lost_count;
    device->lost_count = 0;
    (void)pthread_mutex_unlock(&device->mutex);
    while (list != NULL) {
        tnri_flight *flight = list;
        list = flight->next;
        (void)give_operands(flight, true);
        if (flight->owns_output) {
            tnr_tensor *none = NULL;
            (void)tnr_provider.output_end(&flight->output, TNR_ERR_BACKEND, &none);
        }
        flight_give(flight);
    }
}

/* ---- Running ------------------------------------------------------------------------------------------------------------------------------ */

/* Views, leases, places. On failure the flight holds what it holds. */
static tnr_status set_up(tnri_flight *flight, const tnri_order *order)
{
    if (order->target == NULL) {
        TNR_REQUIRE(order->domain != NULL, TNR_ERR_ARGUMENT, "%s: domain must not be NULL", flight->op);
        if (flight->way != TNRI_DOWNLOAD) {
            TNR_TRY(tnri_check_device_domain(flight->op, flight->lane->device, order->domain, &HINTS[flight->way][0]));
        }
        TNR_REQUIRE(order->source->rank >= 0 && order->source->rank <= TNR_MAX_RANK, TNR_ERR_ARGUMENT,
                    "%s: rank %d; the view was not made by the library", flight->op, (int)order->source->rank);
        TNR_TRY(tnr_provider.output_begin_bare(flight->op, order->domain, order->source->dtype, order->source->rank,
                                               order->source->shape, TNR_ALLOCATION_COPY, &flight->output));
        flight->owns_output = true;
        flight->target_view = flight->output.view;
        flight->ledger = order->domain;
    } else {
        TNR_TRY(tnri_views_agree(flight->op, order->target, order->source));
        flight->target_view = *order->target;
    }
    TNR_TRY(take_operands(flight));
    flight->ledger = flight->target_view.root->domain;
    flight->ledger_bytes = (uint64_t)flight->away[0].held.count * tnr_dtype_size(flight->target_view.dtype);
    return find_memory(flight);
}

/* Under the lock, context current. */
static tnr_status run(tnri_flight *flight, bool ticket, bool *over, bool *lost)
{
    prepare(flight);
    flight->ordered = !ticket && !flight->touches_host && flight->way != TNRI_DOWNLOAD;
    tnr_status status = tnri_transfer_begin(flight);
    if (status == TNR_OK) {
        status = tnri_transfer_step(flight, !ticket, over);
    }
    if (status != TNR_OK) {
        *lost = !tnri_transfer_fail(flight) && flight->touches_host;
        if (*lost) {
            lose(flight);
        }
    }
    return status;
}

static tnr_status run_in_lane(tnr_cuda_lane *lane, const tnri_order *order, tnr_tensor **tensor, tnr_ticket **ticket)
{
    tnr_cuda_device *device = lane->device;
    tnri_flight *flight;
    TNR_TRY(tnri_order_take(lane, order, &flight));
    bool over = false;
    bool lost = false;
    tnr_status status = set_up(flight, order);
    const bool empty = status == TNR_OK && flight->away[0].held.count == 0;
    if (status == TNR_OK && (!empty || ticket != NULL)) {
        status = tnri_device_enter(flight->op, device);
        if (status == TNR_OK) {
            status = empty ? TNR_OK : run(flight, ticket != NULL, &over, &lost);
            device->counts.tickets += status == TNR_OK && ticket != NULL ? 1 : 0;
            status = tnri_device_leave(device, true, status);
        }
    }
    if (status == TNR_OK && ticket != NULL) {
        *ticket = &flight->ticket;
        return TNR_OK;
    }
    return tnri_order_conclude(flight, status, lost, tensor);
}

tnr_status tnri_flight_run(tnr_cuda_lane *lane, const tnri_order *order, tnr_tensor **tensor, tnr_ticket **ticket)
{
    TNR_TRY(tnri_lane_enter(order->op, lane));
    const tnr_status status = run_in_lane(lane, order, tensor, ticket);
    tnri_lane_leave(lane);
    return status;
}

/* ---- Tickets -------------------------------------------------------------------------------------------------------------------------------- */

static tnr_status go_on(tnri_flight *flight, bool wait, bool *over, bool *lost)
{
    const bool empty = flight->target == NULL && flight->source == NULL;
    if (empty) {
        *over = true;
        return TNR_OK;
    }
    const tnr_status status = tnri_transfer_step(flight, wait, over);
    if (status != TNR_OK) {
        *over = true;
        *lost = !tnri_transfer_fail(flight) && flight->touches_host;
        if (*lost) {
            lose(flight);
        }
    }
    return status;
}

/* The driver cannot be asked: whatever was given to it is not proved to be over, unless its context is known to have ended. */
static tnr_status give_up(tnri_flight *flight, const char *op, bool *over, bool *lost)
{
    tnr_cuda_device *device = flight->lane->device;
    const bool ended = device->gone || device->unloading || !flight->issued;
    tnri_chunks_drop(device, flight, ended);
    *over = true;
    *lost = !ended && flight->touches_host;
    if (*lost) {
        lose(flight);
    }
    return tnri_fail(device->poison, "%s: the device is poisoned: %s", op, device->poison_text);
}

static tnr_status ticket_advance(tnr_ticket *ticket, bool wait, bool *done)
{
    tnri_flight *flight = (tnri_flight *)ticket;
    tnr_cuda_lane *lane = flight->lane;
    tnr_cuda_device *device = lane->device;
    const char *op = wait ? "ticket_wait" : "ticket_test";
    bool current;
    bool over = false;
    bool lost = false;
    TNR_TRY(tnri_lane_enter(op, lane));
    tnr_status status = tnri_device_enter_ended(op, device, &current);
    if (status != TNR_OK) { /* a forked child */
        tnri_lane_leave(lane);
        return status;
    }
    status = current ? go_on(flight, wait, &over, &lost) : give_up(flight, op, &over, &lost);
    device->counts.tickets -= over ? 1 : 0;
    status = tnri_device_leave(device, current, status);
    if (over) {
        status = tnri_order_conclude(flight, status, lost, NULL);
    }
    tnri_lane_leave(lane);
    *done = over;
    return status;
}

static tnr_status ticket_abandon(tnr_ticket *ticket)
{
    tnri_flight *flight = (tnri_flight *)ticket;
    tnr_cuda_device *device = flight->lane->device;
    TNR_TRY(tnri_lane_enter("ticket_abandon", flight->lane));
    (void)pthread_mutex_lock(&device->mutex);
    const bool begun = flight->issued;
    device->counts.tickets -= begun ? 0 : 1;
    (void)pthread_mutex_unlock(&device->mutex);
    tnr_cuda_lane *lane = flight->lane;
    if (!begun) {
        (void)give_operands(flight, true);
        flight_give(flight);
    }
    tnri_lane_leave(lane);
    return begun ? tnri_fail(TNR_ERR_BUSY, "ticket_abandon: the device is moving bytes; wait for it") : TNR_OK;
}

const tnri_ticket_class tnri_transfer_tickets = {ticket_advance, ticket_abandon};
