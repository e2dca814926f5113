// tcgen05.mma: D in tensor memory = A * B (+ D), of one CTA or of a pair.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "exec/core/families.h"
#include "exec/core/report.h"
#include "exec/core/submit.h"
#include "exec/tensor/tcgen05/operands.h"
#include "exec/tensor/types.h"

namespace sim {
namespace tcgen05 {
namespace {

using ptx::Operand;
using ptx::Type;
using tensor::Format;

class Mma final : public AsyncOperation {
 public:
  Operands operands;
  bool stationary = false;  // tcgen05.mma.ws
  uint32_t leader = 0;      // rank of the even CTA (group 2) or of the CTA
  uint32_t d = 0;
  bool accumulate = false;
  int scale_d = 0;
  uint64_t a_bits = 0, b_bits = 0;     // the descriptors of the instruction
  std::array<uint32_t, 8> disabled{};  // lanes that are not written, by CTA of the pair

  bool try_fuse(Cluster& cluster, AsyncOperation& next) override {
    auto* const other = dynamic_cast<Mma*>(&next);
    if (other == nullptr || is_done_ || along_.size() + 1 == tensor::kMaxSteps) return false;
    const Operands &own = operands, &others = other->operands;
    if (!cluster.exact_arithmetic_is_over() || own.in.result == tensor::ResultFormat::S32 || scale_d != 0) return false;
    if (own.in.sparse || own.in.factors != 0) return false;
    if (others.in != own.in || others.group != own.group || other->stationary != stationary ||
        other->leader != leader || other->d != d || others.a_in_tmem != own.a_in_tmem || other->disabled != disabled ||
        other->scale_d != 0 || !other->accumulate)
      return false;
    along_.push_back(other);
    return other->is_done_ = true;
  }

  void complete(Cluster& cluster) override {
    if (!cluster.launch->moves_data) return;
    const bool is_exact = cluster.exact_arithmetic(multiply_adds());
    const InstructionDescriptor& in = operands.in;
    if (is_done_)
      ;  // with one before
    else if (in.a == Format::E2M1x2)
      multiply_special<tensor::Fp4Lanes, tensor::Fp4Column>(cluster, is_exact);
    else if (in.sparse)
      multiply_special<tensor::DeepLaneTile, tensor::DeepColumnTile>(cluster, is_exact);
    else if (in.factors != 0)
      multiply_special<tensor::LaneTile, tensor::ColumnTile>(cluster, is_exact);
    else
      multiply(cluster, is_exact);
    ++cluster.changes;
    tensor::count_multiply_adds(cluster, multiply_adds());
  }
  OperationUnit unit() const override { return OperationUnit::TensorCore; }
  std::string describe() const override {
    const InstructionDescriptor& in = operands.in;
    return "MMA " + std::to_string(in.m) + "x" + std::to_string(in.n) + "x" + std::to_string(in.k);
  }
  Footprint footprint() const override {
    using Space = Footprint::Place::Space;
    const Operands& o = operands;
    Footprint used{.bytes = 32ull * static_cast<uint64_t>(o.in.m + (o.in.sparse ? 2 : 1) * o.in.n)};
    used.overwrites = !accumulate;
    if (!o.a_in_tmem) used.descriptors.push_back(a_bits);
    used.descriptors.push_back(b_bits);
    for (int c = 0; c < o.group; ++c) {
      const uint32_t rank = leader + static_cast<uint32_t>(c);
      if (!o.a_in_tmem) used.places.push_back({Space::Shared, false, rank, o.a.start, tensor::extent(o.a, o.rows())});
      for (const Columns& each : o.sources())
        used.places.push_back(
            {Space::Tensor, false, rank, static_cast<uint32_t>(each.first), static_cast<uint32_t>(each.count)});
      used.places.push_back({Space::Shared, false, rank, o.b.start, tensor::extent(o.b, o.columns())});
      uint32_t columns = 0;
      for (const Strip& strip : strips_of(o.in, o.group, stationary, d))
        columns = std::max(columns, static_cast<uint32_t>(strip.count_n));
      used.places.push_back({Space::Tensor, true, rank, d & 0xFFFF, columns});
    }
    return used;
  }

