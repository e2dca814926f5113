// Stream capture: what is given to a stream that is captured becomes nodes of a graph. Each depends on what came before it in
// its stream, and on what the stream has waited for by events.
#pragma once

#include "runtime/graph.h"
#include "runtime/streams.h"

namespace sim::runtime {

/// Does the work of a stream now, or notes it where the stream is captured.
void in_order(Process& process, cudaStream_t stream, const cudaMemcpy3DParms& copy);
void in_order(Process& process, cudaStream_t stream, const FillCopy& fill);
void launch_in_order(Process& process, cudaStream_t stream, Kernel& kernel, const LaunchRequest& launch);
/// Notes a host function, or a graph; false if the stream is not captured.
bool capture_host_function(cudaStream_t stream, cudaHostFn_t function, void* data);
bool capture_graph(cudaStream_t stream, Graph& graph);

/// Events carry a capture from stream to stream. False: nothing is captured, and the event is a moment.
bool capture_record(cudaStream_t stream, cudaEvent_t event);
bool capture_wait(cudaStream_t stream, cudaEvent_t event);

/// A stream that is captured cannot be waited for: refuses, and the capture is lost.
void refuse_while_captured(cudaStream_t stream);
void refuse_while_any_is_captured();

}  // namespace sim::runtime
