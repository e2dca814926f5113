// What violates a rule of order, by name. report/violation.cpp has the sentence of each.
#pragma once

#include "machine/finding.h"

namespace sim {

enum class Violation : uint8_t {
  None,
  // Two accesses.
  ReadsWritten,
  OverwritesWritten,
  OverwritesRead,
  ReadsThroughCache,
  ReadsOfOtherCluster,
  WritesWrittenByOtherCluster,
  WritesReadByOtherCluster,
  LanesWriteDifferentValues,
  // Barriers.
  UsesUninitialised,
  UsesUnfenced,
  InitialisesAgain,
  WaitsForUnknownPhase,
  ArrivesInUnknownPhase,
  ArrivesAtUnknownBarrier,
  MayMissInitialPhase,
  MayMissPhase,
  InvalidatesUnderWait,
  InvalidatesUnderSignal,
  // Tensor memory, tensor maps, registers, lanes.
  ReadsUnwritten,
  DeallocatesBeforeAllocation,
  UsesUnacquiredMap,
  UsesChangedMap,
  FirstUnfencedWgmma,
  UsesAccessedRegisters,
  OverwritesRegistersOfA,
  SetsOtherRegisters,
  SetsRegistersAlone,
  ExcludesFirst,
  LanesMayHaveParted,
  // Beginnings and ends of CTAs.
  AccessesUnstarted,
  AllocatesWithUnstarted,
  SignalsAtExit,
  AccessesAtExit,
  kCount
};

}  // namespace sim
