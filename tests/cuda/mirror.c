/* SPDX-License-Identifier: BSD-3-Clause */
#include "mirror.h"

void mirror_up(const stage *of, const catalogue_operand *host, tnr_domain *domain, bool distinct, mirrored *made)
{
    const tnr_view all = view_of(host->tensor);
    made->tensor = NULL;
    OK(tnr_cuda_upload(of->s.lane[1], &all, domain, &made->tensor));
    const int rank = host->array.rank;
    if (distinct) {
        OK(tnr_tensor_region_mut(made->tensor, rank, host->array.shape, host->strides, host->first, &made->view));
    } else {
        OK(tnr_tensor_region(made->tensor, rank, host->array.shape, host->strides, host->first, &made->view.view));
    }
}

void mirror_down(const stage *of, const mirrored *away, catalogue_operand *host)
{
    tnr_view_mut all;
    const tnr_view from = view_of(away->tensor);
    OK(tnr_tensor_view_mut(host->tensor, &all));
    OK(tnr_cuda_download_into(of->s.lane[1], &from, &all));
}

void mirror_check(const stage *of, const catalogue_call *use, tnr_tensor **made, const catalogue_array *expected)
{
    tnr_tensor *host = NULL;
    const tnr_view all = view_of(*made);
    OK(tnr_cuda_download(of->s.lane[1], &all, of->s.heap, &host));
    catalogue_tensor_check(use, host, expected);
    release(&host);
    release(made);
}
