// Calls of functions that are not inlined: of those called through a pointer, and of recursive ones.
//
// A routine's registers have slots of their own, as an inlined function's have. A lane that enters a routine
// recursively saves their contents and restores them when it returns. The routine's .local and .param variables are in
// a frame on the lane's stack, which follows the kernel's own local memory (Launch::local_bytes).
#pragma once

#include <vector>

#include "exec/core/op.h"

namespace sim {

/// An argument or a result: bytes of the caller's frame.
struct Passed {
  uint32_t offset, bytes;
};

struct RoutineCall {
  int32_t pointer = -1;  ///< slot of the function's address; -1: the call is to `routine`
  uint32_t routine = 0;  ///< index into Program::routines
  std::vector<Passed> arguments, results;
};
Flow call_routine(Warp& warp, const RoutineCall& call, Mask mask);
/// `ret` in a routine.
Flow return_from_routine(Warp& warp, const NoOperands&, Mask mask);

/// Copies between a register and the frame: arguments and results of a call that are not variables.
struct FrameRegister {
  int32_t slot;
  uint32_t offset, bytes;
};
Flow register_to_frame(Warp& warp, const FrameRegister& argument, Mask mask);
Flow frame_to_register(Warp& warp, const FrameRegister& result, Mask mask);

/// Copies arguments and results of an inlined call within the frame.
struct FrameCopy {
  uint32_t to, from;
  uint64_t bytes;
};
Flow copy_in_frame(Warp& warp, const FrameCopy& copy, Mask mask);

/// Host address of byte `offset` of the lane's current frame.
uint8_t* in_frame(Warp& warp, int lane, uint32_t offset);

}  // namespace sim
