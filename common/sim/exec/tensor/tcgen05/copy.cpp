// tcgen05.cp: shared memory to tensor memory.
#include "exec/core/families.h"
#include "exec/core/submit.h"
#include "exec/tensor/descriptor.h"
#include "exec/tensor/tcgen05/group.h"

namespace sim {
namespace tcgen05 {
namespace {

/// The lanes of tensor memory that get a row. The ISA does not specify them for 4x256b: row i goes to the i-th quarter,
/// into the lane that the address names there, according to TVM's published tests and to observations of Triton users
/// on hardware.
enum class Spread : uint8_t { None, Warpx4, Warpx2_02_13, Warpx2_01_23, Quarters };
struct Shape {
  int rows, bytes;  ///< bytes of a row
};
struct CopyOperands {
  TmemOperand to;
  int32_t source = -1;  ///< slot of a descriptor
  Shape shape{};
  uint8_t packed = 0;  ///< bits of the source's elements, sixteen in 16 bytes; 0: not unpacked
  Spread spread = Spread::None;
  int group = 1;
};

/// Unpacks 16 bytes that begin with sixteen packed elements to a byte for each. Elements of four bits go to bits 5 to
/// 2, where the tensor cores read FP4 in bytes; those of six bits to the low bits. The ISA shows this in figures only;
/// the code follows TVM's published tests.
void unpack(uint8_t* bytes, uint32_t bits) {
  uint8_t packed[16];
  std::memcpy(packed, bytes, sizeof packed);
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t at = i * bits, two = packed[at / 8] | uint32_t{packed[at / 8 + 1]} << 8;
    const uint32_t element = two >> at % 8 & ((1u << bits) - 1);
    bytes[i] = static_cast<uint8_t>(bits == 4 ? element << 2 : element);
  }
}

class TmemCopy final : public AsyncOperation {
 public:
  const CopyOperands* operands = nullptr;
  uint32_t rank = 0, address = 0;
  tensor::Descriptor source;

  void complete(Cluster& cluster) override {
    const CopyOperands& o = *operands;
    for (int c = 0; c < o.group; ++c) {
      Cta& cta = cluster.ctas[rank + static_cast<uint32_t>(c)];
      if (cta.exited) throw Fault{faults::tensor_copy_after_exit, {cta.rank}};
      const int words = o.shape.bytes / 4, column0 = tmem_column(address);
      if (!cta.tmem.allocated(column0, words)) throw Fault{faults::tensor_copy_not_allocated, {cta.tmem.describe()}};
      tensor::check_tile(cta, source, o.shape.rows, "tcgen05.cp");
      for (int row = 0; row < o.shape.rows; ++row) {
        uint8_t bytes[32];
        tensor::read_row(cta, source, row, bytes);
        for (int i = 0; i < o.shape.bytes && o.packed != 0; i += 16) unpack(bytes + i, o.packed);
        for (const int lane : lanes_of(row)) {
          for (int word = 0; word < words; ++word)
            std::memcpy(&cta.tmem.column(column0 + word)[lane], bytes + 4 * word, 4);
        }
      }
    }
    ++cluster.changes;
  }
  std::string describe() const override { return "tcgen05.cp"; }

 private:
  std::vector<int> lanes_of(int row) const {
    switch (operands->spread) {
      case Spread::Warpx4: return {row, 32 + row, 64 + row, 96 + row};
      case Spread::Warpx2_02_13: return {row, 64 + row};
      case Spread::Quarters: return {tmem_lane(address) + 32 * row};
      case Spread::Warpx2_01_23: return {row % 32 + 64 * (row / 32), row % 32 + 64 * (row / 32) + 32};
      case Spread::None: break;
    }
    return {row};
  }
};

/// The lanes that a copy writes, as ranges of tensor memory.
std::vector<Range> written(const CopyOperands& o, uint32_t address) {
  const int column = tmem_column(address), words = o.shape.bytes / 4;
  if (o.spread != Spread::Quarters) return tensor_range(0, 128, column, words);
  std::vector<Range> ranges;
  for (int row = 0; row < o.shape.rows; ++row) {
    for (const Range& range : tensor_range(tmem_lane(address) + 32 * row, 1, column, words)) ranges.push_back(range);
  }
  return ranges;
}

Flow copy(Warp& w, const CopyOperands& o, Mask m) {
  require(w);
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto copy = std::make_unique<TmemCopy>();
    copy->operands = &o;
    if (o.group == 2) peer_of(*w.cta, "tcgen05.cp");
    copy->rank = leader_of(*w.cta, o.group);
    copy->address = o.to.of(w, lane);
    if (o.spread == Spread::Quarters && tmem_lane(copy->address) > 31) {
      throw Fault{faults::tensor_copy_lane, {tmem_lane(copy->address)}, lane};
    }
    copy->source = tensor::decode_tcgen05(lanes<uint64_t>(w, o.source)[lane], "tcgen05.cp");
    copy->source.k_bytes = o.shape.bytes;
    if (cluster.watchers.want(EventKind::Operands)) {
      TensorAccesses seen{.group = static_cast<uint32_t>(o.group), .result = Role::TensorCopy, .accumulates = false};
      for (int c = 0; c < o.group; ++c) {
        const uint32_t rank = copy->rank + static_cast<uint32_t>(c);
        for (const Range& range : tensor::tile_ranges(copy->source, 0, o.shape.rows))
          seen.operands.push_back({rank, range});
        for (const Range& range : written(o, copy->address)) seen.results.push_back({rank, range});
      }
      tell_moved(w, lane, seen);
    }
    const Latency when = latency_of_move(w, lane, copy->rank);
    submit(w, lane, std::move(copy), when);
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

void decode_copy(Decoder& d) {
  static constexpr std::pair<std::string_view, Shape> kShapes[] = {{"128x256b", {128, 32}},
                                                                   {"4x256b", {4, 32}},
                                                                   {"128x128b", {128, 16}},
                                                                   {"64x128b", {64, 16}},
                                                                   {"32x128b", {32, 16}}};
  CopyOperands o;
  o.group = group_of(d);
  o.shape = d.one_of(kShapes, faults::unknown_shape);
  o.spread = static_cast<Spread>(1 + d.which({"warpx4", "warpx2::02_13", "warpx2::01_23", "4x256b"}));
  o.packed = d.has("b4x16_p64") ? 4 : d.has("b6x16_p32") ? 6 : 0;
  o.to = TmemOperand::decode(d, 0);
  o.source = d.source(1, ptx::Type::B64);
  d.emit<copy>(o);
}

constexpr Mnemonic kMnemonics[] = {{"tcgen05.cp", decode_copy}};
constexpr std::string_view kIgnored[] = {"cta_group::1", "b8x16"};

}  // namespace
}  // namespace tcgen05

constinit const Family families::tcgen05_copy{tcgen05::kMnemonics, tcgen05::kIgnored};

}  // namespace sim
