// tensormap.replace, tensormap.cp_fenceproxy: tensor maps that a kernel modifies.
#include <algorithm>
#include <array>

#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Type;

enum class MapField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode
};
bool is_indexed(MapField field) { return field >= MapField::BoxDim && field <= MapField::ElementStride; }
bool is_wide(MapField field) { return field == MapField::GlobalAddress || field == MapField::GlobalStride; }

struct Replace {
  Address map;
  int32_t value = -1;
  uint8_t dimension = 0;
  MapField field;
  bool in_shared = false;  ///< .shared::cta
};
/// The ISA numbers element types differently from the driver: FP32 that flushes subnormals comes before FP64 and BF16.
uint8_t element_type(uint64_t number) {
  constexpr std::array<TensorDataType, 3> kMoved{TensorDataType::F32Ftz, TensorDataType::F64, TensorDataType::BF16};
  return number >= 8 && number <= 10 ? static_cast<uint8_t>(kMoved[number - 8]) : static_cast<uint8_t>(number);
}

/// Whether this memory is all zeros. Triton's make_tensor_descriptor builds its tensor maps from 128 zero bytes, and
/// hardware accepts them (measured on an H100).
bool is_blank(const uint8_t* bytes) {
  return std::all_of(bytes, bytes + sizeof(TensorMap), [](uint8_t byte) { return byte == 0; });
}

void set_field(TensorMap& map, MapField field, uint32_t i, uint64_t value) {
  constexpr auto kSwizzle128B = static_cast<uint8_t>(Swizzle::Bytes128);
  switch (field) {
    case MapField::GlobalAddress: map.address = value; break;
    case MapField::Rank: map.rank = static_cast<uint8_t>(value + 1); break;
    case MapField::BoxDim: map.box[i] = static_cast<uint16_t>(value); break;
    case MapField::GlobalDim: map.dims_minus_1[i] = static_cast<uint32_t>(value - 1); break;
    case MapField::GlobalStride:
      if (i < 4) map.strides[i] = value;
      break;
    case MapField::ElementStride: map.element_strides[i] = static_cast<uint8_t>(value); break;
    case MapField::Interleave: map.interleave = static_cast<uint8_t>(value); break;
    case MapField::ElementType: map.data_type = element_type(value); break;
    case MapField::SwizzleMode:
      if (value > kSwizzle128B) throw Fault{faults::replaced_swizzle_unsupported};
      map.swizzle = static_cast<uint8_t>(value == kSwizzle128B ? value + map.atomicity : value);
      break;
    case MapField::SwizzleAtomicity:
      map.atomicity = static_cast<uint8_t>(value);
      if (map.swizzle >= kSwizzle128B) map.swizzle = static_cast<uint8_t>(kSwizzle128B + value);
      break;
    case MapField::FillMode: map.oob_fill = static_cast<uint8_t>(value); break;
  }
}
/// Notifies watchers of an access to the 128 bytes of a map.
void observe(Warp& w, int lane, uint64_t address, bool is_shared, Role role) {
  const Watchers& watchers = cluster_of(w).watchers;
  uint64_t at[32] = {};
  at[lane] = address;
  watchers.tell(AccessEvent{.warp = w,
                            .lanes = 1u << lane,
                            .is_done = true,
                            .memory = is_shared ? AccessEvent::Memory::Shared : AccessEvent::Memory::Global,
                            .role = role,
                            .address = at,
                            .bytes = 128,
                            .pc = w.split().pc,
                            .is_own_instruction = false});
  if (role == Role::Store)
    watchers.tell(StoreEvent{.cluster = cluster_of(w), .warp = &w, .is_done = true, .changed = true});
}

