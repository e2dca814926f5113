// Clusters that cannot affect one another, on host threads.
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

/// Launches that overlap do so in the same way on every machine, however its threads run. The CTAs of a launch that
/// start last wait, once they have let the next launch start, until its clusters have come as far as they get without
/// the end of the first. That is to their griddepcontrol.wait, or to their own end. So the next launch does early
/// whatever it does not wait for.
class SideBySide {
 public:
  SideBySide(std::span<GridLaunch> launches, const Schedule& schedule, int threads);
  std::optional<Failure> run();

 private:
  struct Part {
    GridLaunch grid;
    uint32_t next = 0;                                   ///< the first cluster that has not started
    std::vector<std::unique_ptr<ClusterEngine>> parked;  ///< by number
    Output output;
    uint32_t count() const { return grid.launch->cluster_count(); }
  };

  /// Starts clusters up to `end`, and parks those that stop before they end: in griddepcontrol.wait or, if asked for,
  /// where the next launch may start.
  void start(Part& part, uint32_t end, bool until_dependents_start);
  /// Ends clusters of the launch before until there is room for the next one's; seeds end more of them.
  void make_room(Part& before, const Part& part);
  /// Lets the first `count` of those that are parked go on to their end.
  void go_on(Part& part, std::size_t count);
  /// The whole of it, and of all before.
  void finish(std::size_t index);
  /// The clusters that find room beside those that are parked.
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
