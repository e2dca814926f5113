// mbarrier instructions.
#include <algorithm>

#include "exec/async/groups.h"
#include "exec/core/access.h"
#include "exec/core/decoder.h"
#include "exec/sync/signal.h"
#include "timing/counters.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

enum Flags : uint32_t {
  kWide = 1,      // the address slot holds 64-bit lanes (generic addresses)
  kOwn = 2,       // must be this CTA's barrier (shared::cta)
  kBlocks = 4,    // try_wait
  kHasState = 8,  // arrive with a result; wait with a token instead of a parity
  kExpect = 16,   // arrive.expect_tx
  kDrop = 32,     // arrive_drop
  kNoComplete = 64,
};

uint32_t barrier_address(Warp& w, const Op& op, int lane) {
  const uint64_t base = op.flags & kWide ? lanes<uint64_t>(w, op.a)[lane] : lanes<uint32_t>(w, op.a)[lane];
  const uint64_t address = base + static_cast<uint64_t>(op.imm);
  if (!(op.flags & kWide)) return static_cast<uint32_t>(address);
  return to_shared(address, "mbarrier");
}

/// The barrier at a shared address of this CTA, for waits, tests and arrivals with a result.
Mbarrier& own_barrier(Warp& w, uint32_t address, int lane) {
  const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
  if (rank != w.cta->rank) {
    throw Fault{Status::IllegalInstruction,
                "this form works on the CTA's own mbarrier only, but the address " + hex(address) +
                    " belongs to CTA rank " + std::to_string(rank) + " (this is rank " + std::to_string(w.cta->rank) +
                    ")",
                lane};
  }
  Mbarrier* barrier = w.cta->find_barrier(offset);
  if (barrier == nullptr) {
    throw Fault{Status::LaunchFailure,
                "there is no mbarrier at shared offset " + hex(offset) +
                    ": mbarrier.init must come first, and be made visible by a barrier",
                lane};
  }
  return *barrier;
}

void update_bounds(Cta& cta) {
  cta.barrier_low = ~0u, cta.barrier_high = 0;
  for (uint32_t slot = 0; slot < cta.barrier_index.size(); ++slot) {
    if (cta.barrier_index[slot] == 0) continue;
    cta.barrier_low = std::min(cta.barrier_low, slot * 8);
    cta.barrier_high = std::max(cta.barrier_high, slot * 8 + 8);
  }
}

Flow init(Warp& w, const Op& op, Mask m) {
  Cta& cta = *w.cta;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = barrier_address(w, op, lane), count = lanes<uint32_t>(w, op.b)[lane];
    shared_location(cluster_of(w), cta, address, 8, 8, true, "mbarrier.init");
    if (count < 1 || count > Mbarrier::MAX_COUNT) {
      throw Fault{Status::LaunchFailure,
                  "mbarrier.init with a count of " + std::to_string(count) + ": 1 to 1,048,575 arrivals are possible",
                  lane};
    }
    uint16_t& index = cta.barrier_index[(address & kSharedOffsetMask) / 8];
    if (index == 0) {
      cta.barriers.emplace_back();
      index = static_cast<uint16_t>(cta.barriers.size());
      cta.barrier_low = std::min(cta.barrier_low, address & kSharedOffsetMask);
      cta.barrier_high = std::max(cta.barrier_high, (address & kSharedOffsetMask) + 8);
    }
    if (!cta.barriers[index - 1u].waiters.empty())
      throw Fault{Status::LaunchFailure, "mbarrier.init of a barrier that a thread waits on", lane};
    Mbarrier fresh;
    fresh.expected = fresh.pending = static_cast<int32_t>(count);
    cta.barriers[index - 1u] = std::move(fresh);
  }
  note_effect(w);
  return Flow::Next;
}

Flow inval(Warp& w, const Op& op, Mask m) {
  Cta& cta = *w.cta;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = barrier_address(w, op, lane);
    const Mbarrier& barrier = own_barrier(w, address, lane);
    if (!barrier.waiters.empty())
      throw Fault{Status::LaunchFailure, "mbarrier.inval while a thread waits on the barrier", lane};
    const uint64_t word = barrier.word();
    std::memcpy(cta.smem.data() + (address & kSharedOffsetMask), &word, sizeof word);
    cta.barrier_index[(address & kSharedOffsetMask) / 8] = 0;
  }
  update_bounds(cta);
  note_effect(w);
  return Flow::Next;
}

