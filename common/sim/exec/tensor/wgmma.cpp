// wgmma: the fourth-generation tensor core (Hopper). The four warps of a warpgroup execute the same sequence of
// instructions, each at its own time. Each multiplies its own 16 rows when it has issued the instruction, in its order,
// independently of the others: the ISA promises no more. Hardware, and the default schedule, wait until all four have
// issued it, and complete it for the four at once (Launch::warpgroups_as_one).
#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "exec/core/families.h"
#include "exec/core/pending.h"
#include "exec/core/submit.h"
#include "exec/tensor/descriptor.h"
#include "exec/tensor/metadata.h"
#include "exec/tensor/types.h"

namespace sim {

namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

/// wgmma.mma_async
struct WgmmaOperands {
  int n = 0;
  Format a_format = Format::F16, b_format = Format::F16;
  tensor::ResultFormat result = tensor::ResultFormat::F32;
  std::vector<int32_t> accumulators;                   ///< slots; two values each if the result is F16
  std::vector<Slot> written;                           ///< the same, as pending registers
  int32_t a = -1, b = -1;                              ///< slots of descriptors
  std::array<int32_t, 4> a_registers{-1, -1, -1, -1};  ///< slots, instead of a descriptor
  std::vector<Slot> a_slots;                           ///< the same
  bool a_in_registers = false;
  PredicateOperand accumulate{};  ///< scale-d
  bool negate_a = false, negate_b = false, transpose_a = false, transpose_b = false;
  bool saturates = false;  ///< of integers
  bool are_bits = false;   ///< elements of one bit: .and.popc
  bool is_sparse = false;  ///< A's rows are stored as 32 bytes, B's columns have 64
  tensor::MetadataLayout layout;
  int32_t metadata = -1;  ///< slot

  bool is_fp8() const { return a_format == Format::E4M3 || a_format == Format::E5M2; }
  int stored_k() const { return are_bits ? 256 : tensor::instruction_k(a_format); }
  int k() const { return is_sparse ? 2 * stored_k() : stored_k(); }
  /// The tiles of the descriptors of A and B.
  tensor::Descriptor tile_a(uint64_t descriptor) const {
    tensor::Descriptor tile = tensor::decode_wgmma(descriptor, "A");
    tile.mn_major = transpose_a, tile.element = tensor::element_bytes(a_format);
    return tile;
  }
  tensor::Descriptor tile_b(uint64_t descriptor) const {
    tensor::Descriptor tile = tensor::decode_wgmma(descriptor, "B");
    tile.mn_major = transpose_b, tile.element = tensor::element_bytes(b_format);
    return tile;
  }
  /// For a sparse wgmma: with the other 32 bytes of K.
  tensor::Descriptor tile_b_behind(uint64_t descriptor) const {
    tensor::Descriptor tile = tile_b(descriptor);
    tile.k_offset = 32;
    return tile;
  }
  uint64_t multiply_adds() const { return 64ull * static_cast<uint64_t>(n) * static_cast<uint64_t>(stored_k()); }
};

/// The wgmma operations of a warpgroup, in order.
struct WgmmaQueue final : Cta::Warpgroup {
  struct Entry {
    const WgmmaOperands* operands = nullptr;  // of the wgmma; nullptr: a commit_group
    uint64_t a = 0, b = 0;                    // descriptors
    bool accumulate = false;
    uint32_t issued = 0;                // bit per warp
    uint32_t done = 0;                  // bit per warp that has multiplied, if each multiplies by itself
    std::array<uint32_t, 4> pending{};  // numbers of the warps' pending registers
    struct Values {
      std::array<std::array<std::array<uint32_t, 32>, 4>, 4> a;  // [warp][register][lane]
      std::array<std::array<uint32_t, 32>, 4> metadata;          // [warp][lane]
    };
    std::unique_ptr<Values> registers;  // registers that it reads; null: none
    std::array<uint32_t, 4> stale{};    // by warp: a bit for each register of A that has been overwritten since
    /// What it reads of shared memory: listed once, when a store first asks, for every lane of every store does.
    struct Reads {
      std::array<std::vector<Range>, 4> a;  // by warp
      std::vector<Range> b;
      Range bounds{~uint64_t{0}, 0};  // of all of them
    };
    std::unique_ptr<Reads> reads;
    Origin origin;
  };
  std::deque<std::shared_ptr<Entry>> entries;  // not yet issued by all four warps
  std::vector<std::shared_ptr<Entry>> torn;    // multiplied by some of the warps, and not yet by all
  uint64_t first = 0;                          // number of entries[0]
  std::array<uint64_t, 4> next{};              // number of each warp's next entry
  std::array<uint64_t, 4> groups{};            // committed, by warp
  std::array<uint64_t, 4> groups_done{};
  std::array<OrderQueue, 4> order;  // by warp; the first one if they complete as one

