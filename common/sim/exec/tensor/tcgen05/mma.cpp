// tcgen05.mma: D in tensor memory = A * B (+ D), of one CTA or of a pair.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "check/observer.h"
#include "check/report.h"
#include "exec/core/families.h"
#include "exec/core/submit.h"
#include "exec/tensor/descriptor.h"
#include "exec/tensor/tcgen05/group.h"
#include "exec/tensor/tcgen05/instruction.h"
#include "exec/tensor/types.h"

namespace sim {
namespace tcgen05 {
namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

/// Where 32 rows of A meet a range of columns in one CTA's tensor memory.
struct Strip {
  int first_row;  // of this CTA's rows of A
  int first_n, count_n;
  int lane, column;  // of the first cell
  uint32_t mask;     // which of the 32 lanes are written
};

std::vector<Strip> strips_of(const Instruction& in, int group, bool stationary, uint32_t address) {
  const int lane = tmem_lane(address), column = tmem_column(address);
  std::vector<Strip> strips;
  const auto full = [&](int row, int n, int count, int at_lane) {
    strips.push_back({row, n, count, at_lane, column, kAllLanes});
  };
  if (in.m / group == 128) {  // layouts A and D: row = lane
    for (int row = 0; row < 128; row += 32) full(row, 0, in.n, row);
  } else if (stationary) {  // layouts E and G: as many parts of N one above the other as fit the lanes
    const int parts = 128 / in.m;
    for (int part = 0; part < parts; ++part) {
      for (int row = 0; row < in.m; row += 32) full(row, part * in.n / parts, in.n / parts, in.m * part + row);
    }
  } else if (group == 2) {  // layout B: 64 rows, the halves of N one above the other
    for (int half = 0; half < 2; ++half) {
      for (int row = 0; row < 64; row += 32) full(row, half * in.n / 2, in.n / 2, 64 * half + row);
    }
  } else {  // layout F: 16 rows in each quarter of the lanes, at offset 0 or 16
    for (int quarter = 0; quarter < 4; ++quarter)
      strips.push_back({16 * quarter, 0, in.n, 32 * quarter, column, 0xFFFFu << (lane & 16)});
  }
  return strips;
}

class Mma final : public AsyncOperation {
 public:
  Instruction in;
  int group = 1;
  bool stationary = false;  // tcgen05.mma.ws
  uint32_t leader = 0;      // rank of the even CTA (group 2) or of the CTA
  uint32_t d = 0, a_tmem = 0;
  bool a_in_tmem = false, accumulate = false;
  int scale_d = 0;
  tensor::Descriptor a, b;
  uint64_t a_bits = 0, b_bits = 0;     // the descriptors as they were given
  std::array<uint32_t, 8> disabled{};  // lanes that are not written, by CTA of the pair

  bool takes_along(Cluster& cluster, AsyncOperation& next) override {
    auto* const other = dynamic_cast<Mma*>(&next);
    if (other == nullptr || is_done_ || along_.size() + 1 == tensor::kMaxSteps) return false;
    if (!cluster.exact_arithmetic_is_over() || in.result == tensor::Result::S32 || scale_d != 0) return false;
    if (other->in != in || other->group != group || other->stationary != stationary || other->leader != leader ||
        other->d != d || other->a_in_tmem != a_in_tmem || other->disabled != disabled || other->scale_d != 0 ||
        !other->accumulate)
      return false;
    along_.push_back(other);
    return other->is_done_ = true;
  }

  void complete(Cluster& cluster) override {
    if (!cluster.launch->moves_data) return;
    const bool is_exact = cluster.exact_arithmetic(multiply_adds());
    if (!is_done_) multiply(cluster, is_exact);
    ++cluster.changes;
    tensor::count_multiply_adds(cluster, multiply_adds());
  }
  std::string describe() const override {
    return "MMA " + std::to_string(in.m) + "x" + std::to_string(in.n) + "x" + std::to_string(in.k);
  }
  Footprint footprint() const override {
    using Space = Footprint::Place::Space;
    Footprint used{.bytes = 32ull * static_cast<uint64_t>(in.m + in.n)};
    used.overwrites = !accumulate;
    if (!a_in_tmem) used.descriptors.push_back(a_bits);
    used.descriptors.push_back(b_bits);
    for (int c = 0; c < group; ++c) {
      const uint32_t rank = leader + static_cast<uint32_t>(c);
      if (a_in_tmem)
        used.places.push_back({Space::Tensor, false, rank, a_tmem & 0xFFFF, 8});
      else
        used.places.push_back({Space::Shared, false, rank, a.start, tensor::extent(a, in.m / group)});
      used.places.push_back({Space::Shared, false, rank, b.start, tensor::extent(b, in.n / group)});
      uint32_t columns = 0;
      for (const Strip& strip : strips_of(in, group, stationary, d))
        columns = std::max(columns, static_cast<uint32_t>(strip.count_n));
      used.places.push_back({Space::Tensor, true, rank, d & 0xFFFF, columns});
    }
    return used;
  }

