// ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements. In registers, lane l holds row l / 4, columns
// 2 (l % 4) and the next; in memory each row has an address of its own, which any lane may give.
#include "exec/core/families.h"
#include "exec/memory/operand.h"

namespace sim {
namespace {

using ptx::Type;
using Tile = uint16_t[8][8];

/// The two elements of a lane, transposed or not.
uint32_t fragment(const Tile& tile, int lane, bool transposed) {
  const int r = lane / 4, c = 2 * (lane % 4);
  return transposed ? tile[c][r] | static_cast<uint32_t>(tile[c + 1][r]) << 16
                    : tile[r][c] | static_cast<uint32_t>(tile[r][c + 1]) << 16;
}
void set_fragment(Tile& tile, int lane, bool transposed, uint32_t value) {
  const int r = lane / 4, c = 2 * (lane % 4);
  (transposed ? tile[c][r] : tile[r][c]) = static_cast<uint16_t>(value);
  (transposed ? tile[c + 1][r] : tile[r][c + 1]) = static_cast<uint16_t>(value >> 16);
}

struct Matrices {
  MemoryOperand at;
  std::array<int32_t, 4> registers;
  uint8_t count;
  bool transposed;
  Mask rows() const { return count == 4 ? kAllLanes : (1u << (8 * count)) - 1; }  ///< lanes that give addresses
};

Flow ldmatrix(Warp& w, const Matrices& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Access access;
  resolve(w, o.at, 16, o.rows(), AccessKind::Load, &access);
  for (size_t j = 0; j < o.count; ++j) {
    Tile tile;
    for (size_t r = 0; r < 8; ++r) std::memcpy(tile[r], access.host[8 * j + r], 16);
    auto* d = lanes<uint32_t>(w, o.registers[j]);
    for (int lane = 0; lane < 32; ++lane) d[lane] = fragment(tile, lane, o.transposed);
  }
  return Flow::Next;
}

Flow stmatrix(Warp& w, const Matrices& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Access access;
  resolve(w, o.at, 16, o.rows(), AccessKind::Store, &access);
  Tile tiles[4];
  for (size_t j = 0; j < o.count; ++j) {
    const auto* s = lanes<uint32_t>(w, o.registers[j]);
    for (int lane = 0; lane < 32; ++lane) set_fragment(tiles[j], lane, o.transposed, s[lane]);
    for (size_t r = 0; r < 8; ++r) std::memcpy(access.host[8 * j + r], tiles[j][r], 16);
  }
  cluster_of(w).watchers.tell(StoreEvent{.cluster = cluster_of(w),
                                         .warp = &w,
                                         .is_done = true,
                                         .changed = true,
                                         .lanes = o.rows(),
                                         .host = access.host,
                                         .values = reinterpret_cast<const uint8_t*>(tiles),
                                         .bytes = sizeof tiles[0][0]});
  note_effect(w);
  return Flow::Next;
}

/// Transposes a matrix that lies across the warp's registers.
struct MoveMatrix {
  int32_t d, a;
};
Flow movmatrix(Warp& w, const MoveMatrix& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  Tile tile;
  for (int lane = 0; lane < 32; ++lane) set_fragment(tile, lane, false, lanes<uint32_t>(w, o.a)[lane]);
  for (int lane = 0; lane < 32; ++lane) lanes<uint32_t>(w, o.d)[lane] = fragment(tile, lane, true);
  return Flow::Next;
}

template <bool LOADS>
void decode_matrices(Decoder& d) {
  d.ignore({"x1", "shared", "shared::cta"});
  if (!d.has("m8n8")) d.unsupported("only m8n8 matrices of 16-bit elements");
  if (d.last_type() != Type::B16) d.unsupported("only .b16 elements");
  const int count = d.has("x4") ? 4 : d.has("x2") ? 2 : 1;
  Matrices o{};
  o.at = {.address = d.address(LOADS ? 1 : 0), .space = ptx::Space::Shared};
  o.count = static_cast<uint8_t>(count);
  o.transposed = d.has("trans");
  const auto list = d.operand(LOADS ? 0 : 1).elements;
  if (list.size() != o.count) d.unsupported("the number of registers does not match the number of matrices");
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

constinit const Family families::matrix{kMnemonics, kIgnored};

}  // namespace sim
