// Jumps, for those who make them: branches, and calls that were inlined.
#pragma once

#include "exec/core/op.h"

namespace sim {

/// To an index into Program::ops; while a function is being decoded, to one of its instructions.
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
