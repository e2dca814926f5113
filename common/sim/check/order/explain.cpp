// Findings: both accesses, the bytes, and the single fence, wait or arrival that would order them.
#include <algorithm>
#include <bit>

#include "check/order/judge.h"
#include "report/text.h"

namespace sim::order {
namespace {

std::string lanes_text(Mask lanes) {
  if (lanes == kAll) return "all lanes";
  if (std::has_single_bit(lanes)) return "lane " + std::to_string(std::countr_zero(lanes));
  const int first = std::countr_zero(lanes), last = 31 - std::countl_zero(lanes);
  if (last - first + 1 == std::popcount(lanes)) return "lanes " + std::to_string(first) + " to " + std::to_string(last);
  std::string text = "lanes ";
  int shown = 0;
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    if (shown == 4) return text + " and others (" + std::to_string(std::popcount(lanes)) + " in all)";
    text += (shown++ ? ", " : "") + std::to_string(std::countr_zero(rest));
  }
  return text;
}

const char* noun(const RecordedAccess& access) {
  switch (access.role) {
    case Role::Load: return "load";
    case Role::Store: return "store";
    case Role::Atomic: return "atomic operation";
    case Role::CopyAsync: return "cp.async";
    case Role::BulkLoad: return "bulk load";
    case Role::RemoteStore: return "asynchronous store";
    case Role::BulkStore: return "bulk store";
    case Role::Cancel: return "response of try_cancel";
    case Role::WgmmaOperand: return "wgmma";
    case Role::MmaOperand:
    case Role::MmaSource:
    case Role::MmaResult: return "MMA";
    case Role::TensorCopy: return "tcgen05.cp";
    case Role::TensorLoad: return "tcgen05.ld";
    case Role::TensorStore: return "tcgen05.st";
    case Role::Allocation: return "allocation of tensor memory";
    case Role::Deallocation: return "deallocation of tensor memory";
    case Role::BarrierInit: return "mbarrier.init";
    case Role::TensorMap: return "use of a tensor map";
  }
  return "";
}

Rule rule_of(const RecordedAccess& earlier, const RecordedAccess& later) {
  return !earlier.writes ? Rule::WriteAfterRead : later.reads ? Rule::ReadAfterWrite : Rule::WriteAfterWrite;
}

/// The instruction that makes the completion of an operation known to its thread, or to waiting threads; empty: the
/// operation completes at once.
std::string completion(const RecordedAccess& access) {
  switch (access.role) {
    case Role::CopyAsync: return "cp.async.wait_group";
    case Role::BulkStore: return access.writes ? "cp.async.bulk.wait_group" : "cp.async.bulk.wait_group.read";
    case Role::BulkLoad:
    case Role::RemoteStore:
    case Role::Cancel: return "mbarrier.try_wait";
    case Role::WgmmaOperand: return "wgmma.wait_group";
    case Role::MmaOperand:
    case Role::MmaSource:
    case Role::MmaResult:
    case Role::TensorCopy: return "tcgen05.commit";
    case Role::TensorLoad: return "tcgen05.wait::ld";
    case Role::TensorStore: return "tcgen05.wait::st";
    default: return "";
  }
}

/// The queue of an operation for which only the threads that have started it can wait; as in WarpKnowledge::waited_at.
std::optional<Own> queue_of_its_threads(const RecordedAccess& access) {
  switch (access.role) {
    case Role::CopyAsync: return Own::Copies;
    case Role::BulkStore: return access.writes ? Own::BulkWrites : Own::BulkReads;
    case Role::WgmmaOperand: return Own::Threads;
    case Role::TensorLoad: return Own::TensorLoads;
    case Role::TensorStore: return Own::TensorStores;
    default: return std::nullopt;
  }
}

}  // namespace

std::string RaceDetector::line(uint32_t pc) const { return report::line(names_.locate(pc)); }

std::string RaceDetector::who(const By& by) const {
  return names_.cta(by.cta) + ", warp " + std::to_string(by.warp) + ", " + lanes_text(by.lanes);
}

std::string RaceDetector::who(const RecordedAccess& access) const {
  const Mask lanes = access.proxy == Proxy::Generic && access.width != 0 ? access.lanes : kAll;
  return names_.cta(*ctas_.at(access.issuer.cta)) + ", warp " + std::to_string(access.warp) +
         (lanes == kAll ? "" : ", " + lanes_text(lanes));
}

Side RaceDetector::side(const By& by) const {
  return {"", who(by), names_.locate(by.pc), Spot{by.cta.place.cta, by.warp, by.pc, time()}};
}
Side RaceDetector::side(const RecordedAccess& access) const {
  return {noun(access), who(access), names_.locate(access.pc),
          Spot{access.issuer.cta, access.warp, access.pc, access.time}};
}

const CtaKnowledge* RaceDetector::owner(const Shadow& shadow) const {
  for (const auto& [number, cta] : ctas_) {
    if (&cta->shared == &shadow || &cta->tensor == &shadow) return cta.get();
  }
  return nullptr;
}

void RaceDetector::found(const Verdict& verdict, uint32_t before, uint32_t now, const Context& context,
                         const Shadow& shadow, uint64_t begin, uint32_t bytes) {
  if (verdict.grade == Grade::Habit && findings_.tolerates(verdict.habit)) return;
  if (verdict.grade == Grade::Strict && !findings_.strict()) return;
  // In the order of the program, even if another warp's part of the wgmma has been executed before the store.
  Verdict told = verdict;
  if (verdict.grade == Grade::Habit)
    told.reversed = verdict.habit == Habit::WarpgroupAcquire && accesses_[before].role == Role::WgmmaOperand;
  else if (verdict.grade == Grade::Error && verdict.lack == Lack::Everything)
    told.reversed = is_reversed(accesses_[before], accesses_[now]) || phase_without(accesses_[now]);
  const RecordedAccess& earlier = accesses_[told.reversed ? now : before];
  const RecordedAccess& later = accesses_[told.reversed ? before : now];
  if (told.reversed && verdict.rule != Rule::TensorMemory) told.rule = rule_of(earlier, later);
  const uint32_t first = names_.first_of_line(earlier.pc), second = names_.first_of_line(later.pc);
  const Findings::Key key = verdict.grade == Grade::Habit ? Findings::key(verdict.habit, first, second)
                                                          : Findings::key(told.rule, first, second);
  const auto make = [&] { return describe(told, earlier, later, context, shadow, begin, bytes); };
  const auto stores = [](const RecordedAccess& access) {
    return access.role == Role::Store || access.role == Role::BulkStore;
  };
  if (verdict.grade == Grade::Error && verdict.rule == Rule::WriteAfterWrite && verdict.lack == Lack::Everything &&
      stores(earlier) && stores(later) && !earlier.reads && !later.reads) {
    const CtaKnowledge* const cta = owner(shadow);
    return doubt(key, before, now, context, cta, begin, bytes, doubtful_.count(key) ? Finding{} : make());
  }
  // The occurrence that lacks most is reported: the link that orders it orders the others as well.
  const int lacks = 4 * (verdict.lack == Lack::Everything) + distance(verdict, earlier, context);
  tell(key, context.by.cta.place.cluster, bytes, make, lacks);
}

