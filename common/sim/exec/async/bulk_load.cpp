// cp.async.bulk and cp.reduce.async.bulk into shared memory, from global memory or from another CTA's shared memory.
#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/submit.h"
#include "exec/memory/reduction.h"

namespace sim {
namespace {

using ptx::Type;

struct BulkLoadOperands {
  DestinationOperand destination;
  Address from;
  int32_t size = -1;
  bool from_shared = false;
  Reduction how = Reduction::None;
  Type type = Type::None;
};

class BulkLoad final : public AsyncOperation {
 public:
  Destination to;
  uint32_t bytes = 0;
  bool from_shared = false;
  uint64_t from = 0;  // global address, or shared address of this CTA
  Reduction how = Reduction::None;
  Type type = Type::None;

  void complete(Cluster& cluster) override {
    if (!tolerate_early_exit(cluster, origin, &to.credits)) return;
    const uint8_t* source = from_shared ? shared_location(cluster, cluster.ctas[from >> kSharedRankShift],
                                                          static_cast<uint32_t>(from), bytes, 16, true, "bulk copy")
                                        : global_location(cluster, from, bytes, 16, false, "bulk copy");
    for (const Credit& credit : to.credits) {
      Cta& cta = check_destination(cluster, credit.destination, to.offset, bytes, 16, "bulk copy");
      if (how == Reduction::None)
        std::memcpy(cta.smem.data() + to.offset, source, bytes);
      else
        reduce(cta.smem.data() + to.offset, source, bytes, how, type);
      mark_layout(cta, to.offset, bytes, kLayoutUnknown);
      credit_bytes(cluster, to, credit, bytes, *this);
    }
    ++cluster.changes;
  }
  OperationUnit unit() const override { return OperationUnit::Loads; }
  std::string describe() const override { return "bulk copy of " + base::grouped(bytes) + " bytes"; }
  Footprint footprint() const override {
    Footprint moved{.bytes = bytes};
    for (const Credit& credit : to.credits)
      moved.places.push_back({.written = true, .rank = credit.destination, .first = to.offset, .count = bytes});
    return moved;
  }
};

Flow bulk_load(Warp& w, const BulkLoadOperands& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto load = std::make_unique<BulkLoad>();
    load->to = destination_of(w, o.destination, lane, "bulk copy");
    load->bytes = bulk_size(w, o.size, lane);
    if (load->bytes == 0) continue;
    load->how = o.how, load->type = o.type;
    load->from_shared = o.from_shared;
    if (o.from_shared) {
      load->from = shared_address(w, o.from, lane, "bulk copy");
      if (load->from >> kSharedRankShift != w.cta->rank) throw Fault{faults::copy_from_other_cta, {}, lane};
    } else {
      load->from = o.from.of(w, lane);
      global_location(cluster, load->from, load->bytes, 16, false, "bulk copy");
    }
    for (const Credit& credit : load->to.credits) {
      Cta& target = check_destination(cluster, credit.destination, load->to.offset, load->bytes, 16, "bulk copy");
      if (load->how == Reduction::None) poison(target, load->to.offset, load->bytes);
    }
    cluster.watchers.tell(IssueEvent{.role = Role::BulkLoad,
                                     .warp = w,
                                     .lanes = 1u << lane,
                                     .operation = load.get(),
                                     .to = &load->to,
                                     .bytes = load->bytes,
                                     .from = o.from_shared ? load->from & kSharedOffsetMask : load->from,
                                     .from_cta = o.from_shared ? w.cta : nullptr});
    const Costs& costs = cluster.costs();
    const Latency when{.unit = &w.cta->load_pipe,
                       .busy = load->bytes / static_cast<uint64_t>(costs.tma_bytes_per_cycle),
                       .latency = static_cast<uint64_t>(o.from_shared ? costs.remote_arrive : costs.tma_load_latency)};
    submit(w, lane, std::move(load), when);
  }
  note_effect(w);
  return Flow::Next;
}

template <bool FROM_SHARED, bool REDUCES>
void decode_bulk_load(Decoder& d) {
  BulkLoadOperands o;
  o.destination.to = d.address(0);
  o.from_shared = FROM_SHARED;
  o.from = FROM_SHARED ? d.address(1) : d.wide_address(d.operand(1));
  o.size = d.source(2, Type::B32);
  o.destination.barrier = d.address(3);
  if (d.has("multicast::cluster")) o.destination.multicast = d.source(4, Type::B32);
  if (REDUCES) o.how = reduction_of(d), o.type = d.last_type();
  d.emit<bulk_load>(o);
}

constexpr Mnemonic kMnemonics[] = {
    {"cp.async.bulk.shared::cluster.global", decode_bulk_load<false, false>},
    {"cp.async.bulk.shared::cta.global", decode_bulk_load<false, false>},
    {"cp.async.bulk.shared::cluster.shared::cta", decode_bulk_load<true, false>},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta", decode_bulk_load<true, true>},
    {"cp.async.bulk.prefetch", [](Decoder& d) { d.emit<no_effect>({}); }},
};
constexpr std::string_view kIgnored[] = {"global", "L2", "mbarrier::complete_tx::bytes", "L2::cache_hint"};

}  // namespace

constinit const Family families::bulk_load{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Steers}};

}  // namespace sim
