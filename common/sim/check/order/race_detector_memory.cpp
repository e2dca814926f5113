// The core of the checker: whether earlier accesses to a location are ordered before the present one.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "check/order/judge.h"
#include "check/order/launches.h"

namespace sim::order {
namespace {

bool same_thread_row(const RecordedAccess& before, const By& by) {
  return before.cta == by.cta.place.cta && before.row == by.warp;
}

/// The knowledge that a relaxed flag passes on by itself, in Knowledge::flags: what has happened; and what other
/// threads have fenced, if the flag's writer is ordered after their fences.
constexpr Fields kHappenedOnly = 1u << kHappened, kHeard = kHappenedOnly | 1u << kPerformed;

/// Whether no two lanes access the same bytes; false if addresses are listed, since these are not compared.
bool are_apart(const RecordedAccess& access) {
  return access.addresses.empty() && std::abs(access.stride) >= static_cast<int64_t>(access.width);
}

/// Compares lane by lane.
bool has_same_addresses(const RecordedAccess& a, const RecordedAccess& b) {
  return a.width == b.width && a.base == b.base && a.stride == b.stride && a.addresses == b.addresses;
}

}  // namespace

RecordedAccess RaceDetector::made_by(const By& by, Role role, Proxy proxy) const {
  const WarpKnowledge& warp = by.threads();
  RecordedAccess access;
  access.cta = by.cta.place.cta;
  access.row = warp.index;
  access.position = access.issued = warp.tick;
  access.time = time();
  access.lanes = by.lanes;
  access.pc = by.pc;
  access.issuer = by.cta.place;
  access.warp = warp.index;
  access.proxy = proxy;
  access.role = role;
  return access;
}

// ---- is a pair of accesses in order?

/// Those of the access's `lanes` of whose part not all `now_lanes` know.
Mask RaceDetector::unknown(const RecordedAccess& before, Mask lanes, const Context& context, Mask now_lanes,
                           const Clock& clock, Field field) const {
  if (before.role == Role::TensorMap) {
    if (map_is_read(before, context, now_lanes, clock, field)) return 0;
    if (map_reads_.contains(static_cast<uint32_t>(before.detail))) return lanes;
  }
  if (before.position == 0) return lanes;
  Mask rest = lanes & ~clock.known(before.cta, before.row, lanes, before.position, field);
  if (rest == 0 || before.cta != context.by.cta.place.cta || before.warp != context.warp.index) return rest;
  // For accesses by its own warp, each lane knows more of itself.
  size_t own = 0;
  if (before.row != context.warp.index) {
    own = 1;
    while (own < kOwn && context.warp.rows[own] != before.row) ++own;
    if (own == kOwn) return rest;
  }
  const bool program_order = own == 0 && (field == kHappened || field == kVisible || field == kGroupHappened ||
                                          field == kPassed || field == kCarried);
  const bool collective = own == static_cast<size_t>(Own::TensorLoads) || own == static_cast<size_t>(Own::TensorStores);
  const Field of_itself = collective && field == kCarried ? kHappened : field;
  if (!program_order && context.knows.self[own].at[of_itself] < before.position) return rest;
  if (collective) return rest & ~now_lanes;
  return std::has_single_bit(now_lanes) ? rest & ~now_lanes : rest;
}

/// Does any lane of this warp know `field` of `before` for all of its `missing` lanes?
bool RaceDetector::warp_knows(const RecordedAccess& before, Mask missing, Field field, const Context& context) const {
  const std::vector<WarpKnowledge::Group>& groups = context.warp.groups();
  return before.position != 0 && missing != 0 &&
         std::any_of(groups.begin(), groups.end(), [&](const WarpKnowledge::Group& group) {
           return group.knows.now.known(before.cta, before.row, missing, before.position, field) == missing;
         });
}

/// Those of `lanes` whose bytes in this range are now accessed only by the same lane.
Mask RaceDetector::by_themselves(const RecordedAccess& before, const RecordedAccess& now, Mask lanes, Mask now_lanes,
                                 uint64_t begin, uint32_t bytes) {
  if (has_same_addresses(before, now))
    return before.stride == 0 && before.addresses.empty() && !std::has_single_bit(lanes | now_lanes) ? 0 : lanes;
  Mask result = 0;
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t from = std::max(begin, before.address_of(lane)),
                   to = std::min(begin + bytes, before.address_of(lane) + before.width);
    if (from >= to || (now.lanes_at(from, static_cast<uint32_t>(to - from)) & now_lanes) == 1u << lane)
      result |= 1u << lane;
  }
  return result;
}

