#include "runtime/host_order.h"

namespace sim::runtime {
namespace {

std::vector<uint64_t> flat(const std::vector<order::Range>& ranges) {
  std::vector<uint64_t> ends;
  for (const order::Range& range : ranges) ends.insert(ends.end(), {range.begin, range.end});
  return ends;
}

}  // namespace

void HostOrder::note(What what, order::StreamName stream, uint64_t event) {
  if (recorder_ == nullptr) return;
  recorder_->orders({.what = static_cast<uint32_t>(what),
                     .stream = stream.id,
                     .blocking = stream.blocking,
                     .event = event,
                     .name = {}});
}

std::optional<Finding> HostOrder::operation(order::StreamName stream, bool host_waits, const std::string& what,
                                            const std::vector<order::Range>& reads,
                                            const std::vector<order::Range>& writes) {
  if (recorder_ != nullptr) {
    recorder_->orders({.what = static_cast<uint32_t>(What::Operation),
                       .stream = stream.id,
                       .blocking = stream.blocking,
                       .host_waits = host_waits,
                       .name = what,
                       .reads = flat(reads),
                       .writes = flat(writes)});
  }
  if (launches_ == nullptr) return std::nullopt;
  return launches_->operation(stream, host_waits, what, reads, writes);
}

void HostOrder::wait_for(order::StreamName stream) {
  note(What::HostWaits, stream);
  if (launches_ != nullptr) launches_->wait_for(stream);
}

void HostOrder::wait_for_all() {
  note(What::HostWaitsForAll, {});
  if (launches_ != nullptr) launches_->wait_for_all();
}

HostOrder::Event HostOrder::record(order::StreamName stream) {
  note(What::RecordEvent, stream);
  return {launches_ == nullptr ? order::Ended() : launches_->record(stream), events_++};
}

void HostOrder::wait_for(const Event& event) {
  if (event.number) note(What::HostWaitsFor, {}, *event.number);
  if (launches_ != nullptr) launches_->wait_for(event.ended);
}

void HostOrder::wait_for(order::StreamName stream, const Event& event) {
  if (event.number) note(What::StreamWaits, stream, *event.number);
  if (launches_ != nullptr) launches_->wait_for(stream, event.ended);
}

void HostOrder::forget(uint64_t begin, uint64_t end) {
  if (recorder_ != nullptr) {
    recorder_->orders({.what = static_cast<uint32_t>(What::Forget), .name = {}, .writes = {begin, end}});
  }
  if (launches_ != nullptr) launches_->forget(begin, end);
}

}  // namespace sim::runtime
