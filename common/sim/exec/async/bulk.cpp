// TMA: bulk copies and reductions, tensor copies, prefetches, groups, st.async and red.async, tensor-map editing,
// cluster launch control.
#include <algorithm>
#include <array>
#include <cmath>

#include "check/store_audit.h"
#include "exec/arithmetic/numeric.h"
#include "exec/async/groups.h"
#include "exec/core/access.h"
#include "exec/core/decoder.h"
#include "machine/tensor_map.h"
#include "timing/counters.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

// ---- tensor geometry

int span_bytes(const TensorMap& map) {
  switch (map.swizzle) {
    case 1: return 32;
    case 2: return 64;
    case 3:
    case 4: return 128;
    default: return 0;
  }
}
uint32_t swizzled(uint8_t mode, uint32_t address) {
  switch (mode) {
    case 1: return address ^ (address >> 3 & 0x10);
    case 2: return address ^ (address >> 3 & 0x30);
    case 3: return address ^ (address >> 3 & 0x70);
    case 4: return address ^ (address >> 2 & 0x60);  // 128 bytes with 32-byte atoms: bits 6:5 ^= bits 8:7
    default: return address;
  }
}

/// The tensor and the box of one instruction.
struct Box {
  TensorMap map;
  std::array<int64_t, 5> coordinate{};
  std::array<uint32_t, 5> count{};                       ///< elements per dimension: ceil(box / element stride)
  uint32_t inner_bytes = 0;                              ///< of one row of the box
  uint32_t pitch = 0;                                    ///< bytes from row to row in shared memory
  uint32_t rows = 0;                                     ///< product of the outer counts
  uint32_t bytes() const { return inner_bytes * rows; }  ///< what an mbarrier counts
  uint32_t footprint() const { return map.swizzle == 0 ? bytes() : rows * pitch; }  ///< bytes between which it lies
};

Box make_box(Cluster& cluster, uint64_t map_address, const std::array<int64_t, 5>& coordinate, size_t dimensions,
             bool is_store) {
  Box box;
  const uint8_t* from = nullptr;
  if (in_param_window(map_address)) {
    const uint64_t offset = map_address & ~kWindowMask;
    const auto& parameters = cluster.launch->parameters;
    if (offset + sizeof(TensorMap) > parameters.size())
      throw Fault{Status::IllegalAddress, "the tensor map lies outside the kernel's parameters"};
    if (offset % 64 != 0)
      throw Fault{Status::MisalignedAddress,
                  "a tensor map must be 64-byte aligned; this one is at offset " + hex(offset) + " of the parameters"};
    from = parameters.data() + offset;
  } else if (in_shared_window(map_address) || in_local_window(map_address)) {
    throw Fault{Status::IllegalInstruction,
                "a tensor map must lie in the kernel's parameters (__grid_constant__), in constant or in global "
                "memory; this one is a copy on the stack or in shared memory"};
  } else {
    from = global_location(cluster, map_address, sizeof(TensorMap), 64, false, "reading a tensor map");
  }
  std::memcpy(&box.map, from, sizeof box.map);
  if (box.map.magic != TensorMap::MAGIC)
    throw Fault{Status::IllegalInstruction,
                "the 128 bytes at " + hex(map_address) + " are not a tensor map made by cuTensorMapEncodeTiled"};
  if (box.map.rank != dimensions) {
    throw Fault{Status::IllegalInstruction, "the instruction names " + std::to_string(dimensions) +
                                                " coordinates, but the tensor map has rank " +
                                                std::to_string(box.map.rank)};
  }
  if (box.map.interleave != 0)
    throw Fault{Status::IllegalInstruction, "interleaved tensor maps are not supported by the simulated device"};
  if (box.map.swizzle > 4)
    throw Fault{Status::IllegalInstruction, "this swizzle mode (CUtensorMapSwizzle " + std::to_string(box.map.swizzle) +
                                                ") is not supported by the simulated device"};
  box.coordinate = coordinate;
  box.rows = 1;
  for (size_t i = 0; i < dimensions; ++i) {
    const uint32_t stride = i == 0 ? 1 : box.map.element_strides[i];
    box.count[i] = (box.map.box[i] + stride - 1) / stride;
    if (i > 0) box.rows *= box.count[i];
    if (is_store && coordinate[i] < 0) {
      throw Fault{Status::IllegalInstruction, "a TMA store at the negative coordinate " +
                                                  std::to_string(coordinate[i]) + " (dimension " + std::to_string(i) +
                                                  "): only loads may start outside"};
    }
  }
  box.inner_bytes = box.count[0] * box.map.element_bytes;
  const auto span = static_cast<uint32_t>(span_bytes(box.map));
  box.pitch = span > box.inner_bytes ? span : box.inner_bytes;
  if ((coordinate[0] * box.map.element_bytes) % 16 != 0) {
    throw Fault{Status::IllegalInstruction, "the innermost coordinate " + std::to_string(coordinate[0]) + " is " +
                                                std::to_string(coordinate[0] * box.map.element_bytes) +
                                                " bytes, but TMA needs a multiple of 16 bytes"};
  }
  return box;
}

/// Calls f(row's global address or 0 if the row lies outside, shared offset of the row, first valid byte, end of valid
/// bytes) for every row of the box. Valid bytes are relative to the row's start in the box.
template <class F>
void for_rows(const Box& box, F f) {
  const TensorMap& map = box.map;
  const int64_t start = box.coordinate[0] * map.element_bytes;
  const int64_t width = (int64_t{map.dims_minus_1[0]} + 1) * map.element_bytes;
  const int64_t first = std::max<int64_t>(0, -start), last = std::min<int64_t>(box.inner_bytes, width - start);
  std::array<uint32_t, 5> at{};
  for (uint32_t row = 0; row < box.rows; ++row) {
    bool inside = true;
    int64_t address = static_cast<int64_t>(map.address) + start;
    for (size_t i = 1; i < map.rank; ++i) {
      const int64_t x = box.coordinate[i] + int64_t{at[i]} * map.element_strides[i];
      inside &= x >= 0 && x <= int64_t{map.dims_minus_1[i]};
      address += x * static_cast<int64_t>(map.strides[i - 1]);
    }
    f(inside ? static_cast<uint64_t>(address) : 0, row * box.pitch, first, last);
    for (size_t i = 1; i < map.rank; ++i) {
      if (++at[i] < box.count[i]) break;
      at[i] = 0;
    }
  }
}