/// Whether the warp of this access has executed an access of that line, or at that pc, before.
bool RaceDetector::has_executed(const RecordedAccess& one, uint32_t pc, uint64_t before, bool is_line) const {
  const auto place = [&](uint32_t number) { return is_line ? names_.first_of_line(number) : number; };
  return accesses_.any([&](const RecordedAccess& each) {
    return each.issuer.cta == one.issuer.cta && each.warp == one.warp && each.serial < before &&
           place(each.pc) == place(pc);
  });
}

/// Of two unordered accesses: a warp that executes both lines has them in the order of the program. The earlier access
/// was too early if its warp came to the other line before, while the later one's warp comes to its line for the first
/// time, and has not come to the other. The first pair decides for all of two lines, or of two instructions of a line.
bool RaceDetector::is_reversed(const RecordedAccess& before, const RecordedAccess& now) {
  const bool in_one_warp = before.issuer.cta == now.issuer.cta && before.warp == now.warp;
  if (before.pc == now.pc || in_one_warp) return false;
  std::pair places{names_.first_of_line(before.pc), names_.first_of_line(now.pc)};
  const bool are_lines = places.first != places.second;
  if (!are_lines) places = {before.pc, now.pc};
  const auto [found, is_new] = reversed_.try_emplace(places, false);
  if (is_new)
    found->second = has_executed(before, now.pc, before.serial, are_lines) &&
                    !has_executed(now, before.pc, now.serial, are_lines) &&
                    !has_executed(now, now.pc, now.serial, are_lines);
  return found->second;
}

/// How far a signal between the two accesses has to reach: 0 in a warp, 1 in a CTA, 2 in a cluster, 3 in the grid.
int RaceDetector::distance(const Verdict& verdict, const RecordedAccess& before, const Context& context) const {
  const GridPosition there = before.issuer, here = context.by.cta.place;
  if (there.cta == here.cta && before.warp == context.by.warp) return 0;
  if (warp_knows(before, verdict.missing, kHappened, context)) return 0;
  return there.cta == here.cta ? 1 : there.cluster == here.cluster ? 2 : 3;
}

// ---- two stores of the same value

void RaceDetector::doubt(const Findings::Key& key, uint32_t before, uint32_t now, const Context& context,
                         const CtaKnowledge* cta, uint64_t begin, uint32_t bytes, Finding finding) {
  doubtful_.try_emplace(key, std::move(finding));
  auto last = doubts_.find(last_doubt_);
  if (last == doubts_.end() || last->second.before != before || last->second.now != now || last->second.cta != cta) {
    last = doubts_.emplace(++last_doubt_, Doubt{key, context.by.cta.place.cluster, before, now, cta, {}, 0, {}}).first;
    doubts_of_[before].push_back(last_doubt_);
    doubts_of_[now].push_back(last_doubt_);
  }
  Doubt& doubt = last->second;
  ++doubt.times;
  if (!doubt.ranges.empty() && doubt.ranges.back().end == begin)
    doubt.ranges.back().end += bytes;
  else
    doubt.ranges.push_back({begin, begin + bytes});
  if (accesses_[now].role == Role::Store) append(doubt, {begin, begin + bytes});  // it writes at once
}

/// Appends the current contents of the range.
void RaceDetector::append(Doubt& doubt, const Range& range) const {
  const uint8_t* const at = names_.bytes(doubt.cta, range.begin);
  if (at != nullptr) doubt.bytes.insert(doubt.bytes.end(), at, at + (range.end - range.begin));
}

/// Called before the access writes: keeps the bytes that it may overwrite.
void RaceDetector::open_doubts(uint32_t number) {
  const auto found = doubts_of_.find(number);
  if (found == doubts_of_.end()) return;
  for (const uint32_t each : found->second) {
    Doubt& doubt = doubts_.at(each);
    doubt.bytes.clear();
    for (const Range& range : doubt.ranges) append(doubt, range);
  }
}

/// Whether both accesses have written the same values.
bool RaceDetector::is_equal(const Doubt& doubt) const {
  const uint8_t* before = doubt.bytes.data();
  const uint8_t* const end = before + doubt.bytes.size();
  if (before == end) return false;
  for (const Range& range : doubt.ranges) {
    const auto count = static_cast<size_t>(range.end - range.begin);
    const uint8_t* const at = names_.bytes(doubt.cta, range.begin);
    if (at == nullptr || static_cast<size_t>(end - before) < count || !std::equal(before, before + count, at))
      return false;
    before += count;
  }
  return true;
}

/// Called after the access has written. If the other access of a doubt is still in flight, it settles the doubt later.
void RaceDetector::settle_doubts(uint32_t number) {
  const auto found = doubts_of_.find(number);
  if (found == doubts_of_.end()) return;
  std::vector<uint32_t> left;
  for (const uint32_t each : std::exchange(found->second, {})) {
    const Doubt& doubt = doubts_.at(each);
    if (accesses_[doubt.before].in_flight || accesses_[doubt.now].in_flight) {
      left.push_back(each);
      continue;
    }
    const bool equal = is_equal(doubt);
    if (!equal || !findings_.tolerates(Habit::EqualStores)) {
      const Findings::Key key =
          equal ? Findings::key(Habit::EqualStores, doubt.key.first, doubt.key.second) : doubt.key;
      uint64_t bytes = 0;
      for (const Range& range : doubt.ranges) bytes += range.end - range.begin;
      tell(
          key, doubt.cluster, bytes, [&] { return doubtful_[doubt.key]; }, 0, doubt.times);
    }
    const uint32_t other = doubt.before == number ? doubt.now : doubt.before;
    if (const auto others = doubts_of_.find(other); others != doubts_of_.end()) {
      std::erase(others->second, each);
      if (others->second.empty() && other != number) doubts_of_.erase(others);
    }
    doubts_.erase(each);
  }
  if (left.empty())
    doubts_of_.erase(number);
  else
    doubts_of_[number] = std::move(left);
}

void RaceDetector::stored(bool changed) {
  for (const uint32_t each : last_stores_) {
    accesses_[each].silent = !changed;
    settle_doubts(each);
  }
  last_stores_.clear();
}

void RaceDetector::collide(const By& by, const CtaKnowledge* target, uint64_t address, uint32_t bytes) {
  if (findings_.tolerates(Habit::LanesOfAStore)) return;
  const uint32_t pc = names_.first_of_line(by.pc);
  tell(Findings::key(Habit::LanesOfAStore, pc, pc), by.cta.place.cluster, bytes, [&] {
    return Finding{
        .first = side(by),
        .violation = Violation::LanesWriteDifferentValues,
        .where = target == nullptr ? names_.global(address) : names_.shared(address) + " of " + names_.cta(*target),
        .missing = {.what = MissingLink::What::AddressPerLane}};
  });
}

// ---- a pair of accesses

