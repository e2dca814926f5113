// Violations of the ISA that programs commit and hardware tolerates, by name; report/habits.cpp describes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sim {

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
  CompletionRelease,
  AllocationVisibility,
  RepeatedDealloc,
  EqualStores,
  LanesOfAStore,
  WarpgroupAcquire,
  RepeatedInit,
  RemoteArrivalScope,
  kCount
};

struct HabitText {
  const char* name;      ///< of --tolerate
  bool in_state;         ///< the machine's state shows it: a warning in every default run; the others need --check
  const char* sentence;  ///< what the program does, and which libraries rely on it
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

}  // namespace sim