 private:
  uint64_t multiply_adds() const {
    const InstructionDescriptor& in = operands.in;
    return static_cast<uint64_t>(in.m) * static_cast<uint64_t>(in.n) * static_cast<uint64_t>(in.k);
  }

  /// The CTA that holds this share of the operands; checks its memories.
  Cta& checked_cta(Cluster& cluster, int c, const std::vector<Strip>& strips) const {
    Cta& cta = alive(cluster, leader + static_cast<uint32_t>(c), "an MMA");
    int needed = 0;
    for (const Strip& strip : strips) needed = std::max(needed, strip.count_n);
    check_allocated(cta, {"D", tmem_column(d), needed});
    check_operands(cta, *this);
    return cta;
  }
  static void check_operands(const Cta& cta, const Mma& mma) {
    for (const Columns& each : mma.operands.sources()) check_allocated(cta, each);
    if (!mma.operands.a_in_tmem) tensor::check_tile(cta, mma.operands.a, mma.operands.rows(), "A");
  }
  static void check_allocated(const Cta& cta, const Columns& columns) {
    if (cta.tmem.allocated(columns.first, columns.count)) return;
    throw Fault{faults::mma_not_allocated,
                {columns.operand, columns.first, columns.first + columns.count - 1, name_of(cta), cta.tmem.describe()}};
  }

  void multiply(Cluster& cluster, bool is_exact) {
    const InstructionDescriptor& in = operands.in;
    const tensor::Kernels& kernels = tensor::kernels();
    std::array<const Mma*, tensor::kMaxSteps> steps{this};
    std::copy(along_.begin(), along_.end(), steps.begin() + 1);
    const tensor::Arithmetic how{.exact = is_exact,
                                 .k = in.k,
                                 .result = in.result,
                                 .pairs = !is_exact && tensor::multiplies_pairs(in.a, in.b, in.result),
                                 .steps = 1 + static_cast<int>(along_.size()),
                                 .pitch = in.n};
    const int columns = operands.columns();

    // B: each CTA of the group holds its share of the columns.
    static thread_local std::array<tensor::ColumnTile, 256 * tensor::kMaxSteps> b_tiles;
    static thread_local std::array<tensor::Row, 256> b_rows;
    for (int step = 0; step < how.steps; ++step) {
      for (int c = 0; c < operands.group; ++c) {
        Cta& cta = alive(cluster, leader + static_cast<uint32_t>(c), "an MMA");
        const tensor::Descriptor& operand = steps[static_cast<size_t>(step)]->operands.b;
        tensor::check_tile(cta, operand, columns, "B");
        tensor::read_rows(cta, operand, 0, columns, b_rows.data());
        kernels.pack_columns(tensor::packing_for(how, in.b, in.negate_b), b_rows.data(), columns,
                             &b_tiles[static_cast<size_t>(step * in.n + c * columns)]);
      }
    }
    const std::vector<Strip> strips = strips_of(in, operands.group, stationary, d);
    for (int c = 0; c < operands.group; ++c) {
      Cta& cta = checked_cta(cluster, c, strips);
      for (const Mma* const other : along_) check_operands(cta, *other);
      int last_row = -1;
      tensor::LaneTile a_tiles[tensor::kMaxSteps];
      for (const Strip& strip : strips) {
        for (int step = 0; step < how.steps && strip.first_row != last_row; ++step) {
          std::array<tensor::Row, tensor::kLanes> rows;
          read_a(cta, steps[static_cast<size_t>(step)]->operands, strip, rows.data());
          kernels.pack_lanes(tensor::packing_for(how, in.a, in.negate_a), rows.data(), 1, &a_tiles[step]);
        }
        last_row = strip.first_row;
        for_cells(cta, c, strip, [&](uint32_t* const* cells, uint32_t mask) {
          kernels.columns(how, a_tiles, &b_tiles[static_cast<size_t>(strip.first_n)], cells, strip.count_n, accumulate,
                          mask);
        });
      }
    }
  }

