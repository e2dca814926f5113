// The error code and the sentence of each fault, and the instruction that is missing.
#include "report/faults.h"

namespace sim::faults {

#define FAULT(name, status, ...) \
  constexpr FaultText name { #name, Status::status, __VA_ARGS__ }
#define UNKNOWN(name, ...) \
  constexpr FaultText name { #name, Status::IllegalInstruction, __VA_ARGS__, "", true }

// Accesses of memory.
FAULT(access_misaligned, MisalignedAddress, "a {0}-byte {1} at {2:x} needs an address that is a multiple of {0}");
FAULT(access_outside, IllegalAddress, "{0} of {1} bytes at {2:x}: {3}");
FAULT(store_to_read_only, IllegalAddress, "{0} to memory that kernels may only read ({1})");
FAULT(store_to_constant, IllegalAddress, "{0} to constant memory ({1})");
FAULT(access_of_other_cta, IllegalInstruction,
      "{0}: the address {1:x} belongs to CTA rank {2}, but a shared::cta access must stay in its own CTA (rank "
      "{3}); use shared::cluster");
FAULT(access_of_no_cta, IllegalAddress, "{0}: the address {1:x} names CTA rank {2} of a cluster of {3}");
FAULT(access_outside_shared, IllegalAddress,
      "{0} of {1} bytes at shared offset {2:x}: the CTA's shared memory is {3:x} .. {4:x} ({5:g} bytes)");
FAULT(access_after_exit_in_cluster, LaunchFailure,
      "{0}: {1:,} has exited (cluster target block not present); a cluster barrier must keep it alive");
FAULT(access_after_exit, LaunchFailure, "{0}: {1:,} has exited; one of its threads must wait for this before it ends");
FAULT(access_of_mbarrier, LaunchFailure,
      "{0} at {1} touches a live mbarrier: its 8 bytes are opaque until mbarrier.inval");
FAULT(shared_misaligned, MisalignedAddress, "{0}: the shared address {1:x} must be a multiple of {2}");
FAULT(global_misaligned, MisalignedAddress, "{0}: the global address {1:x} must be a multiple of {2}");
FAULT(access_outside_local, IllegalAddress,
      "{0} of {1} bytes at local offset {2:x}: this kernel has {3} bytes of local memory per thread");
FAULT(access_outside_parameters, IllegalAddress,
      "{0} at offset {1:x} of the kernel's parameters ({2} bytes, read-only)");
FAULT(unknown_space, InvalidAddressSpace, "an access of an unknown address space");
FAULT(mapa_of_no_cta, IllegalAddress, "mapa: CTA rank {0} of a cluster of {1}");
FAULT(load_beyond_parameters, IllegalAddress, "a load beyond the kernel's parameters");
FAULT(reduction_of_type, IllegalInstruction, "a reduction of a type that is not supported");
FAULT(st_bulk_size, MisalignedAddress, "st.bulk of {0:g} bytes: the size must be a multiple of 8");
FAULT(not_shared_memory, InvalidAddressSpace, "{0}{1}: {2:x} is not an address of shared memory");

// Copies, tensor maps, cluster launch control.
FAULT(map_outside_parameters, IllegalAddress, "the tensor map lies outside the kernel's parameters");
FAULT(map_misaligned, MisalignedAddress,
      "a tensor map must be 64-byte aligned; this one is at offset {0:x} of the parameters");
FAULT(map_in_wrong_memory, IllegalInstruction,
      "a tensor map must lie in the kernel's parameters (__grid_constant__), in constant or in global memory; this "
      "one is a copy on the stack or in shared memory");
FAULT(map_address_misaligned, MisalignedAddress,
      "global_address of the tensor map is {0:x}; it must be a multiple of 16");
FAULT(store_at_negative_coordinate, IllegalInstruction,
      "a TMA store at the negative coordinate {0} (dimension {1}): only loads may start outside");
FAULT(box_of_rows, IllegalInstruction,
      "the box of the tensor map has {0} rows: tile::gather4 and tile::scatter4 need 1 (boxDim[1])");
FAULT(row_at_negative_coordinate, IllegalInstruction,
      "a TMA store at the negative coordinate {0}: only loads may start outside");
FAULT(not_a_map, IllegalInstruction, "the 128 bytes at {0:x} are not a tensor map made by cuTensorMapEncodeTiled");
FAULT(map_interleaved, IllegalInstruction, "interleaved tensor maps are not supported by the simulated device");
FAULT(map_swizzle_unsupported, IllegalInstruction,
      "this swizzle mode (CUtensorMapSwizzle {0}) is not supported by the simulated device");
FAULT(coordinate_of_packed, IllegalInstruction,
      "the innermost coordinate {0} must be a multiple of 128 with 16U4_ALIGN16B and 16U6_ALIGN16B");
FAULT(coordinate_misaligned, IllegalInstruction,
      "the innermost coordinate {0} is {1} bytes, but TMA needs a multiple of 16 bytes");
FAULT(packed_filled_with_nan, IllegalInstruction, "packed tensors (16U4, 16U6) cannot be filled with NaN");
FAULT(packed_store, IllegalInstruction, "TMA stores do not support tensors of 16U4_ALIGN16B: only loads do");
FAULT(copy_from_other_cta, IllegalInstruction, "the source of a copy from shared::cta must be in this CTA");
FAULT(copy_to_other_cta, IllegalInstruction, "a .shared::cta destination must be in this CTA");
FAULT(multicast_to_none, IllegalInstruction, "a multicast with an empty CTA mask");
FAULT(copy_signals_other_pair, LaunchFailure,
      "the mbarrier is in CTA {0}, the destination in CTA {1}: with .cta_group::2 both must be in one pair");
FAULT(copy_signals_other_cta, LaunchFailure,
      "the mbarrier is in CTA {0}, the destination in CTA {1}: without .cta_group::2 both must be in the same CTA");
FAULT(bulk_size, MisalignedAddress, "a bulk copy of {0} bytes: the size must be a multiple of 16");
FAULT(copy_to_no_cta, IllegalAddress, "{0}: CTA rank {1} does not exist in this cluster");
FAULT(copy_over_mbarrier, LaunchFailure, "{0} over the live mbarrier at {1}");
FAULT(exit_before_own_loads, LaunchFailure,
      "{0:,} has exited before a copy into its shared memory was complete: it must wait for its copies");
FAULT(cancel_after_refusal, LaunchFailure,
      "try_cancel by a CTA that has already read a refusal: no further request is allowed");
FAULT(query_of_no_response, LaunchFailure,
      "query_cancel of 16 bytes that are not a response of try_cancel, or not yet");
FAULT(cta_of_refused_cancel, LaunchFailure, "get_first_ctaid of a try_cancel that cancelled nothing");
FAULT(st_async_signals_other_cta, LaunchFailure, "st.async: destination and mbarrier must be in the same CTA");
FAULT(reduction_of_packed, IllegalInstruction, "TMA reductions do not support packed types (16U4, 16U6)");
FAULT(replaced_swizzle_unsupported, IllegalInstruction,
      "tensormap.replace: swizzle_mode 4 (96 bytes) is not simulated");
FAULT(replace_in_no_map, IllegalInstruction, "tensormap.replace: the 128 bytes are neither a tensor map nor all zero");
FAULT(replaced_dimension, IllegalInstruction, "tensormap.replace: dimension {0}");
FAULT(map_for_im2col, IllegalInstruction, "the tensor map is for im2col, but the instruction has no .im2col");
FAULT(map_not_for_im2col, IllegalInstruction, "the instruction has .im2col, but the tensor map is not for im2col");
FAULT(map_rank, IllegalInstruction, "the instruction names {1} coordinates, but the tensor map has rank {0}");
FAULT(map_rank_of_rows, IllegalInstruction,
      "tile::gather4 and tile::scatter4 need a tensor map of rank 2, but the tensor map has rank {0}");
FAULT(map_box_size, IllegalInstruction, "box_dim[{0}] of the tensor map is {1}; it must be 1 to 256 (elements)");
FAULT(map_box_bytes, IllegalInstruction, "box_dim[{0}] of the tensor map is {1}; it must be a multiple of 16 bytes");
FAULT(map_box_beyond_swizzle, IllegalInstruction,
      "box_dim[{0}] of the tensor map is {1}; it must be at most as many bytes as the swizzle spans");
FAULT(map_element_stride, IllegalInstruction, "element_stride[{0}] of the tensor map is {1}; it must be 1 to 8");
FAULT(map_stride, IllegalInstruction,
      "global_stride[{0}] of the tensor map is {1}; it must be a multiple of 16 (bytes)");

// Branches, calls, programs.
FAULT(branch_index, IllegalInstruction, "brx.idx: index {0} of a table of {1} targets");
FAULT(printf_outside_local_memory, IllegalAddress, "printf: an argument lies outside local memory");
FAULT(printf_of_bad_address, IllegalAddress, "printf: {0}");
FAULT(assertion, Assert, "assertion `{0}` failed at {1}:{2} in {3}");
FAULT(free_of_foreign, IllegalAddress, "free of {0:x}, which malloc did not return");
FAULT(call_with_other_prototype, IllegalInstruction,
      "a call through a pointer to {0}, whose parameters and results are not those of the call's prototype");
FAULT(stack_overflow, HardwareStackError,
      "the stack overflows: {0} is called at depth {1:g}, its frame takes {2:g} bytes, and of the thread's stack of "
      "{3:g} bytes {4:g} are left; cudaDeviceSetLimit(cudaLimitStackSize, ...) asks for more");
FAULT(trap, LaunchFailure, "the kernel executed trap");
FAULT(breakpoint, LaunchFailure, "a breakpoint (brkpt) was reached");
FAULT(call_of_null, InvalidPc, "a call through a null pointer");
FAULT(call_of_no_function, InvalidPc,
      "a call through the pointer {0:x}, which is not the address of a device function of this kernel's module");
FAULT(not_ptx, IllegalInstruction, "not PTX: {0}");
FAULT(too_large_program, LaunchOutOfResources,
      "with the functions that it calls, it has more than {0:g} instructions or {1} of registers a warp");

// Barriers, and the ends of warps and CTAs.
FAULT(exit_before_own_stores, LaunchFailure,
      "the warp exits while {0} of its bulk stores still read shared memory: cp.async.bulk.wait_group.read 0 is "
      "required before",
      "cp.async.bulk.wait_group.read");
FAULT(exit_with_tensor_memory, LaunchFailure,
      "the CTA exits with tensor memory allocated ({0}): tcgen05.dealloc is required, or a later CTA waits for the "
      "columns for ever",
      "tcgen05.dealloc");
FAULT(register_of_unfinished, LaunchFailure,
      "a register is used that an unfinished tcgen05.ld or wgmma has still to write: tcgen05.wait::ld or "
      "wgmma.wait_group is required before",
      "wgmma.wait_group");
FAULT(barrier_number, IllegalInstruction, "barrier {0}: there are 16, numbered 0 to 15");
FAULT(barrier_count_of_no_warps, IllegalInstruction, "barrier {0}: the thread count {1} is not a multiple of 32");
FAULT(barrier_of_too_many, LaunchFailure, "barrier {0} waits for {1} threads, but the CTA has {2}");
FAULT(barrier_with_two_counts, LaunchFailure,
      "barrier {0} is used with two thread counts at once: {1} here, {2} by an earlier arrival (0: all threads)");
FAULT(barrier_arrival_twice, LaunchFailure,
      "warp {0} arrives at barrier {1} twice in one phase and counts for two warps: the phase may complete without "
      "another one. Between the two arrivals the warp must wait for the phase to complete, or use another barrier",
      "bar.sync");
FAULT(cluster_arrival_twice, LaunchFailure, "barrier.cluster.arrive twice without barrier.cluster.wait in between",
      "barrier.cluster.wait");
FAULT(cluster_wait_without_arrival, LaunchFailure, "barrier.cluster.wait without barrier.cluster.arrive before",
      "barrier.cluster.arrive");
FAULT(mbarrier_of_other_cta, IllegalInstruction,
      "this form works on the CTA's own mbarrier only, but the address {0:x} belongs to CTA rank {1} (this is rank "
      "{2})");
FAULT(mbarrier_count, LaunchFailure, "mbarrier.init with a count of {0}: 1 to 1,048,575 arrivals are possible");
FAULT(init_under_wait, LaunchFailure, "mbarrier.init of a barrier that a thread waits on");
FAULT(inval_under_wait, LaunchFailure, "mbarrier.inval while a thread waits on the barrier");
FAULT(no_complete_completes, LaunchFailure, "mbarrier.arrive.noComplete would complete the phase");
FAULT(signal_to_no_cta, IllegalAddress, "CTA rank {0} does not exist in this cluster of {1}");
FAULT(exit_before_commit, LaunchFailure,
      "{0:,} has exited before a tcgen05.commit has arrived at its mbarrier: one of its threads must wait for the "
      "last commit before it ends",
      "mbarrier.try_wait");
FAULT(exit_before_relaxed_arrival, LaunchFailure,
      "{0:,} has exited before an arrival at its mbarrier: the cluster barrier after the arrival is relaxed, and "
      "barrier.cluster.arrive.release is required");
FAULT(no_mbarrier, LaunchFailure,
      "there is no mbarrier at {0} of {1}: mbarrier.init must come first, fence.mbarrier_init, and a barrier of all "
      "threads concerned",
      "mbarrier.init");
FAULT(mbarrier_invalidated, LaunchFailure,
      "there is no mbarrier at {0} of {1}: it has been invalidated (mbarrier.inval) at {2}, and a wait for the "
      "phase in which this arrives must come before that",
      "mbarrier.try_wait");
FAULT(commit_after_exit, LaunchFailure,
      "{0:,} has exited, but the mbarrier at {1} of {0} is still signalled: a thread must wait for its last commit "
      "before the CTA ends",
      "mbarrier.try_wait");
FAULT(signal_after_exit_in_cluster, LaunchFailure,
      "{0:,} has exited, but the mbarrier at {1} of {0} is still signalled: the cluster needs a barrier after the "
      "last such signal has arrived (cluster target block not present)");
FAULT(signal_after_exit, LaunchFailure,
      "{0:,} has exited, but the mbarrier at {1} of {0} is still signalled: one of its threads must wait for the "
      "last such signal before it ends");
FAULT(too_many_arrivals, LaunchFailure,
      "the mbarrier at {0} of {1}: more arrivals than the phase still waits for: {phase}. A wait "
      "(mbarrier.try_wait) for this phase is missing before the arrival of the next, or mbarrier.init counts too few",
      "mbarrier.try_wait");
FAULT(too_many_bytes_expected, LaunchFailure,
      "the mbarrier at {0} of {1}: a phase cannot wait for more than 1,048,575 bytes");
FAULT(too_many_bytes_delivered, LaunchFailure,
      "the mbarrier at {0} of {1}: more than 1,048,575 bytes were delivered beyond what the phase expects");

// Tensor operations and their descriptors.
FAULT(operand_outside_shared, IllegalAddress,
      "operand {0} of the MMA reaches shared offset {1:x} of {2}, which has {3:x} .. {4:x}");
FAULT(operand_with_other_swizzle, LaunchFailure,
      "operand {0} is read with {1}, but TMA wrote {2} of {3} with {4}: the tensor map and the descriptor must agree");
FAULT(alloc_columns, IllegalInstruction, "tcgen05.alloc of {0} columns: a power of two from 32 to 512 is required");
FAULT(alloc_after_relinquish, LaunchFailure, "tcgen05.alloc after tcgen05.relinquish_alloc_permit");
FAULT(alloc_of_pair_differs, LaunchFailure,
      "tcgen05.alloc with cta_group::2: one CTA asks for {0} columns, its peer for {1}");
FAULT(alloc_of_pair_finds_none, LaunchFailure,
      "tcgen05.alloc with cta_group::2 finds no {0} columns free in both CTAs: {1} and {2} are taken");
FAULT(dealloc_of_free, LaunchFailure, "tcgen05.dealloc of {0} columns at {1:x} in CTA {2}: allocated are {3}");
FAULT(commit_to_no_cta, IllegalAddress, "tcgen05.commit to CTA rank {0} of a cluster of {1}");
FAULT(tensor_copy_after_exit, LaunchFailure, "tcgen05.cp needs CTA {0}, which has exited");
FAULT(tensor_copy_not_allocated, LaunchFailure, "tcgen05.cp to columns that are not allocated: {0}");
FAULT(tensor_copy_lane, IllegalInstruction,
      "tcgen05.cp.4x256b at lane {0}: its rows go to this lane and every 32nd after it, so it must be 0 to 31");
FAULT(no_tensor_memory, IllegalInstruction, "this GPU ({0}) has no tcgen05: it exists from compute capability 10.0 on");
FAULT(pair_of_odd_cluster, IllegalInstruction, "{0} with cta_group::2 needs a cluster with an even number of CTAs");
FAULT(peer_has_exited, LaunchFailure, "{0}: the peer, {1}, has exited (cluster target block not present)");
FAULT(needed_cta_has_exited, LaunchFailure,
      "{0} still needs shared and tensor memory of {1}, which has exited (cluster target block not present)");
FAULT(mma_not_allocated, LaunchFailure,
      "{0} of the MMA needs tensor memory columns {1}..{2} of {3}, where allocated are: {4}");
FAULT(transposed_tf32, IllegalInstruction,
      "operand {0} of the MMA is transposed: TF32 then needs the 128-byte swizzle with 32-byte atoms (code 1)");
FAULT(transposed_with_atoms, IllegalInstruction,
      "operand {0} of the MMA is transposed: the 128-byte swizzle with 32-byte atoms (code 1) is for TF32 only");
FAULT(mma_operand_lane, IllegalInstruction, "{0} of the MMA start at TMEM lane {1}; they take all lanes, from 0 on");
FAULT(metadata_at_odd_column, IllegalInstruction,
      "the metadata of the MMA start at the odd TMEM column {0}; the address is that of a pair of columns, of which "
      "the instruction descriptor selects one (bits 0..1)");
FAULT(sparse_b_too_narrow, IllegalInstruction,
      "B of a sparse MMA has 64 bytes of K, which a K-major layout with the 32-byte swizzle cannot hold");
FAULT(shift_not_allocated, LaunchFailure, "tcgen05.shift of columns that are not allocated: {0}");
FAULT(shift_lane, LaunchFailure, "tcgen05.shift begins at lane {0}; it can begin at lanes 0, 32, 64 and 96");
FAULT(transfer_out_of_reach, LaunchFailure,
      "{0}: warp {1} can reach TMEM lanes {2}..{3} (its index modulo 4 decides), but the address names lane {4}");
FAULT(transfer_at_no_quarter, IllegalInstruction,
      "{0} at TMEM lane {1}: this shape starts at the first lane of a warp's quarter");
FAULT(transfer_at_no_half, IllegalInstruction,
      "{0} at TMEM lane {1}: this shape starts at the first lane of a warp's quarter or 16 lanes on");
FAULT(transfer_not_allocated, LaunchFailure, "{0} of tensor memory columns {1}..{2}: allocated are {3}");
FAULT(transfer_of_several_addresses, LaunchFailure,
      "tcgen05.ld and st need the same TMEM address in all lanes of the warp");
FAULT(load_of_unfinished_store, LaunchFailure,
      "tcgen05.ld of what an unfinished tcgen05.st has still to store: tcgen05.wait::st is required before");
FAULT(incomplete_warpgroup, IllegalInstruction,
      "wgmma needs a whole warpgroup of four warps, but warp {0} belongs to an incomplete one (the CTA has {1} "
      "warps)");
FAULT(no_wgmma, IllegalInstruction, "this GPU ({0}) has no wgmma: it exists on compute capability 9.0 only");
FAULT(warpgroup_sequences_differ, LaunchFailure,
      "the warps of a warpgroup execute different sequences of wgmma and wgmma.commit_group: all four must execute "
      "the same");
FAULT(warpgroup_operands_differ, LaunchFailure,
      "the warps of a warpgroup execute a wgmma with different descriptors or scale-d");
FAULT(wgmma_of_unfinished, LaunchFailure,
      "wgmma takes {0} from a register that an unfinished operation has still to write");
FAULT(descriptor_constant, IllegalInstruction,
      "the shared-memory descriptor of {0} ({1:x}) must have 0b001 in bits 46..48, found {2}");
FAULT(descriptor_of_wgmma, IllegalInstruction,
      "the shared-memory descriptor of {0} ({1:x}) must have 0b001 in bits 46..48, found 0: this looks like a wgmma "
      "descriptor, tcgen05 has other codes");
FAULT(descriptor_reserved_bits, IllegalInstruction,
      "the shared-memory descriptor of {0} ({1:x}) has reserved bits set (14..15, 30..31 or 53..60)");
FAULT(descriptor_absolute_mode, IllegalInstruction,
      "the shared-memory descriptor of {0} ({1:x}) uses the absolute leading-dimension mode (bit 52), which sm_100a "
      "does not have");
FAULT(descriptor_swizzle, IllegalInstruction,
      "the shared-memory descriptor of {0} ({1:x}) has the swizzle code {2} in bits 61..63: 0, 1, 2, 4 and 6 exist");
FAULT(descriptor_of_tcgen05, IllegalInstruction,
      "the shared-memory descriptor of {0} ({1:x}) has reserved bits set (14..15, 30..31, 46..48 or 52..61): bit 46 "
      "belongs to tcgen05 descriptors");
FAULT(wgmma_descriptor_reserved_bits, IllegalInstruction,
      "the shared-memory descriptor of {0} ({1:x}) has reserved bits set (14..15, 30..31, 46..48 or 52..61)");
FAULT(sparsity_of_equal_indices, LaunchFailure,
      "the sparsity metadata hold the four bits {0:x}; they are two indices of two bits, which must differ (0x4, "
      "0x8, 0xC, 0x9, 0xD, 0x6 or 0xE) where A is not zero");
FAULT(sparsity_of_neither, LaunchFailure,
      "the sparsity metadata hold the four bits {0:x}; of two elements of 32 bits, 0x4 selects the first and 0xE "
      "the second");
FAULT(mma_d_lane, IllegalInstruction, "D of the MMA starts at TMEM lane {0}; 0 is required");
FAULT(mma_d_lane_of_half, IllegalInstruction, "D of the MMA starts at TMEM lane {0}; 0 or 16 is required");
FAULT(mma_d_uninitialised, IllegalInstruction,
      "D of the MMA starts at TMEM lane {0}; 0 is required. The address is all ones, as uninitialised memory is: "
      "tcgen05.alloc, and a barrier after it, come first",
      "tcgen05.alloc");
FAULT(store_before_wgmma, LaunchFailure,
      "{0} of what a wgmma reads, before its own warp has issued that; but warp {1} of the warpgroup has read it "
      "already. The ISA does not say that the four begin together: a barrier of the four before wgmma.mma_async is "
      "required. Hardware begins them as one");
FAULT(store_under_wgmma, LaunchFailure,
      "{0} overwrites what a wgmma of warp {1} has still to read, and another warp of its warpgroup has read already. "
      "Either nothing waits for the wgmma before that, or not for all four warps, of which the ISA does not say that "
      "they complete together (--check says which it is): wgmma.wait_group in each warp, and a barrier of the four "
      "after it, are required. Hardware completes the four as one");
FAULT(instruction_type_f16, IllegalInstruction,
      "the instruction descriptor {0:x} gives {1} the type code {2}: kind::f16 has F16 = 0 and BF16 = 1");
FAULT(instruction_type_tf32, IllegalInstruction,
      "the instruction descriptor {0:x} gives {1} the type code {2}: kind::tf32 has TF32 = 2");
FAULT(instruction_type_f8f6f4, IllegalInstruction,
      "the instruction descriptor {0:x} gives {1} the type code {2}: this kind has E4M3 = 0, E5M2 = 1, E2M3 = 3, "
      "E3M2 = 4, E2M1 = 5");
FAULT(instruction_type_i8, IllegalInstruction,
      "the instruction descriptor {0:x} gives {1} the type code {2}: kind::i8 has U8 = 0, S8 = 1");
FAULT(instruction_type_mxf4, IllegalInstruction,
      "the instruction descriptor {0:x} gives {1} the type code {2}: kind::mxf4 and kind::mxf4nvf4 have E2M1 = 1");
FAULT(instruction_sparse, IllegalInstruction,
      "the instruction descriptor {0:x} says that A is sparse (bit 2), which is for tcgen05.mma.sp");
FAULT(instruction_dense, IllegalInstruction,
      "the instruction descriptor {0:x} says that A is dense (bit 2 is 0), but the instruction is tcgen05.mma.sp");
FAULT(instruction_transposes_small, IllegalInstruction,
      "the instruction descriptor {0:x} asks to transpose {1}, which is not supported for elements of four and six "
      "bits");
FAULT(instruction_transposes_tmem, IllegalInstruction,
      "the instruction descriptor {0:x} asks to transpose A, which cannot be done in tensor memory");
FAULT(instruction_small_in_tmem, IllegalInstruction,
      "the instruction descriptor {0:x} names elements of four or six bits for an A in tensor memory, which is not "
      "supported: the ISA shows their position in a byte only in figures");
FAULT(instruction_reserved, IllegalInstruction, "the instruction descriptor {0:x} has reserved bits set (6, 23 or 29)");
FAULT(instruction_reserved_scaled, IllegalInstruction,
      "the instruction descriptor {0:x} has reserved bits set (0, 1, 3, 6 or 24..26)");
FAULT(instruction_reserved_31, IllegalInstruction, "the instruction descriptor {0:x} has reserved bit 31 set");
FAULT(instruction_k96, IllegalInstruction,
      "the instruction descriptor {0:x} asks for K = 96 (bit 31), which sm_100a does not have");
FAULT(instruction_ue4m3, IllegalInstruction,
      "the instruction descriptor {0:x} gives the factors the type UE4M3 (bit 23 is 0), which only kind::mxf4nvf4 "
      "with four factors per row (.scale_vec::4X) has; UE8M0 is 1");
FAULT(instruction_factors, IllegalInstruction,
      "the instruction descriptor {0:x} says that factors begin at byte {1} (bits 4..5, 29..30); with {2} per row "
      "it is 0");
FAULT(instruction_factors_of_two, IllegalInstruction,
      "the instruction descriptor {0:x} says that factors begin at byte {1} (bits 4..5, 29..30); with {2} per row "
      "it is 0 or 2");
FAULT(instruction_selector, IllegalInstruction,
      "the instruction descriptor {0:x} has the sparsity selector {1} (bits 0..1): only 0 and 1 are supported, the "
      "two columns of a pair");
FAULT(instruction_selector_of_dense, IllegalInstruction,
      "the instruction descriptor {0:x} has a sparsity selector (bits 0..1) and a dense A");
FAULT(instruction_selector_of_kind, IllegalInstruction,
      "the instruction descriptor {0:x} has a sparsity selector (bits 0..1), which only kind::f16 and kind::tf32 "
      "have");
FAULT(instruction_saturates, IllegalInstruction,
      "the instruction descriptor {0:x} asks for saturation (bit 3), which only kind::i8 has");
FAULT(instruction_saturates_i8, IllegalInstruction,
      "the instruction descriptor {0:x} asks for saturation (bit 3), which is not supported");
FAULT(instruction_shifts, IllegalInstruction,
      "the instruction descriptor {0:x} asks for a shift of B (bits 30..31), which only tcgen05.mma.ws has");
FAULT(instruction_shifts_ws, IllegalInstruction,
      "the instruction descriptor {0:x} asks for a shift of B (bits 30..31), which is not supported");
FAULT(instruction_accumulators, IllegalInstruction,
      "the instruction descriptor {0:x} has the accumulator code {1}, which this kind does not have (F16 = 0, F32 = "
      "1, S32 = 2)");
FAULT(instruction_f16_of_bf16, IllegalInstruction,
      "the instruction descriptor {0:x} asks for F16 accumulators of BF16 operands");
FAULT(instruction_f16_of_tf32, IllegalInstruction,
      "the instruction descriptor {0:x} asks for F16 accumulators, which kind::tf32 does not have");
FAULT(shape_of_one, IllegalInstruction,
      "the instruction descriptor {0:x} names M = {1}, N = {2}; with cta_group::1 M is 64 or 128 and N a multiple "
      "of 8 (M = 128: 16) up to 256");
FAULT(shape_of_pair, IllegalInstruction,
      "the instruction descriptor {0:x} names M = {1}, N = {2}; with cta_group::2 M is 128 or 256 (of the pair) and "
      "N a multiple of 16 up to 256");
FAULT(shape_of_ws, IllegalInstruction,
      "the instruction descriptor {0:x} names M = {1}, N = {2}; tcgen05.mma.ws has M = 32, 64 or 128 and N = 64, "
      "128 or 256");
FAULT(shape_of_scaled, IllegalInstruction,
      "the instruction descriptor {0:x} names M = {1}, N = {2}; with block scaling and cta_group::1 M is 128 and N "
      "a multiple of 8 up to 256");
FAULT(shape_of_scaled_pair, IllegalInstruction,
      "the instruction descriptor {0:x} names M = {1}, N = {2}; with block scaling and cta_group::2 M is 128 or 256 "
      "(of the pair) and N a multiple of 16 up to 256");
FAULT(shape_of_scaled_half, IllegalInstruction,
      "the instruction descriptor {0:x} names M = {1}, N = {2}: block scaling with M = 128 in a pair of CTAs is not "
      "supported: the ISA shows the layout of B's factors only in figures");
FAULT(shape_of_sparse, IllegalInstruction,
      "the instruction descriptor {0:x} names M = {1}, N = {2}: a sparse A with 64 rows per CTA is not supported: "
      "the ISA shows the layout of its metadata only in figures");

// What the timing model cannot predict.
FAULT(waits_for_other_warps, LaunchTimeout, "the warp waits for other warps");
FAULT(unknown_lanes, NotSupported,
      "which lanes execute this instruction depends on data, which --timing neither moves nor computes");
FAULT(unknown_effect, NotSupported,
      "what this instruction does depends on data, which --timing neither moves nor computes");
FAULT(unknown_address, NotSupported,
      "what is accessed here depends on data, which --timing neither moves nor computes");
FAULT(timing_of_dependent_clusters, NotSupported,
      "the clusters of this kernel affect one another, so that the work of each depends on the timing of the others. "
      "The timing model does not support such kernels.");
FAULT(timing_of_unlike_clusters, NotSupported,
      "clusters cancel others whose work is of another kind, which the timing model does not support");
FAULT(timing_of_many_kinds, NotSupported, "more than {0} kinds of clusters in one launch");

// Why an instruction is not known.
UNKNOWN(accumulators_of_n, "the number of accumulators does not match N");
UNKNOWN(argument_not_in_param, "an argument that is not a .param variable");
UNKNOWN(bytes_required, "expect_tx needs a number of bytes");
UNKNOWN(comparison_required, "a comparison is required");
UNKNOWN(constant_required, "operand {0} must be a number known when compiling");
UNKNOWN(coordinates_required, "coordinates are required");
UNKNOWN(cvt_pack_without_sat, "cvt.pack converts .s32 with .sat");
UNKNOWN(destination_is_no_register, "the destination is not a register");
UNKNOWN(dynamic_parallelism, "the kernel launches another one (dynamic parallelism), which is not simulated");
UNKNOWN(empty_vector, "a vector without elements");
UNKNOWN(enable_input_d_missing,
        "the predicate enable-input-d is missing: it says whether D is accumulated or overwritten");
UNKNOWN(five_coordinates_required, "five coordinates are required (x, y0, y1, y2, y3)");
UNKNOWN(four_types_required, "four types are required");
UNKNOWN(function_without_body, "the function '{0}' has no body in this image and is not a supported system call");
UNKNOWN(kind_of_address, "an address of a kind that is not supported");
UNKNOWN(kind_of_operand, "an operand of a kind that this instruction does not take");
UNKNOWN(masks_of_ws, "masks of tcgen05.mma.ws");
UNKNOWN(missing_function, "there is no function '{0}' in this image");
UNKNOWN(missing_variable, "the variable '{0}' is not defined in this image");
UNKNOWN(mode_required, "a mode is required");
UNKNOWN(narrow_global_address, "a 32-bit global address");
UNKNOWN(neither_wait_nor_launch, "neither .wait nor .launch_dependents");
UNKNOWN(not_a_predicate, "%{0} is not a predicate");
UNKNOWN(not_simulated, "{0} are not simulated");
UNKNOWN(number_of_registers, "this number of registers");
UNKNOWN(numbers_of_registers_differ, "the numbers of registers differ");
UNKNOWN(offsets_required, "one offset for each spatial dimension is required");
UNKNOWN(only_row_col, "only A by rows and B by columns");
UNKNOWN(operand_missing, "an operand is missing");
UNKNOWN(operation_on_type, "this operation on this type");
UNKNOWN(operation_required, "an operation is required");
UNKNOWN(other_arguments, "its arguments are not those of {0}");
UNKNOWN(other_operands, "its operands are not those of this form");
UNKNOWN(pair_ws, ".ws works on one CTA");
UNKNOWN(predicate_required, "a predicate is required");
UNKNOWN(property_required, "a property is required");
UNKNOWN(reduction_required, "a reduction is required");
UNKNOWN(registers_of_a, "A has four registers");
UNKNOWN(registers_of_matrices, "the number of registers does not match the number of matrices");
UNKNOWN(registers_of_shape, "the number of registers does not match the shape");
UNKNOWN(registers_of_vector, "the number of registers does not match the vector");
UNKNOWN(relu_of_type, "the modifier .relu is for .s32 and .s16x2");
UNKNOWN(scaled_products, "products with scaled blocks are not simulated");
UNKNOWN(shape_required, "a shape is required");
UNKNOWN(shfl_without_sync, "shfl without .sync was removed from PTX");
UNKNOWN(small_elements, "elements of less than a byte");
UNKNOWN(space_of_variable, "the variable '{0}' is in a space that is not supported");
UNKNOWN(space_required, "a state space is required");
UNKNOWN(sparse_ws, "a sparse A with B at rest (.ws)");
UNKNOWN(target_is_no_function, "its target is not a function");
UNKNOWN(target_is_no_label, "the target is not a label");
UNKNOWN(three_sources, "three sources of this type");
UNKNOWN(too_many_coordinates, "more than five coordinates");
UNKNOWN(too_many_masks, "more than eight lane masks");
UNKNOWN(too_many_values, "more than four values");
UNKNOWN(two_types_required, "two types are required");
UNKNOWN(type_of_cvt_pack, "this type of cvt.pack");
UNKNOWN(type_of_operands, "a type of its operands");
UNKNOWN(type_required, "a type is required");
UNKNOWN(undeclared_targets, "its table of targets '{0}' is not declared");
UNKNOWN(unknown_comparison, "the comparison is unknown");
UNKNOWN(unknown_field, "this field");
UNKNOWN(unknown_form, "this form is unknown");
UNKNOWN(unknown_kind, "this kind");
UNKNOWN(unknown_modifier, "the modifier .{0} is unknown here");
UNKNOWN(unknown_opcode, "the opcode is unknown");
UNKNOWN(unknown_operation, "the operation is unknown");
UNKNOWN(unknown_shape, "this shape is unknown");
UNKNOWN(unknown_shape_or_types, "this shape or these types");
UNKNOWN(unknown_type, "this type");
UNKNOWN(unknown_types, "these types");
UNKNOWN(vote_without_sync, "vote without .sync was removed from PTX");
UNKNOWN(wide_address_required, "a 64-bit address is required");
UNKNOWN(wide_argument, "an argument of more than 64 bits in a register");
UNKNOWN(wide_instruction_descriptor,
        "the instruction descriptor is a 32-bit register, and this one has 64 (CUTLASS keeps it in the upper half)");
UNKNOWN(wide_result, "a result of more than 64 bits in a register");
UNKNOWN(width_of_register, "the register {0} has {1} bits, the operand {2}");
UNKNOWN(widths_of_registers_differ, "registers of different widths");

}  // namespace sim::faults
