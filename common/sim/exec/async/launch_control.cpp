// clusterlaunchcontrol: a cluster takes over the work of one that has not started. The format of the 16-byte response
// is our own: [kGranted or kRefused, x, y, z]. Any other first word is not a response.
#include <array>
#include <vector>

#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/submit.h"
#include "exec/sync/signal.h"

namespace sim {
namespace {

using ptx::Type;

constexpr uint32_t kGranted = 1, kRefused = 2;

// ---- try_cancel

struct TryCancelOperands {
  Address to, barrier;
  bool all;  ///< .multicast::cluster::all: every CTA of the cluster gets the response
};

class TryCancel final : public AsyncOperation {
 public:
  uint32_t to = 0, barrier = 0;  // offsets
  std::vector<uint32_t> ranks;   // of the CTAs that get the response

  /// The receiving CTA of this rank; throws Fault if it has exited.
  Cta& destination(Cluster& cluster, uint32_t rank) const {
    return check_destination(cluster, rank, to, 16, 16, "clusterlaunchcontrol.try_cancel");
  }
  void complete(Cluster& cluster) override {
    Launch& launch = *cluster.launch;
    uint32_t number = 0;
    std::array<uint32_t, 4> answer{kRefused, 0, 0, 0};
    if (launch.cancel_cluster(&number)) {
      const std::array<uint32_t, 3> clusters{launch.grid[0] / launch.cluster[0], launch.grid[1] / launch.cluster[1],
                                             launch.grid[2] / launch.cluster[2]};
      answer = {kGranted, number % clusters[0] * launch.cluster[0],
                number / clusters[0] % clusters[1] * launch.cluster[1],
                number / clusters[0] / clusters[1] * launch.cluster[2]};
    }
    this->answer(cluster, answer);
    for (uint32_t i = 0; i < ranks.size(); ++i) {
      cluster.watchers.tell(LandingEvent{
          LandingEvent::What::Lands, cluster, mark.get(), i, {BarrierName::Kind::Mbarrier, ranks[i], barrier}});
      apply(cluster, ranks[i], barrier, BarrierEffect::CompleteTx, 16, origin, true);
    }
  }
  void complete_alone(Cluster& cluster) override { answer(cluster, {kRefused, 0, 0, 0}); }
  void answer(Cluster& cluster, const std::array<uint32_t, 4>& words) const {
    for (const uint32_t rank : ranks) {
      Cta& cta = destination(cluster, rank);
      std::memcpy(cta.smem.data() + to, words.data(), 16);
      cluster.watchers.tell(
          FillEvent{.what = FillEvent::What::Shared, .is_known = true, .rank = rank, .first = to, .bytes = 16});
      mark_layout(cta, to, 16, kLayoutUnknown);
    }
  }
  std::string describe() const override { return "clusterlaunchcontrol.try_cancel"; }
  Footprint footprint() const override {
    Footprint moved{.bytes = 16};
    for (const uint32_t rank : ranks) moved.places.push_back({.written = true, .rank = rank, .first = to, .count = 16});
    return moved;
  }
};

Flow try_cancel(Warp& w, const TryCancelOperands& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto cancel = std::make_unique<TryCancel>();
    cancel->to = shared_address(w, o.to, lane, "try_cancel") & kSharedOffsetMask;
    cancel->barrier = to_shared(o.barrier.of(w, lane), "try_cancel", "'s mbarrier") & kSharedOffsetMask;
    if (w.cta->saw_refusal) throw Fault{faults::cancel_after_refusal, {}, lane};
    Destination destination{cancel->to, cancel->barrier, {}};
    for (Cta& cta : cluster.ctas) {
      if (!o.all && &cta != w.cta) continue;
      cancel->ranks.push_back(cta.rank);
      destination.credits.push_back({cta.rank, cta.rank, static_cast<uint32_t>(destination.credits.size())});
      poison(cancel->destination(cluster, cta.rank), cancel->to, 16);
    }
    cluster.watchers.tell(IssueEvent{.role = Role::Cancel,
                                     .warp = w,
                                     .lanes = 1u << lane,
                                     .operation = cancel.get(),
                                     .to = &destination,
                                     .bytes = 16,
                                     .to_all = o.all});
    submit(w, lane, std::move(cancel), {.latency = static_cast<uint64_t>(cluster.costs().tma_load_latency)});
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
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const auto said = static_cast<uint32_t>(lanes<uint64_t>(w, o.answer)[lane]);
    if (said != kGranted && said != kRefused) throw Fault{faults::query_of_no_response, {}, lane};
    truth |= static_cast<Mask>(said == kGranted) << lane;
    w.cta->saw_refusal |= said == kRefused;
  }
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
    if (static_cast<uint32_t>(low) != kGranted) throw Fault{faults::cta_of_refused_cancel, {}, lane};
    for (size_t i = 0; i < o.count; ++i) {
      if (o.d[i] >= 0) lanes<uint32_t>(w, o.d[i])[lane] = words[o.first + i];
    }
  }
  return Flow::Next;
}

void decode_try_cancel(Decoder& d) {
  d.program().cancels_clusters = true;
  d.emit<try_cancel>({.to = d.address(0), .barrier = d.address(1), .all = d.has("multicast::cluster::all")});
}

void decode_first_cta(Decoder& d) {
  FirstCta o{.answer = d.source(1, Type::B128)};
  const int component = d.which({"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
  o.first = static_cast<uint8_t>(component < 0 ? 0 : component);
  const auto targets = d.elements(d.operand(0));
  if (o.first + targets.size() > o.d.size()) d.unsupported(faults::number_of_registers);
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
