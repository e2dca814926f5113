#include "exec/core/routine.h"

#include <algorithm>

#include "common/base/align.h"
#include "common/base/demangle.h"
#include "common/base/text.h"
#include "exec/core/pending.h"
#include "exec/core/program.h"
#include "report/faults.h"

namespace sim {
namespace {

const Program& program_of(Warp& w) { return *cluster_of(w).launch->program; }

uint8_t* local_of(Warp& w, int lane) { return w.local + static_cast<size_t>(lane) * cluster_of(w).launch->local_bytes; }

void move_local(Warp& w, int lane, uint32_t to, uint32_t from, uint32_t bytes) {
  uint8_t* const local = local_of(w, lane);
  std::memmove(local + to, local + from, bytes);
  cluster_of(w).watchers.tell(FillEvent{
      .what = FillEvent::What::Local, .warp = &w, .first = from, .bytes = bytes, .to = to, .lanes = 1u << lane});
}

CallStack& calls_of(Warp& w) {
  if (!w.calls) w.calls = std::make_unique<CallStack>(program_of(w).routines.size(), program_of(w).local_bytes);
  return *w.calls;
}

/// The routine at the address that this lane calls.
uint32_t routine_at(Warp& w, const RoutineCall& call, int lane) {
  const Program& program = program_of(w);
  const uint64_t address = lanes<uint64_t>(w, call.pointer)[lane];
  const auto found = program.routine_at.find(address);
  if (found == program.routine_at.end())
    throw Fault{address == 0 ? faults::call_of_null : faults::call_of_no_function, {address}, lane};
  const Routine& routine = program.routines[found->second];
  const auto differ = [](const std::vector<Passed>& given, const std::vector<Passed>& wanted) {
    return !std::equal(given.begin(), given.end(), wanted.begin(), wanted.end(),
                       [](const Passed& a, const Passed& b) { return a.bytes == b.bytes; });
  };
  if (differ(call.arguments, routine.parameters) || differ(call.results, routine.results))
    throw Fault{faults::call_with_other_prototype, {base::readable_name(routine.function->name)}, lane};
  return found->second;
}

// ---- the registers of a routine that is entered recursively

void save(Warp& w, const Routine& routine, int lane, std::vector<uint8_t>& to) {
  for (const Routine::Kept& kept : routine.registers) {
    const uint8_t* const slot = w.registers + kept.slot;
    if (kept.bytes == 0) {
      to.push_back(*reinterpret_cast<const Mask*>(slot) >> lane & 1);
    } else {
      const uint8_t* const value = slot + static_cast<size_t>(lane) * kept.bytes;
      to.insert(to.end(), value, value + kept.bytes);
    }
  }
}
void restore(Warp& w, const Routine& routine, int lane, std::vector<uint8_t>& from) {
  for (auto kept = routine.registers.rbegin(); kept != routine.registers.rend(); ++kept) {
    if (kept->bytes == 0) {
      set_predicate(w, kept->slot, 1u << lane, from.back() != 0 ? kAllLanes : 0);
      from.pop_back();
    } else {
      const auto value = from.end() - kept->bytes;
      std::copy(value, from.end(), w.registers + kept->slot + static_cast<size_t>(lane) * kept->bytes);
      from.erase(value, from.end());
    }
  }
}

[[noreturn]] void overflow(Warp& w, const Routine& routine, const CallStack& calls, int lane) {
  const Launch& launch = *cluster_of(w).launch;
  const auto index = static_cast<size_t>(lane);
  throw Fault{faults::stack_overflow,
              {base::readable_name(routine.function->name), calls.lanes[index].size() + 1, routine.frame_bytes,
               launch.local_bytes - program_of(w).local_bytes, launch.local_bytes - calls.top[index]},
              lane};
}

void enter(Warp& w, const RoutineCall& call, uint32_t target, CallStack& calls, int lane) {
  const Routine& routine = program_of(w).routines[target];
  const auto index = static_cast<size_t>(lane);
  const uint32_t frame = base::round_up(calls.top[index], routine.frame_align);
  if (uint64_t{frame} + routine.frame_bytes > cluster_of(w).launch->local_bytes) overflow(w, routine, calls, lane);
  const bool is_nested = (calls.active[target] >> lane & 1) != 0;
  if (is_nested) save(w, routine, lane, calls.saved[index]);
  std::memset(local_of(w, lane) + frame, 0xFF, routine.frame_bytes);  // NaN: uninitialised
  for (size_t i = 0; i < call.arguments.size(); ++i)
    move_local(w, lane, frame + routine.parameters[i].offset, calls.frame[index] + call.arguments[i].offset,
               call.arguments[i].bytes);
  for (const Routine::FrameAddress& address : routine.addresses) {
    const uint32_t value = frame + address.offset;
    if (address.wide)
      lanes<uint64_t>(w, address.slot)[lane] = value;
    else
      lanes<uint32_t>(w, address.slot)[lane] = value;
  }
  calls.active[target] |= 1u << lane;
  calls.lanes[index].push_back({w.split().pc, target, frame, frame + routine.frame_bytes, is_nested});
  calls.frame[index] = frame, calls.top[index] = frame + routine.frame_bytes;
}

void leave(Warp& w, CallStack& calls, int lane) {
  const auto index = static_cast<size_t>(lane);
  std::vector<Activation>& stack = calls.lanes[index];
  const Activation ended = stack.back();
  stack.pop_back();
  const Program& program = program_of(w);
  const Routine& routine = program.routines[ended.routine];
  calls.frame[index] = stack.empty() ? 0 : stack.back().frame;
  calls.top[index] = stack.empty() ? program.local_bytes : stack.back().top;
  const auto& call = operands<RoutineCall>(program.ops[ended.call]);
  for (size_t i = 0; i < call.results.size(); ++i)
    move_local(w, lane, calls.frame[index] + call.results[i].offset, ended.frame + routine.results[i].offset,
               call.results[i].bytes);
  if (ended.is_nested)
    restore(w, routine, lane, calls.saved[index]);
  else
    calls.active[ended.routine] &= ~(1u << lane);
}

void tell_parted(Warp& w, Mask some, Mask others) {
  if (others != 0) cluster_of(w).watchers.tell(LaneEvent{LaneEvent::What::Part, w, some, others});
}

/// Whether saving and restoring must wait: a register that an unfinished operation has still to write may be neither
/// saved nor restored.
bool must_wait(const Warp& w, Mask nested) { return nested != 0 && has_pending(w); }

}  // namespace

Flow call_routine(Warp& w, const RoutineCall& call, Mask m) {
  CallStack& calls = calls_of(w);
  Mask together = m;
  uint32_t target = call.routine;
  if (call.pointer >= 0) {
    const auto* address = lanes<uint64_t>(w, call.pointer);
    target = routine_at(w, call, first_lane(m));
    for (Mask rest = m; rest; rest &= rest - 1) {
      if (address[first_lane(rest)] != address[first_lane(m)]) together &= ~(1u << first_lane(rest));
    }
  }
  if (must_wait(w, calls.active[target] & together)) return block(w, Wait::Scoreboard);
  for (Mask rest = together; rest; rest &= rest - 1) enter(w, call, target, calls, first_lane(rest));
  // Lanes that do not call continue at the next instruction; lanes that call another function execute this one again.
  Split& split = w.split();
  const Mask idle = split.mask & ~m, elsewhere = m & ~together;
  tell_parted(w, together, idle | elsewhere);
  if (idle != 0) w.fork(idle, split.pc + 1);
  if (elsewhere != 0) w.fork(elsewhere, split.pc);
  split.mask = together;
  split.pc = program_of(w).routines[target].entry;
  ++split.depth;
  return Flow::Choose;
}

Flow return_from_routine(Warp& w, const NoOperands&, Mask m) {
  CallStack& calls = *w.calls;
  Mask nested = 0;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    nested |= Mask{calls.lanes[static_cast<size_t>(lane)].back().is_nested} << lane;
  }
  if (must_wait(w, nested)) return block(w, Wait::Scoreboard);
  Split& split = w.split();
  if (const Mask others = split.mask & ~m; others != 0) {
    tell_parted(w, m, others);
    w.fork(others, split.pc + 1);
  }
  // Lanes that were called from different instructions, or at different depths, diverge.
  bool is_first = true;
  for (Mask rest = m; rest;) {
    const auto& stack = calls.lanes[static_cast<size_t>(first_lane(rest))];
    const uint32_t call = stack.back().call;
    const auto depth = static_cast<uint32_t>(stack.size());
    Mask together = 0;
    for (Mask others = rest; others; others &= others - 1) {
      const auto& other = calls.lanes[static_cast<size_t>(first_lane(others))];
      if (other.back().call == call && other.size() == depth) together |= 1u << first_lane(others);
    }
    rest &= ~together;
    tell_parted(w, together, rest);
    for (Mask each = together; each; each &= each - 1) leave(w, calls, first_lane(each));
    Split& back = is_first ? split : w.fork(together, call + 1);
    back.mask = together, back.pc = call + 1, back.depth = depth - 1;
    is_first = false;
  }
  return Flow::Choose;
}

uint8_t* in_frame(Warp& w, int lane, uint32_t offset) {
  return local_of(w, lane) + (w.calls ? w.calls->frame[static_cast<size_t>(lane)] : 0) + offset;
}

Flow register_to_frame(Warp& w, const FrameRegister& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint64_t value = number(w, o.slot, o.bytes == 8, lane);
    std::memcpy(in_frame(w, lane, o.offset), &value, o.bytes);
  }
  return Flow::Next;
}
Flow frame_to_register(Warp& w, const FrameRegister& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    uint64_t value = 0;
    std::memcpy(&value, in_frame(w, lane, o.offset), o.bytes);
    if (o.bytes == 8)
      lanes<uint64_t>(w, o.slot)[lane] = value;
    else
      lanes<uint32_t>(w, o.slot)[lane] = static_cast<uint32_t>(value);
  }
  return Flow::Next;
}

Flow copy_in_frame(Warp& w, const FrameCopy& copy, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1)
    std::memmove(in_frame(w, first_lane(rest), copy.to), in_frame(w, first_lane(rest), copy.from), copy.bytes);
  return Flow::Next;
}

}  // namespace sim
