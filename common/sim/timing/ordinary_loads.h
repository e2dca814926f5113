// Requests of a cluster's ordinary loads to L2, the misses in its CTAs' L1; and the number of distinct bytes, which
// have to come from DRAM.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "timing/counters.h"

namespace sim::timing {

/// Loaded bytes of an allocation.
struct Loaded {
  uint64_t allocation_bytes = 0;
  uint64_t bytes = 0;  ///< distinct loaded bytes, in whole sectors
};
using LoadedBytes = std::map<uint64_t, Loaded>;  ///< by the allocation's address

class OrdinaryLoads {
 public:
  /// `l1_bytes`: for each of the CTAs.
  OrdinaryLoads(uint32_t ctas, uint64_t l1_bytes) : l1_(ctas), l1_sectors_(l1_bytes / kSectorBytes) {}

  /// Misses of a load.
  struct Missed {
    uint32_t lines = 0, sectors = 0;
  };
  /// A warp of this CTA loads `sectors`, in ascending order, of the allocation of `allocation_bytes` at `allocation`.
  Missed load(uint32_t rank, std::span<const uint64_t> sectors, uint64_t allocation, uint64_t allocation_bytes);

  uint64_t missed_bytes() const { return missed_ * kSectorBytes; }
  const LoadedBytes& loaded() const { return loaded_; }

 private:
  /// Replacement is first in, first out.
  struct L1 {
    std::deque<uint64_t> order;
    std::unordered_set<uint64_t> held;
  };
  static constexpr uint64_t kPage = 4096;  // sectors

  std::vector<L1> l1_;  ///< by rank
  const uint64_t l1_sectors_;
  uint64_t missed_ = 0;  ///< sectors
  std::unordered_map<uint64_t, std::bitset<kPage>> known_;
  LoadedBytes loaded_;
};

/// The loads of a kind of cluster, and the number of its clusters.
struct LoadsOfKind {
  uint64_t clusters = 0, missed_bytes = 0;
  LoadedBytes loaded;
};
/// The share of the bytes requested from L2 that comes from DRAM: each byte of an allocation once. Different clusters
/// are assumed to load different bytes, up to the size of the allocation.
double share_from_dram(std::span<const LoadsOfKind> kinds);

}  // namespace sim::timing
