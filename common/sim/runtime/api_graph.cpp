// Graphs as programs build them: nodes, their dependencies, and their parameters.
#include <algorithm>
#include <fstream>
#include <map>
#include <unordered_map>

#include "runtime/graph.h"
#include "runtime/graph_nodes.h"
#include "runtime/streams.h"

using namespace sim;
using namespace sim::runtime;

namespace {

using Dependency = GraphNode::Dependency;

Dependency dependency_on(cudaGraphNode_t handle, const Graph& graph, const cudaGraphEdgeData* data, size_t index) {
  GraphNode& node = find_node(handle);
  if (node.graph != &graph) refuse(cudaErrorInvalidValue, "dependency %zu is a node of another graph.", index);
  return {&node, data != nullptr ? data[index] : cudaGraphEdgeData{}};
}

/// Adds a node with the content that `make` sets; if `make` refuses, no node is added.
template <class Make>
void add_node(cudaGraphNode_t* answer, cudaGraph_t handle, const cudaGraphNode_t* dependencies,
              const cudaGraphEdgeData* data, size_t count, cudaGraphNodeType type, Make make) {
  cudaGraphNode_t& made = result(answer, "pGraphNode");
  Graph& graph = find_graph(handle);
  if (count > 0) require_pointer(dependencies, "pDependencies");
  std::vector<Dependency> waits_for;
  for (size_t i = 0; i < count; ++i) waits_for.push_back(dependency_on(dependencies[i], graph, data, i));
  GraphNode content;
  content.type = type;
  make(content);
  GraphNode& node = graph.add(type);
  content.graph = &graph;
  content.dependencies = std::move(waits_for);
  node = std::move(content);
  made = handle_of(node);
}

template <class Make>
cudaError_t add_call(const char* name, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                     size_t count, cudaGraphNodeType type, Make make) {
  return call(name, [&](Process& process) {
    add_node(node, graph, dependencies, nullptr, count, type, [&](GraphNode& content) { make(process, content); });
  });
}

/// Fills the program's arrays as far as they reach, and sets the count: the number of dependencies if there are no
/// arrays.
void list(const std::vector<Dependency>& all, cudaGraphNode_t* nodes, cudaGraphEdgeData* data, size_t* count) {
  size_t& room = result(count, "the number of nodes");
  for (size_t i = 0; nodes != nullptr && i < room; ++i) {
    nodes[i] = i < all.size() ? handle_of(*all[i].on) : nullptr;
    if (data != nullptr) data[i] = i < all.size() ? all[i].data : cudaGraphEdgeData{};
  }
  room = nodes == nullptr ? all.size() : std::min(room, all.size());
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------- graphs

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return call("cudaGraphCreate", [&](Process&) {
    cudaGraph_t& answer = result(graph, "pGraph");
    if (flags != 0) refuse(cudaErrorInvalidValue, "flags must be 0, not %u.", flags);
    answer = keep(std::make_shared<Graph>());
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&](Process&) { forget(find_graph(graph)); });
}

cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  return call("cudaGraphClone", [&](Process&) {
    cudaGraph_t& answer = result(copy, "pGraphClone");
    answer = keep(find_graph(graph).clone());
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  return call("cudaGraphNodeFindInClone", [&](Process&) {
    GraphNode* const found = find_graph(clone).copy_of(find_node(original));
    if (found == nullptr || found == &find_node(original))
      refuse(cudaErrorInvalidValue, "the graph has no copy of this node.");
    result(node, "pNode") = handle_of(*found);
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return call("cudaGraphGetNodes", [&](Process&) {
    std::vector<Dependency> all;
    for (const auto& node : find_graph(graph).nodes) all.push_back({node.get(), {}});
    list(all, nodes, nullptr, count);
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return call("cudaGraphGetRootNodes", [&](Process&) {
    std::vector<Dependency> roots;
    for (const auto& node : find_graph(graph).nodes) {
      if (node->dependencies.empty()) roots.push_back({node.get(), {}});
    }
    list(roots, nodes, nullptr, count);
  });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
                              size_t* count) {
  return call("cudaGraphGetEdges", [&](Process&) {
    std::vector<Dependency> sources, targets;
    for (const auto& node : find_graph(graph).nodes) {
      for (const Dependency& each : node->dependencies) {
        sources.push_back(each);
        targets.push_back({node.get(), {}});
      }
    }
    if ((from == nullptr) != (to == nullptr))
      refuse(cudaErrorInvalidValue, "from and to must both be arrays, or both be null.");
    size_t room = result(count, "numEdges");
    list(sources, from, data, &room);
    list(targets, to, nullptr, count);
  });
}

// ------------------------------------------------------------------------------------------------------- dependencies

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies, cudaGraphEdgeData* data,
                                         size_t* count) {
  return call("cudaGraphNodeGetDependencies",
              [&](Process&) { list(find_node(node).dependencies, dependencies, data, count); });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t* dependents, cudaGraphEdgeData* data,
                                           size_t* count) {
  return call("cudaGraphNodeGetDependentNodes", [&](Process&) {
    const GraphNode& node = find_node(handle);
    std::vector<Dependency> found;
    for (const auto& other : node.graph->nodes) {
      for (const Dependency& each : other->dependencies) {
        if (each.on == &node) found.push_back({other.get(), each.data});
      }
    }
    list(found, dependents, data, count);
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* data, size_t count) {
  return call("cudaGraphAddDependencies", [&](Process&) {
    const Graph& within = find_graph(graph);
    if (count > 0) require_pointer(from, "from"), require_pointer(to, "to");
    for (size_t i = 0; i < count; ++i) {
      GraphNode& target = *dependency_on(to[i], within, nullptr, i).on;
      const Dependency fresh = dependency_on(from[i], within, data, i);
      for (const Dependency& known : target.dependencies) {
        if (known.on == fresh.on) refuse(cudaErrorInvalidValue, "dependency %zu exists already.", i);
      }
      if (fresh.on == &target) refuse(cudaErrorInvalidValue, "dependency %zu is of a node on itself.", i);
      target.dependencies.push_back(fresh);
    }
  });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData*, size_t count) {
  return call("cudaGraphRemoveDependencies", [&](Process&) {
    const Graph& within = find_graph(graph);
    if (count > 0) require_pointer(from, "from"), require_pointer(to, "to");
    for (size_t i = 0; i < count; ++i) {
      GraphNode& target = *dependency_on(to[i], within, nullptr, i).on;
      const GraphNode* const source = dependency_on(from[i], within, nullptr, i).on;
      if (std::erase_if(target.dependencies, [&](const Dependency& each) { return each.on == source; }) == 0)
        refuse(cudaErrorInvalidValue, "there is no dependency %zu to remove.", i);
    }
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return call("cudaGraphDestroyNode", [&](Process&) {
    GraphNode& node = find_node(handle);
    node.graph->remove(node);
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return call("cudaGraphNodeGetType", [&](Process&) { result(type, "pType") = find_node(node).type; });
}

// -------------------------------------------------------------------------------------------------------------- nodes

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  size_t count) {
  return add_call("cudaGraphAddEmptyNode", node, graph, dependencies, count, cudaGraphNodeTypeEmpty,
                  [](Process&, GraphNode&) {});
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaKernelNodeParams* parameters) {
  return add_call("cudaGraphAddKernelNode", node, graph, dependencies, count, cudaGraphNodeTypeKernel,
                  [&](Process& process, GraphNode& content) { set_kernel(process, content, parameters); });
}
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return call("cudaGraphKernelNodeGetParams", [&](Process&) {
    KernelWork& work = find_node(node, cudaGraphNodeTypeKernel).kernel;
    // The pointers stay valid as long as the node, as CUDA guarantees.
    static auto& lists = *new std::map<const void*, std::vector<void*>>;
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
  return call("cudaGraphKernelNodeSetParams",
              [&](Process& process) { set_kernel(process, find_node(node, cudaGraphNodeTypeKernel), parameters); });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
                                            const cudaKernelNodeAttrValue* value) {
  return call("cudaGraphKernelNodeSetAttribute", [&](Process&) {
    LaunchRequest& launch = find_node(node, cudaGraphNodeTypeKernel).kernel.launch;
    cudaLaunchAttribute one{};
    one.id = attribute;
    one.val = result(value, "value");
    cudaLaunchConfig_t config{};
    config.attrs = &one;
    config.numAttrs = 1;
    std::vector<cudaEvent_t> events;
    const LaunchRequest said = read_config(&config, nullptr, &events);
    if (attribute == cudaLaunchAttributeClusterDimension) launch.cluster = said.cluster;
    if (attribute == cudaLaunchAttributeCooperative) launch.cooperative = said.cooperative;
    if (attribute == cudaLaunchAttributeProgrammaticStreamSerialization) launch.overlaps = said.overlaps;
  });
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaKernelNodeAttrID attribute,
                                            cudaKernelNodeAttrValue* value) {
  return call("cudaGraphKernelNodeGetAttribute", [&](Process&) {
    const LaunchRequest& launch = find_node(node, cudaGraphNodeTypeKernel).kernel.launch;
    cudaKernelNodeAttrValue& answer = result(value, "value_out");
    answer = {};  // hints have no effect, so their values are not kept
    if (attribute == cudaLaunchAttributeClusterDimension)
      answer.clusterDim = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    if (attribute == cudaLaunchAttributeCooperative) answer.cooperative = launch.cooperative;
    if (attribute == cudaLaunchAttributeProgrammaticStreamSerialization)
      answer.programmaticStreamSerializationAllowed = launch.overlaps;
  });
}
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return call("cudaGraphKernelNodeCopyAttributes", [&](Process&) {
    const LaunchRequest& source = find_node(from, cudaGraphNodeTypeKernel).kernel.launch;
    LaunchRequest& target = find_node(to, cudaGraphNodeTypeKernel).kernel.launch;
    target.cluster = source.cluster, target.cooperative = source.cooperative, target.overlaps = source.overlaps;
  });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemcpy3DParms* parameters) {
  return add_call("cudaGraphAddMemcpyNode", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&](Process&, GraphNode& content) { content.copy = result(parameters, "pCopyParams"); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return add_call("cudaGraphAddMemcpyNode1D", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&](Process&, GraphNode& content) { content.copy = copy_of(to, from, bytes, kind); });
}
cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count, const void* symbol,
                                           const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return add_call("cudaGraphAddMemcpyNodeToSymbol", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&](Process& process, GraphNode& content) {
                    content.copy = copy_to_symbol(process, symbol, from, bytes, offset, kind);
                  });
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, void* to,
                                             const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return add_call("cudaGraphAddMemcpyNodeFromSymbol", node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
                  [&](Process& process, GraphNode& content) {
                    content.copy = copy_from_symbol(process, to, symbol, bytes, offset, kind);
                  });
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  return call("cudaGraphMemcpyNodeGetParams",
              [&](Process&) { result(parameters, "pNodeParams") = find_node(node, cudaGraphNodeTypeMemcpy).copy; });
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  return call("cudaGraphMemcpyNodeSetParams",
              [&](Process&) { find_node(node, cudaGraphNodeTypeMemcpy).copy = result(parameters, "pNodeParams"); });
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind) {
  return call("cudaGraphMemcpyNodeSetParams1D",
              [&](Process&) { find_node(node, cudaGraphNodeTypeMemcpy).copy = copy_of(to, from, bytes, kind); });
}
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* from,
                                                 size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return call("cudaGraphMemcpyNodeSetParamsToSymbol", [&](Process& process) {
    find_node(node, cudaGraphNodeTypeMemcpy).copy = copy_to_symbol(process, symbol, from, bytes, offset, kind);
  });
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol, size_t bytes,
                                                   size_t offset, cudaMemcpyKind kind) {
  return call("cudaGraphMemcpyNodeSetParamsFromSymbol", [&](Process& process) {
    find_node(node, cudaGraphNodeTypeMemcpy).copy = copy_from_symbol(process, to, symbol, bytes, offset, kind);
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   size_t count, const cudaMemsetParams* parameters) {
  return add_call("cudaGraphAddMemsetNode", node, graph, dependencies, count, cudaGraphNodeTypeMemset,
                  [&](Process&, GraphNode& content) { set_fill(content, result(parameters, "pMemsetParams")); });
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  return call("cudaGraphMemsetNodeGetParams", [&](Process&) {
    const FillCopy& fill = find_node(node, cudaGraphNodeTypeMemset).fill;
    result(parameters, "pNodeParams") = {
        fill.to,        fill.layout.pitch, fill.value, static_cast<unsigned>(fill.unit), fill.shape.width / fill.unit,
        fill.shape.rows};
  });
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return call("cudaGraphMemsetNodeSetParams",
              [&](Process&) { set_fill(find_node(node, cudaGraphNodeTypeMemset), result(parameters, "pNodeParams")); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 size_t count, const cudaHostNodeParams* parameters) {
  return add_call("cudaGraphAddHostNode", node, graph, dependencies, count, cudaGraphNodeTypeHost,
                  [&](Process&, GraphNode& content) { set_host(content, result(parameters, "pNodeParams")); });
}
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  return call("cudaGraphHostNodeGetParams",
              [&](Process&) { result(parameters, "pNodeParams") = find_node(node, cudaGraphNodeTypeHost).host; });
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  return call("cudaGraphHostNodeSetParams",
              [&](Process&) { set_host(find_node(node, cudaGraphNodeTypeHost), result(parameters, "pNodeParams")); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       size_t count, cudaGraph_t child) {
  return add_call("cudaGraphAddChildGraphNode", node, graph, dependencies, count, cudaGraphNodeTypeGraph,
                  [&](Process&, GraphNode& content) { set_child(content, find_graph(child)); });
}
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return call("cudaGraphChildGraphNodeGetGraph",
              [&](Process&) { result(graph, "pGraph") = handle_of(*find_node(node, cudaGraphNodeTypeGraph).child); });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        size_t count, cudaEvent_t event) {
  return add_call("cudaGraphAddEventRecordNode", node, graph, dependencies, count, cudaGraphNodeTypeEventRecord,
                  [&](Process&, GraphNode& content) { set_event(content, event); });
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                      size_t count, cudaEvent_t event) {
  return add_call("cudaGraphAddEventWaitNode", node, graph, dependencies, count, cudaGraphNodeTypeWaitEvent,
                  [&](Process&, GraphNode& content) { set_event(content, event); });
}
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return call("cudaGraphEventRecordNodeGetEvent",
              [&](Process&) { result(event, "event_out") = find_node(node, cudaGraphNodeTypeEventRecord).event; });
}
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return call("cudaGraphEventRecordNodeSetEvent",
              [&](Process&) { set_event(find_node(node, cudaGraphNodeTypeEventRecord), event); });
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return call("cudaGraphEventWaitNodeGetEvent",
              [&](Process&) { result(event, "event_out") = find_node(node, cudaGraphNodeTypeWaitEvent).event; });
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return call("cudaGraphEventWaitNodeSetEvent",
              [&](Process&) { set_event(find_node(node, cudaGraphNodeTypeWaitEvent), event); });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* data, size_t count, cudaGraphNodeParams* parameters) {
  return call("cudaGraphAddNode", [&](Process& process) {
    cudaGraphNodeParams& given = result(parameters, "nodeParams");
    add_node(node, graph, dependencies, data, count, given.type,
             [&](GraphNode& content) { set_content(process, content, given); });
    if (given.type == cudaGraphNodeTypeGraph) given.graph.graph = handle_of(*find_node(*node).child);
    if (given.type == cudaGraphNodeTypeConditional)
      given.conditional.phGraph_out = find_node(*node).conditional.handles.data();
  });
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                             unsigned default_value, unsigned flags) {
  return call("cudaGraphConditionalHandleCreate", [&](Process& process) {
    if ((flags & ~unsigned{cudaGraphCondAssignDefault}) != 0)
      refuse(cudaErrorInvalidValue, "the flags 0x%x are unknown.", flags);
    cudaGraphConditionalHandle& made = result(handle, "pHandle_out");
    auto& conditions = find_graph(graph).conditions;
    conditions.push_back(std::make_shared<Condition>(process, default_value, flags != 0));
    made = conditions.back()->handle();
  });
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return call("cudaGraphNodeSetParams", [&](Process& process) {
    const cudaGraphNodeParams& given = result(parameters, "nodeParams");
    set_content(process, find_node(node, given.type), given);
  });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  return call("cudaGraphDebugDotPrint", [&](Process& process) {
    const Graph& shown = find_graph(graph);
    std::unordered_map<const GraphNode*, std::size_t> index;
    std::string text = "digraph {\n", edges;
    for (const auto& node : shown.nodes) {
      const std::size_t number = index.size();
      index[node.get()] = number;
      const bool is_kernel = node->type == cudaGraphNodeTypeKernel;
      const std::string name =
          is_kernel ? node->kernel.kernel->info(process).name : "type " + std::to_string(node->type);
      text += format("  n%zu [label=\"%s\"];\n", number, name.c_str());
    }
    for (const auto& node : shown.nodes) {
      for (const Dependency& each : node->dependencies)
        edges += format("  n%zu -> n%zu;\n", index.at(each.on), index.at(node.get()));
    }
    std::ofstream file(&result(path, "path"));
    file << text << edges << "}\n";
    file.close();
    if (!file) refuse(cudaErrorOperatingSystem, "%s cannot be written.", path);
  });
}

// ------------------------------------------------------------------------------------------- objects that graphs hold

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data, cudaHostFn_t destroy, unsigned references,
                                 unsigned flags) {
  return call("cudaUserObjectCreate", [&](Process&) {
    if (destroy == nullptr || references == 0 || flags != cudaUserObjectNoDestructorSync)
      refuse(cudaErrorInvalidValue,
             "destroy must not be null, initialRefcount must be at least 1, and flags cudaUserObjectNoDestructorSync.");
    cudaUserObject_t& created = result(object, "object_out");
    created = reinterpret_cast<cudaUserObject_t>(&create_object(data, destroy, references));
  });
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  return call("cudaUserObjectRetain", [&](Process&) { find_object(object).references += count; });
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return call("cudaUserObjectRelease", [&](Process&) { release(find_object(object), count); });
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags) {
  return call("cudaGraphRetainUserObject", [&](Process&) {
    UserObject& held = find_object(object);
    std::vector<UserObject*>& objects = find_graph(graph).objects;
    if ((flags & cudaGraphUserObjectMove) == 0) held.references += count;
    objects.insert(objects.end(), count, &held);
  });
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  return call("cudaGraphReleaseUserObject", [&](Process&) {
    std::vector<UserObject*>& objects = find_graph(graph).objects;
    for (unsigned i = 0; i < count; ++i) {
      const auto found = std::find(objects.begin(), objects.end(), reinterpret_cast<UserObject*>(object));
      if (found == objects.end()) refuse(cudaErrorInvalidValue, "the graph has fewer references to the object.");
      UserObject& held = **found;
      objects.erase(found);
      release(held, 1);
    }
  });
}