void fill_outside(const TensorMap& map, uint8_t* bytes, size_t count) {
  if (map.oob_fill == 0) {
    std::memset(bytes, 0, count);
    return;
  }
  // The NaN that TMA fills with (BF16: 0x7FF7, measured).
  for (size_t i = 0; i < count; i += map.element_bytes) {
    const uint64_t nan = map.element_bytes == 2 ? 0x7FF7 : map.element_bytes == 4 ? 0x7FF7'FFFF : 0x7FF7'FFFF'FFFF'FFFF;
    std::memcpy(bytes + i, &nan, std::min<size_t>(map.element_bytes, count - i));
  }
}

/// Copies 16-byte chunks between a row buffer and swizzled shared memory.
template <bool TO_SHARED>
void move_row(Cta& cta, uint8_t swizzle, uint32_t offset, uint8_t* row, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 16) {
    uint8_t* shared = cta.smem.data() + swizzled(swizzle, offset + i);
    const uint32_t n = std::min(16u, bytes - i);
    if constexpr (TO_SHARED)
      std::memcpy(shared, row + i, n);
    else
      std::memcpy(row + i, shared, n);
  }
}

/// All of [offset, offset + bytes) must be the CTA's, aligned, and free of mbarriers.
Cta& check_target(Cluster& cluster, uint32_t rank, uint32_t offset, uint32_t bytes, uint32_t align, const char* what) {
  if (rank >= cluster.ctas.size())
    throw Fault{Status::IllegalAddress,
                std::string(what) + ": CTA rank " + std::to_string(rank) + " does not exist in this cluster"};
  Cta& cta = cluster.ctas[rank];
  shared_location(cluster, cta, rank << kSharedRankShift | offset, bytes, align, true, what);
  if (offset + bytes > cta.barrier_low && offset < cta.barrier_high) {
    for (uint32_t slot = offset / 8; slot < (offset + bytes + 7) / 8; ++slot) {
      if (cta.barrier_index[slot] != 0)
        throw Fault{Status::LaunchFailure,
                    std::string(what) + " over a live mbarrier at shared offset " + hex(slot * 8)};
    }
  }
  return cta;
}

void mark_layout(Cta& cta, uint32_t offset, uint32_t bytes, uint8_t layout) {
  if (cta.layout.empty()) {
    if (layout == kLayoutUnknown) return;
    cta.layout.assign(cta.smem.size() / 128 + 1, kLayoutUnknown);
  }
  std::fill(cta.layout.begin() + offset / 128, cta.layout.begin() + (offset + bytes + 127) / 128, layout);
}

/// Where a load's completion is counted: for each destination, the CTA whose mbarrier (at `offset`) is credited.
struct Credit {
  uint32_t destination, barrier_rank;
};

std::vector<Credit> credits_of(Warp& w, uint32_t destination, uint32_t barrier, bool multicast, uint32_t mask,
                               bool pair, int lane) {
  std::vector<Credit> credits;
  const uint32_t barrier_rank = barrier >> kSharedRankShift;
  if (multicast) {
    for (uint32_t rank = 0; rank < 16; ++rank) {
      if (!(mask >> rank & 1)) continue;
      // cta_group::2: the CTA of the pair with the parity of the one that owns the named barrier.
      credits.push_back({rank, pair ? (rank & ~1u) | (barrier_rank & 1) : rank});
    }
    if (credits.empty()) throw Fault{Status::IllegalInstruction, "a multicast with an empty CTA mask", lane};
    return credits;
  }
  if (pair ? (barrier_rank >> 1) != (destination >> 1) : barrier_rank != destination) {
    throw Fault{Status::LaunchFailure,
                "the mbarrier is in CTA " + std::to_string(barrier_rank) + ", the destination in CTA " +
                    std::to_string(destination) +
                    (pair ? ": with .cta_group::2 both must be in one pair"
                          : ": without .cta_group::2 both must be in the same CTA"),
                lane};
  }
  (void)w;
  credits.push_back({destination, barrier_rank});
  return credits;
}

// ---- operations

/// Drops the copy into memory of the CTA that started it and has left without waiting: hardware lets that pass,
/// although a later CTA may find the bytes in its own memory. Returns whether any destination is left.
bool forgive_early_exit(Cluster& cluster, const Origin& origin, std::vector<Credit>* credits) {
  if (!cluster.launch->lenient || !cluster.ctas[origin.cta_rank].exited) return true;
  const auto dropped =
      std::erase_if(*credits, [&](const Credit& credit) { return credit.destination == origin.cta_rank; });
  if (dropped == 0) return true;
  const Fault early{Status::LaunchFailure,
                    "CTA " + std::to_string(origin.cta_rank) +
                        " has exited before a copy into its shared memory was complete: it must wait for its copies"};
  cluster.scheduler->remark(early, nullptr, &origin);
  return !credits->empty();
}

class TensorLoad final : public AsyncOperation {
 public:
  Box box;
  uint32_t offset, barrier;
  std::vector<Credit> credits;
  void complete(Cluster& cluster) override {
    if (!forgive_early_exit(cluster, origin, &credits)) return;
    std::array<uint8_t, 256 * 16> row;
    for (const Credit& credit : credits)
      check_target(cluster, credit.destination, offset, box.footprint(), 128, "TMA load");
    for_rows(box, [&](uint64_t address, uint32_t at, int64_t first, int64_t last) {
      if (address == 0 || last <= first) {
        fill_outside(box.map, row.data(), box.inner_bytes);
      } else {
        if (first > 0) fill_outside(box.map, row.data(), static_cast<size_t>(first));
        std::memcpy(row.data() + first,
                    global_location(cluster, address + static_cast<uint64_t>(first),
                                    static_cast<uint64_t>(last - first), 1, false, "TMA load"),
                    static_cast<size_t>(last - first));
        if (last < box.inner_bytes)
          fill_outside(box.map, row.data() + last, box.inner_bytes - static_cast<size_t>(last));
      }
      for (const Credit& credit : credits)
        move_row<true>(cluster.ctas[credit.destination], box.map.swizzle, offset + at, row.data(), box.inner_bytes);
    });
    ++cluster.changes;
    for (const Credit& credit : credits) {
      mark_layout(cluster.ctas[credit.destination], offset, box.footprint(), static_cast<uint8_t>(box.map.swizzle + 1));
      apply(cluster, credit.barrier_rank, barrier, BarrierEffect::CompleteTx, box.bytes(), origin, true);
    }
  }
  std::string describe() const override { return "TMA load of " + with_commas(box.bytes()) + " bytes"; }
};

