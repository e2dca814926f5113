#include "check/order/thread.h"

#include <algorithm>
#include <bit>

namespace sim::order {

WarpKnowledge::WarpKnowledge(GridPosition where, uint16_t number, uint16_t count, Mask lanes)
    : place(where), index(number), warps(count), exists(lanes), live(lanes) {
  groups_.push_back({lanes, {}});
}

const Knowledge& WarpKnowledge::knowledge(int lane) const {
  for (const Group& group : groups_) {
    if (group.lanes >> lane & 1) return group.knows;
  }
  return groups_.front().knows;
}

void WarpKnowledge::isolate(Mask lanes) {
  const size_t count = groups_.size();
  for (size_t i = 0; i < count; ++i) {
    const Mask inside = groups_[i].lanes & lanes, outside = groups_[i].lanes & ~lanes;
    if (inside == 0 || outside == 0) continue;
    groups_[i].lanes = inside;
    groups_.push_back({outside, groups_[i].knows});
  }
}

void WarpKnowledge::unite() {
  for (size_t i = 0; i < groups_.size(); ++i) {
    for (size_t k = i + 1; k < groups_.size();) {
      if (groups_[i].knows.same(groups_[k].knows)) {
        groups_[i].lanes |= groups_[k].lanes;
        groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(k));
      } else {
        ++k;
      }
    }
  }
}

Tick WarpKnowledge::close(Mask lanes, uint32_t pc, SyncEvent::Kind kind, bool shared, bool global) {
  close();
  const SyncEvent event{kind, tick - 1, pc, lanes, shared, global};
  if (events_.size() < kEvents)
    events_.push_back(event);
  else
    events_[next_event_++ % kEvents] = event;
  return tick - 1;
}

std::vector<Clock::Update> WarpKnowledge::updates_of(const Self& self, Mask lanes) const {
  if (lanes == exists) lanes = kAll;  // lanes that do not exist add nothing
  std::vector<Clock::Update> updates{{index, lanes, self[0]}};
  for (size_t own = 1; own < kOwn; ++own) {
    if (rows[own] != 0 && self[own] != Entry{}) updates.push_back({rows[own], lanes, self[own]});
  }
  return updates;
}

Clock WarpKnowledge::with_self(const Clock& clock, const Self& self, Mask lanes) const {
  return clock.with(place.cta, warps, updates_of(self, lanes));
}

std::vector<Clock::Update> WarpKnowledge::own_updates() const {
  if (groups_.size() != 1) return {};
  Self self = groups_[0].knows.self;
  self[0] = later(self[0], entry(tick - 1, kDone));
  return updates_of(self, groups_[0].lanes);
}

Clock WarpKnowledge::published(Mask lanes, Fields own) const {
  Clock result;
  bool first = true;
  for (const Group& group : groups_) {
    const Mask inside = group.lanes & lanes;
    if (inside == 0) continue;
    Self self = group.knows.self;
    self[0] = later(self[0], entry(tick - 1, own));
    const Clock clock = with_self(group.knows.now, self, inside);
    result = first ? clock : result.join(clock);
    first = false;
  }
  return result;
}

Clock WarpKnowledge::released(const Fenced& fence, Mask lanes) const { return with_self(fence.now, fence.self, lanes); }

void WarpKnowledge::meet(Mask lanes, Fields fields, uint32_t pc) {
  lanes &= exists;
  if (groups_.size() == 1) {
    // Their knowledge of other warps is the same. Is there anything that they do not know of one another yet?
    const Knowledge& knows = groups_[0].knows;
    const Field field = fields >> kVisible & 1 ? kVisible : kHappened;
    const bool nothing_new = !acted_ && knows.now.known(place.cta, index, kAll, tick - 1, field) == kAll;
    if (nothing_new && (fields != kAllFields || knows.self == decltype(knows.self){})) return;
  }
  close(lanes, pc, SyncEvent::Kind::Meets);
  Clock all, flags;
  Aside aside;
  bool first = true;
  for (const Group& group : groups_) {
    if ((group.lanes & lanes) == 0) continue;
    const Clock clock = published(group.lanes & lanes);
    all = first ? clock : all.join(clock);
    flags = first ? group.knows.flags : flags.join(group.knows.flags);
    aside.add(group.knows.aside);
    first = false;
  }
  update(lanes, [&](Knowledge& knows, Mask) {
    knows.now = knows.now.join(all, fields);
    knows.flags = flags;
    knows.aside = aside;
    if (fields == kAllFields) knows.self = {};
  });
}

Tick WarpKnowledge::own_position(const Knowledge& knows, Own own, Mask lanes, Field field) const {
  const auto i = static_cast<size_t>(own);
  const uint16_t row = own == Own::Threads ? index : rows[i];
  Tick least = ~0u;
  for (Mask rest = lanes; rest; rest &= rest - 1)
    least = std::min(least, knows.now.of(place.cta, row, std::countr_zero(rest)).at[field]);
  return std::max(least, knows.self[i].at[field]);
}

void WarpKnowledge::rename_ways() {
  if (ways_ < 200) return;
  std::array<uint8_t, 256> renamed{};
  uint8_t next = 0;
  for (uint8_t& way : way_) {
    if (renamed[way] == 0) renamed[way] = ++next;
    way = renamed[way];
  }
  ways_ = next;
}

void WarpKnowledge::part(Mask lanes, uint32_t pc) {
  for (Mask rest = lanes & exists; rest; rest &= rest - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(rest));
    way_[lane] = ++ways_, parted_[lane] = pc;
  }
  rename_ways();
}

void WarpKnowledge::part(Mask some, Mask others, uint32_t pc) {
  // Each path that has lanes on both sides is split.
  std::array<uint8_t, 256> fresh{};
  std::array<bool, 256> is_shared{};
  for (Mask rest = others & exists; rest; rest &= rest - 1)
    is_shared[way_[static_cast<size_t>(std::countr_zero(rest))]] = true;
  for (Mask rest = some & exists; rest; rest &= rest - 1) {
    uint8_t& way = way_[static_cast<size_t>(std::countr_zero(rest))];
    if (!is_shared[way]) continue;
    if (fresh[way] == 0) fresh[way] = ++ways_;
    way = fresh[way];
    parted_[static_cast<size_t>(std::countr_zero(rest))] = pc;
  }
  rename_ways();
}

void WarpKnowledge::converge(Mask lanes) {
  if (together(lanes)) return;
  ++ways_;
  for (Mask rest = lanes & exists; rest; rest &= rest - 1) way_[static_cast<size_t>(std::countr_zero(rest))] = ways_;
  rename_ways();
}

uint32_t WarpKnowledge::parted_at(Mask lanes) const {
  lanes &= exists;
  const auto way_of = [&](int lane) { return way_[static_cast<size_t>(lane)]; };
  const auto first = std::countr_zero(lanes);
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (way_of(lane) == way_of(first)) continue;
    // The path that parted later is the one that left.
    const uint32_t one = parted_[static_cast<size_t>(lane)], other = parted_[static_cast<size_t>(first)];
    return (way_of(lane) > way_of(first) && one != 0) || other == 0 ? one : other;
  }
  return 0;
}

bool WarpKnowledge::together(Mask lanes) const {
  lanes &= exists;
  if (lanes == 0) return true;
  const uint8_t way = way_[static_cast<size_t>(std::countr_zero(lanes))];
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    if (way_[static_cast<size_t>(std::countr_zero(rest))] != way) return false;
  }
  return true;
}

}  // namespace sim::order
