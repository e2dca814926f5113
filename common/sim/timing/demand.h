// The demands of a cluster on the hardware: each warp's instructions as the timing model sees them. Execution
// determines kind and amount; durations and waits are determined by contention, in which all clusters share one time
// (timing/contention.h).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "machine/warp.h"
#include "machine/watcher.h"

namespace sim::timing {

class OrdinaryLoads;

/// One demand of a warp. Barriers are named by the CTA's rank in the cluster and their offset / 8 in its shared memory.
struct DemandStep {
  enum class What : uint8_t {
    Init,           ///< of an mbarrier; value: arrivals per phase
    Wait,           ///< on an mbarrier; value: parity
    Arrive,         ///< at an mbarrier; value: arrivals
    Expect,         ///< at an mbarrier; value: bytes
    Load,           ///< by TMA; value: index into Forms::loads
    Store,          ///< by TMA; value: index into Forms::stores
    BulkCommit,     ///< of the warp's stores so far
    BulkWait,       ///< value: groups that may be unfinished; slot 1: until their source has been read
    Mma,            ///< asynchronous; value: index into Forms::mmas; rank: the CTA that leads
    Commit,         ///< wgmma.commit_group
    GroupWait,      ///< wgmma.wait_group; value: groups that may be unfinished
    MmaArrive,      ///< tcgen05.commit; value: mask of the CTAs whose barrier `slot` it arrives at
    TmemAlloc,      ///< of tensor memory; value: columns
    TmemDealloc,    ///< back; value: columns
    TmemLoad,       ///< value: bytes
    TmemWait,       ///< until the warp's transfers are done
    BarrierArrive,  ///< slot: number of the named barrier; value: warps that it waits for, 0: all of the CTA
    BarrierWait,    ///< slot: number of the named barrier
    ClusterArrive,  ///< value: lanes
    ClusterWait,
    Shared,       ///< an ordinary access of shared memory; value: wavefronts
    GlobalStore,  ///< value: 128-byte lines; slot: bytes of each
    GlobalLoad,   ///< a miss in L1; value: 128-byte lines; slot: bytes of each
    CachedLoad,   ///< a hit in L1; value: 128-byte lines
    Fence,        ///< waits for the warp's own accesses; value 1: until other SMs can see them
    Ask,          ///< clusterlaunchcontrol.try_cancel; value: mask of the CTAs whose barrier `slot` counts the response
    GridDepLaunch,  ///< griddepcontrol.launch_dependents
    GridDepWait,    ///< griddepcontrol.wait
    Exit,
  };
  What what;
  uint8_t rank = 0;
  uint16_t slot = 0;
  uint32_t value = 0;
  uint32_t issued = 0;     ///< instructions since the warp's previous step, this one included
  uint32_t conflicts = 0;  ///< Shared: wavefronts of `value` because of bank conflicts
  auto operator<=>(const DemandStep&) const = default;
};

/// A box that TMA loads, without its coordinates.
struct LoadForm {
  uint64_t tensor;                         ///< its address
  uint32_t rows, row_bytes;                ///< of the box
  uint32_t fetch_bytes;                    ///< that L2 fetches from DRAM at once: the tensor map's promotion
  std::vector<std::array<uint8_t, 2>> to;  ///< ranks of the receiving CTAs, and of those whose barrier counts
  uint16_t slot;                           ///< of the barrier
  uint64_t row_step = 0;                   ///< bytes from row to row of the tensor
  auto operator<=>(const LoadForm&) const = default;
  uint32_t bytes() const { return rows * row_bytes; }
};
struct StoreForm {
  uint32_t rows, row_bytes;
  auto operator<=>(const StoreForm&) const = default;
  uint32_t bytes() const { return rows * row_bytes; }
};
struct MmaForm {
  int m, n, k;          ///< of the instruction
  int ctas;             ///< that execute it together
  bool a_in_registers;  ///< or in tensor memory
  bool warpgroup;       ///< wgmma: the warps of a group issue it together
  auto operator<=>(const MmaForm&) const = default;
};

/// The forms of the operations of a launch; steps refer to them by index.
struct Forms {
  std::vector<LoadForm> loads;
  std::vector<StoreForm> stores;
  std::vector<MmaForm> mmas;
};

/// The position of a box in its tensor: bytes along the rows, and the first row.
struct BoxPlace {
  uint32_t load;  ///< index into Forms::loads
  int32_t x, y;
};

struct WarpDemands {
  std::vector<DemandStep> steps;
  std::vector<uint32_t> pcs;     ///< by step: its (first) instruction
  std::vector<BoxPlace> places;  ///< of the warp's loads, in order
};
/// By rank, then by warp.
using ClusterDemands = std::vector<std::vector<WarpDemands>>;

/// Records the demands of one cluster's warps while they are executed.
class DemandWatcher final : public Watcher {
 public:
  /// Steps and places go to `demands`. Watchers that are used one after the other may share `forms`. `loads` is null
  /// where warps are executed alone: their ordinary loads are not recorded.
  DemandWatcher(Forms& forms, ClusterDemands& demands, OrdinaryLoads* loads = nullptr)
      : Watcher({EventKind::Lanes, EventKind::Access, EventKind::Signal, EventKind::Barrier, EventKind::Wait,
                 EventKind::Issue, EventKind::Commit, EventKind::Tensor}),
        forms_(forms),
        demands_(demands),
        loads_of_lanes_(loads) {}

  void on(const LaneEvent& event) override;
  void on(const AccessEvent& event) override;
  void on(const SignalEvent& event) override;
  void on(const BarrierEvent& event) override;
  void on(const WaitEvent& event) override;
  void on(const IssueEvent& event) override;
  void on(const CommitEvent& event) override;
  void on(const TensorEvent& event) override;

 private:
  /// Adds a step of the running split, or of one at `pc` that has waited.
  void note(const Warp& warp, DemandStep::What what, uint32_t rank = 0, uint32_t slot = 0, uint32_t value = 0);
  void note_at(const Warp& warp, uint32_t pc, DemandStep::What what, uint32_t rank, uint32_t slot, uint32_t value);
  void note_load(const IssueEvent& event);
  void note_ordinary_load(const AccessEvent& event);
  WarpDemands& demands_of(const Warp& warp);
  template <class Form>
  uint32_t number(std::vector<Form>& all, std::map<Form, uint32_t>& known, const Form& form);

  Forms& forms_;
  ClusterDemands& demands_;
  OrdinaryLoads* const loads_of_lanes_;
  std::map<const Warp*, uint64_t> executed_;  // instructions by each warp until its last step
  std::map<LoadForm, uint32_t> loads_;
  std::map<StoreForm, uint32_t> stores_;
  std::map<MmaForm, uint32_t> mmas_;
};

}  // namespace sim::timing