/// Overwrites what a copy in flight may already have destroyed.
void poison(Cta& cta, uint32_t offset, uint32_t bytes) { std::memset(cta.smem.data() + offset, 0xFF, bytes); }
void poison(Cta& cta, uint32_t offset, const Box& box) {
  if (box.pitch == box.inner_bytes) return poison(cta, offset, box.footprint());
  std::array<uint8_t, 128> row;  // of a box that is narrower than its swizzle: what lies between the rows stays
  row.fill(0xFF);
  for (uint32_t i = 0; i < box.rows; ++i)
    move_row<true>(cta, box.map.swizzle, offset + i * box.pitch, row.data(), box.inner_bytes);
}

enum class Reduction : uint8_t { None, Add, Min, Max, Inc, Dec, And, Or, Xor };

/// Combines `bytes` of source into destination, element by element.
void reduce(uint8_t* to, const uint8_t* from, size_t bytes, Reduction how, Type type) {
  const auto each = [&]<class T>(T) {
    for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
      T old, value;
      std::memcpy(&old, to + i, sizeof old);
      std::memcpy(&value, from + i, sizeof value);
      T fresh = value;
      switch (how) {
        case Reduction::Add: fresh = static_cast<T>(old + value); break;
        case Reduction::Min: fresh = std::min(old, value); break;
        case Reduction::Max: fresh = std::max(old, value); break;
        default: break;
      }
      if constexpr (std::is_integral_v<T>) {
        switch (how) {
          case Reduction::Inc: fresh = old >= value ? T{0} : static_cast<T>(old + 1); break;
          case Reduction::Dec: fresh = old == 0 || old > value ? value : static_cast<T>(old - 1); break;
          case Reduction::And: fresh = static_cast<T>(old & value); break;
          case Reduction::Or: fresh = static_cast<T>(old | value); break;
          case Reduction::Xor: fresh = static_cast<T>(old ^ value); break;
          default: break;
        }
      }
      std::memcpy(to + i, &fresh, sizeof fresh);
    }
  };
  const auto half = [&](auto widen, auto narrow) {
    for (size_t i = 0; i + 2 <= bytes; i += 2) {
      uint16_t old, value;
      std::memcpy(&old, to + i, 2);
      std::memcpy(&value, from + i, 2);
      const float x = widen(old), y = widen(value);
      const uint16_t fresh = narrow(how == Reduction::Add   ? x + y
                                    : how == Reduction::Min ? std::fmin(x, y)
                                                            : std::fmax(x, y));
      std::memcpy(to + i, &fresh, 2);
    }
  };
  switch (type) {
    case Type::U32:
    case Type::B32: each(uint32_t{}); break;
    case Type::S32: each(int32_t{}); break;
    case Type::U64:
    case Type::B64: each(uint64_t{}); break;
    case Type::S64: each(int64_t{}); break;
    case Type::F32: each(float{}); break;
    case Type::F64: each(double{}); break;
    case Type::F16: half(f16_to_float, float_to_f16_rn); break;
    case Type::BF16: half(bf16_to_float, float_to_bf16_rn); break;
    default: throw Fault{Status::IllegalInstruction, "a reduction of a type that is not supported"};
  }
}
Type type_of_map(const TensorMap& map) {  // CUtensorMapDataType
  switch (map.data_type) {
    case 2: return Type::U32;
    case 3: return Type::S32;
    case 4: return Type::U64;
    case 5: return Type::S64;
    case 6: return Type::F16;
    case 7:
    case 10: return Type::F32;
    case 8: return Type::F64;
    case 9: return Type::BF16;
    default: return Type::None;
  }
}
Reduction reduction_of(Decoder& d) {
  static constexpr std::pair<const char*, Reduction> kNames[] = {
      {"add", Reduction::Add}, {"min", Reduction::Min}, {"max", Reduction::Max}, {"inc", Reduction::Inc},
      {"dec", Reduction::Dec}, {"and", Reduction::And}, {"or", Reduction::Or},   {"xor", Reduction::Xor}};
  for (const auto& [name, how] : kNames) {
    if (d.has(name)) return how;
  }
  d.unsupported("the reduction is unknown");
}

/// The second half of a store: what was read from shared memory becomes visible in global memory.
class BulkWrite final : public AsyncOperation {
 public:
  struct Piece {
    uint64_t to;
    uint32_t at, bytes;
  };
  std::vector<Piece> pieces;
  std::vector<uint8_t> data;
  Reduction how = Reduction::None;
  Type type = Type::None;
  Warp* warp = nullptr;
  int lane = 0;
  uint64_t group = 0;
  uint64_t byte_mask = ~0ull;  // .cp_mask: which of each 16 bytes are written
  void complete(Cluster& cluster) override {
    uint64_t total = 0;
    for (const Piece& piece : pieces) {
      uint8_t* to = global_location(cluster, piece.to, piece.bytes, 1, true, "TMA store");
      const uint8_t* from = data.data() + piece.at;
      if (cluster.launch->audit != nullptr && how == Reduction::None) {
        cluster.launch->audit->record(*cluster.launch->memory, piece.to, from, piece.bytes, *cluster.counters);
      }
      if (how != Reduction::None) {
        reduce(to, from, piece.bytes, how, type);
      } else if (byte_mask == ~0ull) {
        std::memcpy(to, from, piece.bytes);
      } else {
        for (uint32_t i = 0; i < piece.bytes; ++i)
          if (byte_mask >> (i % 16) & 1) to[i] = from[i];
      }
      total += piece.bytes;
    }
    if (cluster.counters != nullptr) cluster.counters->tma_store_bytes += total;
    ++cluster.changes;
    finish_bulk_write(*warp, lane, group);
    wake_bulk_waiters(*warp);
  }
  std::string describe() const override { return "TMA store: write of " + with_commas(data.size()) + " bytes"; }
};

void submit_write(Cluster& cluster, std::unique_ptr<BulkWrite> write, Cta& cta) {
  const uint64_t busy = write->data.size() / static_cast<uint64_t>(cluster.costs().tma_bytes_per_cycle);
  cluster.scheduler->submit(
      std::move(write),
      {.unit = &cta.store_pipe, .busy = busy, .latency = static_cast<uint64_t>(cluster.costs().tma_store_latency)});
}

