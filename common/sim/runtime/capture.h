// Stream capture: work that is submitted to a captured stream becomes nodes of a graph. Each node depends on its
// predecessor in the stream, and on the work for which the stream has waited by events.
#pragma once

#include "runtime/graph.h"
#include "runtime/streams.h"

namespace sim::runtime {

/// Executes work of a stream now, or adds it to the graph if the stream is captured.
void in_order(Process& process, cudaStream_t stream, const cudaMemcpy3DParms& copy);
void in_order(Process& process, cudaStream_t stream, const FillCopy& fill);
void launch_in_order(Process& process, cudaStream_t stream, Kernel& kernel, const LaunchRequest& launch);
/// Adds a host function, or a graph, to the captured graph; false if the stream is not captured.
bool capture_host_function(cudaStream_t stream, cudaHostFn_t function, void* data);
bool capture_graph(cudaStream_t stream, Graph& graph);

/// Events extend a capture to further streams. False: nothing is captured, and the event only marks a point in time.
bool capture_record(cudaStream_t stream, cudaEvent_t event);
bool capture_wait(cudaStream_t stream, cudaEvent_t event);

/// The host cannot wait for a captured stream: refuses, which invalidates the capture.
void refuse_while_captured(cudaStream_t stream, const char* why = "this is not possible while the stream is captured");
void refuse_while_any_is_captured();

}  // namespace sim::runtime
