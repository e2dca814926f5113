#include "exec/core/jump.h"

#include "exec/core/program.h"
#include "machine/cluster.h"
#include "report/faults.h"

namespace sim {

Flow jump(Warp& w, const Jump& jump, Mask m) {
  Split& split = w.split();
  if (m == split.mask) {
    split.pc = jump.target;
  } else {
    cluster_of(w).watchers.tell(LaneEvent{LaneEvent::What::Part, w, m, split.mask & ~m, jump.target});
    split.mask &= ~m;
    ++split.pc;
    w.fork(m, jump.target);
  }
  return Flow::Jump;
}

Flow indexed_branch(Warp& w, const IndexedBranch& branch, Mask m) {
  Split& split = w.split();
  const auto* index = lanes<uint32_t>(w, branch.index);
  const auto& targets = cluster_of(w).launch->program->branch_tables[branch.table];
  const Mask not_taken = split.mask & ~m;
  const uint32_t next = split.pc + 1;
  bool first = true;
  for (Mask rest = m; rest;) {
    const uint32_t value = index[first_lane(rest)];
    if (value >= targets.size()) { throw Fault{faults::branch_index, {value, targets.size()}, first_lane(rest)}; }
    Mask same = 0;
    for (Mask others = rest; others; others &= others - 1) {
      if (index[first_lane(others)] == value) same |= 1u << first_lane(others);
    }
    cluster_of(w).watchers.tell(LaneEvent{LaneEvent::What::Part, w, same, (rest & ~same) | not_taken});
    if (first) {
      split.mask = same;
      split.pc = targets[value];
    } else {
      w.fork(same, targets[value]);
    }
    first = false;
    rest &= ~same;
  }
  if (not_taken) w.fork(not_taken, next);
  return Flow::Jump;
}

}  // namespace sim