Finding RaceDetector::describe(const Verdict& verdict, const RecordedAccess& before, const RecordedAccess& now,
                               const Context& context, const Shadow& shadow, uint64_t begin, uint32_t bytes) const {
  Finding finding{.first = side(before), .second = side(now)};
  const CtaKnowledge* const cta = owner(shadow);
  if (cta == nullptr) {
    finding.where = names_.global(begin);
  } else if (&shadow == &cta->tensor) {
    const uint64_t cell = begin / Shadow::kCell;
    finding.where = "tensor memory of " + names_.cta(*cta) + ", column " + std::to_string(cell / 8) + ", lanes from " +
                    std::to_string(cell % 8 * 16) + " on";
  } else {
    finding.where = names_.shared(begin) + " of " + names_.cta(*cta);
  }
  (void)bytes;
  const bool both = before.writes && now.reads;
  finding.violation = both            ? Violation::ReadsWritten
                      : before.writes ? Violation::OverwritesWritten
                                      : Violation::OverwritesRead;
  if (verdict.rule == Rule::ReadOnlyData && verdict.grade == Grade::Error)
    finding.violation = Violation::ReadsThroughCache;
  else if (verdict.reversed && verdict.grade == Grade::Error)
    finding.circumstance = Finding::Circumstance::ExecutedBefore;
  // Each lane that executes the instruction starts an operation of its own.
  const bool by_lanes_of_one = before.pc == now.pc && before.issuer.cta == now.issuer.cta && before.warp == now.warp &&
                               before.issued == now.issued && before.role == Role::BulkStore &&
                               (before.lanes & now.lanes) == 0;
  if (by_lanes_of_one) {
    finding.circumstance = Finding::Circumstance::OtherLane;
    finding.missing = {.what = MissingLink::What::OneLane};
    return finding;
  }
  finding.missing = missing_link(verdict, before, now, context);
  // In the order of their execution, though the program's text has them in the other one, and no warp executes both.
  const bool in_one_warp = before.issuer.cta == now.issuer.cta && before.warp == now.warp;
  if (finding.missing.what == MissingLink::What::Link && !verdict.reversed && !in_one_warp && now.pc < before.pc &&
      !has_executed(before, now.pc, now.serial, true) && !has_executed(now, before.pc, now.serial, true))
    finding.circumstance = Finding::Circumstance::EitherOrder;
  return finding;
}

/// How far a synchronisation has to reach that orders an access before one by another thread.
MissingLink::Reach RaceDetector::reach(const RecordedAccess& before, const Context& context) {
  const GridPosition there = before.issuer, here = context.by.cta.place;
  if (there.cta == here.cta) return before.warp == context.by.warp ? MissingLink::Reach::Warp : MissingLink::Reach::Cta;
  return there.cluster == here.cluster ? MissingLink::Reach::Cluster : MissingLink::Reach::Grid;
}

MissingLink RaceDetector::missing_between(MissingLink::What what, uint32_t from, uint32_t to) const {
  return {.what = what, .from = names_.locate(from), .to = names_.locate(to)};
}

MissingLink RaceDetector::missing_link(const Verdict& verdict, const RecordedAccess& before, const RecordedAccess& now,
                                       const Context& context) const {
  using What = MissingLink::What;
  const WarpKnowledge& writer = ctas_.at(before.issuer.cta)->warps[before.warp];
  const Mask lanes = before.row < writer.warps ? before.lanes : kAll;
  const SyncEvent* const tells = writer.told_after(before.issued, lanes);
  const Location here = names_.locate(now.pc);
  // A fence after the access, before its warp's signal. If the fence exists, but comes after the signal, a signal after
  // the fence would do, too.
  const auto fence = [&](What what, SyncEvent::Kind kind) {
    MissingLink missing{.what = what, .from = names_.locate(before.pc), .reach = reach(before, context)};
    if (tells != nullptr) missing.to = names_.locate(tells->pc);
    const SyncEvent* const later = writer.event_after(before.issued, lanes, [&](const SyncEvent& event) {
      return event.kind == kind && (context.global ? event.global : event.shared);
    });
    if (later != nullptr) missing.also = names_.locate(later->pc);
    return missing;
  };
  const auto link = [&](What what, uint32_t from) {
    MissingLink missing = missing_between(what, from, now.pc);
    missing.reach = reach(before, context);
    return missing;
  };
  switch (verdict.lack) {
    case Lack::ProxyFence: {
      MissingLink missing = fence(What::ProxyFence, SyncEvent::Kind::ProxyFence);
      missing.names = {context.global ? "global" : "", before.writes ? "writer" : "reader"};
      return missing;
    }
    case Lack::BeforeFence: {
      MissingLink missing = fence(What::BeforeFence, SyncEvent::Kind::TensorFence);
      missing.names = {std::to_string(before.warp)};
      return missing;
    }
    case Lack::AfterFence: return {.what = What::AfterFence, .to = here, .names = {std::to_string(context.by.warp)}};
    case Lack::FlagFence: return {.what = What::FlagFence, .to = here};
    case Lack::LateFence: return {.what = What::LateFence};
    case Lack::Coherence: return {.what = What::OrdinaryLoad, .to = here};
    case Lack::Visibility: {
      if (auto missing = lanes_that_told(before, verdict.missing, kVisible, context)) return *missing;
      const Aside& aside = context.knows.aside;
      for (const Clock* each : {&aside.shared, &aside.own_shared}) {
        if (*each && unknown(before, verdict.missing, context, context.lanes, *each, kVisible) == 0)
          return {.what = What::WholeFence, .names = {each == &aside.own_shared ? "its own CTA" : ""}};
      }
      if (const Clock fenced = context.knows.seen.acquired_by(context.knows.now, context.by.cta.place, Scope::Gpu);
          unknown(before, verdict.missing, context, context.lanes, fenced, kVisible) == 0)
        return {.what = What::AcquiringWait, .to = here};
      if (tells == nullptr || (before.issuer.cta == now.issuer.cta && tells->kind == SyncEvent::Kind::Tells))
        return link(What::ReleasingLink, tells != nullptr ? tells->pc : before.pc);
      if (before.issuer.cta == now.issuer.cta)
        return {.what = What::ReleaseAndAcquire, .from = names_.locate(tells->pc)};
      return {.what = What::WiderScope,
              .from = names_.locate(tells->pc),
              .names = {before.issuer.cluster == now.issuer.cluster ? ".cluster" : ".gpu"}};
    }
    case Lack::Everything: break;
  }
  const Field field = before.writes && now.reads ? kVisible : kHappened;
  if (verdict.grade == Grade::Habit && verdict.habit == Habit::WarpgroupAcquire)
    return missing_between(What::WarpgroupBarrier, before.pc, now.pc);
  if (!verdict.reversed) {
    if (auto missing = who_knows(before, verdict.missing, field, context)) return *missing;
  }
  if (auto missing = phase_without(before)) return *missing;
  std::string done = completion(before);
  if (const auto map = map_reads_.find(static_cast<uint32_t>(before.detail));
      before.role == Role::TensorMap && map != map_reads_.end()) {
    done = map->second.loads ? "mbarrier.try_wait" : "cp.async.bulk.commit_group";
  }
  if (!done.empty()) {
    const auto queue = queue_of_its_threads(before);
    const bool is_of_others = queue && (before.issuer.cta != now.issuer.cta || before.warp != now.warp);
    if (is_of_others && !verdict.reversed && tells != nullptr &&
        context.knows.now.known(before.issuer.cta, before.warp, lanes, tells->tick, kHappened) != 0)
      return late_wait(before, *tells, context);
    MissingLink missing = link(What::Completion, before.pc);
    missing.instruction = done;
    if (verdict.reversed) missing.reach = reach(now, context);
    if (is_of_others) missing.names = {"its own warp"};  // it has to signal afterwards
    return missing;
  }
  if (verdict.reversed) {
    MissingLink missing = missing_between(What::Link, before.pc, now.pc);
    missing.reach = reach(now, context);
    return missing;
  }
  if (before.pc == now.pc && !has_executed(before, now.pc, before.serial, false) &&
      !has_executed(now, now.pc, now.serial, false))
    return {.what = What::OneThread, .to = here};
  if (tells == nullptr) return link(What::Link, before.pc);
  // A warp barrier after the signal of a single lane might lie on a path that only this lane executes.
  const bool in_one_warp = before.issuer.cta == now.issuer.cta && before.warp == context.by.warp;
  const bool is_after_both = tells->pc > before.pc && tells->pc > now.pc;
  MissingLink missing = link(What::LinkBeyondSignal, in_one_warp || is_after_both ? before.pc : tells->pc);
  missing.also = names_.locate(tells->pc);
  return missing;
}

