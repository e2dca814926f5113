// Runs clusters that cannot affect one another, in parallel on host threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/grid.h"
#include "engine/output.h"
#include "engine/progress.h"

namespace sim {

/// Overlap of launches is deterministic: it does not depend on the host's threads. The last CTAs of a launch stop when
/// they have permitted the next launch to start. They continue when the clusters of that one have reached their
/// griddepcontrol.wait or their end. So the next launch does early whatever it does not wait for.
class SideBySide {
 public:
  SideBySide(std::span<GridLaunch> launches, const Schedule& schedule, int threads);
  std::optional<Failure> run();

 private:
  struct Part {
    GridLaunch grid;
    uint32_t next = 0;                                   ///< the next cluster to start
    std::vector<std::unique_ptr<ClusterEngine>> parked;  ///< by number
    Output output;
    uint32_t count() const { return grid.launch->cluster_count(); }
  };

  /// Starts clusters up to `end`, and parks those that stop before their end: in griddepcontrol.wait or, with
  /// `until_dependents_start`, where the next launch may start.
  void start(Part& part, uint32_t end, bool until_dependents_start);
  /// Runs clusters of the preceding launch to their ends until there is room for the next one's; seeded schedules end
  /// more of them.
  void make_room(Part& before, const Part& part);
  /// Runs the first `count` parked clusters to their ends.
  void go_on(Part& part, std::size_t count);
  /// Runs this launch and all preceding ones to their ends.
  void finish(std::size_t index);
  /// The number of clusters that fit beside the parked ones.
  uint32_t room(const Part& part) const;
  /// Calls body(index, needed) for each; needed() becomes false when an earlier one has failed. Returns the first
  /// failure.
  using Needed = std::function<bool()>;
  std::optional<Failure> for_all(std::size_t count, const std::function<void(std::size_t, const Needed&)>& body) const;

  const Schedule& schedule_;
  Random random_;
  const int threads_;
  uint64_t room_ = 0;
  std::vector<std::unique_ptr<Part>> parts_;
  Progress progress_;
};

}  // namespace sim
