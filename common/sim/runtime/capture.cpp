#include "runtime/capture.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sim::runtime {
namespace {

using Dependency = GraphNode::Dependency;

struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  bool is_programs = false;  ///< nodes are added to a graph of the program
  cudaStream_t origin = nullptr;
  unsigned long long id = 0;
  bool invalid = false;
  std::map<cudaStream_t, std::vector<Dependency>> last;  ///< by stream: dependencies of its next node
  std::map<cudaStream_t, bool>
      joined;  ///< streams other than the origin: whether another has waited for their last work
};

struct RecordedIn {
  std::shared_ptr<Capture> capture;
  cudaStream_t stream;
  std::vector<Dependency> nodes;
};

// Never destroyed, like Process.
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
Capture& require_capture(cudaStream_t stream) {
  find_stream(stream);
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) refuse(cudaErrorIllegalState, "the stream is not captured.");
  if (capture->invalid)
    refuse(cudaErrorStreamCaptureInvalidated, "the capture of this stream has been invalidated by an earlier call.");
  return *capture;
}

void add_missing(std::vector<Dependency>& to, const std::vector<Dependency>& more) {
  for (const Dependency& each : more) {
    const auto is_same = [&](const Dependency& known) { return known.on == each.on; };
    if (std::none_of(to.begin(), to.end(), is_same)) to.push_back(each);
  }
}

/// nullptr: the stream is not captured.
GraphNode* note(cudaStream_t stream, cudaGraphNodeType type) {
  if (capture_of(stream) == nullptr) return nullptr;
  Capture& capture = require_capture(stream);
  if (const auto other = capture.joined.find(stream); other != capture.joined.end()) other->second = false;
  GraphNode& node = capture.graph->add(type);
  node.dependencies = std::exchange(capture.last[stream], {{&node, {}}});
  return &node;
}

cudaStreamCaptureStatus status_of(const Capture* capture) {
  return capture == nullptr ? cudaStreamCaptureStatusNone
         : capture->invalid ? cudaStreamCaptureStatusInvalidated
                            : cudaStreamCaptureStatusActive;
}

std::vector<Dependency> dependencies_of(const Capture& capture, const cudaGraphNode_t* nodes,
                                        const cudaGraphEdgeData* data, size_t count) {
  std::vector<Dependency> list;
  if (count > 0) require_pointer(nodes, "dependencies");
  for (size_t i = 0; i < count; ++i) {
    GraphNode& node = find_node(nodes[i]);
    if (node.graph != capture.graph.get()) refuse(cudaErrorInvalidValue, "node %zu is not of the captured graph.", i);
    list.push_back({&node, data != nullptr ? data[i] : cudaGraphEdgeData{}});
  }
  return list;
}

unsigned long long next_capture = 1;

void begin(cudaStream_t stream, std::shared_ptr<Graph> graph, const cudaGraphNode_t* dependencies,
           const cudaGraphEdgeData* data, size_t count) {
  find_stream(stream);
  if (stream == nullptr || stream == cudaStreamLegacy)
    refuse(cudaErrorStreamCaptureUnsupported, "the legacy default stream cannot be captured: create a stream.");
  if (capture_of(stream) != nullptr) refuse(cudaErrorIllegalState, "the stream is captured already.");
  auto capture = std::make_shared<Capture>();
  if (graph != nullptr) {
    capture->graph = std::move(graph);
    capture->is_programs = true;
  }
  capture->origin = stream;
  capture->id = next_capture++;
  capture->last[stream] = dependencies_of(*capture, dependencies, data, count);
  captures()[stream] = std::move(capture);
}

}  // namespace

void in_order(Process& process, cudaStream_t stream, const cudaMemcpy3DParms& what) {
  enter_stream(process, stream);
  if (GraphNode* const node = note(stream, cudaGraphNodeTypeMemcpy))
    node->copy = what;
  else
    copy(process, what);
}

void in_order(Process& process, cudaStream_t stream, const FillCopy& what) {
  enter_stream(process, stream);
  if (GraphNode* const node = note(stream, cudaGraphNodeTypeMemset))
    node->fill = what;
  else
    fill(process, what);
}

void launch_in_order(Process& process, cudaStream_t stream, Kernel& kernel, const LaunchRequest& how) {
  enter_stream(process, stream);
  if (capture_of(stream) == nullptr) return launch(process, kernel, how);
  KernelWork work(process, kernel, how);
  note(stream, cudaGraphNodeTypeKernel)->kernel = std::move(work);
}

bool capture_host_function(cudaStream_t stream, cudaHostFn_t function, void* data) {
  GraphNode* const node = note(stream, cudaGraphNodeTypeHost);
  if (node == nullptr) return false;
  node->host = {function, data};
  return true;
}

bool capture_graph(cudaStream_t stream, Graph& graph) {
  GraphNode* const node = note(stream, cudaGraphNodeTypeGraph);
  if (node == nullptr) return false;
  node->child = graph.clone();
  node->child->is_owned = true;
  return true;
}

