#include "runtime/graph.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

namespace sim::runtime {
namespace {

using Nodes = std::vector<std::shared_ptr<GraphNode>>;

struct Capture {
  Nodes nodes;
  cudaStream_t origin = nullptr;
  unsigned long long id = 0;
  bool invalid = false;
  std::map<cudaStream_t, bool> joined;  ///< streams beside the origin: has another waited for their last work?
};

struct RecordedIn {
  std::shared_ptr<Capture> capture;
  cudaStream_t stream;
};

// Never destroyed, as the process is not.
std::unordered_map<cudaStream_t, std::shared_ptr<Capture>>& captures() {
  static auto& all = *new std::unordered_map<cudaStream_t, std::shared_ptr<Capture>>;
  return all;
}
std::unordered_map<cudaEvent_t, RecordedIn>& captured_events() {
  static auto& all = *new std::unordered_map<cudaEvent_t, RecordedIn>;
  return all;
}

Capture* capture_of(cudaStream_t stream) {
  const auto found = captures().find(stream);
  return found == captures().end() ? nullptr : found->second.get();
}

/// nullptr: the stream is not captured.
GraphNode* note(cudaStream_t stream, cudaGraphNodeType type) {
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return nullptr;
  if (capture->invalid) refuse(cudaErrorStreamCaptureInvalidated, "the capture of this stream was lost before.");
  if (const auto other = capture->joined.find(stream); other != capture->joined.end()) other->second = false;
  capture->nodes.push_back(std::make_shared<GraphNode>());
  capture->nodes.back()->type = type;
  return capture->nodes.back().get();
}

}  // namespace

KernelWork::KernelWork(Process& process, Kernel& of, const Launch& how) : kernel(&of), launch(how) {
  const auto& parameters = of.info(process).parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (how.arguments == nullptr || how.arguments[i] == nullptr)
      refuse(cudaErrorInvalidValue, "the pointer to argument %zu of the kernel is null.", i);
    const auto* const bytes = static_cast<const uint8_t*>(how.arguments[i]);
    values.emplace_back(bytes, bytes + parameters[i].size);
  }
  launch.arguments = nullptr;
}

std::vector<void*> KernelWork::arguments() {
  std::vector<void*> pointers;
  for (auto& value : values) pointers.push_back(value.data());
  return pointers;
}

void in_order(Process& process, cudaStream_t stream, cudaGraphNodeType type, std::function<void(Process&)> work) {
  enter_stream(process, stream);
  if (GraphNode* const node = note(stream, type))
    node->work = std::move(work);
  else
    work(process);
}

void launch_in_order(Process& process, cudaStream_t stream, Kernel& kernel, const Launch& how) {
  enter_stream(process, stream);
  if (capture_of(stream) == nullptr) return launch(process, kernel, how);
  KernelWork work(process, kernel, how);
  note(stream, cudaGraphNodeTypeKernel)->kernel = std::move(work);
}

bool capture_host_function(cudaStream_t stream, cudaHostFn_t function, void* data) {
  GraphNode* const node = note(stream, cudaGraphNodeTypeHost);
  if (node == nullptr) return false;
  node->host = function;
  node->host_data = data;
  return true;
}

bool capture_record(cudaStream_t stream, cudaEvent_t event) {
  captured_events().erase(event);
  const auto found = captures().find(stream);
  if (found == captures().end()) return false;
  captured_events()[event] = {found->second, stream};
  return true;
}

bool capture_wait(cudaStream_t stream, cudaEvent_t event) {
  const auto recorded = captured_events().find(event);
  Capture* const here = capture_of(stream);
  const bool is_captured = recorded != captured_events().end() && capture_of(recorded->second.stream) != nullptr;
  if (here == nullptr && !is_captured) return false;
  if (!is_captured)
    refuse(cudaErrorStreamCaptureIsolation, "a stream that is captured waits for an event from outside its capture.");
  const RecordedIn& from = recorded->second;
  if (here == nullptr) {
    captures()[stream] = from.capture;
    from.capture->joined[stream] = false;
  } else if (here != from.capture.get()) {
    refuse(cudaErrorStreamCaptureMerge, "the event belongs to another capture.");
  }
  if (const auto other = from.capture->joined.find(from.stream); other != from.capture->joined.end())
    other->second = true;
  return true;
}