/// A signal of the operation's threads has reached the second access, and they had not waited for its completion
/// before. A wait there is missing; or, if they wait for such operations later, a signal after that.
MissingLink RaceDetector::late_wait(const RecordedAccess& before, const SyncEvent& signal,
                                    const Context& context) const {
  MissingLink missing = missing_between(MissingLink::What::Completion, before.pc, signal.pc);
  missing.instruction = completion(before);
  missing.reach = reach(before, context);
  const WarpKnowledge& warp = ctas_.at(before.issuer.cta)->warps[before.warp];
  if (const auto queue = queue_of_its_threads(before); queue && warp.waited_at[static_cast<size_t>(*queue)] != 0)
    missing.also = names_.locate(warp.waited_at[static_cast<size_t>(*queue)]);
  return missing;
}

/// The phase that is to count a load's bytes: the current one; or the one before, if the loading thread has arrived in
/// it, and does not know that it is complete.
Tick RaceDetector::counting_phase(const By& by, const CtaKnowledge& target, const BarrierChannel& barrier) {
  const bool has_arrived = std::any_of(barrier.counted[1].begin(), barrier.counted[1].end(), [&](const Counted& each) {
    return each.cta == by.cta.place.cta && each.row == by.warp && (each.lanes & by.lanes) != 0;
  });
  return barrier.completed - (has_arrived && !knows_last_phase(by, target, barrier) ? 1 : 0);
}

/// For a load whose phase of the mbarrier has completed without its bytes.
std::optional<MissingLink> RaceDetector::phase_without(const RecordedAccess& load) const {
  if (load.role != Role::BulkLoad) return std::nullopt;
  for (const auto& [offset, barrier] : ctas_.at(load.cta)->barriers) {
    if (barrier.row != load.row || barrier.completed <= load.detail || load.detail < barrier.first) continue;
    if (load.position != 0 && load.position <= load.detail + 1) continue;
    return MissingLink{.what = MissingLink::What::ExpectTx,
                       .from = names_.locate(load.pc),
                       .names = {std::to_string(load.detail - barrier.first), names_.shared(offset)}};
  }
  return std::nullopt;
}

/// For an access by a warp of which some lanes have signalled and others have not.
std::optional<MissingLink> RaceDetector::lanes_that_told(const RecordedAccess& before, Mask missing, Field field,
                                                         const Context& context) const {
  const CtaKnowledge& cta = *ctas_.at(before.issuer.cta);
  const bool by_lanes = before.row < ctas_.at(before.cta)->warps.size() || before.role == Role::CopyAsync ||
                        before.role == Role::TensorLoad || before.role == Role::TensorStore;
  if (!by_lanes) return std::nullopt;
  const WarpKnowledge& warp = cta.warps[before.warp];
  const Mask told = context.knows.now.known(before.cta, before.row, kAll, before.position, field) & warp.exists;
  const bool is_own = before.issuer.cta == context.by.cta.place.cta && before.warp == context.by.warp;
  if (told == 0 || is_own || (told & missing) != 0) return std::nullopt;
  MissingLink result{.what = MissingLink::What::WarpSync, .names = {lanes_text(told), lanes_text(missing)}};
  if (const SyncEvent* const event = warp.told_after(before.issued, told)) result.to = names_.locate(event->pc);
  return result;
}

/// Names the threads that know that the access has finished, and the link by which the accessing thread could know.
std::optional<MissingLink> RaceDetector::who_knows(const RecordedAccess& before, Mask missing, Field field,
                                                   const Context& context) const {
  using What = MissingLink::What;
  if (before.position == 0) return std::nullopt;
  const auto holds = [&](const Clock& clock, Mask lanes) {
    return lanes != 0 && clock.known(before.cta, before.row, lanes, before.position, field) == lanes;
  };
  const Location here = names_.locate(context.by.pc);
  if (auto found = lanes_that_told(before, missing, field, context)) return found;
  // First other lanes of this warp.
  for (const WarpKnowledge::Group& group : context.warp.groups()) {
    if (group.lanes & context.lanes) continue;
    if (holds(group.knows.now, missing) ||
        (before.cta == context.by.cta.place.cta && before.warp == context.warp.index &&
         holds(context.warp.published(group.lanes), missing)))
      return MissingLink{
          .what = What::WarpSyncBefore, .to = here, .names = {lanes_text(group.lanes), lanes_text(context.lanes)}};
  }
  // Then an mbarrier that the warp could have waited for: first the one that counts the operation, and those at which
  // this warp, or no warp, has waited before.
  const auto mbarrier_tells = [&](bool any) -> std::optional<MissingLink> {
    for (const auto& [offset, barrier] : context.by.cta.barriers) {
      const bool counts_it = barrier.row == before.row && before.cta == context.by.cta.place.cta;
      const bool is_likely = counts_it || barrier.waiting_warps == 0 || barrier.has_waited(context.warp.index);
      if (!any && !is_likely) continue;
      for (const Message* message : {&barrier.last, &barrier.open}) {
        if (!holds(message->acquired_by(Clock(), context.by.cta.place, Scope::Gpu), missing)) continue;
        MissingLink found{.what = What::PhaseWait, .to = here, .names = {names_.shared(offset)}};
        if (!message->contributors().empty()) found.also = names_.locate(message->contributors().back().pc);
        return found;
      }
    }
    return std::nullopt;
  };
  if (auto found = mbarrier_tells(false)) return found;
  for (uint32_t id = 0; id < 16; ++id) {
    const CtaKnowledge::Named& barrier = context.by.cta.named[id];
    const auto any_of = [&](auto is) {
      return std::any_of(barrier.participants.begin(), barrier.participants.end(),
                         [&](const auto& each) { return each.warp == context.by.warp && is(each); });
    };
    const bool is_mine = barrier.row == 0 || any_of([](const auto&) { return true; });
    const auto& arrived = barrier.open.contributors();
    const auto is_there = [&](const auto& each) { return !arrived.empty() && each.pc == arrived[0].pc; };
    const bool opens = holds(barrier.open.happened(), missing);
    // One that this warp will come to, too, stands after both accesses.
    const bool is_later = opens && (barrier.row == 0 || any_of(is_there));
    if (is_mine && !is_later && (opens || holds(barrier.last.happened(), missing)))
      return MissingLink{.what = What::BarrierWait, .to = here, .names = {std::to_string(id)}};
  }
  const auto barrier = clusters_.find(context.by.cta.place.cluster);
  if (barrier != clusters_.end()) {
    for (const Message* message : {&barrier->second.open, &barrier->second.last}) {
      if (!holds(message->acquired_by(Clock(), context.by.cta.place, Scope::Cluster), missing)) continue;
      // All threads arrive at it: if this warp has not, it stands after both accesses.
      const auto& arrived = message->contributors();
      const auto is_there = [&](const SyncEvent& event) { return event.tells() && event.pc == arrived[0].pc; };
      if (message == &barrier->second.open && !arrived.empty() && !context.warp.event_after(0, kAll, is_there))
        continue;
      MissingLink found{.what = What::ClusterWait, .to = here};
      if (!message->contributors().empty()) found.also = names_.locate(message->contributors().front().pc);
      return found;
    }
  }
  // Then other warps.
  const auto cluster = context.by.cta.place.cluster;
  for (const auto& [number, cta] : ctas_) {
    if (cta->place.cluster != cluster) continue;
    for (const WarpKnowledge& warp : cta->warps) {
      for (const WarpKnowledge::Group& group : warp.groups()) {
        if (!holds(warp.published(group.lanes), missing)) continue;
        const bool itself = number == before.issuer.cta && warp.index == before.warp;
        if (itself && completion(before).empty()) continue;
        const SyncEvent* const tells = warp.told_after(before.issued, group.lanes);
        if (itself && tells != nullptr &&
            context.knows.now.known(number, warp.index, group.lanes, tells->tick, kHappened) != 0)
          return late_wait(before, *tells, context);
        MissingLink found{
            .what = What::SignalFromThere,
            .to = here,
            .names = {itself ? "its own warp" : names_.cta(*cta) + ", warp " + std::to_string(warp.index)}};
        if (tells != nullptr) found.what = What::Signal, found.from = names_.locate(tells->pc);
        return found;
      }
    }
  }
  return mbarrier_tells(true);
}