  void check_have_read(size_t first_warp, uint32_t offset, uint32_t bytes, const char* what, int by) override;
};

WgmmaQueue& queue_of(const Cta& cta, size_t group) { return static_cast<WgmmaQueue&>(*cta.warpgroups[group]); }

WgmmaQueue& group_of(Warp& w) {
  Cta& cta = *w.cta;
  const size_t index = w.index / 4;
  if (cta.warpgroups.size() <= index) cta.warpgroups.resize(index + 1);
  if (!cta.warpgroups[index]) cta.warpgroups[index] = std::make_shared<WgmmaQueue>();
  if ((index + 1) * 4 > cta.warps.size()) { throw Fault{faults::incomplete_warpgroup, {w.index, cta.warps.size()}}; }
  return queue_of(cta, index);
}

Fault as_habit(Habit habit, Fault fault) {
  fault.habit = habit;
  return fault;
}

void require_wgmma(Warp& w) {
  if (!cluster_of(w).launch->gpu->has_wgmma) { throw Fault{faults::no_wgmma, {cluster_of(w).launch->gpu->name}}; }
}

/// The warps of a warpgroup that an operation covers: one, or all of them.
struct Share {
  size_t first = 0, count = 4;
};

class GroupCommit final : public AsyncOperation {
 public:
  Cta* cta;
  size_t group;
  Share share;
  void complete(Cluster& cluster) override {
    WgmmaQueue& warpgroup = queue_of(*cta, group);
    ++cluster.changes;
    for (size_t i = share.first; i < share.first + share.count; ++i) {
      ++warpgroup.groups_done[i];
      Warp& warp = cta->warps[4 * group + i];
      for_waiting(warp, Wait::WgmmaGroup, [&](uint8_t split) {
        const uint32_t pending = warp.splits[split].arguments[0];
        if (warpgroup.groups[i] - warpgroup.groups_done[i] > pending) return;
        const Split& waiting = warp.splits[split];
        cluster.watchers.tell(
            WaitEvent{WaitEvent::What::Wakes, Wait::WgmmaGroup, warp, waiting.mask, waiting.pc, {}, pending});
        resume(warp, split, 0);
      });
    }
  }
  OperationUnit unit() const override { return OperationUnit::TensorCoreOfWarpgroup; }
  std::string describe() const override { return "wgmma.commit_group"; }
};

class Wgmma final : public AsyncOperation {
 public:
  Cta* cta;
  size_t group;
  Share share;
  std::shared_ptr<WgmmaQueue::Entry> entry;

  bool try_fuse(Cluster& cluster, AsyncOperation& next) override {
    auto* const other = dynamic_cast<Wgmma*>(&next);
    if (other == nullptr || is_done_ || along_.size() + 1 == tensor::kMaxSteps) return false;
    const WgmmaOperands &mine = operands(), &theirs = other->operands();
    if (!cluster.exact_arithmetic_is_over() || mine.result == tensor::ResultFormat::S32 || mine.is_sparse) return false;
    if (theirs.n != mine.n || theirs.a_format != mine.a_format || theirs.b_format != mine.b_format ||
        theirs.result != mine.result || theirs.accumulators != mine.accumulators || !other->entry->accumulate)
      return false;
    for (size_t warp = share.first; warp < share.first + share.count; ++warp) {
      if (has_moves(cta->warps[4 * group + warp])) return false;
    }
    along_.push_back(other);
    return other->is_done_ = true;
  }

