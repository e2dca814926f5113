// ldmatrix, stmatrix, movmatrix. Each row of a matrix has 16 bytes and an address of its own, in any lane. With 16-bit
// elements a matrix has 8 rows, and in registers lane l holds row l / 4, columns 2 (l % 4) and the next.
//
// The ISA shows the layouts of 8-bit elements only in figures. The layouts here follow CUTLASS
// (Copy_Traits<SM100_U8x8_LDSM_T>, <SM100_SU4_DU8x16_x1_LDSM_N>, <SM100_U8x4_STSM_T>); its byte shuffle behind
// ldmatrix.m16n16 and public measurements on an sm_120a agree with them.
#include "exec/core/families.h"
#include "exec/memory/operand.h"

namespace sim {
namespace {

using ptx::Type;

constexpr uint32_t kRowBytes = 16;
using Row = uint8_t[kRowBytes];

/// How the elements of a matrix lie in a lane's registers.
enum class Fragment : uint8_t {
  Halves,              ///< 16 bits: two of a row
  HalvesTransposed,    ///< two of a column
  Bytes,               ///< 8 bits: four of a row (m8n16)
  BytesTransposed,     ///< four of a column, in a second register of the column eight further (m16n16)
  BytesTransposed16x8  ///< two of a column, and two of the column eight further (stmatrix's m16n8)
};

/// The byte of a matrix that corresponds to byte `i` of a lane's register `number`.
uint8_t& element(Row* rows, Fragment fragment, int lane, int number, int i) {
  const int high = lane / 4, low = lane % 4;
  switch (fragment) {
    case Fragment::Halves: return rows[high][4 * low + i];
    case Fragment::HalvesTransposed: return rows[2 * low + i / 2][2 * high + i % 2];
    case Fragment::Bytes: return rows[high][4 * low + i];
    case Fragment::BytesTransposed: return rows[4 * low + i][high + 8 * number];
    default: return rows[2 * low + i % 2][high + 8 * (i / 2)];
  }
}
uint32_t fragment_of(Row* rows, Fragment fragment, int lane, int number) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= uint32_t{element(rows, fragment, lane, number, i)} << 8 * i;
  return value;
}
void set_fragment(Row* rows, Fragment fragment, int lane, uint32_t value) {
  for (int i = 0; i < 4; ++i) element(rows, fragment, lane, 0, i) = static_cast<uint8_t>(value >> 8 * i);
}

/// Sixteen elements of so many bits, packed at the start of a row: each into the low bits of a byte, as a comment in
/// CUTLASS says of .b4x16_p64.
void unpack(Row& row, uint32_t bits) {
  Row packed;
  std::memcpy(packed, row, sizeof packed);
  for (uint32_t i = 0; i < kRowBytes; ++i) {
    const uint32_t at = i * bits, two = packed[at / 8] | uint32_t{packed[at / 8 + 1]} << 8;
    row[i] = static_cast<uint8_t>(two >> at % 8 & ((1u << bits) - 1));
  }
}

struct Matrices {
  MemoryOperand at;
  std::array<int32_t, 4> registers;
  Fragment fragment;
  uint8_t count, height;  ///< matrices, and the rows of each in memory
  uint8_t packed = 0;     ///< bits of a packed element; 0: not packed
  int registers_each = 1;
  Mask rows() const {  ///< lanes that supply addresses
    const int all = count * height;
    return all == 32 ? kAllLanes : (1u << all) - 1;
  }
};

Flow ldmatrix(Warp& w, const Matrices& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Access access;
  resolve(w, o.at, kRowBytes, o.rows(), AccessKind::Load, &access);
  Row rows[32];
  for (size_t i = 0; i < size_t{o.count} * o.height; ++i) {
    std::memcpy(rows[i], access.host[i], kRowBytes);
    if (o.packed != 0) unpack(rows[i], o.packed);
  }
  for (int j = 0; j < o.count * o.registers_each; ++j) {
    Row* const matrix = rows + j / o.registers_each * o.height;
    auto* d = lanes<uint32_t>(w, o.registers[static_cast<size_t>(j)]);
    for (int lane = 0; lane < 32; ++lane) d[lane] = fragment_of(matrix, o.fragment, lane, j % o.registers_each);
  }
  return Flow::Next;
}

Flow stmatrix(Warp& w, const Matrices& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Access access;
  resolve(w, o.at, kRowBytes, o.rows(), AccessKind::Store, &access);
  Row rows[32];
  for (size_t j = 0; j < o.count; ++j) {
    const auto* s = lanes<uint32_t>(w, o.registers[j]);
    for (int lane = 0; lane < 32; ++lane) set_fragment(rows + j * o.height, o.fragment, lane, s[lane]);
  }
  for (size_t i = 0; i < size_t{o.count} * o.height; ++i) std::memcpy(access.host[i], rows[i], kRowBytes);
  cluster_of(w).watchers.tell(StoreEvent{.cluster = cluster_of(w),
                                         .warp = &w,
                                         .is_done = true,
                                         .changed = true,
                                         .lanes = o.rows(),
                                         .host = access.host,
                                         .values = reinterpret_cast<const uint8_t*>(rows),
                                         .bytes = kRowBytes});
  note_effect(w);
  return Flow::Next;
}

/// Transposes a matrix that lies across the warp's registers.
struct MoveMatrix {
  int32_t d, a;
};
Flow movmatrix(Warp& w, const MoveMatrix& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Row rows[8];
  for (int lane = 0; lane < 32; ++lane) set_fragment(rows, Fragment::Halves, lane, lanes<uint32_t>(w, o.a)[lane]);
  for (int lane = 0; lane < 32; ++lane)
    lanes<uint32_t>(w, o.d)[lane] = fragment_of(rows, Fragment::HalvesTransposed, lane, 0);
  return Flow::Next;
}

template <bool LOADS>
void decode_matrices(Decoder& d) {
  d.ignore({"x1", "shared", "shared::cta", "b8", "b16", "b8x16"});
  const bool transposed = d.has("trans");
  Matrices o{.at = {.address = d.address(LOADS ? 1 : 0), .space = ptx::Space::Shared}, .height = 8};
  o.count = d.has("x4") ? 4 : d.has("x2") ? 2 : 1;
  if (d.has("m8n8")) {
    o.fragment = transposed ? Fragment::HalvesTransposed : Fragment::Halves;
  } else if (d.has("m8n16")) {
    o.fragment = Fragment::Bytes;
  } else if (d.has("m16n16")) {
    o.fragment = Fragment::BytesTransposed, o.height = 16, o.registers_each = 2;
  } else if (d.has("m16n8")) {
    o.fragment = Fragment::BytesTransposed16x8;
  } else {
    d.unsupported(faults::unknown_shape);
  }
  o.packed = d.has("b4x16_p64") ? 4 : d.has("b6x16_p32") ? 6 : 0;
  const auto list = d.operand(LOADS ? 0 : 1).elements;
  if (list.size() != static_cast<size_t>(o.count * o.registers_each)) d.unsupported(faults::registers_of_matrices);
  for (size_t i = 0; i < list.size(); ++i)
    o.registers[i] = LOADS ? d.destination(list[i], 4) : d.source(list[i], Type::B32);
  d.emit(LOADS ? execution<ldmatrix> : execution<stmatrix>, o);
}

void decode_movmatrix(Decoder& d) {
  d.ignore({"m8n8", "trans", "b16"});
  d.emit<movmatrix>({.d = d.destination(0, 4), .a = d.source(1, Type::B32)});
}

constexpr Mnemonic kMnemonics[] = {
    {"ldmatrix", decode_matrices<true>}, {"stmatrix", decode_matrices<false>}, {"movmatrix", decode_movmatrix}};
constexpr std::string_view kIgnored[] = {"sync", "aligned"};

}  // namespace

constinit const Family families::matrix{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Carries}};

}  // namespace sim
