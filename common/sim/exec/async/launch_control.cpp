// clusterlaunchcontrol: a cluster takes over the work of one that has not started. The 16-byte answer is ours:
// [valid, x, y, z].
#include <array>

#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/submit.h"

namespace sim {
namespace {

using ptx::Type;

// ---- try_cancel

struct TryCancelOperands {
  Address to, barrier;
  bool all;  ///< .multicast::cluster::all: every CTA of the cluster gets the answer
};

class TryCancel final : public AsyncOperation {
 public:
  uint32_t to = 0, barrier = 0;  // offsets
  uint32_t rank = 0;
  bool all = false;
  void complete(Cluster& cluster) override {
    Launch& launch = *cluster.launch;
    uint32_t number = 0;
    std::array<uint32_t, 4> answer{0, 0, 0, 0};
    if (launch.cancel_cluster(&number)) {
      const std::array<uint32_t, 3> clusters{launch.grid[0] / launch.cluster[0], launch.grid[1] / launch.cluster[1],
                                             launch.grid[2] / launch.cluster[2]};
      answer = {1, number % clusters[0] * launch.cluster[0], number / clusters[0] % clusters[1] * launch.cluster[1],
                number / clusters[0] / clusters[1] * launch.cluster[2]};
    }
    for (uint32_t r = all ? 0 : rank; r < (all ? cluster.ctas.size() : rank + 1); ++r) {
      Cta& cta = check_destination(cluster, r, to, 16, 16, "clusterlaunchcontrol.try_cancel");
      std::memcpy(cta.smem.data() + to, answer.data(), 16);
      mark_layout(cta, to, 16, kLayoutUnknown);
      if (watched) cluster.observer->landed(*watched, all ? r : 0, cta, barrier);
      apply(cluster, r, barrier, BarrierEffect::CompleteTx, 16, origin, true);
    }
  }
  std::string describe() const override { return "clusterlaunchcontrol.try_cancel"; }
};

Flow try_cancel(Warp& w, const TryCancelOperands& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto cancel = std::make_unique<TryCancel>();
    cancel->to = shared_address(w, o.to, lane, "try_cancel") & kSharedOffsetMask;
    cancel->barrier = to_shared(o.barrier.of(w, lane), "try_cancel", "'s mbarrier") & kSharedOffsetMask;
    cancel->all = o.all;
    cancel->rank = w.cta->rank;
    if (Observer* const observer = observer_of(w)) {
      std::vector<Observer::Landing> landings;
      for (Cta& cta : cluster_of(w).ctas) {
        if (o.all || &cta == w.cta) landings.push_back({&cta, {{cancel->to, cancel->to + 16u}}, &cta, cancel->barrier});
      }
      cancel->watched = observer->loads(w, lane, order::Role::Cancel, landings, nullptr, {});
    }
    submit(w, lane, std::move(cancel), {.latency = static_cast<uint64_t>(cluster_of(w).costs().tma_load_latency)});
  }
  note_effect(w);
  return Flow::Next;
}

// ---- query_cancel

struct IsCanceled {
  int32_t d, answer;
};
Flow is_canceled(Warp& w, const IsCanceled& o, Mask m) {
  Mask truth = 0;
  for (int lane = 0; lane < 32; ++lane)
    truth |= static_cast<Mask>((lanes<uint64_t>(w, o.answer)[lane] & 0xFFFF'FFFF) == 1) << lane;
  set_predicate(w, o.d, m, truth);
  return Flow::Next;
}

struct FirstCta {
  std::array<int32_t, 4> d{-1, -1, -1, -1};
  uint8_t count = 0;
  uint8_t first = 0;  ///< component of d[0]
  int32_t answer = -1;
};
Flow first_cta(Warp& w, const FirstCta& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint64_t low = lanes<uint64_t>(w, o.answer)[lane], high = lanes<uint64_t>(w, o.answer)[32 + lane];
    const uint32_t words[4] = {static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                               static_cast<uint32_t>(high >> 32), 0};
    if ((low & 0xFFFF'FFFF) != 1)
      throw Fault{Status::LaunchFailure, "get_first_ctaid of a try_cancel that cancelled nothing", lane};
    for (size_t i = 0; i < o.count; ++i) {
      if (o.d[i] >= 0) lanes<uint32_t>(w, o.d[i])[lane] = words[o.first + i];
    }
  }
  return Flow::Next;
}

void decode_try_cancel(Decoder& d) {
  d.program().needs_order = true;
  d.emit<try_cancel>({.to = d.address(0), .barrier = d.address(1), .all = d.has("multicast::cluster::all")});
}

void decode_first_cta(Decoder& d) {
  FirstCta o{.answer = d.source(1, Type::B128)};
  const int component = d.which({"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
  o.first = static_cast<uint8_t>(component < 0 ? 0 : component);
  const auto targets = d.elements(d.operand(0));
  if (o.first + targets.size() > o.d.size()) d.unsupported("this number of registers");
  o.count = static_cast<uint8_t>(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) o.d[i] = d.destination_if_any(targets[i], 4);
  d.emit<first_cta>(o);
}

constexpr Mnemonic kMnemonics[] = {
    {"clusterlaunchcontrol.try_cancel", decode_try_cancel},
    {"clusterlaunchcontrol.query_cancel", decode_first_cta},
    {"clusterlaunchcontrol.query_cancel.is_canceled",
     [](Decoder& d) { d.emit<is_canceled>({.d = d.destination(0, 4), .answer = d.source(1, Type::B128)}); }},
};
constexpr std::string_view kIgnored[] = {
    "get_first_ctaid", "pred", "v4", "b32", "b128", "async", "shared::cta", "mbarrier::complete_tx::bytes"};

}  // namespace

constinit const Family families::launch_control{kMnemonics, kIgnored};

}  // namespace sim
