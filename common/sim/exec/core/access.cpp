#include "exec/core/access.h"

#include <algorithm>

#include "exec/core/report.h"
#include "report/text.h"

namespace sim {
namespace {

const char* verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::Load: return "load";
    case AccessKind::Store: return "store";
    default: return "atomic operation";
  }
}

[[noreturn]] void misaligned(AccessKind kind, uint32_t bytes, uint64_t address, int lane) {
  throw Fault{faults::access_misaligned, {bytes, verb(kind), address}, lane};
}

const GlobalMemory::Allocation* find_allocation(Cluster& cluster, uint64_t address, uint64_t bytes) {
  if (cluster.recent_frees != cluster.launch->frees) [[unlikely]] {
    cluster.recent.fill(nullptr);
    cluster.recent_frees = cluster.launch->frees;
  }
  for (const GlobalMemory::Allocation* known : cluster.recent) {
    if (known != nullptr && address >= known->begin && address + bytes <= known->end) return known;
  }
  const GlobalMemory::Allocation* found = cluster.launch->memory->find(address, bytes);
  if (found != nullptr) cluster.recent[cluster.next_recent++ % cluster.recent.size()] = found;
  return found;
}

/// The kernel's parameters that may be pointers.
std::vector<uint64_t> given_pointers(const Launch& launch) {
  std::vector<uint64_t> pointers(launch.parameters.size() / sizeof(uint64_t));
  if (!pointers.empty()) std::memcpy(pointers.data(), launch.parameters.data(), pointers.size() * sizeof(uint64_t));
  return pointers;
}

void check_global(Cluster& cluster, uint64_t address, uint64_t bytes, bool write, const char* what, int lane) {
  const GlobalMemory::Allocation* found = find_allocation(cluster, address, bytes);
  if (found == nullptr) {
    throw Fault{faults::access_outside,
                {what, bytes, address,
                 report::place(cluster.launch->memory->place_of(address, given_pointers(*cluster.launch)))},
                lane};
  }
  if (write && found->constant) {
    throw Fault{found->kind == GlobalMemory::Kind::Mapped ? faults::store_to_read_only : faults::store_to_constant,
                {what, found->label},
                lane};
  }
}

void check_shared(Cluster& cluster, const Cta& executing, uint32_t address, uint32_t bytes, bool own, const char* what,
                  int lane) {
  const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
  if (own && rank != executing.rank) {
    throw Fault{faults::access_of_other_cta, {what, address, rank, executing.rank}, lane};
  }
  if (rank >= cluster.ctas.size()) {
    throw Fault{faults::access_of_no_cta, {what, address, rank, cluster.ctas.size()}, lane};
  }
  const Cta& cta = cluster.ctas[rank];
  if (const uint32_t begin = cluster.launch->program->smem_begin; offset < begin || offset + bytes > cta.smem.size()) {
    throw Fault{
        faults::access_outside_shared, {what, bytes, offset, begin, cta.smem.size(), cta.smem.size() - begin}, lane};
  }
  if (cta.exited) {
    throw Fault{cluster.ctas.size() > 1 ? faults::access_after_exit_in_cluster : faults::access_after_exit,
                {what, name_of(cta)},
                lane};
  }
}

void check_not_barrier(const Cta& cta, uint32_t offset, uint32_t bytes, const char* what, int lane) {
  for (uint32_t slot = offset / 8; slot <= (offset + bytes - 1) / 8; ++slot) {
    if (cta.barrier_index[slot] == 0) continue;
    throw Fault{faults::access_of_mbarrier, {what, name_of_shared(cta, offset)}, lane};
  }
}

}  // namespace

// ---- ranges

uint32_t to_shared(uint64_t address, const char* what, const char* part) {
  if (in_shared_window(address) || (address >> 32) == 0) return static_cast<uint32_t>(address);
  throw Fault{faults::not_shared_memory, {what, part, address}};
}

uint8_t* shared_location(Cluster& cluster, const Cta& executing, uint32_t address, uint32_t bytes, uint32_t align,
                         bool own, const char* what) {
  if (address % align != 0) { throw Fault{faults::shared_misaligned, {what, address, align}}; }
  check_shared(cluster, executing, address, bytes, own, what, -1);
  return cluster.ctas[address >> kSharedRankShift].smem.data() + (address & kSharedOffsetMask);
}

