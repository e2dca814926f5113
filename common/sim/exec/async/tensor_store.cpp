// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor from shared to global memory: TMA stores.
#include <algorithm>

#include "exec/async/box.h"
#include "exec/async/bulk_write.h"
#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/groups.h"
#include "exec/core/submit.h"

namespace sim {
namespace {

using ptx::Type;

struct TensorStoreOperands {
  TensorOperand tensor;
  Address from;  ///< in shared memory
  Reduction how = Reduction::None;
};

/// The element type of a reduction into such a tensor.
Type reduction_type(TensorDataType type) {
  switch (type) {
    case TensorDataType::U32: return Type::U32;
    case TensorDataType::S32: return Type::S32;
    case TensorDataType::U64: return Type::U64;
    case TensorDataType::S64: return Type::S64;
    case TensorDataType::F16: return Type::F16;
    case TensorDataType::F32:
    case TensorDataType::F32Ftz: return Type::F32;
    case TensorDataType::F64: return Type::F64;
    case TensorDataType::BF16: return Type::BF16;
    default: return Type::None;
  }
}

/// The first half: reads the source in shared memory.
class TensorStore final : public AsyncOperation {
 public:
  Box box;
  uint32_t offset = 0;
  Reduction how = Reduction::None;
  Warp* warp = nullptr;
  uint64_t group = 0;

  void complete(Cluster& cluster) override {
    Cta& cta = *warp->cta;
    reread_map(cluster, box);
    store_source(cluster, cta, offset, box.footprint(), 128, "TMA store");
    auto write = std::make_unique<BulkWrite>();
    write->warp = warp, write->group = group;
    write->how = how, write->type = reduction_type(box.map.element_type());
    write->data.resize(box.bytes());
    uint32_t at = 0;
    for_rows(box, [&](uint64_t address, uint32_t shared, int64_t first, int64_t last) {
      row_from_shared(cta, box, offset + shared, write->data.data() + at);
      // A ragged end is written up to the next 16 bytes, as measured; rows are clipped exactly.
      const int64_t end = std::min<int64_t>((last + 15) / 16 * 16, box.inner_bytes);
      if (address != 0 && last > first && cluster.launch->moves_data)
        write->pieces.push_back({address + static_cast<uint64_t>(first), at + static_cast<uint32_t>(first),
                                 static_cast<uint32_t>(end - first)});
      at += box.inner_bytes;
    });
    finish_read(cluster, *this, std::move(write));
  }
  OperationUnit unit() const override { return OperationUnit::Stores; }
  std::string describe() const override { return "TMA store: read of " + base::grouped(box.bytes()) + " bytes"; }
  Footprint footprint() const override {
    Footprint moved = box.outline();
    moved.places.push_back({.rank = warp->cta->rank, .first = offset, .count = box.footprint()});
    return moved;
  }
};

Flow tensor_store(Warp& w, const TensorStoreOperands& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto store = std::make_unique<TensorStore>();
    store->box = make_box(w, o.tensor, lane, true);
    if (o.how != Reduction::None && store->box.map.is_packed()) throw Fault{faults::reduction_of_packed, {}, lane};
    const uint32_t from = shared_address(w, o.from, lane, "TMA store");
    shared_location(cluster, *w.cta, from, store->box.footprint(), 128, true, "TMA store");
    store->offset = from & kSharedOffsetMask;
    store->how = o.how;
    store->warp = &w;
    store->group = begin_bulk(w, lane);
    cluster.watchers.tell(IssueEvent{.role = Role::BulkStore,
                                     .warp = w,
                                     .lanes = 1u << lane,
                                     .operation = store.get(),
                                     .box = &store->box,
                                     .bytes = store->box.bytes(),
                                     .from = store->offset,
                                     .reduces = o.how != Reduction::None});
    const Latency when = read_time(*w.cta, store->box.bytes());
    submit(w, lane, std::move(store), when);
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

template <bool REDUCES>
void decode_tensor_store(Decoder& d) {
  if (REDUCES) d.program().needs_order = d.program().needs_others = true;
  d.emit<tensor_store>({.tensor = TensorOperand::decode(d, d.operand(0)),
                        .from = d.address(1),
                        .how = REDUCES ? reduction_of(d) : Reduction::None});
}

constexpr Mnemonic kMnemonics[] = {
    {"cp.async.bulk.tensor.global.shared::cta", decode_tensor_store<false>},
    {"cp.reduce.async.bulk.tensor.global.shared::cta", decode_tensor_store<true>},
};
constexpr std::string_view kIgnored[] = {
    "1d", "2d", "3d", "4d", "5d", "tile", "im2col_no_offs", "bulk_group", "L2::cache_hint"};

}  // namespace

constinit const Family families::tensor_store{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Steers, .alone = kNoEffect}};

}  // namespace sim