// ---- barriers

template <class Kind>
void RaceDetector::about_init(Kind kind, const By& by, CtaKnowledge& target, uint32_t offset,
                              const BarrierChannel& barrier, Violation violation, MissingLink::What missing,
                              const char* instruction) {
  const RecordedAccess& init = accesses_[barrier.init];
  const Findings::Key key = Findings::key(kind, names_.first_of_line(init.pc), names_.first_of_line(by.pc));
  tell(key, by.cta.place.cluster, 8, [&] {
    Finding finding{.first = side(init),
                    .second = side(by),
                    .violation = violation,
                    .where = names_.shared(offset) + " of " + names_.cta(target),
                    .missing = missing_between(missing, init.pc, by.pc)};
    finding.missing.instruction = instruction;
    finding.missing.names = {&target == &by.cta ? "CTA" : "cluster"};
    return finding;
  });
}

void RaceDetector::missing_init(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier) {
  about_init(Rule::BarrierExists, by, target, offset, barrier, Violation::UsesUninitialised, MissingLink::What::Barrier,
             &target == &by.cta ? "bar.sync" : "barrier.cluster");
}

void RaceDetector::initialised_twice(const By& by, uint32_t offset, const BarrierChannel& barrier, bool is_habit) {
  if (is_habit && findings_.tolerates(Habit::RepeatedInit)) return;
  const auto report = [&](auto kind) {
    about_init(kind, by, by.cta, offset, barrier, Violation::InitialisesAgain, MissingLink::What::Invalidation);
  };
  is_habit ? report(Habit::RepeatedInit) : report(Rule::BarrierLifetime);
}

void RaceDetector::check_exists(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                                const Context& context, bool asynchronous) {
  if (barrier.init == 0) return;
  const RecordedAccess& init = accesses_[barrier.init];
  if (unknown(init, init.lanes, context, context.lanes, context.knows.now, kHappened) != 0)
    return missing_init(by, target, offset, barrier);
  if (barrier.fenced) return;
  const bool is_visible = unknown(init, init.lanes, context, context.lanes, context.knows.now, kVisible) == 0;
  if (!is_visible || asynchronous || &target != &by.cta) unfenced_init(by, target, offset, barrier);
}

void RaceDetector::check_exists(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                                const Signal& signal) {
  if (barrier.init == 0) return;
  const RecordedAccess& init = accesses_[barrier.init];
  const auto known = [&](Field field) {
    return signal.happened.known(init.cta, init.row, init.lanes, init.position, field) == init.lanes;
  };
  if (!known(kHappened)) return missing_init(by, target, offset, barrier);
  if (!barrier.fenced && (!known(kVisible) || &target != &by.cta)) unfenced_init(by, target, offset, barrier);
}

void RaceDetector::unfenced_init(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier) {
  if (findings_.tolerates(Habit::InitFence)) return;
  about_init(Habit::InitFence, by, target, offset, barrier, Violation::UsesUnfenced, MissingLink::What::InitFence);
}

/// A phase is complete once all its arrivals have been made: knowing of all of them implies knowing of the phase.
bool RaceDetector::knows_all(const Clock& knows, const std::vector<Counted>& arrivals, Field field) {
  return !arrivals.empty() && std::all_of(arrivals.begin(), arrivals.end(), [&](const Counted& each) {
    return each.position != 0 && knows.known(each.cta, each.row, each.lanes, each.position, field) == each.lanes;
  });
}

void RaceDetector::check_phase_known(const By& by, CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                                     const Clock& knows, Tick position, bool waits) {
  if (knows.known(target.place.cta, barrier.row, kAll, position, kHappened) == kAll) return;
  const std::vector<Counted>& arrivals = barrier.counted[1 + barrier.completed - position];
  by.threads().close();
  const auto known = [&](Field field) {
    if (knows.known(target.place.cta, barrier.row, kAll, position, field) == kAll) return true;
    if (!waits) return knows_all(knows, arrivals, field);
    for (Mask rest = by.lanes; rest; rest &= rest - 1) {  // each lane knows its own arrivals
      if (!knows_all(by.threads().published(rest & -rest), arrivals, field)) return false;
    }
    return true;
  };
  if (known(kHappened)) return;
  const bool as_one = known(kGroupHappened);
  if (as_one && findings_.tolerates(Habit::WarpgroupRelease)) return;
  const uint32_t line = names_.first_of_line(by.pc);
  const Findings::Key key =
      as_one ? Findings::key(Habit::WarpgroupRelease, line, line) : Findings::key(Rule::PhaseKnown, line, line);
  tell(key, by.cta.place.cluster, 0, [&] {
    Finding finding{.first = side(by),
                    .violation = waits ? Violation::WaitsForUnknownPhase : Violation::ArrivesInUnknownPhase,
                    .where = "the mbarrier at " + names_.shared(offset) + " of " + names_.cta(target),
                    .details = {barrier.completed - barrier.first - (waits ? 1 : 0)}};
    finding.missing = {.what = waits ? MissingLink::What::WaitForPhase : MissingLink::What::WaitBeforeArrival,
                       .to = finding.first.at};
    if (waits) finding.missing.names = {std::to_string(barrier.completed - barrier.first - 2)};
    return finding;
  });
}

