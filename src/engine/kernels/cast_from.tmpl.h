/* SPDX-License-Identifier: BSD-3-Clause */
/* From FROM to each of the seven dtypes. */

#define TEMPLATE "cast_to.tmpl.h"
#define DTYPES DTYPES_ALL
#include "each_dtype.inl.h"

#undef FROM
#undef FROM_SUFFIX
#undef FROM_REAL_SUFFIX
#undef FROM_KIND
