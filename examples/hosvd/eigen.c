/* SPDX-License-Identifier: BSD-3-Clause */
/* See eigen.h. */
#include "eigen.h"

#include <limits.h>
#include <stdio.h>

#include "denoise/try.h"

/*
 * LAPACK as its Fortran compiler makes it: names in lower case with an underscore, arguments by address, and the lengths of texts behind
 * all others. Compilers that pass no lengths do not look there.
 */
extern void dsyevd_(const char *vectors, const char *triangle, const int *n, double *a, const int *lda, double *values,
                    double *work, const int *work_count, int *integers, const int *integer_count, int *info,
                    size_t length_of_vectors, size_t length_of_triangle);

/* What dsyevd needs besides, as its reference says. */
static tnr_status make_work(tnr_domain *domain, int64_t n, tnr_tensor **work, tnr_tensor **integers)
{
    const int64_t numbers = 1 + 6 * n + 2 * n * n;
    const int64_t counts = 3 + 5 * n;
    TRY(tnr_tensor_zeros(domain, TNR_F64, 1, &numbers, work));
    return tnr_tensor_zeros(domain, TNR_I32, 1, &counts, integers);
}

static tnr_status call(int n, tnr_tensor *matrix, tnr_tensor *values, tnr_tensor *work, tnr_tensor *integers)
{
    const int numbers = 1 + 6 * n + 2 * n * n;
    const int counts = 3 + 5 * n;
    const int lda = n > 0 ? n : 1;
    int info = 0;
    void *a = NULL;
    void *w = NULL;
    void *work_data = NULL;
    void *integer_data = NULL;
    char text[96];
    TRY(tnr_tensor_host_data_mut(matrix, &a));
    TRY(tnr_tensor_host_data_mut(values, &w));
    TRY(tnr_tensor_host_data_mut(work, &work_data));
    TRY(tnr_tensor_host_data_mut(integers, &integer_data));
    dsyevd_("V", "L", &n, a, &lda, w, work_data, &numbers, integer_data, &counts, &info, 1, 1);
    if (info != 0) {
        (void)snprintf(text, sizeof text, "eigen_symmetric: LAPACK's dsyevd found no answer (info %d)", info);
        return tnr_set_error(TNR_ERR_NUMERIC, text);
    }
    return TNR_OK;
}

tnr_status eigen_symmetric(tnr_domain *domain, tnr_tensor *matrix, tnr_tensor **values)
{
    tnr_tensor_info info;
    TRY(tnr_tensor_describe(matrix, &info));
    if (info.dtype != TNR_F64 || info.rank != 2 || info.shape[0] != info.shape[1]) {
        return tnr_set_error(TNR_ERR_SHAPE, "eigen_symmetric: a square f64 matrix is needed");
    }
    const int64_t n = info.shape[0];
    if (n > INT_MAX / 4 || 1 + 6 * n + 2 * n * n > INT_MAX) {
        return tnr_set_error(TNR_ERR_OVERFLOW, "eigen_symmetric: the matrix is too large for LAPACK's integers");
    }
    tnr_tensor *found = NULL;
    tnr_tensor *work = NULL;
    tnr_tensor *integers = NULL;
    tnr_status status = tnr_tensor_zeros(domain, TNR_F64, 1, &n, &found);
    if (status == TNR_OK) {
        status = make_work(domain, n, &work, &integers);
    }
    if (status == TNR_OK) {
        status = call((int)n, matrix, found, work, integers);
    }
    (void)!tnr_tensor_release(&integers); /* nothing leases them */
    (void)!tnr_tensor_release(&work);
    if (status != TNR_OK) {
        (void)!tnr_tensor_release(&found);
        return status;
    }
    *values = found;
    return TNR_OK;
}
