// bar and barrier: the named barriers of a CTA. barrier.cluster is in cluster_barrier.cpp, bar.warp.sync in warp.cpp.
#include "exec/core/families.h"
#include "exec/core/lifetime.h"

namespace sim {
namespace {

using ptx::Type;

struct BarrierOperands {
  int32_t id = -1;
  int32_t threads = -1;     ///< number that the phase waits for; -1: all of the CTA
  PredicateOperand vote{};  ///< of .red
  int32_t result = -1;      ///< of .red: a predicate, or for .popc a number
  CtaBarrier::Reduction reduction = CtaBarrier::Reduction::None;
  bool waits = true;  ///< false: .arrive
  bool aligned = true;
};

void release(Cta& cta, CtaBarrier& barrier, Warp* running) {
  Cluster& cluster = *cta.cluster;
  const CtaBarrier done = std::move(barrier);
  barrier = CtaBarrier{};
  cluster.arrived_warps[cta.rank][static_cast<size_t>(&barrier - cta.named.data())] = 0;
  ++cluster.changes;
  const BarrierName name{BarrierName::Kind::Named, cta.rank, static_cast<uint32_t>(&barrier - cta.named.data())};
  cluster.watchers.tell(PhaseEvent{cluster, name});
  if (cluster.watchers.want(EventKind::Wait)) {
    for (const CtaBarrier::Waiter& waiter : done.waiters) {
      const Split& split = waiter.warp->splits[waiter.split];
      cluster.watchers.tell(
          WaitEvent{WaitEvent::What::Wakes, Wait::CtaBarrier, *waiter.warp, split.mask, split.pc, name});
    }
  }
  for (const CtaBarrier::Waiter& waiter : done.waiters) {
    const Mask mask = waiter.warp->splits[waiter.split].mask;
    const auto set_result = [&](bool truth) {
      set_predicate(*waiter.warp, waiter.result, mask, truth ? kAllLanes : 0);
    };
    switch (waiter.reduction) {
      case CtaBarrier::Reduction::None: break;
      case CtaBarrier::Reduction::And: set_result(done.true_lanes == done.all_lanes); break;
      case CtaBarrier::Reduction::Or: set_result(done.true_lanes > 0); break;
      case CtaBarrier::Reduction::Popc:
        for (Mask rest = mask; rest; rest &= rest - 1)
          lanes<uint32_t>(*waiter.warp, waiter.result)[first_lane(rest)] = done.true_lanes;
        break;
    }
    if (waiter.warp == running && waiter.split == running->current) continue;  // it is not blocked
    resume(*waiter.warp, waiter.split, static_cast<uint64_t>(cluster.costs().cta_barrier));
  }
}

bool complete(const Cta& cta, const CtaBarrier& barrier) {
  return barrier.arrived >= (barrier.expected != 0 ? barrier.expected : cta.live_warps * 32);
}

/// A warp arrives when all its lanes have; at a barrier that is not .aligned they may arrive at different instructions.
/// `slots` gets the other splits that have arrived. False: lanes are still missing, and Flow::Block must be returned.
bool gather_at_barrier(Warp& w, Mask m, uint32_t id, std::vector<uint8_t>* slots) {
  isolate(w, m);
  Mask have = m;
  for_waiting(w, Wait::Gather, [&](uint8_t slot) {
    const Split& other = w.splits[slot];
    if (slot == w.current || other.arguments[1] != kMeetAtBarrier + id) return;
    have |= other.mask;
    slots->push_back(slot);
  });
  if ((have & w.live) == w.live) return true;
  w.split().block(Wait::Gather, w.live, kMeetAtBarrier + id);
  return false;
}

Flow cta_barrier(Warp& w, const BarrierOperands& o, Mask m) {
  Cta& cta = *w.cta;
  std::vector<uint8_t> others;
  if (o.aligned ? !gather(w, kAllLanes, &m) : !gather_at_barrier(w, m, uniform<uint32_t>(w, o.id, m), &others))
    return Flow::Block;
  const uint32_t id = uniform<uint32_t>(w, o.id, m);
  if (id >= cta.named.size()) throw Fault{faults::barrier_number, {id}};
  CtaBarrier& barrier = cta.named[id];
  const uint32_t expected = o.threads >= 0 ? uniform<uint32_t>(w, o.threads, m) : 0;
  if (expected % 32 != 0) throw Fault{faults::barrier_count_of_no_warps, {id, expected}};
  if (expected > cta.warps.size() * 32) {
    throw Fault{faults::barrier_of_too_many, {id, expected, cta.warps.size() * 32}};
  }
  if (barrier.arrived > 0 && barrier.expected != expected) {
    throw Fault{faults::barrier_with_two_counts, {id, expected, barrier.expected}};
  }
  uint32_t& warps = cta.cluster->arrived_warps[cta.rank][id];
  if (warps >> w.index & 1) { throw Fault{faults::barrier_arrival_twice, {w.index, id}}; }
  warps |= 1u << w.index;
  barrier.expected = expected;
  barrier.arrived += 32;
  const auto arrive = [&](const BarrierOperands& at, uint8_t slot, Mask lanes_here) {
    if (at.vote.exists()) {
      barrier.true_lanes += static_cast<uint32_t>(std::popcount(at.vote.read(w) & lanes_here));
      barrier.all_lanes += static_cast<uint32_t>(std::popcount(lanes_here));
    }
    if (at.waits) barrier.waiters.push_back({&w, slot, at.result, at.reduction});
  };
  arrive(o, w.current, m);
  for (const uint8_t slot : others) {
    Split& other = w.splits[slot];
    const BarrierOperands& at = operands<BarrierOperands>(cta.cluster->launch->program->ops[other.pc]);
    arrive(at, slot, other.mask);
    if (at.waits)
      other.block(Wait::CtaBarrier, id, expected);
    else
      go_on(w, slot);
  }
  note_arrival(w);
  if (cta.cluster->watchers.want(EventKind::Barrier)) {
    const uint32_t needed = expected != 0 ? expected : cta.live_warps * 32;
    cta.cluster->watchers.tell(
        BarrierEvent{.what = o.waits ? BarrierEvent::What::Sync : BarrierEvent::What::Arrive,
                     .cluster = *cta.cluster,
                     .barrier = {BarrierName::Kind::Named, cta.rank, id},
                     .amount = 32,
                     .state = {.pending = static_cast<int32_t>(needed) - static_cast<int32_t>(barrier.arrived),
                               .completes = complete(cta, barrier)},
                     .warp = &w,
                     .lanes = m,
                     .expected = expected,
                     .is_aligned = o.aligned});
  }
  if (complete(cta, barrier)) {
    release(cta, barrier, &w);
    w.time += static_cast<uint64_t>(cta.cluster->costs().cta_barrier);
    return Flow::Next;
  }
  return o.waits ? block(w, Wait::CtaBarrier, id, expected) : Flow::Next;
}

void decode_barrier(Decoder& d) {
  using Reduction = CtaBarrier::Reduction;
  static constexpr std::pair<std::string_view, Reduction> kReductions[] = {
      {"and", Reduction::And}, {"or", Reduction::Or}, {"popc", Reduction::Popc}};
  const bool reduces = d.has("red");
  BarrierOperands o;
  o.waits = !d.has("arrive");
  o.aligned = d.in->opcode == "bar" || d.has("aligned");
  size_t at = 0;
  if (reduces) {
    o.reduction = d.one_of(kReductions, faults::reduction_required);
    o.result = d.destination(at++, 4);
  }
  o.id = d.source(at++, Type::B32);
  const size_t counts = d.count() - at - (reduces ? 1 : 0);
  if (counts == 1) o.threads = d.source(at++, Type::B32);
  if (reduces) o.vote = d.predicate_source(d.operand(at));
  d.emit<cta_barrier>(o);
}

constexpr Manner synchronises(DataUse use, bool is_aligned) {
  return {.use = use,
          .orders = Manner::Orders::Barrier,
          .acquires = true,
          .releases = true,
          .is_aligned = is_aligned,
          .alone = kNoEffect};
}
constexpr Mnemonic kMnemonics[] = {
    {"bar", decode_barrier, synchronises(DataUse::Decides, true)},
    {"barrier", decode_barrier, synchronises(DataUse::Decides, false)},
    {"bar.red", decode_barrier, synchronises(DataUse::Carries, true)},
    {"barrier.red", decode_barrier, synchronises(DataUse::Carries, false)},
};
constexpr std::string_view kIgnored[] = {"sync", "cta", "u32", "pred"};

}  // namespace

void check_cta_barriers(Cta& cta) {
  for (CtaBarrier& barrier : cta.named) {
    if (barrier.arrived > 0 && barrier.expected == 0 && complete(cta, barrier)) release(cta, barrier, nullptr);
  }
}

constinit const Family families::barrier{kMnemonics, kIgnored};

}  // namespace sim