/// The first half: reads the source in shared memory.
/// Where a store of this CTA reads. A CTA that has left without waiting was remarked upon then; its memory is still
/// there.
const uint8_t* store_source(Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, uint32_t align,
                            const char* what) {
  if (cta.exited && cluster.launch->lenient) return cta.smem.data() + offset;
  return shared_location(cluster, cta, cta.rank << kSharedRankShift | offset, bytes, align, true, what);
}

class TensorStore final : public AsyncOperation {
 public:
  Box box;
  uint32_t offset;
  Reduction how = Reduction::None;
  Warp* warp = nullptr;
  uint64_t group = 0;
  void complete(Cluster& cluster) override {
    Cta& cta = *warp->cta;
    store_source(cluster, cta, offset, box.footprint(), 128, "TMA store");
    auto write = std::make_unique<BulkWrite>();
    write->origin = origin, write->warp = warp, write->lane = origin.lane, write->group = group;
    write->how = how, write->type = type_of_map(box.map);
    write->data.resize(box.bytes());
    uint32_t at = 0;
    for_rows(box, [&](uint64_t address, uint32_t shared, int64_t first, int64_t last) {
      move_row<false>(cta, box.map.swizzle, offset + shared, write->data.data() + at, box.inner_bytes);
      // A ragged end is written up to the next 16 bytes, as measured; rows are clipped exactly.
      const int64_t end = std::min<int64_t>((last + 15) / 16 * 16, box.inner_bytes);
      if (address != 0 && last > first)
        write->pieces.push_back({address + static_cast<uint64_t>(first), at + static_cast<uint32_t>(first),
                                 static_cast<uint32_t>(end - first)});
      at += box.inner_bytes;
    });
    finish_bulk_read(*warp, origin.lane, group);
    wake_bulk_waiters(*warp);
    submit_write(cluster, std::move(write), cta);
  }
  std::string describe() const override { return "TMA store: read of " + with_commas(box.bytes()) + " bytes"; }
};

class BulkStore final : public AsyncOperation {  // shared::cta -> global
 public:
  uint32_t offset, bytes;
  uint64_t to;
  Reduction how = Reduction::None;
  Type type = Type::None;
  uint64_t byte_mask = ~0ull;
  Warp* warp = nullptr;
  uint64_t group = 0;
  void complete(Cluster& cluster) override {
    Cta& cta = *warp->cta;
    const uint8_t* from = store_source(cluster, cta, offset, bytes, 16, "bulk store");
    auto write = std::make_unique<BulkWrite>();
    write->origin = origin, write->warp = warp, write->lane = origin.lane, write->group = group;
    write->how = how, write->type = type, write->byte_mask = byte_mask;
    write->data.assign(from, from + bytes);
    write->pieces.push_back({to, 0, bytes});
    finish_bulk_read(*warp, origin.lane, group);
    wake_bulk_waiters(*warp);
    submit_write(cluster, std::move(write), cta);
  }
  std::string describe() const override { return "bulk store of " + with_commas(bytes) + " bytes"; }
};

class BulkLoad final : public AsyncOperation {  // global, or another CTA's shared memory, -> shared
 public:
  uint32_t offset, bytes, barrier;
  bool from_shared = false;
  uint64_t from = 0;  // global address, or shared address of this CTA
  Reduction how = Reduction::None;
  Type type = Type::None;
  std::vector<Credit> credits;
  void complete(Cluster& cluster) override {
    if (!forgive_early_exit(cluster, origin, &credits)) return;
    const uint8_t* source = from_shared ? shared_location(cluster, cluster.ctas[from >> kSharedRankShift],
                                                          static_cast<uint32_t>(from), bytes, 16, true, "bulk copy")
                                        : global_location(cluster, from, bytes, 16, false, "bulk copy");
    for (const Credit& credit : credits) {
      Cta& cta = check_target(cluster, credit.destination, offset, bytes, 16, "bulk copy");
      if (how == Reduction::None)
        std::memcpy(cta.smem.data() + offset, source, bytes);
      else
        reduce(cta.smem.data() + offset, source, bytes, how, type);
      mark_layout(cta, offset, bytes, kLayoutUnknown);
      apply(cluster, credit.barrier_rank, barrier, BarrierEffect::CompleteTx, bytes, origin, true);
    }
    ++cluster.changes;
  }
  std::string describe() const override { return "bulk copy of " + with_commas(bytes) + " bytes"; }
};

// ---- instructions
// extra->list: coordinate slots; a: destination or source in shared memory, b: tensor map or global address, c:
// mbarrier, e: multicast mask or size; imm packs nothing: offsets are in extra->list2 (shared, global or map, barrier).

enum Flags : uint32_t {
  kSharedWide = 1,
  kBarrierWide = 2,
  kMulticast = 4,
  kPair = 8,
  kOwnOnly = 16,
  kReadOnly = 32,
  kFromShared = 64,
  kCpMask = 128
};

uint32_t shared_operand(Warp& w, int32_t slot, bool wide, int32_t offset, int lane, const char* what) {
  const uint64_t base = wide ? lanes<uint64_t>(w, slot)[lane] : lanes<uint32_t>(w, slot)[lane];
  return to_shared(base + static_cast<uint64_t>(int64_t{offset}), what);
}
std::array<int64_t, 5> coordinates(Warp& w, const Op& op, int lane) {
  std::array<int64_t, 5> result{};
  for (size_t i = 0; i < op.extra->list.size(); ++i) result[i] = lanes<int32_t>(w, op.extra->list[i])[lane];
  return result;
}

Flow tensor_load(Warp& w, const Op& op, Mask m) {
  Cluster& cluster = cluster_of(w);
  const auto& offsets = op.extra->list2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t to = shared_operand(w, op.a, op.flags & kSharedWide, offsets[0], lane, "TMA load");
    const uint32_t barrier = shared_operand(w, op.c, op.flags & kBarrierWide, offsets[2], lane, "TMA load's mbarrier");
    if ((op.flags & kOwnOnly) && to >> kSharedRankShift != w.cta->rank)
      throw Fault{Status::IllegalInstruction, "a .shared::cta destination must be in this CTA", lane};
    auto load = std::make_unique<TensorLoad>();
    load->box = make_box(cluster, lanes<uint64_t>(w, op.b)[lane] + static_cast<uint64_t>(int64_t{offsets[1]}),
                         coordinates(w, op, lane), op.extra->list.size(), false);
    load->offset = to & kSharedOffsetMask;
    load->barrier = barrier & kSharedOffsetMask;
    const uint32_t mask = op.flags & kMulticast ? lanes<uint32_t>(w, op.e)[lane] & 0xFFFF : 0;
    load->credits = credits_of(w, to >> kSharedRankShift, barrier, op.flags & kMulticast, mask, op.flags & kPair, lane);
    load->origin = origin_of(w, lane);
    for (const Credit& credit : load->credits) {
      Cta& target = check_target(cluster, credit.destination, load->offset, load->box.footprint(), 128, "TMA load");
      poison(target, load->offset, load->box);
    }
    if (cluster.counters != nullptr) {
      cluster.counters->count_tma_load(static_cast<uint64_t>(load->box.bytes()), load->credits.size());
    }
    const Costs& costs = cluster.costs();
    const uint64_t busy = std::max<uint64_t>(static_cast<uint64_t>(costs.tma_issue),
                                             load->box.bytes() / static_cast<uint64_t>(costs.tma_bytes_per_cycle));
    cluster.scheduler->submit(
        std::move(load),
        {.unit = &w.cta->load_pipe, .busy = busy, .latency = static_cast<uint64_t>(costs.tma_load_latency)});
  }
  note_effect(w);
  return Flow::Next;
}

