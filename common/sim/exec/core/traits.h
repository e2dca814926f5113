// The properties of an instruction that observers use: how it orders memory, what it does with the values it reads,
// what it costs. They are derived once, while decoding, from what its mnemonic says (Manner) and from its modifiers.
#pragma once

#include <cstdint>

#include "ptx/module.h"

namespace sim {

enum class Flow : uint8_t;
struct Op;
struct Warp;
using Handler = Flow (*)(Warp&, const Op&, uint32_t mask);  // as in exec/core/op.h

/// The scope of a release, an acquire or an atomic access.
enum class Scope : uint8_t { Cta, Cluster, Gpu };

/// The memory ordering of an instruction, from its modifiers.
struct Ordering {
  Scope scope = Scope::Cta;
  bool strong = false;  ///< volatile, relaxed or stronger
  bool is_volatile = false;
  bool acquires = false, releases = false;
  enum class Fence : uint8_t {
    None,
    Threads,
    ProxyAsync,
    BarrierInit,
    BeforeThreadSync,
    AfterThreadSync,
    TensorMap,
    Grid
  };
  Fence fence = Fence::None;
  bool read_only = false;  ///< ld.global.nc: nothing may write the data during the launch
  /// The memory that a fence orders. Of fences without a proxy, only sync_restrict limits it.
  enum Memory : uint8_t { kOwnShared = 1, kPeers = 2, kGlobal = 4, kAllMemory = 7 };
  uint8_t memory = kAllMemory;
  bool orders(Memory which) const { return memory & which; }
};

/// What an instruction does with the values that it reads.
enum class DataUse : uint8_t {
  Computes,  ///< each lane computes for itself
  Carries,   ///< moves values to memory, to other lanes, through tensor cores
  Steers,    ///< decides branches or addresses
  Decides,   ///< decides waits or what is multiplied
};

/// Classes of instructions by their cost besides issue. The timing model has no unit or latency for any class but the
/// first.
enum class CostClass : uint8_t { Issue, SyncMma, CopyAsync, GlobalAtomic };

/// What the mnemonic of an instruction says of it. Its modifiers say the rest, such as `.acquire`.
struct Manner {
  /// What its modifiers order.
  enum class Orders : uint8_t {
    Access,   ///< an access of memory, if it is one
    Atomic,   ///< the same, strong in any case
    Fence,    ///< a fence of this thread
    Barrier,  ///< an arrival or a wait: `acquires` and `releases` hold, unless it is .relaxed
  };
  DataUse use = DataUse::Decides;
  CostClass cost = CostClass::Issue;
  Orders orders = Orders::Access;
  bool acquires = false, releases = false;
  Ordering::Fence fence = Ordering::Fence::None;  ///< beside those of Orders::Fence
  Scope scope = Scope::Cta;                       ///< of a fence that names none
  bool transfers_control = false;                 ///< branches, calls, returns, exits
  bool may_wait = false;                          ///< if no modifier says so
  bool moves = false;                             ///< moves or converts values, and has no unit for FP64
  bool is_load = false, is_wgmma = false;
  bool is_aligned = false;  ///< without .aligned, too
  /// Executes it in a warp without the others (Warp::alone); null: as in any warp.
  Handler alone = nullptr;
};

struct Traits {
  Ordering ordering;
  DataUse use = DataUse::Decides;
  CostClass cost = CostClass::Issue;
  bool is_fp64 = false;            ///< arithmetic that FP64 units do
  bool transfers_control = false;  ///< branches, calls, returns, exits
  bool may_wait = false;           ///< may take arbitrarily long
  bool is_load = false;            ///< ld
  bool is_wgmma = false;           ///< wgmma.mma_async
  bool reads_clock = false;
  bool is_aligned = false;  ///< all lanes of the warp execute it together
  Handler alone = nullptr;  ///< Manner::alone
};

/// `pure`: Op::pure.
Traits traits_of(const ptx::Instruction& instruction, const Manner& manner, bool pure);

}  // namespace sim
