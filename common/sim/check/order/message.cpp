#include "check/order/message.h"

#include <algorithm>

namespace sim::order {

namespace {

constexpr size_t kMostContributors = 16;

}  // namespace

void Message::add(const Signal& signal) {
  gather();
  acquired_ = {};
  flags_ = flags_.join(signal.flags);
  aside_.add(signal.aside);
  if (contributors_.size() < kMostContributors) {
    contributors_.push_back({signal.from, signal.warp, signal.lanes, signal.pc, signal.scope,
                             static_cast<bool>(signal.released), signal.unscoped});
  }
  release(signal.from, signal.scope, signal.unscoped, signal.happened, signal.released);
}

void Message::add(Contributor contributor, const Clock& base, uint16_t warps, const std::vector<Clock::Update>& own) {
  if (!gathered_.own.empty() && (!(gathered_.base == base) || gathered_.from.cta != contributor.from.cta)) gather();
  acquired_ = {};
  if (contributors_.size() < kMostContributors) contributors_.push_back(contributor);
  gathered_.from = contributor.from, gathered_.base = base, gathered_.warps = warps;
  gathered_.own.insert(gathered_.own.end(), own.begin(), own.end());
}

void Message::gather() const {
  if (gathered_.own.empty()) return;
  const Clock all = gathered_.base.with(gathered_.from.cta, gathered_.warps, gathered_.own);
  gathered_.own.clear();
  release(gathered_.from, Scope::Cta, false, all, all);
}

/// Adds a contribution, of which `released` (if any) is released.
void Message::release(GridPosition from, Scope scope, bool unscoped, const Clock& happened,
                      const Clock& released) const {
  // If all contributors release, `happened` and `released` are the same clock.
  const bool are_same = released == happened && parts_.size() == 1 && parts_[0].clock == happened_;
  happened_ = happened_.join(happened);
  if (!released) return;
  for (Part& part : parts_) {
    if (part.unscoped != unscoped) continue;
    if (!part.unscoped && (part.from.cta != from.cta || part.scope != scope)) continue;
    part.clock = are_same ? happened_ : part.clock.join(released);
    return;
  }
  parts_.push_back({from, scope, unscoped, released});
}

void Message::add(const Message& other, GridPosition place, Scope scope) {
  gather();
  other.gather();
  aside_.add(other.aside_);
  acquired_ = {};
  for (const Part& part : other.parts_) {
    if (part.unscoped || reaches(part.from, part.scope, place, scope)) parts_.push_back(part);
  }
}

const Clock& Message::acquired_by(const Clock& before, GridPosition place, std::optional<Scope> scope) const {
  if (acquired_.after && acquired_.before == before && acquired_.cta == place.cta && acquired_.scope == scope)
    return acquired_.after;
  gather();
  Clock after = before;
  bool all = happened_ ? parts_.size() == 1 && parts_[0].clock == happened_ : true;
  for (const Part& part : parts_) {
    if (part.unscoped || (scope && reaches(part.from, part.scope, place, *scope)))
      after = after.join(part.clock);
    else
      all = false;
  }
  acquired_ = {before, all ? after : after.join(happened_, kAllButVisible), place.cta, scope};
  return acquired_.after;
}

Clock Message::out_of_scope(GridPosition place, Scope scope) const {
  gather();
  Clock result;
  for (const Part& part : parts_) {
    if (!part.unscoped && !reaches(part.from, part.scope, place, scope)) result = result.join(part.clock);
  }
  return result;
}

void Message::add(const Clock& addition) {
  gather();
  acquired_ = {};
  const bool are_same = parts_.size() == 1 && parts_[0].clock == happened_;
  happened_ = happened_.join(addition);
  for (Part& part : parts_) part.clock = are_same ? happened_ : part.clock.join(addition);
}

}  // namespace sim::order