Flow tensor_store(Warp& w, const Op& op, Mask m) {
  Cluster& cluster = cluster_of(w);
  const auto& offsets = op.extra->list2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto store = std::make_unique<TensorStore>();
    store->box = make_box(cluster, lanes<uint64_t>(w, op.b)[lane] + static_cast<uint64_t>(int64_t{offsets[1]}),
                          coordinates(w, op, lane), op.extra->list.size(), true);
    const uint32_t from = shared_operand(w, op.a, op.flags & kSharedWide, offsets[0], lane, "TMA store");
    shared_location(cluster, *w.cta, from, store->box.footprint(), 128, true, "TMA store");
    store->offset = from & kSharedOffsetMask;
    store->how = static_cast<Reduction>(op.shape[0]);
    store->warp = &w;
    store->origin = origin_of(w, lane);
    store->group = begin_bulk(w, lane);
    if (cluster.counters != nullptr) ++cluster.counters->tma_instructions;
    const uint64_t busy = store->box.bytes() / static_cast<uint64_t>(cluster.costs().tma_bytes_per_cycle);
    cluster.scheduler->submit(
        std::move(store),
        {.unit = &w.cta->store_pipe, .busy = busy, .latency = static_cast<uint64_t>(cluster.costs().tma_issue)});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

Flow tensor_prefetch(Warp& w, const Op& op, Mask m) {
  const auto& offsets = op.extra->list2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    make_box(cluster_of(w), lanes<uint64_t>(w, op.b)[lane] + static_cast<uint64_t>(int64_t{offsets[1]}),
             coordinates(w, op, lane), op.extra->list.size(), false);
  }
  return Flow::Next;
}

void check_bulk_size(uint32_t bytes, int lane) {
  if (bytes % 16 != 0)
    throw Fault{Status::MisalignedAddress,
                "a bulk copy of " + std::to_string(bytes) + " bytes: the size must be a multiple of 16", lane};
}

Flow bulk_load(Warp& w, const Op& op, Mask m) {  // d: slot of the size
  Cluster& cluster = cluster_of(w);
  const auto& offsets = op.extra->list2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t to = shared_operand(w, op.a, op.flags & kSharedWide, offsets[0], lane, "bulk copy");
    const uint32_t barrier = shared_operand(w, op.c, op.flags & kBarrierWide, offsets[2], lane, "bulk copy's mbarrier");
    auto load = std::make_unique<BulkLoad>();
    load->bytes = lanes<uint32_t>(w, op.d)[lane];
    check_bulk_size(load->bytes, lane);
    if (load->bytes == 0) continue;
    load->offset = to & kSharedOffsetMask;
    load->barrier = barrier & kSharedOffsetMask;
    load->how = static_cast<Reduction>(op.shape[0]);
    load->type = static_cast<Type>(op.shape[1]);
    load->from_shared = op.flags & kFromShared;
    if (load->from_shared) {
      load->from = shared_operand(w, op.b, op.shape[2] == 64, offsets[1], lane, "bulk copy");
      if (load->from >> kSharedRankShift != w.cta->rank)
        throw Fault{Status::IllegalInstruction, "the source of a copy from shared::cta must be in this CTA", lane};
    } else {
      load->from = lanes<uint64_t>(w, op.b)[lane] + static_cast<uint64_t>(int64_t{offsets[1]});
      global_location(cluster, load->from, load->bytes, 16, false, "bulk copy");
    }
    const uint32_t mask = op.flags & kMulticast ? lanes<uint32_t>(w, op.e)[lane] & 0xFFFF : 0;
    load->credits = credits_of(w, to >> kSharedRankShift, barrier, op.flags & kMulticast, mask, false, lane);
    load->origin = origin_of(w, lane);
    for (const Credit& credit : load->credits) {
      Cta& target = check_target(cluster, credit.destination, load->offset, load->bytes, 16, "bulk copy");
      if (load->how == Reduction::None) poison(target, load->offset, load->bytes);
    }
    if (cluster.counters != nullptr) { cluster.counters->count_tma_load(load->bytes, load->credits.size()); }
    const uint64_t busy = load->bytes / static_cast<uint64_t>(cluster.costs().tma_bytes_per_cycle);
    const auto latency =
        static_cast<uint64_t>(load->from_shared ? cluster.costs().remote_arrive : cluster.costs().tma_load_latency);
    cluster.scheduler->submit(std::move(load), {.unit = &w.cta->load_pipe, .busy = busy, .latency = latency});
  }
  note_effect(w);
  return Flow::Next;
}

