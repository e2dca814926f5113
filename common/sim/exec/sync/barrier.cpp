// Barriers of CTAs and clusters, fences, register reallocation, sleeping.
#include <algorithm>

#include "exec/core/decoder.h"
#include "exec/core/lifetime.h"
#include "exec/core/program.h"
#include "timing/counters.h"

namespace sim {
namespace {

using ptx::Type;

// ---- CTA barriers. shape[0] 1: only arrives; shape[2] 1: aligned; shape[1]: reduction 0 none, 1 and, 2 or, 3 popc; a:
// id, b: thread count (or -1), c: predicate, d: result

void release(Cta& cta, CtaBarrier& barrier, Warp* running) {
  Cluster& cluster = *cta.cluster;
  const CtaBarrier done = std::move(barrier);
  barrier = CtaBarrier{};
  if (cluster.counters != nullptr) ++cluster.counters->cta_barriers;
  ++cluster.changes;
  for (const CtaBarrier::Waiter& waiter : done.waiters) {
    Split& split = waiter.warp->splits[waiter.split];
    if (waiter.result >= 0) {
      const uint32_t count = done.true_lanes;
      if (waiter.kind == 3) {
        for (Mask rest = split.mask; rest; rest &= rest - 1)
          lanes<uint32_t>(*waiter.warp, waiter.result)[first_lane(rest)] = count;
      } else {
        const bool truth = waiter.kind == 1 ? count == done.all_lanes : count > 0;
        Mask& d = predicate(*waiter.warp, waiter.result);
        d = (d & ~split.mask) | (truth ? split.mask : 0);
      }
    }
    if (waiter.warp == running && waiter.split == running->current) continue;  // it has not stopped
    resume(*waiter.warp, waiter.split, static_cast<uint64_t>(cluster.costs().cta_barrier));
  }
}

bool complete(const Cta& cta, const CtaBarrier& barrier) {
  return barrier.arrived >= (barrier.expected != 0 ? barrier.expected : cta.live_warps * 32);
}

/// A warp arrives when all its lanes have; those of a barrier that is not .aligned come from different places. The
/// other splits that have come are put into `slots`; false: Flow::Block, for lanes are still missing.
bool gather_at_barrier(Warp& w, Mask m, uint32_t id, std::vector<uint8_t>* slots) {
  isolate(w, m);
  Mask have = m;
  for (uint32_t rest = w.used; rest; rest &= rest - 1) {
    const auto slot = static_cast<uint8_t>(std::countr_zero(rest));
    const Split& other = w.splits[slot];
    if (slot == w.current || other.wait != Wait::Gather || other.arguments[1] != kMeetAtBarrier + id) continue;
    have |= other.mask;
    slots->push_back(slot);
  }
  if ((have & w.live) == w.live) return true;
  w.split().block(Wait::Gather, w.live, kMeetAtBarrier + id);
  return false;
}

Flow cta_barrier(Warp& w, const Op& op, Mask m) {
  Cta& cta = *w.cta;
  std::vector<uint8_t> others;
  if (op.shape[2] ? !gather(w, op, kAllLanes, &m) : !gather_at_barrier(w, m, uniform<uint32_t>(w, op.a, m), &others))
    return Flow::Block;
  const uint32_t id = uniform<uint32_t>(w, op.a, m);
  if (id >= cta.named.size())
    throw Fault{Status::IllegalInstruction, "barrier " + std::to_string(id) + ": there are 16, numbered 0 to 15"};
  CtaBarrier& barrier = cta.named[id];
  const uint32_t expected = op.b >= 0 ? uniform<uint32_t>(w, op.b, m) : 0;
  if (expected % 32 != 0)
    throw Fault{Status::IllegalInstruction, "barrier " + std::to_string(id) + ": the thread count " +
                                                std::to_string(expected) + " is not a multiple of 32"};
  if (expected > cta.warps.size() * 32) {
    throw Fault{Status::LaunchFailure, "barrier " + std::to_string(id) + " waits for " + std::to_string(expected) +
                                           " threads, but the CTA has " + std::to_string(cta.warps.size() * 32)};
  }
  if (barrier.arrived > 0 && barrier.expected != expected) {
    throw Fault{Status::LaunchFailure, "barrier " + std::to_string(id) + " is used with two thread counts at once: " +
                                           std::to_string(expected) + " here, " + std::to_string(barrier.expected) +
                                           " by an earlier arrival (0: all threads)"};
  }
  barrier.expected = expected;
  barrier.arrived += 32;
  const auto arrive = [&](const Op& at, uint8_t slot, Mask lanes_here) {
    if (at.c >= 0) {
      const Mask truth = predicate(w, at.c) ^ (at.flags ? kAllLanes : 0);
      barrier.true_lanes += static_cast<uint32_t>(std::popcount(truth & lanes_here));
      barrier.all_lanes += static_cast<uint32_t>(std::popcount(lanes_here));
    }
    if (at.shape[0] == 0)
      barrier.waiters.push_back({&w, slot, at.shape[1] ? at.d : -1, static_cast<uint8_t>(at.shape[1])});
  };
  arrive(op, w.current, m);
  for (const uint8_t slot : others) {
    Split& other = w.splits[slot];
    const Op& at = cta.cluster->launch->program->ops[other.pc];
    arrive(at, slot, other.mask);
    if (at.shape[0] == 0)
      other.block(Wait::CtaBarrier, id, expected);
    else
      go_on(w, slot);
  }
  const bool waits = op.shape[0] == 0;
  note_effect(w);
  if (complete(cta, barrier)) {
    release(cta, barrier, &w);
    w.time += static_cast<uint64_t>(cta.cluster->costs().cta_barrier);
    return Flow::Next;
  }
  if (!waits) return Flow::Next;
  return block(w, Wait::CtaBarrier, id, expected);
}

// ---- cluster barrier

Flow cluster_arrive(Warp& w, const Op& op, Mask m) {
  if (op.flags && !gather(w, op, kAllLanes, &m)) return Flow::Block;
  // A release: what this warp has signalled before has arrived.
  if (op.imm && w.signals_in_flight > 0) return block(w, Wait::Signals);
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    if (w.cluster_phase[static_cast<size_t>(lane)] != 0) {
      throw Fault{Status::LaunchFailure, "barrier.cluster.arrive twice without barrier.cluster.wait in between", lane};
    }
    w.cluster_phase[static_cast<size_t>(lane)] = cluster.barrier.phase + 1;
  }
  cluster.barrier.arrived += static_cast<uint32_t>(std::popcount(m));
  note_effect(w);
  check_cluster_barrier(cluster);
  return Flow::Next;
}

Flow cluster_wait(Warp& w, const Op& op, Mask m) {
  if (op.flags && !gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cluster& cluster = cluster_of(w);
  bool done = true;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t phase = w.cluster_phase[static_cast<size_t>(lane)];
    if (phase == 0)
      throw Fault{Status::LaunchFailure, "barrier.cluster.wait without barrier.cluster.arrive before", lane};
    done &= cluster.barrier.phase >= phase;
  }
  for (Mask rest = m; rest; rest &= rest - 1) w.cluster_phase[static_cast<size_t>(first_lane(rest))] = 0;
  if (done) return Flow::Next;
  isolate(w, m);
  cluster.barrier.waiters.push_back({&w, w.current});
  return block(w, Wait::ClusterBarrier);
}

// ---- registers

Flow set_max_registers(Warp& w, const Op& op, Mask m) {
  if (!gather(w, op, kAllLanes, &m)) return Flow::Block;
  Cta& cta = *w.cta;
  if (w.max_registers == 0) return Flow::Next;  // no launch bounds: the instruction has no effect
  const auto want = static_cast<uint32_t>(op.imm);
  const auto difference = (static_cast<int32_t>(want) - static_cast<int32_t>(w.max_registers)) * 32;
  if (difference > cta.register_pool) return block(w, Wait::Registers, want, w.max_registers);
  cta.register_pool -= difference;
  w.max_registers = want;
  note_effect(w);
  if (difference < 0) check_register_pool(cta);
  return Flow::Next;
}

Flow nanosleep(Warp& w, const Op& op, Mask m) {
  const uint64_t ns = std::min<uint64_t>(uniform<uint32_t>(w, op.a, m), 1'000'000);
  w.time += ns * static_cast<uint64_t>(cluster_of(w).launch->gpu->clock_khz) / 1'000'000;
  return poll(w);
}

Flow nothing(Warp&, const Op&, Mask) { return Flow::Next; }

}  // namespace

