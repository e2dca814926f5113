#include "check/order/message.h"

#include <algorithm>

namespace sim::order {

void Message::add(const Signal& signal) {
  constexpr size_t kMost = 16;
  happened_ = happened_.join(signal.happened);
  flags_ = flags_.join(signal.flags);
  if (contributors_.size() < kMost) {
    contributors_.push_back({signal.from, signal.warp, signal.lanes, signal.site, signal.scope,
                             static_cast<bool>(signal.released), signal.unscoped});
  }
  if (!signal.released) return;
  for (Part& part : parts_) {
    if (part.unscoped != signal.unscoped) continue;
    if (!part.unscoped && (part.from.cta != signal.from.cta || part.scope != signal.scope)) continue;
    part.clock = part.clock.join(signal.released);
    return;
  }
  parts_.push_back({signal.from, signal.scope, signal.unscoped, signal.released});
}

void Message::add(const Message& other, Place place, Scope scope) {
  for (const Part& part : other.parts_) {
    if (part.unscoped || reaches(part.from, part.scope, place, scope)) parts_.push_back(part);
  }
}

Clock Message::acquired_by(const Clock& before, Place place, std::optional<Scope> scope) const {
  Clock after = before;
  bool all = happened_ ? parts_.size() == 1 && parts_[0].clock == happened_ : true;
  for (const Part& part : parts_) {
    if (part.unscoped || (scope && reaches(part.from, part.scope, place, *scope)))
      after = after.join(part.clock);
    else
      all = false;
  }
  return all ? after : after.join(happened_, kAllButVisible);
}

void Message::add(const Clock& addition) {
  happened_ = happened_.join(addition);
  for (Part& part : parts_) part.clock = part.clock.join(addition);
}

}  // namespace sim::order