/// Volatile data after a flag: no race, but a thread that has read the flag without acquiring the writes before it may
/// still read old data. (A read-modify-write reads the newest value; other relaxed accesses are assumed to need no
/// order.)
RaceDetector::Verdict RaceDetector::judge_volatile(const RecordedAccess& before, const RecordedAccess& now,
                                                   const Context& context) const {
  const Knowledge& knows = context.knows;
  if (!before.writes || !now.reads || now.writes || before.proxy != Proxy::Generic) return {};
  if (!before.is_volatile && !now.is_volatile) return {};
  if (!knows.flags || same_thread_row(before, context.by)) return {};
  const auto known = [&](const Clock& clock, Field field) {
    return unknown(before, before.lanes, context, context.lanes, clock, field) == 0;
  };
  if (!known(knows.flags, kHappened) || known(knows.now, kVisible)) return {};
  if (known(knows.flags, kVisible)) return Verdict::habit_of(Habit::FlagWithoutFence, Lack::FlagFence, before.lanes);
  if (known(knows.flags, kPerformed))
    return Verdict::habit_of(Habit::FenceBeforeBarrier, Lack::LateFence, before.lanes);
  return Verdict::error(Rule::ReadAfterWrite, Lack::Visibility, before.lanes);
}

/// Whether a warp of the same warpgroup has waited for the wgmma at this position of its queue. All four warps issue
/// the same wgmmas.
bool RaceDetector::warpgroup_is_done(uint32_t cta, uint16_t warp, Tick position, const Clock& clock) const {
  const std::vector<WarpKnowledge>& warps = ctas_.at(cta)->warps;
  for (size_t i = warp / 4u * 4u; i < warp / 4u * 4u + 4 && i < warps.size(); ++i) {
    const uint16_t row = warps[i].wgmma_row;
    if (row != 0 && clock.known(cta, row, kAll, position, kGroupHappened) == kAll) return true;
  }
  return false;
}

/// Of two unordered accesses by a warpgroup, one an operand of its wgmma: whether a store comes before its own warp's
/// part of that. If the four parts begin as one, all of them read what has been stored.
std::optional<RaceDetector::Verdict> RaceDetector::judge_warpgroup(const RecordedAccess& before,
                                                                   const RecordedAccess& now, Mask missing) const {
  const bool is_read = now.role == Role::WgmmaOperand;
  const RecordedAccess &wgmma = is_read ? now : before, &store = is_read ? before : now;
  if (wgmma.role != Role::WgmmaOperand || store.role != Role::Store || store.issuer.cta != wgmma.issuer.cta ||
      store.warp / 4 != wgmma.warp / 4)
    return std::nullopt;
  const WarpKnowledge& warp = ctas_.at(store.issuer.cta)->warps[store.warp];
  const size_t kept = warp.wgmma_ticks.size();
  const bool is_next = warp.wgmma_issued < wgmma.position;
  const bool comes_first = is_next || (is_read && warp.wgmma_issued < wgmma.position + kept &&
                                       store.position < warp.wgmma_ticks[wgmma.position % kept]);
  if (!comes_first) return std::nullopt;
  bool is_fenced = true;  // or may be, before its warp's part
  warp.for_groups(store.lanes, [&](const Knowledge& knows, Mask lanes) {
    is_fenced &= warp.own_position(knows, Own::Threads, lanes, kAsyncShared) >= store.position;
  });
  if (is_read && !is_next && !is_fenced) return Verdict::error(Rule::AcrossProxies, Lack::ProxyFence, missing);
  const bool is_same_warp = store.warp == wgmma.warp;
  return Verdict::habit_of(Habit::WarpgroupAcquire, is_same_warp ? Lack::Visibility : Lack::Everything, missing);
}

