/* SPDX-License-Identifier: BSD-3-Clause */
/* The copies of cuda.h as orders. */
#include "cuda_internal.h"

/* A new tensor of `domain`. */
static tnr_status into_new(tnr_cuda_lane *lane, const tnri_order *order, tnr_tensor **tensor)
{
    TNR_REQUIRE(lane != NULL && order->source != NULL && tensor != NULL, TNR_ERR_ARGUMENT,
                "%s: lane, source and tensor must not be NULL", order->op);
    return tnri_flight_run(lane, order, tensor, NULL);
}

/* Elements that are there. */
static tnr_status into_view(tnr_cuda_lane *lane, const char *op, tnri_way way, tnr_copy_reason reason,
                            const tnr_view *source, const tnr_view_mut *target, tnr_ticket **ticket)
{
    TNR_REQUIRE(lane != NULL && source != NULL && target != NULL, TNR_ERR_ARGUMENT,
                "%s: lane, source and target must not be NULL", op);
    const tnri_order order = {.op = op, .way = way, .target = &target->view, .source = source, .reason = reason};
    return tnri_flight_run(lane, &order, NULL, ticket);
}

static tnr_status start(tnr_cuda_lane *lane, const char *op, tnri_way way, tnr_copy_reason reason,
                        const tnr_view *source, const tnr_view_mut *target, tnr_ticket **ticket)
{
    TNR_REQUIRE(ticket != NULL, TNR_ERR_ARGUMENT, "%s: ticket must not be NULL", op);
    return into_view(lane, op, way, reason, source, target, ticket);
}

tnr_status tnr_cuda_upload(tnr_cuda_lane *lane, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    const tnri_order order = {
        .op = "cuda_upload", .way = TNRI_UPLOAD, .source = source, .domain = domain, .reason = TNR_COPY_UPLOAD};
    return into_new(lane, &order, tensor);
}

tnr_status tnr_cuda_upload_into(tnr_cuda_lane *lane, const tnr_view *source, const tnr_view_mut *target)
{
    return into_view(lane, "cuda_upload_into", TNRI_UPLOAD, TNR_COPY_UPLOAD, source, target, NULL);
}

tnr_status tnr_cuda_upload_start(tnr_cuda_lane *lane, const tnr_view *source, const tnr_view_mut *target,
                                 tnr_ticket **ticket)
{
    return start(lane, "cuda_upload_start", TNRI_UPLOAD, TNR_COPY_UPLOAD, source, target, ticket);
}

tnr_status tnr_cuda_download(tnr_cuda_lane *lane, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    const tnri_order order = {
        .op = "cuda_download", .way = TNRI_DOWNLOAD, .source = source, .domain = domain, .reason = TNR_COPY_DOWNLOAD};
    return into_new(lane, &order, tensor);
}

tnr_status tnr_cuda_download_into(tnr_cuda_lane *lane, const tnr_view *source, const tnr_view_mut *target)
{
    return into_view(lane, "cuda_download_into", TNRI_DOWNLOAD, TNR_COPY_DOWNLOAD, source, target, NULL);
}

tnr_status tnr_cuda_download_start(tnr_cuda_lane *lane, const tnr_view *source, const tnr_view_mut *target,
                                   tnr_ticket **ticket)
{
    return start(lane, "cuda_download_start", TNRI_DOWNLOAD, TNR_COPY_DOWNLOAD, source, target, ticket);
}

tnr_status tnr_cuda_duplicate(tnr_cuda_lane *lane, const tnr_view *source, tnr_domain *domain, tnr_tensor **tensor)
{
    const tnri_order order = {.op = "cuda_duplicate",
                              .way = TNRI_ON_DEVICE,
                              .source = source,
                              .domain = domain,
                              .reason = TNR_COPY_DUPLICATE};
    return into_new(lane, &order, tensor);
}

tnr_status tnr_cuda_copy_into(tnr_cuda_lane *lane, const tnr_view *source, const tnr_view_mut *target)
{
    return into_view(lane, "cuda_copy_into", TNRI_ON_DEVICE, TNR_COPY_COPY_INTO, source, target, NULL);
}

tnr_status tnr_cuda_copy_start(tnr_cuda_lane *lane, const tnr_view *source, const tnr_view_mut *target,
                               tnr_ticket **ticket)
{
    return start(lane, "cuda_copy_start", TNRI_ON_DEVICE, TNR_COPY_COPY_INTO, source, target, ticket);
}
