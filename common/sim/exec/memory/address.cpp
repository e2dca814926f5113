// Addresses: cvta, isspacep, mapa, getctarank.
#include "machine/address.h"
#include "exec/core/families.h"

namespace sim {
namespace {

using ptx::Type;

// ---- cvta

struct Convert {
  int32_t d, a;
  uint64_t window;  ///< of the state space
};
template <class Lane>
Flow to_generic(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<uint64_t>(w, o.d);
  const auto* a = lanes<Lane>(w, o.a);
  for_lanes(m, [&](int i) { d[i] = o.window | a[i]; });
  return Flow::Next;
}
Flow from_generic(Warp& w, const Convert& o, Mask m) {
  auto* d = lanes<uint64_t>(w, o.d);
  const auto* a = lanes<uint64_t>(w, o.a);
  for_lanes(m, [&](int i) { d[i] = a[i] & ~kWindowMask; });
  return Flow::Next;
}

void decode_cvta(Decoder& d) {
  Convert o{};
  if (d.which({"shared", "shared::cta", "shared::cluster"}) >= 0)
    o.window = kSharedWindow;
  else if (d.has("local"))
    o.window = kLocalWindow;
  else if (d.which({"param", "param::entry"}) >= 0)
    o.window = kParamWindow;
  const bool narrow = d.register_bits(d.operand(1)) == 32;
  const bool leaves = d.has("to") && o.window != 0;
  d.ignore({"global", "const", "u64", "u32"});
  o.a = d.source(1, narrow ? Type::B32 : Type::B64);
  o.d = d.destination(0, 8);
  d.emit(narrow   ? execution<to_generic<uint32_t>>
         : leaves ? execution<from_generic>
                  : execution<to_generic<uint64_t>>,
         o);
}

// ---- isspacep

enum class Window : uint8_t { Global, OwnShared, Shared, Local, Param };
struct IsSpace {
  int32_t d, a;
  Window window;
};
Flow isspacep(Warp& w, const IsSpace& o, Mask m) {
  const auto* a = lanes<uint64_t>(w, o.a);
  Mask truth = 0;
  for (int i = 0; i < 32; ++i) {
    bool yes = false;
    switch (o.window) {
      case Window::Global: yes = (a[i] & kWindowMask) == 0; break;
      case Window::OwnShared: yes = in_shared_window(a[i]) && (a[i] >> kSharedRankShift & 0xFF) == w.cta->rank; break;
      case Window::Shared: yes = in_shared_window(a[i]); break;
      case Window::Local: yes = in_local_window(a[i]); break;
      case Window::Param: yes = in_param_window(a[i]); break;
    }
    truth |= static_cast<Mask>(yes) << i;
  }
  set_predicate(w, o.d, m, truth);
  return Flow::Next;
}
void decode_isspacep(Decoder& d) {
  static constexpr std::pair<std::string_view, Window> kWindows[] = {
      {"global", Window::Global},         {"const", Window::Global},      {"shared", Window::OwnShared},
      {"shared::cta", Window::OwnShared}, {"local", Window::Local},       {"shared::cluster", Window::Shared},
      {"param", Window::Param},           {"param::entry", Window::Param}};
  d.emit<isspacep>(
      {.d = d.destination(0, 4), .a = d.source(1, Type::B64), .window = d.one_of(kWindows, faults::space_required)});
}

// ---- mapa: the same offset in another CTA of the cluster; getctarank: the rank of the CTA that owns an address

struct MapAddress {
  int32_t d, a, rank;
  bool wide;  ///< 64-bit generic addresses
};
Flow mapa(Warp& w, const MapAddress& o, Mask m) {
  const auto* rank = lanes<uint32_t>(w, o.rank);
  const size_t size = cluster_of(w).ctas.size();
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    if (rank[i] >= size) throw Fault{faults::mapa_of_no_cta, {rank[i], size}, i};
    if (o.wide)
      lanes<uint64_t>(w, o.d)[i] = (lanes<uint64_t>(w, o.a)[i] & ~uint64_t{0xFF00'0000}) | uint64_t{rank[i]}
                                                                                               << kSharedRankShift;
    else
      lanes<uint32_t>(w, o.d)[i] = (lanes<uint32_t>(w, o.a)[i] & kSharedOffsetMask) | rank[i] << kSharedRankShift;
  }
  return Flow::Next;
}
void decode_mapa(Decoder& d) {
  const bool wide = d.last_type() == Type::U64;
  d.emit<mapa>({.d = d.destination(0, wide ? 8 : 4),
                .a = d.source(1, wide ? Type::B64 : Type::B32),
                .rank = d.source(2, Type::B32),
                .wide = wide});
}

struct RankOfAddress {
  int32_t d, a;
  bool wide;
};
Flow getctarank(Warp& w, const RankOfAddress& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int i = first_lane(rest);
    lanes<uint32_t>(w, o.d)[i] = static_cast<uint32_t>(number(w, o.a, o.wide, i)) >> kSharedRankShift;
  }
  return Flow::Next;
}
void decode_getctarank(Decoder& d) {
  const bool wide = d.last_type() == Type::U64;
  d.emit<getctarank>({.d = d.destination(0, 4), .a = d.source(1, wide ? Type::B64 : Type::B32), .wide = wide});
}

constexpr Mnemonic kMnemonics[] = {
    {"cvta", decode_cvta}, {"isspacep", decode_isspacep}, {"mapa", decode_mapa}, {"getctarank", decode_getctarank}};
constexpr std::string_view kIgnored[] = {"shared::cluster"};

}  // namespace

constinit const Family families::address{.mnemonics = kMnemonics, .ignored = kIgnored, .pure = true};

}  // namespace sim
