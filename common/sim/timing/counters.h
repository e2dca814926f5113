// Counters of a launch: the numbers of `--counters` and of the claims that tests check.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/watcher.h"
#include "timing/store_audit.h"

namespace sim {

struct Counters {
  // Work
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0;
  uint64_t tensor_flops = 0;  ///< 2*M*N*K of every executed MMA
  uint64_t tensor_instructions = 0;
  // Bytes
  uint64_t tma_load_bytes = 0;   ///< whole boxes, as counted on mbarriers, once per destination
  uint64_t tma_fetch_bytes = 0;  ///< the same, once for all destinations of a multicast
  uint64_t tma_store_bytes = 0;  ///< bytes that reach global memory
  uint64_t tma_instructions = 0;
  uint64_t global_load_bytes = 0, global_store_bytes = 0;  ///< by ordinary loads and stores, active lanes
  uint64_t redundant_store_bytes = 0;                      ///< stored again in this launch, with the same value
  uint64_t overwritten_bytes = 0;                          ///< stored again in this launch, with another value
  // Synchronisation
  uint64_t barrier_waits = 0, barrier_waits_blocked = 0;  ///< mbarrier waits; those that found the phase incomplete
  uint64_t cta_barriers = 0;                              ///< completed phases of bar.sync
  uint64_t cluster_barriers = 0;                          ///< completed phases
  uint64_t tmem_reads = 0;                                ///< tcgen05.ld, warp instructions

  /// Per instruction of the kernel (by index in Program::ops): a warp's accesses and their cost.
  struct Access {
    uint64_t count = 0;       ///< warp instructions
    uint64_t sectors = 0;     ///< 32-byte sectors of global memory
    uint64_t lines = 0;       ///< 128-byte lines of global memory
    uint64_t wavefronts = 0;  ///< 128-byte passes over shared memory
    uint64_t bytes = 0;       ///< of active lanes
  };
  std::vector<Access> global_accesses, shared_accesses;

  void add(const Counters& other);
};

struct Program;

/// Counts what the clusters of a launch do.
class CountersWatcher final : public LaunchWatcher {
 public:
  explicit CountersWatcher(const GlobalMemory& memory) : memory_(memory) {}
  std::unique_ptr<Watcher> watch(Cluster& cluster) override;
  /// The sum over all clusters whose engines have retired.
  Counters total;

 private:
  friend class ClusterCounter;
  const GlobalMemory& memory_;
  StoreAudit audit_;
};

/// A launch and its counters.
struct LaunchRecord {
  std::string kernel;  ///< demangled, without its arguments
  std::array<uint32_t, 3> grid, block, cluster;
  const Program* program;
  uint64_t useful_tensor_flops;  ///< as the program has announced them (Device::note_useful_flops); 0: not announced
  Counters counters;
};
/// The text that `--counters` writes. The most expensive accesses come first, with PTX and source lines.
std::string to_json(const std::string& gpu, int sms, std::span<const LaunchRecord> launches);

inline constexpr uint64_t kSectorBytes = 32;  ///< the smallest request of L1 to L2
inline constexpr uint64_t kLineBytes = 128;   ///< the line of L1
/// Distinct sectors and lines that a warp's accesses of `bytes` each touch.
struct Touched {
  uint64_t sectors, lines;
};
Touched touched(const uint64_t* addresses, uint32_t mask, uint32_t bytes);
/// The numbers of these sectors, in ascending order.
std::vector<uint64_t> touched_sectors(const uint64_t* addresses, uint32_t mask, uint32_t bytes);
void count_global(Counters& counters, uint32_t pc, const uint64_t* addresses, uint32_t mask, uint32_t bytes,
                  bool is_store);
/// Wavefronts of a warp's shared-memory access: 16-byte accesses are resolved per 8 lanes, 8-byte ones per 16, smaller
/// ones for the whole warp; in each pass every bank serves one 4-byte word (measured on an H200).
void count_shared(Counters& counters, uint32_t pc, const uint32_t* offsets, uint32_t mask, uint32_t bytes);
uint32_t shared_wavefronts(const uint32_t* offsets, uint32_t mask, uint32_t bytes);
/// The same without bank conflicts.
uint32_t shared_passes(uint32_t mask, uint32_t bytes);
/// By lane: the offsets of an access of shared memory.
std::array<uint32_t, 32> offsets_of(const AccessEvent& event);

}  // namespace sim
