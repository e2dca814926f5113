// [address] of loads, stores and atomics.
#pragma once

#include "exec/core/access.h"
#include "exec/core/decoder.h"

namespace sim {

/// The modifier that names a state space; Generic if there is none. *cluster: shared::cluster.
ptx::Space space_of(const Decoder& d, bool* cluster);

/// The address operand of an instruction, in the space that a modifier names or that the variable is in.
MemoryOperand decode_memory_operand(Decoder& d, const ptx::Operand& operand);

/// Cache hints, and the order and scope of an access, have no effect: memory is sequentially consistent here.
inline constexpr std::string_view kMemoryHints[] = {"v2",  "v4",  "v8",  "nc",    "ca",      "cg",      "cs",
                                                    "lu",  "wb",  "wt",  "weak",  "release", "acq_rel", "mmio",
                                                    "cta", "gpu", "sys", "L1::*", "L2::*",   "noftz",   "cluster"};

}  // namespace sim
