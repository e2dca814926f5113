#include "check/order/clock.h"

#include <algorithm>

namespace sim::order {
namespace {

Entry mask_of(Fields fields) {
  Entry mask;
  for (size_t i = 0; i < Entry::kTicks; ++i) mask.at[i] = fields >> i & 1 ? ~0u : 0u;
  return mask;
}

/// The maximum of both in each sense; of `b` only the senses of the mask.
Entry greater(const Entry& a, const Entry& b, const Entry& mask) {
  Entry result;
  for (size_t i = 0; i < Entry::kTicks; ++i) result.at[i] = std::max(a.at[i], b.at[i] & mask.at[i]);
  return result;
}

/// What a block knows of one lane of a row.
Entry lane_entry(const Block& block, uint16_t row, Mask lane) {
  for (const Block::Lanes& each : block.lanes) {
    if (each.row == row && each.lanes & lane) return each.entry;
  }
  return row < block.rows.size() ? block.rows[row] : Entry{};
}

/// Sets `row` of `block` to the maximum over the lanes' entries; `ranges` are sets of lanes that may differ from the
/// row.
template <class Of>
void join_row(Block& block, uint16_t row, std::vector<Mask>& ranges, Of of) {
  // Overlapping sets are split until none overlap.
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (size_t k = i + 1; k < ranges.size(); ++k) {
      const Mask both = ranges[i] & ranges[k];
      if (both == 0) continue;
      if (both != ranges[i]) {
        ranges.push_back(ranges[i] & ~both);
        ranges[i] = both;
      }
      ranges[k] &= ~both;
    }
  }
  const size_t first = block.lanes.size();
  for (const Mask lanes : ranges) {
    if (lanes == 0) continue;
    const Entry entry = of(lanes & -lanes);
    if (entry == block.rows[row]) continue;
    const auto same = std::find_if(block.lanes.begin() + static_cast<ptrdiff_t>(first), block.lanes.end(),
                                   [&](const Block::Lanes& each) { return each.entry == entry; });
    if (same != block.lanes.end())
      same->lanes |= lanes;
    else
      block.lanes.push_back({row, lanes, entry});
  }
  std::sort(block.lanes.begin() + static_cast<ptrdiff_t>(first), block.lanes.end(),
            [](const Block::Lanes& a, const Block::Lanes& b) { return a.lanes < b.lanes; });
  if (block.lanes.size() == first + 1 && block.lanes[first].lanes == kAll) {
    block.rows[row] = block.lanes[first].entry;
    block.lanes.pop_back();
  }
}

/// Whether the rows of `a` are known at least as far as those of `b`, in the senses of the mask.
bool covers(const std::vector<Entry>& a, const std::vector<Entry>& b, const Entry& mask) {
  if (a.size() < b.size()) return false;
  for (size_t row = 0; row < b.size(); ++row) {
    if (greater(a[row], b[row], mask) != a[row]) return false;
  }
  return true;
}

Ref<const Block> join_blocks(const Ref<const Block>& a, const Ref<const Block>& b, Fields fields) {
  if (a == b) return a;
  const Entry taken = mask_of(fields);
  // Most often one of the two contains the other.
  if (a->lanes == b->lanes) {
    if (covers(a->rows, b->rows, taken)) return a;
    if (fields == kAllFields && covers(b->rows, a->rows, taken)) return b;
  }
  Block result;
  result.warps = a->warps;
  const size_t size = std::max(a->rows.size(), b->rows.size()), common = std::min(a->rows.size(), b->rows.size());
  result.rows.resize(size);
  for (size_t i = 0; i < common; ++i) result.rows[i] = greater(a->rows[i], b->rows[i], taken);
  for (size_t i = common; i < a->rows.size(); ++i) result.rows[i] = a->rows[i];
  for (size_t i = common; i < b->rows.size(); ++i) result.rows[i] = greater({}, b->rows[i], taken);
  // Lanes that differ from their row in one of the two blocks.
  size_t i = 0, k = 0;
  std::vector<Mask> ranges;
  while (i < a->lanes.size() || k < b->lanes.size()) {
    const uint16_t row = i >= a->lanes.size()   ? b->lanes[k].row
                         : k >= b->lanes.size() ? a->lanes[i].row
                                                : std::min(a->lanes[i].row, b->lanes[k].row);
    ranges.clear();
    for (; i < a->lanes.size() && a->lanes[i].row == row; ++i) ranges.push_back(a->lanes[i].lanes);
    for (; k < b->lanes.size() && b->lanes[k].row == row; ++k) ranges.push_back(b->lanes[k].lanes);
    join_row(result, row, ranges,
             [&](Mask lane) { return greater(lane_entry(*a, row, lane), lane_entry(*b, row, lane), taken); });
  }
  if (result == *a) return a;
  if (fields == kAllFields && result == *b) return b;
  return Ref<const Block>(new Block(std::move(result)));
}

}  // namespace

