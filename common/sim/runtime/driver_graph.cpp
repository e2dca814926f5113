// The driver's graphs. Handles are the runtime's, and so are most parameters.
#include "runtime/driver.h"

using namespace sim;
using namespace sim::runtime;

namespace {

cudaKernelNodeParams as_runtime_node(const CUDA_KERNEL_NODE_PARAMS& p) {
  return {p.func != nullptr ? static_cast<void*>(p.func) : static_cast<void*>(p.kern),
          {p.gridDimX, p.gridDimY, p.gridDimZ},
          {p.blockDimX, p.blockDimY, p.blockDimZ},
          p.sharedMemBytes,
          p.kernelParams,
          p.extra};
}

/// Calls `function` with the node's parameters as the runtime has them.
template <class Function>
CUresult with_kernel(const CUDA_KERNEL_NODE_PARAMS* parameters, Function function) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaKernelNodeParams same = as_runtime_node(*parameters);
  return function(&same);
}

static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == sizeof(cudaMemsetParams), "one is read as the other");
static_assert(sizeof(CUDA_HOST_NODE_PARAMS) == sizeof(cudaHostNodeParams), "one is read as the other");
static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData), "one is read as the other");

const auto* same(const CUDA_MEMSET_NODE_PARAMS* p) { return reinterpret_cast<const cudaMemsetParams*>(p); }
const auto* same(const CUDA_HOST_NODE_PARAMS* p) { return reinterpret_cast<const cudaHostNodeParams*>(p); }
const auto* same(const CUgraphEdgeData* data) { return reinterpret_cast<const cudaGraphEdgeData*>(data); }
auto* same(CUgraphEdgeData* data) { return reinterpret_cast<cudaGraphEdgeData*>(data); }

template <class Function>
CUresult with_copy(const CUDA_MEMCPY3D* parameters, Function function) {
  cudaMemcpy3DParms copy{};
  const CUresult error = as_runtime_copy(parameters, &copy);
  return error == CUDA_SUCCESS ? function(&copy) : error;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------- graphs

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) { return as_runtime(cudaGraphCreate, graph, flags); }
CUresult cuGraphDestroy(CUgraph graph) { return as_runtime(cudaGraphDestroy, graph); }
CUresult cuGraphClone(CUgraph* copy, CUgraph graph) { return as_runtime(cudaGraphClone, copy, graph); }
CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  return as_runtime(cudaGraphNodeFindInClone, node, original, clone);
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return as_runtime(cudaGraphGetNodes, graph, nodes, count);
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return as_runtime(cudaGraphGetRootNodes, graph, nodes, count);
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  return as_runtime(cudaGraphGetEdges, graph, from, to, same(data), count);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  return as_runtime(cudaGraphNodeGetDependencies, node, nodes, same(data), count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  return as_runtime(cudaGraphNodeGetDependentNodes, node, nodes, same(data), count);
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData* data, size_t count) {
  return as_runtime(cudaGraphAddDependencies, graph, from, to, same(data), count);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
  return as_runtime(cudaGraphRemoveDependencies, graph, from, to, same(data), count);
}
CUresult cuGraphDestroyNode(CUgraphNode node) { return as_runtime(cudaGraphDestroyNode, node); }
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return as_runtime(cudaGraphNodeGetType, node, reinterpret_cast<cudaGraphNodeType*>(type));
}

