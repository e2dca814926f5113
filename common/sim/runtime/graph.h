// CUDA graphs: work that is noted instead of done, with what it must wait for, and done as often as the graph is launched.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/launch.h"
#include "runtime/transfer.h"

namespace sim::runtime {

/// A launch with arguments of its own, which the program's may outlive or not.
struct KernelWork {
  Kernel* kernel = nullptr;
  LaunchRequest launch;
  std::vector<std::vector<uint8_t>> values;  ///< by parameter

  KernelWork() = default;
  KernelWork(Process& process, Kernel& kernel, const LaunchRequest& launch);
  std::vector<void*> arguments();
};

class Graph;

/// A value that kernels set, and that decides what a conditional node does. Its handle is the value's device address.
class Condition {
 public:
  Condition(Process& process, unsigned default_value, bool is_assigned);
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  cudaGraphConditionalHandle handle() const { return reinterpret_cast<uintptr_t>(value_); }
  /// What it starts with, in a launch of the graph; without a default, what the last launch has left.
  void start() const;
  unsigned value(Process& process) const;

 private:
  void assign(Process& process) const;

  uint32_t* value_;
  unsigned default_value_;
  bool is_assigned_;
};

/// Of what is there for its type.
struct GraphNode {
  struct Dependency {
    GraphNode* on;
    cudaGraphEdgeData data;
  };
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  Graph* graph = nullptr;
  std::vector<Dependency> dependencies;  ///< on nodes of the same graph
  std::shared_ptr<GraphNode> origin;     ///< that it is a copy of; null: of none
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
    std::vector<cudaGraph_t> handles;  ///< of the bodies, for the program
  } conditional;
};

/// An object of the program that lives as long as somebody refers to it.
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

  std::vector<std::shared_ptr<GraphNode>> nodes;  ///< in the order in which they were added
  std::vector<UserObject*> objects;               ///< once for each reference
  std::vector<std::shared_ptr<Condition>> conditions;
  bool is_owned = false;  ///< by a node, or by what is instantiated: it is not the program's to destroy

  GraphNode& add(cudaGraphNodeType type);
  void remove(GraphNode& node);
  /// A graph of its own with the same nodes, which remember where they come from; graphs of nodes are copied, too.
  std::shared_ptr<Graph> clone();
  /// The node that is a copy of `origin`, or of a copy of it, here or in a graph of a node; nullptr: there is none.
  GraphNode* copy_of(const GraphNode& origin);
};

/// Live graphs and nodes by handle; refuse anything else.
Graph& find_graph(cudaGraph_t graph);
GraphNode& find_node(cudaGraphNode_t node);
GraphNode& find_node(cudaGraphNode_t node, cudaGraphNodeType type);
inline cudaGraph_t handle_of(Graph& graph) { return reinterpret_cast<cudaGraph_t>(&graph); }
inline cudaGraphNode_t handle_of(GraphNode& node) { return reinterpret_cast<cudaGraphNode_t>(&node); }

/// The program's graphs. A graph that a node or a capture refers to lives on.
cudaGraph_t keep(std::shared_ptr<Graph> graph);
void forget(Graph& graph);

/// A node of a graph that is to be launched, after others of the list.
struct Step {
  std::shared_ptr<GraphNode> node;
  std::vector<size_t> after;
  uint64_t lane = 0;  ///< from 0: of the streams that its nodes could be put into; chains share one
};
/// The graph's nodes, those of its nodes' graphs among them, in an order that dependencies allow: in the default schedule as
/// they were added, in the latest those that the fewest wait for last, under a seed at random. Refuses a graph with a cycle.
std::vector<Step> steps_of(Process& process, const Graph& graph);

/// Executes a node that is no host function and decides nothing, in the stream that the call at hand is in.
void execute(Process& process, GraphNode& node);

/// Of any live graph; refuses another handle.
std::shared_ptr<Condition> find_condition(cudaGraphConditionalHandle handle);
/// Gives all conditions of the graph and of its nodes' graphs their first value.
void start_conditions(const Graph& graph);

UserObject& create_object(void* data, cudaHostFn_t destroy, unsigned references);
UserObject& find_object(cudaUserObject_t handle);
/// References less; with the last one the object's destructor runs, and the object is no more.
void release(UserObject& object, unsigned count);

}  // namespace sim::runtime
