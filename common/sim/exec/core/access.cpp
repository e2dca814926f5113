#include "exec/core/access.h"

#include <algorithm>

#include "timing/counters.h"

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
  throw Fault{Status::MisalignedAddress,
              "a " + std::to_string(bytes) + "-byte " + verb(kind) + " at " + hex(address) +
                  " needs an address that is a multiple of " + std::to_string(bytes),
              lane};
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
  if (found != nullptr) cluster.recent[cluster.recent_turn++ % cluster.recent.size()] = found;
  return found;
}

void check_global(Cluster& cluster, uint64_t address, uint64_t bytes, bool write, const char* what, int lane) {
  const GlobalMemory::Allocation* found = find_allocation(cluster, address, bytes);
  if (found == nullptr) {
    throw Fault{Status::IllegalAddress,
                std::string(what) + " of " + std::to_string(bytes) + " bytes at " + hex(address) + ": " +
                    cluster.launch->memory->describe(address),
                lane};
  }
  if (write && found->constant) {
    throw Fault{Status::IllegalAddress, std::string(what) + " to constant memory (" + found->label + ")", lane};
  }
}

void check_shared(Cluster& cluster, const Cta& executing, uint32_t address, uint32_t bytes, bool own, const char* what,
                  int lane) {
  const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
  if (own && rank != executing.rank) {
    throw Fault{Status::IllegalInstruction,
                std::string(what) + ": the address " + hex(address) + " belongs to CTA rank " + std::to_string(rank) +
                    ", but a shared::cta access must stay in its own CTA (rank " + std::to_string(executing.rank) +
                    "); use shared::cluster",
                lane};
  }
  if (rank >= cluster.ctas.size()) {
    throw Fault{Status::IllegalAddress,
                std::string(what) + ": the address " + hex(address) + " names CTA rank " + std::to_string(rank) +
                    " of a cluster of " + std::to_string(cluster.ctas.size()),
                lane};
  }
  const Cta& cta = cluster.ctas[rank];
  if (offset < Gpu::smem_reserved || offset + bytes > cta.smem.size()) {
    throw Fault{Status::IllegalAddress,
                std::string(what) + " of " + std::to_string(bytes) + " bytes at shared offset " + hex(offset) +
                    ": the CTA's shared memory is " + hex(Gpu::smem_reserved) + " .. " + hex(cta.smem.size()) + " (" +
                    with_commas(cta.smem.size() - Gpu::smem_reserved) + " bytes)",
                lane};
  }
  if (cta.exited) {
    throw Fault{Status::LaunchFailure,
                std::string(what) + ": CTA " + std::to_string(rank) +
                    " has exited (cluster target block not present); a cluster barrier must keep it alive",
                lane};
  }
}

void check_not_barrier(const Cta& cta, uint32_t offset, uint32_t bytes, const char* what, int lane) {
  for (uint32_t slot = offset / 8; slot <= (offset + bytes - 1) / 8; ++slot) {
    if (cta.barrier_index[slot] == 0) continue;
    throw Fault{Status::LaunchFailure,
                std::string(what) + " at shared offset " + hex(offset) +
                    " touches a live mbarrier: its 8 bytes are opaque until mbarrier.inval",
                lane};
  }
}

}  // namespace

namespace {

struct Extent {
  uint64_t low, high, bits;  ///< the least and the greatest address, and all of them ORed
};
template <class T>
Extent addresses(const T* from, T offset, Mask mask, uint64_t* address) {
  T low = static_cast<T>(~T{0}), high = 0, bits = 0;
  for_lanes(mask, [&](int lane) {
    const T value = static_cast<T>(from[lane] + offset);
    address[lane] = value;
    low = std::min(low, value);
    high = std::max(high, value);
    bits |= value;
  });
  return {low, high, bits};
}

}  // namespace

