// CUDA graphs: what is given to a stream that is captured is noted instead of done, and done as often as the graph is
// launched. Nodes keep the order of the calls, in which every dependency is kept.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/launch.h"
#include "runtime/streams.h"

namespace sim::runtime {

/// A launch with arguments of its own, which the program's may outlive or not.
struct KernelWork {
  Kernel* kernel = nullptr;
  Launch launch;
  std::vector<std::vector<uint8_t>> values;  ///< by parameter

  KernelWork() = default;
  KernelWork(Process& process, Kernel& kernel, const Launch& launch);
  std::vector<void*> arguments();
};

struct GraphNode {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void(Process&)> work;  ///< of copies and fills
  KernelWork kernel;
  cudaHostFn_t host = nullptr;
  void* host_data = nullptr;
};

/// Does the work of a stream now, or notes it where the stream is captured.
void in_order(Process& process, cudaStream_t stream, cudaGraphNodeType type, std::function<void(Process&)> work);
/// The same for a kernel.
void launch_in_order(Process& process, cudaStream_t stream, Kernel& kernel, const Launch& launch);
/// Notes a host function; false if the stream is not captured.
bool capture_host_function(cudaStream_t stream, cudaHostFn_t function, void* data);

/// Events carry a capture from stream to stream. False: nothing is captured, and the event is a moment.
bool capture_record(cudaStream_t stream, cudaEvent_t event);
bool capture_wait(cudaStream_t stream, cudaEvent_t event);

/// Nobody can wait for a stream that is captured: refuses, and the capture is lost.
void refuse_while_captured(cudaStream_t stream);
void refuse_while_any_is_captured();

}  // namespace sim::runtime
