#include "ptx/special.h"

#include <algorithm>
#include <charconv>

namespace sim::ptx {
namespace {

constexpr SpecialRegisterType kSpecials[] = {
    {"tid", Type::U32, true},
    {"ntid", Type::U32, true},
    {"ctaid", Type::U32, true},
    {"nctaid", Type::U32, true},
    {"clusterid", Type::U32, true},
    {"nclusterid", Type::U32, true},
    {"cluster_ctaid", Type::U32, true},
    {"cluster_nctaid", Type::U32, true},
    {"cluster_ctarank", Type::U32},
    {"cluster_nctarank", Type::U32},
    {"is_explicit_cluster", Type::Pred},
    {"laneid", Type::U32},
    {"warpid", Type::U32},
    {"nwarpid", Type::U32},
    {"smid", Type::U32},
    {"nsmid", Type::U32},
    {"gridid", Type::U64},
    {"lanemask_eq", Type::U32},
    {"lanemask_le", Type::U32},
    {"lanemask_lt", Type::U32},
    {"lanemask_ge", Type::U32},
    {"lanemask_gt", Type::U32},
    {"clock", Type::U32},
    {"clock_hi", Type::U32},
    {"clock64", Type::U64},
    {"globaltimer", Type::U64},
    {"globaltimer_lo", Type::U32},
    {"globaltimer_hi", Type::U32},
    {"total_smem_size", Type::U32},
    {"aggr_smem_size", Type::U32},
    {"dynamic_smem_size", Type::U32},
    {"reserved_smem_offset_begin", Type::B32},
    {"reserved_smem_offset_end", Type::B32},
    {"reserved_smem_offset_cap", Type::B32},
    {"reserved_smem_offset_0", Type::B32},
    {"reserved_smem_offset_1", Type::B32},
    {"current_graph_exec", Type::U64},
};

/// The number after a prefix, -1 if there is none.
int number_behind(std::string_view name, std::string_view prefix, std::string_view suffix = "") {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return -1;
  const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : -1;
}

}  // namespace

const SpecialRegisterType* find_special(std::string_view name) {
  const auto found = std::find_if(std::begin(kSpecials), std::end(kSpecials),
                                  [&](const SpecialRegisterType& special) { return special.name == name; });
  if (found != std::end(kSpecials)) return found;
  // Counters of the profiler, and registers of the driver.
  static constexpr SpecialRegisterType counter{"pm", Type::U32}, wide_counter{"pm_64", Type::U64},
      environment{"envreg", Type::B32};
  const auto within = [](int number, int count) { return number >= 0 && number < count; };
  if (within(number_behind(name, "pm", "_64"), 8)) return &wide_counter;
  if (within(number_behind(name, "pm"), 8)) return &counter;
  if (within(number_behind(name, "envreg"), 32)) return &environment;
  return nullptr;
}

}  // namespace sim::ptx
