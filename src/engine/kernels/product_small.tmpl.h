/* SPDX-License-Identifier: BSD-3-Clause */
/* One element of a product of one dtype (each_dtype.inl.h), for product_small.c. */

#include "finished.tmpl.h"
#include "times_plus.tmpl.h"

/* k NULL: neither a nor b is read. */
static void NAME(element)(const tnri_finish *finish, const tnri_product_axes *k, const char *a, const char *b, char *c)
{
    T *const to = (T *)(void *)c;
    if (k == NULL) {
        if (!finish->keep) {
            *to = NAME(scaled_by_beta)(finish, to);
        }
        return;
    }
    const T *const x = (const T *)(const void *)a;
    const T *const y = (const T *)(const void *)b;
    const REAL sign_a = finish->conjugate_a ? (REAL)-1 : (REAL)1;
    const REAL sign_b = finish->conjugate_b ? (REAL)-1 : (REAL)1;
    T sum = NAME(zero)();
    tnri_product_place at = {.a = 0};
    do {
        sum = NAME(times_plus)(NAME(conjugated)(x[at.a], sign_a), NAME(conjugated)(y[at.b], sign_b), sum);
    } while (tnri_product_step_on(k, &at));
    *to = NAME(finished)(finish, sum, to);
}