Flow bulk_store(Warp& w, const Op& op, Mask m) {  // d: slot of the size, e: byte mask
  Cluster& cluster = cluster_of(w);
  const auto& offsets = op.extra->list2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto store = std::make_unique<BulkStore>();
    store->bytes = lanes<uint32_t>(w, op.d)[lane];
    check_bulk_size(store->bytes, lane);
    if (store->bytes == 0) continue;
    const uint32_t from = shared_operand(w, op.a, op.flags & kSharedWide, offsets[0], lane, "bulk store");
    shared_location(cluster, *w.cta, from, store->bytes, 16, true, "bulk store");
    store->offset = from & kSharedOffsetMask;
    store->to = lanes<uint64_t>(w, op.b)[lane] + static_cast<uint64_t>(int64_t{offsets[1]});
    global_location(cluster, store->to, store->bytes, 16, true, "bulk store");
    store->how = static_cast<Reduction>(op.shape[0]);
    store->type = static_cast<Type>(op.shape[1]);
    if (op.flags & kCpMask) store->byte_mask = lanes<uint32_t>(w, op.e)[lane] & 0xFFFF;
    store->warp = &w;
    store->origin = origin_of(w, lane);
    store->group = begin_bulk(w, lane);
    if (cluster.counters != nullptr) ++cluster.counters->tma_instructions;
    const uint64_t busy = store->bytes / static_cast<uint64_t>(cluster.costs().tma_bytes_per_cycle);
    cluster.scheduler->submit(
        std::move(store),
        {.unit = &w.cta->store_pipe, .busy = busy, .latency = static_cast<uint64_t>(cluster.costs().tma_issue)});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

Flow nothing(Warp&, const Op&, Mask) { return Flow::Next; }

Flow bulk_commit(Warp& w, const Op&, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) commit_bulk(w, first_lane(rest));
  return Flow::Next;
}
Flow bulk_wait(Warp& w, const Op& op, Mask m) {
  if (bulk_done(w, m, static_cast<uint32_t>(op.imm), op.flags & kReadOnly)) return Flow::Next;
  isolate(w, m);
  return block(w, Wait::BulkGroup, static_cast<uint32_t>(op.imm), (op.flags & kReadOnly) != 0);
}

// ---- st.async, red.async: a store to another CTA's shared memory that counts its bytes on a barrier there

class RemoteStore final : public AsyncOperation {
 public:
  uint32_t to, barrier, bytes;
  std::array<uint8_t, 32> data;
  Reduction how = Reduction::None;
  Type type = Type::None;
  bool counts = true;
  void complete(Cluster& cluster) override {
    const uint32_t rank = to >> kSharedRankShift;
    Cta& cta = check_target(cluster, rank, to & kSharedOffsetMask, bytes, 4, "st.async");
    uint8_t* at = cta.smem.data() + (to & kSharedOffsetMask);
    if (how == Reduction::None)
      std::memcpy(at, data.data(), bytes);
    else
      reduce(at, data.data(), bytes, how, type);
    mark_layout(cta, to & kSharedOffsetMask, bytes, kLayoutUnknown);
    apply(cluster, rank, barrier & kSharedOffsetMask, BarrierEffect::CompleteTx, bytes, origin, true);
  }
  std::string describe() const override { return "st.async of " + std::to_string(bytes) + " bytes"; }
};
Flow remote_store(Warp& w, const Op& op, Mask m) {
  Cluster& cluster = cluster_of(w);
  const auto& offsets = op.extra->list2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto store = std::make_unique<RemoteStore>();
    store->to = shared_operand(w, op.a, op.flags & kSharedWide, offsets[0], lane, "st.async");
    store->barrier = shared_operand(w, op.c, op.flags & kBarrierWide, offsets[2], lane, "st.async's mbarrier");
    if (store->to >> kSharedRankShift != store->barrier >> kSharedRankShift)
      throw Fault{Status::LaunchFailure, "st.async: destination and mbarrier must be in the same CTA", lane};
    const uint32_t element = op.shape[2];
    store->bytes = element * static_cast<uint32_t>(op.extra->list.size());
    for (size_t i = 0; i < op.extra->list.size(); ++i) {
      const int32_t slot = op.extra->list[i];
      const uint64_t value = element == 8 ? lanes<uint64_t>(w, slot)[lane] : lanes<uint32_t>(w, slot)[lane];
      std::memcpy(store->data.data() + i * element, &value, element);
    }
    store->how = static_cast<Reduction>(op.shape[0]);
    store->type = static_cast<Type>(op.shape[1]);
    store->origin = origin_of(w, lane);
    cluster.scheduler->submit(std::move(store), {.latency = static_cast<uint64_t>(cluster.costs().remote_arrive)});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

// ---- tensormap.replace, tensormap.cp_fenceproxy

// shape[0]: field; shape[1]: index; b: value
Flow replace_field(Warp& w, const Op& op, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    Cluster& cluster = cluster_of(w);
    uint8_t* at = nullptr;
    const uint64_t base = (op.flags & kSharedWide ? lanes<uint64_t>(w, op.a)[lane] : lanes<uint32_t>(w, op.a)[lane]) +
                          static_cast<uint64_t>(op.imm);
    if (op.flags & kFromShared || in_shared_window(base))
      at = shared_location(cluster, *w.cta, to_shared(base, "tensormap.replace"), 128, 64, true, "tensormap.replace");
    else
      at = global_location(cluster, base, 128, 64, true, "tensormap.replace");
    TensorMap map;
    std::memcpy(&map, at, sizeof map);
    if (map.magic != TensorMap::MAGIC)
      throw Fault{Status::IllegalInstruction, "tensormap.replace: the 128 bytes are not a tensor map", lane};
    const uint64_t value = op.shape[2] == 64 ? lanes<uint64_t>(w, op.b)[lane] : lanes<uint32_t>(w, op.b)[lane];
    const uint32_t i = op.shape[1];
    if (i > 4) throw Fault{Status::IllegalInstruction, "tensormap.replace: dimension " + std::to_string(i), lane};
    switch (op.shape[0]) {
      case 0: map.address = value; break;
      case 1: map.rank = static_cast<uint8_t>(value + 1); break;
      case 2: map.box[i] = static_cast<uint16_t>(value); break;
      case 3: map.dims_minus_1[i] = static_cast<uint32_t>(value - 1); break;
      case 4:
        if (i < 4) map.strides[i] = value;
        break;
      case 5: map.element_strides[i] = static_cast<uint8_t>(value); break;
      case 6: map.interleave = static_cast<uint8_t>(value); break;
      case 7: map.swizzle = static_cast<uint8_t>(value); break;
      case 8: map.oob_fill = static_cast<uint8_t>(value); break;
      default: break;
    }
    std::memcpy(at, &map, sizeof map);
  }
  note_effect(w);
  return Flow::Next;
}
Flow copy_map(Warp& w, const Op& op, Mask m) {  // 128 bytes from shared to global memory
  const auto& offsets = op.extra->list2;
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  const int lane = first_lane(m);
  Cluster& cluster = cluster_of(w);
  const uint32_t from = shared_operand(w, op.b, op.flags & kSharedWide, offsets[1], lane, "tensormap.cp_fenceproxy");
  std::memcpy(global_location(cluster, lanes<uint64_t>(w, op.a)[lane] + static_cast<uint64_t>(int64_t{offsets[0]}), 128,
                              128, true, "tensormap.cp_fenceproxy"),
              shared_location(cluster, *w.cta, from, 128, 128, true, "tensormap.cp_fenceproxy"), 128);
  note_effect(w);
  return Flow::Next;
}