  /// The same with a sparse A, or with factors of blocks of A and B.
  template <class A, class B>
  void multiply_special(Cluster& cluster, bool is_exact) {
    const InstructionDescriptor& in = operands.in;
    tensor::Arithmetic how{.exact = is_exact, .k = in.k, .result = in.result};
    static thread_local std::array<B, 256> plain, with_factors;
    for (int c = 0; c < operands.group; ++c) {
      Cta& cta = alive(cluster, leader + static_cast<uint32_t>(c), "an MMA");
      for (const tensor::Descriptor& part : operands.b_parts()) tensor::check_tile(cta, part, operands.columns(), "B");
      pack_b(cta, operands, &plain[static_cast<size_t>(c * operands.columns())]);
    }
    // A position that a row omits is a zero in fast arithmetic, which must not be multiplied by an infinity.
    if constexpr (!std::is_same_v<B, tensor::Fp4Column>) {
      for (int n = 0; n < in.n && in.sparse && !how.exact; ++n) {
        const int16_t* const exponents = plain[static_cast<size_t>(n)].exponent;
        how.exact = std::find(exponents, exponents + in.k, tensor::kSpecialExponent) != exponents + in.k;
      }
    }
    const std::vector<Strip> strips = strips_of(in, operands.group, stationary, d);
    std::array<FactorCodes, 256> b_codes, known;  // of this quarter's factors; those that are in `with_factors`
    bool any_known = false;
    for (int c = 0; c < operands.group; ++c) {
      Cta& cta = checked_cta(cluster, c, strips);
      for (const Strip& strip : strips) {
        A a;
        pack_a(cta, operands, strip, &a);
        std::array<FactorCodes, tensor::kLanes> a_codes;
        tensor::Arithmetic here = how;
        bool is_wide = false;
        if (in.factors != 0) {
          const int quarter = strip.lane / 32;
          read_factors(cta, in, tmem_column(operands.a_factors), in.a_factor, quarter, strip.first_row, tensor::kLanes,
                       a_codes.data());
          read_factors(cta, in, tmem_column(operands.b_factors), in.b_factor, quarter, 0, in.n, b_codes.data());
          is_wide = in.ue8m0 && (has_wide(a_codes.data(), tensor::kLanes) || has_wide(b_codes.data(), in.n));
          if (!any_known || !std::equal(b_codes.begin(), b_codes.begin() + in.n, known.begin())) {
            std::copy_n(plain.begin(), in.n, with_factors.begin());
            for (size_t n = 0; n < static_cast<size_t>(in.n); ++n) apply_factors(in, b_codes[n], &with_factors[n]);
            known = b_codes, any_known = true;
          }
        }
        const B* const b = in.factors != 0 ? with_factors.data() : plain.data();
        for_cells(cta, c, strip, [&](uint32_t* const* cells, uint32_t mask) {
          if constexpr (std::is_same_v<A, tensor::Fp4Lanes>) {
            apply_factors(in, a_codes.data(), &a);
            here.exact |= is_wide;
            tensor::kernels().fp4_columns(here, a, b, cells, in.n, accumulate, mask);
          } else if (is_wide) {
            multiply_wide(how, a, a_codes.data(), plain.data(), b_codes.data(), cells, mask);
          } else {
            if (in.factors != 0) apply_factors(in, a_codes.data(), &a);
            if constexpr (std::is_same_v<A, tensor::DeepLaneTile>)
              tensor::kernels().deep_columns(here, a, b, cells, in.n, accumulate, mask);
            else
              tensor::kernels().columns(here, &a, b, cells, in.n, accumulate, mask);
          }
        });
      }
    }
  }

  static bool has_wide(const FactorCodes* codes, int count) {
    const auto is_wide = [](uint8_t code) { return code != 0xFF && code > 127 + kWideFactor; };
    return std::any_of(codes, codes + count,
                       [&](const FactorCodes& each) { return std::any_of(each.begin(), each.end(), is_wide); });
  }