RaceDetector::Verdict RaceDetector::judge_tensor(const RecordedAccess& before, const RecordedAccess& now,
                                                 const Context& context) const {
  const Knowledge& knows = context.knows;
  const Mask lanes = before.lanes;
  if (before.role == Role::Allocation && same_thread_row(before, context.by)) return {};  // the warp has waited for it
  if (before.cta == now.cta && before.row == now.row && now.row >= context.by.cta.warps.size()) {
    const bool is_queue = before.role != Role::TensorLoad && before.role != Role::TensorStore;
    if (is_queue) {
      // Both are in one queue, in which the ISA orders MMAs into one accumulator of one shape, and a copy before an
      // MMA.
      const bool before_is_mma = before.role == Role::MmaResult || before.role == Role::MmaSource;
      const bool now_is_mma = now.role == Role::MmaResult || now.role == Role::MmaSource;
      if (before_is_mma && now_is_mma && before.detail == now.detail) return {};
      if (before.role == Role::TensorCopy && now_is_mma) return {};
    }
    if (unknown(before, lanes, context, context.lanes, knows.tensor, kCarried) == 0) return {};
    if (is_queue || before.role == now.role)
      return Verdict::habit_of(Habit::TensorPipeInOrder, Lack::Everything, lanes);
  }
  if (unknown(before, lanes, context, context.lanes, knows.tensor, kCarried) == 0) return {};
  if (unknown(before, lanes, context, context.lanes, knows.now, kCarried) == 0)
    return Verdict::habit_of(Habit::Tcgen05Fence, Lack::AfterFence, lanes);
  const Mask missing = unknown(before, lanes, context, context.lanes, knows.now, kHappened);
  if (missing == 0) return Verdict::habit_of(Habit::Tcgen05Fence, Lack::BeforeFence, lanes);
  // The warp allocates as a whole: any of its lanes knows of it.
  if (before.role == Role::Allocation && unknown(before, lanes, context, context.lanes, knows.now, kPassed) != lanes)
    return Verdict::habit_of(Habit::AllocationVisibility, Lack::Visibility, missing);
  if (before.role == Role::Deallocation && now.role == Role::Deallocation)
    return Verdict::habit_of(Habit::RepeatedDealloc, Lack::Everything, missing);
  if (before.role == Role::TensorLoad || before.role == Role::TensorStore) {
    RecordedAccess issue = before;  // has its thread signalled after the issue, without waiting?
    issue.row = before.warp, issue.position = before.issued;
    if (unknown(issue, lanes, context, context.lanes, knows.now, kHappened) == 0) {
      // All lanes wait together, but lanes that have signalled have not signalled for the others.
      if (missing != lanes) return Verdict::habit_of(Habit::WarpSynchronous, Lack::Everything, missing);
      return Verdict::habit_of(before.role == Role::TensorLoad ? Habit::LoadWithoutWait : Habit::StoreWithoutWait,
                               Lack::Everything, lanes);
    }
  }
  // Both CTAs of a pair allocate together, but nothing in the ISA says that a CTA whose allocation is complete knows
  // that its peer's is.
  if (before.role == Role::Allocation && now.role != Role::Deallocation &&
      before.issuer.cta != context.by.cta.place.cta && before.issuer.cluster == context.by.cta.place.cluster)
    return Verdict::habit_of(Habit::PairAllocation, Lack::Everything, missing);
  return Verdict::error(Rule::TensorMemory, Lack::Everything, missing);
}

