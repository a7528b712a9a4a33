/* SPDX-License-Identifier: BSD-3-Clause */
/* The table that companion libraries reach the core by. */
#include "provider.h"

static void copy_past_caches(size_t element_bytes, int rank, const int64_t *shape, void *target,
                             const int64_t *target_strides, const void *source, const int64_t *source_strides)
{
    tnri_copy_plan plan;
    tnri_copy_plan_make(&plan, tnri_copy_kernels_of(tnri_isa_best()), true, element_bytes, rank, shape, target,
                        target_strides, source, source_strides);
    tnri_copy_plan_run(&plan, 0, 1);
}

const tnri_provider tnr_provider = {
    .version = TNRI_PROVIDER_VERSION,
    .max_rank = TNR_MAX_RANK,
    .size = sizeof(tnri_provider),
    .tensor_size = sizeof(tnr_tensor),
    .record_failure = tnri_record_failure,
    .process_attach = tnri_process_attach,
    .record_take = tnri_record_take,
    .record_give = tnri_record_give,
    .domain_check_open = tnri_domain_check_open,
    .domain_use = tnri_domain_use,
    .domain_unuse = tnri_domain_unuse,
    .options_take = tnri_options_take,
    .access_begin = tnri_access_begin,
    .access_end = tnri_access_end,
    .output_begin = tnri_output_begin,
    .output_end = tnri_output_end,
    .ledger_copy = tnri_ledger_copy,
    .access_begin_away = tnri_access_begin_away,
    .output_begin_away = tnri_output_begin_away,
    .away_read = tnri_away_read,
    .away_write = tnri_away_write,
    .away_expose = tnri_away_expose,
    .away_conceal = tnri_away_conceal,
    .access_begin_bare = tnri_access_begin_bare,
    .output_begin_bare = tnri_output_begin_bare,
    .shape_bytes = tnri_shape_bytes,
    .compact_strides = tnri_compact_strides,
    .copy_elements = tnri_copy_elements,
    .copy_past_caches = copy_past_caches,
    .group_can_publish = tnri_group_can_publish,
    .group_owner = tnri_group_owner_bytes,
    .group_item = tnri_group_own_item,
    .group_publish = tnri_group_publish,
    .group_unpublish = tnri_group_unpublish,
    .group_retract = tnri_group_retract,
    .group_publication = tnri_group_publication,
    .group_find_item = tnri_group_find_item,
};
