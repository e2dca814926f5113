#include "exec/core/pending.h"

#include <algorithm>

#include "exec/core/program.h"

namespace sim {

// Here, where PendingRegisters is complete.
Warp::Warp() = default;
Warp::~Warp() = default;
Warp::Warp(Warp&&) noexcept = default;

namespace {

template <class F>
void for_units(const Slot& slot, F f) {
  for (int32_t unit = slot.offset / PendingRegisters::kUnit; unit * PendingRegisters::kUnit < slot.offset + slot.bytes;
       ++unit)
    f(static_cast<size_t>(unit));
}

/// The newest operation that one of these slots waits for; 0 if none.
uint32_t newest(const PendingRegisters& pending, const std::vector<Slot>& slots) {
  uint32_t result = 0;
  for (const Slot& slot : slots) for_units(slot, [&](size_t unit) { result = std::max(result, pending.writer[unit]); });
  return result;
}

void mark(PendingRegisters& pending, const Slot& slot, uint32_t number) {
  for_units(slot, [&](size_t unit) {
    if (pending.writer[unit] == 0) ++pending.pending_units;
    pending.writer[unit] = number;
  });
}

bool reads(const Op& op, const std::vector<Slot>& slots) {
  for (const Slot& a : op.uses->reads) {
    for (const Slot& b : slots) {
      if (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes) return true;
    }
  }
  return false;
}

/// The operation that has written the slot unit, if nobody has waited for it; 0: none.
void mark_unwaited(PendingRegisters& pending, size_t unit, uint32_t number) {
  uint32_t& writer = pending.unwaited[unit];
  pending.unwaited_units += (number != 0) - (writer != 0);
  writer = number;
}
void mark_unwaited(PendingRegisters& pending, const Slot& slot, uint32_t number) {
  for_units(slot, [&](size_t unit) { mark_unwaited(pending, unit, number); });
}

/// Those of these slots that nobody has waited for: the newest operation that has written one; 0 if there is none.
uint32_t newest_unwaited(const PendingRegisters& pending, const std::vector<Slot>& slots) {
  uint32_t result = 0;
  for (const Slot& slot : slots)
    for_units(slot, [&](size_t unit) { result = std::max(result, pending.unwaited[unit]); });
  return result;
}

PendingRegisters& pending_of(Warp& warp) {
  if (!warp.pending) {
    warp.pending = std::make_unique<PendingRegisters>();
    const size_t units = cluster_of(warp).launch->program->register_bytes / PendingRegisters::kUnit + 1;
    warp.pending->writer.assign(units, 0), warp.pending->unwaited.assign(units, 0);
  }
  return *warp.pending;
}

void waited_up_to(PendingRegisters& pending, uint32_t number) {
  if (pending.unwaited_units == 0) return;
  for (size_t unit = 0; unit < pending.unwaited.size(); ++unit) {
    if (pending.unwaited[unit] != 0 && pending.unwaited[unit] <= number) mark_unwaited(pending, unit, 0);
  }
}

}  // namespace

uint32_t begin_pending(Warp& warp, const std::vector<Slot>& slots, bool is_load) {
  PendingRegisters& pending = pending_of(warp);
  pending.are_loads = is_load;
  const uint32_t number = pending.next++;
  for (const Slot& slot : slots) mark(pending, slot, number), mark_unwaited(pending, slot, 0);
  pending.operations.push_back({number, slots});
  return number;
}

void complete_pending(Warp& warp, uint32_t number) {
  PendingRegisters& pending = *warp.pending;
  const auto release = [&](const Slot& slot) {
    for_units(slot, [&](size_t unit) {
      if (pending.writer[unit] != number) return;  // a later operation writes it again
      pending.writer[unit] = 0;
      --pending.pending_units;
      mark_unwaited(pending, unit, number);
    });
  };
  const auto found =
      std::find_if(pending.operations.begin(), pending.operations.end(),
                   [&](const PendingRegisters::Operation& operation) { return operation.number == number; });
  for (const PendingRegisters::Move& move : pending.moves) {
    if (move.number != number) continue;
    move.op->run(warp, *move.op, move.mask);
    for (const Slot& slot : move.op->uses->writes) release(slot);
  }
  std::erase_if(pending.moves, [&](const PendingRegisters::Move& move) { return move.number == number; });
  for (const Slot& slot : found->slots) release(slot);
  pending.operations.erase(found);
  if (pending.pending_units > 0) return;
  for_waiting(warp, Wait::Scoreboard, [&](uint8_t split) { retry(warp, split, 0); });
}

void waited_pending(Warp& warp) {
  if (warp.pending) waited_up_to(*warp.pending, warp.pending->next - 1);
}

void waited_pending_but(Warp& warp, uint32_t groups) {
  if (!warp.pending || warp.pending->wgmma_groups.size() <= groups) return;
  waited_up_to(*warp.pending, warp.pending->wgmma_groups[warp.pending->wgmma_groups.size() - 1 - groups]);
}

void commit_pending(Warp& warp) {
  PendingRegisters& pending = pending_of(warp);
  pending.wgmma_groups.push_back(pending.next - 1);
}

void store_pending(Warp& warp, bool waited) {
  if (!waited || warp.pending) pending_of(warp).stores_unwaited = !waited;
}

bool is_pending(const Warp& warp, int32_t slot) {
  return warp.pending != nullptr && warp.pending->writer[static_cast<size_t>(slot / PendingRegisters::kUnit)] != 0;
}

PendingCheck check_pending(Warp& warp, const Op& op, Mask mask) {
  if (op.touches_pending || op.uses == nullptr) return PendingCheck::Execute;
  PendingRegisters& pending = *warp.pending;
  const uint32_t read = newest(pending, op.uses->reads);
  const uint32_t written = newest(pending, op.uses->writes);
  const bool feeds_move =
      std::any_of(pending.moves.begin(), pending.moves.end(),
                  [&](const PendingRegisters::Move& move) { return reads(*move.op, op.uses->writes); });
  const uint32_t unwaited = newest_unwaited(pending, op.uses->reads);
  if (read == 0 && (written != 0 || feeds_move)) return PendingCheck::Stall;
  if (read == 0 && (unwaited == 0 || op.is_move)) {
    for (const Slot& slot : op.uses->writes) mark_unwaited(pending, slot, unwaited);
    return PendingCheck::Execute;
  }
  if (op.is_move) {
    if (written != 0 || feeds_move) return PendingCheck::Stall;
    pending.moves.push_back({read, &op, mask});
    for (const Slot& slot : op.uses->writes) mark(pending, slot, read);
    return PendingCheck::Deferred;
  }
  const Fault fault{Status::LaunchFailure,
                    pending.are_loads
                        ? "a register is used that a tcgen05.ld writes: tcgen05.wait::ld is required before"
                        : "a register is used that a wgmma writes: wgmma.wait_group is required before"};
  if (!pending.are_loads || !forgive(cluster_of(warp), order::Habit::LoadWithoutWait, fault, &warp, nullptr))
    throw fault;
  waited_up_to(pending, pending.next - 1);  // said once
  if (read == 0) return PendingCheck::Execute;
  return PendingCheck::Stall;
}

}  // namespace sim