RaceDetector::Verdict RaceDetector::judge(const RecordedAccess& before, const RecordedAccess& now,
                                          const Context& context, uint64_t begin, uint32_t bytes) const {
  if (!before.writes && !now.writes) return {};
  if (before.writes && now.read_only) return Verdict::error(Rule::ReadOnlyData, Lack::Coherence, before.lanes);
  const bool are_volatile = before.is_volatile && now.is_volatile && same_thread_row(before, context.by);
  if (before.atomic && now.atomic && !are_volatile && reaches(before.issuer, before.scope, now.issuer, now.scope)) {
    return judge_volatile(before, now, context);
  }
  if (before.proxy == Proxy::Tensor) return judge_tensor(before, now, context);

  // Each lane accesses exactly the bytes that it has accessed before.
  if (same_thread_row(before, context.by) && before.width != 0 && now.proxy == Proxy::Generic &&
      before.proxy == Proxy::Generic && are_apart(before) && has_same_addresses(before, now))
    return {};

  const Knowledge& knows = context.knows;
  const bool is_raw = before.writes && now.reads;
  const Field order = is_raw ? kVisible : kHappened;
  const Rule rule = is_raw ? Rule::ReadAfterWrite : before.writes ? Rule::WriteAfterWrite : Rule::WriteAfterRead;
  const Clock& clock = context.tensor ? knows.tensor : knows.now;
  // The lanes of these bytes are determined only if not all lanes are known.
  bool whole = true;
  Mask lanes = before.lanes, now_lanes = context.lanes;
  const Mask all_missing = unknown(before, lanes, context, now_lanes, clock, order);
  Mask missing = all_missing;
  // Considers only lanes of these bytes. A lane is in order with its own earlier access.
  const auto missing_here = [&](Field field) {
    whole = false;
    lanes = before.lanes_at(begin, bytes);
    if (now.width != 0) now_lanes = now.lanes_at(begin, bytes) & context.lanes;
    Mask rest = unknown(before, lanes, context, now_lanes, clock, field);
    if (rest == 0 || before.width == 0 || now.width == 0) return rest;
    for (Mask own = by_themselves(before, now, rest, now_lanes, begin, bytes); own; own &= own - 1) {
      const Mask lane = own & -own;
      if (unknown(before, lane, context, lane, clock, field) == 0) rest &= ~lane;
    }
    return rest;
  };
  const bool by_lanes = before.width != 0 || now.width != 0;
  if (missing != 0 && by_lanes) missing = missing_here(order);
  const bool is_own_memory =
      (context.owner != nullptr ? *context.owner : context.by.cta).place.cta == before.issuer.cta;
  if (missing != 0 && is_raw && !context.global && knows.aside) {  // fences that are restricted to shared memory
    const auto passed_on = [&](const Clock& aside) {
      return aside && unknown(before, lanes, context, now_lanes, aside, kVisible) == 0;
    };
    if (passed_on(knows.aside.shared) || (is_own_memory && passed_on(knows.aside.own_shared))) missing = 0;
  }
  if (missing != 0) {
    if (before.width != 0) missing = all_missing;  // for the report: lanes of the whole access
    if (before.role == Role::Allocation) {         // the address, for which the whole warp has waited
      if (same_thread_row(before, context.by)) return {.whole = whole};
      const bool is_own = before.issuer.cta == context.by.cta.place.cta;
      if (is_own && unknown(before, lanes, context, now_lanes, knows.now, kPassed) == 0)
        return Verdict::habit_of(Habit::AllocationVisibility, Lack::Visibility, missing);
    }
    if (context.tensor && unknown(before, lanes, context, now_lanes, knows.now, order) == 0)
      return Verdict::habit_of(Habit::Tcgen05Fence, Lack::AfterFence, missing);
    // Volatile accesses do not race; within a converged warp they rely on lockstep.
    if (are_volatile && !context.warp.together(lanes | now_lanes)) return {.whole = false};
    if (knows.flags && unknown(before, lanes, context, now_lanes, knows.flags, kVisible) == 0)
      return Verdict::habit_of(Habit::FlagWithoutFence, Lack::FlagFence, missing);
    if (knows.flags && unknown(before, lanes, context, now_lanes, knows.flags, kPerformed) == 0)
      return Verdict::habit_of(Habit::FenceBeforeBarrier, Lack::LateFence, missing);
    const bool both_generic =
        before.proxy == Proxy::Generic && now.proxy == Proxy::Generic && before.role != Role::TensorMap;
    if (is_raw && knows.aside.scopes && unknown(before, lanes, context, now_lanes, knows.aside.scopes, kVisible) == 0)
      return Verdict::habit_of(Habit::RemoteArrivalScope, Lack::Visibility, missing);
    if (const std::optional<Verdict> verdict = judge_warpgroup(before, now, missing)) return *verdict;
    if (is_raw && unknown(before, lanes, context, now_lanes, knows.now, kHappened) == 0 && !are_volatile) {
      // A lane that has acquired it met the accessing lanes, by shfl or the like, which orders no memory accesses.
      return both_generic && warp_knows(before, missing, kVisible, context)
                 ? Verdict::habit_of(Habit::WarpSynchronous, Lack::Everything, missing)
                 : Verdict::error(rule, Lack::Visibility, missing);
    }
    if (!is_raw && (unknown(before, lanes, context, now_lanes, knows.now, kGroupHappened) == 0 ||
                    (before.role == Role::WgmmaOperand &&
                     warpgroup_is_done(before.issuer.cta, before.warp, before.position, knows.now))))
      return Verdict::habit_of(Habit::WarpgroupRelease, Lack::Everything, missing);
    if (!before.writes && unknown(before, lanes, context, now_lanes, knows.now, kFollowed) == 0)
      return Verdict::habit_of(Habit::CompletionRelease, Lack::Everything, missing);
    if (both_generic && same_thread_row(before, context.by) && context.warp.together(lanes | now_lanes))
      return Verdict::habit_of(Habit::WarpSynchronous, Lack::Everything, missing);
    return Verdict::error(rule, Lack::Everything, missing);
  }

  if (!is_raw && findings_.strict() && before.proxy == Proxy::Generic) {
    Mask unseen = unknown(before, lanes, context, now_lanes, clock, kVisible);
    if (unseen != 0 && by_lanes) unseen = missing_here(kVisible);
    if (unseen != 0) return Verdict::error(Rule::StrictVisible, Lack::Visibility, unseen);
  }

  // The accesses are in order. Are they also in order across proxies?
  if (before.proxy == Proxy::Generic && now.proxy == Proxy::Async) {
    const bool is_response = now.role == Role::Cancel && !before.writes;
    if (!is_raw && !is_response && !findings_.strict()) return {.whole = whole};
    const Field fenced = context.global ? kAsyncGlobal : is_own_memory ? kAsyncShared : kAsyncPeers;
    Mask unfenced = unknown(before, before.lanes, context, context.lanes, clock, fenced);
    if (unfenced == 0) return {.whole = whole};
    if (before.width != 0) {
      lanes = before.lanes_at(begin, bytes);
      unfenced = unknown(before, lanes, context, context.lanes, clock, fenced);
      if (unfenced == 0) return {.whole = false};
    }
    if (context.tensor && unknown(before, lanes, context, context.lanes, knows.now, fenced) == 0)
      return Verdict::habit_of(Habit::Tcgen05Fence, Lack::AfterFence, unfenced);
    const Field by_reader = context.global ? kReaderGlobal : kReaderShared;
    if (unknown(before, lanes, context, context.lanes, knows.now, by_reader) == 0)
      return Verdict::habit_of(Habit::ReaderSideProxyFence, Lack::ProxyFence, unfenced);
    const Rule lacking = is_response     ? Rule::CancelResponse
                         : is_raw        ? Rule::AcrossProxies
                         : before.writes ? Rule::StrictWriteThenAsync
                                         : Rule::StrictReadThenAsync;
    return Verdict::error(lacking, Lack::ProxyFence, unfenced);
  }
  if (before.role == Role::MmaOperand && now.proxy == Proxy::Generic && findings_.strict()) {
    // A commit does not order across proxies.
    if (unknown(before, before.lanes, context, context.lanes, knows.now, kReaderShared) != 0)
      return Verdict::error(Rule::StrictMmaThenGeneric, Lack::ProxyFence, before.lanes);
  }
  return {.whole = whole};
}

