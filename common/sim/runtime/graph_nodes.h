// What a graph's node does, from the API's structures. Each refuses what cannot be, and leaves the node as it was.
#pragma once

#include "runtime/graph.h"

namespace sim::runtime {

/// The grid, block and arguments; attributes of the launch stay.
void set_kernel(Process& process, GraphNode& node, const cudaKernelNodeParams* parameters);
void set_fill(GraphNode& node, const cudaMemsetParams& parameters);
void set_host(GraphNode& node, const cudaHostNodeParams& parameters);
void set_event(GraphNode& node, cudaEvent_t event);
/// A copy of the graph, which the node owns.
void set_child(GraphNode& node, Graph& graph);
/// Of any type that is simulated.
void set_content(Process& process, GraphNode& node, const cudaGraphNodeParams& parameters);

}  // namespace sim::runtime
