// The timing model's constants of a GPU: numbers with unit, kind and source, from its file in common/sim/machine/gpus.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/gpu.h"
#include "machine/gpu_files.h"

namespace sim::timing {

/// The constants by name, as fields, in the units of the files.
struct Constants {
// clang-format does not reach a stable result for a list of macros.
// clang-format off
#define SIM_TIMING_CONSTANTS(F) \
  F(instruction) F(issue_per_cycle) F(issue_window) F(mbarrier_wait) F(mbarrier_arrive) F(remote_arrive) F(cta_barrier) F(cluster_barrier) \
  F(mma_flops_per_cycle) F(mma_min_columns) F(mma_latency) F(mma_pair_latency) F(mma_bytes_per_cycle) \
  F(mma_restart) F(mma_group) F(tmem_latency) F(tmem_bytes_per_cycle) F(tma_issue) F(tma_row) F(l2_latency) \
  F(dram_latency) F(gpc_bytes_per_second) F(l2_bytes_per_second) F(l2_request_bytes) F(l2_merge) F(l2_useful_bytes) \
  F(l2_link_bytes_per_second) F(l2_link_clock_exponent) F(l2_far_latency) F(spread) \
  F(dram_bytes_per_second) F(l2_clock_exponent) F(dram_clock_exponent) F(store_latency) F(store_bytes_per_cycle) F(store_line) \
  F(gpc_store_bytes_per_second) F(shared_wavefront) F(l1_latency) F(global_latency) F(cta_start) \
  F(launch_gap) F(power_idle) F(power_flop) F(power_l2_byte) F(power_sm_byte) F(power_dram_byte) \
  F(power_clock) F(power_exponent) F(power_cap) F(power_burst_cap) F(clock_max) F(clock_max_mma) \
  F(gpc_clock_spread) \
  F(model_error)
#define SIM_ORDER_CONSTANTS(F) \
  F(order_global_store) F(order_global_load) F(order_mbarrier) F(order_remote_arrive) F(order_cta_barrier) \
  F(order_cluster_barrier) F(order_tma_issue) F(order_tma_load) F(order_tma_bytes_per_cycle) F(order_tma_store) \
  F(order_mma) F(order_tmem_load)
// clang-format on
#define SIM_TIMING_FIELD(name) double name = 0;
  SIM_TIMING_CONSTANTS(SIM_TIMING_FIELD)
  SIM_ORDER_CONSTANTS(SIM_TIMING_FIELD)  ///< for the events of a run; the model itself reads none
#undef SIM_TIMING_FIELD
};

/// Throws std::runtime_error unless the facts have every field exactly once, and nothing else beside the description.
Constants constants(const std::vector<GpuFact>& facts);
/// The constants of the GPU with this key ("h200"), as of the library's build, or those of the file that
/// LADDER_SIM_CONSTANTS names.
Constants constants_of(std::string_view gpu);
/// The same, always those of the library.
Constants built_in_constants(std::string_view gpu);
/// The costs that order the events of an ordinary run: the constants order_..., and the rates that the model has, too.
Costs order_costs(const Constants& constants);

}  // namespace sim::timing
