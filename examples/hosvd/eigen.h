/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eigenvalues and eigenvectors of a real symmetric matrix, by LAPACK's dsyevd (divide and conquer; LAPACK Users' Guide, third edition,
 * 1999). LAPACK takes no memory of its own: what it works in is made in a domain that the caller names, and goes back before the call ends.
 */
#ifndef HOSVD_EIGEN_H
#define HOSVD_EIGEN_H

#include <tenure/tenure.h>

/*
 * `matrix`: a square f64 tensor, both triangles alike. Its bytes become the eigenvectors, a column each; *values becomes a new f64 tensor
 * of `domain`, the eigenvalues. Both ascend. On failure the matrix is spoiled and nothing else is left behind: TNR_ERR_OVERFLOW
 * where LAPACK's counts do not fit its integers (extents above some 32,000), TNR_ERR_NUMERIC where it found no answer.
 */
TNR_MUST_CHECK tnr_status eigen_symmetric(tnr_domain *domain, tnr_tensor *matrix, tnr_tensor **values);

#endif /* HOSVD_EIGEN_H */