 private:
  uint64_t multiply_adds() const {
    return static_cast<uint64_t>(in.m) * static_cast<uint64_t>(in.n) * static_cast<uint64_t>(in.k);
  }

  static void check_allocated(const Cta& cta, const char* operand, uint32_t address, int columns) {
    const int first = tmem_column(address);
    if (cta.tmem.allocated(first, columns)) return;
    throw Fault{Status::LaunchFailure, std::string(operand) + " of the MMA needs tensor memory columns " +
                                           std::to_string(first) + ".." + std::to_string(first + columns - 1) + " of " +
                                           name_of(cta) + ", where allocated are: " + cta.tmem.describe()};
  }

  void multiply(Cluster& cluster, bool is_exact) {
    const tensor::Kernels& kernels = tensor::kernels();
    std::array<const Mma*, tensor::kMaxSteps> steps{this};
    std::copy(along_.begin(), along_.end(), steps.begin() + 1);
    const tensor::Arithmetic how{
        .exact = is_exact, .k = in.k, .result = in.result, .steps = 1 + static_cast<int>(along_.size()), .pitch = in.n};
    const int rows = in.m / group, columns = in.n / group;

    // B: each CTA of the group holds its share of the columns.
    static thread_local std::array<tensor::ColumnTile, 256 * tensor::kMaxSteps> b_tiles;
    static thread_local std::array<tensor::Row, 256> b_rows;
    for (int step = 0; step < how.steps; ++step) {
      for (int c = 0; c < group; ++c) {
        Cta& cta = alive(cluster, leader + static_cast<uint32_t>(c), "an MMA");
        const tensor::Descriptor& operand = steps[static_cast<size_t>(step)]->b;
        tensor::check_tile(cta, operand, columns, "B");
        tensor::read_rows(cta, operand, 0, columns, b_rows.data());
        kernels.pack_columns({.format = in.b, .k = in.k, .negate = in.negate_b, .exponents = how.exact}, b_rows.data(),
                             columns, &b_tiles[static_cast<size_t>(step * in.n + c * columns)]);
      }
    }
    for (int c = 0; c < group; ++c) {
      Cta& cta = alive(cluster, leader + static_cast<uint32_t>(c), "an MMA");
      const std::vector<Strip> strips = strips_of(in, group, stationary, d);
      int needed = 0;
      for (const Strip& strip : strips) needed = std::max(needed, strip.count_n);
      check_allocated(cta, "D", d, needed);
      for (int step = 0; step < how.steps; ++step) {
        const Mma& mma = *steps[static_cast<size_t>(step)];
        if (!a_in_tmem)
          tensor::check_tile(cta, mma.a, rows, "A");
        else
          check_allocated(cta, "A", mma.a_tmem, 8);
      }
      int last_row = -1;
      tensor::LaneTile a_tiles[tensor::kMaxSteps];
      for (const Strip& strip : strips) {
        for (int step = 0; step < how.steps && strip.first_row != last_row; ++step)
          steps[static_cast<size_t>(step)]->fill_a(cta, strip, rows, how.exact, &a_tiles[step]);
        last_row = strip.first_row;
        multiply_strip(cta, c, strip, how, a_tiles, &b_tiles[static_cast<size_t>(strip.first_n)]);
      }
    }
  }

  void fill_a(Cta& cta, const Strip& strip, int rows, bool exact, tensor::LaneTile* tile) const {
    const int shift = strip.mask == 0xFFFF'0000u ? 16 : 0;
    const int count = std::min(std::popcount(strip.mask), rows - strip.first_row);
    std::array<tensor::Row, tensor::kLanes> lanes_of_a{};  // lanes without a row get zeros
    if (!a_in_tmem) {
      tensor::read_rows(cta, a, strip.first_row, count, &lanes_of_a[static_cast<size_t>(shift)]);
    } else {
      for (int column = 0; column < 8; ++column) {
        const uint32_t* const cells = cta.tmem.column(tmem_column(a_tmem) + column) + strip.lane;
        for (int lane = shift; lane < shift + count; ++lane)
          std::memcpy(lanes_of_a[static_cast<size_t>(lane)].data() + 4 * column, &cells[lane], 4);
      }
    }
    tensor::kernels().pack_lanes({.format = in.a, .k = in.k, .negate = in.negate_a, .exponents = exact},
                                 lanes_of_a.data(), 1, tile);
  }

