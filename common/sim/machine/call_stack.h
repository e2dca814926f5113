// The call stacks of a warp's lanes, for functions that were not inlined (exec/core/routine.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// One call of one lane.
struct Activation {
  uint32_t call = 0;            ///< pc of the call; the return address is the next instruction
  uint32_t routine = 0;         ///< index into Program::routines
  uint32_t frame = 0, top = 0;  ///< its frame: bytes [frame, top) of the lane's local memory
  bool is_nested = false;       ///< recursive: the registers of the outer activation are in CallStack::saved
};

struct CallStack {
  explicit CallStack(size_t routines, uint32_t kernel_frame) : active(routines, 0) { top.fill(kernel_frame); }

  std::array<std::vector<Activation>, 32> lanes;  ///< active calls, innermost last
  std::array<std::vector<uint8_t>, 32> saved;
  std::vector<uint32_t> active;             ///< by routine: mask of the lanes that are in it
  std::array<uint32_t, 32> frame{}, top{};  ///< of the innermost activation; in the kernel: 0 and its local bytes
};

}  // namespace sim