  /// Computes one output at a time, with powers of two that would exceed the range of a product in FP32.
  template <class A, class B>
  void multiply_wide(tensor::Arithmetic how, const A& a, const FactorCodes* a_codes, const B* b,
                     const FactorCodes* b_codes, uint32_t* const* cells, uint32_t mask) const {
    how.exact = true;
    for (Mask rest = mask; rest; rest &= rest - 1) {
      const int lane = first_lane(rest);
      float values[A::kDepth];
      int16_t exponents[A::kDepth];
      for (int k = 0; k < how.k; ++k) values[k] = a.value[k][lane], exponents[k] = a.exponent[k][lane];
      for (int n = 0; n < operands.in.n; ++n) {
        const uint8_t code_a = a_codes[lane][0], code_b = b_codes[n][0];
        uint32_t& cell = cells[n][lane];
        cell = code_a == 0xFF || code_b == 0xFF ? 0x7FFF'FFFF
                                                : multiply_one(how, values, exponents, b[n].value, b[n].exponent, cell,
                                                               accumulate, code_a + code_b - 2 * 127);
      }
    }
  }

  /// Calls f(pointers to the strip's accumulators, column by column; the lanes to be written).
  template <class F>
  void for_cells(Cta& cta, int c, const Strip& strip, F f) const {
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
    f(cells, mask);
  }

