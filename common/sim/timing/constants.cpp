#include "timing/constants.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "timing/constants_data.h"

namespace sim::timing {
namespace {

/// The fields of a line; those in quotes may contain commas.
std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      all.emplace_back();
    else
      all.back() += c;
  }
  return all;
}

}  // namespace

std::vector<ModelConstant> read_constants(std::string_view csv) {
  std::vector<ModelConstant> list;
  size_t number = 0;
  for (size_t at = 0; at < csv.size(); ++number) {
    const size_t end = std::min(csv.find('\n', at), csv.size());
    const std::string_view line = csv.substr(at, end - at);
    at = end + 1;
    if (number == 0 || line.empty()) continue;
    const std::vector<std::string> parts = fields(line);
    double value = 0;
    const bool right =
        parts.size() == 5 && std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), value).ptr ==
                                 parts[1].data() + parts[1].size();
    if (!right)
      throw std::runtime_error("line " + std::to_string(number + 1) +
                               " of the timing model's constants is not name,value,unit,kind,source");
    list.push_back({parts[0], parts[2], parts[3], parts[4], value});
  }
  return list;
}

Constants constants(const std::vector<ModelConstant>& list) {
  Constants all;
  std::set<std::string> known;
  for (const ModelConstant& each : list) {
    bool found = false;
#define SIM_TIMING_FIELD(field) \
  if (each.name == #field) all.field = each.value, found = true;
    SIM_TIMING_CONSTANTS(SIM_TIMING_FIELD)
    SIM_ORDER_CONSTANTS(SIM_TIMING_FIELD)
#undef SIM_TIMING_FIELD
    if (!found) throw std::runtime_error("the timing model has no constant '" + each.name + "'");
    if (!known.insert(each.name).second) throw std::runtime_error("the constant '" + each.name + "' is there twice");
  }
#define SIM_TIMING_FIELD(field) \
  if (!known.contains(#field)) throw std::runtime_error("the constant '" #field "' is missing");
  SIM_TIMING_CONSTANTS(SIM_TIMING_FIELD)
  SIM_ORDER_CONSTANTS(SIM_TIMING_FIELD)
#undef SIM_TIMING_FIELD
  return all;
}

Constants built_in_constants(std::string_view gpu) {
  return constants(read_constants(gpu == "h200" ? H200_CONSTANTS : B200_CONSTANTS));
}

Constants constants_of(std::string_view gpu) {
  if (const char* const file = std::getenv("LADDER_SIM_CONSTANTS"); file != nullptr && *file != '\0') {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    if (!stream) throw std::runtime_error(std::string("the constants in ") + file + " cannot be read");
    return constants(read_constants(text.str()));
  }
  return built_in_constants(gpu);
}

Costs order_costs(const Constants& c) {
  const auto whole = [](double value) { return static_cast<int>(value); };
  return {.global_store = whole(c.order_global_store),
          .global_load = whole(c.order_global_load),
          .mbarrier = whole(c.order_mbarrier),
          .remote_arrive = whole(c.order_remote_arrive),
          .cta_barrier = whole(c.order_cta_barrier),
          .cluster_barrier = whole(c.order_cluster_barrier),
          .tma_issue = whole(c.order_tma_issue),
          .tma_load_latency = whole(c.order_tma_load),
          .tma_bytes_per_cycle = whole(c.order_tma_bytes_per_cycle),
          .tma_store_latency = whole(c.order_tma_store),
          .mma_latency = whole(c.order_mma),
          .mma_flops_per_cycle = whole(c.mma_flops_per_cycle),
          .tmem_load = whole(c.order_tmem_load),
          .tmem_bytes_per_cycle = whole(c.tmem_bytes_per_cycle)};
}

}  // namespace sim::timing