  void complete(Cluster& cluster) override {
    if (!cluster.launch->moves_data) {
      for (size_t warp = 0; warp < 4; ++warp) complete_pending(cta->warps[4 * group + warp], entry->pending[warp]);
      ++cluster.changes;
      return;
    }
    const uint64_t multiply_adds = operands().multiply_adds() / 4 * share.count;
    const bool is_exact = cluster.exact_arithmetic(multiply_adds);
    take_overwritten();
    if (share.count == 1) note_done(queue_of(*cta, group));
    if (!is_done_) multiply(is_exact);
    for (size_t warp = share.first; warp < share.first + share.count; ++warp)
      complete_pending(cta->warps[4 * group + warp], entry->pending[warp]);
    ++cluster.changes;
    tensor::count_multiply_adds(cluster, multiply_adds);
  }
  const WgmmaOperands& operands() const { return *entry->operands; }
  OperationUnit unit() const override { return OperationUnit::TensorCoreOfWarpgroup; }
  std::string describe() const override { return "wgmma m64n" + std::to_string(operands().n); }
  Footprint footprint() const override {
    using Space = Footprint::Place::Space;
    const WgmmaOperands& o = operands();
    Footprint used{.bytes = 32ull * static_cast<uint64_t>(o.n * (o.is_sparse ? 2 : 1) + (o.a_in_registers ? 0 : 64))};
    used.overwrites = !entry->accumulate;
    if (!o.a_in_registers) used.descriptors.push_back(entry->a);
    used.descriptors.push_back(entry->b);
    const tensor::Descriptor b = tensor::decode_wgmma(entry->b, "B");
    if (!o.a_in_registers) {
      const tensor::Descriptor a = tensor::decode_wgmma(entry->a, "A");
      used.places.push_back({Space::Shared, false, cta->rank, a.start, tensor::extent(a, 64)});
    }
    used.places.push_back({Space::Shared, false, cta->rank, b.start, tensor::extent(b, o.n)});
    used.places.push_back({Space::Registers, true, cta->rank, static_cast<uint32_t>(4 * group), 4});
    return used;
  }

 private:
  void note_done(WgmmaQueue& warpgroup) const {
    const bool is_first = entry->done == 0;
    entry->done |= 1u << share.first;
    if (is_first)
      warpgroup.torn.push_back(entry);
    else if (entry->done == 0xF)
      std::erase(warpgroup.torn, entry);
  }

  /// Of registers of A that the program has overwritten too early, the new values are read.
  void take_overwritten() {
    for (size_t warp = share.first; warp < share.first + share.count; ++warp) {
      for (uint32_t rest = entry->stale[warp]; rest; rest &= rest - 1) {
        const auto i = static_cast<size_t>(std::countr_zero(rest));
        auto& to = entry->registers->a[warp][i];
        std::memcpy(to.data(), lanes<uint32_t>(cta->warps[4 * group + warp], operands().a_registers[i]), sizeof to);
      }
    }
  }

  void multiply(bool is_exact) {
    const WgmmaOperands& o = operands();
    if (o.is_sparse) return multiply_sparse(is_exact);
    if (o.are_bits) return multiply_bits();
    std::array<const Wgmma*, tensor::kMaxSteps> steps{this};
    std::copy(along_.begin(), along_.end(), steps.begin() + 1);
    tensor::Arithmetic how{.exact = is_exact,
                           .k = o.k(),
                           .result = o.result,
                           .pairs = !is_exact && tensor::multiplies_pairs(o.a_format, o.b_format, o.result),
                           .steps = 1 + static_cast<int>(along_.size()),
                           .pitch = o.n / 4};
    if (o.is_fp8()) how.fraction_bits = 13;

    static thread_local std::array<tensor::QuadTile, 64 * tensor::kMaxSteps> b_tiles;
    for (const Wgmma* const step : std::span(steps).first(static_cast<size_t>(how.steps)))
      tensor::check_tile(*cta, step->operands().tile_b(step->entry->b), o.n, "B");
    // A few columns at a time, so that successive steps share lines of the host's cache.
    constexpr int kColumns = 64;
    for (int first = 0; first < o.n; first += kColumns) {
      for (int step = 0; step < how.steps; ++step) {
        steps[static_cast<size_t>(step)]->pack_b(how, first, std::min(kColumns, o.n - first),
                                                 &b_tiles[static_cast<size_t>(step * how.pitch + first / 4)]);
      }
    }
    for (size_t warp = share.first; warp < share.first + share.count; ++warp) {
      tensor::LaneTile a_tiles[2 * tensor::kMaxSteps];
      for (int step = 0; step < how.steps; ++step)
        steps[static_cast<size_t>(step)]->pack_a(how, warp, &a_tiles[2 * step]);
      multiply_fragments(cta->warps[4 * group + warp], [&](uint32_t* const* accumulators) {
        tensor::kernels().fragments(how, a_tiles, b_tiles.data(), accumulators, o.n / 8, adds());
      });
    }
  }

