#include "machine/habit.h"

#include <iterator>

namespace sim {
namespace {

constexpr HabitText kHabits[] = {
    {"ld-without-wait", true,
     "uses the result of tcgen05.ld, or deallocates the columns that it reads, without tcgen05.wait::ld"},
    {"st-without-wait", true,
     "loads what tcgen05.st stores, or signals other threads about it, without a preceding tcgen05.wait::st (CUTLASS "
     "stream-K)"},
    {"exit-with-own-stores", true, "ends while its own bulk stores still read shared memory"},
    {"exit-with-own-loads", true, "ends while its own copies into shared memory are in flight"},
    {"exit-before-own-commit", true,
     "ends, or invalidates its mbarrier (Triton), while its own last tcgen05.commit is on its way there; or ends while "
     "it is on its way to its peer's, after a barrier of the cluster (CUTLASS)"},
    {"relaxed-cluster-exit", true,
     "signals another CTA, then arrives at the cluster barrier with .relaxed, and that CTA ends"},
    {"warpgroup-release", false,
     "one thread of a warpgroup arrives after wgmma.wait_group for all four warps, without a barrier among them "
     "(CUTLASS)"},
    {"implicit-reconvergence", false,
     "executes an .aligned instruction after lanes have, or may have, diverged, without bar.warp.sync"},
    {"warp-synchronous", false,
     "lanes of a warp exchange data through memory, or pass on by shfl what one has acquired, without bar.warp.sync "
     "(cooperative groups)"},
    {"tcgen05-fence", false, "has no tcgen05.fence::before_thread_sync or ::after_thread_sync (CUTLASS)"},
    {"tensor-pipe-in-order", false,
     "relies on the order of tensor operations of one thread where the ISA does not promise it"},
    {"pair-allocation", false,
     "an MMA of a pair uses the peer's tensor memory, ordered only after its own CTA's tcgen05.alloc (CUTLASS)"},
    {"init-fence", false,
     "uses mbarriers remotely or asynchronously without fence.mbarrier_init after their initialisation"},
    {"reader-side-proxy-fence", false, "the reader, not the writer, executes fence.proxy.async"},
    {"flag-without-fence", false,
     "reads a flag with a relaxed or volatile access, and then the data that it announces, without a fence between "
     "(the CUDA guide's last block, CUTLASS stream-K)"},
    {"fence-before-barrier", false,
     "each thread executes a fence (__threadfence()) and a barrier, then one thread writes a flag without a fence of "
     "its own (CUB's grid barrier)"},
    {"completion-release", false,
     "overwrites what another thread has read, ordered after the read only by the completion of an asynchronous "
     "operation that was issued after it"},
    {"allocation-visibility", false,
     "reads the address that tcgen05.alloc has stored, ordered after it only by a relaxed arrival or a tcgen05.commit "
     "(library kernels)"},
    {"repeated-dealloc", true, "executes tcgen05.dealloc again for columns that are free (all warps of an epilogue)"},
    {"equal-stores", false, "two threads store the same value to one location, unordered"},
    {"lanes-of-a-store", false,
     "lanes of one store write different values to one location: one of them remains, which one is undefined"},
    {"warpgroup-acquire", false,
     "the threads of a warpgroup store operands of a wgmma, each with fence.proxy.async and its part of the wgmma "
     "after "
     "it, without a barrier among them (FlashMLA)"},
    {"repeated-init", false, "initialises an mbarrier again that no other instruction has used yet (CUTLASS)"},
    {"remote-arrival-scope", false,
     "hands data to another CTA by an arrival at its mbarrier, or a wait for it, whose scope is .cta (CUTLASS)"},
};
static_assert(std::size(kHabits) == static_cast<size_t>(Habit::kCount));

}  // namespace

const HabitText& text_of(Habit habit) { return kHabits[static_cast<size_t>(habit)]; }

std::optional<Habit> find_habit(std::string_view name) {
  for (size_t i = 0; i < std::size(kHabits); ++i) {
    if (name == kHabits[i].name) return static_cast<Habit>(i);
  }
  return std::nullopt;
}

std::string habit_names() {
  std::string names;
  for (const HabitText& habit : kHabits) names += (names.empty() ? "" : ", ") + std::string(habit.name);
  return names;
}

std::string Habits::add(std::string_view names) {
  while (!names.empty()) {
    const size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    const std::optional<Habit> habit = find_habit(name);
    if (!habit) return std::string(name);
    add(*habit);
    names = comma == std::string_view::npos ? "" : names.substr(comma + 1);
  }
  return "";
}

}  // namespace sim