void refuse_while_any_is_captured() {
  if (captures().empty()) return;
  for (const auto& [stream, capture] : captures()) capture->invalid = true;
  refuse(cudaErrorStreamCaptureUnsupported, "this is not possible while a stream is captured; the capture is lost.");
}

void refuse_while_captured(cudaStream_t stream) {
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return;
  capture->invalid = true;
  refuse(cudaErrorStreamCaptureUnsupported, "this is not possible while the stream is captured; the capture is lost.");
}

// ------------------------------------------------------------------------------------------------- graphs and what runs

namespace {

struct Graph {
  Nodes nodes;
};
struct Executable {
  Nodes nodes;                            ///< copies
  std::vector<const GraphNode*> origins;  ///< of the graph that they were copied from
};

template <class T>
std::unordered_map<const void*, std::unique_ptr<T>>& live() {
  static auto& all = *new std::unordered_map<const void*, std::unique_ptr<T>>;
  return all;
}
template <class T>
T& find(const void* handle, const char* kind) {
  const auto found = live<T>().find(handle);
  if (found == live<T>().end())
    refuse(cudaErrorInvalidValue, "%p is not %s, or one that has been destroyed.", handle, kind);
  return *found->second;
}
template <class Handle, class T>
Handle keep(std::unique_ptr<T> object) {
  const void* const handle = object.get();
  live<T>()[handle] = std::move(object);
  return reinterpret_cast<Handle>(const_cast<void*>(handle));
}
Graph& find_graph(cudaGraph_t graph) { return find<Graph>(graph, "a graph"); }
Executable& find_executable(cudaGraphExec_t graph) { return find<Executable>(graph, "an instantiated graph"); }

void copy_nodes(const Graph& graph, Executable& to) {
  to = {};
  for (const auto& node : graph.nodes) {
    to.nodes.push_back(std::make_shared<GraphNode>(*node));
    to.origins.push_back(node.get());
  }
}

GraphNode& find_node(cudaGraphNode_t handle) {
  for (const auto& [key, graph] : live<Graph>()) {
    for (const auto& node : graph->nodes)
      if (node.get() == reinterpret_cast<GraphNode*>(handle)) return *node;
  }
  refuse(cudaErrorInvalidValue, "%p is not a node of a graph.", static_cast<const void*>(handle));
}
GraphNode& find_kernel_node(cudaGraphNode_t handle) {
  GraphNode& node = find_node(handle);
  if (node.type != cudaGraphNodeTypeKernel) refuse(cudaErrorInvalidValue, "the node is not a kernel.");
  return node;
}

KernelWork work_of(Process& process, const cudaKernelNodeParams* given, const KernelWork& before) {
  const cudaKernelNodeParams& p = result(given, "nodeParams");
  if (p.kernelParams == nullptr && p.extra != nullptr)
    refuse(cudaErrorNotSupported, "arguments of a kernel node in one buffer (extra) are not simulated.");
  Launch how = before.launch;
  how.grid = p.gridDim, how.block = p.blockDim, how.dynamic_smem = p.sharedMemBytes, how.arguments = p.kernelParams;
  return {process, find_kernel(process, p.func), how};
}

void run(Process& process, cudaStream_t stream, GraphNode& node) {
  enter_stream(process, stream);
  if (node.type != cudaGraphNodeTypeKernel) return node.work(process);
  std::vector<void*> arguments = node.kernel.arguments();
  Launch how = node.kernel.launch;
  how.arguments = arguments.data();
  launch(process, *node.kernel.kernel, how);
}

cudaStreamCaptureStatus status_of(const Capture* capture) {
  return capture == nullptr ? cudaStreamCaptureStatusNone
         : capture->invalid ? cudaStreamCaptureStatusInvalidated
                            : cudaStreamCaptureStatusActive;
}

unsigned long long next_capture = 1;

}  // namespace
}  // namespace sim::runtime

