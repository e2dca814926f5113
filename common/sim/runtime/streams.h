// Streams and events. All work of a stream is done before the call that submits it returns, except for a launch that
// the next one may overlap: it waits for the next call. So a stream is only a handle, and an event only the time at
// which it was recorded.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>

#include "runtime/process.h"

namespace sim::runtime {

struct Stream {
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
};

struct Event {
  unsigned flags = 0;
  std::optional<std::chrono::steady_clock::time_point> recorded;
  HostOrder::Event work;  ///< the work submitted to its stream by then
};

inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

cudaStream_t create_stream(unsigned flags, int priority);
void destroy_stream(cudaStream_t handle);
/// Refuses a handle that is not a live stream. The default streams (null, legacy, per thread) always exist.
Stream& find_stream(cudaStream_t handle);
order::StreamName name_of(cudaStream_t handle);
/// The current call submits its work to this stream, and the host does not wait for it.
void enter_stream(Process& process, cudaStream_t handle);

cudaEvent_t create_event(unsigned flags);
void destroy_event(cudaEvent_t handle);
Event& find_event(cudaEvent_t handle);
void record_event(Process& process, cudaEvent_t handle, order::StreamName stream);
/// The host waits for the event's work; a stream does.
void wait_for_event(Process& process, cudaEvent_t handle);
void wait_for_event(Process& process, cudaEvent_t handle, order::StreamName stream);

}  // namespace sim::runtime
