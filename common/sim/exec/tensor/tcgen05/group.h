// Common parts of all tcgen05 instructions: the check of the GPU, CTA pairs, addresses in tensor memory.
#pragma once

#include "exec/core/decoder.h"

namespace sim::tcgen05 {

/// Throws Fault where the GPU has no tensor memory.
void require(Warp& warp);

/// .cta_group::1 or ::2.
int group_of(const Decoder& d);

/// The other CTA of the pair, alive. Throws Fault.
Cta& peer_of(Cta& cta, const char* what);

/// The rank of the first CTA that an instruction of this group works on.
inline uint32_t leader_of(const Cta& cta, int group) { return group == 2 ? cta.rank & ~1u : cta.rank; }

/// Throws Fault if the CTA has exited.
Cta& alive(Cluster& cluster, uint32_t rank, const char* who);

/// The queue of a thread's operations that take effect in the order of issue: mma, cp, commit.
inline OrderQueue& queue_of(Warp& warp, int lane) {
  return warp.cta->tensor_order[warp.index * 32 + static_cast<uint32_t>(lane)];
}

/// The latency of a copy or a shift that this lane issues: it occupies the leader's tensor pipe.
inline Latency latency_of_move(Warp& warp, int lane, uint32_t leader) {
  Cluster& cluster = cluster_of(warp);
  return {.unit = &cluster.ctas[leader].tensor_pipe,
          .busy = 64,
          .latency = static_cast<uint64_t>(cluster.costs().mma_latency),
          .order = &queue_of(warp, lane)};
}

/// Notifies watchers of the accesses of a copy or a shift of this lane.
void tell_moved(Warp& warp, int lane, TensorAccesses& seen);

/// [tensor memory address + offset]: lane in the upper half, column in the lower.
struct TmemOperand {
  int32_t slot = -1;
  uint32_t offset = 0;

  static TmemOperand decode(Decoder& d, size_t index);
  uint32_t of(Warp& warp, int lane) const { return lanes<uint32_t>(warp, slot)[lane] + offset; }
};
inline int tmem_column(uint32_t address) { return static_cast<int>(address & 0xFFFF); }
inline int tmem_lane(uint32_t address) { return static_cast<int>(address >> 16); }

}  // namespace sim::tcgen05