// ---- the shadow

void RaceDetector::touch(Shadow& shadow, std::span<const Range> ranges, uint32_t number, const Context& context) {
  uint32_t asked[4] = {};  // accesses that have been found to be in order, whatever the lanes
  size_t turn = 0;
  struct Transition {
    uint32_t from = 0, to = 0;
  } last_read;
  const bool writes = accesses_[number].writes, atomic = accesses_[number].atomic;
  bool has_read = false;  // an ordered earlier read exists: later reads return its value or a newer one
  const auto is_beside = [&](uint32_t before) {  // other lanes of the same store, whose knowledge differs
    return last_stores_.size() > 1 && std::find(last_stores_.begin(), last_stores_.end(), before) != last_stores_.end();
  };
  const auto in_order = [&](uint32_t before, uint64_t begin, uint32_t bytes) {
    if (before == number || is_beside(before)) return true;
    for (const uint32_t each : asked) {
      if (each == before) return true;
    }
    const RecordedAccess &earlier = accesses_[before], &now = accesses_[number];
    if (bytes < Shadow::kWord || (earlier.width != 0 && earlier.width < Shadow::kWord)) {
      if ((earlier.bytes_at(begin, bytes) & now.bytes_at(begin, bytes)) == 0) return true;
    }
    const Verdict verdict = judge(earlier, now, context, begin, bytes);
    if (verdict.fine()) {
      if (verdict.whole) asked[turn++ % 4] = before;
      return true;
    }
    if (earlier.atomic && now.atomic && has_read) return true;
    found(verdict, before, number, context, shadow, begin, bytes);
    return false;
  };
  if (context.global && launch_ != nullptr) {
    for (const Range& range : ranges)
      launch_->check_past(*this, accesses_[number], context.by, range, context.knows.now);
  }
  std::vector<uint32_t>& members = members_;
  const auto touch_cell = [&](Cell& cell, uint64_t begin, uint32_t bytes) {
    const bool in_part = bytes < Shadow::kWord;
    if (atomic && !writes) {
      const std::span<const uint32_t> readers = sets_.members(cell.read);
      has_read = std::any_of(readers.begin(), readers.end(), [&](uint32_t each) {
        const RecordedAccess& read = accesses_[each];
        return same_thread_row(read, context.by) ||
               unknown(read, read.lanes, context, context.lanes, context.knows.now, kHappened) == 0;
      });
    }
    for (const uint32_t before : sets_.members(cell.write)) in_order(before, begin, bytes);
    if (writes) {
      for (const uint32_t before : sets_.members(cell.read)) in_order(before, begin, bytes);
      // Other writers keep their bytes of the word. An ordinary write is kept beside a later atomic one: a thread that
      // needs no order with the atomic one, since its own access is atomic, may still race with the ordinary write.
      members.clear();
      for (const uint32_t before : sets_.members(cell.write)) {
        if (before == number) return;
        bool remains = is_beside(before) || (atomic && !accesses_[before].atomic);
        if (in_part && !remains) {
          const uint64_t word = begin / Shadow::kWord * Shadow::kWord;
          const uint32_t mine = accesses_[number].bytes_at(word, Shadow::kWord);
          remains = accesses_[before].bytes_at(word, Shadow::kWord) & ~mine;
        }
        if (remains) members.push_back(before);
      }
      if (members.empty() && !in_part) {
        cell = {number, 0};
        return;
      }
      members.push_back(number);
      cell.write = sets_.make(members);
      if (!in_part) cell.read = 0;
      return;
    }
    if (cell.read == 0 || cell.read == number) {
      cell.read = number;
      return;
    }
    if (cell.read == last_read.from) {
      cell.read = last_read.to;
      return;
    }
    // An access ordered after this reader is also ordered after the reads that the reader knows to have finished, so
    // those need not be kept. (The completion of an asynchronous operation implies nothing about reads by threads.)
    // This is tried rarely, since of many readers hardly any can be dropped.
    const bool forgets = std::has_single_bit(sets_.members(cell.read).size());
    const RecordedAccess& now = accesses_[number];
    const bool by_thread = now.proxy == Proxy::Generic;
    members.clear();
    for (const uint32_t before : sets_.members(cell.read)) {
      if (before == number) return;
      if (!forgets) {
        members.push_back(before);
        continue;
      }
      const RecordedAccess& earlier = accesses_[before];
      const bool is_thread =
          earlier.proxy == Proxy::Generic && earlier.role != Role::CopyAsync && earlier.role != Role::TensorMap;
      const bool same_row = earlier.cta == now.cta && earlier.row == now.row && earlier.position != 0 &&
                            earlier.role != Role::TensorMap && now.role != Role::TensorMap &&
                            (earlier.lanes & ~now.lanes) == 0 && earlier.width == 0 && now.width == 0;
      if (same_row) continue;
      // Each of its lanes reads the same address again.
      if (is_thread && same_thread_row(earlier, context.by) && (earlier.lanes & ~now.lanes) == 0 &&
          has_same_addresses(earlier, now))
        continue;
      if ((by_thread || !is_thread) && !findings_.strict() && in_part == false) {
        Mask lanes = earlier.lanes, now_lanes = context.lanes;
        Mask left = unknown(earlier, lanes, context, now_lanes, context.knows.now, kHappened);
        const bool some_known = left != earlier.lanes || same_thread_row(earlier, context.by);
        if (left != 0 && some_known && earlier.width != 0 && now.width != 0) {
          lanes = earlier.lanes_at(begin, bytes), now_lanes = now.lanes_at(begin, bytes) & context.lanes;
          left = unknown(earlier, lanes, context, now_lanes, context.knows.now, kHappened);
          if (left != 0 && earlier.role != Role::CopyAsync && same_thread_row(earlier, context.by))
            left &= ~by_themselves(earlier, now, left, now_lanes, begin, bytes);
        }
        if (left == 0) continue;
      }
      members.push_back(before);
    }
    members.push_back(number);
    const uint32_t from = cell.read;
    cell.read = sets_.make(members);
    // Other cells with the same set get the same result. Lanes differ from cell to cell only for single accesses.
    if (from & kIsSet || accesses_[from].width == 0) last_read = {from, cell.read};
  };
  for (const Range& range : ranges) shadow.for_each(range.begin, range.end, touch_cell);
}

