// CUDA graphs: work that is stored with its dependencies, and executed each time the graph is launched.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/launch.h"
#include "runtime/transfer.h"

namespace sim::runtime {

/// A launch with its own copy of the arguments, whose originals may not live as long.
struct KernelWork {
  Kernel* kernel = nullptr;
  LaunchRequest launch;
  std::vector<std::vector<uint8_t>> values;  ///< the value of each parameter

  KernelWork() = default;
  KernelWork(Process& process, Kernel& kernel, const LaunchRequest& launch);
  std::vector<void*> arguments();
};

class Graph;

/// A value that kernels set, and on which a conditional node decides. Its handle is the value's device address.
class Condition {
 public:
  Condition(Process& process, unsigned default_value, bool is_assigned);
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  cudaGraphConditionalHandle handle() const { return reinterpret_cast<uintptr_t>(value_); }
  /// The initial value in a launch of the graph; without a default, the last launch's final value.
  void start() const;
  unsigned value(Process& process) const;

 private:
  void assign(Process& process) const;

  uint32_t* value_;
  unsigned default_value_;
  bool is_assigned_;
};

/// A node. Only the members for its type are used.
struct GraphNode {
  struct Dependency {
    GraphNode* on;
    cudaGraphEdgeData data;
  };
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Graph* graph = nullptr;
  std::vector<Dependency> dependencies;  ///< dependencies on nodes of the same graph
  std::shared_ptr<GraphNode> origin;     ///< the node of which this is a copy; null: not a copy
  bool enabled = true;

  KernelWork kernel;
  cudaMemcpy3DParms copy{};
  FillCopy fill{};
  cudaHostNodeParams host{};
  cudaEvent_t event = nullptr;
  std::shared_ptr<Graph> child;
  struct {
    std::shared_ptr<Condition> condition;
    cudaGraphConditionalNodeType type = cudaGraphCondTypeIf;
    std::vector<std::shared_ptr<Graph>> bodies;
    std::vector<cudaGraph_t> handles;  ///< handles of the bodies, for the program
  } conditional;
};

/// A user object, which lives as long as it is referenced.
struct UserObject {
  void* data = nullptr;
  cudaHostFn_t destroy = nullptr;
  unsigned references = 0;
};

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::vector<std::shared_ptr<GraphNode>> nodes;  ///< in the order of their addition
  std::vector<UserObject*> objects;               ///< once for each reference
  std::vector<std::shared_ptr<Condition>> conditions;
  bool is_owned = false;  ///< by a node or an instantiated graph, so the program must not destroy it

  GraphNode& add(cudaGraphNodeType type);
  void remove(GraphNode& node);
  /// A copy of the graph. Its nodes remember their origins; graphs that nodes own are copied, too.
  std::shared_ptr<Graph> clone();
  /// The direct or indirect copy of `origin`, in this graph or in a graph that a node owns; nullptr: there is none.
  GraphNode* copy_of(const GraphNode& origin);
};

/// Look up live graphs and nodes by handle; refuse anything else.
Graph& find_graph(cudaGraph_t graph);
GraphNode& find_node(cudaGraphNode_t node);
GraphNode& find_node(cudaGraphNode_t node, cudaGraphNodeType type);
inline cudaGraph_t handle_of(Graph& graph) { return reinterpret_cast<cudaGraph_t>(&graph); }
inline cudaGraphNode_t handle_of(GraphNode& node) { return reinterpret_cast<cudaGraphNode_t>(&node); }

/// The program's graphs. A destroyed graph lives on while a node or a capture refers to it.
cudaGraph_t keep(std::shared_ptr<Graph> graph);
void forget(Graph& graph);

/// A node of a graph that is being launched, with the steps on which it depends.
struct Step {
  std::shared_ptr<GraphNode> node;
  std::vector<size_t> after;
  uint64_t lane = 0;  ///< number of the stream into which the node could be put, from 0; chains share one
};
/// The graph's nodes, including those of its nodes' graphs, in an order that respects dependencies. In the default
/// schedule that is the order of addition; in the latest, nodes with the fewest dependents come last; under a seed it
/// is random. Refuses a graph with a cycle.
std::vector<Step> steps_of(Process& process, const Graph& graph);

/// Executes a node in the stream of the current call. The node is neither a host function nor conditional.
void execute(Process& process, GraphNode& node);

/// The condition with this handle in any live graph; refuses other handles.
std::shared_ptr<Condition> find_condition(cudaGraphConditionalHandle handle);
/// Sets all conditions of the graph and of its nodes' graphs to their initial values.
void start_conditions(const Graph& graph);

UserObject& create_object(void* data, cudaHostFn_t destroy, unsigned references);
UserObject& find_object(cudaUserObject_t handle);
/// Releases references. With the last one the object's destructor runs and the object ceases to exist.
void release(UserObject& object, unsigned count);

}  // namespace sim::runtime