// arrive, arrive.expect_tx, arrive_drop: b the count or the bytes (or -1), c the count of an expect_tx form is always 1
Flow arrive(Warp& w, const Op& op, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = barrier_address(w, op, lane);
    const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
    const uint32_t operand = op.b >= 0 ? lanes<uint32_t>(w, op.b)[lane] : 1;
    const bool expects = op.flags & kExpect;
    const uint32_t count = expects ? 1 : operand;
    const Origin origin = origin_of(w, lane);
    if (op.flags & kOwn) own_barrier(w, address, lane);
    if (op.flags & kHasState) {
      const uint64_t before = own_barrier(w, address, lane).word();
      if (op.d >= 0) lanes<uint64_t>(w, op.d)[lane] = before;
    }
    if (rank == w.cta->rank) {
      if (expects) apply(cluster, rank, offset, BarrierEffect::ExpectTx, operand, origin, false);
      if ((op.flags & kNoComplete) != 0 && own_barrier(w, address, lane).pending == static_cast<int32_t>(count)) {
        throw Fault{Status::LaunchFailure, "mbarrier.arrive.noComplete would complete the phase", lane};
      }
      apply(cluster, rank, offset, op.flags & kDrop ? BarrierEffect::ArriveDrop : BarrierEffect::Arrive, count, origin,
            false);
    } else {
      auto signal = std::make_unique<RemoteSignal>();
      signal->rank = rank, signal->offset = offset, signal->count = count, signal->arrives = true;
      signal->drops = op.flags & kDrop;
      if (expects) signal->expects = true, signal->bytes = operand;
      signal->origin = origin;
      signal->issuer = &w;
      ++w.signals_in_flight;
      cluster.scheduler->submit(std::move(signal), {.latency = static_cast<uint64_t>(cluster.costs().remote_arrive)});
    }
  }
  note_effect(w);
  w.time += static_cast<uint64_t>(cluster.costs().mbarrier);
  return Flow::Next;
}

Flow change_tx(Warp& w, const Op& op, Mask m) {  // expect_tx (flags kExpect) and complete_tx
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = barrier_address(w, op, lane), bytes = lanes<uint32_t>(w, op.b)[lane];
    const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
    const bool expects = op.flags & kExpect;
    if (op.flags & kOwn) own_barrier(w, address, lane);
    if (rank == w.cta->rank) {
      apply(cluster, rank, offset, expects ? BarrierEffect::ExpectTx : BarrierEffect::CompleteTx, bytes,
            origin_of(w, lane), false);
    } else {
      auto signal = std::make_unique<RemoteSignal>();
      signal->rank = rank, signal->offset = offset, signal->bytes = bytes, signal->expects = expects;
      signal->origin = origin_of(w, lane);
      signal->issuer = &w;
      ++w.signals_in_flight;
      cluster.scheduler->submit(std::move(signal), {.latency = static_cast<uint64_t>(cluster.costs().remote_arrive)});
    }
  }
  note_effect(w);
  return Flow::Next;
}

// test_wait, try_wait: d the predicate, b the parity or the state token. try_wait blocks until the phase completes; a
// time-out is given only when nothing else in the cluster can move (engine/).
Flow wait(Warp& w, const Op& op, Mask m) {
  Cluster& cluster = cluster_of(w);
  Mask truth = 0;
  uint32_t first_address = 0, first_parity = 0;
  bool same = true;
  Mbarrier* last = nullptr;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = barrier_address(w, op, lane);
    const uint32_t parity = op.flags & kHasState ? static_cast<uint32_t>(lanes<uint64_t>(w, op.b)[lane] >> 63)
                                                 : lanes<uint32_t>(w, op.b)[lane] & 1;
    if (last == nullptr)
      first_address = address, first_parity = parity;
    else if (address == first_address && parity == first_parity) {
      truth |= (truth >> first_lane(m) & 1) << lane;
      continue;
    } else {
      same = false;
    }
    last = &own_barrier(w, address, lane);
    if (last->complete(parity)) {
      truth |= 1u << lane;
      last->observed = true;
    }
  }
  Mask& d = predicate(w, op.d);
  d = (d & ~m) | truth;
  w.time += static_cast<uint64_t>(cluster.costs().mbarrier);
  if (cluster.counters != nullptr) {
    ++cluster.counters->barrier_waits;
    if (truth != m) ++cluster.counters->barrier_waits_blocked;
  }
  if (truth == m) return Flow::Next;
  if (!(op.flags & kBlocks) || !same || truth != 0) return poll(w);
  isolate(w, m);
  w.split().result = op.d;
  last->waiters.push_back({&w, w.current});
  return block(w, Wait::Mbarrier, first_address, first_parity);
}

