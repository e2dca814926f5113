// What the checker asks of a program, and on what grounds. What hardware forgives is in machine/habit.h.
#pragma once

#include <cstdint>

#include "machine/habit.h"

namespace sim::order {

using sim::Habit;
using sim::Habits;

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
  Launches,
  StrictReadThenAsync,
  StrictMmaThenGeneric,
  StrictVisible,
  StrictTensorMap,
  kCount
};

enum class Grade : uint8_t { Error, Strict, Habit };

enum class Grounds : uint8_t {
  Text,       ///< the PTX ISA says so, in the section named
  Example,    ///< NVIDIA's examples do so
  Assumption  ///< the evidence is named
};

struct RuleText {
  const char* name;  ///< in reports
  Grade grade;
  Grounds grounds;
  const char* source;    ///< section, example or evidence
  const char* sentence;  ///< what is required
};
const RuleText& text_of(Rule rule);

}  // namespace sim::order
