// Instantiated graphs: copies that are launched, and changed without building them again.
#include <algorithm>
#include <unordered_map>

#include "runtime/capture.h"
#include "runtime/graph_nodes.h"

using namespace sim;
using namespace sim::runtime;

namespace {

struct Executable {
  std::shared_ptr<Graph> graph;
  unsigned long long flags = 0;
  uint64_t number = 0;
};

/// For the order checker each chain of nodes is a stream of its own, distinct from the program's streams.
order::StreamName stream_of(uint64_t executable, const Step& step) {
  return {(uint64_t{1} << 63) + (executable << 32) + step.lane, false};
}

// Never destroyed, like Process.
std::unordered_map<const void*, std::unique_ptr<Executable>>& live() {
  static auto& all = *new std::unordered_map<const void*, std::unique_ptr<Executable>>;
  return all;
}
Executable& find_executable(cudaGraphExec_t handle) {
  const auto found = live().find(handle);
  if (found == live().end())
    refuse(cudaErrorInvalidValue, "%p is not an instantiated graph, or it has been destroyed.",
           static_cast<const void*>(handle));
  return *found->second;
}

cudaGraphExec_t instantiate(Process& process, Graph& graph, unsigned long long flags) {
  constexpr unsigned long long kKnown = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                        cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;
  if ((flags & ~kKnown) != 0) refuse(cudaErrorInvalidValue, "the flags 0x%llx are unknown.", flags);
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0)
    refuse(cudaErrorNotSupported, "graphs that the device launches are not simulated.");
  auto made = std::make_unique<Executable>();
  made->graph = graph.clone();
  made->graph->is_owned = true;
  made->flags = flags;
  static uint64_t next_number = 0;
  made->number = next_number++;
  steps_of(process, *made->graph);  // refuses cycles
  const void* const handle = made.get();
  live()[handle] = std::move(made);
  return reinterpret_cast<cudaGraphExec_t>(const_cast<void*>(handle));
}

cudaError_t run_body(Graph& body, const order::StreamName& stream);

/// Executes the bodies that the condition selects, node by node in one stream.
cudaError_t decide(const GraphNode& node, const order::StreamName& stream) {
  const auto& [condition, type, bodies, handles] = node.conditional;
  while (true) {
    unsigned value = 0;
    cudaError_t error = call("cudaGraphLaunch", [&](Process& process) { value = condition->value(process); });
    const size_t chosen = type == cudaGraphCondTypeSwitch ? value : value != 0 ? 0 : 1;
    if (error != cudaSuccess || chosen >= bodies.size()) return error;
    error = run_body(*bodies[chosen], stream);
    if (error != cudaSuccess || type != cudaGraphCondTypeWhile) return error;
  }
}

cudaError_t run_body(Graph& body, const order::StreamName& stream) {
  std::vector<Step> steps;
  cudaError_t error = call("cudaGraphLaunch", [&](Process& process) { steps = steps_of(process, body); });
  for (size_t i = 0; i < steps.size() && error == cudaSuccess; ++i) {
    GraphNode& node = *steps[i].node;
    if (node.type == cudaGraphNodeTypeHost) {
      node.host.fn(node.host.userData);
    } else if (node.type == cudaGraphNodeTypeConditional) {
      error = decide(node, stream);
    } else if (node.enabled) {
      error = call("cudaGraphLaunch", [&](Process& process) {
        process.work = {stream, false};
        execute(process, node);
      });
    }
  }
  return error;
}

/// Changes the copy of `node` in the executable.
template <class Change>
cudaError_t change(const char* name, cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type,
                   Change with) {
  return call(name, [&](Process& process) {
    Graph& graph = *find_executable(executable).graph;
    GraphNode* const copy = graph.copy_of(find_node(node, type));
    if (copy == nullptr) refuse(cudaErrorInvalidValue, "the instantiated graph has no copy of this node.");
    with(process, *copy);
  });
}

