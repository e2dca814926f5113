#include "timing/constants.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace sim::timing {
namespace {

std::runtime_error problem_of(const std::string& name, const char* what) {
  return std::runtime_error("the timing model's constant '" + name + "' " + what);
}

double number(const GpuFact& fact) {
  const char* const end = fact.value.data() + fact.value.size();
  double value = 0;
  if (fact.value.empty() || std::from_chars(fact.value.data(), end, value).ptr != end)
    throw problem_of(fact.name, "is not a number");
  return value;
}

}  // namespace

Constants constants(const std::vector<GpuFact>& facts) {
  Constants all;
  std::set<std::string> known;
  for (const GpuFact& each : facts) {
    if (each.name.starts_with(kDescribes)) continue;
    bool found = false;
#define SIM_TIMING_FIELD(field) \
  if (each.name == #field) all.field = number(each), found = true;
    SIM_TIMING_CONSTANTS(SIM_TIMING_FIELD)
    SIM_ORDER_CONSTANTS(SIM_TIMING_FIELD)
#undef SIM_TIMING_FIELD
    if (!found) throw problem_of(each.name, "is not known");
    if (!known.insert(each.name).second) throw problem_of(each.name, "is there twice");
  }
#define SIM_TIMING_FIELD(field) \
  if (!known.contains(#field)) throw problem_of(#field, "is missing");
  SIM_TIMING_CONSTANTS(SIM_TIMING_FIELD)
  SIM_ORDER_CONSTANTS(SIM_TIMING_FIELD)
#undef SIM_TIMING_FIELD
  return all;
}

Constants built_in_constants(std::string_view gpu) {
  for (const auto& [key, text] : gpu_files()) {
    if (key == gpu) return constants(read_gpu_file(text));
  }
  throw std::runtime_error("there is no file of a GPU '" + std::string(gpu) + "'");
}

Constants constants_of(std::string_view gpu) {
  if (const char* const file = std::getenv("LADDER_SIM_CONSTANTS"); file != nullptr && *file != '\0') {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    if (!stream) throw std::runtime_error(std::string("the constants in ") + file + " cannot be read");
    return constants(read_gpu_file(text.str()));
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
