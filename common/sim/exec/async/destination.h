// Shared memory that asynchronous copies write, and the mbarriers that count their bytes.
#pragma once

#include <vector>

#include "exec/async/box.h"
#include "exec/core/decoder.h"

namespace sim {

/// [destination] and [mbarrier] of a copy into shared memory, with the receiving CTAs of a multicast.
struct DestinationOperand {
  Address to, barrier;
  int32_t multicast = -1;  ///< slot of the CTA mask; -1: only the CTA that the address names
  bool pair = false;       ///< .cta_group::2: the barrier may be in the pair's other CTA
  bool own_only = false;   ///< .shared::cta: `to` must be in this CTA
};

/// A CTA that receives the data, and the CTA whose mbarrier counts the bytes.
struct Credit {
  uint32_t destination, barrier_rank;
  uint32_t number = 0;  ///< among all destinations of the copy
};
struct Destination {
  uint32_t offset = 0, barrier = 0;  ///< in each of the CTAs
  std::vector<Credit> credits;
};

/// The destination of a lane's copy. `what` names the copy in messages. Throws Fault.
Destination destination_of(Warp& warp, const DestinationOperand& operand, int lane, const char* what);

/// The shared address in a lane's address operand. Throws Fault if the address is not one of shared memory.
uint32_t shared_address(Warp& warp, const Address& address, int lane, const char* what);

/// The size operand of a bulk copy: a multiple of 16 bytes, or Fault.
uint32_t bulk_size(Warp& warp, int32_t slot, int lane);

/// Throws Fault unless [offset, offset + bytes) is memory of the CTA, aligned and free of mbarriers.
Cta& check_destination(Cluster& cluster, uint32_t rank, uint32_t offset, uint32_t bytes, uint32_t align,
                       const char* what);

/// Records the layout of these bytes, for the checks of descriptors.
void mark_layout(Cta& cta, uint32_t offset, uint32_t bytes, uint8_t layout);

/// Overwrites bytes that a copy in flight may already have destroyed.
void poison(Cta& cta, uint32_t offset, uint32_t bytes);
void poison(Cta& cta, uint32_t offset, const Box& box);

/// Drops the copy into memory of the issuing CTA if that has exited without waiting: hardware tolerates this, although
/// a later CTA may find the bytes in its own memory. Returns whether a destination is left.
bool tolerate_early_exit(Cluster& cluster, const Origin& origin, std::vector<Credit>* credits);

/// The copy is complete: every mbarrier counts its bytes.
void credit_bytes(Cluster& cluster, const Destination& destination, const Credit& credit, uint32_t bytes,
                  const AsyncOperation& operation);

}  // namespace sim
