#include "timing/placement.h"

#include <algorithm>
#include <numeric>

namespace sim::timing {
namespace {

constexpr int kLargestCluster = 16;
/// GPCs of a GPU whose topology is unknown: as equal as possible, of whole TPCs (two SMs each), four at each half of
/// L2.
std::vector<SmGroup> equal_gpcs(int sms) {
  std::vector<SmGroup> groups;
  const int tpcs = (sms + 1) / 2;
  for (int gpc = 0; gpc < 8; ++gpc)
    groups.push_back({std::max(kLargestCluster, 2 * (tpcs / 8 + (gpc < tpcs % 8))), gpc, gpc / 4});
  return groups;
}

}  // namespace

SmPlacement::SmPlacement(const Gpu& gpu) {
  std::vector<SmGroup> list = gpu.sm_groups;
  if (list.empty()) list = equal_gpcs(gpu.sm_count);
  // A smaller GPU has fewer groups, not fewer SMs in each, so that large clusters fit.
  int room = 0;
  for (const SmGroup& group : list) room += group.sms;
  while (list.size() > 1 && room - list.back().sms >= gpu.sm_count) room -= list.back().sms, list.pop_back();
  groups = list.size();
  for (const SmGroup& group : list) {
    half_of_gpc.resize(std::max(half_of_gpc.size(), static_cast<size_t>(group.gpc) + 1), 0);
    half_of_gpc[static_cast<size_t>(group.gpc)] = static_cast<uint32_t>(group.l2_half);
  }
  std::vector<uint32_t> tpcs(half_of_gpc.size(), 0), tpc_of_group(list.size(), 0);
  int left = gpu.sm_count;
  for (int turn = 0; left > 0; ++turn) {
    for (uint32_t group = 0; group < list.size() && left > 0; ++group) {
      if (turn >= list[group].sms && turn < 64) continue;
      SmPlace& sm = sms.emplace_back();
      sm.group = group;
      sm.gpc = static_cast<uint32_t>(list[group].gpc);
      if (turn % 2 == 0) tpc_of_group[group] = tpcs[sm.gpc]++ % 32;
      sm.tpc = tpc_of_group[group];
      --left;
    }
  }
  by_group.resize(sms.size());
  std::iota(by_group.begin(), by_group.end(), 0u);
  std::stable_sort(by_group.begin(), by_group.end(),
                   [&](uint32_t a, uint32_t b) { return sms[a].group < sms[b].group; });
}

}  // namespace sim::timing
