// cp.async: each lane copies up to 16 bytes from global to shared memory, in groups of its own.
#include <algorithm>
#include <array>
#include <utility>

#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/groups.h"
#include "exec/core/submit.h"
#include "exec/sync/mbarrier.h"
#include "exec/sync/signal.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

struct CopyOperands {
  Address to, from;
  uint32_t bytes = 0;          ///< bytes to write
  int32_t taken = -1;          ///< slot: bytes to read, the rest is zeros; -1: all
  PredicateOperand ignored{};  ///< true: the source is not read, all bytes are zeros
};

class CopyAsync final : public AsyncOperation {
 public:
  struct Piece {
    uint8_t lane;
    uint32_t to;
    uint64_t from;
    uint32_t bytes, zeros;
  };
  std::vector<Piece> pieces;
  Warp* warp = nullptr;
  std::array<uint64_t, 32> group{};

  void complete(Cluster& cluster) override {
    // A CTA may exit without waiting: then the data are not needed.
    if (warp->cta->exited) return;
    for (const Piece& piece : pieces) {
      uint8_t* to = shared_location(cluster, *warp->cta, piece.to, piece.bytes + piece.zeros, 1, true, "cp.async");
      if (piece.bytes > 0)
        std::memcpy(to, global_location(cluster, piece.from, piece.bytes, 1, false, "cp.async"), piece.bytes);
      std::memset(to + piece.bytes, 0, piece.zeros);
      finish_copy(*warp, piece.lane, group[piece.lane]);
    }
    ++cluster.changes;
    wake_copy_waiters(*warp);
    for (const Piece& piece : pieces) {
      if (!no_copies_in_flight(*warp, piece.lane)) continue;
      for (auto& next : std::exchange(warp->copies[piece.lane]->then, {})) {
        const Origin issuer = next->origin;
        submit(cluster, issuer, std::move(next), {});
      }
    }
  }
  std::string describe() const override { return "cp.async of " + std::to_string(pieces.size()) + " lanes"; }
};

Flow copy_async(Warp& w, const CopyOperands& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  auto copy = std::make_unique<CopyAsync>();
  copy->warp = &w;
  const Mask ignored = o.ignored.exists() ? o.ignored.read(w) : 0;
  uint64_t to_offset[32], from_address[32];
  Mask reading = 0;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t to = shared_address(w, o.to, lane, "cp.async");
    const uint64_t from = o.from.of(w, lane);
    uint32_t take = o.taken >= 0 ? std::min(lanes<uint32_t>(w, o.taken)[lane], o.bytes) : o.bytes;
    if (ignored >> lane & 1) take = 0;
    to_offset[lane] = to & kSharedOffsetMask, from_address[lane] = from;
    if (take > 0) reading |= 1u << lane;
    // The old contents of the destination may be lost from now on.
    std::memset(shared_location(cluster, *w.cta, to, o.bytes, o.bytes, true, "cp.async"), 0xFF, o.bytes);
    if (take > 0) global_location(cluster, from, take, o.bytes, false, "cp.async");
    copy->group[static_cast<size_t>(lane)] = begin_copy(w, lane);
    copy->pieces.push_back({static_cast<uint8_t>(lane), to, from, take, o.bytes - take});
    cluster.watchers.tell(FillEvent{
        .what = FillEvent::What::Shared, .rank = w.cta->rank, .first = to & kSharedOffsetMask, .bytes = o.bytes});
  }
  cluster.watchers.tell(IssueEvent{.role = Role::CopyAsync,
                                   .warp = w,
                                   .lanes = m,
                                   .operation = copy.get(),
                                   .bytes = o.bytes,
                                   .to_lanes = to_offset,
                                   .from_lanes = from_address,
                                   .reading = reading});
  submit(w, first_lane(m), std::move(copy), {.latency = static_cast<uint64_t>(cluster.costs().global_load)});
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

// ---- groups

Flow commit_group(Warp& w, const NoOperands&, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) commit_copies(w, first_lane(rest));
  cluster_of(w).watchers.tell(CommitEvent{CommitEvent::What::Copies, w, m});
  return Flow::Next;
}

struct WaitGroup {
  uint32_t pending;  ///< number of the newest groups that may be unfinished
  bool all;          ///< wait_all: also copies that were not committed
};
Flow wait_group(Warp& w, const WaitGroup& o, Mask m) {
  cluster_of(w).watchers.tell(
      WaitEvent{WaitEvent::What::Asks, Wait::CopyGroup, w, m, w.split().pc, {}, o.pending, o.all});
  if (copies_done(w, m, o.pending, o.all)) return Flow::Next;
  isolate(w, m);
  return block(w, Wait::CopyGroup, o.pending, o.all);
}

