// st.async, red.async: a store to shared memory of another CTA that counts its bytes on a barrier there.
#include <algorithm>
#include <array>

#include "exec/async/destination.h"
#include "exec/core/access.h"
#include "exec/core/families.h"
#include "exec/core/submit.h"
#include "exec/memory/reduction.h"

namespace sim {
namespace {

using ptx::Type;

struct RemoteStoreOperands {
  Address to, barrier;
  std::array<int32_t, 4> values{-1, -1, -1, -1};
  uint8_t count = 0, element_bytes = 4;
  Reduction how = Reduction::None;
  Type type = Type::None;
};

class RemoteStore final : public AsyncOperation {
 public:
  uint32_t rank = 0, offset = 0, barrier = 0, bytes = 0;
  std::array<uint8_t, 32> data;
  Reduction how = Reduction::None;
  Type type = Type::None;

  void complete(Cluster& cluster) override {
    Cta& cta = check_destination(cluster, rank, offset, bytes, 4, "st.async");
    uint8_t* const at = cta.smem.data() + offset;
    if (how == Reduction::None)
      std::memcpy(at, data.data(), bytes);
    else
      reduce(at, data.data(), bytes, how, type);
    mark_layout(cta, offset, bytes, kLayoutUnknown);
    credit_bytes(cluster, {.offset = offset, .barrier = barrier, .credits = {}}, {rank, rank}, bytes, *this);
  }
  std::string describe() const override { return "st.async of " + std::to_string(bytes) + " bytes"; }
};

Flow remote_store(Warp& w, const RemoteStoreOperands& o, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) {
    const int lane = first_lane(rest);
    auto store = std::make_unique<RemoteStore>();
    const uint32_t to = shared_address(w, o.to, lane, "st.async");
    const uint32_t barrier = to_shared(o.barrier.of(w, lane), "st.async", "'s mbarrier");
    if (to >> kSharedRankShift != barrier >> kSharedRankShift)
      throw Fault{faults::st_async_signals_other_cta, {}, lane};
    store->rank = to >> kSharedRankShift, store->offset = to & kSharedOffsetMask;
    store->barrier = barrier & kSharedOffsetMask;
    store->bytes = uint32_t{o.element_bytes} * o.count;
    for (size_t i = 0; i < std::min<size_t>(o.count, o.values.size()); ++i) {
      const uint64_t value = number(w, o.values[i], o.element_bytes == 8, lane);
      std::memcpy(store->data.data() + i * o.element_bytes, &value, o.element_bytes);
    }
    store->how = o.how, store->type = o.type;
    if (cluster_of(w).watchers.want(EventKind::Issue)) {
      const Destination destination{store->offset, store->barrier, {{store->rank, store->rank}}};
      cluster_of(w).watchers.tell(IssueEvent{.role = Role::RemoteStore,
                                             .warp = w,
                                             .lanes = 1u << lane,
                                             .operation = store.get(),
                                             .to = &destination,
                                             .bytes = store->bytes,
                                             .reduces = o.how != Reduction::None});
    }
    submit(w, lane, std::move(store), {.latency = static_cast<uint64_t>(cluster_of(w).costs().remote_arrive)});
  }
  w.executed_at_effect = w.executed;
  return Flow::Next;
}

template <bool REDUCES>
void decode_remote_store(Decoder& d) {
  const Type type = d.last_type();
  RemoteStoreOperands o{.to = d.address(0), .barrier = d.address(2), .type = type};
  const auto values = d.elements(d.operand(1));
  if (values.size() > o.values.size()) d.unsupported(faults::too_many_values);
  o.count = static_cast<uint8_t>(values.size());
  if (ptx::bits(type) != 32 && ptx::bits(type) != 64) d.unsupported(faults::unknown_type);
  o.element_bytes = static_cast<uint8_t>(ptx::bits(type) / 8);
  for (size_t i = 0; i < values.size(); ++i) o.values[i] = d.source(values[i], type);
  if (REDUCES) o.how = reduction_of(d);
  d.emit<remote_store>(o);
}

constexpr Mnemonic kMnemonics[] = {
    {"st.async", decode_remote_store<false>},
    {"red.async", decode_remote_store<true>, Manner{.use = DataUse::Carries, .orders = Manner::Orders::Atomic}}};
constexpr std::string_view kIgnored[] = {"weak", "relaxed", "cluster",         "v2",
                                         "v4",   "shared",  "shared::cluster", "mbarrier::complete_tx::bytes"};

}  // namespace

constinit const Family families::st_async{
    .mnemonics = kMnemonics, .ignored = kIgnored, .manner = {.use = DataUse::Carries, .moves = true}};

}  // namespace sim