using namespace sim;
using namespace sim::runtime;

// ------------------------------------------------------------------------------------------------------------- captures

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return call("cudaStreamBeginCapture", [&](Process&) {
    find_stream(stream);
    if (stream == nullptr || stream == cudaStreamLegacy)
      refuse(cudaErrorStreamCaptureUnsupported, "the legacy default stream cannot be captured: create a stream.");
    if (capture_of(stream) != nullptr) refuse(cudaErrorIllegalState, "the stream is captured already.");
    auto capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->id = next_capture++;
    captures()[stream] = std::move(capture);
  });
}
SIM_PER_THREAD(cudaStreamBeginCapture, _ptsz)

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&](Process&) {
    cudaGraph_t& answer = result(graph, "pGraph");
    answer = nullptr;
    const auto found = captures().find(stream);
    if (found == captures().end()) refuse(cudaErrorIllegalState, "the stream is not captured.");
    const std::shared_ptr<Capture> capture = found->second;
    if (capture->origin != stream)
      refuse(cudaErrorStreamCaptureUnmatched, "a capture ends in the stream in which it began.");
    std::erase_if(captures(), [&](const auto& each) { return each.second == capture; });
    std::erase_if(captured_events(), [&](const auto& each) { return each.second.capture == capture; });
    if (capture->invalid) refuse(cudaErrorStreamCaptureInvalidated, "the capture was lost before its end.");
    for (const auto& [other, joined] : capture->joined) {
      if (!joined)
        refuse(cudaErrorStreamCaptureUnjoined,
               "another stream takes part in the capture, and the one in which it began "
               "has not waited for its last work (cudaEventRecord, cudaStreamWaitEvent).");
    }
    auto made = std::make_unique<Graph>();
    made->nodes = std::move(capture->nodes);
    answer = keep<cudaGraph_t>(std::move(made));
  });
}
SIM_PER_THREAD(cudaStreamEndCapture, _ptsz)

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call("cudaStreamIsCapturing", [&](Process&) {
    find_stream(stream);
    result(status, "pCaptureStatus") = status_of(capture_of(stream));
  });
}
SIM_PER_THREAD(cudaStreamIsCapturing, _ptsz)

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return call("cudaStreamGetCaptureInfo", [&](Process&) {
    find_stream(stream);
    const Capture* const capture = capture_of(stream);
    result(status, "captureStatus_out") = status_of(capture);
    if (id != nullptr) *id = capture == nullptr ? 0 : capture->id;
    const bool asks = graph != nullptr || dependencies != nullptr || edges != nullptr || count != nullptr;
    if (capture != nullptr && asks)
      refuse(cudaErrorNotSupported, "the nodes of a graph can be asked for when its capture has ended.");
    if (graph != nullptr) *graph = nullptr;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = 0;
  });
}
SIM_PER_THREAD(cudaStreamGetCaptureInfo, _ptsz)

