// mbarrier: init, inval, arrivals, byte counts, waits. The barrier's state changes in machine/mbarrier.cpp.
#include <algorithm>

#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/report.h"
#include "exec/sync/mbarrier.h"
#include "exec/sync/signal.h"

namespace sim {

BarrierOperand BarrierOperand::decode(Decoder& d, size_t index) {
  const bool cluster = d.has("shared::cluster");
  return {d.address(index), !cluster && d.which({"shared", "shared::cta"}) >= 0};
}

uint32_t BarrierOperand::of(Warp& w, int lane) const {
  const uint64_t at = address.of(w, lane);
  return address.wide ? to_shared(at, "mbarrier") : static_cast<uint32_t>(at);
}

Mbarrier& own_barrier(Warp& w, uint32_t address, int lane) {
  const uint32_t rank = address >> kSharedRankShift, offset = address & kSharedOffsetMask;
  if (rank != w.cta->rank) { throw Fault{faults::mbarrier_of_other_cta, {address, rank, w.cta->rank}, lane}; }
  Mbarrier* barrier = w.cta->find_barrier(offset);
  if (barrier == nullptr) { throw no_mbarrier(*w.cta, offset, lane); }
  return *barrier;
}

namespace {

using ptx::Operand;
using ptx::Type;

void update_bounds(Cta& cta) {
  cta.barrier_low = ~0u, cta.barrier_high = 0;
  for (uint32_t slot = 0; slot < cta.barrier_index.size(); ++slot) {
    if (cta.barrier_index[slot] == 0) continue;
    cta.barrier_low = std::min(cta.barrier_low, slot * 8);
    cta.barrier_high = std::max(cta.barrier_high, slot * 8 + 8);
  }
}

/// Notifies watchers of this lane's effect on a barrier of its CTA.
void tell_of(Warp& w, int lane, uint32_t address, BarrierEvent::What what, uint32_t count) {
  cluster_of(w).watchers.tell(
      BarrierEvent{.what = what,
                   .cluster = cluster_of(w),
                   .barrier = {BarrierName::Kind::Mbarrier, w.cta->rank, address & kSharedOffsetMask},
                   .amount = count,
                   .state = {.pending = static_cast<int32_t>(count)},
                   .warp = &w,
                   .lanes = 1u << lane});
}

// ---- init, inval

struct Init {
  BarrierOperand barrier;
  int32_t count;
};
Flow init(Warp& w, const Init& o, Mask m) {
  Cta& cta = *w.cta;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = o.barrier.of(w, lane), count = lanes<uint32_t>(w, o.count)[lane];
    shared_location(cluster_of(w), cta, address, 8, 8, true, "mbarrier.init");
    if (count < 1 || count > Mbarrier::kMaxCount) { throw Fault{faults::mbarrier_count, {count}, lane}; }
    uint16_t& index = cta.barrier_index[(address & kSharedOffsetMask) / 8];
    if (index == 0) {
      cta.barriers.emplace_back();
      index = static_cast<uint16_t>(cta.barriers.size());
      cta.barrier_low = std::min(cta.barrier_low, address & kSharedOffsetMask);
      cta.barrier_high = std::max(cta.barrier_high, (address & kSharedOffsetMask) + 8);
    }
    if (!cta.barriers[index - 1u].waiters.empty()) throw Fault{faults::init_under_wait, {}, lane};
    Mbarrier fresh;
    fresh.expected = fresh.pending = static_cast<int32_t>(count);
    cta.barriers[index - 1u] = std::move(fresh);
    cluster_of(w).invalidated.erase({cta.rank, address & kSharedOffsetMask});
    tell_of(w, lane, address, BarrierEvent::What::Init, count);
  }
  note_effect(w);
  return Flow::Next;
}

Flow inval(Warp& w, const BarrierOperand& o, Mask m) {
  Cta& cta = *w.cta;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = o.of(w, lane);
    const Mbarrier& barrier = own_barrier(w, address, lane);
    if (!barrier.waiters.empty()) throw Fault{faults::inval_under_wait, {}, lane};
    const uint64_t word = barrier.word();
    std::memcpy(cta.smem.data() + (address & kSharedOffsetMask), &word, sizeof word);
    cta.barrier_index[(address & kSharedOffsetMask) / 8] = 0;
    cluster_of(w).invalidated[{cta.rank, address & kSharedOffsetMask}] = w.split().pc;
    tell_of(w, lane, address, BarrierEvent::What::Invalidate, 0);
  }
  update_bounds(cta);
  note_effect(w);
  return Flow::Next;
}

