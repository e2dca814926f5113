// Branches, exits, traps, sleep.
#include "exec/core/jump.h"

#include <algorithm>

#include "exec/core/families.h"
#include "exec/core/lifetime.h"

namespace sim {

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
    {"bra", decode_branch, Manner{.use = DataUse::Steers, .transfers_control = true}},
    {"brx", decode_indexed_branch, Manner{.use = DataUse::Steers, .transfers_control = true}},
    {"exit", [](Decoder& d) { d.emit<exit_thread>({}); }, Manner{.transfers_control = true}},
    {"ret", [](Decoder& d) { d.emit<exit_thread>({}); }, Manner{.transfers_control = true}},
    {"trap", [](Decoder& d) { d.emit<trap>({&faults::trap}); }},
    {"brkpt", [](Decoder& d) { d.emit<trap>({&faults::breakpoint}); }},
    {"nanosleep", [](Decoder& d) { d.emit<sleep>({d.source(0, ptx::Type::U32)}); }, Manner{.may_wait = true}},
    {"pmevent", [](Decoder& d) { d.emit<no_effect>({}); }},
};
constexpr std::string_view kIgnored[] = {"uni", "idx", "u32"};

}  // namespace

constinit const Family families::branch{kMnemonics, kIgnored};

}  // namespace sim
