#include "runtime/streams.h"

#include <algorithm>

namespace sim::runtime {
namespace {

/// Live objects by handle, which is the object's address. Never destroyed: see Process::get.
template <typename Object>
std::unordered_map<const void*, std::unique_ptr<Object>>& live() {
  static auto& objects = *new std::unordered_map<const void*, std::unique_ptr<Object>>;
  return objects;
}

template <typename Object>
Object& create() {
  auto object = std::make_unique<Object>();
  Object& reference = *object;
  live<Object>()[object.get()] = std::move(object);
  return reference;
}

template <typename Object>
Object& find(const void* handle, const char* kind) {
  const auto found = live<Object>().find(handle);
  if (found == live<Object>().end()) {
    refuse(cudaErrorInvalidResourceHandle, "%p is not %s, or one that has been destroyed.", handle, kind);
  }
  return *found->second;
}

bool is_default(cudaStream_t handle) {
  return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

unsigned long long next_stream_id = 16;  // smaller numbers are default streams

}  // namespace

cudaStream_t create_stream(unsigned flags, int priority) {
  if ((flags & ~cudaStreamNonBlocking) != 0) refuse(cudaErrorInvalidValue, "the stream flags 0x%x are unknown.", flags);
  auto& stream = create<Stream>();
  stream.flags = flags;
  stream.priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  stream.id = next_stream_id++;
  return reinterpret_cast<cudaStream_t>(&stream);
}

void destroy_stream(cudaStream_t handle) {
  if (is_default(handle)) refuse(cudaErrorInvalidResourceHandle, "the default stream cannot be destroyed.");
  find_stream(handle);
  live<Stream>().erase(handle);
}

Stream& find_stream(cudaStream_t handle) {
  static Stream default_stream;
  return is_default(handle) ? default_stream : find<Stream>(handle, "a stream");
}

order::StreamName name_of(cudaStream_t handle) {
  constexpr uint64_t kPerThread = 2;
  if (handle == cudaStreamPerThread) return {kPerThread, true};
  if (is_default(handle)) return {};
  const Stream& stream = find_stream(handle);
  return {stream.id, (stream.flags & cudaStreamNonBlocking) == 0};
}

void enter_stream(Process& process, cudaStream_t handle) {
  find_stream(handle);
  process.work = {name_of(handle), false};
}

cudaEvent_t create_event(unsigned flags) {
  constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if ((flags & ~kKnown) != 0) refuse(cudaErrorInvalidValue, "the event flags 0x%x are unknown.", flags);
  auto& event = create<Event>();
  event.flags = flags;
  return reinterpret_cast<cudaEvent_t>(&event);
}

void destroy_event(cudaEvent_t handle) {
  find_event(handle);
  live<Event>().erase(handle);
}

Event& find_event(cudaEvent_t handle) { return find<Event>(handle, "an event"); }

void record_event(Process& process, cudaEvent_t handle, order::StreamName stream) {
  Event& event = find_event(handle);
  event.recorded = std::chrono::steady_clock::now();
  event.work = process.order().record(stream);
}

void wait_for_event(Process& process, cudaEvent_t handle) {
  const Event& event = find_event(handle);
  process.order().wait_for(event.work);
}

void wait_for_event(Process& process, cudaEvent_t handle, order::StreamName stream) {
  const Event& event = find_event(handle);
  process.order().wait_for(stream, event.work);
}

}  // namespace sim::runtime