// --------------------------------------------------------------------------------------------------------------- graphs

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&](Process&) {
    find_graph(graph);
    live<Graph>().erase(graph);
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return call("cudaGraphGetNodes", [&](Process&) {
    const Nodes& all = find_graph(graph).nodes;
    size_t& room = result(count, "numNodes");
    if (nodes != nullptr) {
      for (size_t i = 0; i < room; ++i)
        nodes[i] = i < all.size() ? reinterpret_cast<cudaGraphNode_t>(all[i].get()) : nullptr;
    }
    room = nodes == nullptr ? all.size() : std::min(room, all.size());
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return call("cudaGraphNodeGetType", [&](Process&) { result(type, "pType") = find_node(node).type; });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return call("cudaGraphKernelNodeGetParams", [&](Process&) {
    KernelWork& work = find_kernel_node(node).kernel;
    // The pointers stay valid as long as the node, as CUDA promises.
    static auto& lists = *new std::unordered_map<const void*, std::vector<void*>>;
    std::vector<void*>& pointers = lists[node] = work.arguments();
    result(parameters, "pNodeParams") = {};
    parameters->func = work.kernel;
    parameters->gridDim = work.launch.grid;
    parameters->blockDim = work.launch.block;
    parameters->sharedMemBytes = static_cast<unsigned>(work.launch.dynamic_smem);
    parameters->kernelParams = pointers.data();
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  return call("cudaGraphKernelNodeSetParams", [&](Process& process) {
    KernelWork& work = find_kernel_node(node).kernel;
    work = work_of(process, parameters, work);
  });
}

// ---------------------------------------------------------------------------------------------------- instantiated ones

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return call("cudaGraphInstantiate", [&](Process&) {
    auto made = std::make_unique<Executable>();
    copy_nodes(find_graph(graph), *made);
    result(executable, "pGraphExec") = keep<cudaGraphExec_t>(std::move(made));
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call("cudaGraphExecDestroy", [&](Process&) {
    find_executable(executable);
    live<Executable>().erase(executable);
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return call("cudaGraphExecKernelNodeSetParams", [&](Process& process) {
    Executable& graph = find_executable(executable);
    const auto at = std::find(graph.origins.begin(), graph.origins.end(), reinterpret_cast<GraphNode*>(node));
    if (at == graph.origins.end()) refuse(cudaErrorInvalidValue, "the instantiated graph has no such node.");
    const auto index = static_cast<size_t>(at - graph.origins.begin());
    if (graph.nodes[index]->type != cudaGraphNodeTypeKernel) refuse(cudaErrorInvalidValue, "the node is not a kernel.");
    // A launch that is under way keeps its nodes.
    auto changed = std::make_shared<GraphNode>(*graph.nodes[index]);
    changed->kernel = work_of(process, parameters, changed->kernel);
    graph.nodes[index] = std::move(changed);
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  return call("cudaGraphExecUpdate", [&](Process&) {
    Executable& old = find_executable(executable);
    const Graph& fresh = find_graph(graph);
    result(info, "resultInfo") = {};
    const bool same = std::equal(old.nodes.begin(), old.nodes.end(), fresh.nodes.begin(), fresh.nodes.end(),
                                 [](const auto& a, const auto& b) { return a->type == b->type; });
    info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    if (!same) refuse(cudaErrorGraphExecUpdateFailure, "the graph has other nodes than the one that was instantiated.");
    copy_nodes(fresh, old);
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return call("cudaGraphUpload", [&](Process&) {
    find_stream(stream);
    find_executable(executable);
  });
}
SIM_PER_THREAD(cudaGraphUpload, _ptsz)

// Each node has a frame of its own: host functions may call the API.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  Nodes nodes;
  cudaError_t error = call("cudaGraphLaunch", [&](Process&) {
    find_stream(stream);
    nodes = find_executable(executable).nodes;
    if (Capture* const capture = capture_of(stream)) {  // a graph within a graph: its nodes
      for (const auto& node : nodes) {
        GraphNode* const copy = note(capture->origin, node->type);
        *copy = *node;
      }
      nodes.clear();
    }
  });
  for (const auto& node : nodes) {
    if (error != cudaSuccess) break;
    if (node->host != nullptr)
      node->host(node->host_data);
    else
      error = call("cudaGraphLaunch", [&](Process& process) { run(process, stream, *node); });
  }
  return error;
}
SIM_PER_THREAD(cudaGraphLaunch, _ptsz)
