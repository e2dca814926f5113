// cp.async.bulk.commit_group, cp.async.bulk.wait_group: the groups of a lane's bulk stores.
#include "check/observer.h"
#include "exec/async/groups.h"
#include "exec/core/families.h"

namespace sim {
namespace {

Flow commit_group(Warp& w, const NoOperands&, Mask m) {
  if (w.alone) return Flow::Next;
  for (Mask rest = m; rest; rest &= rest - 1) commit_bulk(w, first_lane(rest));
  if (Observer* const observer = observer_of(w)) observer->bulk_committed(w, m);
  note_demand(w, timing::Step::What::BulkCommit);
  return Flow::Next;
}

struct WaitGroup {
  uint32_t pending;  ///< so many of the newest groups may be unfinished
  bool read_only;    ///< .read: only the source must have been read
};
Flow wait_group(Warp& w, const WaitGroup& o, Mask m) {
  if (Observer* const observer = observer_of(w)) observer->bulk_waited(w, m, o.pending, o.read_only, w.split().pc);
  if (bulk_done(w, m, o.pending, o.read_only)) {
    note_demand(w, timing::Step::What::BulkWait, 0, o.read_only, o.pending);
    return Flow::Next;
  }
  isolate(w, m);
  return block(w, Wait::BulkGroup, o.pending, o.read_only);
}

constexpr Mnemonic kMnemonics[] = {
    {"cp.async.bulk.commit_group", [](Decoder& d) { d.emit<commit_group>({}); }},
    {"cp.async.bulk.wait_group",
     [](Decoder& d) {
       d.emit<wait_group>({.pending = static_cast<uint32_t>(d.immediate(0)), .read_only = d.has("read")});
     }},
};

}  // namespace

constinit const Family families::bulk_group{kMnemonics};

}  // namespace sim
