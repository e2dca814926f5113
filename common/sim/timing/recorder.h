// Watches one cluster for a trace. It exists only while somebody traces: Cluster::recorder is null otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "machine/cluster.h"
#include "timing/trace.h"

namespace sim {

class Recorder final : public order::Witness {
 public:
  explicit Recorder(Cluster& cluster) : cluster_(cluster) {}

  /// Forgets everything: another cluster begins.
  void start();
  /// The cluster has ended, well or not, at `now`: what still waits has waited until then. Hands the events over.
  std::vector<TraceEvent> finish(uint64_t now);

  // --- told by the engine

  /// The warp runs from its clock on; `ran` when it has stopped, at its clock, and says what it is waiting for.
  void runs(const Warp& warp);
  void ran(const Warp& warp);
  /// A blocked split of the warp is woken, by whoever acts now.
  void woken(const Warp& warp);
  /// Returns the operation's number, for the two below.
  uint32_t issued(const AsyncOperation& operation, uint64_t at, uint64_t begin, uint64_t free);
  void takes_effect(uint32_t operation, uint64_t now);
  /// The operation that took effect is over: nobody acts until somebody is said to.
  void is_done() { actor_ = {}, acting_ = nullptr; }
  /// Something is wrong in what this warp does now, or in an operation of this origin.
  void reports(const std::string& sentence, const Warp* warp, const Origin* origin, uint64_t now);

  // --- told by the order checker

  /// The time of whoever acts.
  uint64_t now() const override { return actor().time; }
  void hears(const order::Finding& finding) override;

  // --- told by instructions and by what they do to barriers

  void barrier(const char* what, const BarrierName& barrier, uint32_t amount, const BarrierState& state);

 private:
  uint32_t linear(uint32_t rank) const;
  TraceEvent& add(TraceEvent::Kind kind, uint32_t rank, uint64_t begin, uint64_t end);
  /// Who acts now.
  Actor actor() const;

  Cluster& cluster_;
  std::vector<TraceEvent> events_;
  std::map<const Warp*, uint32_t> last_;  ///< by warp: its last event, which may still grow
  const Warp* acting_ = nullptr;          ///< the warp that runs
  uint64_t runs_from_ = 0;
  uint32_t first_pc_ = 0;
  Actor actor_;  ///< the operation that takes effect
};

}  // namespace sim
