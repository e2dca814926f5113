// What the ordinary loads of a cluster ask L2 for: what its CTAs' L1 does not hold. And how much of it is different, for
// that much must come from DRAM.
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

/// By allocation, which its first byte names.
struct Loaded {
  uint64_t allocation_bytes = 0;
  uint64_t bytes = 0;  ///< different ones that are loaded, in whole sectors
};
using LoadedBytes = std::map<uint64_t, Loaded>;

class OrdinaryLoads {
 public:
  /// `l1_bytes`: of each of so many CTAs.
  OrdinaryLoads(uint32_t ctas, uint64_t l1_bytes) : l1_(ctas), l1_sectors_(l1_bytes / kSectorBytes) {}

  /// What a load misses, by the numbers of the sectors.
  struct Missed {
    uint32_t lines = 0, sectors = 0;
  };
  /// A warp of this CTA loads `sectors`, in ascending order, of the allocation of `allocation_bytes` at `allocation`.
  Missed load(uint32_t rank, std::span<const uint64_t> sectors, uint64_t allocation, uint64_t allocation_bytes);

  uint64_t missed_bytes() const { return missed_ * kSectorBytes; }
  const LoadedBytes& loaded() const { return loaded_; }

 private:
  /// What was loaded first leaves first.
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

/// A kind of cluster, and how many of them there are.
struct LoadsOfKind {
  uint64_t clusters = 0, missed_bytes = 0;
  LoadedBytes loaded;
};
/// Of the bytes that all clusters ask L2 for, those that come from DRAM: each byte of an allocation once. What different
/// clusters load is different as far as the allocation reaches.
double share_from_dram(std::span<const LoadsOfKind> kinds);

}  // namespace sim::timing
