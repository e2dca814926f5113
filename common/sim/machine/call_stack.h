// The calls that lanes of a warp are in: of functions that were not inlined (exec/control/routine.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// One call of one lane.
struct Activation {
  uint32_t call = 0;            ///< where it was made: it returns behind this instruction
  uint32_t routine = 0;         ///< index into Program::routines
  uint32_t frame = 0, top = 0;  ///< bytes [frame, top) of the lane's local memory are its own
  bool is_nested = false;       ///< the lane was in this routine already; that call's registers are in CallStack::saved
};

struct CallStack {
  explicit CallStack(size_t routines, uint32_t kernel_frame) : active(routines, 0) { top.fill(kernel_frame); }

  std::array<std::vector<Activation>, 32> lanes;  ///< the running one last
  std::array<std::vector<uint8_t>, 32> saved;
  std::vector<uint32_t> active;             ///< by routine: the lanes that are in it
  std::array<uint32_t, 32> frame{}, top{};  ///< of the running activation; 0 and its local memory in the kernel itself
};

}  // namespace sim