  std::vector<Mma*> along_;  // later operations of the queue, executed together with this one
  bool is_done_ = false;     // together with an earlier one
};

/// The swizzles that a transposed operand can have.
void check_transposed(const tensor::Descriptor& d, Format format, const char* operand) {
  if (!d.mn_major || (d.swizzle == Swizzle::Bytes128Atom32) == (format == Format::TF32)) return;
  throw Fault{format == Format::TF32 ? faults::transposed_tf32 : faults::transposed_with_atoms, {operand}};
}

struct MmaOperands {
  TmemOperand d;
  int32_t a = -1;                              ///< slot of a descriptor, or
  TmemOperand a_tmem;                          ///< address of A in tensor memory
  int32_t b = -1;                              ///< slot of a descriptor
  TmemOperand metadata, a_factors, b_factors;  ///< if the variant has them
  int32_t instruction = -1;
  PredicateOperand accumulate;
  std::vector<int32_t> disabled;  ///< slots of masks: lanes of D that are not written
  int scale_d = 0;
  Variant variant;
  bool a_in_tmem = false;
};

/// Throws Fault unless an operand in tensor memory begins at lane 0.
uint32_t from_lane_0(uint32_t address, const char* operand, int lane) {
  if (tmem_lane(address) == 0) return address;
  throw Fault{faults::mma_operand_lane, {operand, tmem_lane(address)}, lane};
}

/// Reads the instruction's operands for one lane. Throws Fault.
Operands operands_of(Warp& w, const MmaOperands& o, int lane, uint64_t* a_bits, uint64_t* b_bits) {
  const uint32_t instruction = lanes<uint32_t>(w, o.instruction)[lane];
  Operands all;
  all.in = decode_instruction(instruction, o.variant);
  all.group = o.variant.group;
  all.a_in_tmem = o.a_in_tmem;
  if (o.a_in_tmem)
    all.a_tmem = o.a_tmem.of(w, lane);
  else
    all.a = tensor::decode_tcgen05(*a_bits = lanes<uint64_t>(w, o.a)[lane], "A");
  all.b = tensor::decode_tcgen05(*b_bits = lanes<uint64_t>(w, o.b)[lane], "B");
  all.a.mn_major = all.in.a_mn_major, all.b.mn_major = all.in.b_mn_major;
  all.a.element = tensor::element_bytes(all.in.a), all.b.element = tensor::element_bytes(all.in.b);
  if (!o.a_in_tmem)
    check_transposed(all.a, all.in.a, "A");
  else if (all.in.a_mn_major)
    bad_instruction(faults::instruction_transposes_tmem, instruction);
  else if (all.in.a != Format::E2M1x2 && tensor::stored_bits(all.in.a) < 8)
    bad_instruction(faults::instruction_small_in_tmem, instruction);
  check_transposed(all.b, all.in.b, "B");
  if (o.variant.sparse) {
    all.metadata = from_lane_0(o.metadata.of(w, lane), "the metadata", lane);
    if (all.metadata % 2 != 0) throw Fault{faults::metadata_at_odd_column, {tmem_column(all.metadata)}, lane};
    if (!all.b.mn_major && all.b.swizzle == Swizzle::Bytes32) throw Fault{faults::sparse_b_too_narrow, {}, lane};
  }
  if (all.in.factors != 0) {
    // The upper two bits name a byte of the cell, as the instruction descriptor does.
    constexpr uint32_t kPlace = 0x3FFF'FFFF;
    all.a_factors = from_lane_0(o.a_factors.of(w, lane) & kPlace, "the factors of A", lane);
    all.b_factors = from_lane_0(o.b_factors.of(w, lane) & kPlace, "the factors of B", lane);
  }
  return all;
}

/// The accesses that the order checker is notified of.
TensorAccesses accesses_of(const Mma& mma) {
  const Operands& o = mma.operands;
  TensorAccesses seen{.group = static_cast<uint32_t>(o.group), .accumulates = mma.accumulate};
  // Accumulators are the same if address and shape are equal.
  seen.accumulator = uint64_t{mma.d} << 32 | static_cast<uint64_t>(o.in.m) << 16 | static_cast<uint64_t>(o.in.n) << 2 |
                     static_cast<uint64_t>(o.group);
  for (int c = 0; c < o.group; ++c) {
    const uint32_t rank = mma.leader + static_cast<uint32_t>(c);
    const auto operand = [&](const tensor::Descriptor& descriptor, int rows) {
      for (const Range& range : tensor::tile_ranges(descriptor, 0, rows)) seen.operands.push_back({rank, range});
    };
    for (const tensor::Descriptor& part : o.b_parts()) operand(part, o.columns());
    if (!o.a_in_tmem) operand(o.a, o.rows());
    for (const Columns& each : o.sources()) {
      for (const Range& range : tensor_range(0, 128, each.first, each.count)) seen.sources.push_back({rank, range});
    }
    for (const Strip& strip : strips_of(o.in, o.group, mma.stationary, mma.d)) {
      const bool whole = strip.mask == kAllLanes;
      const int first = strip.lane + (strip.mask == 0xFFFF'0000u ? 16 : 0);
      for (const Range& range : tensor_range(first, whole ? 32 : 16, strip.column, strip.count_n))
        seen.results.push_back({rank, range});
    }
  }
  return seen;
}

Flow mma(Warp& w, const MmaOperands& o, Mask m) {
  require(w);
  Cluster& cluster = cluster_of(w);
  const int group = o.variant.group;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto mma = std::make_unique<Mma>();
    mma->operands = operands_of(w, o, lane, &mma->a_bits, &mma->b_bits);
    const InstructionDescriptor& in = mma->operands.in;
    mma->stationary = o.variant.stationary;
    if (group == 2) peer_of(*w.cta, "tcgen05.mma");
    mma->leader = leader_of(*w.cta, group);
    mma->d = o.d.of(w, lane);
    mma->accumulate = (o.accumulate.read(w) >> lane & 1) != 0;
    mma->scale_d = o.scale_d;
    const int d_lane = tmem_lane(mma->d);
    const bool layout_f = in.m / group == 64 && group == 1 && !mma->stationary;
    if ((layout_f ? d_lane & ~16 : d_lane) != 0) {
      throw Fault{mma->d == ~0u ? faults::mma_d_uninitialised
                  : layout_f    ? faults::mma_d_lane_of_half
                                : faults::mma_d_lane,
                  {d_lane},
                  lane};
    }
    for (size_t i = 0; i < o.disabled.size(); ++i) mma->disabled[i] = lanes<uint32_t>(w, o.disabled[i])[lane];

    if (cluster.watchers.want(EventKind::Tensor)) {
      TensorEvent told{.what = TensorEvent::What::Mma,
                       .cluster = cluster,
                       .warp = &w,
                       .lanes = 1u << lane,
                       .pc = w.split().pc,
                       .m = in.m,
                       .n = in.n,
                       .k = in.k,
                       .ctas = group,
                       .a_elsewhere = o.a_in_tmem,
                       .leader = mma->leader};
      TensorAccesses accesses;
      if (cluster.watchers.want(EventKind::Operands)) accesses = accesses_of(*mma), told.accesses = &accesses;
      cluster.watchers.tell(told);
    }
    // As many as of BF16: 32 bytes of K take the same time, whatever they hold.
    const uint64_t flops = 2ull * static_cast<uint64_t>(in.m == 64 ? 128 : in.m) * static_cast<uint64_t>(in.n) * 16;
    const Costs& costs = cluster.costs();
    const Latency when{.unit = &cluster.ctas[mma->leader].tensor_pipe,
                       .busy = flops / static_cast<uint64_t>(costs.mma_flops_per_cycle * group),
                       .latency = static_cast<uint64_t>(costs.mma_latency),
                       .order = &queue_of(w, lane)};
    submit(w, lane, std::move(mma), when);
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

void decode_mma(Decoder& d) {
  static constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"kind::f16", Kind::F16},          {"kind::tf32", Kind::TF32},
      {"kind::f8f6f4", Kind::F8F6F4},    {"kind::i8", Kind::I8},
      {"kind::mxf4", Kind::MXF4},        {"kind::mxf8f6f4", Kind::MXF8F6F4},
      {"kind::mxf4nvf4", Kind::MXF4NVF4}};
  MmaOperands o;
  Variant& v = o.variant;
  v.kind = d.one_of(kKinds, faults::unknown_kind);
  v.group = group_of(d);
  v.stationary = d.has("ws");
  v.sparse = d.has("sp");
  if (v.stationary) {
    if (v.sparse) d.unsupported(faults::sparse_ws);
    if (v.group == 2) d.unsupported(faults::pair_ws);
    if (d.is_vector(4) || d.count() > 5) d.unsupported(faults::masks_of_ws);
  }
  if (is_scaled(v.kind)) {
    d.ignore({"block_scale"});
    constexpr int kFactors[] = {1, 2, 4, 4};
    const int which = d.which({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16"});
    const int usual = v.kind == Kind::MXF8F6F4 ? 1 : 2;  // .block32, or no modifier
    d.ignore({"block32"});
    v.factors = which >= 0 ? kFactors[which] : usual;
  }
  size_t at = 0;
  o.d = TmemOperand::decode(d, at++);
  const Operand& a = d.operand(at);
  o.a_in_tmem = a.kind == Operand::Kind::Address;
  if (o.a_in_tmem)
    o.a_tmem = TmemOperand::decode(d, at);
  else
    o.a = d.source(a, Type::B64);
  o.b = d.source(++at, Type::B64);
  if (v.sparse) o.metadata = TmemOperand::decode(d, ++at);
  if (d.register_bits(d.operand(++at)) > 32) { d.unsupported(faults::wide_instruction_descriptor); }
  o.instruction = d.source(at++, Type::B32);
  if (is_scaled(v.kind)) {
    o.a_factors = TmemOperand::decode(d, at++);
    o.b_factors = TmemOperand::decode(d, at++);
  }
  if (at < d.count() && d.is_vector(at)) {
    o.disabled = d.sources(d.operand(at++), Type::B32);
    if (o.disabled.size() > 8) d.unsupported(faults::too_many_masks);
  }
  if (at >= d.count()) { d.unsupported(faults::enable_input_d_missing); }
  o.accumulate = d.predicate_source(d.operand(at++));
  if (at < d.count()) o.scale_d = static_cast<int>(d.immediate(at));
  d.emit<mma>(std::move(o));
}

constexpr Mnemonic kMnemonics[] = {{"tcgen05.mma", decode_mma}};
// Keeping A or B in a collector buffer only saves time.
constexpr std::string_view kIgnored[] = {"cta_group::1",      "collector::a::discard", "collector::a::fill",
                                         "collector::a::use", "collector::a::lastuse", "collector::b*"};

}  // namespace
}  // namespace tcgen05

constinit const Family families::tcgen05_mma{
    .mnemonics = tcgen05::kMnemonics, .ignored = tcgen05::kIgnored, .manner = {.alone = kNoEffect}};

}  // namespace sim
