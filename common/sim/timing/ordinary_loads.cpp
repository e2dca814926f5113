#include "timing/ordinary_loads.h"

#include <algorithm>

namespace sim::timing {

OrdinaryLoads::Missed OrdinaryLoads::load(uint32_t rank, std::span<const uint64_t> sectors, uint64_t allocation,
                                          uint64_t allocation_bytes) {
  constexpr uint64_t kOfLine = 128 / kSectorBytes;
  L1& l1 = l1_[rank];
  Loaded& of_it = loaded_[allocation];
  of_it.allocation_bytes = allocation_bytes;
  Missed missed;
  uint64_t line = ~uint64_t{0};
  for (const uint64_t sector : sectors) {
    if (l1.held.contains(sector)) continue;
    ++missed.sectors;
    missed.lines += sector / kOfLine != line;
    line = sector / kOfLine;
    auto known = known_[sector / kPage][sector % kPage];
    if (!known) of_it.bytes += kSectorBytes;
    known = true;
    if (l1_sectors_ == 0) continue;
    if (l1.order.size() >= l1_sectors_) {
      l1.held.erase(l1.order.front());
      l1.order.pop_front();
    }
    l1.order.push_back(sector);
    l1.held.insert(sector);
  }
  missed_ += missed.sectors;
  return missed;
}

double share_from_dram(std::span<const LoadsOfKind> kinds) {
  double asked = 0, different = 0;
  std::map<uint64_t, std::pair<double, double>> allocations;  // bytes that are loaded, and all
  for (const LoadsOfKind& kind : kinds) {
    const auto clusters = static_cast<double>(kind.clusters);
    asked += clusters * static_cast<double>(kind.missed_bytes);
    for (const auto& [begin, of_one] : kind.loaded) {
      auto& [loaded, all] = allocations[begin];
      loaded += clusters * static_cast<double>(of_one.bytes);
      all = static_cast<double>(of_one.allocation_bytes);
    }
  }
  for (const auto& [begin, bytes] : allocations) different += std::min(bytes.first, bytes.second);
  return asked > 0 ? std::min(different / asked, 1.0) : 0;
}

}  // namespace sim::timing