uint8_t* global_location(Cluster& cluster, uint64_t address, uint64_t bytes, uint32_t align, bool write,
                         const char* what) {
  if (address % align != 0) { throw Fault{faults::global_misaligned, {what, address, align}}; }
  check_global(cluster, address, bytes, write, what, -1);
  return host_pointer(address);
}

// ---- lanes

void check_read(const Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, const char* what,
                const Warp* by) {
  if (cluster.launch->warpgroups_as_one) return;
  for (size_t group = 0; group < cta.warpgroups.size(); ++group) {
    if (!cta.warpgroups[group]) continue;
    const bool is_own = by != nullptr && by->cta == &cta && by->index / 4 == group;
    cta.warpgroups[group]->check_have_read(4 * group, offset, bytes, what, is_own ? by->index % 4 : -1);
  }
}

namespace {

/// An access of a warp's lanes, with addresses in one state space.
struct LaneAccess {
  LaneAccess(Warp& executing, uint32_t size, Mask active, AccessKind what)
      : warp(executing), bytes(size), mask(active), kind(what) {}

  Warp& warp;
  uint32_t bytes;
  Mask mask;
  AccessKind kind;
  uint64_t address[32];
  uint64_t low, high;  ///< the least and the greatest of them

  template <class F>
  void for_active(F f) const {
    for (Mask rest = mask; rest; rest &= rest - 1) f(first_lane(rest));
  }
  bool writes() const { return kind != AccessKind::Load; }
};

/// Fills in the addresses; returns all of them ORed.
template <class T>
uint64_t compute(const T* from, T offset, LaneAccess* lanes) {
  T low = static_cast<T>(~T{0}), high = 0, bits = 0;
  for_lanes(lanes->mask, [&](int lane) {
    const T value = static_cast<T>(from[lane] + offset);
    lanes->address[lane] = value;
    low = std::min(low, value);
    high = std::max(high, value);
    bits |= value;
  });
  lanes->low = low, lanes->high = high;
  return bits;
}

Role role_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::Load: return Role::Load;
    case AccessKind::Store: return Role::Store;
    default: return Role::Atomic;
  }
}

void tell(const LaneAccess& lanes, int32_t address_slot, AccessEvent::Memory memory,
          const GlobalMemory::Allocation* allocation = nullptr) {
  AccessEvent event{.warp = lanes.warp,
                    .lanes = lanes.mask,
                    .is_done = true,
                    .address_slot = address_slot,
                    .memory = memory,
                    .role = role_of(lanes.kind),
                    .address = lanes.address,
                    .bytes = lanes.bytes,
                    .pc = lanes.warp.split().pc};
  if (allocation != nullptr)
    event.allocation = allocation->begin, event.allocation_bytes = allocation->end - allocation->begin;
  cluster_of(lanes.warp).watchers.tell(event);
}

/// Returns the allocation that holds them all, or nullptr.
const GlobalMemory::Allocation* access_global(const LaneAccess& lanes, Access* access) {
  Cluster& cluster = cluster_of(lanes.warp);
  // Most warps stay in one allocation: one look-up for the whole range.
  const GlobalMemory::Allocation* found = find_allocation(cluster, lanes.low, lanes.high - lanes.low + lanes.bytes);
  if (found == nullptr || (lanes.writes() && found->constant)) {
    lanes.for_active([&](int lane) {
      check_global(cluster, lanes.address[lane], lanes.bytes, lanes.writes(), verb(lanes.kind), lane);
    });
  }
  for_lanes(lanes.mask, [&](int lane) { access->host[lane] = host_pointer(lanes.address[lane]); });
  return found;
}

