// Registers of 32, 64 and 128 bits, for loads and stores.
#pragma once

#include <type_traits>

#include "exec/core/op.h"

namespace sim {

/// 128 bits. In a slot, the lower halves of all lanes come first.
struct Wide {
  uint64_t low = 0, high = 0;
  bool operator==(const Wide&) const = default;
};

/// A register of the warp, lane by lane.
template <class Lane>
class RegisterLanes {
 public:
  RegisterLanes(Warp& warp, int32_t slot) : lanes_(lanes<Lane>(warp, slot)) {}
  Lane get(int lane) const { return lanes_[lane]; }
  void set(int lane, Lane value) const { lanes_[lane] = value; }

 private:
  Lane* lanes_;
};
template <>
class RegisterLanes<Wide> {
 public:
  RegisterLanes(Warp& warp, int32_t slot) : lanes_(lanes<uint64_t>(warp, slot)) {}
  Wide get(int lane) const { return {lanes_[lane], lanes_[32 + lane]}; }
  void set(int lane, Wide value) const { lanes_[lane] = value.low, lanes_[32 + lane] = value.high; }

 private:
  uint64_t* lanes_;
};

/// An element of memory in a register of type Lane, extended by its sign.
template <class Lane, class Element>
Lane extended(Element value) {
  if constexpr (std::is_same_v<Element, Wide> || std::is_unsigned_v<Element>)
    return static_cast<Lane>(value);
  else
    return static_cast<Lane>(static_cast<std::make_signed_t<Lane>>(value));
}

}  // namespace sim
