#include "timing/taint.h"

#include <algorithm>

#include "exec/core/program.h"
#include "machine/address.h"
#include "report/faults.h"

namespace sim {
namespace {

[[noreturn]] void give_up(const FaultText& what, Mask lanes) { throw Fault{what, {}, first_lane(lanes)}; }

std::vector<bool>::iterator at(std::vector<bool>& bits, size_t i) {
  return bits.begin() + static_cast<std::ptrdiff_t>(i);
}

}  // namespace

TaintTracker::TaintTracker(const Program& program, bool alone)
    : Watcher({EventKind::Life, EventKind::Step, EventKind::Access, EventKind::Fill}),
      program_(program),
      alone_(alone) {}

void TaintTracker::on(const LifeEvent& event) {
  if (event.what == LifeEvent::What::Begins) start(event.cluster);
}

void TaintTracker::on(const StepEvent& event) {
  if (event.is_done)
    after(event.warp, event.op, event.lanes);
  else
    before(event.warp, event.op, event.standing, event.lanes);
}

void TaintTracker::on(const AccessEvent& event) {
  if (!event.is_done) return require_known(event.warp, event.address_slot, event.lanes);
  if (!event.is_own_instruction) return;
  const bool loads = event.role != Role::Store, stores = event.role != Role::Load;
  const auto for_lanes_of = [&](const auto& f) {
    for (Mask rest = event.lanes; rest; rest &= rest - 1) f(first_lane(rest));
  };
  switch (event.memory) {
    case AccessEvent::Memory::Constant: break;
    case AccessEvent::Memory::Global:
      // Data written by kernels are missing, and it is unknown which allocations kernels write.
      if (loads) loaded_ |= event.lanes;
      break;
    case AccessEvent::Memory::Shared:
      for_lanes_of([&](int lane) {
        const auto rank = static_cast<uint32_t>(event.address[lane] >> kSharedRankShift);
        const auto offset = static_cast<uint32_t>(event.address[lane] & kSharedOffsetMask);
        if (loads) loads_shared(rank, offset, event.bytes, lane);
        if (stores) stores_shared(event.warp, rank, offset, event.bytes, lane, event.address_slot);
      });
      break;
    case AccessEvent::Memory::Local:
      for_lanes_of([&](int lane) {
        const auto offset = static_cast<uint32_t>(event.address[lane]);
        if (stores)
          stores_local(event.warp, offset, event.bytes, lane, event.address_slot);
        else
          loads_local(event.warp, offset, event.bytes, lane);
      });
      break;
  }
}

void TaintTracker::on(const FillEvent& event) {
  switch (event.what) {
    case FillEvent::What::Shared: mark(event.rank, event.first, event.bytes, !event.is_known); break;
    case FillEvent::What::Registers: will_write(*event.warp, *event.slots); break;
    case FillEvent::What::Local:
      moves_local(*event.warp, event.to, event.first, event.bytes, first_lane(event.lanes));
      break;
    case FillEvent::What::Loaded: loaded_ &= ~event.lanes; break;
  }
}

void TaintTracker::start(const Cluster& cluster) {
  local_bytes_ = cluster.launch->local_bytes;
  warps_.assign(cluster.ctas.size(), {});
  shared_.assign(cluster.ctas.size(), {});
  for (size_t rank = 0; rank < cluster.ctas.size(); ++rank) {
    const Cta& cta = cluster.ctas[rank];
    warps_[rank].resize(cta.warps.size());
    shared_[rank].assign(cta.smem.size(), alone_);
  }
}

Mask TaintTracker::read_by(const Warp& warp, const Op& op, int32_t but) const {
  const std::vector<Mask>& registers = of(warp).registers;
  Mask found = 0;
  if (op.uses == nullptr || registers.empty()) return found;
  for (const Slot& slot : op.uses->reads) {
    if (slot.offset != but) found |= registers[index(slot.offset)];
  }
  return found;
}

void TaintTracker::before(const Warp& warp, const Op& op, Mask standing, Mask mask) {
  op_ = &op;
  loaded_ = 0;
  read_ = read_by(warp, op) & mask;
  const DataUse use = program_.traits[static_cast<size_t>(&op - program_.ops.data())].use;
  if (op.guard >= 0 && !of(warp).registers.empty()) {
    const Mask chosen = of(warp).registers[index(op.guard)] & standing;
    if (chosen != 0 && use != DataUse::Computes) give_up(faults::unknown_lanes, chosen);
    read_ |= chosen;
  }
  if (read_ != 0 && (use == DataUse::Steers || (use == DataUse::Decides && !alone_)))
    give_up(faults::unknown_effect, read_);
  if (read_ != 0 && use == DataUse::Carries) read_ = kAllLanes;  // one lane's value may become another's
}

void TaintTracker::after(const Warp& warp, const Op& op, Mask mask) {
  if (op.uses == nullptr || op.uses->writes.empty()) return;
  std::vector<Mask>& registers = of(warp).registers;
  const Mask unknown = read_ | loaded_;
  if (registers.empty()) {
    if (unknown == 0) return;
    registers.assign(program_.register_bytes / 4 + 1, 0);
  }
  // Where the guard is unknown, the destination may or may not keep its old value.
  for (const Slot& slot : op.uses->writes) {
    Mask& lanes = registers[index(slot.offset)];
    lanes = (lanes & ~mask) | (unknown & (mask | (op.guard >= 0 ? read_ : 0)));
  }
}

void TaintTracker::require_known(const Warp& warp, int32_t address_slot, Mask mask) const {
  const std::vector<Mask>& registers = of(warp).registers;
  if (registers.empty()) return;
  if (const Mask lanes = registers[index(address_slot)] & mask; lanes != 0) give_up(faults::unknown_address, lanes);
}

void TaintTracker::loads_shared(uint32_t rank, uint32_t offset, uint32_t bytes, int lane) {
  const std::vector<bool>& shared = shared_[rank];
  for (uint32_t i = offset; i < offset + bytes && i < shared.size(); ++i) {
    if (shared[i]) loaded_ |= 1u << lane;
  }
}

void TaintTracker::stores_shared(const Warp& warp, uint32_t rank, uint32_t offset, uint32_t bytes, int lane,
                                 int32_t address_slot) {
  std::vector<bool>& shared = shared_[rank];
  const bool unknown = read_by(warp, *op_, address_slot) >> lane & 1;
  for (uint32_t i = offset; i < offset + bytes && i < shared.size(); ++i) shared[i] = unknown;
}

void TaintTracker::loads_local(const Warp& warp, uint32_t offset, uint32_t bytes, int lane) {
  const std::vector<bool>& local = of(warp).local;
  if (local.empty()) return;
  const size_t first = static_cast<size_t>(lane) * local_bytes_ + offset;
  for (size_t i = first; i < first + bytes; ++i) {
    if (local[i]) loaded_ |= 1u << lane;
  }
}

void TaintTracker::stores_local(const Warp& warp, uint32_t offset, uint32_t bytes, int lane, int32_t address_slot) {
  std::vector<bool>& local = of(warp).local;
  const bool unknown = read_by(warp, *op_, address_slot) >> lane & 1;
  if (local.empty()) {
    if (!unknown) return;
    local.assign(size_t{32} * local_bytes_, false);
  }
  const size_t first = static_cast<size_t>(lane) * local_bytes_ + offset;
  for (size_t i = first; i < first + bytes; ++i) local[i] = unknown;
}

void TaintTracker::moves_local(const Warp& warp, uint32_t to, uint32_t from, uint64_t bytes, int lane) {
  std::vector<bool>& local = of(warp).local;
  if (local.empty()) return;
  const size_t first = static_cast<size_t>(lane) * local_bytes_;
  for (uint64_t i = 0; i < bytes; ++i) local[first + to + i] = local[first + from + i];
}

void TaintTracker::mark(uint32_t rank, uint32_t first, uint32_t count, bool unknown) {
  std::vector<bool>& shared = shared_[rank];
  const size_t end = std::min(size_t{first} + count, shared.size());
  if (first < end) std::fill(at(shared, first), at(shared, end), unknown);
}

void TaintTracker::will_write(const Warp& warp, const std::vector<Slot>& slots) {
  std::vector<Mask>& registers = of(warp).registers;
  if (registers.empty()) registers.assign(program_.register_bytes / 4 + 1, 0);
  for (const Slot& slot : slots) {  // of several registers, side by side
    std::fill(registers.data() + index(slot.offset), registers.data() + index(slot.offset + slot.bytes), kAllLanes);
  }
}

}  // namespace sim
