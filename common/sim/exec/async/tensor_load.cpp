// cp.async.bulk.tensor from global to shared memory: TMA loads, and their prefetch.
#include <algorithm>
#include <array>

#include "exec/async/box.h"
#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/groups.h"
#include "exec/core/submit.h"

namespace sim {
namespace {

struct TensorLoadOperands {
  DestinationOperand destination;
  TensorOperand tensor;
};

void fill_outside(const TensorMap& map, uint8_t* bytes, size_t count) {
  if (!map.fills_with_nan()) {
    std::memset(bytes, 0, count);
    return;
  }
  // TMA fills with this, whatever the type: a NaN of BF16 and FP16, and of FP32 in pairs (BF16 and FP32 measured).
  constexpr uint16_t kNan = 0x7FF7;
  for (size_t i = 0; i + 1 < count; i += sizeof kNan) std::memcpy(bytes + i, &kNan, sizeof kNan);
}

class TensorLoad final : public AsyncOperation {
 public:
  Box box;
  Destination to;
  Warp* warp = nullptr;
  uint64_t group = 0;  ///< bulk group of the issuing lane, if the tensor map is in global memory

  void complete(Cluster& cluster) override {
    reread_map(cluster, box);
    if (box.map_address != 0) {
      finish_map_read(*warp, origin.lane, group);
      wake_bulk_waiters(*warp);
    }
    if (!tolerate_early_exit(cluster, origin, &to.credits)) return;
    if (!cluster.launch->moves_data) {
      for (const Credit& credit : to.credits) {
        cluster.watchers.tell(FillEvent{
            .what = FillEvent::What::Shared, .rank = credit.destination, .first = to.offset, .bytes = box.footprint()});
      }
      return arrive(cluster);
    }
    std::array<uint8_t, 256 * 16> row;
    for (const Credit& credit : to.credits)
      check_destination(cluster, credit.destination, to.offset, box.footprint(), 128, "TMA load");
    // Rows are too far apart for the host's hardware prefetcher.
    const uint64_t ahead = box.map.rank > 1 ? 16 * box.map.strides[0] : 0;
    for_rows(box, [&](uint64_t address, uint32_t at, int64_t first, int64_t last) {
      for (uint32_t i = 0; i < box.inner_bytes && ahead != 0; i += 64)
        __builtin_prefetch(host_pointer(address + ahead + i));
      const uint8_t* from = row.data();
      if (address == 0 || last <= first) {
        fill_outside(box.map, row.data(), box.inner_bytes);
      } else {
        const uint8_t* const inside = global_location(cluster, address + static_cast<uint64_t>(first),
                                                      static_cast<uint64_t>(last - first), 1, false, "TMA load");
        if (first == 0 && last == box.inner_bytes) {
          from = inside;
        } else {
          if (first > 0) fill_outside(box.map, row.data(), static_cast<size_t>(first));
          std::memcpy(row.data() + first, inside, static_cast<size_t>(last - first));
          fill_outside(box.map, row.data() + last, box.inner_bytes - static_cast<size_t>(last));
        }
      }
      for (const Credit& credit : to.credits)
        row_to_shared(cluster.ctas[credit.destination], box, to.offset + at, from);
    });
    arrive(cluster);
  }
  OperationUnit unit() const override { return OperationUnit::Loads; }
  std::string describe() const override { return "TMA load of " + base::grouped(box.bytes()) + " bytes"; }

 private:
  void arrive(Cluster& cluster) const {
    ++cluster.changes;
    for (const Credit& credit : to.credits) {
      mark_layout(cluster.ctas[credit.destination], to.offset, box.footprint(), layout_of(box.map.swizzle_mode()));
      credit_bytes(cluster, to, credit, box.bytes(), *this);
    }
  }
  Footprint footprint() const override {
    Footprint moved = box.outline();
    for (const Credit& credit : to.credits)
      moved.places.push_back(
          {.written = true, .rank = credit.destination, .first = to.offset, .count = box.footprint()});
    return moved;
  }
};

Flow tensor_load(Warp& w, const TensorLoadOperands& o, Mask m) {
  Cluster& cluster = cluster_of(w);
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto load = std::make_unique<TensorLoad>();
    load->to = destination_of(w, o.destination, lane, "TMA load");
    load->box = make_box(w, o.tensor, lane, false);
    const uint32_t bytes = load->box.bytes();
    for (const Credit& credit : load->to.credits) {
      Cta& target =
          check_destination(cluster, credit.destination, load->to.offset, load->box.footprint(), 128, "TMA load");
      if (cluster.launch->moves_data) poison(target, load->to.offset, load->box);
    }
    cluster.watchers.tell(IssueEvent{.role = Role::BulkLoad,
                                     .warp = w,
                                     .lanes = 1u << lane,
                                     .operation = load.get(),
                                     .to = &load->to,
                                     .box = &load->box,
                                     .bytes = bytes});
    load->warp = &w;
    if (load->box.map_address != 0) load->group = begin_map_read(w, lane);
    const Costs& costs = cluster.costs();
    submit(
        w, lane, std::move(load),
        {.unit = &w.cta->load_pipe,
         .busy = static_cast<uint64_t>(std::max(costs.tma_issue, static_cast<int>(bytes) / costs.tma_bytes_per_cycle)),
         .latency = static_cast<uint64_t>(costs.tma_load_latency)});
  }
  note_effect(w);
  return Flow::Next;
}

Flow prefetch(Warp& w, const TensorOperand& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) make_box(w, o, first_lane(rest), false);  // checks the operands
  return Flow::Next;
}

void decode_tensor_load(Decoder& d) {
  TensorLoadOperands o;
  o.destination.to = d.address(0);
  o.tensor = TensorOperand::decode(d, d.operand(1));
  o.destination.barrier = d.address(2);
  if (o.tensor.is_im2col) o.tensor.decode_offsets(d, 3);
  if (d.has("multicast::cluster")) o.destination.multicast = d.source(o.tensor.is_im2col ? 4 : 3, ptx::Type::B32);
  o.destination.pair = d.has("cta_group::2");
  o.destination.own_only = !d.has("shared::cluster");
  d.emit<tensor_load>(o);
}

constexpr Mnemonic kMnemonics[] = {
    {"cp.async.bulk.tensor.shared::cluster.global", decode_tensor_load},
    {"cp.async.bulk.tensor.shared::cta.global", decode_tensor_load},
    {"cp.async.bulk.prefetch.tensor",
     [](Decoder& d) {
       TensorOperand tensor = TensorOperand::decode(d, d.operand(0));
       if (tensor.is_im2col) tensor.decode_offsets(d, 1);
       d.emit<prefetch>(tensor);
     }},
};
constexpr std::string_view kIgnored[] = {"1d",           "2d",
                                         "3d",           "4d",
                                         "5d",           "tile",
                                         "im2col",       "L2",
                                         "global",       "mbarrier::complete_tx::bytes",
                                         "cta_group::1", "L2::cache_hint"};

}  // namespace

constinit const Family families::tensor_load{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Steers}};

}  // namespace sim