void check_cta_barriers(Cta& cta) {
  for (CtaBarrier& barrier : cta.named) {
    if (barrier.arrived > 0 && barrier.expected == 0 && complete(cta, barrier)) release(cta, barrier, nullptr);
  }
}

void check_cluster_barrier(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0 || barrier.arrived < cluster.live_threads) return;
  barrier.arrived = 0;
  ++barrier.phase;
  ++cluster.changes;
  if (cluster.counters != nullptr) ++cluster.counters->cluster_barriers;
  std::vector<ClusterBarrier::Waiter> woken;
  woken.swap(barrier.waiters);
  for (const ClusterBarrier::Waiter& waiter : woken) {
    resume(*waiter.warp, waiter.split, static_cast<uint64_t>(cluster.costs().cluster_barrier));
  }
}

void check_register_pool(Cta& cta) {
  for (Warp& warp : cta.warps) {
    for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
      const auto index = static_cast<uint8_t>(first_lane(rest));
      Split& split = warp.splits[index];
      if (split.wait != Wait::Registers) continue;
      const auto difference =
          (static_cast<int32_t>(split.arguments[0]) - static_cast<int32_t>(warp.max_registers)) * 32;
      if (difference > cta.register_pool) return;  // first come, first served
      cta.register_pool -= difference;
      warp.max_registers = split.arguments[0];
      resume(warp, index, 0);
    }
  }
}

