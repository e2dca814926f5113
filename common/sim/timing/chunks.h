// Chunks of tensors, the unit in which the model's L2 holds data: groups of rows whose height divides every box of a
// tensor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timing/contention.h"
#include "timing/memory_model.h"

namespace sim::timing {

class Chunks {
 public:
  explicit Chunks(std::span<const GridDemands> launches);

  const std::vector<MemoryModel::Chunk>& all() const { return all_; }
  /// The first chunk of a load, by its index among the loads of the cluster. The other chunks of its box follow.
  uint32_t first(uint32_t launch, uint32_t cluster, uint32_t load) const { return first_[launch][cluster][load]; }
  uint32_t count(uint32_t launch, uint32_t form) const { return counts_[launch][form]; }

 private:
  std::vector<MemoryModel::Chunk> all_;
  std::vector<std::vector<std::vector<uint32_t>>> first_;  ///< by launch, cluster, load
  std::vector<std::vector<uint32_t>> counts_;              ///< by launch, form
};

}  // namespace sim::timing
