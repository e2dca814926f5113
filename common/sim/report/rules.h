// The rules that the order checker applies to a program, and their basis. Violations that hardware tolerates:
// machine/habit.h.
#pragma once

#include <cstdint>

namespace sim {

enum class Rule : uint8_t {
  ReadAfterWrite,
  WriteAfterRead,
  WriteAfterWrite,
  AcrossProxies,
  TensorMemory,
  Begun,
  BarrierExists,
  BarrierLifetime,
  PhaseKnown,
  PhaseHeld,
  Exit,
  CancelResponse,
  TensorMapFence,
  WgmmaRegisters,
  RegisterCount,
  ReadOnlyData,
  Launches,
  StrictReadThenAsync,
  StrictWriteThenAsync,
  StrictMmaThenGeneric,
  StrictVisible,
  StrictTensorMap,
  StrictElection,
  kCount
};

enum class Grade : uint8_t { Error, Strict, Habit };

struct RuleText {
  const char* name;  ///< in reports
  Grade grade;
  const char* source;    ///< section, example or evidence
  const char* sentence;  ///< what is required
};
const RuleText& text_of(Rule rule);

}  // namespace sim