/// The first node of `fresh` whose type or dependencies differ from its counterpart's.
const GraphNode* difference(const Graph& old, const Graph& fresh, cudaGraphExecUpdateResult* why) {
  const auto index_of = [](const Graph& graph, const GraphNode* node) {
    const auto at =
        std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](auto& each) { return each.get() == node; });
    return at - graph.nodes.begin();
  };
  for (size_t i = 0; i < fresh.nodes.size(); ++i) {
    const GraphNode& node = *fresh.nodes[i];
    *why = cudaGraphExecUpdateErrorTopologyChanged;
    if (i >= old.nodes.size()) return &node;
    const GraphNode& before = *old.nodes[i];
    if (!std::equal(node.dependencies.begin(), node.dependencies.end(), before.dependencies.begin(),
                    before.dependencies.end(),
                    [&](const auto& a, const auto& b) { return index_of(fresh, a.on) == index_of(old, b.on); }))
      return &node;
    *why = cudaGraphExecUpdateErrorNodeTypeChanged;
    if (node.type != before.type) return &node;
    if (node.child == nullptr) continue;
    *why = cudaGraphExecUpdateErrorTopologyChanged;
    if (node.child->nodes.size() != before.child->nodes.size()) return &node;
    if (const GraphNode* const inside = difference(*before.child, *node.child, why)) return inside;
  }
  return nullptr;
}

}  // namespace

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return call("cudaGraphInstantiate", [&](Process& process) {
    cudaGraphExec_t& answer = result(executable, "pGraphExec");
    answer = instantiate(process, find_graph(graph), flags);
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  return call("cudaGraphInstantiateWithParams", [&](Process& process) {
    cudaGraphExec_t& answer = result(executable, "pGraphExec");
    cudaGraphInstantiateParams& p = result(parameters, "instantiateParams");
    p.errNode_out = nullptr;
    p.result_out = cudaGraphInstantiateError;
    answer = instantiate(process, find_graph(graph), p.flags);
    p.result_out = cudaGraphInstantiateSuccess;
  });
}
SIM_PER_THREAD(cudaGraphInstantiateWithParams, _ptsz)

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  return call("cudaGraphExecGetFlags", [&](Process&) { result(flags, "flags") = find_executable(executable).flags; });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call("cudaGraphExecDestroy", [&](Process&) {
    find_executable(executable);
    live().erase(executable);
  });
}

