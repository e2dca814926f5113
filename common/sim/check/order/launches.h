// Order among launches, copies and the host: streams, events, launches that may overlap their predecessor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "check/order/global_history.h"
#include "check/order/race_detector.h"

namespace sim::order {

/// A stream's identity and order.
struct StreamName {
  uint64_t id = 0;       ///< 0: the legacy default stream
  bool blocking = true;  ///< it and the default stream wait for one another
};

/// A running kernel launch. Clusters with checkers of their own may run in parallel; each is merged when it ends.
class LaunchCheck {
 public:
  LaunchCheck(uint64_t number, StreamName stream, bool lets_dependents_start, std::unique_ptr<const ProgramNames> names,
              Ended start, uint64_t predecessor, Ended predecessor_end, const GlobalHistory& earlier, Habits tolerated,
              bool strict);

  const uint64_t number;
  const bool lets_dependents_start;
  Findings findings;

  /// A checker for one cluster, or for all clusters if they can affect one another.
  std::unique_ptr<RaceDetector> make_detector();
  /// The knowledge of the launch's threads at their start.
  Clock start() const;
  /// The knowledge of a thread after griddepcontrol.wait.
  Clock after_wait(const Clock& before);

  /// Checks that an access to global memory is ordered after those of other launches.
  void check_past(RaceDetector& detector, const RecordedAccess& access, const By& by, const Range& range,
                  const Clock& knows);
  /// A cluster with a checker of its own has ended. Its accesses are merged into the launch in the order of the
  /// clusters' numbers, whenever the clusters end. Null: the cluster has failed.
  void end(uint32_t cluster, std::unique_ptr<RaceDetector> detector);
  /// All clusters of this checker have ended.
  void fold(RaceDetector& detector);

 private:
  friend class Launches;
  void clash(const PastAccess& before, const PastAccess& now, bool writes_before, bool writes_now, const Range& range);
  void fold_in(RaceDetector& detector);

  const std::unique_ptr<const ProgramNames> names_;
  const std::string title_;  // in findings about later work
  const Ended start_;
  const uint64_t predecessor_;
  const Ended predecessor_end_;
  const GlobalHistory& earlier_;
  GlobalHistory past_;  // its own clusters that have ended
  std::mutex mutex_;
  bool waited_ = false;
  std::map<uint32_t, std::unique_ptr<RaceDetector>> ended_;  // ended clusters that wait for one with a lower number
  uint32_t turn_ = 0;
};

class Launches {
 public:
  /// A kernel launch on a stream; `overlaps`: it may start before its predecessor has ended, if that lets it. Without
  /// griddepcontrol.launch_dependents in the predecessor the ISA asks for no griddepcontrol.wait; but CUDA promises
  /// only that all blocks have ended, so strict checks ask for it.
  std::unique_ptr<LaunchCheck> begin(StreamName stream, bool overlaps, bool lets_dependents_start,
                                     std::unique_ptr<const ProgramNames> names, Habits tolerated, bool strict);
  void end(LaunchCheck& launch, StreamName stream);

  /// A copy or a fill, in the order of the host or of a stream.
  std::optional<Finding> operation(StreamName stream, bool host_waits, const std::string& what,
                                   const std::vector<Range>& reads, const std::vector<Range>& writes);

  void wait_for(StreamName stream);  ///< the host waits
  void wait_for_all();
  Ended record(StreamName stream);  ///< an event: all earlier work of the stream
  void wait_for(const Ended& event);
  void wait_for(StreamName stream, const Ended& event);
  void forget(uint64_t begin, uint64_t end) { past_.forget(begin, end); }

 private:
  struct Stream {
    Ended next;  // known to its next ordinary operation at its start
    Ended all;   // known once everything in the stream has ended
    uint64_t last = 0;
    bool last_is_launch = false, last_lets_start = false;
    Ended last_start, last_end;
    bool blocking = true;
  };
  Ended start_of(StreamName name);
  /// Whether another stream, for which this one waits, has had an operation after this stream's last one.
  bool other_work_between(StreamName name);
  void done(StreamName name, uint64_t number, const Ended& end);
  void host_learns(const Ended& ended);

  GlobalHistory past_;
  std::map<uint64_t, Stream> streams_;
  Ended host_;
  uint64_t next_ = 1;
};

}  // namespace sim::order
