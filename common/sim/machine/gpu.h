// The GPU that the simulated device pretends to be: what programs ask about it, and what its operations cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Costs in SM clock cycles, which order the events of an ordinary run: the constants order_... of the GPU's one table
/// (machine/gpus/). The timing model predicts times by that table's other constants.
struct Costs {
  int global_store = 0;          ///< issue of a warp's store, beside the one cycle of every instruction
  int global_load = 0;           ///< latency of a load from L2
  int mbarrier = 0;              ///< arrive, or a wait that succeeds
  int remote_arrive = 0;         ///< an arrive on a peer's mbarrier
  int cta_barrier = 0;           ///< from the last arrival to the release
  int cluster_barrier = 0;       ///< the same, across the cluster
  int tma_issue = 0;             ///< between two TMA instructions of one SM
  int tma_load_latency = 0;      ///< from issue to the first bytes
  int tma_bytes_per_cycle = 1;   ///< fill rate of one SM
  int tma_store_latency = 0;     ///< from the read of shared memory to visibility
  int mma_latency = 0;           ///< from issue to completion, beside the issue interval
  int mma_flops_per_cycle = 1;   ///< dense BF16, per SM
  int tmem_load = 0;             ///< tcgen05.ld, beside the bytes
  int tmem_bytes_per_cycle = 1;  ///< per warp
  bool operator==(const Costs&) const = default;
};

/// SMs that a cluster cannot leave: a GPC, or a part of it; and the half of L2 that the GPC is at.
struct SmGroup {
  int sms = 0, gpc = 0, l2_half = 0;
};

struct Gpu {
  std::string key;           ///< what `--gpu` selects: the name of its file in machine/gpus
  std::string name;          ///< device name as programs see it; starts with "Simulated"
  int major = 0, minor = 0;  ///< compute capability
  bool is_default = false;   ///< where none is selected and the code is for its major version, which has one such GPU
  int sm_count = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  uint64_t global_bytes = 0;
  uint64_t l2_bytes = 0;
  int smem_per_sm = 0;                             ///< bytes
  int smem_per_block = 0;                          ///< bytes a block may use after opt-in (static + dynamic)
  static constexpr uint32_t smem_reserved = 1024;  ///< bytes at the start of it that belong to the system
  static constexpr int l1_per_sm = 256 * 1024;     ///< bytes, of which shared memory takes what CTAs ask for
  static constexpr int registers_per_sm = 65536;
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int cluster_blocks_per_sm = 8;   ///< the same, of clusters with more than one block
  std::vector<SmGroup> sm_groups;  ///< in the order in which CTAs without clusters fill them; empty: not known
  int max_cluster = 8;             ///< portable
  int max_cluster_nonportable = 16;
  bool has_wgmma = false;
  bool has_tcgen05 = false;
  Costs costs;  ///< the Device fills them in

  /// How many threads of an SM can have so many registers each: each of its four parts hands out a quarter of them, by
  /// warp and in units of 256. 0 registers: it is not known how many, and 32 are assumed.
  int threads_with(int registers) const;
  static constexpr int assumed_registers = 32;
};

/// The description with this key, or nothing.
std::optional<Gpu> find_gpu(std::string_view key);
/// The key of the GPU that runs code for this major version where none is selected.
std::string default_gpu(int major);
/// All keys, for messages.
std::vector<std::string> gpu_keys();

}  // namespace sim