uint32_t to_shared(uint64_t address, const char* what) {
  if (in_shared_window(address) || (address >> 32) == 0) return static_cast<uint32_t>(address);
  throw Fault{Status::InvalidAddressSpace,
              std::string(what) + ": " + hex(address) + " is not an address of shared memory"};
}

uint8_t* shared_location(Cluster& cluster, const Cta& executing, uint32_t address, uint32_t bytes, uint32_t align,
                         bool own, const char* what) {
  if (address % align != 0) {
    throw Fault{Status::MisalignedAddress, std::string(what) + ": the shared address " + hex(address) +
                                               " must be a multiple of " + std::to_string(align)};
  }
  check_shared(cluster, executing, address, bytes, own, what, -1);
  return cluster.ctas[address >> kSharedRankShift].smem.data() + (address & kSharedOffsetMask);
}

uint8_t* global_location(Cluster& cluster, uint64_t address, uint64_t bytes, uint32_t align, bool write,
                         const char* what) {
  if (address % align != 0) {
    throw Fault{Status::MisalignedAddress, std::string(what) + ": the global address " + hex(address) +
                                               " must be a multiple of " + std::to_string(align)};
  }
  check_global(cluster, address, bytes, write, what, -1);
  return reinterpret_cast<uint8_t*>(address);
}

