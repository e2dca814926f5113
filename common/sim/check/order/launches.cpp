#include "check/order/launches.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <span>

namespace sim::order {
namespace {

std::string in_stream(StreamName stream) {
  return stream.id == 0 ? "in the default stream" : "in stream " + std::to_string(stream.id);
}

}  // namespace

// ---- one launch

LaunchCheck::LaunchCheck(uint64_t its_number, StreamName stream, bool lets_start,
                         std::unique_ptr<const ProgramNames> names, Ended start, uint64_t predecessor,
                         Ended predecessor_end, const GlobalHistory& earlier, Habits tolerated, bool strict)
    : number(its_number),
      lets_dependents_start(lets_start),
      findings(tolerated, strict),
      names_(std::move(names)),
      title_("kernel " + names_->kernel() + ", " + in_stream(stream)),
      start_(std::move(start)),
      predecessor_(predecessor),
      predecessor_end_(std::move(predecessor_end)),
      earlier_(earlier) {}

std::unique_ptr<RaceDetector> LaunchCheck::make_detector() {
  auto detector = std::make_unique<RaceDetector>(findings, *names_, start());
  detector->belongs_to(*this);
  return detector;
}

Clock LaunchCheck::start() const {
  auto* ended = new Ended(start_);
  ended->references = 0;
  return Clock().with_ended(Ref<const Ended>(ended));
}

Clock LaunchCheck::after_wait(const Clock& before) {
  if (predecessor_ == 0) return before;
  {
    const std::lock_guard lock(mutex_);
    waited_ = true;
  }
  auto* ended = new Ended(before.ended() != nullptr ? *before.ended() : Ended{});
  ended->references = 0;
  ended->add(predecessor_);
  ended->add(predecessor_end_);
  return before.with_ended(Ref<const Ended>(ended));
}

void LaunchCheck::check_past(RaceDetector& detector, const RecordedAccess& access, const By& by, const Range& range,
                             const Clock& knows) {
  const ProgramNames& names = *names_;
  if (earlier_.empty() || (knows.ended() != nullptr && earlier_.newest() < knows.ended()->below)) return;
  earlier_.for_each(range.begin, range.end, [&](const GlobalHistory::Known& known, uint64_t begin, uint64_t end) {
    const auto ask = [&](uint32_t which, bool wrote) {
      if (which == 0) return;
      const PastAccess& before = earlier_[which];
      if (knows.ended(before.launch) || (before.atomic && access.atomic)) return;
      const Findings::Key key = Findings::key(Rule::Launches, before.pc, names.first_of_line(access.pc));
      detector.tell(key, by.cta.place.cluster, end - begin, [&] {
        Finding finding;
        finding.first = {.who = before.work, .at = before.at};
        finding.second = {.who = names.cta(by.cta) + ", warp " + std::to_string(by.warp),
                          .at = names.locate(access.pc)};
        finding.violation = !wrote                           ? Violation::OverwritesRead
                            : access.reads && !access.writes ? Violation::ReadsWritten
                                                             : Violation::OverwritesWritten;
        finding.where = names.global(begin);
        finding.missing = {
            .what = before.launch == predecessor_ ? MissingLink::What::GridWait : MissingLink::What::LaunchOrder,
            .to = finding.second.at};
        return finding;
      });
    };
    ask(known.write, true);
    if (!access.writes) return;
    for (const uint32_t reader : known.readers()) ask(reader, false);
  });
}

void LaunchCheck::clash(const PastAccess& before, const PastAccess& now, bool writes_before, bool writes_now,
                        const Range& range) {
  if (before.cluster == now.cluster || (before.atomic && now.atomic)) return;
  if (!writes_before && !writes_now) return;
  const bool equal = writes_before && writes_now && (before.silent || now.silent);
  if (equal && findings.tolerates(Habit::EqualStores)) return;
  const Rule rule = writes_before && writes_now ? Rule::WriteAfterWrite
                    : writes_before             ? Rule::ReadAfterWrite
                                                : Rule::WriteAfterRead;
  const uint32_t first = names_->first_of_line(before.pc), second = names_->first_of_line(now.pc);
  const Findings::Key key =
      equal ? Findings::key(Habit::EqualStores, first, second) : Findings::key(rule, first, second);
  findings.add(key, now.cluster, ~uint64_t{0}, range.end - range.begin, [&] {
    Finding finding;
    const auto who = [](const PastAccess& trace) {
      return "CTA " + std::to_string(trace.place.cta) + ", warp " + std::to_string(trace.warp);
    };
    finding.first = {.who = who(before), .at = before.at};
    finding.second = {.who = who(now), .at = now.at};
    finding.violation = writes_before && writes_now ? Violation::WritesWrittenByOtherCluster
                        : writes_before             ? Violation::ReadsOfOtherCluster
                                                    : Violation::WritesReadByOtherCluster;
    finding.where = names_->global(range.begin);
    finding.missing = {.what = MissingLink::What::OrderOfClusters};
    return finding;
  });
}

void LaunchCheck::end(uint32_t cluster, std::unique_ptr<RaceDetector> detector) {
  const std::lock_guard lock(mutex_);
  ended_[cluster] = std::move(detector);
  for (auto next = ended_.begin(); next != ended_.end() && next->first == turn_; next = ended_.erase(next), ++turn_) {
    if (next->second) fold_in(*next->second);
  }
}

void LaunchCheck::fold(RaceDetector& detector) {
  const std::lock_guard lock(mutex_);
  fold_in(detector);
}

void LaunchCheck::fold_in(RaceDetector& detector) {
  struct Part {
    Range range{0, 0};
    uint32_t writer = 0;
    size_t first_reader = 0, readers = 0;  // among all of them
  };
  // Neighbours with the same accesses are merged; bytes that are no whole words stand alone.
  std::vector<Part> parts;
  std::vector<uint32_t> all_readers;
  const auto readers_of = [&](const Part& part) {
    return std::span(all_readers).subspan(part.first_reader, part.readers);
  };
  Part next;
  const auto add = [&](uint32_t trace, bool wrote) {
    if (wrote) {
      next.writer = trace;
    } else if (const auto known = readers_of(next); std::find(known.begin(), known.end(), trace) == known.end()) {
      all_readers.push_back(trace);
      ++next.readers;
    }
  };
  const auto begin_next = [&](const Range& range) { next = {range, 0, all_readers.size(), 0}; };
  const auto take = [&] {
    const bool continues = !parts.empty() && parts.back().range.end == next.range.begin &&
                           parts.back().writer == next.writer &&
                           std::ranges::equal(readers_of(parts.back()), readers_of(next));
    if (continues) {
      parts.back().range.end = next.range.end;
      all_readers.resize(next.first_reader);
    } else if (next.writer != 0 || next.readers != 0) {
      parts.push_back(next);
    }
  };
  struct Piece {
    Range range;
    uint32_t trace;
    bool wrote;
  };
  std::vector<Piece> pieces;  // of words
  /// Accesses to parts of the word: those of one kind by one cluster are joined, but writes only of one instruction.
  struct Partly {
    uint32_t cluster, writer;
    Role role;
    bool atomic;
    uint32_t trace, bytes;
    bool is_like(const Partly& other) const {
      return cluster == other.cluster && writer == other.writer && role == other.role && atomic == other.atomic;
    }
  };
  std::vector<Partly> partly;
  const auto cut = [&](uint32_t all) {
    for (const Partly& each : partly) {
      for (uint32_t rest = each.bytes == all ? 0 : each.bytes; rest;) {
        const auto first = static_cast<uint32_t>(std::countr_zero(rest));
        const auto count = static_cast<uint32_t>(std::countr_one(rest >> first));
        rest &= ~(((1u << count) - 1) << first);
        const uint64_t from = next.range.begin + first;
        pieces.push_back({{from, from + count}, each.trace, each.writer != 0});
      }
    }
    partly.clear();
  };
  std::vector<uint32_t> traces;  // of accesses, by their number
  detector.for_global([&](uint32_t access_number, const RecordedAccess& access, uint64_t begin, uint64_t end,
                          bool wrote) {
    if (begin != next.range.begin || end != next.range.end) {
      cut((1u << (next.range.end - next.range.begin)) - 1);
      take();
      begin_next({begin, end});
    }
    if (traces.size() <= access_number) traces.resize(access_number + 1);
    uint32_t& which = traces[access_number];
    if (which == 0) {
      const PastAccess trace{number,        access.issuer.cluster, access.pc,   access.role, access.atomic,
                             access.silent, access.issuer,         access.warp, {}};
      which = past_.trace(trace, [&](PastAccess& past) { past.at = names_->locate(access.pc), past.work = title_; });
    }
    const auto bytes = static_cast<uint32_t>(end - begin);
    const bool may_leave_some = access.width != 0 && access.width < Shadow::kWord;
    if (!may_leave_some) return add(which, wrote);
    const uint32_t all = (1u << bytes) - 1;
    const Partly mine{access.issuer.cluster, wrote ? which : 0, access.role, access.atomic, which, 0};
    auto found = std::ranges::find_if(partly, [&](const Partly& each) { return each.is_like(mine); });
    if (found == partly.end()) found = partly.insert(found, mine);
    if (found->bytes == all) return;
    found->bytes |= access.bytes_at(begin, bytes);
    if (found->bytes == all) add(found->trace, wrote);
  });
  cut((1u << (next.range.end - next.range.begin)) - 1);
  take();
  for (const Piece& piece : pieces) {
    begin_next(piece.range);
    add(piece.trace, piece.wrote);
    parts.push_back(next);
  }
  for (const Part& part : parts) {
    past_.for_each(part.range.begin, part.range.end,
                   [&](const GlobalHistory::Known& known, uint64_t begin, uint64_t end) {
                     const auto against = [&](uint32_t which, bool wrote) {
                       if (which == 0) return;
                       if (part.writer != 0) clash(past_[which], past_[part.writer], wrote, true, {begin, end});
                       for (const uint32_t reader : readers_of(part))
                         clash(past_[which], past_[reader], wrote, false, {begin, end});
                     };
                     against(known.write, true);
                     for (const uint32_t reader : known.readers()) against(reader, false);
                   });
  }
  for (const Part& part : parts) {
    if (part.writer != 0) past_.write(part.range.begin, part.range.end, part.writer);
    if (part.readers != 0)  // one reader per cluster is enough
      past_.read(part.range.begin, part.range.end, readers_of(part).front());
  }
}

// ---- streams

Ended Launches::start_of(StreamName name) {
  Stream& stream = streams_[name.id];
  stream.blocking = name.blocking;
  Ended start = stream.next;
  start.add(host_);
  if (name.id == 0) {
    for (const auto& [id, other] : streams_) {
      if (other.blocking) start.add(other.all);
    }
  } else if (name.blocking) {
    start.add(streams_[0].all);
  }
  return start;
}

bool Launches::other_work_between(StreamName name) {
  const uint64_t last = streams_[name.id].last;
  if (name.id != 0) return name.blocking && streams_[0].last > last;
  return std::ranges::any_of(streams_,
                             [&](const auto& entry) { return entry.second.blocking && entry.second.last > last; });
}

void Launches::done(StreamName name, uint64_t number, const Ended& end) {
  Stream& stream = streams_[name.id];
  stream.next = end;
  stream.next.add(number);
  stream.all.add(stream.next);
  stream.last = number;
}

std::unique_ptr<LaunchCheck> Launches::begin(StreamName name, bool overlaps, bool lets_dependents_start,
                                             std::unique_ptr<const ProgramNames> names, Habits tolerated, bool strict) {
  const uint64_t number = next_++;
  Ended start = start_of(name);
  Stream& stream = streams_[name.id];
  uint64_t predecessor = 0;
  Ended predecessor_end;
  if (overlaps && stream.last_is_launch && (stream.last_lets_start || strict) && !other_work_between(name)) {
    // The launch starts when its predecessor has started, with the predecessor's knowledge at its start.
    predecessor = stream.last;
    predecessor_end = stream.last_end;
    start = stream.last_start;
    start.add(host_);
  }
  return std::make_unique<LaunchCheck>(number, name, lets_dependents_start, std::move(names), std::move(start),
                                       predecessor, std::move(predecessor_end), past_, tolerated, strict);
}

void Launches::end(LaunchCheck& launch, StreamName name) {
  Stream& stream = streams_[name.id];
  Ended end = launch.start_;
  if (launch.waited_) {
    end.add(launch.predecessor_);
    end.add(launch.predecessor_end_);
  }
  stream.last_start = launch.start_;
  done(name, launch.number, end);
  stream.last_end = stream.next;
  stream.last_is_launch = true, stream.last_lets_start = launch.lets_dependents_start;
  past_.add(launch.past_);
}

std::optional<Finding> Launches::operation(StreamName name, bool host_waits, const std::string& what,
                                           const std::vector<Range>& reads, const std::vector<Range>& writes_to) {
  const uint64_t number = next_++;
  const Ended start = start_of(name);
  std::optional<Finding> wrong;
  const auto ask = [&](const Range& range, bool writing) {
    if (past_.newest() < start.below) return;
    past_.for_each(range.begin, range.end, [&](const GlobalHistory::Known& known, uint64_t, uint64_t) {
      const auto against = [&](uint32_t which, bool wrote) {
        if (which == 0 || wrong || start.contains(past_[which].launch)) return;
        const PastAccess& before = past_[which];
        wrong = Finding{.rule = text_of(Rule::Launches).name,
                        .first = {.who = before.work, .at = before.at},
                        .second = {.who = "the host", .at = {what}},
                        .violation = !writing ? Violation::ReadsWritten
                                     : wrote  ? Violation::OverwritesWritten
                                              : Violation::OverwritesRead,
                        .missing = {.what = MissingLink::What::WaitForWork},
                        .count = 1};
      };
      against(known.write, true);
      if (!writing) return;
      for (const uint32_t reader : known.readers()) against(reader, false);
    });
  };
  for (const Range& range : reads) ask(range, false);
  for (const Range& range : writes_to) ask(range, true);
  done(name, number, start);
  streams_[name.id].last_is_launch = false;
  if (host_waits) {
    host_learns(streams_[name.id].next);
    return wrong;
  }
  const auto describe = [&](PastAccess& past) { past.at = {what}, past.work = in_stream(name); };
  for (const Range& range : reads)
    past_.read(range.begin, range.end, past_.trace({number, 0, 0, Role::Load, false, false, {}, 0, {}}, describe));
  for (const Range& range : writes_to)
    past_.write(range.begin, range.end, past_.trace({number, 0, 0, Role::Store, false, false, {}, 0, {}}, describe));
  return wrong;
}

void Launches::host_learns(const Ended& ended) {
  host_.add(ended);
  // All work that starts from now on knows what the host knows.
  if (past_.newest() < host_.below) past_.clear();
}

void Launches::wait_for(StreamName stream) { host_learns(streams_[stream.id].all); }

void Launches::wait_for_all() {
  Ended all;
  for (const auto& [id, stream] : streams_) all.add(stream.all);
  all.below = std::max(all.below, next_);
  host_learns(all);
}

Ended Launches::record(StreamName stream) {
  Ended all = streams_[stream.id].all;
  all.add(start_of(stream));
  return all;
}

void Launches::wait_for(const Ended& event) { host_learns(event); }

void Launches::wait_for(StreamName name, const Ended& event) {
  Stream& stream = streams_[name.id];
  stream.blocking = name.blocking;
  stream.next.add(event);
  stream.all.add(event);  // a wait for the stream includes the event
  stream.last_is_launch = false;
}

}  // namespace sim::order
