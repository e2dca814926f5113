// What an instruction is to observers: how it orders memory, what it does with the values it reads, what it costs. Only
// the decoder decides it, once: no other part reads the text of PTX.
#pragma once

#include <cstdint>

#include "ptx/module.h"

namespace sim {

/// How far a release or an acquire reaches, or an atomic access.
enum class Scope : uint8_t { Cta, Cluster, Gpu };

/// What an instruction's modifiers say about order.
struct Ordering {
  Scope scope = Scope::Cta;
  bool strong = false;  ///< volatile, relaxed, or more
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
  bool shared = false, global = false;  ///< of a proxy fence
};

/// What an instruction does with the values that it reads.
enum class DataUse : uint8_t {
  Computes,  ///< each lane for itself
  Carries,   ///< to memory, to other lanes, through tensor cores
  Steers,    ///< where to go, what to load
  Decides,   ///< whom to wait for, what to multiply
};

/// Instructions that cost alike beside being issued. The timing model has no unit or latency for any but the first
/// class.
enum class CostClass : uint8_t { Issue, SyncMma, CopyAsync, GlobalAtomic };

struct Traits {
  Ordering ordering;
  DataUse use = DataUse::Decides;
  CostClass cost = CostClass::Issue;
  bool is_fp64 = false;            ///< arithmetic that FP64 units do
  bool transfers_control = false;  ///< branches, calls, returns, exits
  bool may_wait = false;           ///< takes any time
  bool is_load = false;            ///< ld
  bool is_wgmma = false;           ///< wgmma.mma_async
  bool reads_clock = false;
};

/// `pure`: Op::pure.
Traits traits_of(const ptx::Instruction& instruction, bool pure);

}  // namespace sim
