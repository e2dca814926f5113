// Fill in a graph's node from the API's structures. Each function refuses invalid parameters and then leaves the node
// unchanged.
#pragma once

#include "runtime/graph.h"

namespace sim::runtime {

/// Sets grid, block and arguments; attributes of the launch stay.
void set_kernel(Process& process, GraphNode& node, const cudaKernelNodeParams* parameters);
void set_fill(GraphNode& node, const cudaMemsetParams& parameters);
void set_host(GraphNode& node, const cudaHostNodeParams& parameters);
void set_event(GraphNode& node, cudaEvent_t event);
/// Copies the graph; the node owns the copy.
void set_child(GraphNode& node, Graph& graph);
/// Any simulated type of node.
void set_content(Process& process, GraphNode& node, const cudaGraphNodeParams& parameters);

}  // namespace sim::runtime