Entry entry(Tick position, Fields fields) {
  Entry result;
  for (size_t i = 0; i < kFields; ++i) result.at[i] = fields >> i & 1 ? position : 0;
  return result;
}

Entry later(const Entry& a, const Entry& b, Fields fields) { return greater(a, b, mask_of(fields)); }

bool Ended::contains(uint64_t number) const {
  return number < below || std::binary_search(others.begin(), others.end(), number);
}

void Ended::add(uint64_t number) {
  if (contains(number)) return;
  others.insert(std::lower_bound(others.begin(), others.end(), number), number);
  while (!others.empty() && others.front() <= below) {
    below = std::max(below, others.front() + 1);
    others.erase(others.begin());
  }
}

void Ended::add(const Ended& other) {
  below = std::max(below, other.below);
  std::erase_if(others, [&](uint64_t number) { return number < below; });
  for (const uint64_t number : other.others) add(number);
}

const Block* Clock::find(uint32_t cta) const {
  if (!data_) return nullptr;
  const auto& blocks = data_->blocks;
  const auto found = std::lower_bound(blocks.begin(), blocks.end(), cta,
                                      [](const auto& each, uint32_t number) { return each.first < number; });
  return found != blocks.end() && found->first == cta ? found->second.get() : nullptr;
}

Clock Clock::with(uint32_t cta, uint16_t warps, const std::vector<Update>& updates) const {
  const Block* const before = find(cta);
  auto* block = before != nullptr ? new Block(*before) : new Block;
  block->references = 0;
  block->warps = warps;
  for (const Update& update : updates) {
    if (block->rows.size() <= update.row) block->rows.resize(update.row + 1u);
    if (update.lanes == kAll) {
      block->rows[update.row] = later(block->rows[update.row], update.entry);
      // Lanes that are known further than this remain.
      std::erase_if(block->lanes, [&](Block::Lanes& each) {
        if (each.row != update.row) return false;
        each.entry = later(each.entry, update.entry);
        return each.entry == block->rows[update.row];
      });
      continue;
    }
    const Block old = *block;
    std::erase_if(block->lanes, [&](const Block::Lanes& each) { return each.row >= update.row; });
    std::vector<Mask> ranges{update.lanes};
    for (const Block::Lanes& each : old.lanes) {
      if (each.row == update.row) ranges.push_back(each.lanes);
    }
    join_row(*block, update.row, ranges, [&](Mask lane) {
      const Entry known = lane_entry(old, update.row, lane);
      return lane & update.lanes ? later(known, update.entry) : known;
    });
    for (const Block::Lanes& each : old.lanes) {
      if (each.row > update.row) block->lanes.push_back(each);
    }
  }
  const Ref<const Block> fresh(block);
  auto* data = data_ ? new Data(*data_) : new Data;
  data->references = 0;
  const auto at = std::lower_bound(data->blocks.begin(), data->blocks.end(), cta,
                                   [](const auto& each, uint32_t number) { return each.first < number; });
  if (at != data->blocks.end() && at->first == cta)
    at->second = fresh;
  else
    data->blocks.insert(at, {cta, fresh});
  Clock result;
  result.data_ = Ref<const Data>(data);
  return result;
}

Clock Clock::join(const Clock& other, Fields fields) const {
  if (!other.data_ || data_ == other.data_) return *this;
  if (!data_ && fields == kAllFields) return other;
  static const Data nothing;
  const Data &a = data_ ? *data_ : nothing, &b = *other.data_;
  auto* data = new Data;
  Clock result;
  result.data_ = Ref<const Data>(data);
  data->blocks.reserve(std::max(a.blocks.size(), b.blocks.size()));
  size_t i = 0, k = 0;
  bool is_a = true, is_b = fields == kAllFields;
  while (i < a.blocks.size() || k < b.blocks.size()) {
    if (k >= b.blocks.size() || (i < a.blocks.size() && a.blocks[i].first < b.blocks[k].first)) {
      data->blocks.push_back(a.blocks[i++]);
      is_b = false;
    } else if (i >= a.blocks.size() || b.blocks[k].first < a.blocks[i].first) {
      if (fields == kAllFields) {
        data->blocks.push_back(b.blocks[k]);
      } else {
        auto* block = new Block;
        block->warps = b.blocks[k].second->warps;
        data->blocks.emplace_back(b.blocks[k].first, join_blocks(Ref<const Block>(block), b.blocks[k].second, fields));
      }
      ++k;
      is_a = false;
    } else {
      data->blocks.emplace_back(a.blocks[i].first, join_blocks(a.blocks[i].second, b.blocks[k].second, fields));
      is_a &= data->blocks.back().second == a.blocks[i].second;
      is_b &= data->blocks.back().second == b.blocks[k].second;
      ++i, ++k;
    }
  }
  if (a.ended == b.ended || !b.ended) {
    data->ended = a.ended;
    is_b &= a.ended == b.ended;
  } else if (!a.ended) {
    data->ended = b.ended;
    is_a = false;
  } else {
    auto* ended = new Ended(*a.ended);
    ended->references = 0;
    data->ended = Ref<const Ended>(ended);
    ended->add(*b.ended);
    is_a &= ended->below == a.ended->below && ended->others == a.ended->others;
    is_b &= ended->below == b.ended->below && ended->others == b.ended->others;
  }
  if (is_a && data_) return *this;
  if (is_b) return other;
  return result;
}

