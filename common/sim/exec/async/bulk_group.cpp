// cp.async.bulk.commit_group, cp.async.bulk.wait_group: the groups of a lane's bulk stores.
#include "exec/core/families.h"
#include "exec/core/groups.h"

namespace sim {
namespace {

Flow commit_group(Warp& w, const NoOperands&, Mask m) {
  for (Mask rest = m; rest; rest &= rest - 1) commit_bulk(w, first_lane(rest));
  cluster_of(w).watchers.tell(CommitEvent{CommitEvent::What::Bulk, w, m});
  return Flow::Next;
}

struct WaitGroup {
  uint32_t pending;  ///< number of the newest groups that may be unfinished
  bool read_only;    ///< .read: only the source must have been read
};
Flow wait_group(Warp& w, const WaitGroup& o, Mask m) {
  WaitEvent told{WaitEvent::What::Asks, Wait::BulkGroup, w, m, w.split().pc, {}, o.pending, o.read_only};
  cluster_of(w).watchers.tell(told);
  if (bulk_done(w, m, o.pending, o.read_only)) {
    told.what = WaitEvent::What::Passes;
    cluster_of(w).watchers.tell(told);
    return Flow::Next;
  }
  isolate(w, m);
  return block(w, Wait::BulkGroup, o.pending, o.read_only);
}

constexpr Mnemonic kMnemonics[] = {
    {"cp.async.bulk.commit_group", [](Decoder& d) { d.emit<commit_group>({}); },
     Manner{.use = DataUse::Steers, .alone = kNoEffect}},
    {"cp.async.bulk.wait_group",
     [](Decoder& d) {
       d.emit<wait_group>({.pending = static_cast<uint32_t>(d.immediate(0)), .read_only = d.has("read")});
     }},
};

}  // namespace

constinit const Family families::bulk_group{.mnemonics = kMnemonics, .manner = {.use = DataUse::Steers}};

}  // namespace sim