// ---- arrive, arrive_drop, expect_tx, complete_tx

struct Arrive {
  BarrierOperand barrier;
  int32_t amount = -1;  ///< the count, or with `expects` the bytes; -1: 1
  int32_t state = -1;   ///< result: the state token
  bool has_state = false, expects = false, drops = false, no_complete = false;
};
Flow arrive(Warp& w, const Arrive& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = o.barrier.of(w, lane);
    const uint32_t amount = o.amount >= 0 ? lanes<uint32_t>(w, o.amount)[lane] : 1;
    const uint32_t count = o.expects ? 1 : amount;
    if (o.barrier.own) own_barrier(w, address, lane);
    if (o.has_state) lanes<uint64_t>(w, o.state)[lane] = own_barrier(w, address, lane).word();
    if (o.no_complete && address >> kSharedRankShift == w.cta->rank &&
        own_barrier(w, address, lane).pending == static_cast<int32_t>(count)) {
      throw Fault{faults::no_complete_completes, {}, lane};
    }
    BarrierSignal what{.arrives = true, .arrivals = count, .drops = o.drops};
    if (o.expects) what.tx = BarrierSignal::Tx::Expect, what.bytes = amount;
    signal_barrier(w, lane, address, what);
  }
  note_arrival(w);
  w.time += static_cast<uint64_t>(cluster_of(w).costs().mbarrier);
  return Flow::Next;
}

struct ChangeTx {
  BarrierOperand barrier;
  int32_t bytes;
  BarrierSignal::Tx tx;
};
Flow change_tx(Warp& w, const ChangeTx& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = o.barrier.of(w, lane), bytes = lanes<uint32_t>(w, o.bytes)[lane];
    if (o.barrier.own) own_barrier(w, address, lane);
    signal_barrier(w, lane, address, {.tx = o.tx, .bytes = bytes});
  }
  note_arrival(w);
  return Flow::Next;
}

// ---- test_wait, try_wait, pending_count

struct TestWait {
  BarrierOperand barrier;
  int32_t d;      ///< predicate
  int32_t phase;  ///< a parity, or the state token of an arrive
  bool has_state, blocks;
};
Flow succeed(Warp& w, const TestWait& o, Mask m) {
  set_predicate(w, o.d, m, m);
  return Flow::Next;
}
/// try_wait blocks until the phase completes. It times out when nothing else in the cluster can run, and before if
/// Scheduler::times_out says so: a program that ignores its result then goes on.
Flow wait(Warp& w, const TestWait& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  Mask truth = 0;
  uint32_t first_address = 0, first_parity = 0;
  bool same = true;
  Mbarrier* last = nullptr;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = o.barrier.of(w, lane);
    const uint32_t parity = o.has_state ? static_cast<uint32_t>(lanes<uint64_t>(w, o.phase)[lane] >> 63)
                                        : lanes<uint32_t>(w, o.phase)[lane] & 1;
    if (last == nullptr)
      first_address = address, first_parity = parity;
    else if (address == first_address && parity == first_parity) {
      truth |= (truth >> first_lane(m) & 1) << lane;
      continue;
    } else {
      same = false;
    }
    last = &own_barrier(w, address, lane);
    if (last->complete(parity)) truth |= 1u << lane;
  }
  const auto barrier_at = [&](uint32_t address) {
    return BarrierName{BarrierName::Kind::Mbarrier, w.cta->rank, address & kSharedOffsetMask};
  };
  bool returns_early = false;
  if (same && (truth != 0 || o.blocks)) {
    WaitEvent tries{WaitEvent::What::Tries, Wait::Mbarrier, w, m, w.split().pc, barrier_at(first_address), 0,
                    first_parity,           truth};
    cluster.watchers.tell(tries);
    returns_early = (tries.in_doubt || truth == 0) && cluster.scheduler->times_out(w, tries.in_doubt);
    if (returns_early) truth = 0;
  }
  set_predicate(w, o.d, m, truth);
  w.time += static_cast<uint64_t>(cluster.costs().mbarrier);
  if (cluster.watchers.want(EventKind::Wait)) {
    WaitEvent told{WaitEvent::What::Asks, Wait::Mbarrier, w, m, w.split().pc, barrier_at(first_address), 0,
                   first_parity,          truth};
    cluster.watchers.tell(told);
    told.what = WaitEvent::What::Passes;
    for (Mask rest = truth; rest;) {
      const uint32_t address = o.barrier.of(w, first_lane(rest));
      Mask together = 0;
      for (Mask others = rest; others; others &= others - 1) {
        if (o.barrier.of(w, first_lane(others)) == address) together |= 1u << first_lane(others);
      }
      told.lanes = together, told.barrier = barrier_at(address);
      cluster.watchers.tell(told);
      rest &= ~together;
    }
  }
  if (truth == m || returns_early) return Flow::Next;
  if (!o.blocks || !same || truth != 0) return poll(w);
  isolate(w, m);
  w.split().result = o.d;
  last->waiters.push_back({&w, w.current});
  return block(w, Wait::Mbarrier, first_address, first_parity);
}

