# SPDX-License-Identifier: BSD-3-Clause
# Tests that boards run too: <kind>_<name> is tests/<kind>/test_<name>.c. TENURE_BOARD_COUNTS_<image>: definitions that make for less
# to do. TENURE_BOARD_LEFT_OUT_<image>: tests of that file that boards do not run, and why.
set(TENURE_BOARD_IMAGES
    unit_arena unit_arena_seal unit_exact_need unit_blocks unit_pool unit_domain unit_ledger
    unit_layout unit_tensor unit_tensor_life unit_tensor_making unit_view unit_view_mut unit_lease unit_lease_split unit_map
    unit_copy unit_group unit_group_reserve unit_group_moves unit_group_spans
    unit_engine_life unit_engine_values unit_elementwise_values unit_cast unit_reduction_values unit_reduction_norms
    unit_reduction_positions unit_concatenate unit_gather unit_pad unit_structure unit_product_scalars unit_einsum
    unit_catalogue_refusals property_catalogue property_layout_model property_pool_model)
set(TENURE_BOARD_COUNTS_property_catalogue ROUNDS=2 LIMIT=7)
set(TENURE_BOARD_COUNTS_property_layout_model CASES=3000)

# Sizes whose end is that of 64-bit addresses.
set(TENURE_BOARD_LEFT_OUT_unit_arena sl02_e_sizes_near_the_limit)

# Heap domains, which boards lack: an arena stands for them.
list(APPEND TENURE_BOARD_LEFT_OUT_unit_arena options_are_checked)
set(TENURE_BOARD_LEFT_OUT_unit_domain null_arguments_are_refused)
set(TENURE_BOARD_LEFT_OUT_unit_tensor_life forgotten_heap_bytes_are_given_to_free)

# A model in long double, which is no wider than double here; newlib's complex functions.
set(TENURE_BOARD_LEFT_OUT_unit_elementwise_values test_complex_quotients)
set(TENURE_BOARD_LEFT_OUT_unit_engine_values test_exp_of_complex_numbers)

# Scratch of products: small builds take none.
set(TENURE_BOARD_LEFT_OUT_unit_engine_life test_need_of_a_product test_scratch_is_kept_and_grows)
set(TENURE_BOARD_LEFT_OUT_unit_catalogue_refusals test_refused_products_take_no_scratch)

# Tens of megabytes.
list(APPEND TENURE_BOARD_LEFT_OUT_unit_elementwise_values
    test_large_runs_from_any_element test_large_planes test_workers_change_no_bit)
list(APPEND TENURE_BOARD_LEFT_OUT_unit_engine_values
    test_long_sums_keep_their_precision test_very_long_sums_keep_their_precision test_large_planes_in_every_order)
set(TENURE_BOARD_LEFT_OUT_unit_pad test_a_lattice_of_many_boxes)
set(TENURE_BOARD_LEFT_OUT_unit_copy
    test_copy_permutes_blocks_of_every_kind test_copy_puts_runs_together test_copy_large)

# Long loops: the same is seen on the host, and a minute is all that these tests may take.
set(TENURE_BOARD_LEFT_OUT_unit_einsum warm_calls_take_nothing)
list(APPEND TENURE_BOARD_LEFT_OUT_unit_engine_life test_needs_are_exact)
list(APPEND TENURE_BOARD_LEFT_OUT_unit_domain serials_minted_by_threads_differ)
