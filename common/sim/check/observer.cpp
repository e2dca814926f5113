#include "check/observer.h"

#include <algorithm>
#include <cstring>

#include "exec/core/program.h"

namespace sim {

// ---- what modifiers say

namespace {

Ordering ordering_of(const ptx::Instruction& in) {
  using Fence = Ordering::Fence;
  Ordering result;
  const std::string& name = in.opcode;
  const bool is_fence = name == "fence" || name == "membar";
  bool has_scope = false;
  const auto scope = [&](const char* modifier, order::Scope value) {
    if (in.has(modifier)) result.scope = value, has_scope = true;
  };
  scope("cta", order::Scope::Cta);
  scope("cluster", order::Scope::Cluster);
  scope("gpu", order::Scope::Gpu);
  scope("sys", order::Scope::Gpu);
  scope("gl", order::Scope::Gpu);
  const bool acquire = in.has("acquire"), release = in.has("release"), both = in.has("acq_rel") || in.has("sc");
  const bool relaxed = in.has("relaxed"), is_volatile = in.has("volatile") || in.has("mmio");
  if (is_fence) {
    result.fence = Fence::Threads;
    result.acquires = acquire || both || !release;
    result.releases = release || both || !acquire;
    if (!has_scope) result.scope = name == "membar" ? order::Scope::Gpu : order::Scope::Cta;
    if (in.has("mbarrier_init")) result.fence = Fence::BarrierInit;
    if (in.has("proxy")) {
      result.fence = Fence::None;
      if (in.has("tensormap::generic")) result.fence = Fence::TensorMap;
      // The acquiring half of the pair is about what asynchronous operations wrote, whose completion is a bridge.
      if (in.has("async") || (in.has("async::generic") && !acquire)) result.fence = Fence::ProxyAsync;
      const bool only_shared = in.has("shared::cta") || in.has("shared::cluster") ||
                               in.has("sync_restrict::shared::cta") || in.has("sync_restrict::shared::cluster");
      result.shared = !in.has("global");
      result.global = !only_shared;
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
  result.strong = is_atomic || acquire || release || both || relaxed || is_volatile;
  result.acquires = acquire || both;
  result.releases = release || both;
  if (!has_scope) result.scope = order::Scope::Gpu;  // of atomics; of volatile accesses that of the system
  return result;
}

}  // namespace

Orderings::Orderings(const Program* program) : program_(program), fragments_(program) {
  if (program == nullptr) return;
  for (const Op& op : program->ops) orderings_.push_back(ordering_of(*program->instructions[op.source]));
}

bool Orderings::is_predicate(uint32_t branch, uint32_t target) const {
  constexpr uint32_t kLongest = 24;
  if (target <= branch || target - branch > kLongest) return false;
  uint32_t effects = 0;
  for (uint32_t pc = branch + 1; pc < target; ++pc) {
    const ptx::Instruction& in = *program_->instructions[program_->ops[pc].source];
    const std::string& name = in.opcode;
    if (name == "bra" || name == "brx" || name == "exit" || name == "ret" || name == "call") return false;
    // What waits for something may take any time.
    for (const char* waits : {"sync", "wait", "try_wait", "test_wait", "wait_group", "wait_all", "acquire"}) {
      if (in.has(waits)) return false;
    }
    if (name == "nanosleep" || in.has("wait::ld") || in.has("wait::st")) return false;
    if (!program_->ops[pc].pure && name != "ld") ++effects;
  }
  return effects <= 1;
}

// ---- lanes

order::By Observer::by(Warp& warp, Mask lanes, uint32_t pc) const {
  return {checked(*warp.cta), static_cast<uint16_t>(warp.index), lanes, pc};
}

void Observer::began(Cta& cta) {
  const Launch& launch = *cta.cluster->launch;
  const uint32_t number = cta.index[0] + launch.grid[0] * (cta.index[1] + launch.grid[1] * cta.index[2]);
  cta.order = &world_.begin({number, cta.cluster->number}, cta.rank, launch.threads_per_cta());
  cta.order->memory = cta.smem.data();
}

void Observer::parted(Warp& warp, Mask some, Mask others, uint32_t target) {
  const order::By who = by(warp, some);
  if (!orderings_.is_predicate(who.site, target)) world_.part(who, others);
}
void Observer::aligned(Warp& warp, Mask lanes) { world_.aligned(by(warp, lanes)); }
void Observer::met(Warp& warp, Mask lanes) { world_.meet(by(warp, lanes)); }
void Observer::synced(Warp& warp, Mask lanes) { world_.sync_warp(by(warp, lanes)); }

void Observer::fence(Warp& warp, Mask lanes) {
  using Fence = Ordering::Fence;
  const order::By who = by(warp, lanes);
  const Ordering& what = orderings_[who.site];
  switch (what.fence) {
    case Fence::None: break;
    case Fence::Threads: world_.fence(who, what.scope, what.acquires, what.releases); break;
    case Fence::ProxyAsync: world_.fence_proxy_async(who, what.shared, what.global); break;
    case Fence::BarrierInit: world_.fence_barrier_init(who); break;
    case Fence::BeforeThreadSync: world_.fence_before_thread_sync(who); break;
    case Fence::AfterThreadSync: world_.fence_after_thread_sync(who); break;
    case Fence::TensorMap: world_.release_maps(who); break;
    case Fence::Grid: world_.grid_wait(who); break;
  }
}

void Observer::exited(Warp& warp, Mask lanes) { world_.exit(by(warp, lanes)); }
void Observer::ended(Cta& cta) { world_.end(checked(cta)); }

// ---- barriers of CTAs and clusters

void Observer::arrived(Warp& warp, Mask lanes, uint32_t barrier, bool whole_cta, uint32_t pc) {
  world_.barrier_arrive(by(warp, lanes, pc), barrier, whole_cta);
}
void Observer::completed(Cta& cta, uint32_t barrier) { world_.barrier_complete(checked(cta), barrier); }
void Observer::passed(Warp& warp, Mask lanes, uint32_t barrier, uint32_t pc) {
  world_.barrier_pass(by(warp, lanes, pc), barrier);
}
void Observer::cluster_arrived(Warp& warp, Mask lanes) {
  const order::By who = by(warp, lanes);
  world_.cluster_arrive(who, orderings_[who.site].releases);
}
void Observer::cluster_completed(Cluster& cluster) { world_.cluster_complete(cluster.number); }
void Observer::cluster_passed(Warp& warp, Mask lanes, uint32_t pc) {
  world_.cluster_pass(by(warp, lanes, pc), orderings_[pc].acquires);
}

// ---- mbarriers

void Observer::initialised(Warp& warp, int lane, uint32_t offset) { world_.barrier_init(by(warp, 1u << lane), offset); }
void Observer::invalidated(Warp& warp, int lane, uint32_t offset) {
  world_.barrier_invalidate(by(warp, 1u << lane), offset);
}
order::Signal Observer::signal(Warp& warp, int lane) {
  const order::By who = by(warp, 1u << lane);
  const Ordering& what = orderings_[who.site];
  return world_.signal(who, what.releases, what.scope);
}
void Observer::delivered(Cta& target, uint32_t offset, const order::Signal& signal) {
  world_.arrived(checked(target), offset, signal);
}
void Observer::phase_completed(Cta& target, uint32_t offset) { world_.phase_complete(checked(target), offset); }
void Observer::asked(Warp& warp, Mask lanes) { world_.may_part(by(warp, lanes)); }
void Observer::waited(Warp& warp, Mask seen, uint32_t offset, uint32_t pc) {
  const Ordering& what = orderings_[pc];
  world_.waited(by(warp, seen, pc), offset, what.acquires ? std::optional(what.scope) : std::nullopt);
}

// ---- memory

void Observer::accessed(Warp& warp, Mask lanes, Cta* target, const uint64_t* address, uint32_t bytes,
                        order::Role role) {
  accessed(warp, lanes, target, address, bytes, role, warp.split().pc);
}

void Observer::accessed(Warp& warp, Mask lanes, Cta* target, const uint64_t* address, uint32_t bytes, order::Role role,
                        uint32_t pc) {
  const order::By who = by(warp, lanes, pc);
  const Ordering& what = orderings_[who.site];
  order::LaneAccess access;
  access.space = target == nullptr ? order::Space::Global : order::Space::Shared;
  access.target = target == nullptr ? nullptr : target->order;
  access.address = address;
  access.bytes = bytes;
  access.role = role;
  access.reads = role != order::Role::Store, access.writes = role != order::Role::Load;
  access.read_modify_write = role == order::Role::Atomic;
  access.strong = what.strong, access.is_volatile = what.is_volatile;
  access.acquires = what.acquires, access.releases = what.releases;
  access.scope = what.scope;
  world_.access(who, access);
}

void Observer::lanes_stored(Warp& warp, Mask lanes, uint8_t* const* host, const uint8_t* values, uint32_t bytes) {
  if (orderings_[warp.split().pc].strong) return;  // such writes of one place are in some order
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    uint8_t* const at = host[lane];
    if (std::memcmp(at, values + static_cast<size_t>(lane) * bytes, bytes) == 0) continue;
    // Another lane has stored something else there after it. (Without one, it was another thread; that is a matter of order.)
    Mask others = 0;
    for (Mask each = lanes; each; each &= each - 1) {
      const int other = first_lane(each);
      if (other != lane && host[other] == at) others |= 1u << other;  // aligned: the same place, or another
    }
    if (others == 0) continue;
    const std::vector<Cta>& ctas = warp.cta->cluster->ctas;
    const auto target = std::find_if(ctas.begin(), ctas.end(), [&](const Cta& cta) {
      return at >= cta.smem.data() && at < cta.smem.data() + cta.smem.size();
    });
    const bool is_global = target == ctas.end();
    world_.collide(by(warp, others | 1u << lane), is_global ? nullptr : target->order,
                   is_global ? reinterpret_cast<uintptr_t>(at) : static_cast<uint64_t>(at - target->smem.data()),
                   bytes);
    return;  // one is enough
  }
}

// ---- copies

void Observer::copied(Warp& warp, Mask lanes, const uint64_t* to, const uint64_t* from, uint32_t bytes, Mask reading) {
  world_.copy_async(by(warp, lanes), to, from, bytes, reading);
}
void Observer::copies_committed(Warp& warp, Mask lanes) { world_.copy_commit(by(warp, lanes)); }
void Observer::copies_waited(Warp& warp, Mask lanes, uint32_t pending, bool open_too, uint32_t pc) {
  world_.copy_wait(by(warp, lanes, pc), pending, open_too);
}
order::Signal Observer::copies_signal(Warp& warp, int lane) { return world_.copy_signal(by(warp, 1u << lane)); }

Watched Observer::loads(Warp& warp, int lane, order::Role role, std::span<const Landing> landings, const Cta* from_cta,
                        const std::vector<order::Range>& from, bool reduces) {
  std::vector<order::World::Landing> same;
  for (const Landing& each : landings)
    same.push_back({each.cta->order, each.ranges, each.barrier_cta->order, each.barrier});
  return world_.bulk_load(by(warp, 1u << lane), role, same, from_cta == nullptr ? nullptr : from_cta->order, from,
                          reduces);
}
void Observer::landed(order::Operation& operation, size_t landing, Cta& barrier_cta, uint32_t barrier) {
  world_.landed(operation, landing, checked(barrier_cta), barrier);
}
Watched Observer::stores(Warp& warp, int lane, const std::vector<order::Range>& from,
                         const std::vector<order::Range>& to, bool reduces) {
  return world_.bulk_store(by(warp, 1u << lane), from, to, reduces);
}
void Observer::bulk_committed(Warp& warp, Mask lanes) { world_.bulk_commit(by(warp, lanes)); }
void Observer::bulk_waited(Warp& warp, Mask lanes, uint32_t pending, bool reads_only, uint32_t pc) {
  world_.bulk_wait(by(warp, lanes, pc), pending, reads_only);
}

// ---- tensor cores

void Observer::wgmma(Warp& warp, const std::vector<order::Range>& operands) {
  const order::By who = by(warp, warp.live);
  const bool is_serial = warp.cta->cluster->launch->program->module->for_debugging;  // by ptxas
  if (const std::optional<uint32_t> before = registers_.obstacle(warp, who.site); before && !is_serial)
    world_.wgmma_unfenced(who, *before);
  world_.wgmma(who, operands);
}
void Observer::wgmma_committed(Warp& warp) { world_.wgmma_commit(by(warp, warp.live)); }
void Observer::wgmma_waited(Warp& warp, uint32_t pending, uint32_t pc) {
  world_.wgmma_wait(by(warp, warp.live, pc), pending);
}
void Observer::tensor_operation(Warp& warp, int lane, const order::World::Mma& mma) {
  world_.tensor_operation(by(warp, 1u << lane), mma);
}
order::Signal Observer::tensor_commit(Warp& warp, int lane, uint32_t group) {
  return world_.tensor_commit(by(warp, 1u << lane), group);
}
void Observer::tensor_transfer(Warp& warp, Mask lanes, const std::vector<order::Range>& cells, bool stores) {
  world_.tensor_transfer(by(warp, lanes), cells, stores);
}
void Observer::tensor_waited(Warp& warp, Mask lanes, bool stores, uint32_t pc) {
  world_.tensor_wait(by(warp, lanes, pc), stores);
}
void Observer::tensor_allocated(Warp& warp, Mask lanes, const std::vector<order::Range>& cells, uint32_t pc,
                                order::Role role) {
  world_.tensor_allocate(by(warp, lanes, pc), cells, role);
}

}  // namespace sim