void RaceDetector::check_generation_known(const By& by, uint32_t id, CtaKnowledge::Named& barrier, const Clock& knows) {
  if (barrier.completed == barrier.first || knows_all(knows, barrier.counted[1], kHappened) ||
      knows.known(by.cta.place.cta, barrier.row, kAll, barrier.completed, kHappened) == kAll)
    return;
  const bool any_waits = std::any_of(barrier.participants.begin(), barrier.participants.end(),
                                     [](const auto& each) { return each.waits; });
  if (any_waits) return unknown_generation(by, id);
  constexpr size_t kMost = 64;
  if (barrier.unknown.size() < kMost) barrier.unknown.push_back({by.warp, by.lanes, by.pc});
}

void RaceDetector::unknown_generation(const By& by, uint32_t id) {
  const Findings::Key key = Findings::key(Rule::PhaseKnown, names_.first_of_line(by.pc), 0);
  tell(key, by.cta.place.cluster, 0, [&] {
    Finding finding{.first = side(by),
                    .violation = Violation::ArrivesAtUnknownBarrier,
                    .where = "barrier " + std::to_string(id) + " of " + names_.cta(by.cta),
                    .details = {id}};
    finding.missing = {
        .what = MissingLink::What::WaitBeforeBarrier, .to = finding.first.at, .names = participants_of(by, id)};
    return finding;
  });
}

/// The names of the link that is missing: a named barrier and the warps that wait there. If none does, two empty names,
/// the barrier, and candidates: the warps that share another barrier with this warp.
std::vector<std::string> RaceDetector::participants_of(const By& by, uint32_t id) const {
  std::vector<std::pair<std::string, std::string>> groups;  // location, and warps
  const auto add = [&](const CtaKnowledge::Named::Participant& each, const std::string& barrier) {
    const std::string where = " at " + line(each.pc) + barrier, warp = std::to_string(each.warp);
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == where; });
    if (same == groups.end())
      groups.emplace_back(where, warp);
    else
      same->second += ", " + warp;
  };
  const auto text = [&] {
    std::string all;
    for (const auto& [where, warps] : groups)
      all +=
          (all.empty() ? "" : "; ") + std::string(warps.find(',') == warps.npos ? "warp " : "warps ") + warps + where;
    return all;
  };
  const auto has_come = [&](uint32_t barrier, uint16_t warp) {
    const auto& all = by.cta.named[barrier].participants;
    return std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.warp == warp; });
  };
  for (const auto& each : by.cta.named[id].participants) {
    if (each.waits) add(each, "");
  }
  if (!groups.empty()) return {std::to_string(id), text()};
  for (uint32_t other = 0; other < by.cta.named.size(); ++other) {
    if (other == id || !has_come(other, by.warp)) continue;
    for (const auto& each : by.cta.named[other].participants) {
      if (each.warp != by.warp && !has_come(id, each.warp)) add(each, " (barrier " + std::to_string(other) + ")");
    }
  }
  return {"", "", std::to_string(id), text()};
}

void RaceDetector::lapped(CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                          const BarrierChannel::Waiter& waiter, Mask missing) {
  const Clock& told = barrier.open.happened();
  const bool as_one = (missing & ~told.known(waiter.cta, waiter.warp, missing, waiter.tick, kGroupHappened)) == 0 ||
                      warpgroup_is_done(waiter.cta, waiter.warp, waiter.wgmma_issued + 1, told);
  const Habit habit = as_one ? Habit::WarpgroupRelease : Habit::kCount;
  if (habit != Habit::kCount && findings_.tolerates(habit)) return;
  const uint32_t pc = names_.first_of_line(waiter.pc);
  const Findings::Key key =
      habit != Habit::kCount ? Findings::key(habit, pc, pc) : Findings::key(Rule::PhaseHeld, pc, pc);
  tell(key, target.place.cluster, 0, [&] {
    Finding finding;
    const By by{*ctas_.at(waiter.cta), waiter.warp, missing, waiter.pc};
    finding.first = side(by);
    const Tick phase = barrier.completed - barrier.first;
    finding.violation = phase == 0 ? Violation::MayMissInitialPhase : Violation::MayMissPhase;
    if (phase != 0) finding.details = {phase - 1};
    finding.where = "the mbarrier at " + names_.shared(offset) + " of " + names_.cta(target);
    std::string by_whom;
    for (const Message::Contributor& each : barrier.open.contributors()) {
      const std::string place = line(each.pc);
      if (by_whom.find(place) == std::string::npos) by_whom += (by_whom.empty() ? "" : ", ") + place;
    }
    finding.missing = {
        .what = MissingLink::What::LateWaiter, .from = finding.first.at, .names = {lanes_text(missing), by_whom}};
    return finding;
  });
}

/// No thread may still wait for an mbarrier that is invalidated.
void RaceDetector::check_unwaited(const By& by, uint32_t offset, const BarrierChannel& barrier) {
  const Clock knows = by.threads().published(by.lanes);
  for (const BarrierChannel::Waiter& each : barrier.waiters) {
    if (knows.known(each.cta, each.warp, each.lanes, each.tick, kPassed) == each.lanes) continue;
    const Findings::Key key =
        Findings::key(Rule::BarrierExists, names_.first_of_line(each.pc), names_.first_of_line(by.pc));
    tell(key, by.cta.place.cluster, 8, [&] {
      return Finding{.first = side(By{*ctas_.at(each.cta), each.warp, each.lanes, each.pc}),
                     .second = side(by),
                     .violation = Violation::InvalidatesUnderWait,
                     .where = names_.shared(offset) + " of " + names_.cta(by.cta),
                     .missing = missing_between(MissingLink::What::BarrierBeforeInval, each.pc, by.pc)};
    });
    return;
  }
}

/// All signals and operations that report to an mbarrier must be known to be complete before it is invalidated. That a
/// later commit of its own CTA's thread is complete says so only of hardware, as at the end of a CTA.
void RaceDetector::check_settled(const By& by, uint32_t offset, const BarrierChannel& barrier) {
  const Clock knows = by.threads().published(by.lanes);
  const auto report = [&](const auto& each, uint16_t warp, bool is_thread) {
    const bool is_habit = each.queue != 0 && each.cta == by.cta.place.cta &&
                          knows.known(each.cta, each.queue, kAll, each.queue_position + 1, kHappened) == kAll;
    if (is_habit && findings_.tolerates(Habit::ExitBeforeOwnCommit)) return;
    const uint32_t line = names_.first_of_line(each.pc), end = names_.first_of_line(by.pc);
    const Findings::Key key = is_habit ? Findings::key(Habit::ExitBeforeOwnCommit, line, end)
                                       : Findings::key(Rule::BarrierLifetime, line, end);
    tell(key, by.cta.place.cluster, 8, [&] {
      Finding finding{.first = side(By{*ctas_.at(each.cta), warp, each.lanes, each.pc}),
                      .second = side(by),
                      .violation = Violation::InvalidatesUnderSignal,
                      .where = names_.shared(offset) + " of " + names_.cta(by.cta),
                      .missing = {.what = MissingLink::What::WaitBeforeInval,
                                  .to = names_.locate(by.pc),
                                  .names = {names_.shared(offset)}}};
      if (is_thread) finding.missing.from = names_.locate(each.pc);
      return finding;
    });
  };
  for (const BarrierChannel::Coming& each : barrier.coming) report(each, each.warp, false);
  for (const BarrierChannel::Arrival& each : barrier.arrivals) {
    if (each.phase <= barrier.completed &&
        knows.known(by.cta.place.cta, barrier.row, kAll, each.phase, kHappened) == kAll)
      continue;
    if (!each.asynchronous && knows.known(each.cta, each.row, each.lanes, each.position, kHappened) == each.lanes)
      continue;
    report(each, each.row, !each.asynchronous);
  }
}

