#include "exec/async/box.h"

#include <limits>

#include "exec/core/access.h"

namespace sim {
namespace {

uint32_t span_bytes(Swizzle mode) {
  switch (mode) {
    case Swizzle::Bytes32: return 32;
    case Swizzle::Bytes64: return 64;
    case Swizzle::Bytes128:
    case Swizzle::Bytes128Atom32: return 128;
    default: return 0;
  }
}

/// The bytes of the tensor map, which must be in memory that TMA can read.
const uint8_t* locate_map(Cluster& cluster, uint64_t address) {
  if (in_param_window(address)) {
    const uint64_t offset = address & ~kWindowMask;
    const auto& parameters = cluster.launch->parameters;
    if (offset + sizeof(TensorMap) > parameters.size()) throw Fault{faults::map_outside_parameters};
    if (offset % 64 != 0) throw Fault{faults::map_misaligned, {offset}};
    return parameters.data() + offset;
  }
  if (in_shared_window(address) || in_local_window(address)) { throw Fault{faults::map_in_wrong_memory}; }
  return global_location(cluster, address, sizeof(TensorMap), 64, false, "tensor map");
}

/// Checks that cuTensorMapEncodeTiled makes and tensormap.replace does not: a kernel may set a field to any value, or,
/// starting from zeros, leave it unset.
void check_fields(const TensorMap& map) {
  const auto require = [](bool holds, const FaultText& otherwise, size_t i, uint64_t value) {
    if (!holds) throw Fault{otherwise, {i, value}};
  };
  for (size_t i = 0; i < map.rank; ++i) {
    require(map.box[i] >= 1 && map.box[i] <= 256, faults::map_box_size, i, map.box[i]);
    const uint8_t stride = map.element_strides[i];
    require(i == 0 || (stride >= 1 && stride <= 8), faults::map_element_stride, i, stride);
    if (i + 1 < map.rank) require(map.strides[i] % 16 == 0, faults::map_stride, i, map.strides[i]);
  }
  if (map.address % 16 != 0) { throw Fault{faults::map_address_misaligned, {map.address}}; }
  const uint32_t inner = map.box[0] * map.bits() / 8, span = span_bytes(map.swizzle_mode());
  require(map.is_packed() || inner % 16 == 0, faults::map_box_bytes, 0, map.box[0]);
  require(map.is_spread() || span == 0 || inner <= span, faults::map_box_beyond_swizzle, 0, map.box[0]);
}

void place_tile(Box& box) {
  box.rows = 1;
  for (size_t i = 0; i < box.map.rank; ++i) {
    const uint32_t stride = i == 0 ? 1 : box.map.element_strides[i];
    box.count[i] = (box.map.box[i] + stride - 1) / stride;
    if (i > 0) box.rows *= box.count[i];
    box.begin[i] = box.coordinate[i];
    box.end[i] = box.coordinate[i] + int64_t{box.count[i]} * stride;
    if (box.is_store && box.coordinate[i] < 0) {
      throw Fault{faults::store_at_negative_coordinate, {box.coordinate[i], i}};
    }
  }
}

/// tile::gather4 and tile::scatter4: four rows of a matrix, wherever they lie (PTX ISA, "Tiled scatter4/gather4").
void place_rows(Box& box) {
  constexpr uint32_t kRows = 4;
  if (box.map.box[1] != 1) { throw Fault{faults::box_of_rows, {box.map.box[1]}}; }
  box.rows = kRows;
  box.count = {box.map.box[0], kRows};
  for (size_t i = 0; box.is_store && i <= kRows; ++i) {
    if (box.coordinate[i] >= 0) continue;
    throw Fault{faults::row_at_negative_coordinate, {box.coordinate[i]}};
  }
}

/// im2col: consecutive pixels, along rows of positions of the filter, and from image to image.
void place_pixels(Box& box) {
  const size_t images = box.map.rank - 1u;
  box.rows = box.map.pixels;
  box.count.fill(1);
  box.count[0] = box.map.box[0], box.count[1] = box.map.pixels;
  for (size_t i = 1; i < images; ++i) {
    box.begin[i] = box.map.lower[i - 1];
    box.end[i] = int64_t{box.map.dims_minus_1[i]} + 1 + box.map.upper[i - 1];
  }
  box.end[images] = std::numeric_limits<int64_t>::max();
}

}  // namespace

TensorOperand TensorOperand::decode(Decoder& d, const ptx::Operand& operand) {
  TensorOperand tensor;
  tensor.map = d.wide_address(operand);
  if (operand.elements.size() < 2) d.unsupported(faults::coordinates_required);
  const auto list = d.elements(operand.elements[1]);
  if (list.size() > tensor.coordinates.size()) d.unsupported(faults::too_many_coordinates);
  tensor.takes_rows = d.has("tile::gather4") || d.has("tile::scatter4");
  if (tensor.takes_rows && list.size() != tensor.coordinates.size()) d.unsupported(faults::five_coordinates_required);
  tensor.dimensions = static_cast<uint8_t>(tensor.takes_rows ? 2 : list.size());
  for (size_t i = 0; i < list.size(); ++i) tensor.coordinates[i] = d.source(list[i], ptx::Type::S32);
  tensor.is_im2col = d.has("im2col") || d.has("im2col_no_offs");
  return tensor;
}

void TensorOperand::decode_offsets(Decoder& d, size_t index) {
  const auto list = d.elements(d.operand(index));
  if (list.size() != size_t{dimensions} - 2 || list.size() > offsets.size()) d.unsupported(faults::offsets_required);
  for (size_t i = 0; i < list.size(); ++i) offsets[i] = d.source(list[i], ptx::Type::B32);
}

uint32_t swizzled(Swizzle mode, uint32_t address) {
  switch (mode) {
    case Swizzle::Bytes32: return address ^ (address >> 3 & 0x10);
    case Swizzle::Bytes64: return address ^ (address >> 3 & 0x30);
    case Swizzle::Bytes128: return address ^ (address >> 3 & 0x70);
    case Swizzle::Bytes128Atom32: return address ^ (address >> 2 & 0x60);  // bits 6:5 ^= bits 8:7
    default: return address;
  }
}

namespace {

/// Applies the map at `at` to an instruction's coordinates. Throws Fault if they do not match.
void place(Box& box, const uint8_t* at, uint64_t address) {
  std::memcpy(&box.map, at, sizeof box.map);
  if (box.map.magic != TensorMap::kMagic) throw Fault{faults::not_a_map, {address}};
  if (box.map.rank != box.dimensions) {
    throw Fault{box.takes_rows ? faults::map_rank_of_rows : faults::map_rank, {box.map.rank, box.dimensions}};
  }
  check_fields(box.map);
  if (box.map.interleave != 0) throw Fault{faults::map_interleaved};
  if (box.map.swizzle_mode() > Swizzle::Bytes128Atom32) throw Fault{faults::map_swizzle_unsupported, {box.map.swizzle}};
  if (box.map.is_im2col != box.is_im2col) {
    throw Fault{box.map.is_im2col ? faults::map_for_im2col : faults::map_not_for_im2col};
  }
  if (box.is_im2col)
    place_pixels(box);
  else if (box.takes_rows)
    place_rows(box);
  else
    place_tile(box);
  box.inner_bytes = box.count[0] * box.map.bits() / 8;
  box.shared_bytes = box.map.is_spread() ? box.count[0] : box.inner_bytes;
  box.pitch = std::max(span_bytes(box.map.swizzle_mode()), box.shared_bytes);
  if (box.map.is_spread() && box.coordinate[0] % 128 != 0)
    throw Fault{faults::coordinate_of_packed, {box.coordinate[0]}};
  if (box.coordinate[0] * box.map.bits() % 128 != 0) {
    throw Fault{faults::coordinate_misaligned, {box.coordinate[0], box.start()}};
  }
  if (box.map.is_packed() && box.map.fills_with_nan()) throw Fault{faults::packed_filled_with_nan};
  if (box.is_store && box.map.element_type() == TensorDataType::FourSpread) throw Fault{faults::packed_store};
}

}  // namespace

Box make_box(Warp& warp, const TensorOperand& operand, int lane, bool is_store) {
  Cluster& cluster = cluster_of(warp);
  const uint64_t map_address = operand.map.of(warp, lane);
  Box box;
  box.map_address = in_param_window(map_address) ? 0 : map_address;
  box.dimensions = operand.dimensions, box.is_im2col = operand.is_im2col, box.is_store = is_store;
  box.takes_rows = operand.takes_rows;
  for (size_t i = 0; i < operand.coordinates.size() && operand.coordinates[i] >= 0; ++i)
    box.coordinate[i] = lanes<int32_t>(warp, operand.coordinates[i])[lane];
  for (size_t i = 0; i + 2 < box.dimensions && operand.offsets[i] >= 0; ++i)
    box.offset[i] = lanes<uint32_t>(warp, operand.offsets[i])[lane] & 0xFFFF;
  const uint8_t* const map = locate_map(cluster, map_address);
  if (cluster.watchers.want(EventKind::Access)) {
    uint64_t at[32];
    at[lane] = map_address;
    cluster.watchers.tell(AccessEvent{.warp = warp,
                                      .lanes = 1u << lane,
                                      .is_done = true,
                                      .role = Role::TensorMap,
                                      .address = at,
                                      .bytes = sizeof(TensorMap),
                                      .pc = warp.split().pc,
                                      .is_own_instruction = false});
  }
  place(box, map, map_address);
  return box;
}

void reread_map(Cluster& cluster, Box& box) {
  if (box.map_address == 0 || cluster.launch->lenient) return;
  const uint8_t* const map = locate_map(cluster, box.map_address);
  if (std::memcmp(map, &box.map, sizeof box.map) != 0) place(box, map, box.map_address);
}

namespace {

/// Calls f(offset in shared memory, offset in the row, bytes) for every 16 bytes of a row; the last may be fewer.
template <class F>
void for_chunks(Swizzle swizzle, uint32_t offset, uint32_t bytes, F f) {
  // In each 128 bytes the swizzle flips the same bits of the address.
  for (uint32_t begin = 0; begin < bytes;) {
    const uint32_t place = offset + begin, flipped = swizzled(swizzle, place) ^ place;
    const uint32_t count = std::min(128 - place % 128, bytes - begin);
    if (count == 128) {
      for (uint32_t i = 0; i < 128; i += 16) f((place + i) ^ flipped, begin + i, size_t{16});
    } else {
      uint32_t i = 0;
      for (; i + 16 <= count; i += 16) f((place + i) ^ flipped, begin + i, size_t{16});
      if (i < count) f((place + i) ^ flipped, begin + i, size_t{count - i});
    }
    begin += count;
  }
}

}  // namespace

void row_to_shared(Cta& cta, const Box& box, uint32_t offset, const uint8_t* row) {
  uint8_t* const shared = cta.smem.data();
  const Swizzle swizzle = box.map.swizzle_mode();
  if (box.map.is_spread()) {
    const uint32_t bytes = 2 * box.map.bits();  // of sixteen elements
    for (uint32_t i = 0; i < box.shared_bytes; i += 16)
      std::memcpy(shared + swizzled(swizzle, offset + i), row + i / 16 * bytes, bytes);
    return;
  }
  for_chunks(swizzle, offset, box.inner_bytes,
             [=](uint32_t at, uint32_t i, size_t count) { std::memcpy(shared + at, row + i, count); });
}

void row_from_shared(const Cta& cta, const Box& box, uint32_t offset, uint8_t* row) {
  const uint8_t* const shared = cta.smem.data();
  const Swizzle swizzle = box.map.swizzle_mode();
  if (box.map.is_spread()) {
    std::memset(row, 0, box.inner_bytes);
    for (uint32_t i = 0; i < box.shared_bytes; ++i) {
      const uint32_t six = shared[swizzled(swizzle, offset + i / 16 * 16) + i % 16] & 63u, bit = 6 * i;
      row[bit / 8] = static_cast<uint8_t>(row[bit / 8] | six << bit % 8);
      if (bit % 8 > 2) row[bit / 8 + 1] = static_cast<uint8_t>(six >> (8 - bit % 8));
    }
    return;
  }
  for_chunks(swizzle, offset, box.inner_bytes,
             [=](uint32_t at, uint32_t i, size_t count) { std::memcpy(row + i, shared + at, count); });
}

std::vector<Range> shared_ranges(const Box& box, uint32_t offset) {
  if (box.pitch == box.shared_bytes) return {{offset, offset + uint64_t{box.footprint()}}};
  std::vector<Range> ranges;  // of a box that is narrower than its swizzle: the gaps between rows are not part of it
  for (uint32_t row = 0; row < box.rows; ++row) {
    for (uint32_t at = 0; at < box.shared_bytes; at += 16) {
      const uint64_t begin = swizzled(box.map.swizzle_mode(), offset + row * box.pitch + at);
      ranges.push_back({begin, begin + 16});
    }
  }
  return ranges;
}

std::vector<Range> global_ranges(const Box& box, bool is_store) {
  std::vector<Range> ranges;
  for_rows(box, [&](uint64_t address, uint32_t, int64_t first, int64_t last) {
    if (address == 0 || last <= first) return;
    const int64_t end = is_store ? std::min<int64_t>((last + 15) / 16 * 16, box.inner_bytes) : last;
    const uint64_t begin = address + static_cast<uint64_t>(first), stop = address + static_cast<uint64_t>(end);
    if (!ranges.empty() && ranges.back().end == begin)
      ranges.back().end = stop;
    else
      ranges.push_back({begin, stop});
  });
  return ranges;
}

}  // namespace sim
