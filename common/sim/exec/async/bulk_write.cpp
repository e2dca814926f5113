#include "exec/async/bulk_write.h"

#include "exec/core/access.h"
#include "exec/core/groups.h"
#include "exec/core/submit.h"

namespace sim {

void BulkWrite::complete(Cluster& cluster) {
  uint64_t total = 0;
  bool changed = false;
  cluster.watchers.tell(LandingEvent{LandingEvent::What::Writes, cluster, mark.get()});
  for (const Piece& piece : pieces) {
    uint8_t* to = global_location(cluster, piece.to, piece.bytes, 1, true, "TMA store");
    const uint8_t* from = data.data() + piece.at;
    if (how == Reduction::None) {
      cluster.watchers.tell(StoreEvent{.cluster = cluster,
                                       .warp = nullptr,
                                       .is_done = false,
                                       .lanes = 1,
                                       .host = &to,
                                       .values = from,
                                       .bytes = piece.bytes});
    }
    changed |= std::memcmp(to, from, piece.bytes) != 0;
    if (how != Reduction::None) {
      reduce(to, from, piece.bytes, how, type);
    } else if (byte_mask == 0xFFFF) {
      std::memcpy(to, from, piece.bytes);
    } else {
      for (uint32_t i = 0; i < piece.bytes; ++i)
        if (byte_mask >> (i % 16) & 1) to[i] = from[i];
    }
    total += piece.bytes;
  }
  cluster.watchers.tell(LandingEvent{
      .what = LandingEvent::What::Written, .cluster = cluster, .mark = mark.get(), .changed = changed, .bytes = total});
  ++cluster.changes;
  finish_bulk_write(*warp, origin.lane, group);
  wake_bulk_waiters(*warp);
}

void finish_read(Cluster& cluster, const AsyncOperation& read, std::unique_ptr<BulkWrite> write) {
  finish_bulk_read(*write->warp, read.origin.lane, write->group);
  wake_bulk_waiters(*write->warp);
  write->mark = read.mark;
  const Costs& costs = cluster.costs();
  const Latency when{.unit = &write->warp->cta->store_pipe,
                     .busy = write->data.size() / static_cast<uint64_t>(costs.tma_bytes_per_cycle),
                     .latency = static_cast<uint64_t>(costs.tma_store_latency)};
  submit_after(cluster, read, std::move(write), when);
}

const uint8_t* store_source(Cluster& cluster, const Cta& cta, uint32_t offset, uint32_t bytes, uint32_t align,
                            const char* what) {
  if (cta.exited) return cta.smem.data() + offset;  // its exit has been tolerated
  return shared_location(cluster, cta, cta.rank << kSharedRankShift | offset, bytes, align, true, what);
}

Latency read_time(Cta& cta, uint32_t bytes) {
  const Costs& costs = cta.cluster->costs();
  return {.unit = &cta.store_pipe,
          .busy = bytes / static_cast<uint64_t>(costs.tma_bytes_per_cycle),
          .latency = static_cast<uint64_t>(costs.tma_issue)};
}

}  // namespace sim