void resolve(Warp& warp, ptx::Space space, bool cluster_space, int32_t base, bool wide, int64_t offset, uint32_t bytes,
             Mask mask, AccessKind kind, Access* access) {
  Cluster& cluster = cluster_of(warp);
  Cta& cta = *warp.cta;
  const char* const what = verb(kind);
  uint64_t address[32];
  auto [low, high, bits] = wide ? addresses(lanes<uint64_t>(warp, base), static_cast<uint64_t>(offset), mask, address)
                                : addresses(lanes<uint32_t>(warp, base), static_cast<uint32_t>(offset), mask, address);
  const uint32_t align = bytes;
  if (bits & (align - 1)) {
    for (Mask rest = mask; rest; rest &= rest - 1) {
      if (address[first_lane(rest)] & (align - 1)) misaligned(kind, bytes, address[first_lane(rest)], first_lane(rest));
    }
  }
  access->local = false;

  if (space == ptx::Space::Generic) {
    // Nearly always all lanes are in one window.
    const uint64_t window = low & kWindowMask;
    if (window == (high & kWindowMask)) {
      if (window == kSharedWindow) {
        space = ptx::Space::Shared, cluster_space = true;
      } else if (window == kLocalWindow) {
        space = ptx::Space::Local;
      } else if (window == kParamWindow) {
        space = ptx::Space::Param;
      } else {
        space = ptx::Space::Global;
      }
      if (space != ptx::Space::Global) {
        for (Mask rest = mask; rest; rest &= rest - 1) address[first_lane(rest)] &= ~kWindowMask;
        low &= ~kWindowMask, high &= ~kWindowMask;
      }
    } else {
      for (Mask rest = mask; rest; rest &= rest - 1) {  // mixed windows: one lane at a time
        Access single;
        const int lane = first_lane(rest);
        resolve(warp, ptx::Space::Generic, true, base, wide, offset, bytes, 1u << lane, kind, &single);
        access->host[lane] = single.host[lane];
      }
      return;
    }
  }

  switch (space) {
    case ptx::Space::Global:
    case ptx::Space::Const: {
      // Most warps stay in one allocation: one look-up for the whole range.
      const GlobalMemory::Allocation* found = find_allocation(cluster, low, high - low + bytes);
      if (found == nullptr || (kind != AccessKind::Load && found->constant)) {
        for (Mask rest = mask; rest; rest &= rest - 1) {
          check_global(cluster, address[first_lane(rest)], bytes, kind != AccessKind::Load, what, first_lane(rest));
        }
      }
      for_lanes(mask, [&](int lane) { access->host[lane] = reinterpret_cast<uint8_t*>(address[lane]); });
      if (cluster.counters != nullptr)
        count_global(*cluster.counters, warp.split().pc, address, mask, bytes, kind == AccessKind::Store);
      break;
    }
    case ptx::Space::Shared: {
      const uint32_t rank_low = static_cast<uint32_t>(low) >> kSharedRankShift,
                     rank_high = static_cast<uint32_t>(high) >> kSharedRankShift;
      const bool one_cta =
          rank_low == rank_high && rank_low < cluster.ctas.size() && (cluster_space || rank_low == cta.rank);
      Cta* target = one_cta ? &cluster.ctas[rank_low] : nullptr;
      const uint32_t first = low & kSharedOffsetMask, last = (high & kSharedOffsetMask) + bytes;
      if (target != nullptr && !target->exited && first >= Gpu::smem_reserved && last <= target->smem.size()) {
        uint8_t* const memory = target->smem.data();
        for_lanes(mask, [&](int lane) { access->host[lane] = memory + (address[lane] & kSharedOffsetMask); });
        if (last > target->barrier_low && first < target->barrier_high) {
          for (Mask rest = mask; rest; rest &= rest - 1) {
            check_not_barrier(*target, address[first_lane(rest)] & kSharedOffsetMask, bytes, what, first_lane(rest));
          }
        }
        if (kind != AccessKind::Load && !target->layout.empty()) {
          for (Mask rest = mask; rest; rest &= rest - 1)
            target->layout[(address[first_lane(rest)] & kSharedOffsetMask) / 128] = kLayoutUnknown;
        }
      } else {
        for (Mask rest = mask; rest; rest &= rest - 1) {
          const int lane = first_lane(rest);
          const auto shared = static_cast<uint32_t>(address[lane]);
          check_shared(cluster, cta, shared, bytes, !cluster_space, what, lane);
          Cta& owner = cluster.ctas[shared >> kSharedRankShift];
          check_not_barrier(owner, shared & kSharedOffsetMask, bytes, what, lane);
          if (kind != AccessKind::Load && !owner.layout.empty())
            owner.layout[(shared & kSharedOffsetMask) / 128] = kLayoutUnknown;
          access->host[lane] = owner.smem.data() + (shared & kSharedOffsetMask);
        }
      }
      if (cluster.counters != nullptr) {
        uint32_t offsets[32];
        for (Mask rest = mask; rest; rest &= rest - 1)
          offsets[first_lane(rest)] = address[first_lane(rest)] & kSharedOffsetMask;
        count_shared(*cluster.counters, warp.split().pc, offsets, mask, bytes);
      }
      break;
    }
    case ptx::Space::Local: {
      access->local = true;
      const uint32_t stride = cluster.launch->program->local_bytes;
      for (Mask rest = mask; rest; rest &= rest - 1) {
        const int lane = first_lane(rest);
        if (address[lane] + bytes > stride) {
          throw Fault{Status::IllegalAddress,
                      std::string(what) + " of " + std::to_string(bytes) + " bytes at local offset " +
                          hex(address[lane]) + ": this kernel has " + std::to_string(stride) +
                          " bytes of local memory per thread",
                      lane};
        }
        access->host[lane] = warp.local + static_cast<size_t>(lane) * stride + address[lane];
      }
      break;
    }
    case ptx::Space::Param: {
      std::vector<uint8_t>& parameters = cluster.launch->parameters;
      for (Mask rest = mask; rest; rest &= rest - 1) {
        const int lane = first_lane(rest);
        if (kind != AccessKind::Load || address[lane] + bytes > parameters.size()) {
          throw Fault{Status::IllegalAddress,
                      std::string(what) + " at offset " + hex(address[lane]) + " of the kernel's parameters (" +
                          std::to_string(parameters.size()) + " bytes, read-only)",
                      lane};
        }
        access->host[lane] = parameters.data() + address[lane];
      }
      break;
    }
    default: throw Fault{Status::InvalidAddressSpace, "an access of an unknown address space"};
  }
}

}  // namespace sim
