#include "exec/async/destination.h"

#include <algorithm>
#include <array>

#include "exec/core/access.h"
#include "exec/core/report.h"
#include "exec/sync/signal.h"

namespace sim {

uint32_t shared_address(Warp& warp, const Address& address, int lane, const char* what) {
  return to_shared(address.of(warp, lane), what);
}

Destination destination_of(Warp& warp, const DestinationOperand& operand, int lane, const char* what) {
  const uint32_t to = shared_address(warp, operand.to, lane, what);
  const uint32_t barrier = to_shared(operand.barrier.of(warp, lane), what, "'s mbarrier");
  if (operand.own_only && to >> kSharedRankShift != warp.cta->rank) throw Fault{faults::copy_to_other_cta, {}, lane};
  Destination destination{.offset = to & kSharedOffsetMask, .barrier = barrier & kSharedOffsetMask, .credits = {}};
  const uint32_t rank = to >> kSharedRankShift, barrier_rank = barrier >> kSharedRankShift;
  if (operand.multicast >= 0) {
    const uint32_t mask = lanes<uint32_t>(warp, operand.multicast)[lane];
    for (uint32_t each = 0; each < 16; ++each) {
      if (!(mask >> each & 1)) continue;
      // cta_group::2: the CTA of the pair with the parity of the one that owns the named barrier.
      destination.credits.push_back({each, operand.pair ? (each & ~1u) | (barrier_rank & 1) : each,
                                     static_cast<uint32_t>(destination.credits.size())});
    }
    if (destination.credits.empty()) throw Fault{faults::multicast_to_none, {}, lane};
    return destination;
  }
  if (operand.pair ? (barrier_rank >> 1) != (rank >> 1) : barrier_rank != rank) {
    throw Fault{
        operand.pair ? faults::copy_signals_other_pair : faults::copy_signals_other_cta, {barrier_rank, rank}, lane};
  }
  destination.credits.push_back({rank, barrier_rank});
  return destination;
}

uint32_t bulk_size(Warp& warp, int32_t slot, int lane) {
  const uint32_t bytes = lanes<uint32_t>(warp, slot)[lane];
  if (bytes % 16 == 0) return bytes;
  throw Fault{faults::bulk_size, {bytes}, lane};
}

Cta& check_destination(Cluster& cluster, uint32_t rank, uint32_t offset, uint32_t bytes, uint32_t align,
                       const char* what) {
  if (rank >= cluster.ctas.size()) throw Fault{faults::copy_to_no_cta, {what, rank}};
  Cta& cta = cluster.ctas[rank];
  shared_location(cluster, cta, rank << kSharedRankShift | offset, bytes, align, true, what);
  check_read(cluster, cta, offset, bytes, what);
  if (offset + bytes > cta.barrier_low && offset < cta.barrier_high) {
    for (uint32_t slot = offset / 8; slot < (offset + bytes + 7) / 8; ++slot) {
      if (cta.barrier_index[slot] != 0) throw Fault{faults::copy_over_mbarrier, {what, name_of_shared(cta, slot * 8)}};
    }
  }
  return cta;
}

void mark_layout(Cta& cta, uint32_t offset, uint32_t bytes, uint8_t layout) {
  if (cta.layout.empty()) {
    if (layout == kLayoutUnknown) return;
    cta.layout.assign(cta.smem.size() / 128 + 1, kLayoutUnknown);
  }
  std::fill(cta.layout.begin() + offset / 128, cta.layout.begin() + (offset + bytes + 127) / 128, layout);
}

void poison(Cta& cta, uint32_t offset, uint32_t bytes) { std::memset(cta.smem.data() + offset, 0xFF, bytes); }

void poison(Cta& cta, uint32_t offset, const Box& box) {
  if (box.pitch == box.shared_bytes) return poison(cta, offset, box.footprint());
  std::array<uint8_t, 128> row;  // of a box that is narrower than its swizzle: gaps between rows keep their contents
  row.fill(0xFF);
  for (uint32_t i = 0; i < box.rows; ++i) row_to_shared(cta, box, offset + i * box.pitch, row.data());
}

bool tolerate_early_exit(Cluster& cluster, const Origin& origin, std::vector<Credit>* credits) {
  const auto is_own = [&](const Credit& credit) { return credit.destination == origin.cta_rank; };
  if (!cluster.ctas[origin.cta_rank].exited || std::none_of(credits->begin(), credits->end(), is_own)) return true;
  const Fault early{faults::exit_before_own_loads, {name_of(cluster.ctas[origin.cta_rank])}};
  tolerate_violation(cluster, Habit::ExitWithOwnLoads, early, nullptr, &origin);
  std::erase_if(*credits, is_own);
  return !credits->empty();
}

void credit_bytes(Cluster& cluster, const Destination& destination, const Credit& credit, uint32_t bytes,
                  const AsyncOperation& operation) {
  cluster.watchers.tell(LandingEvent{LandingEvent::What::Lands,
                                     cluster,
                                     operation.mark.get(),
                                     credit.number,
                                     {BarrierName::Kind::Mbarrier, credit.barrier_rank, destination.barrier}});
  apply(cluster, credit.barrier_rank, destination.barrier, BarrierEffect::CompleteTx, bytes, operation.origin, true);
}

}  // namespace sim
