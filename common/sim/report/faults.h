// All faults by name: what a kernel can do wrong. report/faults.cpp has the error code and the sentence of each.
#pragma once

#include "machine/fault.h"

namespace sim::faults {

// Accesses of memory.
extern const FaultText access_misaligned, access_outside, store_to_read_only, store_to_constant, access_of_other_cta,
    access_of_no_cta, access_outside_shared, access_after_exit_in_cluster, access_after_exit, access_of_mbarrier,
    shared_misaligned, global_misaligned, access_outside_local, access_outside_parameters, unknown_space,
    mapa_of_no_cta, load_beyond_parameters, reduction_of_type, st_bulk_size, not_shared_memory;

// Copies, tensor maps, cluster launch control.
extern const FaultText map_outside_parameters, map_misaligned, map_in_wrong_memory, map_address_misaligned,
    store_at_negative_coordinate, box_of_rows, row_at_negative_coordinate, not_a_map, map_interleaved,
    map_swizzle_unsupported, coordinate_of_packed, coordinate_misaligned, packed_filled_with_nan, packed_store,
    copy_from_other_cta, copy_to_other_cta, multicast_to_none, copy_signals_other_pair, copy_signals_other_cta,
    bulk_size, copy_to_no_cta, copy_over_mbarrier, exit_before_own_loads, cancel_after_refusal, query_of_no_response,
    cta_of_refused_cancel, st_async_signals_other_cta, reduction_of_packed, replaced_swizzle_unsupported,
    replace_in_no_map, replaced_dimension, map_for_im2col, map_not_for_im2col, map_rank, map_rank_of_rows, map_box_size,
    map_box_bytes, map_box_beyond_swizzle, map_element_stride, map_stride;

// Branches, calls, programs.
extern const FaultText branch_index, printf_outside_local_memory, printf_of_bad_address, assertion, free_of_foreign,
    call_with_other_prototype, stack_overflow, trap, breakpoint, call_of_null, call_of_no_function, not_ptx,
    too_large_program;

// Barriers, and the ends of warps and CTAs.
extern const FaultText exit_before_own_stores, exit_with_tensor_memory, register_of_unfinished, barrier_number,
    barrier_count_of_no_warps, barrier_of_too_many, barrier_with_two_counts, barrier_arrival_twice,
    cluster_arrival_twice, cluster_wait_without_arrival, mbarrier_of_other_cta, mbarrier_count, init_under_wait,
    inval_under_wait, no_complete_completes, signal_to_no_cta, exit_before_commit, exit_before_relaxed_arrival,
    no_mbarrier, mbarrier_invalidated, commit_after_exit, signal_after_exit_in_cluster, signal_after_exit,
    too_many_arrivals, too_many_bytes_expected, too_many_bytes_delivered;

// Tensor operations and their descriptors.
extern const FaultText operand_outside_shared, operand_with_other_swizzle, alloc_columns, alloc_after_relinquish,
    alloc_of_pair_differs, alloc_of_pair_finds_none, dealloc_of_free, commit_to_no_cta, tensor_copy_after_exit,
    tensor_copy_not_allocated, tensor_copy_lane, no_tensor_memory, pair_of_odd_cluster, peer_has_exited,
    needed_cta_has_exited, mma_not_allocated, transposed_tf32, transposed_with_atoms, mma_operand_lane,
    metadata_at_odd_column, sparse_b_too_narrow, shift_not_allocated, shift_lane, transfer_out_of_reach,
    transfer_at_no_quarter, transfer_at_no_half, transfer_not_allocated, transfer_of_several_addresses,
    load_of_unfinished_store, incomplete_warpgroup, no_wgmma, warpgroup_sequences_differ, warpgroup_operands_differ,
    wgmma_of_unfinished, descriptor_constant, descriptor_of_wgmma, descriptor_reserved_bits, descriptor_absolute_mode,
    descriptor_swizzle, descriptor_of_tcgen05, wgmma_descriptor_reserved_bits, sparsity_of_equal_indices,
    sparsity_of_neither, mma_d_lane, mma_d_lane_of_half, mma_d_uninitialised, store_before_wgmma, store_under_wgmma,
    instruction_type_f16, instruction_type_tf32, instruction_type_f8f6f4, instruction_type_i8, instruction_type_mxf4,
    instruction_sparse, instruction_dense, instruction_transposes_small, instruction_transposes_tmem,
    instruction_small_in_tmem, instruction_reserved, instruction_reserved_scaled, instruction_reserved_31,
    instruction_k96, instruction_ue4m3, instruction_factors, instruction_factors_of_two, instruction_selector,
    instruction_selector_of_dense, instruction_selector_of_kind, instruction_saturates, instruction_saturates_i8,
    instruction_shifts, instruction_shifts_ws, instruction_accumulators, instruction_f16_of_bf16,
    instruction_f16_of_tf32, shape_of_one, shape_of_pair, shape_of_ws, shape_of_scaled, shape_of_scaled_pair,
    shape_of_scaled_half, shape_of_sparse;

// What the timing model cannot predict.
extern const FaultText waits_for_other_warps, unknown_lanes, unknown_effect, unknown_address,
    timing_of_dependent_clusters, timing_of_unlike_clusters, timing_of_many_kinds;

// Why an instruction is not known.
extern const FaultText accumulators_of_n, argument_not_in_param, bytes_required, comparison_required, constant_required,
    coordinates_required, cvt_pack_without_sat, destination_is_no_register, dynamic_parallelism, empty_vector,
    enable_input_d_missing, five_coordinates_required, four_types_required, function_without_body, kind_of_address,
    kind_of_operand, masks_of_ws, missing_function, missing_variable, mode_required, narrow_global_address,
    neither_wait_nor_launch, not_a_predicate, not_simulated, number_of_registers, numbers_of_registers_differ,
    offsets_required, only_row_col, operand_missing, operation_on_type, operation_required, other_arguments,
    other_operands, pair_ws, predicate_required, property_required, reduction_required, registers_of_a,
    registers_of_matrices, registers_of_shape, registers_of_vector, relu_of_type, scaled_products, shape_required,
    shfl_without_sync, small_elements, space_of_variable, space_required, sparse_ws, target_is_no_function,
    target_is_no_label, three_sources, too_many_coordinates, too_many_masks, too_many_values, two_types_required,
    type_of_cvt_pack, type_of_operands, type_required, undeclared_targets, unknown_comparison, unknown_field,
    unknown_form, unknown_kind, unknown_modifier, unknown_opcode, unknown_operation, unknown_shape,
    unknown_shape_or_types, unknown_type, unknown_types, vote_without_sync, wide_address_required, wide_argument,
    wide_instruction_descriptor, wide_result, width_of_register, widths_of_registers_differ;

}  // namespace sim::faults