  void multiply_strip(Cta& cta, int c, const Strip& strip, const tensor::Arithmetic& how,
                      const tensor::LaneTile* a_tiles, const tensor::ColumnTile* columns) const {
    uint32_t* cells[256];
    for (int n = 0; n < strip.count_n; ++n) cells[n] = cta.tmem.column(strip.column + n) + strip.lane;
    const uint32_t off = disabled[static_cast<size_t>(4 * c + strip.lane / 32)];
    const uint32_t mask = strip.mask & ~off;
    if (scale_d != 0 && accumulate) {
      for (int n = 0; n < strip.count_n; ++n) {
        for (Mask rest = mask; rest; rest &= rest - 1) {
          uint32_t& cell = cells[n][first_lane(rest)];
          cell = std::bit_cast<uint32_t>(std::ldexp(std::bit_cast<float>(cell), -scale_d));
        }
      }
    }
    tensor::kernels().columns(how, a_tiles, columns, cells, strip.count_n, accumulate, mask);
  }

  std::vector<Mma*> along_;  // those that follow in the queue, and are done with this one
  bool is_done_ = false;     // with one before
};

/// Which swizzles a transposed operand can have.
void check_transposed(const tensor::Descriptor& d, Format format, const char* operand) {
  if (!d.mn_major || (d.swizzle == Swizzle::Bytes128Atom32) == (format == Format::TF32)) return;
  throw Fault{Status::IllegalInstruction,
              std::string("operand ") + operand + " of the MMA is transposed: " +
                  (format == Format::TF32 ? "TF32 then needs the 128-byte swizzle with 32-byte atoms (code 1)"
                                          : "the 128-byte swizzle with 32-byte atoms (code 1) is for TF32 only")};
}

struct MmaOperands {
  TmemOperand d;
  int32_t a = -1;  ///< slot of a descriptor, or of an address in tensor memory
  int32_t b = -1;  ///< slot of a descriptor
  int32_t instruction = -1;
  PredicateOperand accumulate;
  std::vector<int32_t> disabled;  ///< slots of masks: lanes of D that are not written
  int scale_d = 0;
  int group = 1;
  Kind kind = Kind::F16;
  bool a_in_tmem = false, stationary = false;
};

Flow mma(Warp& w, const MmaOperands& o, Mask m) {
  require(w);
  if (w.alone) return Flow::Next;
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t instruction = lanes<uint32_t>(w, o.instruction)[lane];
    auto mma = std::make_unique<Mma>();
    mma->group = o.group;
    mma->stationary = o.stationary;
    mma->in = decode_instruction(instruction, o.kind, o.group, o.stationary);
    if (o.group == 2) peer_of(*w.cta, "tcgen05.mma");
    mma->leader = leader_of(*w.cta, o.group);
    mma->d = o.d.of(w, lane);
    mma->a_in_tmem = o.a_in_tmem;
    if (o.a_in_tmem)
      mma->a_tmem = lanes<uint32_t>(w, o.a)[lane];
    else
      mma->a = tensor::decode_tcgen05(mma->a_bits = lanes<uint64_t>(w, o.a)[lane], "A");
    mma->b = tensor::decode_tcgen05(mma->b_bits = lanes<uint64_t>(w, o.b)[lane], "B");
    mma->a.mn_major = mma->in.a_mn_major, mma->b.mn_major = mma->in.b_mn_major;
    mma->a.element = tensor::element_bytes(mma->in.a), mma->b.element = tensor::element_bytes(mma->in.b);
    mma->accumulate = (o.accumulate.read(w) >> lane & 1) != 0;
    mma->scale_d = o.scale_d;
    if (!o.a_in_tmem)
      check_transposed(mma->a, mma->in.a, "A");
    else if (mma->in.a_mn_major)
      bad_instruction(instruction, "asks to transpose A, which cannot be done in tensor memory");
    check_transposed(mma->b, mma->in.b, "B");
    const int d_lane = tmem_lane(mma->d);
    const bool layout_f = mma->in.m / o.group == 64 && o.group == 1 && !o.stationary;
    if ((layout_f ? d_lane & ~16 : d_lane) != 0) {
      throw Fault{
          Status::IllegalInstruction,
          "D of the MMA starts at TMEM lane " + std::to_string(d_lane) + "; " + (layout_f ? "0 or 16" : "0") +
              " is required" +
              (mma->d == ~0u ? ". The address is all ones, as memory is that nobody has written: tcgen05.alloc, "
                               "and a barrier after it, come first"
                             : ""),
          lane};
    }
    for (size_t i = 0; i < o.disabled.size(); ++i) mma->disabled[i] = lanes<uint32_t>(w, o.disabled[i])[lane];

    if (cluster.observer != nullptr) {
      order::World::Mma seen{.group = static_cast<uint32_t>(o.group), .accumulates = mma->accumulate};
      // Accumulators are the same if place and shape are.
      seen.accumulator = uint64_t{mma->d} << 32 | static_cast<uint64_t>(mma->in.m) << 16 |
                         static_cast<uint64_t>(mma->in.n) << 2 | static_cast<uint64_t>(o.group);
      for (int c = 0; c < o.group; ++c) {
        order::Cta& cta = Observer::checked(cluster.ctas[mma->leader + static_cast<uint32_t>(c)]);
        const auto operand = [&](const tensor::Descriptor& descriptor, int rows) {
          for (const order::Range& range : tensor::tile_ranges(descriptor, 0, rows))
            seen.operands.push_back({&cta, range});
        };
        operand(mma->b, mma->in.n / o.group);
        if (!o.a_in_tmem)
          operand(mma->a, mma->in.m / o.group);
        else
          for (const order::Range& range : order::World::tensor_range(0, 128, tmem_column(mma->a_tmem), 8))
            seen.sources.push_back({&cta, range});
        for (const Strip& strip : strips_of(mma->in, o.group, o.stationary, mma->d)) {
          const bool whole = strip.mask == kAllLanes;
          const int first = strip.lane + (strip.mask == 0xFFFF'0000u ? 16 : 0);
          for (const order::Range& range :
               order::World::tensor_range(first, whole ? 32 : 16, strip.column, strip.count_n))
            seen.results.push_back({&cta, range});
        }
      }
      cluster.observer->tensor_operation(w, lane, seen);
    }
    const auto flops = 2ull * static_cast<uint64_t>(mma->in.m == 64 ? 128 : mma->in.m) *
                       static_cast<uint64_t>(mma->in.n) * static_cast<uint64_t>(mma->in.k);
    if (cluster.demands != nullptr) {
      cluster.demands->note_mma(w, {mma->in.m, mma->in.n, mma->in.k, o.group, o.a_in_tmem, false}, mma->leader);
    }
    const Costs& costs = cluster.costs();
    const When when{.unit = &cluster.ctas[mma->leader].tensor_pipe,
                    .busy = flops / static_cast<uint64_t>(costs.mma_flops_per_cycle * o.group),
                    .latency = static_cast<uint64_t>(costs.mma_latency),
                    .order = &queue_of(w, lane)};
    submit(w, lane, std::move(mma), when);
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

void decode_mma(Decoder& d) {
  static constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"kind::f16", Kind::F16}, {"kind::tf32", Kind::TF32}, {"kind::f8f6f4", Kind::F8F6F4}, {"kind::i8", Kind::I8}};
  MmaOperands o;
  o.kind = d.one_of(kKinds, "block-scaled kinds");
  o.group = group_of(d);
  o.stationary = d.has("ws");
  if (o.stationary) {
    if (o.group == 2) d.unsupported(".ws works on one CTA");
    if (d.is_vector(4) || d.count() > 5) d.unsupported("masks of tcgen05.mma.ws");
  }
  o.d = TmemOperand::decode(d, 0);
  const Operand& a = d.operand(1);
  o.a_in_tmem = a.kind == Operand::Kind::Address;
  o.a = o.a_in_tmem ? d.source(d.inside(a, 0), Type::B32) : d.source(a, Type::B64);
  o.b = d.source(2, Type::B64);
  if (d.register_bits(d.operand(3)) > 32) {
    d.unsupported(
        "the instruction descriptor is a 32-bit register, and this one has 64 (CUTLASS keeps it in the upper half)");
  }
  o.instruction = d.source(3, Type::B32);
  size_t at = 4;
  if (at < d.count() && d.is_vector(at)) {
    o.disabled = d.sources(d.operand(at++), Type::B32);
    if (o.disabled.size() > 8) d.unsupported("more than eight lane masks");
  }
  if (at >= d.count()) {
    d.unsupported("the predicate enable-input-d is missing: it says whether D is accumulated or overwritten");
  }
  o.accumulate = d.predicate_source(d.operand(at++));
  if (at < d.count()) o.scale_d = static_cast<int>(d.immediate(at));
  d.emit<mma>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {{"tcgen05.mma", decode_mma}};
// Keeping A or B in a collector buffer saves time, nothing else.
constexpr std::string_view kIgnored[] = {"cta_group::1",      "collector::a::discard", "collector::a::fill",
                                         "collector::a::use", "collector::a::lastuse", "collector::b*"};

}  // namespace
}  // namespace tcgen05

constinit const Family families::tcgen05_mma{tcgen05::kMnemonics, tcgen05::kIgnored};

}  // namespace sim
