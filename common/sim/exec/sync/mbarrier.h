// Mbarrier helpers for instructions of other families.
#pragma once

#include "exec/core/decoder.h"

namespace sim {

/// [barrier]
struct BarrierOperand {
  Address address;
  bool own = false;  ///< must be this CTA's (shared::cta)

  static BarrierOperand decode(Decoder& d, size_t index);
  /// The barrier's shared address.
  uint32_t of(Warp& w, int lane) const;
};

/// The barrier at a shared address, which must be this CTA's. Throws Fault.
Mbarrier& own_barrier(Warp& w, uint32_t address, int lane);

}  // namespace sim
