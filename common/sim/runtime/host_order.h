// The order of launches, copies and fills that the host's calls establish, for the order checker and for recordings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/order/launches.h"
#include "runtime/recorder.h"

namespace sim::runtime {

class HostOrder {
 public:
  /// All work that has been submitted to a stream so far.
  struct Event {
    order::Ended ended;
    std::optional<uint64_t> number;  ///< its number in the recording
  };

  HostOrder() = default;
  /// Both may be null.
  HostOrder(order::Launches* launches, Recorder* recorder) : launches_(launches), recorder_(recorder) {}

  /// Whether the order checker or a recording uses this order.
  bool matters() const { return launches_ != nullptr || recorder_ != nullptr; }

  /// A copy or a fill. Returns a report if it is not ordered, or an empty string.
  std::optional<Finding> operation(order::StreamName stream, bool host_waits, const std::string& what,
                                   const std::vector<order::Range>& reads, const std::vector<order::Range>& writes);
  void wait_for(order::StreamName stream);  ///< the host does
  void wait_for_all();
  Event record(order::StreamName stream);
  void wait_for(const Event& event);  ///< the host does
  void wait_for(order::StreamName stream, const Event& event);
  void forget(uint64_t begin, uint64_t end);

 private:
  using What = recording::OrderStep::What;
  void note(What what, order::StreamName stream, uint64_t event = 0);

  order::Launches* launches_ = nullptr;
  Recorder* recorder_ = nullptr;
  uint64_t events_ = 0;
};

}  // namespace sim::runtime