struct PendingCount {
  int32_t d, state;
};
Flow pending_count(Warp& w, const PendingCount& o, Mask m) {
  for_lanes(m, [&](int i) {
    lanes<uint32_t>(w, o.d)[i] = static_cast<uint32_t>(-(lanes<uint64_t>(w, o.state)[i] >> 43 & 0xFFFFF)) & 0xFFFFF;
  });
  return Flow::Next;
}

// ---- decoding

void decode_init(Decoder& d) {
  Init o{BarrierOperand::decode(d, 0), d.source(1, Type::B32)};
  o.barrier.own = true;
  d.emit<init>(o);
}

/// arrive state|_, [bar] (, count | bytes)      or, for remote barriers, without a result
template <bool EXPECTS, bool DROPS>
void decode_arrive(Decoder& d) {
  const bool has_result = d.operand(0).kind != Operand::Kind::Address;
  const size_t at = has_result ? 1 : 0;
  Arrive o;
  o.barrier = BarrierOperand::decode(d, at);
  o.has_state = has_result && !d.is_sink(d.operand(0));
  if (o.has_state) o.state = d.destination(0, 8);
  o.expects = EXPECTS, o.drops = DROPS, o.no_complete = d.has("noComplete");
  if (d.count() > at + 1)
    o.amount = d.source(at + 1, Type::B32);
  else if (EXPECTS)
    d.unsupported(faults::bytes_required);
  d.emit<arrive>(o);
}

template <BarrierSignal::Tx TX>
void decode_tx(Decoder& d) {
  d.emit<change_tx>({.barrier = BarrierOperand::decode(d, 0), .bytes = d.source(1, Type::B32), .tx = TX});
}

template <bool BLOCKS>
void decode_wait(Decoder& d) {
  const bool has_parity = d.has("parity");
  d.emit<wait>({.barrier = BarrierOperand::decode(d, 1),
                .d = d.destination(0, 4),
                .phase = d.source(2, has_parity ? Type::B32 : Type::B64),
                .has_state = !has_parity,
                .blocks = BLOCKS});
}

constexpr Manner kArrives{.orders = Manner::Orders::Barrier, .releases = true, .alone = kNoEffect},
    kAnnounces{.orders = Manner::Orders::Barrier, .alone = kNoEffect},
    kWaits{.orders = Manner::Orders::Barrier, .acquires = true, .alone = execute<succeed>};
constexpr Mnemonic kMnemonics[] = {
    {"mbarrier.init", decode_init},
    {"mbarrier.inval", [](Decoder& d) { d.emit<inval>(BarrierOperand::decode(d, 0)); }},
    {"mbarrier.arrive", decode_arrive<false, false>, kArrives},
    {"mbarrier.arrive.expect_tx", decode_arrive<true, false>, kArrives},
    {"mbarrier.arrive_drop", decode_arrive<false, true>, kArrives},
    {"mbarrier.arrive_drop.expect_tx", decode_arrive<true, true>, kArrives},
    {"mbarrier.expect_tx", decode_tx<BarrierSignal::Tx::Expect>, kAnnounces},
    {"mbarrier.complete_tx", decode_tx<BarrierSignal::Tx::Complete>, kAnnounces},
    {"mbarrier.test_wait", decode_wait<false>, kWaits},
    {"mbarrier.try_wait", decode_wait<true>, kWaits},
    {"mbarrier.pending_count",
     [](Decoder& d) { d.emit<pending_count>({.d = d.destination(0, 4), .state = d.source(1, Type::B64)}); }},
};
constexpr std::string_view kIgnored[] = {"shared",  "shared::cta", "shared::cluster", "b64", "release", "relaxed",
                                         "acquire", "cta",         "cluster"};

}  // namespace

constinit const Family families::mbarrier{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.orders = Manner::Orders::Barrier, .releases = true}};

}  // namespace sim
