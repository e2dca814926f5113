// tcgen05.shift: rows of tensor memory, moved by one lane.
#include "exec/core/families.h"
#include "exec/core/submit.h"
#include "exec/tensor/tcgen05/group.h"

namespace sim {
namespace tcgen05 {
namespace {

// The ISA's shape of a shift is 31x256b: of the 32 lanes from the address on, all but the last are written, each with
// the 32 bytes of the next lane. Programs copy the last lane's data there separately.
constexpr int kLanes = 32, kColumns = 8;

struct ShiftOperands {
  TmemOperand at;
  int group = 1;
};

class TmemShift final : public AsyncOperation {
 public:
  int group = 1;
  uint32_t rank = 0, address = 0;

  void complete(Cluster& cluster) override {
    for (int c = 0; c < group; ++c) {
      Cta& cta = alive(cluster, rank + static_cast<uint32_t>(c), "tcgen05.shift");
      const int column = tmem_column(address), lane = tmem_lane(address);
      if (!cta.tmem.allocated(column, kColumns)) throw Fault{faults::shift_not_allocated, {cta.tmem.describe()}};
      for (int i = 0; i < kColumns; ++i) {
        auto* const cells = &cta.tmem.column(column + i)[lane];
        std::memmove(cells, cells + 1, (kLanes - 1) * sizeof *cells);
      }
    }
    ++cluster.changes;
  }
  std::string describe() const override { return "tcgen05.shift"; }
};

Flow shift(Warp& w, const ShiftOperands& o, Mask m) {
  require(w);
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto shift = std::make_unique<TmemShift>();
    shift->group = o.group;
    if (o.group == 2) peer_of(*w.cta, "tcgen05.shift");
    shift->rank = leader_of(*w.cta, o.group);
    shift->address = o.at.of(w, lane);
    const int first = tmem_lane(shift->address), column = tmem_column(shift->address);
    if (first % kLanes != 0 || first >= 128) { throw Fault{faults::shift_lane, {first}}; }
    if (cluster.watchers.want(EventKind::Operands)) {
      TensorAccesses seen{.group = static_cast<uint32_t>(o.group), .result = Role::TensorCopy, .accumulates = false};
      for (int c = 0; c < o.group; ++c) {
        const uint32_t rank = shift->rank + static_cast<uint32_t>(c);
        for (const Range& range : tensor_range(first, kLanes, column, kColumns)) {
          seen.sources.push_back({rank, range});
          seen.results.push_back({rank, range});
        }
      }
      tell_moved(w, lane, seen);
    }
    const Latency when = latency_of_move(w, lane, shift->rank);
    submit(w, lane, std::move(shift), when);
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

void decode_shift(Decoder& d) {
  ShiftOperands o;
  o.group = group_of(d);
  o.at = TmemOperand::decode(d, 0);
  d.emit<shift>(o);
}

constexpr Mnemonic kMnemonics[] = {{"tcgen05.shift.down", decode_shift}};
constexpr std::string_view kIgnored[] = {"cta_group::1"};

}  // namespace
}  // namespace tcgen05

constinit const Family families::tcgen05_shift{tcgen05::kMnemonics, tcgen05::kIgnored};

}  // namespace sim