// ------------------------------------------------------------------------------------------------------------- changes

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return change("cudaGraphExecKernelNodeSetParams", executable, node, cudaGraphNodeTypeKernel,
                [&](Process& process, GraphNode& copy) { set_kernel(process, copy, parameters); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return change("cudaGraphExecMemcpyNodeSetParams", executable, node, cudaGraphNodeTypeMemcpy,
                [&](Process&, GraphNode& copy) { copy.copy = result(parameters, "pNodeParams"); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind kind) {
  return change("cudaGraphExecMemcpyNodeSetParams1D", executable, node, cudaGraphNodeTypeMemcpy,
                [&](Process&, GraphNode& copy) { copy.copy = copy_of(to, from, bytes, kind); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                     const void* symbol, const void* from, size_t bytes, size_t offset,
                                                     cudaMemcpyKind kind) {
  return change("cudaGraphExecMemcpyNodeSetParamsToSymbol", executable, node, cudaGraphNodeTypeMemcpy,
                [&](Process& process, GraphNode& copy) {
                  copy.copy = copy_to_symbol(process, symbol, from, bytes, offset, kind);
                });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t executable, cudaGraphNode_t node, void* to,
                                                       const void* symbol, size_t bytes, size_t offset,
                                                       cudaMemcpyKind kind) {
  return change("cudaGraphExecMemcpyNodeSetParamsFromSymbol", executable, node, cudaGraphNodeTypeMemcpy,
                [&](Process& process, GraphNode& copy) {
                  copy.copy = copy_from_symbol(process, to, symbol, bytes, offset, kind);
                });
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  return change("cudaGraphExecMemsetNodeSetParams", executable, node, cudaGraphNodeTypeMemset,
                [&](Process&, GraphNode& copy) { set_fill(copy, result(parameters, "pNodeParams")); });
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams* parameters) {
  return change("cudaGraphExecHostNodeSetParams", executable, node, cudaGraphNodeTypeHost,
                [&](Process&, GraphNode& copy) { set_host(copy, result(parameters, "pNodeParams")); });
}
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child) {
  return change(
      "cudaGraphExecChildGraphNodeSetParams", executable, node, cudaGraphNodeTypeGraph, [&](Process&, GraphNode& copy) {
        Graph& fresh = find_graph(child);
        cudaGraphExecUpdateResult why{};
        if (fresh.nodes.size() != copy.child->nodes.size() || difference(*copy.child, fresh, &why) != nullptr)
          refuse(cudaErrorInvalidValue, "nodes or dependencies of the graph differ from those of the node's graph.");
        set_child(copy, fresh);
      });
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event) {
  return change("cudaGraphExecEventRecordNodeSetEvent", executable, node, cudaGraphNodeTypeEventRecord,
                [&](Process&, GraphNode& copy) { set_event(copy, event); });
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event) {
  return change("cudaGraphExecEventWaitNodeSetEvent", executable, node, cudaGraphNodeTypeWaitEvent,
                [&](Process&, GraphNode& copy) { set_event(copy, event); });
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change("cudaGraphExecNodeSetParams", executable, node, parameters->type,
                [&](Process& process, GraphNode& copy) { set_content(process, copy, *parameters); });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned enabled) {
  return call("cudaGraphNodeSetEnabled", [&](Process&) {
    GraphNode* const copy = find_executable(executable).graph->copy_of(find_node(node));
    if (copy == nullptr) refuse(cudaErrorInvalidValue, "the instantiated graph has no copy of this node.");
    if (copy->type != cudaGraphNodeTypeKernel && copy->type != cudaGraphNodeTypeMemcpy &&
        copy->type != cudaGraphNodeTypeMemset)
      refuse(cudaErrorInvalidValue, "only kernels, copies and fills can be disabled.");
    copy->enabled = enabled != 0;
  });
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned* enabled) {
  return call("cudaGraphNodeGetEnabled", [&](Process&) {
    const GraphNode* const copy = find_executable(executable).graph->copy_of(find_node(node));
    if (copy == nullptr) refuse(cudaErrorInvalidValue, "the instantiated graph has no copy of this node.");
    result(enabled, "isEnabled") = copy->enabled;
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  return call("cudaGraphExecUpdate", [&](Process&) {
    Executable& old = find_executable(executable);
    Graph& fresh = find_graph(graph);
    cudaGraphExecUpdateResultInfo& answer = result(info, "resultInfo");
    answer = {};
    answer.result = cudaGraphExecUpdateErrorTopologyChanged;
    if (old.graph->nodes.size() != fresh.nodes.size())
      refuse(cudaErrorGraphExecUpdateFailure, "the graph has %zu nodes, but the instantiated one has %zu.",
             fresh.nodes.size(), old.graph->nodes.size());
    if (const GraphNode* const other = difference(*old.graph, fresh, &answer.result)) {
      answer.errorNode = handle_of(const_cast<GraphNode&>(*other));
      refuse(cudaErrorGraphExecUpdateFailure,
             "type or dependencies of a node differ from those in the instantiated graph.");
    }
    answer.result = cudaGraphExecUpdateSuccess;
    std::shared_ptr<Graph> copy = fresh.clone();
    copy->is_owned = true;
    // The program refers to nodes of the graph from which this one was first instantiated.
    for (size_t i = 0; i < copy->nodes.size(); ++i) {
      copy->nodes[i]->origin = old.graph->nodes[i]->origin;
      copy->nodes[i]->enabled = old.graph->nodes[i]->enabled;
    }
    old.graph = std::move(copy);
  });
}

// ------------------------------------------------------------------------------------------------------------ launches

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return call("cudaGraphUpload", [&](Process&) {
    find_stream(stream);
    find_executable(executable);
  });
}
SIM_PER_THREAD(cudaGraphUpload, _ptsz)

// Each node has a frame of its own, since host functions may call the API. If they change the graph, that affects only
// its next launch: this one works on a copy.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  std::vector<Step> steps;
  uint64_t number = 0;
  std::shared_ptr<Graph> graph;
  std::vector<HostOrder::Event> ended;  // by step
  HostOrder::Event before;
  cudaError_t error = call("cudaGraphLaunch", [&](Process& process) {
    find_stream(stream);
    const Executable& launched = find_executable(executable);
    if (capture_graph(stream, *launched.graph)) return;
    graph = launched.graph->clone();
    number = launched.number;
    start_conditions(*graph);
    steps = steps_of(process, *graph);
    before = process.order().record(name_of(stream));
  });
  for (size_t i = 0; i < steps.size() && error == cudaSuccess; ++i) {
    GraphNode& node = *steps[i].node;
    const bool is_host = node.type == cudaGraphNodeTypeHost;
    error = call("cudaGraphLaunch", [&](Process& process) {
      process.work = {stream_of(number, steps[i]), false};
      HostOrder& order = process.order();
      if (i > 0) ended.push_back(order.record(stream_of(number, steps[i - 1])));
      order.wait_for(process.work.stream, before);
      for (const size_t each : steps[i].after) order.wait_for(process.work.stream, ended[each]);
      if (is_host) order.wait_for(order.record(process.work.stream));
      if (node.enabled && !is_host) execute(process, node);
    });
    if (error == cudaSuccess && is_host) node.host.fn(node.host.userData);
    if (error == cudaSuccess && node.type == cudaGraphNodeTypeConditional)
      error = decide(node, stream_of(number, steps[i]));
  }
  if (error != cudaSuccess || steps.empty()) return error;
  return call("cudaGraphLaunch", [&](Process& process) {
    HostOrder& order = process.order();
    for (const Step& step : steps) order.wait_for(name_of(stream), order.record(stream_of(number, step)));
  });
}
SIM_PER_THREAD(cudaGraphLaunch, _ptsz)