// ---- cp.async.mbarrier.arrive: an arrival for each lane, once its earlier copies are finished

class ArriveAfterCopies final : public AsyncOperation {
 public:
  struct Arrival {
    uint8_t lane = 0;
    uint32_t offset = 0;
    std::shared_ptr<Mark> mark;  // of this lane
  };
  Warp* warp = nullptr;
  std::vector<Arrival> arrivals;
  void complete(Cluster& cluster) override {
    if (warp->cta->exited) return;
    std::vector<Arrival> rest;
    for (Arrival& arrival : arrivals) {
      if (!no_copies_in_flight(*warp, arrival.lane)) {
        rest.push_back(std::move(arrival));
        continue;
      }
      Origin issuer = origin;
      issuer.lane = arrival.lane;
      apply(cluster, warp->cta->rank, arrival.offset, BarrierEffect::Arrive, 1, issuer, true, arrival.mark);
    }
    if (rest.empty()) return;
    auto later = std::make_unique<ArriveAfterCopies>();
    later->origin = origin, later->warp = warp;
    const size_t first = rest.front().lane;
    later->arrivals = std::move(rest);
    warp->copies[first]->then.push_back(std::move(later));  // the completion of the lane's last copy submits it again
  }
  std::string describe() const override { return "arrive after cp.async"; }
};

struct ArriveOperands {
  BarrierOperand barrier;
  bool counted;  ///< .noinc: the arrival is one of those that the phase expects
};
Flow arrive_after_copies(Warp& w, const ArriveOperands& o, Mask m) {
  auto operation = std::make_unique<ArriveAfterCopies>();
  operation->warp = &w;
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    const uint32_t address = o.barrier.of(w, lane);
    Mbarrier& barrier = own_barrier(w, address, lane);
    if (!o.counted) ++barrier.pending;
    ArriveAfterCopies::Arrival arrival{static_cast<uint8_t>(lane), address & kSharedOffsetMask, nullptr};
    if (cluster_of(w).watchers.want(EventKind::Signal)) {
      const SignalEvent told{SignalEvent::What::Copies, cluster_of(w), w.cta->rank, arrival.offset, &w, lane};
      cluster_of(w).watchers.tell(told);
      arrival.mark = told.mark;
    }
    operation->arrivals.push_back(std::move(arrival));
  }
  submit(w, first_lane(m), std::move(operation), {});
  note_effect(w);
  return Flow::Next;
}

// ---- decoding

void decode_copy(Decoder& d) {
  d.ignore({"ca", "cg", "global", "L2::*"});
  CopyOperands o{.to = d.address(0), .from = d.address(1), .bytes = static_cast<uint32_t>(d.immediate(2))};
  if (!o.from.wide) d.unsupported(faults::narrow_global_address);
  if (d.count() > 3) {
    const Operand& extra = d.operand(3);
    if (extra.kind == Operand::Kind::Register && d.register_bits(extra) == 1)
      o.ignored = d.predicate_source(extra);
    else if (!d.has("L2::cache_hint") || d.count() > 4)
      o.taken = d.source(extra, Type::B32);
  }
  d.emit<copy_async>(o);
}

constexpr Manner kCopies{.use = DataUse::Steers, .cost = CostClass::CopyAsync};
constexpr Mnemonic kMnemonics[] = {
    {"cp.async", decode_copy, kCopies},
    {"cp.async.commit_group", [](Decoder& d) { d.emit<commit_group>({}); }, kCopies},
    {"cp.async.wait_group",
     [](Decoder& d) { d.emit<wait_group>({.pending = static_cast<uint32_t>(d.immediate(0)), .all = false}); }},
    {"cp.async.wait_all", [](Decoder& d) { d.emit<wait_group>({.pending = 0, .all = true}); }},
    {"cp.async.mbarrier.arrive",
     [](Decoder& d) {
       d.emit<arrive_after_copies>({.barrier = BarrierOperand::decode(d, 0), .counted = d.has("noinc")});
     }},
};
constexpr std::string_view kIgnored[] = {"shared", "shared::cta", "b64"};

}  // namespace

constinit const Family families::cp_async{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Steers}};

}  // namespace sim
