// Fences. Memory is sequentially consistent here, so they only notify watchers.
#include "exec/core/families.h"

namespace sim {
namespace {

Flow fence(Warp& w, const NoOperands&, Mask m) {
  cluster_of(w).watchers.tell(FenceEvent{.warp = w, .lanes = m});
  return Flow::Next;
}

/// fence.proxy.tensormap: releases writes, or acquires the tensor map at an address.
Flow fence_map(Warp& w, const Address& map, Mask m) {
  if (cluster_of(w).watchers.want(EventKind::Fence)) {
    for (Mask rest = m; rest; rest &= rest - 1) {
      const int lane = first_lane(rest);
      cluster_of(w).watchers.tell(FenceEvent{FenceEvent::What::TensorMapRead, w, 1u << lane, map.of(w, lane)});
    }
  }
  return Flow::Next;
}

void decode_fence(Decoder& d) {
  if (d.has("tensormap::generic") && d.has("acquire")) return d.emit<fence_map>(d.wide_address(d.operand(0)));
  d.emit<fence>({});
}

constexpr Mnemonic kMnemonics[] = {
    {"fence", decode_fence}, {"membar", decode_fence, Manner{.orders = Manner::Orders::Fence, .scope = Scope::Gpu}}};
constexpr std::string_view kIgnored[] = {"*"};

}  // namespace

constinit const Family families::fence{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.orders = Manner::Orders::Fence}};

}  // namespace sim