// ---- cluster launch control. The 16-byte answer is ours: [valid, x, y, z].

class TryCancel final : public AsyncOperation {
 public:
  uint32_t to, barrier;
  bool all = false;
  uint32_t rank = 0;
  void complete(Cluster& cluster) override {
    Launch& launch = *cluster.launch;
    uint32_t number = 0;
    std::array<uint32_t, 4> answer{0, 0, 0, 0};
    if (launch.cancel_cluster(&number)) {
      const std::array<uint32_t, 3> clusters{launch.grid[0] / launch.cluster[0], launch.grid[1] / launch.cluster[1],
                                             launch.grid[2] / launch.cluster[2]};
      answer = {1, number % clusters[0] * launch.cluster[0], number / clusters[0] % clusters[1] * launch.cluster[1],
                number / clusters[0] / clusters[1] * launch.cluster[2]};
    }
    for (uint32_t r = all ? 0 : rank; r < (all ? cluster.ctas.size() : rank + 1); ++r) {
      Cta& cta = check_target(cluster, r, to, 16, 16, "clusterlaunchcontrol.try_cancel");
      std::memcpy(cta.smem.data() + to, answer.data(), 16);
      mark_layout(cta, to, 16, kLayoutUnknown);
      apply(cluster, r, barrier, BarrierEffect::CompleteTx, 16, origin, true);
    }
  }
  std::string describe() const override { return "clusterlaunchcontrol.try_cancel"; }
};
Flow try_cancel(Warp& w, const Op& op, Mask m) {
  const auto& offsets = op.extra->list2;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto cancel = std::make_unique<TryCancel>();
    cancel->to = shared_operand(w, op.a, op.flags & kSharedWide, offsets[0], lane, "try_cancel") & kSharedOffsetMask;
    cancel->barrier =
        shared_operand(w, op.c, op.flags & kBarrierWide, offsets[2], lane, "try_cancel's mbarrier") & kSharedOffsetMask;
    cancel->all = op.flags & kMulticast;
    cancel->rank = w.cta->rank;
    cancel->origin = origin_of(w, lane);
    cluster_of(w).scheduler->submit(std::move(cancel),
                                    {.latency = static_cast<uint64_t>(cluster_of(w).costs().tma_load_latency)});
  }
  note_effect(w);
  return Flow::Next;
}
Flow query_canceled(Warp& w, const Op& op, Mask m) {
  Mask truth = 0;
  for (int lane = 0; lane < 32; ++lane)
    truth |= static_cast<Mask>((lanes<uint64_t>(w, op.a)[lane] & 0xFFFF'FFFF) == 1) << lane;
  Mask& d = predicate(w, op.d);
  d = (d & ~m) | (truth & m);
  return Flow::Next;
}
Flow query_ctaid(Warp& w, const Op& op, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint64_t low = lanes<uint64_t>(w, op.a)[lane], high = lanes<uint64_t>(w, op.a)[32 + lane];
    const uint32_t words[4] = {static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                               static_cast<uint32_t>(high >> 32), 0};
    if ((low & 0xFFFF'FFFF) != 1)
      throw Fault{Status::LaunchFailure, "get_first_ctaid of a try_cancel that cancelled nothing", lane};
    for (size_t i = 0; i < op.extra->list.size(); ++i) {
      if (op.extra->list[i] >= 0) lanes<uint32_t>(w, op.extra->list[i])[lane] = words[op.shape[0] + i];
    }
  }
  return Flow::Next;
}

// ---- decoding

/// Records a shared-memory (or global, or map) address operand: its slot, and its offset in extra->list2[index].
int32_t address_slot(Decoder& d, const Operand& operand, size_t index, bool* wide) {
  const Decoder::Address address = d.address(operand);
  auto& offsets = d.extra().list2;
  if (offsets.size() < 3) offsets.resize(3, 0);
  offsets[index] = static_cast<int32_t>(address.offset);
  *wide = address.wide;
  return address.slot;
}
int32_t wide_slot(Decoder& d, const Operand& operand, size_t index) {
  bool wide = false;
  const int32_t slot = address_slot(d, operand, index, &wide);
  if (!wide) d.unsupported("a 64-bit address is required");
  return slot;
}
int32_t shared_slot(Decoder& d, const Operand& operand, size_t index, uint32_t flag) {
  bool wide = false;
  const int32_t slot = address_slot(d, operand, index, &wide);
  if (wide) d.op->flags |= flag;
  return slot;
}
/// [map, {x, y, ...}]
void tensor_operand(Decoder& d, const Operand& operand) {
  d.op->b = wide_slot(d, operand, 1);
  if (operand.elements.size() < 2) d.unsupported("coordinates are required");
  const Operand& list = operand.elements[1];
  for (const Operand& each : list.kind == Operand::Kind::Vector ? list.elements : std::vector<Operand>{list}) {
    d.extra().list.push_back(d.source(each, Type::S32));
  }
  if (d.extra().list.size() > 5) d.unsupported("more than five coordinates");
}

void decode_tensor_copy(Decoder& d) {
  Op& op = *d.op;
  d.ignore({"tensor", "1d", "2d", "3d", "4d", "5d", "tile"});
  const bool reduces = d.has("reduce");
  if (d.has("prefetch")) {
    tensor_operand(d, d.operand(0));
    op.run = tensor_prefetch;
    return;
  }
  const auto& modifiers = d.in->modifiers;
  const auto position = [&](std::string_view name) {
    return std::find(modifiers.begin(), modifiers.end(), name) - modifiers.begin();
  };
  const bool to_global =
      position("global") < position("shared::cta") && position("global") < position("shared::cluster");
  if (to_global) {
    tensor_operand(d, d.operand(0));
    op.a = shared_slot(d, d.operand(1), 0, kSharedWide);
    if (reduces) {
      op.shape[0] = static_cast<uint16_t>(reduction_of(d));
      d.program().needs_order = true;
    }
    op.run = tensor_store;
    return;
  }
  op.a = shared_slot(d, d.operand(0), 0, kSharedWide);
  tensor_operand(d, d.operand(1));
  op.c = shared_slot(d, d.operand(2), 2, kBarrierWide);
  if (d.has("multicast::cluster")) {
    op.flags |= kMulticast;
    op.e = d.source(3, Type::B32);
  }
  d.ignore({"cta_group::1"});
  if (d.has("cta_group::2")) op.flags |= kPair;
  if (!d.has("shared::cluster")) op.flags |= kOwnOnly;
  op.run = tensor_load;
}

void decode_bulk_copy(Decoder& d) {
  Op& op = *d.op;
  const auto& modifiers = d.in->modifiers;
  if (d.has("prefetch")) {
    op.run = nothing;
    return;
  }
  const bool reduces = d.has("reduce");
  d.ignore({"noftz"});
  if (reduces) {
    op.shape[0] = static_cast<uint16_t>(reduction_of(d));
    op.shape[1] = static_cast<uint16_t>(d.last_type());
  }
  const auto position = [&](std::string_view name) {
    return std::find(modifiers.begin(), modifiers.end(), name) - modifiers.begin();
  };
  const bool to_global =
      position("global") < position("shared::cta") && position("global") < position("shared::cluster");
  if (to_global) {
    op.b = wide_slot(d, d.operand(0), 1);
    op.a = shared_slot(d, d.operand(1), 0, kSharedWide);
    op.d = d.source(2, Type::B32);
    if (d.has("cp_mask")) {
      op.flags |= kCpMask;
      op.e = d.source(d.count() - 1, Type::B32);
    }
    if (reduces) d.program().needs_order = true;
    op.run = bulk_store;
    return;
  }
  op.a = shared_slot(d, d.operand(0), 0, kSharedWide);
  bool wide = false;
  op.b = address_slot(d, d.operand(1), 1, &wide);
  op.shape[2] = wide ? 64 : 32;
  if (!d.has("global")) op.flags |= kFromShared;
  op.d = d.source(2, Type::B32);
  op.c = shared_slot(d, d.operand(3), 2, kBarrierWide);
  if (d.has("multicast::cluster")) {
    op.flags |= kMulticast;
    op.e = d.source(4, Type::B32);
  }
  op.run = bulk_load;
}

void decode_remote_store(Decoder& d, bool reduces) {
  Op& op = *d.op;
  const Type type = d.last_type();
  d.ignore({"weak", "relaxed", "cluster", "v2", "v4"});
  op.a = shared_slot(d, d.operand(0), 0, kSharedWide);
  const Operand& value = d.operand(1);
  for (const Operand& each : value.kind == Operand::Kind::Vector ? value.elements : std::vector<Operand>{value}) {
    d.extra().list.push_back(d.source(each, type));
  }
  op.c = shared_slot(d, d.operand(2), 2, kBarrierWide);
  op.shape[1] = static_cast<uint16_t>(type);
  op.shape[2] = static_cast<uint16_t>(ptx::bits(type) / 8);
  if (reduces) op.shape[0] = static_cast<uint16_t>(reduction_of(d));
  op.run = remote_store;
}

void decode_tensormap(Decoder& d) {
  Op& op = *d.op;
  d.ignore({"cp_fenceproxy", "replace", "tile", "tensormap::generic", "release", "cta", "cluster", "gpu", "sys", "sync",
            "aligned", "b1024", "b64", "b32"});
  if (d.has("cp_fenceproxy")) {
    op.a = wide_slot(d, d.operand(0), 0);
    op.b = shared_slot(d, d.operand(1), 1, kSharedWide);
    op.run = copy_map;
    return;
  }
  const char* const fields[] = {"global_address",    "rank",          "box_dim",
                                "global_dim",        "global_stride", "element_stride",
                                "interleave_layout", "swizzle_mode",  "fill_mode"};
  op.shape[0] = 99;
  for (uint16_t i = 0; i < 9; ++i) {
    if (d.has(fields[i])) op.shape[0] = i;
  }
  if (op.shape[0] == 99) d.unsupported("this field");
  const Decoder::Address address = d.address(d.operand(0));
  op.a = address.slot;
  op.imm = address.offset;
  if (address.wide) op.flags |= kSharedWide;
  if (d.has("shared::cta")) op.flags |= kFromShared;
  const bool indexed = op.shape[0] >= 2 && op.shape[0] <= 5;
  if (indexed) op.shape[1] = static_cast<uint16_t>(d.immediate(1));
  const bool wide = op.shape[0] == 0 || op.shape[0] == 4;
  op.shape[2] = wide ? 64 : 32;
  op.b = d.source(indexed ? 2 : 1, wide ? Type::B64 : Type::B32);
  op.run = replace_field;
}

void decode_launch_control(Decoder& d) {
  Op& op = *d.op;
  d.ignore({"query_cancel", "get_first_ctaid", "pred", "v4", "b32", "b128"});
  if (d.has("try_cancel")) {
    d.program().needs_order = true;
    op.a = shared_slot(d, d.operand(0), 0, kSharedWide);
    op.c = shared_slot(d, d.operand(1), 2, kBarrierWide);
    if (d.has("multicast::cluster::all")) op.flags |= kMulticast;
    op.run = try_cancel;
  } else if (d.has("is_canceled")) {
    op.d = d.destination(0, 4);
    op.a = d.source(1, Type::B128);
    op.run = query_canceled;
  } else {
    const char* const components[] = {"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"};
    for (uint16_t i = 0; i < 3; ++i) {
      if (d.has(components[i])) op.shape[0] = i;
    }
    const Operand& target = d.operand(0);
    for (const Operand& each : target.kind == Operand::Kind::Vector ? target.elements : std::vector<Operand>{target}) {
      d.extra().list.push_back(d.is_sink(each) ? -1 : d.destination(each, 4));
    }
    op.a = d.source(1, Type::B128);
    op.run = query_ctaid;
  }
}

}  // namespace

void decode_bulk(Decoder& d) {
  Op& op = *d.op;
  const std::string& name = d.in->opcode;
  d.ignore({"async", "bulk", "global", "shared", "shared::cta", "shared::cluster", "L2", "mbarrier::complete_tx::bytes",
            "bulk_group", "L2::cache_hint"});
  if (name == "st" || name == "red") return decode_remote_store(d, name == "red");
  if (name == "tensormap") return decode_tensormap(d);
  if (name == "clusterlaunchcontrol") return decode_launch_control(d);
  if (d.has("commit_group")) {
    op.run = bulk_commit;
  } else if (d.has("wait_group")) {
    op.imm = d.immediate(0);
    if (d.has("read")) op.flags |= kReadOnly;
    op.run = bulk_wait;
  } else if (d.has("tensor")) {
    decode_tensor_copy(d);
  } else {
    decode_bulk_copy(d);
  }
}

}  // namespace sim