/// Tensor memory that is read, and nothing has been written there since its allocation.
void RaceDetector::check_written(const By& by, const CtaKnowledge& cta, std::span<const Range> cells) {
  uint32_t allocation = 0;
  bool is_written = false;
  const auto look = [&](const Cell& cell, uint64_t, uint64_t) {
    for (const uint32_t each : sets_.members(cell.write)) {
      is_written |= accesses_[each].role != Role::Allocation;
      allocation = each;
    }
  };
  cta.tensor.for_known(cells[0].begin, cells[0].begin + Shadow::kCell, look);  // nearly always it has been written
  if (is_written || allocation == 0) return;
  for (const Range& range : cells) cta.tensor.for_known(range.begin, range.end, look);
  if (is_written) return;
  const RecordedAccess& allocated = accesses_[allocation];
  const Findings::Key key =
      Findings::key(Rule::TensorMemory, names_.first_of_line(allocated.pc), names_.first_of_line(by.pc));
  tell(key, by.cta.place.cluster, 0, [&] {
    Finding finding{.first = side(allocated), .second = side(by), .violation = Violation::ReadsUnwritten};
    finding.where =
        "tensor memory of " + names_.cta(cta) + ", column " + std::to_string(cells[0].begin / Shadow::kCell / 8);
    finding.missing = {.what = MissingLink::What::FirstWrite, .to = names_.locate(by.pc)};
    return finding;
  });
}

/// A commit or a wait by another lane than that of the operations, one of which elect.sync has elected.
void RaceDetector::elected_other(const By& by, const WarpKnowledge::Open& open) {
  const Findings::Key key =
      Findings::key(Rule::StrictElection, names_.first_of_line(open.pc), names_.first_of_line(by.pc));
  tell(key, by.cta.place.cluster, 0, [&] {
    Finding finding{.first = side(By{by.cta, by.warp, open.lanes, open.pc}), .second = side(by)};
    const bool is_elected = (by.threads().elected & by.lanes) != 0;
    finding.violation = Violation::ExcludesFirst;
    finding.details = {is_elected ? "second" : "first"};
    finding.missing = {.what = MissingLink::What::SameLane, .from = names_.locate(open.pc), .to = names_.locate(by.pc)};
    return finding;
  });
}

/// The warps of a warpgroup execute the same setmaxnreg instructions.
void RaceDetector::check_registers(const CtaKnowledge& cta) {
  for (size_t first = 0; first < cta.warps.size(); first += 4) {
    const size_t end = std::min(first + 4, cta.warps.size());
    for (size_t i = first + 1; i < end; ++i) {
      const WarpKnowledge *one = &cta.warps[first], *other = &cta.warps[i];
      if (one->registers.size() < other->registers.size()) std::swap(one, other);
      size_t at = 0;
      while (at < other->registers.size() && one->registers[at].second == other->registers[at].second) ++at;
      if (at == one->registers.size()) continue;
      const auto [pc, count] = one->registers[at];
      const Findings::Key key = Findings::key(Rule::RegisterCount, names_.first_of_line(pc), 0);
      tell(key, cta.place.cluster, 0, [&, count = count, pc = pc] {
        Finding finding;
        finding.first = side(By{*ctas_.at(cta.place.cta), one->index, one->exists, pc});
        const bool does_not = at == other->registers.size();
        finding.violation = does_not ? Violation::SetsRegistersAlone : Violation::SetsOtherRegisters;
        finding.details = {count, other->index};
        if (!does_not)
          finding.details.insert(finding.details.end(),
                                 {other->registers[at].second, line(other->registers[at].first)});
        finding.missing = {.what = MissingLink::What::SameRegisters,
                           .names = {std::to_string(first), std::to_string(first + 3)}};
        return finding;
      });
      break;
    }
  }
}

/// Shared memory of a CTA exists only once the CTA has started.
void RaceDetector::check_begun(const By& by, const CtaKnowledge& target, Violation violation) {
  bool known = true;
  by.threads().for_groups(by.lanes, [&](const Knowledge& knows, Mask) { known &= knows.now.knows(target.place.cta); });
  if (known) return;
  const uint32_t line = names_.first_of_line(by.pc);
  tell(Findings::key(Rule::Begun, line, line), by.cta.place.cluster, 0, [&] {
    Finding finding{
        .first = side(by), .violation = violation, .where = names_.cta(target), .details = {names_.cta(target)}};
    finding.missing = {.what = MissingLink::What::ClusterStart, .to = finding.first.at};
    return finding;
  });
}

/// A CTA of a pair deallocates tensor memory only after both CTAs have allocated theirs.
void RaceDetector::check_pair_allocated(const By& by, const CtaKnowledge& peer, uint64_t cell, const Context& context) {
  const auto found = peer.allocations.find(cell);
  if (found == peer.allocations.end()) return;
  const RecordedAccess& allocation = accesses_[found->second];
  if (unknown(allocation, allocation.lanes, context, context.lanes, context.knows.now, kPassed) == 0) return;
  const Findings::Key key =
      Findings::key(Rule::TensorMemory, names_.first_of_line(allocation.pc), names_.first_of_line(by.pc));
  tell(key, by.cta.place.cluster, 0, [&] {
    Finding finding{.first = side(allocation),
                    .second = side(by),
                    .violation = Violation::DeallocatesBeforeAllocation,
                    .where = "tensor memory of " + names_.cta(peer),
                    .missing = missing_between(MissingLink::What::Barrier, allocation.pc, by.pc)};
    finding.missing.instruction = "barrier.cluster", finding.missing.names = {"cluster"};
    return finding;
  });
}

// ---- tensor maps

void RaceDetector::unacquired_map(const By& by, uint64_t address) {
  const uint32_t line = names_.first_of_line(by.pc);
  tell(Findings::key(Rule::StrictTensorMap, line, line), by.cta.place.cluster, 128, [&] {
    Finding finding{.first = side(by), .violation = Violation::UsesUnacquiredMap, .where = names_.global(address)};
    finding.missing = {.what = MissingLink::What::MapAcquireFirst, .to = finding.first.at};
    return finding;
  });
}

void RaceDetector::unfenced_map(const By& by, const RecordedAccess& write, uint64_t address, bool is_released,
                                Scope scope) {
  const Findings::Key key =
      Findings::key(Rule::TensorMapFence, names_.first_of_line(write.pc), names_.first_of_line(by.pc));
  tell(key, by.cta.place.cluster, 128, [&] {
    Finding finding{.first = side(write),
                    .second = side(by),
                    .violation = Violation::UsesChangedMap,
                    .where = names_.global(address),
                    .missing = missing_between(
                        is_released ? MissingLink::What::MapAcquire : MissingLink::What::MapRelease, write.pc, by.pc)};
    finding.missing.names = {scope == Scope::Cta ? "" : scope == Scope::Cluster ? ".cluster" : ".gpu"};
    return finding;
  });
}

// ---- registers

