// Special registers (%tid.x, %clusterid.y, ...) and other values that the decoder treats like them: slots of a warp
// that are filled once, when it starts.
#pragma once

#include <cstdint>
#include <string_view>

#include "machine/warp.h"

namespace sim {

/// Registers with components .x, .y, .z come first, three slots each.
enum class SpecialKind : uint8_t {
  Tid,
  Ntid,
  Ctaid,
  Nctaid,
  ClusterCtaid,
  ClusterNctaid,
  Clusterid,
  Nclusterid,
  ClusterCtarank,
  ClusterNctarank,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  Gridid,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  DynamicSmemSize,
  TotalSmemSize,
  ReservedSmem,  ///< its start: cooperative groups keep the barriers of groups of several warps there
  ReservedSmemEnd,
  ReservedSmemCap,
  GridWorkspaceHigh,
  GridWorkspaceLow,
  IsExplicitCluster,  ///< a predicate
  Carry,              ///< of add.cc and its kin: a predicate that starts as 0
  SharedAddress32,    ///< of offset `argument` in the CTA's shared memory
  SharedAddress64,
  Zero,  ///< performance counters and environment registers that are never set
};

struct SpecialRegister {
  SpecialKind kind = SpecialKind::Zero;
  uint32_t argument = 0;  ///< the component (0 x, 1 y, 2 z), or the offset of a shared address
  bool operator<(const SpecialRegister& other) const {
    return kind != other.kind ? kind < other.kind : argument < other.argument;
  }
};

/// The special register of this name, without the %.
SpecialRegister special_register(std::string_view name);
/// Whether it holds one bit per lane, not a number.
bool is_predicate(SpecialKind kind);

/// Fills the warp's slots of constants and special registers.
void fill_registers(Warp& warp);

}  // namespace sim
