// From addresses in registers to bytes in the host's memory, with every check on the way.
#pragma once

#include <cstdint>

#include "exec/core/op.h"
#include "exec/core/program.h"
#include "machine/address.h"
#include "ptx/module.h"

namespace sim {

enum class AccessKind : uint8_t { Load, Store, Atomic };

/// [address] in a state space.
struct MemoryOperand {
  Address address;
  ptx::Space space = ptx::Space::Generic;
  bool cluster = false;  ///< shared::cluster
};

/// Host addresses of a warp's access.
struct Access {
  uint8_t* host[32];
  bool local = false;  ///< all lanes in local memory
};

/// Where the lanes of `mask` access `bytes` bytes each (a power of two up to 32, and aligned to as many). Every access
/// of a lane to memory comes by here. Throws Fault with the first bad lane. Also feeds the counters, and forgets what
/// TMA knew about shared memory that is stored to.
void resolve(Warp& warp, const MemoryOperand& operand, uint32_t bytes, Mask mask, AccessKind kind, Access* access);

/// The lanes of `mask` have changed up to `bytes` bytes each there, and others can notice. As an effect of the warp it
/// counts only if the warp has had none for a while, and the instruction never wrote so far up or down: changing the
/// same few locations for ever is no progress.
void note_write(Warp& warp, const Access& access, uint32_t bytes, Mask mask);
/// The lanes of `mask` have read there. A warp that reads further and further on will come to an end.
void note_read(Warp& warp, const Access& access, uint32_t bytes, Mask mask);

/// One location of shared memory, given by a 32-bit shared address (the rank in bits 31..24). With `own`, the rank must
/// be the executing CTA's. `what` names it in the message.
uint8_t* shared_location(Cluster& cluster, const Cta& executing, uint32_t address, uint32_t bytes, uint32_t align,
                         bool own, const char* what);

/// A range of global memory, or Fault.
uint8_t* global_location(Cluster& cluster, uint64_t address, uint64_t bytes, uint32_t align, bool write,
                         const char* what);

/// A 64-bit generic address, or a 32-bit shared one, that must name shared memory: as a shared address. 64-bit
/// addresses whose upper half is 0 pass too: some libraries hand over zero-extended shared addresses.
uint32_t to_shared(uint64_t address, const char* what, const char* part = "");

}  // namespace sim
