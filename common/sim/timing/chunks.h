// What boxes of tensors have in common: L2 holds chunks of them, rows of the height that all boxes of a tensor are made
// of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timing/memory_model.h"
#include "timing/replay.h"

namespace sim::timing {

class Chunks {
 public:
  explicit Chunks(std::span<const GridDemands> launches);

  const std::vector<MemoryModel::Chunk>& all() const { return all_; }
  /// Of a cluster's load, by its number among the places of the cluster. Those of the box follow one another.
  uint32_t first(uint32_t launch, uint32_t cluster, uint32_t load) const { return first_[launch][cluster][load]; }
  uint32_t count(uint32_t launch, uint32_t site) const { return counts_[launch][site]; }

 private:
  std::vector<MemoryModel::Chunk> all_;
  std::vector<std::vector<std::vector<uint32_t>>> first_;  ///< by launch, cluster, load
  std::vector<std::vector<uint32_t>> counts_;              ///< by launch, site
};

}  // namespace sim::timing
