#include "exec/core/traits.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace sim {
namespace {

Ordering ordering_of(const ptx::Instruction& in) {
  using Fence = Ordering::Fence;
  Ordering result;
  const std::string& name = in.opcode;
  const bool is_fence = name == "fence" || name == "membar";
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
  if (is_fence) {
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
    if (!has_scope) result.scope = name == "membar" ? Scope::Gpu : Scope::Cta;
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
  if (name == "tensormap") {
    if (in.has("cp_fenceproxy")) result.fence = Fence::TensorMap;
    return result;
  }
  if (name == "griddepcontrol") {
    if (in.has("wait")) result.fence = Fence::Grid;
    return result;
  }
  if (name == "tcgen05") {
    if (in.has("fence::before_thread_sync")) result.fence = Fence::BeforeThreadSync;
    if (in.has("fence::after_thread_sync")) result.fence = Fence::AfterThreadSync;
    return result;
  }
  if (name == "mbarrier") {  // arrive: .release.cta, wait: .acquire.cta
    const bool is_wait = in.has("try_wait") || in.has("test_wait");
    result.acquires = is_wait && !relaxed;
    result.releases = !is_wait && !relaxed && !in.has("expect_tx") && !in.has("complete_tx");
    if (in.has("arrive") || in.has("arrive_drop")) result.releases = !relaxed;
    return result;
  }
  if (name == "barrier" || name == "bar") {
    result.acquires = result.releases = !relaxed;
    return result;
  }
  const bool is_atomic = name == "atom" || name == "red";
  result.is_volatile = is_volatile;
  result.read_only = name == "ld" && in.has("nc");
  result.strong = is_atomic || acquire || release || both || relaxed || is_volatile;
  result.acquires = acquire || both;
  result.releases = release || both;
  if (!has_scope) result.scope = Scope::Gpu;  // the default of atomics; of volatile accesses it is the system
  return result;
}

// Instructions whose registers hold data. All others that are not pure decide something.
constexpr std::string_view kCarriers[] = {"ld",    "ldu",  "st",  "atom",     "red",      "shfl",      "vote", "match",
                                          "redux", "wmma", "mma", "ldmatrix", "stmatrix", "movmatrix", "wgmma"};

DataUse use_of(const ptx::Instruction& in, bool pure) {
  const std::string_view opcode = in.opcode;
  if (opcode == "bra" || opcode == "brx" || opcode == "call" || opcode == "cp") return DataUse::Steers;
  if (pure) return DataUse::Computes;
  if (std::find(std::begin(kCarriers), std::end(kCarriers), opcode) != std::end(kCarriers)) return DataUse::Carries;
  if (opcode == "tcgen05" && in.has("st")) return DataUse::Carries;
  if ((opcode == "bar" || opcode == "barrier") && in.has("red")) return DataUse::Carries;
  return DataUse::Decides;
}

CostClass cost_of(const ptx::Instruction& in) {
  const std::string& opcode = in.opcode;
  const auto has = [&](std::string_view begin) {
    return std::any_of(in.modifiers.begin(), in.modifiers.end(),
                       [&](const auto& modifier) { return std::string_view(modifier).starts_with(begin); });
  };
  if (opcode == "mma" || (opcode == "wmma" && in.has("mma"))) return CostClass::SyncMma;
  const bool is_copy = opcode == "cp" && in.has("async") && (in.has("ca") || in.has("cg") || in.has("commit_group"));
  if (is_copy && !in.has("bulk")) return CostClass::CopyAsync;
  const bool is_atomic = opcode == "atom" || opcode == "red";
  return is_atomic && !in.has("inc") && !has("shared") && !has("async") ? CostClass::GlobalAtomic : CostClass::Issue;
}

bool is_fp64(const ptx::Instruction& in) {
  return in.has("f64") && in.opcode != "mov" && in.opcode != "cvt" && !in.opcode.starts_with("ld") &&
         !in.opcode.starts_with("st");
}

bool may_wait(const ptx::Instruction& in) {
  for (const char* waits :
       {"sync", "wait", "try_wait", "test_wait", "wait_group", "wait_all", "acquire", "wait::ld", "wait::st"}) {
    if (in.has(waits)) return true;
  }
  return in.opcode == "nanosleep";
}

bool reads_clock(const ptx::Instruction& in) {
  return in.opcode == "mov" && in.operands.size() == 2 && in.operands[1].kind == ptx::Operand::Kind::Special &&
         (in.operands[1].text.starts_with("clock") || in.operands[1].text.starts_with("globaltimer"));
}

}  // namespace

Traits traits_of(const ptx::Instruction& in, bool pure) {
  constexpr std::string_view kTransfers[] = {"bra", "brx", "exit", "ret", "call"};
  return {
      .ordering = ordering_of(in),
      .use = use_of(in, pure),
      .cost = cost_of(in),
      .is_fp64 = is_fp64(in),
      .transfers_control = std::find(std::begin(kTransfers), std::end(kTransfers), in.opcode) != std::end(kTransfers),
      .may_wait = may_wait(in),
      .is_load = in.opcode == "ld",
      .is_wgmma = in.opcode == "wgmma" && in.has("mma_async"),
      .reads_clock = reads_clock(in)};
}

}  // namespace sim