  void multiply_sparse(bool is_exact) {
    const WgmmaOperands& o = operands();
    tensor::Arithmetic how{.exact = is_exact, .k = o.k(), .result = o.result};
    if (o.is_fp8()) how.fraction_bits = 13;
    std::array<tensor::Row, 256> rows[2];
    for (const bool behind : {false, true}) {
      const tensor::Descriptor b = behind ? o.tile_b_behind(entry->b) : o.tile_b(entry->b);
      tensor::check_tile(*cta, b, o.n, "B");
      tensor::read_rows(*cta, b, 0, o.n, rows[behind].data());
    }
    static thread_local std::array<tensor::DeepQuadTile, 64> b_tiles;
    tensor::pack_deep_quads({.format = o.b_format, .k = how.k, .negate = o.negate_b}, rows[0].data(), rows[1].data(),
                            o.n, b_tiles.data());
    // Fast arithmetic also multiplies by the zeros between A's elements.
    how.exact |= tensor::has_specials(b_tiles.data(), o.n / 4, how.k);
    const tensor::Arithmetic stored{.exact = true, .k = o.stored_k()};
    for (size_t warp = share.first; warp < share.first + share.count; ++warp) {
      tensor::LaneTile a_stored[2];
      pack_a(stored, warp, a_stored);
      const tensor::Nibbles nibbles = tensor::read_metadata(o.layout, entry->registers->metadata[warp].data());
      tensor::DeepLaneTile a_tiles[2];
      for (size_t h = 0; h < 2; ++h) tensor::spread_lanes(o.a_format, how.k, nibbles, 8 * h, a_stored[h], &a_tiles[h]);
      multiply_fragments(cta->warps[4 * group + warp], [&](uint32_t* const* accumulators) {
        tensor::kernels().deep_fragments(how, a_tiles, b_tiles.data(), accumulators, o.n / 8, adds());
      });
    }
  }

  /// D = the number of positions along K in which a row of A and a column of B both have a one.
  void multiply_bits() const {
    const WgmmaOperands& o = operands();
    const tensor::Descriptor b = o.tile_b(entry->b);
    tensor::check_tile(*cta, b, o.n, "B");
    std::array<tensor::Row, 256> columns;
    tensor::read_rows(*cta, b, 0, o.n, columns.data());
    for (size_t warp = share.first; warp < share.first + share.count; ++warp) {
      std::array<tensor::Row, 8> rows[2];
      for (int h = 0; h < 2; ++h) read_a(warp, h, rows[h].data());
      multiply_fragments(cta->warps[4 * group + warp], [&](uint32_t* const* accumulators) {
        for (size_t i = 0; i < o.accumulators.size(); ++i) {
          for (size_t lane = 0; lane < 32; ++lane) {
            const tensor::Row &row = rows[i / 2 % 2][lane / 4], &column = columns[8 * (i / 4) + 2 * (lane % 4) + i % 2];
            uint32_t sum = adds() ? accumulators[i][lane] : 0;
            for (size_t k = 0; k < row.size(); ++k)
              sum += static_cast<uint32_t>(std::popcount(static_cast<uint8_t>(row[k] & column[k])));
            accumulators[i][lane] = sum;
          }
        }
      });
    }
  }

  void pack_b(const tensor::Arithmetic& how, int first, int count, tensor::QuadTile* tiles) const {
    const WgmmaOperands& o = operands();
    std::array<tensor::Row, 256> rows;
    tensor::read_rows(*cta, o.tile_b(entry->b), first, count, rows.data());
    tensor::kernels().pack_quads(tensor::packing_for(how, o.b_format, o.negate_b), rows.data(), count, tiles);
  }

