#include "timing/account.h"

#include <utility>

namespace sim::timing {
namespace {

constexpr Tick kFew = 256 * kCycle;

/// Where the time of a warp goes that runs, or does what its role has no name for.
template <class Role>
Part running(Role role) {
  switch (role) {
    case Role::Issuer: return Part::Issue;
    case Role::Loader:
    case Role::Asker: return Part::NotAsked;
    case Role::Epilogue: return Part::Registers;
    case Role::Peer:
    case Role::PeerAsker: break;
  }
  return Part::Peer;
}

template <class Role>
bool is_asker(Role role) {
  return role == Role::Asker || role == Role::PeerAsker;
}

}  // namespace

Tick Shares::total() const {
  Tick sum = 0;
  for (const Tick each : ticks) sum += each;
  return sum;
}

double Shares::share(Part part) const {
  const Tick all = total();
  return all == 0 ? 0 : static_cast<double>((*this)[part]) / static_cast<double>(all);
}

std::vector<std::pair<Part, Tick>> Shares::rests_since(const Shares& before) const {
  std::vector<std::pair<Part, Tick>> found;
  for (size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    const Tick length = ticks[i] - before.ticks[i];
    if (part != Part::Useful && part != Part::Wasted && length > 0) found.emplace_back(part, length);
  }
  return found;
}

void Shares::only_useful(double useful_flops, double all_flops) {
  if (useful_flops <= 0 || useful_flops >= all_flops) return;
  const Tick all = (*this)[Part::Useful];
  (*this)[Part::Useful] = static_cast<Tick>(static_cast<double>(all) * useful_flops / all_flops);
  (*this)[Part::Wasted] += all - (*this)[Part::Useful];
}

void Account::add(uint32_t* last, Segment segment) {
  segment.before = *last;
  Sm& sm = sms_[*last >> kNumberBits];
  const uint32_t number = ++sm.last & kNumbers;
  segment.number = *last = (*last & ~kNumbers) | number;
  if (sm.segments.size() < kSegments)
    sm.segments.push_back(segment);
  else
    sm.segments[(number - 1) % kSegments] = segment;
}

Account::Segment* Account::find(uint32_t number) {
  if ((number & kNumbers) == 0) return nullptr;
  std::vector<Segment>& segments = sms_[number >> kNumberBits].segments;
  Segment& segment = segments[((number & kNumbers) - 1) % kSegments];
  return segment.number == number ? &segment : nullptr;
}

void Account::note(uint32_t* last, Doing doing, Tick begin, Tick end, Tick conflicts) {
  if (end <= begin) return;
  Segment* const before = find(*last);
  const bool continues = before != nullptr && before->end == begin;
  // A few instructions between stores are part of them: a long epilogue is few segments.
  const bool is_between = doing == Doing::Runs && end - begin <= kFew && continues &&
                          (before->doing == Doing::Reads || before->doing == Doing::Shared ||
                           before->doing == Doing::Stores || before->doing == Doing::OrdinaryLoad);
  if (is_between) before->runs += end - begin;
  if (is_between || (continues && before->doing == doing))
    before->end = end, before->conflicts += conflicts;
  else
    add(last, {.begin = begin, .end = end, .conflicts = conflicts, .doing = doing});
}

void Account::note_wait(uint32_t* last, Tick begin, Tick end, const Causes& causes) {
  if (end > begin) add(last, {.begin = begin, .end = end, .causes = causes, .doing = Doing::Waits});
}

Account::Tail Account::load(uint32_t last, Tick issued, Tick arrives, const Queued& queued) {
  add(&last, {.begin = issued, .end = arrives, .queued = queued, .doing = Doing::Load});
  return {arrives, last};
}

void Account::multiply(size_t sm, uint32_t last, Tick ready, Tick begin, Tick end, Tick work, const Tail* freed_by) {
  Tick& covered = sms_[sm].covered;
  if (end <= covered) return;
  if (begin > covered) {
    const bool is_first = freed_by != nullptr;
    const Tail tail = is_first ? *freed_by : Tail{ready, last};
    const Tick from = std::clamp(tail.time, covered, begin);
    book(is_first ? Part::Begin : Part::Issue, begin - from);  // a warp that is ready waits for the tensor core's start
    walk(tail, covered, from, is_first ? Role::Epilogue : Role::Issuer);
  }
  const Tick length = end - std::max(begin, covered);
  work = work * length / (end - begin);
  book(Part::Useful, work);
  book(Part::Wasted, length - work);
  covered = end;
}

Shares Account::finish(Tick end) {
  for (Sm& sm : sms_) {
    const Tick left = std::clamp(sm.left, sm.covered, std::max(end, sm.covered));
    book(Part::End, left - sm.covered);
    book(Part::Idle, std::max(end, left) - left);
    sm.covered = std::max(end, left);
  }
  return shares_;
}

void Account::walk(const Tail& tail, Tick low, Tick high, Role role, int depth) {
  for (uint32_t number = tail.segment; low < high;) {
    const Segment* const segment = find(number);
    if (segment == nullptr || depth > kDeepest)
      return book(is_asker(role) ? Part::Latency : Part::Unexplained, high - low);
    const Tick end = std::clamp(segment->end, low, high), begin = std::clamp(segment->begin, low, end);
    book(running(role), high - end);
    if (begin < end) book(*segment, begin, end, role, depth);
    high = begin;
    number = segment->before;
    const Doing doing = segment->doing;
    if (role == Role::Issuer && (doing == Doing::Reads || doing == Doing::Shared || doing == Doing::Stores))
      role = Role::Epilogue;
    if (doing == Doing::Load && role != Role::Peer) role = Role::Loader;
  }
}

void Account::book(const Segment& segment, Tick low, Tick high, Role role, int depth) {
  const Tick whole = segment.end - segment.begin;
  Tick length = high - low;
  const auto of_it = [&](Tick part) { return part * (high - low) / whole; };
  const bool has_names = role == Role::Issuer || role == Role::Epilogue;
  if (has_names && segment.runs > 0) {
    book(Part::Registers, of_it(segment.runs));
    length -= of_it(segment.runs);
  }
  switch (segment.doing) {
    case Doing::Load: return book_load(segment, length, role, depth);
    case Doing::Waits: return book_wait(segment.causes, low, high, role, depth);
    case Doing::Runs: break;
    case Doing::Reads:
      if (has_names) return book(Part::Registers, length);
      break;
    case Doing::Stores:
      if (has_names) return book(Part::Stores, length);
      break;
    case Doing::OrdinaryLoad:
      if (has_names) return book(Part::Latency, length);
      break;
    case Doing::Shared:
      if (!has_names) break;
      book(Part::Conflicts, of_it(segment.conflicts));
      return book(Part::Shared, length - of_it(segment.conflicts));
  }
  book(running(role), length);
}

void Account::book_wait(const Causes& causes, Tick low, Tick high, Role role, int depth) {
  const Tick end = std::clamp(std::max(causes.own.time, causes.peer.time), low, high);
  book(running(role), high - end);  // until the warp knows of it
  const Tick own = std::clamp(causes.own.time, low, end);
  // A loader waits for free stages: what kept them does not matter, but whether it was in another CTA does.
  if (role == Role::Loader || is_asker(role)) {
    book(Part::Peer, end - own);
    return book(is_asker(role) ? Part::Latency : Part::NotAsked, own - low);
  }
  if (own < end) walk(causes.peer, own, end, Role::Peer, depth + 1);
  if (low < own)
    walk(causes.own, low, own, role == Role::Issuer && causes.own.by_warp ? Role::Epilogue : role, depth + 1);
}

void Account::book_load(const Segment& load, Tick length, Role role, int depth) {
  const Queued& queued = load.queued;
  const std::array<std::pair<Part, Tick>, 5> parts{{{Part::Tma, queued.tma},
                                                    {Part::Port, queued.port},
                                                    {Part::L2, queued.l2},
                                                    {Part::Link, queued.link},
                                                    {Part::Dram, queued.dram}}};
  Tick all = 0, rest = length;
  for (const auto& [part, cycles] : parts) all += cycles * kCycle;
  const Tick queues = std::min(all, length);
  for (const auto& [part, cycles] : parts) {
    if (cycles == 0) continue;
    const Tick mine = queues * (cycles * kCycle) / all;
    book(part, mine);
    rest -= mine;
  }
  // It was under way. Could it have been under way earlier? Not if its warp waited for a free stage: then more stages
  // would hide the latency. Otherwise the warp asked late.
  walk({load.begin, load.before}, load.begin - rest, load.begin, role == Role::Peer ? Role::PeerAsker : Role::Asker,
       depth);
}

}  // namespace sim::timing
