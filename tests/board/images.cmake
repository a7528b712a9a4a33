# SPDX-License-Identifier: BSD-3-Clause
# Tests that boards run too, by file: <kind>_<name> is tests/<kind>/test_<name>.c. With less to do where a definition says so.
set(TENURE_BOARD_IMAGES
    unit_arena unit_arena_sizes unit_blocks unit_pool unit_domain unit_ledger
    unit_layout unit_tensor unit_tensor_life unit_tensor_making unit_view unit_view_mut unit_lease unit_lease_split unit_map
    unit_copy unit_group unit_group_moves unit_group_spans
    unit_engine_life unit_engine_values unit_elementwise_values unit_cast unit_reduction_values unit_reduction_norms
    unit_reduction_positions unit_concatenate unit_gather unit_pad unit_structure unit_einsum
    unit_catalogue_refusals property_catalogue property_layout_model property_view_model property_storage_model
    property_arena_model property_pool_model property_einsum_model)
set(TENURE_BOARD_COUNTS_property_catalogue ROUNDS=2 LIMIT=7)
set(TENURE_BOARD_COUNTS_property_layout_model CASES=3000)
set(TENURE_BOARD_COUNTS_property_view_model CHAINS=1000)
