// The last writer of each location, and its readers since: flat pages of 16-byte cells, split into words on demand.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "check/order/access.h"

namespace sim::order {

/// Sets of accesses, for locations with more than one last writer (of different bytes) or several readers. A reference
/// to accesses is the number of an access, or this bit and the number of a set.
inline constexpr uint32_t kIsSet = 0x8000'0000u;

class Sets {
 public:
  /// The members behind a reference: one, several, or none if it is 0.
  std::span<const uint32_t> members(const uint32_t& reference) const;
  /// A reference to these members; they are sorted by age.
  uint32_t make(const std::vector<uint32_t>& members);

  void begin_marking() { marked_.assign(sets_.size(), false); }
  /// Marks the set of a reference. False if it was marked before.
  bool mark(uint32_t reference);
  void sweep();

 private:
  /// Sets are many and mostly small, so their members are stored consecutively in large blocks of memory. A free set is
  /// reused for the same number of members.
  static constexpr size_t kPiece = 1 << 14;
  std::vector<std::unique_ptr<uint32_t[]>> pieces_;
  std::span<uint32_t> room_;                 // the unused rest of the last block
  std::vector<std::span<uint32_t>> sets_;    // views of the blocks
  std::vector<bool> marked_;                 // by number of the set
  std::vector<std::vector<uint32_t>> free_;  // numbers of free sets, by their capacity
};

struct Cell {
  uint32_t write = 0, read = 0;
  bool operator==(const Cell&) const = default;
};

/// A value for each location in memory. A cell has two numbers, `write` and `read`, which are 0 if nothing is known.
template <class Cell>
class Pages {
 public:
  static constexpr uint64_t kCell = 16, kWord = 4;

  /// Calls f(cell, begin, bytes) for the parts of [begin, end): cells of 16 bytes, or words where a cell is split or
  /// only partly covered. The first and the last word may be partly covered, too; `bytes` counts the covered bytes.
  template <class F>
  void for_each(uint64_t begin, uint64_t end, F f) {
    for (uint64_t at = begin; at < end;) {
      const uint64_t cell_begin = at / kCell * kCell, stop = std::min(end, cell_begin + kCell);
      Cell& cell = find(cell_begin);
      if (at == cell_begin && stop == cell_begin + kCell && !is_split(cell)) {
        f(cell, at, static_cast<uint32_t>(kCell));
      } else {
        const uint32_t words = split(cell);
        for (uint64_t word = at / kWord * kWord; word < stop; word += kWord) {
          const uint64_t from = std::max(at, word), to = std::min(stop, word + kWord);
          f(words_[words][(word - cell_begin) / kWord], from, static_cast<uint32_t>(to - from));
        }
        unite(cell_begin);
      }
      at = stop;
    }
  }
  /// Calls f(cell, begin, bytes) for all memory that has been accessed.
  template <class F>
  void for_all(F f) const {
    for (const auto& [number, page] : pages_) visit(number, *page, f);
  }
  /// The same, by address.
  template <class F>
  void for_all_sorted(F f) const {
    std::vector<uint64_t> numbers;
    for (const auto& each : pages_) numbers.push_back(each.first);
    std::sort(numbers.begin(), numbers.end());
    for (const uint64_t number : numbers) visit(number, *pages_.at(number), f);
  }
  /// Calls f(cell, begin, end) for the parts of [begin, end) of which anything is known. The range is whole words.
  template <class F>
  void for_known(uint64_t begin, uint64_t end, F f) const {
    for (uint64_t at = begin; at < end;) {
      const uint64_t number = at / kCell / kCells, stop = std::min(end, (number + 1) * kCells * kCell);
      if (const auto found = pages_.find(number); found != pages_.end()) known_of(*found->second, at, stop, f);
      at = stop;
    }
  }
  /// Discards all that is known of these whole words.
  void forget(uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end;) {
      const uint64_t stop = std::min(end, (at / kCell / kCells + 1) * kCells * kCell);
      if (pages_.contains(at / kCell / kCells)) for_each(at, stop, [](Cell& cell, uint64_t, uint32_t) { cell = {}; });
      at = stop;
    }
  }
  void clear() {
    pages_.clear();
    words_.clear();
    free_words_.clear();
    last_ = nullptr;
  }
  size_t pages() const { return pages_.size(); }

 private:
  static constexpr size_t kCells = 256;
  static constexpr uint32_t kSplit = 0xFFFF'FFFFu;  // in `write`: `read` is an index into words_
  struct Page {
    std::array<Cell, kCells> cells;
    std::array<uint64_t, kCells / 64> touched{};  // a bit per cell
  };

  template <class F>
  void visit(uint64_t number, const Page& page, F f) const {
    for (size_t part = 0; part < page.touched.size(); ++part) {
      for (uint64_t rest = page.touched[part]; rest; rest &= rest - 1) {
        const size_t i = part * 64 + static_cast<size_t>(std::countr_zero(rest));
        const Cell& cell = page.cells[i];
        const uint64_t begin = (number * kCells + i) * kCell;
        if (is_split(cell)) {
          for (size_t word = 0; word < 4; ++word)
            f(words_[cell.read][word], begin + word * kWord, static_cast<uint32_t>(kWord));
        } else if (cell.write != 0 || cell.read != 0) {
          f(cell, begin, static_cast<uint32_t>(kCell));
        }
      }
    }
  }
  static bool is_split(const Cell& cell) { return cell.write == kSplit; }
  Cell& find(uint64_t address) {
    const uint64_t number = address / kCell / kCells;
    if (number != last_number_ || last_ == nullptr) {
      auto& page = pages_[number];
      if (!page) page = std::make_unique<Page>();
      last_ = page.get(), last_number_ = number;
    }
    const uint64_t cell = address / kCell % kCells;
    last_->touched[cell / 64] |= uint64_t{1} << cell % 64;
    return last_->cells[cell];
  }
  template <class F>
  void known_of(const Page& page, uint64_t begin, uint64_t end, F f) const {
    while (begin < end) {
      const uint64_t index = begin / kCell % kCells, stop = std::min(end, begin / kCell * kCell + kCell);
      const Cell& cell = page.cells[index];
      if (!is_split(cell)) {
        if (cell.write != 0 || cell.read != 0) f(cell, begin, stop);
      } else {
        for (uint64_t word = begin; word < stop; word += kWord)
          f(words_[cell.read][word % kCell / kWord], word, word + kWord);
      }
      begin = stop;
    }
  }
  uint32_t split(Cell& cell) {
    if (is_split(cell)) return cell.read;
    uint32_t index = 0;
    if (!free_words_.empty()) {
      index = free_words_.back();
      free_words_.pop_back();
    } else {
      index = static_cast<uint32_t>(words_.size());
      words_.emplace_back();
    }
    words_[index].fill(cell);
    cell.write = kSplit, cell.read = index;
    return index;
  }
  /// Merges four equal words into one cell again.
  void unite(uint64_t address) {
    Cell& cell = find(address);
    const auto& words = words_[cell.read];
    if (!(words[0] == words[1] && words[0] == words[2] && words[0] == words[3])) return;
    const uint32_t index = cell.read;
    cell = words[0];
    free_words_.push_back(index);
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  Page* last_ = nullptr;
  uint64_t last_number_ = 0;
  std::vector<std::array<Cell, 4>> words_;
  std::vector<uint32_t> free_words_;
};

/// The last accesses of a launch, or of a CTA.
using Shadow = Pages<Cell>;

}  // namespace sim::order
