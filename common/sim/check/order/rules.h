// What the checker asks of a program, and on what grounds; and what hardware forgives, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sim::order {

enum class Rule : uint8_t {
  ReadAfterWrite,
  WriteAfterRead,
  WriteAfterWrite,
  AcrossProxies,
  TensorMemory,
  Begun,
  BarrierExists,
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
  kCount
};

enum class Habit : uint8_t {
  LoadWithoutWait,
  StoreWithoutWait,
  ExitWithOwnStores,
  ExitWithOwnLoads,
  ExitBeforeOwnCommit,
  RelaxedClusterExit,
  WarpgroupRelease,
  ImplicitReconvergence,
  WarpSynchronous,
  Tcgen05Fence,
  TensorPipeInOrder,
  PairAllocation,
  InitFence,
  ReaderSideProxyFence,
  FlagWithoutFence,
  FenceBeforeBarrier,
  EqualStores,
  LanesOfAStore,
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

struct HabitText {
  const char* name;      ///< of --tolerate
  bool in_state;         ///< a state bit shows it: a warning in every default run; the others need --check
  const char* sentence;  ///< what the program does, and who relies on it
};
const HabitText& text_of(Habit habit);
std::optional<Habit> find_habit(std::string_view name);

/// A set of habits.
class Habits {
 public:
  bool contains(Habit habit) const { return bits_ >> static_cast<int>(habit) & 1; }
  void add(Habit habit) { bits_ |= 1u << static_cast<int>(habit); }
  /// "a,b,c"; returns the first name that is not known, or an empty string.
  std::string add(std::string_view names);

 private:
  uint32_t bits_ = 0;
};

/// All names of habits, for messages.
std::string habit_names();

}  // namespace sim::order