void RaceDetector::touch_lanes(RecordedAccess access, Shadow& shadow, const uint64_t* address, uint32_t bytes,
                               const Context& context) {
  const Mask lanes = access.lanes;
  access.width = static_cast<uint16_t>(bytes);
  const int first = std::countr_zero(lanes), last = 31 - std::countl_zero(lanes);
  access.base = address[first];
  if (first != last) {
    const int second = std::countr_zero(lanes & (lanes - 1));
    access.stride = static_cast<int64_t>(address[second] - address[first]) / (second - first);
    access.base -= static_cast<uint64_t>(access.stride * first);
    for (Mask rest = lanes; rest; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if (access.address_of(lane) == address[lane]) continue;
      access.addresses.assign(address, address + 32);
      break;
    }
  }
  const bool gapless = access.addresses.empty() && last - first + 1 == std::popcount(lanes) &&
                       access.stride == static_cast<int64_t>(bytes);
  const bool all_one = access.addresses.empty() && access.stride == 0 && !access.writes;
  const bool is_store = access.role == Role::Store;
  const uint32_t number = record(std::move(access));
  if (is_store) last_stores_.push_back(number);
  if (gapless || all_one) return touch(shadow, {address[first], address[last] + bytes}, number, context);
  // Adjacent or equal addresses of lanes form one range.
  std::array<uint64_t, 32> begins;
  size_t count = 0;
  for (Mask rest = lanes; rest; rest &= rest - 1) begins[count++] = address[std::countr_zero(rest)];
  const auto end = begins.begin() + static_cast<ptrdiff_t>(count);
  if (!std::is_sorted(begins.begin(), end)) std::sort(begins.begin(), end);
  std::array<Range, 32> ranges;
  size_t last_range = 0;
  ranges[0] = {begins[0], begins[0] + bytes};
  for (auto begin = begins.begin() + 1; begin != end; ++begin) {
    if (*begin > ranges[last_range].end) ranges[++last_range].begin = *begin;
    ranges[last_range].end = *begin + bytes;
  }
  touch(shadow, std::span(ranges).first(last_range + 1), number, context);
}

