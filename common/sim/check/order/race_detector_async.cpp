// Asynchronous operations: their accesses are known to have finished only through the channel in which they complete.
#include <algorithm>
#include <bit>

#include "check/order/judge.h"

namespace sim::order {
namespace {

constexpr size_t kBulkStores = 2, kBulkGroups = 3;  // in WarpKnowledge::open

void forget_old(std::vector<WarpKnowledge::Commit>& commits) {
  constexpr size_t kMost = 512;
  if (commits.size() > kMost) commits.erase(commits.begin(), commits.begin() + kMost / 2);
}

}  // namespace

uint16_t RaceDetector::row_of(CtaKnowledge& cta, WarpKnowledge& warp, Own own) {
  uint16_t& row = warp.rows[static_cast<size_t>(own)];
  if (row == 0) row = cta.rows++;
  return row;
}

/// These lanes have waited until at most `pending` of their newest groups are incomplete.
void RaceDetector::learn_of_queue(const By& by, Own own, const std::vector<WarpKnowledge::Commit>& commits,
                                  uint32_t pending) {
  WarpKnowledge& warp = by.threads();
  warp.waited_at[static_cast<size_t>(own)] = by.pc;
  Mask rest = by.lanes;
  uint32_t seen[32] = {};
  for (size_t i = commits.size(); i-- > 0 && rest != 0;) {
    Mask here = 0;
    for (Mask lanes = commits[i].lanes & rest; lanes; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      if (seen[lane]++ == pending) here |= 1u << lane;
    }
    if (here == 0) continue;
    warp.update(here, [&](Knowledge& knows, Mask) {
      Entry& self = knows.self[static_cast<size_t>(own)];
      self = later(self, entry(commits[i].position, kDone));
    });
    rest &= ~here;
  }
}

/// The signal of a completing operation: that it has finished, and what its thread knew of other channels. Knowledge of
/// the actions of threads is passed on only by threads.
Signal RaceDetector::work_signal(const By& by) {
  by.threads().close();  // includes the thread's waits so far
  Signal tells;
  tells.happened = tells.released = by.threads().published(by.lanes, 1u << kPassed).channels();
  tells.unscoped = true;
  tells.from = by.cta.place, tells.warp = by.warp, tells.lanes = by.lanes, tells.pc = by.pc;
  return tells;
}

// ---- cp.async

void RaceDetector::copy_async(const By& by, const uint64_t* to, const uint64_t* from, uint32_t bytes, Mask reading) {
  WarpKnowledge& warp = by.threads();
  warp.act();
  const uint16_t row = row_of(by.cta, warp, Own::Copies);
  const Tick position = ++warp.issued[static_cast<size_t>(Own::Copies)];
  warp.for_groups(by.lanes, [&](const Knowledge& knows, Mask lanes) {
    RecordedAccess access = made_by(by, Role::CopyAsync, Proxy::Generic);
    access.row = row, access.position = position, access.lanes = lanes;
    RecordedAccess source = access;
    access.writes = true;
    touch_lanes(std::move(access), by.cta.shared, to, bytes, Context{by, warp, knows, lanes, false, false});
    source.reads = true, source.lanes = lanes & reading;
    if (source.lanes != 0)
      touch_lanes(std::move(source), global_, from, bytes, Context{by, warp, knows, lanes & reading, false, true});
  });
  if (accesses_.crowded()) collect();
}

void RaceDetector::copy_commit(const By& by) {
  WarpKnowledge& warp = by.threads();
  warp.copies.push_back({warp.issued[static_cast<size_t>(Own::Copies)], by.lanes});
  forget_old(warp.copies);
}

void RaceDetector::copy_wait(const By& by, uint32_t pending, bool open_too) {
  WarpKnowledge& warp = by.threads();
  if (!open_too) return learn_of_queue(by, Own::Copies, warp.copies, pending);
  const Tick all = warp.issued[static_cast<size_t>(Own::Copies)];
  warp.waited_at[static_cast<size_t>(Own::Copies)] = by.pc;
  warp.update(by.lanes, [&](Knowledge& knows, Mask) {
    Entry& self = knows.self[static_cast<size_t>(Own::Copies)];
    self = later(self, entry(all, kDone));
  });
}

Signal RaceDetector::copy_signal(const By& by) {
  WarpKnowledge& warp = by.threads();
  const uint16_t row = row_of(by.cta, warp, Own::Copies);
  const Tick all = warp.issued[static_cast<size_t>(Own::Copies)];
  Signal tells = work_signal(by);
  tells.happened = tells.released =
      tells.happened.with(by.cta.place.cta, warp.warps, {{row, by.lanes, entry(all, kDone)}});
  return tells;
}

// ---- bulk copies

std::unique_ptr<OperationRecord> RaceDetector::bulk_load(const By& by, Role role, const std::vector<Landing>& landings,
                                                         const CtaKnowledge* from_cta, const std::vector<Range>& from,
                                                         bool reduces) {
  WarpKnowledge& warp = by.threads();
  const Knowledge& knows = warp.knowledge(std::countr_zero(by.lanes));
  const Context context{by, warp, knows, by.lanes, false, false};
  auto operation = std::make_unique<OperationRecord>();
  operation->signal = work_signal(by);
  warp.act();
  MapRead* map = nullptr;
  if (operation->map = take_map(by); operation->map != 0) {
    map = &map_reads_[operation->map];
    map->loads = true;
    map->in_flight = static_cast<uint32_t>(landings.size());
    accesses_[operation->map].in_flight = true;
  }
  bool first = true;
  for (const Landing& landing : landings) {
    BarrierChannel& barrier = landing.barrier_cta->barriers[landing.barrier];
    if (barrier.row == 0) barrier.row = landing.barrier_cta->rows++;
    check_exists(by, *landing.barrier_cta, landing.barrier, barrier, context, true);
    coming(by, *landing.barrier_cta, landing.barrier, operation->signal);
    if (map != nullptr) map->ends.push_back({landing.barrier_cta->place.cta, barrier.row, kAll, 0});
    // The ISA names the operations of the asynchronous proxy; st.async and red.async are not among them.
    RecordedAccess access = made_by(by, role, role == Role::RemoteStore ? Proxy::Generic : Proxy::Async);
    access.atomic = reduces, access.scope = Scope::Cluster;
    access.cta = landing.barrier_cta->place.cta, access.row = barrier.row;
    access.lanes = kAll, access.position = 0, access.in_flight = true;
    access.detail = counting_phase(by, *landing.barrier_cta, barrier);
    if (first && !from.empty()) {
      RecordedAccess source = access;
      source.reads = true;
      const uint32_t number = record(std::move(source));
      operation->accesses.push_back(number);
      Shadow& shadow = from_cta == nullptr ? global_ : const_cast<CtaKnowledge*>(from_cta)->shared;
      const Context reading{by, warp, knows, by.lanes, false, from_cta == nullptr};
      touch(shadow, from, number, reading);
    } else if (first) {
      operation->accesses.push_back(0);
    }
    first = false;
    access.writes = true, access.reads = reduces;
    const uint32_t number = record(std::move(access));
    operation->accesses.push_back(number);
    const Context there{by, warp, knows, by.lanes, false, false, landing.cta};
    touch(landing.cta->shared, landing.ranges, number, there);
  }
  if (map != nullptr)  // its bulk group makes the end known, too
    map->ends.push_back({by.cta.place.cta, row_of(by.cta, warp, Own::BulkReads), by.lanes,
                         ++warp.issued[static_cast<size_t>(Own::BulkReads)]});
  if (accesses_.crowded()) collect();
  return operation;
}

void RaceDetector::landed(OperationRecord& operation, size_t index, CtaKnowledge& barrier_cta, uint32_t offset) {
  const BarrierChannel& barrier = barrier_cta.barriers[offset];
  const auto complete = [&](uint32_t number) {
    if (number == 0) return;
    RecordedAccess& access = accesses_[number];
    access.position = barrier.completed + 1;
    access.in_flight = false;
  };
  if (index == 0) complete(operation.accesses[0]);
  complete(operation.accesses[index + 1]);
  if (operation.map != 0) {
    MapRead& map = map_reads_.at(operation.map);
    map.ends[index].position = barrier.completed + 1;
    accesses_[operation.map].in_flight = --map.in_flight != 0;
  }
  arrived(barrier_cta, offset, operation.signal);
}

void RaceDetector::issued(const By& by, size_t queue) {
  WarpKnowledge::Open& open = by.threads().open[queue];
  open.lanes |= by.lanes, open.pc = by.pc;
}

/// These lanes commit or await what they have issued, or else a lane that elect.sync has elected. Several lanes do so
/// for all: the one that has issued it does, too, sooner or later.
void RaceDetector::ended(const By& by, size_t queue) {
  WarpKnowledge& warp = by.threads();
  WarpKnowledge::Open& open = warp.open[queue];
  const bool is_of_others = open.lanes != 0 && !(open.lanes & by.lanes) && std::has_single_bit(by.lanes);
  if (findings_.strict() && is_of_others && warp.elected & (open.lanes | by.lanes)) elected_other(by, open);
  open.lanes &= ~by.lanes;
}

std::unique_ptr<OperationRecord> RaceDetector::bulk_store(const By& by, const std::vector<Range>& from,
                                                          const std::vector<Range>& to, bool reduces) {
  WarpKnowledge& warp = by.threads();
  const Knowledge& knows = warp.knowledge(std::countr_zero(by.lanes));
  auto operation = std::make_unique<OperationRecord>();
  warp.act();
  issued(by, kBulkStores);
  RecordedAccess read = made_by(by, Role::BulkStore, Proxy::Async);
  read.row = row_of(by.cta, warp, Own::BulkReads);
  read.position = ++warp.issued[static_cast<size_t>(Own::BulkReads)];
  RecordedAccess write = read;
  write.row = row_of(by.cta, warp, Own::BulkWrites);
  warp.issued[static_cast<size_t>(Own::BulkWrites)] = write.position;
  if (operation->map = take_map(by); operation->map != 0) {
    map_reads_[operation->map].ends = {{read.cta, read.row, by.lanes, read.position}};
    accesses_[operation->map].in_flight = true;
  }
  read.reads = true;
  const uint32_t reads = record(std::move(read));
  touch(by.cta.shared, from, reads, Context{by, warp, knows, by.lanes, false, false});
  write.writes = true, write.reads = write.atomic = reduces, write.scope = Scope::Gpu;
  write.in_flight = true;
  const uint32_t writes = record(std::move(write));
  touch(global_, to, writes, Context{by, warp, knows, by.lanes, false, true});
  operation->accesses = {writes};
  if (accesses_.crowded()) collect();
  return operation;
}

void RaceDetector::writing(OperationRecord& operation) { open_doubts(operation.accesses[0]); }

void RaceDetector::written(OperationRecord& operation, bool changed) {
  accesses_[operation.accesses[0]].in_flight = false;
  accesses_[operation.accesses[0]].silent = !changed;
  if (operation.map != 0) accesses_[operation.map].in_flight = false;
  settle_doubts(operation.accesses[0]);
}

void RaceDetector::bulk_commit(const By& by) {
  WarpKnowledge& warp = by.threads();
  ended(by, kBulkStores);
  issued(by, kBulkGroups);
  warp.bulk.push_back({warp.issued[static_cast<size_t>(Own::BulkReads)], by.lanes});
  forget_old(warp.bulk);
}

void RaceDetector::bulk_wait(const By& by, uint32_t pending, bool reads_only) {
  const WarpKnowledge& warp = by.threads();
  ended(by, kBulkGroups);
  learn_of_queue(by, Own::BulkReads, warp.bulk, pending);
  if (!reads_only) learn_of_queue(by, Own::BulkWrites, warp.bulk, pending);
}

// ---- wgmma

void RaceDetector::wgmma(const By& by, const std::vector<Range>& operands) {
  WarpKnowledge& warp = by.threads();
  warp.act();
  if (warp.wgmma_row == 0) warp.wgmma_row = by.cta.rows++;
  RecordedAccess access = made_by(by, Role::WgmmaOperand, Proxy::Async);
  access.row = warp.wgmma_row, access.position = ++warp.wgmma_issued;
  warp.wgmma_ticks[warp.wgmma_issued % warp.wgmma_ticks.size()] = warp.tick;
  access.lanes = kAll;
  access.reads = true;
  const uint32_t number = record(std::move(access));
  const Context context{by, warp, warp.knowledge(std::countr_zero(by.lanes)), by.lanes, false, false};
  touch(by.cta.shared, operands, number, context);
  if (accesses_.crowded()) collect();
}

void RaceDetector::wgmma_commit(const By& by) {
  WarpKnowledge& warp = by.threads();
  warp.wgmma_groups.push_back({warp.wgmma_issued, warp.close(by.lanes, by.pc, SyncEvent::Kind::Meets)});
  constexpr size_t kMost = 64;
  if (warp.wgmma_groups.size() <= kMost) return;
  warp.wgmma_groups.erase(warp.wgmma_groups.begin());
  ++warp.wgmma_forgotten;
}

void RaceDetector::wgmma_wait(const By& by, uint32_t pending) {
  WarpKnowledge& warp = by.threads();
  warp.waited_at[static_cast<size_t>(Own::Threads)] = by.pc;
  const size_t committed = warp.wgmma_forgotten + warp.wgmma_groups.size();
  if (committed <= pending) return;
  const size_t group = committed - 1 - pending;
  if (group < warp.wgmma_forgotten) return;
  const Tick position = warp.wgmma_groups[group - warp.wgmma_forgotten].position;
  // If the warpgroup completes as one, a thread that has waited knows that the other warps' parts are complete, and
  // what their threads did before they issued them; but not what these threads had waited for.
  constexpr Fields kAsOne = 1u << kGroupHappened;
  std::vector<Clock::Update> learnt{{warp.wgmma_row, kAll, entry(position, kDone)}};
  for (uint16_t i = by.warp / 4 * 4; i < by.warp / 4 * 4 + 4 && i < by.cta.warps.size(); ++i) {
    const WarpKnowledge& other = by.cta.warps[i];
    if (i == by.warp || other.wgmma_row == 0) continue;
    learnt.push_back({other.wgmma_row, kAll, entry(position, kAsOne)});
    if (group >= other.wgmma_forgotten && group - other.wgmma_forgotten < other.wgmma_groups.size())
      learnt.push_back({i, kAll, entry(other.wgmma_groups[group - other.wgmma_forgotten].tick, kAsOne)});
  }
  warp.update(by.lanes,
              [&](Knowledge& knows, Mask) { knows.now = knows.now.with(by.cta.place.cta, warp.warps, learnt); });
}

// ---- tcgen05

std::pair<uint16_t, Tick>& RaceDetector::queue_of(const By& by, uint32_t group) {
  auto& queue = by.cta.queues[by.warp * 64u + static_cast<uint32_t>(std::countr_zero(by.lanes)) * 2 + group - 1];
  if (queue.first == 0) queue.first = by.cta.rows++;
  return queue;
}

void RaceDetector::tensor_operation(const By& by, const Mma& mma) {
  WarpKnowledge& warp = by.threads();
  warp.act();
  issued(by, mma.group - 1);
  auto& [row, number_issued] = queue_of(by, mma.group);
  RecordedAccess access = made_by(by, Role::MmaOperand, Proxy::Async);
  access.row = row, access.position = ++number_issued;
  access.lanes = kAll;
  access.detail = mma.accumulator;
  const Context context{by, warp, warp.knowledge(std::countr_zero(by.lanes)), by.lanes, true, false};
  const auto touch_all = [&](Role role, Proxy proxy, bool reads, bool writes, const std::vector<TensorRanges>& ranges) {
    if (ranges.empty()) return;
    access.role = role, access.proxy = proxy, access.reads = reads, access.writes = writes;
    const uint32_t number = record(access);
    for (const TensorRanges& each : ranges)
      touch(proxy == Proxy::Tensor ? each.cta->tensor : each.cta->shared, each.ranges, number,
            Context{by, warp, context.knows, by.lanes, true, false, each.cta});
  };
  if (mma.accumulates && mma.result == Role::MmaResult) {
    for (const TensorRanges& each : mma.results) {
      for (const Range& range : each.ranges) check_written(by, *each.cta, {&range, 1});
    }
  }
  touch_all(Role::MmaOperand, Proxy::Async, true, false, mma.operands);
  touch_all(Role::MmaSource, Proxy::Tensor, true, false, mma.sources);
  touch_all(mma.result, Proxy::Tensor, mma.accumulates, true, mma.results);
  if (accesses_.crowded()) collect();
}

Signal RaceDetector::tensor_commit(const By& by, uint32_t group) {
  fence_before_thread_sync(by);  // a commit implies it
  ended(by, group - 1);
  auto& [row, number_issued] = queue_of(by, group);
  ++number_issued;  // commits of one thread arrive in their order
  Signal tells = work_signal(by);
  by.threads().act();
  tells.tick = by.threads().tick;
  tells.queue = row, tells.queue_position = number_issued;
  tells.happened = tells.released =
      tells.happened.with(by.cta.place.cta, by.threads().warps, {{row, kAll, entry(number_issued, kAllFields)}});
  return tells;
}

void RaceDetector::tensor_transfer(const By& by, const std::vector<Range>& cells, bool stores) {
  WarpKnowledge& warp = by.threads();
  warp.act();
  const Own own = stores ? Own::TensorStores : Own::TensorLoads;
  RecordedAccess access = made_by(by, stores ? Role::TensorStore : Role::TensorLoad, Proxy::Tensor);
  access.row = row_of(by.cta, warp, own);
  access.position = ++warp.issued[static_cast<size_t>(own)];
  access.reads = !stores, access.writes = stores;
  const uint32_t number = record(std::move(access));
  const Context context{by, warp, warp.knowledge(std::countr_zero(by.lanes)), by.lanes, true, false};
  if (!stores) check_written(by, by.cta, cells);
  touch(by.cta.tensor, cells, number, context);
  if (accesses_.crowded()) collect();
}

void RaceDetector::tensor_wait(const By& by, bool stores) {
  WarpKnowledge& warp = by.threads();
  const auto own = static_cast<size_t>(stores ? Own::TensorStores : Own::TensorLoads);
  warp.waited_at[own] = by.pc;
  warp.update(by.lanes, [&](Knowledge& knows, Mask) {
    knows.self[own] = later(knows.self[own], entry(warp.issued[own], kDone));
  });
}

void RaceDetector::tensor_allocate(const By& by, const std::vector<Range>& cells, Role role, const CtaKnowledge* peer) {
  WarpKnowledge& warp = by.threads();
  if (peer != nullptr && role == Role::Allocation) check_begun(by, *peer, Violation::AllocatesWithUnstarted);
  warp.act();
  RecordedAccess access = made_by(by, role, Proxy::Tensor);
  access.writes = true;
  const uint32_t number = record(std::move(access));
  const Context context{by, warp, warp.knowledge(std::countr_zero(by.lanes)), by.lanes, true, false};
  if (role == Role::Allocation) by.cta.allocations[cells[0].begin] = number;
  if (peer != nullptr && role == Role::Deallocation) check_pair_allocated(by, *peer, cells[0].begin, context);
  touch(by.cta.tensor, cells, number, context);
}

}  // namespace sim::order
