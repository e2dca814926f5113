// griddepcontrol: launches of one stream that may overlap.
#include <utility>

#include "exec/core/families.h"

namespace sim {
namespace {

/// The dependent launch may start as soon as every CTA has executed this, or has exited. The first thread of a CTA
/// makes the engine check.
Flow launch_dependents(Warp& w, const NoOperands&, Mask) {
  cluster_of(w).watchers.tell(LaneEvent{LaneEvent::What::NextLaunch, w});
  if (std::exchange(w.cta->lets_dependents_start, true)) return Flow::Next;
  note_effect(w);
  return Flow::Yield;
}

/// Waits until the preceding launch has ended. The engine wakes the warps.
Flow wait(Warp& w, const NoOperands&, Mask m) {
  cluster_of(w).watchers.tell(WaitEvent{WaitEvent::What::Asks, Wait::Launch, w, m, w.split().pc});
  const Launch* const predecessor = cluster_of(w).launch->predecessor;
  if (predecessor == nullptr || predecessor->done()) return Flow::Next;
  isolate(w, m);
  return block(w, Wait::Launch);
}

void decode_griddepcontrol(Decoder& d) {
  if (d.has("wait")) return d.emit<wait>({});
  if (!d.has("launch_dependents")) d.unsupported(faults::neither_wait_nor_launch);
  d.program().lets_dependents_start = true;
  d.emit<launch_dependents>({});
}

constexpr Mnemonic kMnemonics[] = {
    {"griddepcontrol", decode_griddepcontrol},
    {"griddepcontrol.wait", decode_griddepcontrol,
     Manner{.orders = Manner::Orders::Barrier, .fence = Ordering::Fence::Grid}},
};

}  // namespace

constinit const Family families::dependent_launch{kMnemonics};

}  // namespace sim