Clock Clock::channels() const {
  if (!data_) return {};
  auto* data = new Data;
  Clock result;
  result.data_ = Ref<const Data>(data);
  data->ended = data_->ended;
  const auto passed = [](const Entry& entry) {
    Entry result;
    result.at[kPassed] = std::max(entry.at[kPassed], entry.at[kHappened]);
    result.at[kFollowed] = std::max(entry.at[kFollowed], entry.at[kHappened]);
    return result;
  };
  for (const auto& [cta, block] : data_->blocks) {
    auto* rest = new Block(*block);
    rest->references = 0;
    for (size_t row = 0; row < std::min<size_t>(rest->rows.size(), rest->warps); ++row)
      rest->rows[row] = passed(rest->rows[row]);
    for (Block::Lanes& each : rest->lanes) {
      if (each.row < rest->warps) each.entry = passed(each.entry);
    }
    data->blocks.emplace_back(cta, Ref<const Block>(rest));
  }
  return result;
}

Clock Clock::fenced(Fields readers) const {
  if (!data_) return {};
  const auto raise = [readers](Entry& entry) {
    bool higher = false;
    for (const Field field : {kReaderShared, kReaderGlobal}) {
      if (!(readers >> field & 1) || entry.at[field] >= entry.at[kVisible]) continue;
      entry.at[field] = entry.at[kVisible];
      higher = true;
    }
    return higher;
  };
  auto* data = new Data;
  Clock result;
  result.data_ = Ref<const Data>(data);
  data->ended = data_->ended;
  bool any = false;
  for (const auto& [cta, block] : data_->blocks) {
    Block copy = *block;
    copy.references = 0;
    bool here = false;
    for (Entry& entry : copy.rows) here |= raise(entry);
    for (Block::Lanes& lanes : copy.lanes) here |= raise(lanes.entry);
    data->blocks.emplace_back(cta, here ? Ref<const Block>(new Block(std::move(copy))) : block);
    any |= here;
  }
  return any ? result : *this;
}

Clock Clock::with_ended(Ref<const Ended> ended) const {
  auto* data = data_ ? new Data(*data_) : new Data;
  data->references = 0;
  data->ended = std::move(ended);
  Clock result;
  result.data_ = Ref<const Data>(data);
  return result;
}

Mask Clock::known(uint32_t cta, uint16_t row, Mask lanes, Tick position, Field field) const {
  const Block* const block = find(cta);
  if (block == nullptr) return 0;
  if (row < block->rows.size() && block->rows[row].at[field] >= position) return lanes;
  Mask result = 0;
  for (const Block::Lanes& each : block->lanes) {
    if (each.row == row && each.entry.at[field] >= position) result |= each.lanes;
  }
  return result & lanes;
}

bool Clock::knows(uint32_t cta) const {
  const Block* const block = find(cta);
  if (block == nullptr) return false;
  const auto happened = [](const auto& each) { return each.at[kHappened] != 0; };
  return std::any_of(block->rows.begin(), block->rows.end(), happened) ||
         std::any_of(block->lanes.begin(), block->lanes.end(),
                     [&](const Block::Lanes& each) { return happened(each.entry); });
}

Entry Clock::of(uint32_t cta, uint16_t row, int lane) const {
  const Block* const block = find(cta);
  return block == nullptr ? Entry{} : lane_entry(*block, row, 1u << lane);
}

bool Clock::ended(uint64_t launch) const { return data_ && data_->ended && data_->ended->contains(launch); }

const Ended* Clock::ended() const { return data_ ? data_->ended.get() : nullptr; }

}  // namespace sim::order