void RaceDetector::access(const By& by, const WarpAccess& what) {
  WarpKnowledge& warp = by.threads();
  warp.act();
  flags_are_heard_ |= what.is_volatile && what.writes;
  if (what.space == MemoryKind::Shared && what.target != &by.cta)
    check_begun(by, *what.target, Violation::AccessesUnstarted);
  Shadow& shadow = what.space == MemoryKind::Global ? global_ : what.target->shared;
  warp.for_groups(by.lanes, [&](const Knowledge& knows, Mask lanes) {
    RecordedAccess access = made_by(by, what.role, Proxy::Generic);
    access.lanes = lanes;
    access.reads = what.reads, access.writes = what.writes;
    access.atomic = what.strong, access.is_volatile = what.is_volatile, access.scope = what.scope;
    access.read_only = what.read_only;
    touch_lanes(std::move(access), shadow, what.address, what.bytes,
                Context{by, warp, knows, lanes, false, what.space == MemoryKind::Global, what.target});
  });
  if (what.strong) synchronise(by, what);
  if (accesses_.crowded()) collect();
}

void RaceDetector::synchronise(const By& by, const WarpAccess& what) {
  auto& variables = what.space == MemoryKind::Global ? variables_ : shared_variables_;
  WarpKnowledge& warp = by.threads();
  for (Mask rest = by.lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Mask self = 1u << lane;
    const uint64_t place = what.space == MemoryKind::Global
                               ? what.address[lane]
                               : uint64_t{what.target->place.cta} << 32 | what.address[lane];
    const auto known = variables.find(place);
    if (what.reads && known != variables.end()) {
      const Message& message = known->second;
      warp.update(self, [&](Knowledge& knows, Mask) {
        if (what.acquires) {
          knows.now = message.acquired_by(knows.now, by.cta.place, what.scope);
        } else {
          knows.seen.add(message, by.cta.place, what.scope);
          knows.flags = message.acquired_by(knows.flags, by.cta.place, what.scope);
        }
        if (message.flags()) knows.flags = knows.flags.join(message.flags(), kHeard);
        if (what.acquires) knows.aside.add(message.aside());
      });
    }
    if (!what.writes) continue;
    if (!what.read_modify_write && known != variables.end()) known->second.clear();
    Signal tells;
    tells.from = by.cta.place, tells.warp = by.warp, tells.lanes = self, tells.pc = by.pc;
    if (what.releases) {
      tells.tick = warp.close(self, by.pc, SyncEvent::Kind::Tells);
      tells.scope = what.scope;
      tells.released = warp.published(self);
    } else {  // it releases what came before an earlier fence
      const auto& fenced = warp.knowledge(lane).fenced;
      for (int scope = static_cast<int>(what.scope); scope >= 0 && !tells.released; --scope) {
        const Ref<const Fenced>& fence = fenced[static_cast<size_t>(scope)];
        if (fence) (fence->restricted ? tells.aside.own_shared : tells.released) = warp.released(*fence, self);
        tells.scope = static_cast<Scope>(scope);
      }
      // Directly after a fence, all has been released already.
      const Knowledge& knows = warp.knowledge(lane);
      const Ref<const Fenced>& last = knows.fenced[static_cast<size_t>(Scope::Gpu)];
      const bool all_released = last && last->now == knows.now && last->self[0].at[kHappened] + 1 >= warp.tick &&
                                std::equal(last->self.begin() + 1, last->self.end(), knows.self.begin() + 1);
      if (flags_are_heard_ && !all_released) {
        warp.close(self, by.pc, SyncEvent::Kind::TellsRelaxed);
        tells.flags = warp.published(self).join(knows.flags, kHappenedOnly);
      }
    }
    if (tells.released || tells.flags || tells.aside) variables[place].add(tells);
  }
}

// ---- tensor maps

std::vector<uint32_t> RaceDetector::writers_of_map(uint64_t address) {
  std::vector<uint32_t> writers;
  global_.for_each(address, address + 128, [&](Cell& cell, uint64_t, uint32_t) {
    for (const uint32_t each : sets_.members(cell.write)) {
      if (std::find(writers.begin(), writers.end(), each) == writers.end()) writers.push_back(each);
    }
  });
  return writers;
}

void RaceDetector::release_maps(const By& by, Scope scope) {
  WarpKnowledge& warp = by.threads();
  warp.close(by.lanes, by.pc, SyncEvent::Kind::Fence);
  const Clock released = warp.published(by.lanes);
  for (size_t i = 0; i <= static_cast<size_t>(scope); ++i) maps_released_[i] = maps_released_[i].join(released);
}

void RaceDetector::acquire_map(const By& by, uint64_t address, Scope scope) {
  by.threads().act();
  auto& all = maps_[address];
  std::erase_if(all, [&](const AcquiredMap& each) { return each.cta == by.cta.place.cta && each.warp == by.warp; });
  all.push_back({by.cta.place.cta, by.warp, by.threads().tick, writers_of_map(address), scope});
}

