/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints tnr_features() in the words of the configure summary; the test features_summary compares the two. */
#include <stdio.h>

#include "tenure/tenure.h"

static const char *word(bool value) { return value ? "on" : "off"; }

int main(void)
{
    tnr_feature_set features;
    tnr_features(&features);
    printf("tenure %s\n", features.version);
    printf("  max rank  %d\n", features.max_rank);
    printf("  bounded   %s\n", word(features.bounded));
    printf("  threads   %s\n", word(features.threads));
    printf("  debug     %s\n", word(features.debug));
    printf("  hwloc     %s\n", features.hwloc);
    printf("  blis      %s\n", features.blis);
    printf("  math      %s\n", features.vector_math);
    printf("  mpi       %s\n", features.mpi);
    printf("  cuda      %s\n", features.cuda);
    printf("  sanitize  %s\n", features.sanitize);
    return tnr_check_build() == TNR_OK ? 0 : 1;
}
