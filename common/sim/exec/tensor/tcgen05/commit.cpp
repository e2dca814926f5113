// tcgen05.commit: one arrival at every named barrier when the thread's earlier operations are complete. Also the
// fences, which have nothing to order here: operations take effect one at a time.
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/submit.h"
#include "exec/sync/signal.h"
#include "exec/tensor/tcgen05/group.h"

namespace sim {
namespace tcgen05 {
namespace {

class Commit final : public AsyncOperation {
 public:
  uint32_t offset = 0;  // of the barrier, in each of the CTAs
  std::vector<uint32_t> ranks;
  uint64_t cluster_phase = 0, number = 0;
  void complete(Cluster& cluster) override {
    for (const uint32_t rank : ranks) {
      auto signal = std::make_unique<RemoteSignal>();
      signal->rank = rank, signal->offset = offset, signal->signal = {.arrives = true};
      signal->commit = number;
      signal->cluster_phase = cluster_phase;
      signal->mark = mark;
      const bool is_remote = rank != origin.cta_rank;
      submit_after(cluster, *this, std::move(signal),
                   {.latency = is_remote ? static_cast<uint64_t>(cluster.costs().remote_arrive) : 0});
    }
  }
  std::string describe() const override { return "tcgen05.commit"; }
};

struct CommitOperands {
  Address barrier;
  int32_t multicast = -1;  ///< slot of the CTA mask
  uint8_t group = 1;
};
Flow commit(Warp& w, const CommitOperands& o, Mask m) {
  require(w);
  const size_t size = cluster_of(w).ctas.size();
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = to_shared(o.barrier.of(w, lane), "tcgen05.commit");
    auto commit = std::make_unique<Commit>();
    commit->offset = address & kSharedOffsetMask;
    commit->cluster_phase = open_cluster_phase(w, lane);
    commit->number = cluster_of(w).progress + 1;  // submitting it counts as progress
    if (o.multicast >= 0) {
      const uint32_t mask = lanes<uint32_t>(w, o.multicast)[lane];
      for (uint32_t rank = 0; rank < 16; ++rank) {
        if (mask >> rank & 1) commit->ranks.push_back(rank);
      }
    } else {
      commit->ranks.push_back(address >> kSharedRankShift);
    }
    for (const uint32_t rank : commit->ranks) {
      if (rank >= size) throw Fault{faults::commit_to_no_cta, {rank, size}, lane};
    }
    SignalEvent told{SignalEvent::What::Tensor, cluster_of(w), w.cta->rank, commit->offset, &w, lane};
    told.group = o.group;
    for (const uint32_t rank : commit->ranks) told.ranks |= 1u << rank;
    cluster_of(w).watchers.tell(told);
    commit->mark = std::move(told.mark);
    submit(w, lane, std::move(commit), {.order = &queue_of(w, lane)});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

void decode_commit(Decoder& d) {
  CommitOperands o{.barrier = d.address(0)};
  if (d.has("cta_group::2")) o.group = 2;
  if (d.has("multicast::cluster")) o.multicast = d.source(1, ptx::Type::B32);
  d.emit<commit>(o);
}

Flow fence(Warp& w, const NoOperands&, Mask m) {
  cluster_of(w).watchers.tell(FenceEvent{.warp = w, .lanes = m});
  return Flow::Next;
}
void decode_fence(Decoder& d) {
  d.emit<fence>({});
  d.op->touches_pending = true;
}

constexpr Mnemonic kMnemonics[] = {
    {"tcgen05.commit", decode_commit, Manner{.alone = kNoEffect}},
    {"tcgen05.fence::before_thread_sync", decode_fence,
     Manner{.orders = Manner::Orders::Barrier, .fence = Ordering::Fence::BeforeThreadSync}},
    {"tcgen05.fence::after_thread_sync", decode_fence,
     Manner{.orders = Manner::Orders::Barrier, .fence = Ordering::Fence::AfterThreadSync}},
};
constexpr std::string_view kIgnored[] = {"cta_group::1", "mbarrier::arrive::one", "shared::cluster", "b64"};

}  // namespace
}  // namespace tcgen05

constinit const Family families::tcgen05_commit{tcgen05::kMnemonics, tcgen05::kIgnored};

}  // namespace sim