void RaceDetector::wgmma_unfenced(const By& by, uint32_t before) {
  const Findings::Key key =
      Findings::key(Rule::WgmmaRegisters, names_.first_of_line(before), names_.first_of_line(by.pc));
  tell(key, by.cta.place.cluster, 0, [&] {
    Finding finding;
    const Side wgmma = side(by);
    if (before == by.pc) {
      finding.first = wgmma;
      finding.violation = Violation::FirstUnfencedWgmma;
      finding.missing = {.what = MissingLink::What::FirstWgmmaFence, .to = wgmma.at};
      return finding;
    }
    finding.first = {.who = wgmma.who, .at = names_.locate(before)};
    finding.second = wgmma;
    finding.violation = Violation::UsesAccessedRegisters;
    finding.missing = missing_between(MissingLink::What::WgmmaFence, before, by.pc);
    return finding;
  });
}

void RaceDetector::wgmma_overwritten(const By& by, uint32_t wgmma) {
  const Findings::Key key =
      Findings::key(Rule::WgmmaRegisters, names_.first_of_line(wgmma), names_.first_of_line(by.pc));
  tell(key, by.cta.place.cluster, 0, [&] {
    Finding finding;
    const Side later = side(by);
    finding.first = {.who = later.who, .at = names_.locate(wgmma)};
    finding.second = later;
    finding.violation = Violation::OverwritesRegistersOfA;
    finding.missing = missing_between(MissingLink::What::WgmmaWait, wgmma, by.pc);
    return finding;
  });
}

// ---- the end of a CTA

/// The exit of a warp that has waited for the barrier; if there is none, the exit of any warp.
std::optional<Location> RaceDetector::end_of(const CtaKnowledge& target, const BarrierChannel& barrier) const {
  const SyncEvent* end = nullptr;
  for (const WarpKnowledge& warp : target.warps) {
    const SyncEvent* const exit =
        warp.event_after(0, kAll, [](const SyncEvent& event) { return event.kind == SyncEvent::Kind::Exit; });
    if (exit != nullptr && (end == nullptr || barrier.has_waited(warp.index))) end = exit;
  }
  return end == nullptr ? std::nullopt : std::optional(names_.locate(end->pc));
}

void RaceDetector::check_quiet(CtaKnowledge& target, uint32_t offset, const BarrierChannel& barrier,
                               const Clock& knows) {
  for (const BarrierChannel::Arrival& each : barrier.arrivals) {
    const bool by_phase = each.phase <= barrier.completed &&
                          knows.known(target.place.cta, barrier.row, kAll, each.phase, kHappened) == kAll;
    if (by_phase) continue;
    const bool own = each.cta == target.place.cta;
    Habit habit = Habit::kCount;
    if (each.asynchronous) {
      // A barrier of the cluster after the issue of a commit to both CTAs of a pair.
      if (own || knows.known(each.cta, each.row, each.lanes, each.position, kHappened) == each.lanes)
        habit = Habit::ExitBeforeOwnCommit;
    } else {
      if (own) continue;
      if (knows.known(each.cta, each.row, each.lanes, each.position, kVisible) == each.lanes) continue;
      if (knows.known(each.cta, each.row, each.lanes, each.position, kHappened) == each.lanes)
        habit = Habit::RelaxedClusterExit;
    }
    if (habit != Habit::kCount && findings_.tolerates(habit)) continue;
    const bool is_habit = habit != Habit::kCount;
    const uint32_t line = names_.first_of_line(each.pc);
    const Findings::Key key = is_habit ? Findings::key(habit, line, line) : Findings::key(Rule::Exit, line, line);
    tell(key, target.place.cluster, 8, [&] {
      Finding finding;
      const By other{*ctas_.at(each.cta), static_cast<uint16_t>(each.asynchronous ? 0 : each.row), each.lanes, each.pc};
      finding.first = {.who = each.asynchronous ? names_.cta(other.cta) : who(other), .at = names_.locate(each.pc)};
      finding.second = {.who = names_.cta(target), .at = {"its end"}};
      finding.violation = Violation::SignalsAtExit;
      finding.where = "the mbarrier at " + names_.shared(offset) + " of " + names_.cta(target);
      if (habit == Habit::RelaxedClusterExit) {
        finding.missing = {.what = MissingLink::What::ReleaseBeforeExit, .from = finding.first.at};
        return finding;
      }
      const bool is_waited_for = barrier.waited_at != 0;
      finding.missing = {.what = MissingLink::What::PhaseBeforeExit,
                         .to = end_of(target, barrier),
                         .names = {names_.shared(offset), names_.cta(target), is_waited_for ? "" : "never"}};
      if (!each.asynchronous) finding.missing.from = finding.first.at;
      if (is_waited_for) finding.missing.also = names_.locate(barrier.waited_at);
      return finding;
    });
  }
}

void RaceDetector::unfinished(CtaKnowledge& cta, uint32_t number, uint64_t offset, std::vector<bool>& seen) {
  const RecordedAccess& access = accesses_[number];
  if (access.proxy == Proxy::Generic && access.issuer.cta == cta.place.cta && access.role != Role::CopyAsync) return;
  if (seen[number]) return;
  seen[number] = true;
  const Mask known =
      access.position == 0 ? 0 : cta.end.known(access.cta, access.row, access.lanes, access.position, kHappened);
  if (known == access.lanes) return;
  const bool own = access.issuer.cta == cta.place.cta;
  Habit habit = Habit::kCount;
  if (own && access.role == Role::BulkStore) habit = Habit::ExitWithOwnStores;
  if (own && (access.role == Role::BulkLoad || access.role == Role::CopyAsync)) habit = Habit::ExitWithOwnLoads;
  if (access.role == Role::WgmmaOperand && own) return;  // its results require the wait anyway
  if (habit != Habit::kCount && findings_.tolerates(habit)) return;
  const bool is_habit = habit != Habit::kCount;
  const uint32_t line = names_.first_of_line(access.pc);
  const Findings::Key key = is_habit ? Findings::key(habit, line, line) : Findings::key(Rule::Exit, line, line);
  tell(key, cta.place.cluster, 0, [&] {
    Finding finding{.first = side(access),
                    .second = {.who = names_.cta(cta), .at = {"its end"}},
                    .violation = Violation::AccessesAtExit,
                    .where = names_.shared(offset) + " of " + names_.cta(cta)};
    const std::string done = completion(access);
    finding.missing = {
        .what = done.empty() ? MissingLink::What::ClusterBarrierBeforeExit : MissingLink::What::CompletionBeforeExit,
        .instruction = done,
        .from = finding.first.at};
    return finding;
  });
}

void RaceDetector::end(CtaKnowledge& cta) {
  std::vector<bool> seen(accesses_.count());  // by number: an access has many cells
  cta.shared.for_all([&](const Cell& cell, uint64_t begin, uint32_t) {
    for (const uint32_t each : sets_.members(cell.write)) unfinished(cta, each, begin, seen);
    for (const uint32_t each : sets_.members(cell.read)) unfinished(cta, each, begin, seen);
  });
  for (const auto& [offset, barrier] : cta.barriers) check_quiet(cta, offset, barrier, cta.end);
  check_registers(cta);
  for (uint32_t id = 0; any_errors_ && id < cta.named.size(); ++id) {
    for (const CtaKnowledge::Named::Unknown& each : cta.named[id].unknown)
      unknown_generation({cta, each.warp, each.lanes, each.pc}, id);
  }
  cta.shared.clear();
  cta.tensor.clear();
  cta.exited = true;
}

}  // namespace sim::order