  void pack_a(const tensor::Arithmetic& how, size_t warp, tensor::LaneTile* tiles) const {
    const WgmmaOperands& o = operands();
    for (int h = 0; h < 2; ++h) {
      std::array<tensor::Row, 8> rows;
      read_a(warp, h, rows.data());
      tensor::kernels().pack_lanes(tensor::packing_for(how, o.a_format, o.negate_a), rows.data(), 4, &tiles[h]);
    }
  }

  /// Rows 8 h to 8 h + 7 of those that belong to a warp.
  void read_a(size_t warp, int h, tensor::Row* rows) const {
    const WgmmaOperands& o = operands();
    if (o.a_in_registers) return register_rows(warp, h, rows);
    const tensor::Descriptor a = o.tile_a(entry->a);
    if (h == 0 && warp == share.first) tensor::check_tile(*cta, a, 64, "A");
    tensor::read_rows(*cta, a, static_cast<int>(warp) * 16 + 8 * h, 8, rows);
  }

  /// Whether products are added directly to the accumulators. Saturating sums are added at the end.
  bool adds() const { return entry->accumulate && !operands().saturates; }

  /// Calls multiply(accumulators), with a cell of its own for each F16 accumulator.
  template <class F>
  void multiply_fragments(Warp& target, F multiply) const {
    const WgmmaOperands& o = operands();
    const size_t registers = o.accumulators.size();
    uint32_t* accumulators[128];
    if (o.result != tensor::ResultFormat::F16) {
      for (size_t i = 0; i < registers; ++i) accumulators[i] = lanes<uint32_t>(target, o.accumulators[i]);
      if (!o.saturates || !entry->accumulate) return multiply(accumulators);
      std::array<std::array<int32_t, 32>, 128> before;
      for (size_t i = 0; i < registers; ++i) std::memcpy(before[i].data(), accumulators[i], sizeof before[i]);
      multiply(accumulators);
      for (size_t i = 0; i < registers; ++i) {
        for (size_t lane = 0; lane < 32; ++lane) {
          const int64_t sum = int64_t{before[i][lane]} + static_cast<int32_t>(accumulators[i][lane]);
          accumulators[i][lane] = static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
        }
      }
      return;
    }
    alignas(64) std::array<std::array<uint32_t, 32>, 128> halves;
    for (size_t i = 0; i < registers; ++i) {
      const auto* packed = lanes<uint32_t>(target, o.accumulators[i]);
      for (size_t l = 0; l < 32; ++l) halves[2 * i][l] = packed[l] & 0xFFFF, halves[2 * i + 1][l] = packed[l] >> 16;
      accumulators[2 * i] = halves[2 * i].data(), accumulators[2 * i + 1] = halves[2 * i + 1].data();
    }
    multiply(accumulators);
    for (size_t i = 0; i < registers; ++i) {
      auto* packed = lanes<uint32_t>(target, o.accumulators[i]);
      for (size_t l = 0; l < 32; ++l) packed[l] = halves[2 * i][l] | halves[2 * i + 1][l] << 16;
    }
  }

  /// The rows of half `h` of a warp's A fragment: 32 bytes of K. Register j holds row l/4 + 8 (j%2), bytes from
  /// 16 (j/2) + 4 (l%4).
  void register_rows(size_t warp, int h, tensor::Row* rows) const {
    for (size_t part = 0; part < 2; ++part) {
      const auto& words = entry->registers->a[warp][2 * part + static_cast<size_t>(h)];
      for (size_t row = 0; row < 8; ++row) std::memcpy(rows[row].data() + 16 * part, &words[4 * row], 16);
    }
  }

