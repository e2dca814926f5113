#include "exec/core/traits.h"

#include <algorithm>
#include <string>

namespace sim {
namespace {

Ordering ordering_of(const ptx::Instruction& in, const Manner& manner) {
  using Fence = Ordering::Fence;
  using Orders = Manner::Orders;
  Ordering result;
  bool has_scope = false;
  const auto scope = [&](const char* modifier, Scope value) {
    if (in.has(modifier)) result.scope = value, has_scope = true;
  };
  scope("cta", Scope::Cta);
  scope("cluster", Scope::Cluster);
  scope("gpu", Scope::Gpu);
  scope("sys", Scope::Gpu);
  scope("gl", Scope::Gpu);
  const bool acquire = in.has("acquire"), release = in.has("release"), both = in.has("acq_rel") || in.has("sc");
  const bool relaxed = in.has("relaxed"), is_volatile = in.has("volatile") || in.has("mmio");
  if (manner.orders == Orders::Fence) {
    const bool own = in.has("shared::cta") || in.has("sync_restrict::shared::cta"),
               cluster = in.has("shared::cluster") || in.has("sync_restrict::shared::cluster"),
               global = in.has("global");
    using Memory = Ordering;
    if (own || cluster || global)
      result.memory = static_cast<uint8_t>((own || cluster ? Memory::kOwnShared : 0) | (cluster ? Memory::kPeers : 0) |
                                           (global ? Memory::kGlobal : 0));
    result.fence = Fence::Threads;
    result.acquires = acquire || both || !release;
    result.releases = release || both || !acquire;
    if (!has_scope) result.scope = manner.scope;
    if (in.has("mbarrier_init")) result.fence = Fence::BarrierInit;
    if (in.has("proxy")) {
      result.fence = Fence::None;
      if (in.has("tensormap::generic")) result.fence = Fence::TensorMap;
      // The acquiring half of the pair concerns writes of asynchronous operations; their completion already orders
      // these.
      if (in.has("async") || (in.has("async::generic") && !acquire)) result.fence = Fence::ProxyAsync;
    }
    return result;
  }
  if (manner.orders == Orders::Barrier) {
    result.acquires = manner.acquires && !relaxed;
    result.releases = manner.releases && !relaxed;
    result.fence = manner.fence;
    return result;
  }
  result.is_volatile = is_volatile;
  result.read_only = manner.is_load && in.has("nc");
  result.strong = manner.orders == Orders::Atomic || acquire || release || both || relaxed || is_volatile;
  result.acquires = acquire || both;
  result.releases = release || both;
  if (!has_scope) result.scope = Scope::Gpu;  // the default of atomics; of volatile accesses it is the system
  return result;
}

CostClass cost_of(const ptx::Instruction& in, const Manner& manner) {
  const auto is_shared = [](const std::string& modifier) { return modifier.starts_with("shared"); };
  const bool is_local = in.has("inc") || std::any_of(in.modifiers.begin(), in.modifiers.end(), is_shared);
  return manner.cost == CostClass::GlobalAtomic && is_local ? CostClass::Issue : manner.cost;
}

bool may_wait(const ptx::Instruction& in) {
  for (const char* waits :
       {"sync", "wait", "try_wait", "test_wait", "wait_group", "wait_all", "acquire", "wait::ld", "wait::st"}) {
    if (in.has(waits)) return true;
  }
  return false;
}

bool reads_clock(const ptx::Instruction& in) {
  return in.operands.size() == 2 && in.operands[1].kind == ptx::Operand::Kind::Special &&
         (in.operands[1].text.starts_with("clock") || in.operands[1].text.starts_with("globaltimer"));
}

}  // namespace

Traits traits_of(const ptx::Instruction& in, const Manner& manner, bool pure) {
  return {.ordering = ordering_of(in, manner),
          .use = pure && manner.use != DataUse::Steers ? DataUse::Computes : manner.use,
          .cost = cost_of(in, manner),
          .is_fp64 = in.has("f64") && !manner.moves,
          .transfers_control = manner.transfers_control,
          .may_wait = manner.may_wait || may_wait(in),
          .is_load = manner.is_load,
          .is_wgmma = manner.is_wgmma,
          .reads_clock = manner.moves && reads_clock(in),
          .is_aligned = manner.is_aligned || in.has("aligned"),
          .alone = manner.alone};
}

}  // namespace sim