/// Whether this warp, or another of its CTA that has signalled to it since, has acquired the map as `writer` left it;
/// 0: in its present state.
bool RaceDetector::is_acquired(const By& by, const Knowledge& knows, uint64_t address, uint32_t writer,
                               Scope scope) const {
  const auto all = maps_.find(address);
  if (all == maps_.end()) return false;
  return std::any_of(all->second.begin(), all->second.end(), [&](const AcquiredMap& each) {
    if (each.cta != by.cta.place.cta || each.scope < scope) return false;
    if (writer != 0 && std::find(each.writers.begin(), each.writers.end(), writer) == each.writers.end()) return false;
    return each.warp == by.warp || knows.now.known(each.cta, each.warp, kAll, each.tick, kHappened) != 0;
  });
}

void RaceDetector::use_map(const By& by, uint64_t address) {
  WarpKnowledge& warp = by.threads();
  warp.act();
  const std::vector<uint32_t> writers = writers_of_map(address);
  RecordedAccess use = made_by(by, Role::TensorMap, Proxy::Generic);
  use.reads = true;
  const Knowledge& knows = warp.knowledge(std::countr_zero(by.lanes));
  const uint32_t number = record(std::move(use));
  accesses_[number].detail = number;
  map_reads_.erase(number);  // of an access that is no longer recorded
  used_map_ = {number, by.cta.place.cta, by.pc, by.warp, by.lanes};
  touch(global_, {address, address + 128}, number, Context{by, warp, knows, by.lanes, false, true});
  if (writers.empty() && findings_.strict() && !is_acquired(by, knows, address, 0)) unacquired_map(by, address);
  for (const uint32_t each : writers) {
    const RecordedAccess& write = accesses_[each];
    const GridPosition there = write.issuer, here = by.cta.place;
    const Scope scope = there.cta == here.cta           ? Scope::Cta
                        : there.cluster == here.cluster ? Scope::Cluster
                                                        : Scope::Gpu;
    const bool is_released = maps_released_[static_cast<size_t>(scope)].known(write.cta, write.row, write.lanes,
                                                                              write.position, kHappened) == write.lanes;
    if (is_released && is_acquired(by, knows, address, each, scope)) continue;
    return unfenced_map(by, write, address, is_released, scope);
  }
}

/// The use of a map by the operation that is issued now; 0: none.
uint32_t RaceDetector::take_map(const By& by) {
  const UsedMap used = std::exchange(used_map_, {});
  const bool is_mine =
      used.cta == by.cta.place.cta && used.warp == by.warp && used.lanes == by.lanes && used.pc == by.pc;
  return is_mine ? used.access : 0;
}

/// Whether the end of the use is known through any of its channels.
bool RaceDetector::map_is_read(const RecordedAccess& use, const Context& context, Mask now_lanes, const Clock& clock,
                               Field field) const {
  const auto found = map_reads_.find(static_cast<uint32_t>(use.detail));
  if (found == map_reads_.end()) return false;
  const WarpKnowledge& warp = context.warp;
  return std::any_of(found->second.ends.begin(), found->second.ends.end(), [&](const MapRead::End& end) {
    if (end.position == 0) return false;
    if (clock.known(end.cta, end.row, end.lanes, end.position, field) == end.lanes) return true;
    const auto own = static_cast<size_t>(Own::BulkReads);
    const bool is_own = end.cta == warp.place.cta && end.row == warp.rows[own] && end.lanes == now_lanes;
    return is_own && context.knows.self[own].at[field] >= end.position;
  });
}

// ---- accesses to which nothing refers are removed

void RaceDetector::collect() {
  accesses_.begin_marking();
  sets_.begin_marking();
  const auto mark = [&](uint32_t reference) {
    if (!sets_.mark(reference)) return;
    for (const uint32_t each : sets_.members(reference)) accesses_.mark(each);
  };
  const auto mark_cell = [&](const Cell& cell, uint64_t, uint32_t) { mark(cell.write), mark(cell.read); };
  global_.for_all(mark_cell);
  for (auto& [number, cta] : ctas_) {
    cta->shared.for_all(mark_cell);
    cta->tensor.for_all(mark_cell);
    for (auto& [offset, barrier] : cta->barriers) accesses_.mark(barrier.init);
    for (auto& [cell, allocation] : cta->allocations) accesses_.mark(allocation);
  }
  for (const auto& [id, doubt] : doubts_) accesses_.mark(doubt.before), accesses_.mark(doubt.now);
  accesses_.sweep();
  sets_.sweep();
  std::erase_if(map_reads_, [&](const auto& each) { return accesses_[each.first].role != Role::TensorMap; });
}

}  // namespace sim::order
