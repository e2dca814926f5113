#include "timeline.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace cycles {
namespace {

constexpr int64_t SAME_TILE = 1500;  // cycles between two warpgroups of a CTA that complete one tile, at most
constexpr size_t EVERY = 16;         // stages from one look at the spread to the next

struct Begin {
  int64_t cycle, ns;  ///< ns since the first beginning of all
};

/// What one SM noted, each list in the order of time.
struct Sm {
  std::vector<Begin> begins;
  std::vector<int64_t> stages, tiles;
  std::vector<size_t> products;  ///< index of the first beginning of each product; its last entry is the end
  double ns_per_cycle = 0;

  double ns(int64_t cycle) const {
    const Begin& first = begins.front();
    return static_cast<double>(first.ns) + static_cast<double>(cycle - first.cycle) * ns_per_cycle;
  }
  /// Those of a sorted list that belong to a product.
  std::vector<int64_t> of(const std::vector<int64_t>& list, size_t product) const {
    const int64_t from = begins[products[product]].cycle;
    const int64_t to = products[product + 1] < begins.size() ? begins[products[product + 1]].cycle : INT64_MAX;
    return {std::lower_bound(list.begin(), list.end(), from), std::lower_bound(list.begin(), list.end(), to)};
  }
};

std::vector<Sm> collect(const Recorder& tables, int sms) {
  std::vector<Sm> all(static_cast<size_t>(sms));
  bool any = false;
  uint32_t zero = 0;
  for (size_t sm = 0; sm < all.size(); ++sm) {
    const Event* begins = tables.begins + sm * tables.event_slots();
    const Event* tiles = tables.tiles + sm * tables.event_slots();
    const uint32_t* stages = tables.stages + sm * tables.stage_slots();
    for (size_t i = 0; i < tables.event_slots(); ++i) {
      if (begins[i].cycle != 0) {
        if (!any) zero = begins[i].nanoseconds, any = true;
        all[sm].begins.push_back({begins[i].cycle, static_cast<int32_t>(begins[i].nanoseconds - zero)});
      }
      if (tiles[i].cycle != 0) all[sm].tiles.push_back(tiles[i].cycle);
    }
    if (all[sm].begins.empty()) continue;
    for (size_t i = 0; i < tables.stage_slots(); ++i) {  // the high half is that of the beginnings nearby
      const int64_t near = all[sm].begins.front().cycle;
      if (stages[i] != 0)
        all[sm].stages.push_back(near + static_cast<int32_t>(stages[i] - static_cast<uint32_t>(near)));
    }
    std::sort(all[sm].begins.begin(), all[sm].begins.end(), [](auto& a, auto& b) { return a.cycle < b.cycle; });
    std::sort(all[sm].tiles.begin(), all[sm].tiles.end());
    std::sort(all[sm].stages.begin(), all[sm].stages.end());
    const auto again = [](int64_t before, int64_t now) { return now - before < SAME_TILE; };
    all[sm].tiles.erase(std::unique(all[sm].tiles.begin(), all[sm].tiles.end(), again), all[sm].tiles.end());
  }
  std::erase_if(all, [](const Sm& sm) { return sm.begins.empty(); });
  return all;
}

}  // namespace

Summary summarise(std::vector<double> values) {
  if (values.empty()) return {NAN, NAN, NAN};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

Timeline read_timeline(const Recorder& tables, int sms, int products) {
  std::vector<Sm> all = collect(tables, sms);
  std::vector<int64_t> begins;
  for (const Sm& sm : all) {
    for (const Begin& begin : sm.begins) begins.push_back(begin.ns);
  }
  // Two CTAs that begin on an SM within EVENT_STEP share a slot, so one in a thousand may be missing.
  const size_t count = static_cast<size_t>(products), ctas = (begins.size() + count - 1) / count;
  if (begins.empty() || (ctas * count - begins.size()) * 1000 > begins.size()) {
    throw std::runtime_error("the kernels noted " + std::to_string(begins.size()) + " beginnings of CTAs in " +
                             std::to_string(products) + " products");
  }
  // A product follows the one before it, so its CTAs are the next so many to begin.
  std::sort(begins.begin(), begins.end());
  const size_t last = count - 1;
  Timeline result;
  result.ctas = static_cast<int>(ctas);
  std::vector<double> clocks, periods;
  for (size_t product = 1; product < last; ++product)
    periods.push_back(static_cast<double>(begins[(product + 1) * ctas] - begins[product * ctas]));
  result.period_ns = summarise(periods).median;
  for (Sm& sm : all) {
    for (size_t product = 0; product <= last; ++product) {
      const int64_t from = begins[product * ctas];
      sm.products.push_back(static_cast<size_t>(
          std::partition_point(sm.begins.begin(), sm.begins.end(), [&](const Begin& b) { return b.ns < from; }) -
          sm.begins.begin()));
    }
    sm.products.push_back(sm.begins.size());
    if (sm.products[1] >= sm.products[last]) continue;
    const Begin &first = sm.begins[sm.products[1]], &end = sm.begins[sm.products[last]];
    sm.ns_per_cycle = static_cast<double>(end.ns - first.ns) / static_cast<double>(end.cycle - first.cycle);
    clocks.push_back(1e3 / sm.ns_per_cycle);
  }
  std::erase_if(all, [](const Sm& sm) { return sm.ns_per_cycle == 0; });
  if (all.empty()) throw std::runtime_error("too few products were recorded to tell the clock");
  result.mhz = summarise(clocks).median;

  std::vector<double> busy, first_stage, stage, tile, spread;
  for (size_t product = 1; product <= last; ++product) {
    double longest = 0;
    std::vector<std::vector<int64_t>> stages_of;
    for (const Sm& sm : all) {
      if (sm.products[product] == sm.products[product + 1]) {
        stages_of.emplace_back();
        continue;
      }
      const int64_t begin = sm.begins[sm.products[product]].cycle;
      const std::vector<int64_t> stages = sm.of(sm.stages, product), tiles = sm.of(sm.tiles, product);
      int64_t end = begin;
      if (!stages.empty()) end = std::max(end, stages.back());
      if (!tiles.empty()) end = std::max(end, tiles.back());
      longest = std::max(longest, static_cast<double>(end - begin));
      if (!stages.empty()) first_stage.push_back(static_cast<double>(stages.front() - begin));
      for (size_t i = 1; i < stages.size(); ++i) stage.push_back(static_cast<double>(stages[i] - stages[i - 1]));
      for (size_t i = 1; i < tiles.size(); ++i) tile.push_back(static_cast<double>(tiles[i] - tiles[i - 1]));
      result.stages = std::max(result.stages, static_cast<int>(stages.size()));
      stages_of.push_back(stages);
    }
    busy.push_back(longest);
    const double ns_per_stage = summarise(stage).median * 1e3 / result.mhz;
    for (size_t index = 0; index < static_cast<size_t>(result.stages); index += EVERY) {
      double first = INFINITY, end = -INFINITY;
      for (size_t i = 0; i < all.size(); ++i) {
        if (stages_of[i].size() <= index) continue;
        const double ns = all[i].ns(stages_of[i][index]);
        first = std::min(first, ns), end = std::max(end, ns);
      }
      if (end > first) spread.push_back((end - first) / ns_per_stage);
    }
  }
  result.busy_cycles = summarise(busy).median;
  result.first_stage = summarise(first_stage), result.stage = summarise(stage), result.tile = summarise(tile);
  result.spread_stages = summarise(spread);
  return result;
}

}  // namespace cycles
