// cp.async.bulk and cp.reduce.async.bulk from shared to global memory.
#include "exec/async/bulk_write.h"
#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/groups.h"
#include "exec/core/submit.h"

namespace sim {
namespace {

using ptx::Type;

struct BulkStoreOperands {
  Address to, from;
  int32_t size = -1;
  int32_t byte_mask = -1;  ///< .cp_mask
  Reduction how = Reduction::None;
  Type type = Type::None;
};

/// The first half: reads the source in shared memory.
class BulkStore final : public AsyncOperation {
 public:
  uint64_t to = 0;
  uint32_t offset = 0, bytes = 0;
  uint32_t byte_mask = 0xFFFF;
  Reduction how = Reduction::None;
  Type type = Type::None;
  Warp* warp = nullptr;
  uint64_t group = 0;

  void complete(Cluster& cluster) override {
    const uint8_t* from = store_source(cluster, *warp->cta, offset, bytes, 16, "bulk store");
    auto write = std::make_unique<BulkWrite>();
    write->warp = warp, write->group = group;
    write->how = how, write->type = type, write->byte_mask = byte_mask;
    write->data.assign(from, from + bytes);
    write->pieces.push_back({to, 0, bytes});
    finish_read(cluster, *this, std::move(write));
  }
  OperationUnit unit() const override { return OperationUnit::Stores; }
  std::string describe() const override { return "bulk store of " + base::grouped(bytes) + " bytes"; }
  Footprint footprint() const override {
    return {.bytes = bytes, .places = {{.rank = warp->cta->rank, .first = offset, .count = bytes}}};
  }
};

Flow bulk_store(Warp& w, const BulkStoreOperands& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto store = std::make_unique<BulkStore>();
    store->bytes = bulk_size(w, o.size, lane);
    if (store->bytes == 0) continue;
    const uint32_t from = shared_address(w, o.from, lane, "bulk store");
    shared_location(cluster, *w.cta, from, store->bytes, 16, true, "bulk store");
    store->offset = from & kSharedOffsetMask;
    store->to = o.to.of(w, lane);
    global_location(cluster, store->to, store->bytes, 16, true, "bulk store");
    store->how = o.how, store->type = o.type;
    if (o.byte_mask >= 0) store->byte_mask = lanes<uint32_t>(w, o.byte_mask)[lane] & 0xFFFF;
    store->warp = &w;
    store->group = begin_bulk(w, lane);
    cluster.watchers.tell(IssueEvent{.role = Role::BulkStore,
                                     .warp = w,
                                     .lanes = 1u << lane,
                                     .operation = store.get(),
                                     .bytes = store->bytes,
                                     .from = store->offset,
                                     .to_global = store->to,
                                     .reduces = o.how != Reduction::None});
    const Latency when = read_time(*w.cta, store->bytes);
    submit(w, lane, std::move(store), when);
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

template <bool REDUCES>
void decode_bulk_store(Decoder& d) {
  BulkStoreOperands o{.to = d.wide_address(d.operand(0)), .from = d.address(1), .size = d.source(2, Type::B32)};
  if (d.has("cp_mask")) o.byte_mask = d.source(d.count() - 1, Type::B32);
  if (REDUCES) {
    d.ignore({"noftz"});
    o.how = reduction_of(d), o.type = d.last_type();
    d.program().needs_order = d.program().needs_others = true;
  }
  d.emit<bulk_store>(o);
}

constexpr Mnemonic kMnemonics[] = {
    {"cp.async.bulk.global.shared::cta", decode_bulk_store<false>},
    {"cp.reduce.async.bulk.global.shared::cta", decode_bulk_store<true>},
};
constexpr std::string_view kIgnored[] = {"bulk_group", "L2::cache_hint"};

}  // namespace

constinit const Family families::bulk_store{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Steers}};

}  // namespace sim