Flow replace(Warp& w, const Replace& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint64_t address = o.map.of(w, lane);
    uint8_t* const at = o.in_shared || in_shared_window(address)
                            ? shared_location(cluster, *w.cta, to_shared(address, "tensormap.replace"), 128, 64, true,
                                              "tensormap.replace")
                            : global_location(cluster, address, 128, 64, true, "tensormap.replace");
    TensorMap map;
    std::memcpy(&map, at, sizeof map);
    if (is_blank(at)) map.magic = TensorMap::kMagic;
    if (map.magic != TensorMap::kMagic) { throw Fault{faults::replace_in_no_map, {}, lane}; }
    if (o.dimension > 4) throw Fault{faults::replaced_dimension, {o.dimension}, lane};
    set_field(map, o.field, o.dimension, number(w, o.value, is_wide(o.field), lane));
    std::memcpy(at, &map, sizeof map);
    if (cluster.watchers.want(EventKind::Access)) {
      const bool is_shared = o.in_shared || in_shared_window(address);
      observe(w, lane, is_shared ? to_shared(address, "tensormap.replace") : address, is_shared, Role::Store);
    }
  }
  note_effect(w);
  return Flow::Next;
}

/// 128 bytes from shared to global memory.
struct CopyMap {
  Address to, from;
};
Flow copy_map(Warp& w, const CopyMap& o, Mask m) {
  if (!gather_all(w, &m)) return Flow::Block;
  const int lane = first_lane(m);
  Cluster& cluster = cluster_of(w);
  const uint32_t from = shared_address(w, o.from, lane, "tensormap.cp_fenceproxy");
  std::memcpy(global_location(cluster, o.to.of(w, lane), 128, 128, true, "tensormap.cp_fenceproxy"),
              shared_location(cluster, *w.cta, from, 128, 128, true, "tensormap.cp_fenceproxy"), 128);
  if (cluster.watchers.want(EventKind::Access)) {
    observe(w, lane, from, true, Role::Load);
    observe(w, lane, o.to.of(w, lane), false, Role::Store);
  }
  cluster.watchers.tell(FenceEvent{.warp = w, .lanes = 1u << lane});  // the release of the copied bytes
  note_effect(w);
  return Flow::Next;
}

void decode_replace(Decoder& d) {
  static constexpr std::pair<std::string_view, MapField> kFields[] = {{"global_address", MapField::GlobalAddress},
                                                                      {"rank", MapField::Rank},
                                                                      {"box_dim", MapField::BoxDim},
                                                                      {"global_dim", MapField::GlobalDim},
                                                                      {"global_stride", MapField::GlobalStride},
                                                                      {"element_stride", MapField::ElementStride},
                                                                      {"elemtype", MapField::ElementType},
                                                                      {"interleave_layout", MapField::Interleave},
                                                                      {"swizzle_mode", MapField::SwizzleMode},
                                                                      {"swizzle_atomicity", MapField::SwizzleAtomicity},
                                                                      {"fill_mode", MapField::FillMode}};
  Replace o{.map = d.address(0), .field = d.one_of(kFields, faults::unknown_field), .in_shared = d.has("shared::cta")};
  const bool indexed = is_indexed(o.field);
  if (indexed) o.dimension = static_cast<uint8_t>(d.immediate(1));
  o.value = d.source(indexed ? 2 : 1, is_wide(o.field) ? Type::B64 : Type::B32);
  d.emit<replace>(o);
}

constexpr Mnemonic kMnemonics[] = {
    {"tensormap.replace", decode_replace},
    {"tensormap.cp_fenceproxy",
     [](Decoder& d) { d.emit<copy_map>({.to = d.wide_address(d.operand(0)), .from = d.address(1)}); },
     Manner{.orders = Manner::Orders::Barrier, .fence = Ordering::Fence::TensorMap}},
};
constexpr std::string_view kIgnored[] = {
    "tile",   "tensormap::generic", "release", "cta", "cluster", "gpu", "sys", "sync", "aligned", "b1024", "b64", "b32",
    "global", "shared::cta"};

}  // namespace

constinit const Family families::tensormap{kMnemonics, kIgnored};

}  // namespace sim