void decode_barrier(Decoder& d) {
  Op& op = *d.op;
  const std::string& name = d.in->opcode;
  if ((name == "bar" || name == "barrier") && !d.has("cluster")) {
    const bool reduces = d.has("red");
    op.shape[0] = d.has("arrive");
    op.shape[2] = name == "bar" || d.has("aligned");
    d.ignore({"sync", "cta", "popc", "u32", "pred"});
    size_t at = 0;
    if (reduces) {
      op.shape[1] = d.has("and") ? 1 : d.has("or") ? 2 : 3;
      op.d = d.destination(at++, 4);
    }
    op.a = d.source(at++, Type::B32);
    const size_t counts = d.count() - at - (reduces ? 1 : 0);
    if (counts == 1) op.b = d.source(at++, Type::B32);
    if (reduces) {
      bool negated = false;
      op.c = d.predicate_source(d.operand(at), &negated);
      op.flags = negated;
    }
    op.run = cta_barrier;
  } else if (name == "barrier") {
    op.flags = d.has("aligned");
    op.imm = !d.has("relaxed");
    d.ignore({"wait", "release", "acquire"});
    op.run = d.has("arrive") ? cluster_arrive : cluster_wait;
  } else if (name == "setmaxnreg") {
    op.imm = d.immediate(0);
    d.ignore({"inc", "dec", "sync", "aligned", "u32"});
    op.run = set_max_registers;
  } else if (name == "nanosleep") {
    op.a = d.source(0, Type::U32);
    d.ignore({"u32"});
    op.run = nanosleep;
  } else if (name == "fence" || name == "membar" || name == "griddepcontrol") {
    // Memory is sequentially consistent here, and dependent launches run one after the other.
    d.ignore({"*"});
    op.run = nothing;
  }
}

}  // namespace sim