bool capture_record(cudaStream_t stream, cudaEvent_t event) {
  captured_events().erase(event);
  const auto found = captures().find(stream);
  if (found == captures().end()) return false;
  captured_events()[event] = {found->second, stream, found->second->last[stream]};
  return true;
}

bool capture_wait(cudaStream_t stream, cudaEvent_t event) {
  const auto recorded = captured_events().find(event);
  Capture* const here = capture_of(stream);
  const bool is_captured = recorded != captured_events().end() && capture_of(recorded->second.stream) != nullptr;
  if (here == nullptr && !is_captured) return false;
  if (!is_captured)
    refuse(cudaErrorStreamCaptureIsolation, "a captured stream cannot wait for an event from outside its capture.");
  const RecordedIn& from = recorded->second;
  if (here == nullptr) {
    captures()[stream] = from.capture;
    from.capture->joined[stream] = false;
  } else if (here != from.capture.get()) {
    refuse(cudaErrorStreamCaptureMerge, "the event belongs to another capture.");
  }
  add_missing(from.capture->last[stream], from.nodes);
  if (const auto other = from.capture->joined.find(from.stream); other != from.capture->joined.end())
    other->second = true;
  return true;
}

void refuse_while_any_is_captured() {
  if (captures().empty()) return;
  for (const auto& [stream, capture] : captures()) capture->invalid = true;
  refuse(cudaErrorStreamCaptureUnsupported,
         "this is not possible while a stream is captured; the capture is now invalid.");
}

void refuse_while_captured(cudaStream_t stream, const char* why) {
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return;
  capture->invalid = true;
  refuse(cudaErrorStreamCaptureUnsupported, "%s; the capture is now invalid.", why);
}

}  // namespace sim::runtime

using namespace sim;
using namespace sim::runtime;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return call("cudaStreamBeginCapture", [&](Process&) { begin(stream, nullptr, nullptr, nullptr, 0); });
}
SIM_PER_THREAD(cudaStreamBeginCapture, _ptsz)

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* data, size_t count, cudaStreamCaptureMode) {
  return call("cudaStreamBeginCaptureToGraph",
              [&](Process&) { begin(stream, find_graph(graph).shared_from_this(), dependencies, data, count); });
}
SIM_PER_THREAD(cudaStreamBeginCaptureToGraph, _ptsz)

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&](Process&) {
    if (graph != nullptr) *graph = nullptr;
    const auto found = captures().find(stream);
    if (found == captures().end()) refuse(cudaErrorIllegalState, "the stream is not captured.");
    const std::shared_ptr<Capture> capture = found->second;
    if (!capture->is_programs) require_pointer(graph, "pGraph");  // otherwise the program already has the graph
    if (capture->origin != stream)
      refuse(cudaErrorStreamCaptureUnmatched, "a capture must end in the stream in which it began.");
    std::erase_if(captures(), [&](const auto& each) { return each.second == capture; });
    std::erase_if(captured_events(), [&](const auto& each) { return each.second.capture == capture; });
    if (capture->invalid) refuse(cudaErrorStreamCaptureInvalidated, "the capture was invalidated by an earlier call.");
    for (const auto& [other, joined] : capture->joined) {
      if (!joined)
        refuse(cudaErrorStreamCaptureUnjoined,
               "another stream takes part in the capture, and the stream in which the capture "
               "began has not waited for its last work (cudaEventRecord, cudaStreamWaitEvent).");
    }
    if (graph != nullptr) *graph = capture->is_programs ? handle_of(*capture->graph) : keep(capture->graph);
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
  // The arrays stay valid until the next call.
  static auto& nodes = *new std::vector<cudaGraphNode_t>;
  static auto& data = *new std::vector<cudaGraphEdgeData>;
  return call("cudaStreamGetCaptureInfo", [&](Process&) {
    find_stream(stream);
    Capture* const capture = capture_of(stream);
    result(status, "captureStatus_out") = status_of(capture);
    if (capture == nullptr || capture->invalid) return;
    nodes.clear(), data.clear();
    for (const Dependency& each : capture->last[stream]) {
      nodes.push_back(handle_of(*each.on));
      data.push_back(each.data);
    }
    if (id != nullptr) *id = capture->id;
    if (graph != nullptr) *graph = handle_of(*capture->graph);
    if (dependencies != nullptr) *dependencies = nodes.data();
    if (edges != nullptr) *edges = data.data();
    if (count != nullptr) *count = nodes.size();
  });
}
SIM_PER_THREAD(cudaStreamGetCaptureInfo, _ptsz)

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* data, size_t count, unsigned flags) {
  return call("cudaStreamUpdateCaptureDependencies", [&](Process&) {
    Capture& capture = require_capture(stream);
    if (flags > cudaStreamSetCaptureDependencies) refuse(cudaErrorInvalidValue, "the flags 0x%x are unknown.", flags);
    const std::vector<Dependency> given = dependencies_of(capture, dependencies, data, count);
    if (flags == cudaStreamSetCaptureDependencies) capture.last[stream].clear();
    add_missing(capture.last[stream], given);
  });
}
SIM_PER_THREAD(cudaStreamUpdateCaptureDependencies, _ptsz)
