// Branches, exits, traps, sleep.
#include "exec/control/branch.h"

#include <algorithm>

#include "exec/core/families.h"
#include "exec/core/lifetime.h"

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

namespace {

Flow exit_thread(Warp& w, const NoOperands&, Mask m) {
  exit_lanes(w, m);
  ++w.split().pc;  // of the remaining lanes
  return Flow::Jump;
}

struct Sleep {
  int32_t nanoseconds;
};
struct Trap {
  const FaultText* what;
};
Flow trap(Warp&, const Trap& trap, Mask m) { throw Fault{*trap.what, {}, first_lane(m)}; }

Flow sleep(Warp& w, const Sleep& sleep, Mask m) {
  const uint64_t ns = std::min<uint64_t>(uniform<uint32_t>(w, sleep.nanoseconds, m), 1'000'000);
  w.time += ns * static_cast<uint64_t>(cluster_of(w).launch->gpu->clock_khz) / 1'000'000;
  return poll(w);
}

void decode_branch(Decoder& d) {
  if (d.operand(0).kind != ptx::Operand::Kind::Label) d.unsupported(faults::target_is_no_label);
  d.emit<jump>({static_cast<uint32_t>(d.operand(0).value)});
  d.op->pure = true;
}
void decode_indexed_branch(Decoder& d) {
  const std::string& name = d.operand(1).text;
  const ptx::BranchTargets* const found = d.branch_targets(name);
  if (found == nullptr) d.unsupported(faults::undeclared_targets, {name});
  auto& tables = d.program().branch_tables;
  d.emit<indexed_branch>({.index = d.source(0, ptx::Type::B32), .table = static_cast<uint32_t>(tables.size())});
  tables.push_back(found->targets);
}

constexpr Mnemonic kMnemonics[] = {
    {"bra", decode_branch},
    {"brx", decode_indexed_branch},
    {"exit", [](Decoder& d) { d.emit<exit_thread>({}); }},
    {"ret", [](Decoder& d) { d.emit<exit_thread>({}); }},
    {"trap", [](Decoder& d) { d.emit<trap>({&faults::trap}); }},
    {"brkpt", [](Decoder& d) { d.emit<trap>({&faults::breakpoint}); }},
    {"nanosleep", [](Decoder& d) { d.emit<sleep>({d.source(0, ptx::Type::U32)}); }},
    {"pmevent", [](Decoder& d) { d.emit<no_effect>({}); }},
};
constexpr std::string_view kIgnored[] = {"uni", "idx", "u32"};

}  // namespace

constinit const Family families::branch{kMnemonics, kIgnored};

}  // namespace sim
