#include "exec/core/pending.h"

#include <algorithm>
#include <limits>
#include <span>

#include "exec/core/program.h"
#include "exec/core/report.h"

namespace sim {

// Defined here because PendingRegisters is complete only here.
Warp::Warp() = default;
Warp::~Warp() = default;
Warp::Warp(Warp&&) noexcept = default;

namespace {

bool overlap(const Slot& a, const Slot& b) { return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes; }

/// The units that a slot touches.
std::span<uint32_t> units_of(PendingRegisters& pending, const Slot& slot) {
  const auto first = static_cast<size_t>(slot.offset / PendingRegisters::kUnit),
             last = static_cast<size_t>((slot.offset + slot.bytes - 1) / PendingRegisters::kUnit);
  return std::span(pending.carrier).subspan(first, last - first + 1);
}

/// The newest operation that this slot waits for; 0 if none.
uint32_t newest(PendingRegisters& pending, const Slot& slot) {
  if (slot.offset >= pending.high || slot.offset + slot.bytes <= pending.low) return 0;
  uint32_t result = 0;
  for (size_t i = pending.operations.size(); i-- > 0 && result == 0;) {
    for (const Slot& written : *pending.operations[i].slots) {
      if (overlap(written, slot)) result = pending.operations[i].number;
    }
  }
  if (!pending.moves.empty()) {
    for (const uint32_t number : units_of(pending, slot)) result = std::max(result, number);
  }
  return result;
}
uint32_t newest(PendingRegisters& pending, const std::vector<Slot>& slots) {
  uint32_t result = 0;
  for (const Slot& slot : slots) result = std::max(result, newest(pending, slot));
  return result;
}

void widen(PendingRegisters& pending, const Slot& slot) {
  pending.low = std::min(pending.low, slot.offset);
  pending.high = std::max(pending.high, slot.offset + slot.bytes);
}

/// Marks those of the written registers that operations have still to read.
void overwrite(const PendingRegisters& pending, const std::vector<Slot>& written) {
  for (const PendingRegisters::Operation& operation : pending.operations) {
    for (size_t i = 0; operation.reads != nullptr && i < operation.reads->size(); ++i) {
      for (const Slot& slot : written) *operation.stale |= uint32_t{overlap((*operation.reads)[i], slot)} << i;
    }
  }
}

bool reads(const Op& op, const std::vector<Slot>& slots) {
  for (const Slot& a : op.uses->reads) {
    for (const Slot& b : slots) {
      if (overlap(a, b)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Slot> joined(std::vector<Slot> slots) {
  std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.offset < b.offset; });
  std::vector<Slot> result;
  for (const Slot& slot : slots) {
    constexpr int32_t kMost = std::numeric_limits<uint16_t>::max();
    if (!result.empty()) {
      Slot& last = result.back();
      const int32_t bytes = std::max(last.offset + last.bytes, slot.offset + slot.bytes) - last.offset;
      if (slot.offset <= last.offset + last.bytes && bytes <= kMost) {
        last.bytes = static_cast<uint16_t>(bytes);
        continue;
      }
    }
    result.push_back(slot);
  }
  return result;
}

uint32_t begin_pending(Warp& warp, const std::vector<Slot>& slots, bool is_load) {
  cluster_of(warp).watchers.tell(FillEvent{.what = FillEvent::What::Registers, .warp = &warp, .slots = &slots});
  if (!warp.pending) warp.pending = std::make_unique<PendingRegisters>();
  PendingRegisters& pending = *warp.pending;
  if (pending.operations.empty()) pending.low = std::numeric_limits<int32_t>::max(), pending.high = 0;
  const uint32_t number = pending.next++;
  for (const Slot& slot : slots) widen(pending, slot);
  pending.operations.push_back({number, &slots, is_load});
  return number;
}

void read_late(Warp& warp, const std::vector<Slot>& slots, uint32_t* stale) {
  PendingRegisters& pending = *warp.pending;
  for (const Slot& slot : slots) widen(pending, slot);
  pending.operations.back().reads = &slots;
  pending.operations.back().stale = stale;
}

void complete_pending(Warp& warp, uint32_t number) {
  PendingRegisters& pending = *warp.pending;
  const auto found =
      std::find_if(pending.operations.begin(), pending.operations.end(),
                   [&](const PendingRegisters::Operation& operation) { return operation.number == number; });
  pending.operations.erase(found);
  if (!pending.moves.empty()) {
    for (const PendingRegisters::Move& move : pending.moves) {
      if (move.number != number) continue;
      move.op->run(warp, *move.op, move.mask);
      for (const Slot& slot : move.op->uses->writes) {
        for (uint32_t& carried : units_of(pending, slot)) carried = carried == number ? 0 : carried;
      }
    }
    std::erase_if(pending.moves, [&](const PendingRegisters::Move& move) { return move.number == number; });
  }
  if (!pending.operations.empty()) return;
  for_waiting(warp, Wait::Scoreboard, [&](uint8_t split) { retry(warp, split, 0); });
}

bool is_pending(const Warp& warp, int32_t slot) {
  return warp.pending != nullptr && !warp.pending->operations.empty() &&
         newest(*warp.pending, {slot, PendingRegisters::kUnit}) != 0;
}

PendingCheck check_pending(Warp& warp, const Op& op, Mask mask) {
  PendingRegisters& pending = *warp.pending;
  const uint32_t read = newest(pending, op.uses->reads);
  const uint32_t written = newest(pending, op.uses->writes);
  const bool feeds_move =
      std::any_of(pending.moves.begin(), pending.moves.end(),
                  [&](const PendingRegisters::Move& move) { return reads(*move.op, op.uses->writes); });
  if (read == 0) {
    if (written != 0 || feeds_move) return PendingCheck::Stall;
    if (!op.is_move) overwrite(pending, op.uses->writes);
    return PendingCheck::Execute;
  }
  if (op.is_move) {
    if (written != 0 || feeds_move) return PendingCheck::Stall;
    if (pending.carrier.empty())
      pending.carrier.assign(cluster_of(warp).launch->program->register_bytes / PendingRegisters::kUnit + 1, 0);
    pending.moves.push_back({read, &op, mask});
    for (const Slot& slot : op.uses->reads) widen(pending, slot);  // these may not change meanwhile
    for (const Slot& slot : op.uses->writes) {
      widen(pending, slot);
      for (uint32_t& carried : units_of(pending, slot)) carried = read;
    }
    return PendingCheck::Deferred;
  }
  // Debug code keeps every variable in local memory, including accumulators, and ptxas makes it wait for each wgmma.
  if (cluster_of(warp).launch->program->module->for_debugging) return PendingCheck::Stall;
  const Fault fault{faults::register_of_unfinished};
  Cluster& cluster = cluster_of(warp);
  const bool is_load = std::all_of(pending.operations.begin(), pending.operations.end(),
                                   [](const PendingRegisters::Operation& operation) { return operation.is_load; });
  if (!is_load) throw fault;
  tolerate_violation(cluster, Habit::LoadWithoutWait, fault, &warp, nullptr);
  return PendingCheck::Stall;
}

}  // namespace sim
