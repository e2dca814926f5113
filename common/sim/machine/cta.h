// A CTA: its warps, shared memory, barriers and tensor memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "machine/async.h"
#include "machine/mbarrier.h"
#include "machine/tensor_map.h"
#include "machine/tmem.h"
#include "machine/warp.h"

namespace sim {

struct Cluster;

/// A named barrier (bar.sync 0..15).
struct CtaBarrier {
  uint32_t expected = 0;                   ///< threads that this phase waits for; 0: all of the CTA
  uint32_t arrived = 0;                    ///< threads, whole warps; 0: no arrival in this phase
  uint32_t true_lanes = 0, all_lanes = 0;  ///< of a reduction's predicate
  enum class Reduction : uint8_t { None, And, Or, Popc };
  struct Waiter {
    Warp* warp;
    uint8_t split;
    int32_t result;  ///< slot of a reduction's result
    Reduction reduction;
  };
  std::vector<Waiter> waiters;
};

struct Cta {
  Cluster* cluster = nullptr;
  uint32_t rank = 0;                ///< in the cluster
  std::array<uint32_t, 3> index{};  ///< %ctaid
  uint32_t sm = 0;
  bool exited = false;
  bool lets_dependents_start = false;  ///< it has executed griddepcontrol.launch_dependents
  bool saw_refusal = false;            ///< it has read a refusal of try_cancel: no further request is allowed
  uint32_t live_warps = 0;
  std::vector<Warp> warps;

  // Shared memory: bytes [0, smem.size()), of which the first Gpu::smem_reserved belong to the system.
  std::vector<uint8_t> smem;
  std::vector<uint16_t> barrier_index;  ///< per 8 bytes of shared memory: 0, or 1 + index into barriers
  std::vector<Mbarrier> barriers;
  std::vector<uint8_t> layout;  ///< per 128 bytes: the swizzle of TMA's write (layout_of), for descriptor checks
  uint32_t barrier_low = ~0u, barrier_high = 0;  ///< bounds of live mbarriers' offsets, for ordinary accesses

  std::array<CtaBarrier, 16> named;
  Tmem tmem;
  int32_t register_pool = 0;  ///< setmaxnreg: registers of the CTA that no warp holds

  Pipe tensor_pipe, load_pipe, store_pipe;
  std::map<uint32_t, OrderQueue> tensor_order;  ///< tcgen05.mma, cp, commit, by issuing thread (warp * 32 + lane)
  std::map<uint32_t, uint64_t> last_commits;    ///< the number of each thread's latest commit that has arrived

  /// tcgen05.alloc and dealloc of cta_group::2: this CTA's half, while it waits for the peer's.
  struct TmemRequest {
    bool waiting = false;
    uint32_t warp = 0, split = 0, columns = 0, address = 0;
  };
  TmemRequest tmem_allocation, tmem_deallocation;

  /// A warpgroup's queue of wgmma operations.
  struct Warpgroup {
    virtual ~Warpgroup() = default;
    /// Throws Fault if a warp of the group has read bytes that are to be overwritten, and another has still to read
    /// them. `first`: the group's first warp; `by`: which of its warps stores, -1: none of them.
    virtual void check_have_read(size_t first, uint32_t offset, uint32_t bytes, const char* what, int by) = 0;
  };
  std::vector<std::shared_ptr<Warpgroup>> warpgroups;

  Mbarrier* find_barrier(uint32_t offset) {
    const uint32_t slot = offset / 8;
    if (offset % 8 != 0 || slot >= barrier_index.size() || barrier_index[slot] == 0) return nullptr;
    return &barriers[barrier_index[slot] - 1];
  }
};

/// Values in Cta::layout: unknown, or the swizzle of TMA's write.
inline constexpr uint8_t kLayoutUnknown = 0;
inline constexpr uint8_t layout_of(Swizzle swizzle) { return static_cast<uint8_t>(static_cast<int>(swizzle) + 1); }

}  // namespace sim
