// What may be missing, by name. report/missing.cpp has the sentence of each.
#pragma once

#include "machine/finding.h"

namespace sim {

enum class MissingLink::What : uint8_t {
  Nothing,
  // The accesses are ordered, but not in every way that is required.
  ProxyFence,
  BeforeFence,
  AfterFence,
  FlagFence,
  LateFence,
  AcquiringWait,
  ReleasingLink,
  ReleaseAndAcquire,
  WiderScope,
  WholeFence,
  OrdinaryLoad,
  // They are not ordered.
  OneLane,
  OneThread,
  ExpectTx,
  WarpSync,
  WarpSyncBefore,
  PhaseWait,
  BarrierWait,
  ClusterWait,
  Signal,
  SignalFromThere,
  Completion,
  Link,
  LinkBeyondSignal,
  WarpgroupBarrier,
  Reconvergence,
  // Barriers.
  Barrier,
  Invalidation,
  InitFence,
  WaitForPhase,
  WaitBeforeArrival,
  WaitBeforeBarrier,
  LateWaiter,
  BarrierBeforeInval,
  WaitBeforeInval,
  ClusterStart,
  // Tensor maps and registers.
  MapAcquireFirst,
  MapAcquire,
  MapRelease,
  FirstWgmmaFence,
  WgmmaFence,
  WgmmaWait,
  SameRegisters,
  SameLane,
  FirstWrite,
  // Ends of CTAs, lanes, clusters, launches.
  PhaseBeforeExit,
  ReleaseBeforeExit,
  CompletionBeforeExit,
  ClusterBarrierBeforeExit,
  AddressPerLane,
  OrderOfClusters,
  GridWait,
  LaunchOrder,
  WaitForWork,
  kCount
};

}  // namespace sim
