#include "runtime/graph_nodes.h"

#include "runtime/streams.h"

namespace sim::runtime {

void set_kernel(Process& process, GraphNode& node, const cudaKernelNodeParams* given) {
  const cudaKernelNodeParams& p = result(given, "nodeParams");
  if (p.kernelParams == nullptr && p.extra != nullptr)
    refuse(cudaErrorNotSupported, "arguments of a kernel node in one buffer (extra) are not simulated.");
  LaunchRequest how = node.kernel.launch;
  how.grid = p.gridDim, how.block = p.blockDim, how.dynamic_smem = p.sharedMemBytes, how.arguments = p.kernelParams;
  node.kernel = {process, find_kernel(process, p.func), how};
}

void set_fill(GraphNode& node, const cudaMemsetParams& p) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4)
    refuse(cudaErrorInvalidValue, "elementSize is %u; it must be 1, 2 or 4 bytes.", p.elementSize);
  node.fill = {p.dst, {p.pitch}, {p.width * p.elementSize, p.height}, p.value, p.elementSize};
}

void set_host(GraphNode& node, const cudaHostNodeParams& p) {
  if (p.fn == nullptr) refuse(cudaErrorInvalidValue, "fn is a null pointer.");
  node.host = p;
}

void set_event(GraphNode& node, cudaEvent_t event) {
  find_event(event);
  node.event = event;
}

void set_child(GraphNode& node, Graph& graph) {
  node.child = graph.clone();
  node.child->is_owned = true;
}

namespace {

void set_conditional(GraphNode& node, const cudaConditionalNodeParams& p) {
  const unsigned most = p.type == cudaGraphCondTypeWhile ? 1 : p.type == cudaGraphCondTypeIf ? 2 : 1u << 16;
  if (p.type > cudaGraphCondTypeSwitch)
    refuse(cudaErrorInvalidValue, "type is %d, which is not a cudaGraphConditionalNodeType.", p.type);
  if (p.size < 1 || p.size > most)
    refuse(cudaErrorInvalidValue, "size is %u; a conditional node of this type has 1 to %u graphs.", p.size, most);
  node.conditional.condition = find_condition(p.handle);
  node.conditional.type = p.type;
  for (unsigned i = 0; i < p.size; ++i) {
    node.conditional.bodies.push_back(std::make_shared<Graph>());
    node.conditional.bodies.back()->is_owned = true;
    node.conditional.handles.push_back(handle_of(*node.conditional.bodies.back()));
  }
}

}  // namespace

void set_content(Process& process, GraphNode& node, const cudaGraphNodeParams& p) {
  switch (p.type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParams same{p.kernel.func,
                                      {p.kernel.gridDim.x, p.kernel.gridDim.y, p.kernel.gridDim.z},
                                      {p.kernel.blockDim.x, p.kernel.blockDim.y, p.kernel.blockDim.z},
                                      p.kernel.sharedMemBytes,
                                      p.kernel.kernelParams,
                                      p.kernel.extra};
      return set_kernel(process, node, &same);
    }
    case cudaGraphNodeTypeMemcpy: node.copy = p.memcpy.copyParams; return;
    case cudaGraphNodeTypeMemset:
      return set_fill(
          node, {p.memset.dst, p.memset.pitch, p.memset.value, p.memset.elementSize, p.memset.width, p.memset.height});
    case cudaGraphNodeTypeHost: return set_host(node, {p.host.fn, p.host.userData});
    case cudaGraphNodeTypeGraph: return set_child(node, find_graph(p.graph.graph));
    case cudaGraphNodeTypeEmpty: return;
    case cudaGraphNodeTypeWaitEvent: return set_event(node, p.eventWait.event);
    case cudaGraphNodeTypeEventRecord: return set_event(node, p.eventRecord.event);
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
      refuse(cudaErrorNotSupported, "nodes that allocate or free memory are not simulated: allocate before the graph.");
    case cudaGraphNodeTypeConditional:
      if (!node.conditional.bodies.empty()) refuse(cudaErrorNotSupported, "a conditional node cannot be changed.");
      return set_conditional(node, p.conditional);
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
      refuse(cudaErrorNotSupported, "nodes for external semaphores are not simulated.");
    default: refuse(cudaErrorInvalidValue, "type is %d, which is not a cudaGraphNodeType.", static_cast<int>(p.type));
  }
}

}  // namespace sim::runtime