  std::vector<Wgmma*> along_;  // later operations of the queue, executed together with this one
  bool is_done_ = false;       // together with an earlier one
};

using Reads = WgmmaQueue::Entry::Reads;

Reads list_reads(const WgmmaOperands& o, uint64_t a, uint64_t b) {
  Reads reads;
  const auto add = [&](std::vector<Range>& to, const tensor::Descriptor& tile, int first, int rows) {
    for (const Range& range : tensor::tile_ranges(tile, first, rows)) {
      to.push_back(range);
      reads.bounds = {std::min(reads.bounds.begin, range.begin), std::max(reads.bounds.end, range.end)};
    }
  };
  add(reads.b, o.tile_b(b), 0, o.n);
  if (o.is_sparse) add(reads.b, o.tile_b_behind(b), 0, o.n);
  for (int warp = 0; warp < 4 && !o.a_in_registers; ++warp)
    add(reads.a[static_cast<size_t>(warp)], o.tile_a(a), 16 * warp, 16);
  return reads;
}

/// On hardware the four warps begin and complete as one.
void WgmmaQueue::check_have_read(size_t first_warp, uint32_t offset, uint32_t bytes, const char* what, int by) {
  for (const auto& entry : torn) {
    if (!entry->reads) entry->reads = std::make_unique<Reads>(list_reads(*entry->operands, entry->a, entry->b));
    const Reads& all = *entry->reads;
    if (all.bounds.end <= offset || offset + bytes <= all.bounds.begin) continue;
    const auto overlaps = [&](const std::vector<Range>& ranges) {
      return std::any_of(ranges.begin(), ranges.end(),
                         [&](const Range& range) { return range.begin < offset + bytes && offset < range.end; });
    };
    const bool reads_b = overlaps(all.b);
    // The store comes before its own warp's part of the wgmma.
    const bool comes_first = by >= 0 && !(entry->issued >> by & 1);
    for (size_t warp = 0; comes_first && warp < 4; ++warp) {
      if (!(entry->done >> warp & 1) || !(reads_b || overlaps(all.a[warp]))) continue;
      throw as_habit(Habit::WarpgroupAcquire, {faults::store_before_wgmma, {what, first_warp + warp}});
    }
    for (size_t warp = 0; warp < 4; ++warp) {
      if (entry->done >> warp & 1 || !(reads_b || overlaps(all.a[warp]))) continue;
      throw as_habit(Habit::WarpgroupRelease, {faults::store_under_wgmma, {what, first_warp + warp}});
    }
  }
}

/// This warp's next entry; its instruction must agree with that of the other warps of the group. *share gets the warps
/// for which it can begin now, if *begins.
std::shared_ptr<WgmmaQueue::Entry> reach(Warp& w, WgmmaQueue& group, const WgmmaOperands* operands, bool* begins,
                                         Share* share) {
  const size_t warp = w.index % 4;
  const uint64_t number = group.next[warp]++;
  const size_t at = number - group.first;
  if (at == group.entries.size()) {
    group.entries.push_back(std::make_shared<WgmmaQueue::Entry>());
    group.entries.back()->operands = operands;
    group.entries.back()->origin = origin_of(w, 0);
  }
  std::shared_ptr<WgmmaQueue::Entry> entry = group.entries[at];
  if (entry->operands != operands) { throw Fault{faults::warpgroup_sequences_differ}; }
  entry->issued |= 1u << warp;
  const bool is_complete = entry->issued == 0xF;
  if (is_complete) {
    group.entries.pop_front();
    ++group.first;
  }
  const bool as_one = cluster_of(w).launch->warpgroups_as_one;
  *share = as_one ? Share{} : Share{warp, 1};
  *begins = is_complete || !cluster_of(w).launch->warpgroups_begin_as_one;
  return entry;
}

/// Calls begin(share) for the parts of an instruction that begin now: the four begin together if only their completion
/// is independent.
template <class F>
void for_shares(Warp& w, Share share, F begin) {
  const Launch& launch = *cluster_of(w).launch;
  if (launch.warpgroups_as_one || !launch.warpgroups_begin_as_one) return begin(share);
  for (size_t warp = 0; warp < 4; ++warp) begin(Share{warp, 1});
}

Flow mma(Warp& w, const WgmmaOperands& o, Mask m) {
  require_wgmma(w);
  if (!gather_all(w, &m)) return Flow::Block;
  WgmmaQueue& group = group_of(w);
  bool begins = false;
  Share share;
  const uint64_t a = o.a_in_registers ? 0 : uniform<uint64_t>(w, o.a, m), b = uniform<uint64_t>(w, o.b, m);
  const bool accumulate = (o.accumulate.read(w) >> first_lane(m) & 1) != 0;
  const std::shared_ptr<WgmmaQueue::Entry> reached = reach(w, group, &o, &begins, &share);
  WgmmaQueue::Entry& entry = *reached;
  if (entry.issued != 1u << (w.index % 4) && (entry.a != a || entry.b != b || entry.accumulate != accumulate)) {
    throw Fault{faults::warpgroup_operands_differ};
  }
  entry.a = a, entry.b = b, entry.accumulate = accumulate;
  if (!o.a_in_registers) tensor::decode_wgmma(a, "A");
  tensor::decode_wgmma(b, "B");
  const auto copy_register = [&](int32_t slot, const char* what, std::array<uint32_t, 32>& to) {
    if (is_pending(w, slot)) { throw Fault{faults::wgmma_of_unfinished, {what}}; }
    std::memcpy(to.data(), lanes<uint32_t>(w, slot), sizeof to);
  };
  if ((o.a_in_registers || o.is_sparse) && !entry.registers)
    entry.registers = std::make_unique_for_overwrite<WgmmaQueue::Entry::Values>();
  if (o.a_in_registers) {
    for (size_t i = 0; i < 4; ++i) copy_register(o.a_registers[i], "A", entry.registers->a[w.index % 4][i]);
  }
  if (o.is_sparse) copy_register(o.metadata, "metadata", entry.registers->metadata[w.index % 4]);
  if (const Watchers& watchers = cluster_of(w).watchers; watchers.want(EventKind::Tensor)) {
    TensorEvent told{.what = TensorEvent::What::Wgmma,
                     .cluster = cluster_of(w),
                     .warp = &w,
                     .lanes = w.live,
                     .pc = w.split().pc,
                     .m = 64,
                     .n = o.n,
                     .k = o.k(),
                     .a_elsewhere = o.a_in_registers,
                     .leader = w.cta->rank};
    TensorAccesses accesses;
    if (watchers.want(EventKind::Operands)) {
      const auto add = [&](const std::vector<Range>& ranges) {
        for (const Range& range : ranges) accesses.operands.push_back({w.cta->rank, range});
      };
      add(tensor::tile_ranges(o.tile_b(b), 0, o.n));
      if (o.is_sparse) add(tensor::tile_ranges(o.tile_b_behind(b), 0, o.n));
      // A warp reads only its own rows of A.
      if (!o.a_in_registers) add(tensor::tile_ranges(o.tile_a(a), static_cast<int>(w.index % 4) * 16, 16));
      told.accesses = &accesses;
    }
    watchers.tell(told);
  }
  entry.pending[w.index % 4] = begin_pending(w, o.written, false);
  if (o.a_in_registers && !cluster_of(w).launch->lenient) read_late(w, o.a_slots, &entry.stale[w.index % 4]);
  w.executed_at_effect = w.executed;
  if (!begins) return Flow::Next;
  const auto begin = [&](Share part) {
    auto operation = std::make_unique<Wgmma>();
    operation->cta = w.cta;
    operation->group = w.index / 4;
    operation->share = part;
    operation->entry = reached;
    const Costs& costs = cluster_of(w).costs();
    submit(cluster_of(w), part.count == 1 && part.first == w.index % 4 ? origin_of(w, 0) : entry.origin,
           std::move(operation),
           {.unit = &w.cta->tensor_pipe,
            .busy = 2 * o.multiply_adds() / 4 * part.count / static_cast<uint64_t>(costs.mma_flops_per_cycle),
            .latency = static_cast<uint64_t>(costs.mma_latency),
            .order = &group.order[part.first]});
  };
  for_shares(w, share, begin);
  return Flow::Next;
}

Flow commit(Warp& w, const NoOperands&, Mask m) {
  require_wgmma(w);
  if (!gather_all(w, &m)) return Flow::Block;
  WgmmaQueue& group = group_of(w);
  bool begins = false;
  Share share;
  reach(w, group, nullptr, &begins, &share);
  ++group.groups[w.index % 4];
  cluster_of(w).watchers.tell(CommitEvent{CommitEvent::What::Wgmma, w, w.live});
  if (!begins) return Flow::Next;
  for_shares(w, share, [&](Share part) {
    auto operation = std::make_unique<GroupCommit>();
    operation->cta = w.cta;
    operation->group = w.index / 4;
    operation->share = part;
    submit(w, 0, std::move(operation), {.order = &group.order[part.first]});
  });
  return Flow::Next;
}

struct WaitGroup {
  uint32_t pending;  ///< number of the newest groups that may be unfinished
};
Flow wait(Warp& w, const WaitGroup& o, Mask m) {
  require_wgmma(w);
  if (!gather_all(w, &m)) return Flow::Block;
  const WgmmaQueue& group = group_of(w);
  const uint64_t committed = group.groups[w.index % 4];
  if (committed <= group.groups_done[w.index % 4] + o.pending) {
    cluster_of(w).watchers.tell(
        WaitEvent{WaitEvent::What::Passes, Wait::WgmmaGroup, w, m, w.split().pc, {}, o.pending});
    return Flow::Next;
  }
  return block(w, Wait::WgmmaGroup, o.pending);
}

Flow fence(Warp& w, const NoOperands&, Mask m) {
  require_wgmma(w);
  if (!gather_all(w, &m)) return Flow::Block;
  cluster_of(w).watchers.tell(FenceEvent{FenceEvent::What::WgmmaFence, w, m});
  return Flow::Next;
}

// ---- decoding

void decode_mma_async(Decoder& d) {
  WgmmaOperands o;
  int k = 0;
  d.for_modifiers(
      [&](const std::string& modifier) { return std::sscanf(modifier.c_str(), "m64n%dk%d", &o.n, &k) == 2; });
  const std::vector<Type> types = tensor::types_of(d);
  o.are_bits = d.has("b1");
  if (o.n < 8 || o.n > 256 || o.n % 8 != 0 || types.size() != (o.are_bits ? 1 : 3))
    d.unsupported(faults::unknown_shape_or_types);
  if (o.are_bits) {
    d.ignore({"b1", "and", "popc"});
    o.a_format = o.b_format = Format::U8;  // bits are handled as bytes of memory
  } else {
    o.a_format = tensor::format_of(d, types[1]), o.b_format = tensor::format_of(d, types[2]);
  }
  o.saturates = d.has("satfinite");
  o.result = tensor::result_of(types[0]);
  o.accumulators = d.destinations(d.operand(0), 4);
  if (o.accumulators.size() != static_cast<size_t>(o.result == tensor::ResultFormat::F16 ? o.n / 4 : o.n / 2))
    d.unsupported(faults::accumulators_of_n);
  o.a_in_registers = d.is_vector(1);
  if (o.a_in_registers) {
    const auto list = d.elements(d.operand(1));
    if (list.size() != o.a_registers.size()) d.unsupported(faults::registers_of_a);
    for (size_t i = 0; i < list.size(); ++i) {
      o.a_registers[i] = d.source(list[i], Type::B32);
      o.a_slots.push_back({o.a_registers[i], static_cast<uint16_t>(4 * 32)});
    }
  } else {
    o.a = d.source(1, Type::B64);
  }
  o.b = d.source(2, Type::B64);
  size_t at = 3;
  o.is_sparse = d.has("sp");
  if (o.is_sparse) {
    o.layout = {.is_small = tensor::element_bytes(o.a_format) == 1,
                .per_row = o.a_format == Format::TF32 ? o.k() / 2 : o.k() / 4,
                .selector = static_cast<int>(d.immediate(4))};
    o.metadata = d.source(3, Type::B32);
    at = 5;
  }
  o.accumulate = d.predicate_source(d.operand(at++));
  if (o.result != tensor::ResultFormat::S32 && at < d.count()) {
    o.negate_a = d.immediate(at++) < 0;
    o.negate_b = d.immediate(at++) < 0;
  }
  if (!o.a_in_registers && at + 1 < d.count()) o.transpose_a = d.immediate(at++) != 0;
  if (at < d.count()) o.transpose_b = d.immediate(at) != 0;
  o.written = joined(d.uses().writes);
  d.emit<mma>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {
    {"wgmma.fence", [](Decoder& d) { d.emit<fence>({}); }, Manner{.use = DataUse::Carries}},
    {"wgmma.mma_async", decode_mma_async, Manner{.use = DataUse::Carries, .is_wgmma = true, .alone = kNoEffect}},
    {"wgmma.commit_group", [](Decoder& d) { d.emit<commit>({}); }},
    {"wgmma.wait_group", [](Decoder& d) { d.emit<wait>({static_cast<uint32_t>(d.immediate(0))}); }},
};
constexpr std::string_view kIgnored[] = {"sync", "aligned"};

}  // namespace

constinit const Family families::wgmma{.mnemonics = kMnemonics,
                                       .ignored = kIgnored,
                                       .touches_pending = true,
                                       .manner = {.use = DataUse::Carries, .alone = kNoEffect}};

}  // namespace sim