Flow pending_count(Warp& w, const Op& op, Mask m) {
  for_lanes(m, [&](int i) {
    lanes<uint32_t>(w, op.d)[i] = static_cast<uint32_t>(-(lanes<uint64_t>(w, op.a)[i] >> 43 & 0xFFFFF)) & 0xFFFFF;
  });
  return Flow::Next;
}

/// cp.async.mbarrier.arrive: one arrival once the lane's earlier cp.async copies are finished.
class ArriveAfterCopies final : public AsyncOperation {
 public:
  Warp* warp;
  int lane;
  uint32_t offset;
  void complete(Cluster& cluster) override {
    if (warp->cta->exited) return;
    if (!no_copies_in_flight(*warp, lane)) {
      auto again = std::make_unique<ArriveAfterCopies>(*this);
      cluster.scheduler->submit(std::move(again), {.latency = static_cast<uint64_t>(cluster.costs().global_load)});
      return;
    }
    apply(cluster, warp->cta->rank, offset, BarrierEffect::Arrive, 1, origin, true);
  }
  std::string describe() const override { return "arrive after cp.async"; }
};
Flow arrive_after_copies(Warp& w, const Op& op, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = barrier_address(w, op, lane);
    Mbarrier& barrier = own_barrier(w, address, lane);
    if (op.flags & kNoComplete) {  // .noinc: the arrival is one of those expected
    } else {
      ++barrier.pending;
    }
    auto arrival = std::make_unique<ArriveAfterCopies>();
    arrival->warp = &w, arrival->lane = lane, arrival->offset = address & kSharedOffsetMask;
    arrival->origin = origin_of(w, lane);
    cluster.scheduler->submit(std::move(arrival), {});
  }
  note_effect(w);
  return Flow::Next;
}

void set_address(Decoder& d, size_t index) {
  const Decoder::Address address = d.address(d.operand(index));
  d.op->a = address.slot;
  d.op->imm = address.offset;
  if (address.wide) d.op->flags |= kWide;
  const bool cluster = d.has("shared::cluster");
  if (!cluster && (d.has("shared") || d.has("shared::cta"))) d.op->flags |= kOwn;
}

}  // namespace

void decode_mbarrier(Decoder& d) {
  Op& op = *d.op;
  const std::string& what = d.in->opcode == "cp" ? d.in->opcode : d.modifier(0);
  d.ignore({"shared", "shared::cta", "shared::cluster", "b64", "release", "relaxed", "acquire", "cta", "cluster"});
  if (what == "cp") {  // cp.async.mbarrier.arrive[.noinc].shared.b64 [bar]
    set_address(d, 0);
    d.ignore({"async", "mbarrier", "arrive"});
    if (d.has("noinc")) op.flags |= kNoComplete;
    op.run = arrive_after_copies;
  } else if (what == "init") {
    set_address(d, 0);
    op.flags |= kOwn;
    op.b = d.source(1, Type::B32);
    op.run = init;
  } else if (what == "inval") {
    set_address(d, 0);
    op.run = inval;
  } else if (what == "arrive" || what == "arrive_drop") {
    // arrive state|_, [bar] (, count | bytes)      or, for remote barriers, without a result
    const bool has_result = d.operand(0).kind != Operand::Kind::Address;
    const size_t at = has_result ? 1 : 0;
    set_address(d, at);
    if (has_result && !d.is_sink(d.operand(0))) {
      op.flags |= kHasState;
      op.d = d.destination(0, 8);
    }
    if (d.has("expect_tx")) op.flags |= kExpect;
    if (what == "arrive_drop") op.flags |= kDrop;
    if (d.has("noComplete")) op.flags |= kNoComplete;
    if (d.count() > at + 1)
      op.b = d.source(at + 1, Type::B32);
    else if (op.flags & kExpect)
      d.unsupported("expect_tx needs a number of bytes");
    op.run = arrive;
  } else if (what == "expect_tx" || what == "complete_tx") {
    set_address(d, 0);
    if (what == "expect_tx") op.flags |= kExpect;
    op.b = d.source(1, Type::B32);
    op.run = change_tx;
  } else if (what == "test_wait" || what == "try_wait") {
    op.d = d.destination(0, 4);
    set_address(d, 1);
    if (what == "try_wait") op.flags |= kBlocks;
    if (!d.has("parity")) op.flags |= kHasState;
    op.b = d.source(2, d.has("parity") ? Type::B32 : Type::B64);
    op.run = wait;
  } else if (what == "pending_count") {
    op.d = d.destination(0, 4);
    op.a = d.source(1, Type::B64);
    op.run = pending_count;
  }
}

}  // namespace sim
