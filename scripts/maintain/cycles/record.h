// What an instrumented kernel notes of itself, and where.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cycles {

/// A CTA begins, or has the accumulators of a tile complete.
struct Event {
  int64_t cycle;         ///< clock64 of its SM; 0: nothing was noted here
  uint32_t nanoseconds;  ///< the low half of globaltimer, of a beginning
  uint32_t cta;          ///< blockIdx.x
};

/// Tables in device memory. A moment's slot follows from the moment itself, without a counter: cycle / STEP,
/// modulo the length.
struct Recorder {
  static constexpr int64_t EVENT_STEP = 256, STAGE_STEP = 32;  ///< cycles
  static constexpr int64_t WINDOW = int64_t{1} << 26;          ///< cycles that the tables hold, at most
  Event* begins = nullptr;                                     ///< [sm][window / EVENT_STEP]; null: nothing is noted
  Event* tiles = nullptr;                                      ///< the same
  /// [sm][stage_mask + 1]: the low half of the cycle of a K block. Never null: kernels have no register to spare for
  /// the question.
  uint32_t* stages = nullptr;
  uint32_t stage_mask = 0;  ///< window / STAGE_STEP - 1; 0: one slot per SM, which is never read
  int64_t window = 0;       ///< cycles, a power of two
  /// [sm][WARPS][SITES], with LADDER_WAITS alone, and then never null: how often a warp has waited at a site, times
  /// 2^40, plus the cycles that it has waited there.
  uint64_t* waits = nullptr;
  static constexpr int WARPS = 16, SITES = 4096, COUNT_SHIFT = 40;

  std::size_t event_slots() const { return static_cast<std::size_t>(window / EVENT_STEP); }
  static constexpr std::size_t wait_slots() { return static_cast<std::size_t>(WARPS) * SITES; }  ///< of an SM
  std::size_t stage_slots() const { return static_cast<std::size_t>(stage_mask) + 1; }
};

}  // namespace cycles

/// Tells the kernels of this program where to note. Defined by an instrumented program only.
extern "C" [[gnu::weak]] void cycles_set_recorder(const cycles::Recorder& recorder);
/// Defined where the kernels note their waits, and neither K blocks nor tiles.
extern "C" [[gnu::weak]] void cycles_notes_waits();