void access_shared(const LaneAccess& lanes, bool cluster_space, Access* access) {
  Cluster& cluster = cluster_of(lanes.warp);
  const Cta& cta = *lanes.warp.cta;
  const char* const what = verb(lanes.kind);
  const uint32_t rank_low = static_cast<uint32_t>(lanes.low) >> kSharedRankShift,
                 rank_high = static_cast<uint32_t>(lanes.high) >> kSharedRankShift;
  const bool one_cta =
      rank_low == rank_high && rank_low < cluster.ctas.size() && (cluster_space || rank_low == cta.rank);
  Cta* const target = one_cta ? &cluster.ctas[rank_low] : nullptr;
  const bool as_one = cluster.launch->warpgroups_as_one;
  const auto overwrite = [&](Cta& owner, int lane) {
    const uint32_t offset = lanes.address[lane] & kSharedOffsetMask;
    if (!as_one) check_read(cluster, owner, offset, lanes.bytes, what, &lanes.warp);
    if (!owner.layout.empty()) owner.layout[offset / 128] = kLayoutUnknown;
  };
  const uint32_t first = lanes.low & kSharedOffsetMask, last = (lanes.high & kSharedOffsetMask) + lanes.bytes;
  if (target != nullptr && !target->exited && first >= cluster.launch->program->smem_begin &&
      last <= target->smem.size()) {
    uint8_t* const memory = target->smem.data();
    for_lanes(lanes.mask, [&](int lane) { access->host[lane] = memory + (lanes.address[lane] & kSharedOffsetMask); });
    if (last > target->barrier_low && first < target->barrier_high) {
      lanes.for_active([&](int lane) {
        check_not_barrier(*target, lanes.address[lane] & kSharedOffsetMask, lanes.bytes, what, lane);
      });
    }
    if (lanes.writes() && (!target->layout.empty() || (!as_one && !target->warpgroups.empty())))
      lanes.for_active([&](int lane) { overwrite(*target, lane); });
  } else {
    lanes.for_active([&](int lane) {
      const auto shared = static_cast<uint32_t>(lanes.address[lane]);
      check_shared(cluster, cta, shared, lanes.bytes, !cluster_space, what, lane);
      Cta& owner = cluster.ctas[shared >> kSharedRankShift];
      check_not_barrier(owner, shared & kSharedOffsetMask, lanes.bytes, what, lane);
      if (lanes.writes()) overwrite(owner, lane);
      access->host[lane] = owner.smem.data() + (shared & kSharedOffsetMask);
    });
  }
}

void access_local(const LaneAccess& lanes, Access* access) {
  access->local = true;
  const uint32_t stride = cluster_of(lanes.warp).launch->local_bytes;
  lanes.for_active([&](int lane) {
    if (lanes.address[lane] + lanes.bytes > stride) {
      throw Fault{faults::access_outside_local, {verb(lanes.kind), lanes.bytes, lanes.address[lane], stride}, lane};
    }
    access->host[lane] = lanes.warp.local + static_cast<size_t>(lane) * stride + lanes.address[lane];
  });
}

void access_param(const LaneAccess& lanes, Access* access) {
  std::vector<uint8_t>& parameters = cluster_of(lanes.warp).launch->parameters;
  lanes.for_active([&](int lane) {
    if (lanes.writes() || lanes.address[lane] + lanes.bytes > parameters.size()) {
      throw Fault{faults::access_outside_parameters, {verb(lanes.kind), lanes.address[lane], parameters.size()}, lane};
    }
    access->host[lane] = parameters.data() + lanes.address[lane];
  });
}

/// The state space behind a window of the generic one.
ptx::Space space_of_window(uint64_t window) {
  switch (window) {
    case kSharedWindow: return ptx::Space::Shared;
    case kLocalWindow: return ptx::Space::Local;
    case kParamWindow: return ptx::Space::Param;
    default: return ptx::Space::Global;
  }
}

}  // namespace

namespace {

/// Whether the running instruction accesses addresses well beyond its earlier range.
bool reaches_further(Warp& warp, const Access& access, uint32_t bytes, Mask mask) {
  if (!warp.reaches) warp.reaches = std::make_unique<std::array<Warp::Reach, Warp::kReaches>>();
  const uint8_t *low = access.host[first_lane(mask)], *high = low;
  for (Mask rest = mask; rest; rest &= rest - 1) {
    const uint8_t* const at = access.host[first_lane(rest)];
    low = std::min(low, at), high = std::max(high, at + bytes);
  }
  Warp::Reach& reach = (*warp.reaches)[warp.split().pc % Warp::kReaches];
  if (reach.low == nullptr) {
    reach = {low, high};
    return false;
  }
  // A small extension is no progress: random accesses approach the ends of an array bit by bit.
  const ptrdiff_t little = (reach.high - reach.low) / 64;
  if (reach.low - low <= little && high - reach.high <= little) return false;
  reach = {std::min(low, reach.low), std::max(high, reach.high)};
  return true;
}

}  // namespace

