// Jumps, used by branches and by inlined calls.
#pragma once

#include "exec/core/op.h"

namespace sim {

/// The target is an index into Program::ops; while a function is being decoded, the index of one of its instructions.
struct Jump {
  uint32_t target = 0;
};
Flow jump(Warp& warp, const Jump& jump, Mask mask);

/// brx.idx
struct IndexedBranch {
  int32_t index = -1;
  uint32_t table = 0;  ///< index into Program::branch_tables
};
Flow indexed_branch(Warp& warp, const IndexedBranch& branch, Mask mask);

}  // namespace sim