// -------------------------------------------------------------------------------------------------------------- nodes

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return as_runtime(cudaGraphAddEmptyNode, node, graph, dependencies, count);
}
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return with_kernel(parameters, [&](const cudaKernelNodeParams* p) {
    return as_runtime(cudaGraphAddKernelNode, node, graph, dependencies, count, p);
  });
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaKernelNodeParams p{};
  if (const CUresult error = as_runtime(cudaGraphKernelNodeGetParams, node, &p); error != CUDA_SUCCESS) return error;
  *parameters = {static_cast<CUfunction>(p.func),
                 p.gridDim.x,
                 p.gridDim.y,
                 p.gridDim.z,
                 p.blockDim.x,
                 p.blockDim.y,
                 p.blockDim.z,
                 p.sharedMemBytes,
                 p.kernelParams,
                 p.extra,
                 nullptr,
                 nullptr};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return with_kernel(parameters,
                     [&](const cudaKernelNodeParams* p) { return as_runtime(cudaGraphKernelNodeSetParams, node, p); });
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* parameters, CUcontext) {
  return with_copy(parameters, [&](const cudaMemcpy3DParms* p) {
    return as_runtime(cudaGraphAddMemcpyNode, node, graph, dependencies, count, p);
  });
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* parameters) {
  return with_copy(parameters,
                   [&](const cudaMemcpy3DParms* p) { return as_runtime(cudaGraphMemcpyNodeSetParams, node, p); });
}
CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext) {
  return as_runtime(cudaGraphAddMemsetNode, node, graph, dependencies, count, same(parameters));
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* parameters) {
  return as_runtime(cudaGraphMemsetNodeGetParams, node, reinterpret_cast<cudaMemsetParams*>(parameters));
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* parameters) {
  return as_runtime(cudaGraphMemsetNodeSetParams, node, same(parameters));
}
CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* parameters) {
  return as_runtime(cudaGraphAddHostNode, node, graph, dependencies, count, same(parameters));
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* parameters) {
  return as_runtime(cudaGraphHostNodeGetParams, node, reinterpret_cast<cudaHostNodeParams*>(parameters));
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* parameters) {
  return as_runtime(cudaGraphHostNodeSetParams, node, same(parameters));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  CUgraph child) {
  return as_runtime(cudaGraphAddChildGraphNode, node, graph, dependencies, count, child);
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return as_runtime(cudaGraphChildGraphNodeGetGraph, node, graph);
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                   CUevent event) {
  return as_runtime(cudaGraphAddEventRecordNode, node, graph, dependencies, count, event);
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 CUevent event) {
  return as_runtime(cudaGraphAddEventWaitNode, node, graph, dependencies, count, event);
}

// -------------------------------------------------------------------------------------------------- instantiated ones

CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  return as_runtime(cudaGraphInstantiateWithFlags, executable, graph, flags);
}
CUresult cuGraphExecGetFlags(CUgraphExec executable, cuuint64_t* flags) {
  return as_runtime(cudaGraphExecGetFlags, executable, reinterpret_cast<unsigned long long*>(flags));
}
CUresult cuGraphExecDestroy(CUgraphExec executable) { return as_runtime(cudaGraphExecDestroy, executable); }
CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
  return as_runtime(cudaGraphUpload, executable, stream);
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return as_runtime(cudaGraphLaunch, executable, stream);
}
CUresult cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  static_assert(sizeof(CUgraphExecUpdateResultInfo) == sizeof(cudaGraphExecUpdateResultInfo));
  return as_runtime(cudaGraphExecUpdate, executable, graph, reinterpret_cast<cudaGraphExecUpdateResultInfo*>(info));
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return with_kernel(parameters, [&](const cudaKernelNodeParams* p) {
    return as_runtime(cudaGraphExecKernelNodeSetParams, executable, node, p);
  });
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node, const CUDA_MEMCPY3D* parameters,
                                        CUcontext) {
  return with_copy(parameters, [&](const cudaMemcpy3DParms* p) {
    return as_runtime(cudaGraphExecMemcpyNodeSetParams, executable, node, p);
  });
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext) {
  return as_runtime(cudaGraphExecMemsetNodeSetParams, executable, node, same(parameters));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* parameters) {
  return as_runtime(cudaGraphExecHostNodeSetParams, executable, node, same(parameters));
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraph child) {
  return as_runtime(cudaGraphExecChildGraphNodeSetParams, executable, node, child);
}
CUresult cuGraphNodeSetEnabled(CUgraphExec executable, CUgraphNode node, unsigned enabled) {
  return as_runtime(cudaGraphNodeSetEnabled, executable, node, enabled);
}
CUresult cuGraphNodeGetEnabled(CUgraphExec executable, CUgraphNode node, unsigned* enabled) {
  return as_runtime(cudaGraphNodeGetEnabled, executable, node, enabled);
}

// ----------------------------------------------------------------------------------------------------------- captures

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return as_runtime(cudaStreamBeginCapture, stream, static_cast<cudaStreamCaptureMode>(mode));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) { return as_runtime(cudaStreamEndCapture, stream, graph); }

// For programs compiled with --default-stream per-thread.
SIM_PER_THREAD(cuGraphUpload, _ptsz)
SIM_PER_THREAD(cuGraphLaunch, _ptsz)
SIM_PER_THREAD(cuStreamBeginCapture_v2, _ptsz)
SIM_PER_THREAD(cuStreamEndCapture, _ptsz)
