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

/// Finds the host addresses at which the lanes of `mask` access `bytes` bytes each (a power of two up to 32, and
/// aligned to that). Every access of a lane to memory passes through here. Throws Fault with the first invalid lane.
/// Also notifies watchers, and clears the recorded layout of shared memory that is stored to.
void resolve(Warp& warp, const MemoryOperand& operand, uint32_t bytes, Mask mask, AccessKind kind, Access* access);

/// The lanes of `mask` have changed up to `bytes` bytes each there, visibly to others. If the warp has had no effect
/// for a while, the write counts as one only where the instruction writes beyond its earlier range: changing the same
/// few locations for ever is no progress.
void note_write(Warp& warp, const Access& access, uint32_t bytes, Mask mask);
/// The lanes of `mask` have read there. A warp that reads further and further will end.
void note_read(Warp& warp, const Access& access, uint32_t bytes, Mask mask);

/// One location of shared memory, given by a 32-bit shared address (the rank in bits 31..24). With `own`, the rank must
/// be the executing CTA's. `what` names it in the message.
uint8_t* shared_location(Cluster& cluster, const Cta& executing, uint32_t address, uint32_t bytes, uint32_t align,
                         bool own, const char* what);

/// Called before bytes of this CTA's shared memory are overwritten, in schedules in which each warp of a warpgroup
/// completes its wgmmas by itself: throws Fault if some of them have still to read the bytes. `by`: the storing warp,
/// null: an operation.
void check_read(const Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, const char* what,
                const Warp* by = nullptr);

/// A range of global memory, or Fault.
uint8_t* global_location(Cluster& cluster, uint64_t address, uint64_t bytes, uint32_t align, bool write,
                         const char* what);

/// Converts a 64-bit generic address, or a 32-bit shared one, to a shared address. Throws Fault if it is not an address
/// of shared memory. 64-bit addresses whose upper half is 0 are accepted: some libraries pass zero-extended shared
/// addresses.
uint32_t to_shared(uint64_t address, const char* what, const char* part = "");

}  // namespace sim