void note_write(Warp& warp, const Access& access, uint32_t bytes, Mask mask) {
  Cluster& cluster = cluster_of(warp);
  ++cluster.changes;
  ++cluster.progress;
  if (warp.idle() < warp.suspicious_after) [[likely]]
    return;
  warp.writes_in_vain = !reaches_further(warp, access, bytes, mask);
  if (warp.writes_in_vain)
    warp.executed += static_cast<uint64_t>(std::popcount(mask));  // the cost of this check
  else
    warp.executed_at_effect = warp.executed;
}

void note_read(Warp& warp, const Access& access, uint32_t bytes, Mask mask) {
  if (warp.idle() < warp.reads_count_after) [[likely]]
    return;
  if (access.local || !reaches_further(warp, access, bytes, mask)) return;
  warp.executed_at_effect = warp.executed;
  ++cluster_of(warp).progress;
}

void resolve(Warp& warp, const MemoryOperand& operand, uint32_t bytes, Mask mask, AccessKind kind, Access* access) {
  LaneAccess lanes(warp, bytes, mask, kind);
  const Address& at = operand.address;
  const uint64_t bits = at.wide
                            ? compute(sim::lanes<uint64_t>(warp, at.slot), static_cast<uint64_t>(at.offset), &lanes)
                            : compute(sim::lanes<uint32_t>(warp, at.slot), static_cast<uint32_t>(at.offset), &lanes);
  if (bits & (bytes - 1)) {
    lanes.for_active([&](int lane) {
      if (lanes.address[lane] & (bytes - 1)) misaligned(kind, bytes, lanes.address[lane], lane);
    });
  }
  access->local = false;
  const bool is_watched = cluster_of(warp).watchers.want(EventKind::Access);
  if (is_watched) [[unlikely]] {
    cluster_of(warp).watchers.tell(AccessEvent{.warp = warp, .lanes = mask, .is_done = false, .address_slot = at.slot});
  }

  ptx::Space space = operand.space;
  bool cluster_space = operand.cluster;
  if (space == ptx::Space::Generic) {
    const uint64_t window = lanes.low & kWindowMask;
    if (window != (lanes.high & kWindowMask)) {  // rare: one lane at a time
      lanes.for_active([&](int lane) {
        Access single;
        resolve(warp, operand, bytes, 1u << lane, kind, &single);
        access->host[lane] = single.host[lane];
      });
      return;
    }
    space = space_of_window(window);
    cluster_space = true;
    if (space != ptx::Space::Global) {
      lanes.for_active([&](int lane) { lanes.address[lane] &= ~kWindowMask; });
      lanes.low &= ~kWindowMask, lanes.high &= ~kWindowMask;
    }
  }
  switch (space) {
    case ptx::Space::Global:
    case ptx::Space::Const: {
      const GlobalMemory::Allocation* const found = access_global(lanes, access);
      if (is_watched) [[unlikely]] {
        const bool is_global = space == ptx::Space::Global;
        tell(lanes, at.slot, is_global ? AccessEvent::Memory::Global : AccessEvent::Memory::Constant, found);
      }
      break;
    }
    case ptx::Space::Shared:
      access_shared(lanes, cluster_space, access);
      if (is_watched) [[unlikely]]
        tell(lanes, at.slot, AccessEvent::Memory::Shared);
      break;
    case ptx::Space::Local:
      access_local(lanes, access);
      if (is_watched) [[unlikely]]
        tell(lanes, at.slot, AccessEvent::Memory::Local);
      break;
    case ptx::Space::Param: access_param(lanes, access); break;
    default: throw Fault{faults::unknown_space};
  }
}

}  // namespace sim
