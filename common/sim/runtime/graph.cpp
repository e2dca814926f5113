#include "runtime/graph.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "engine/schedule.h"
#include "runtime/streams.h"

namespace sim::runtime {
namespace {

// Never destroyed, like Process.
std::unordered_set<const Graph*>& live_graphs() {
  static auto& all = *new std::unordered_set<const Graph*>;
  return all;
}
std::unordered_map<const UserObject*, std::unique_ptr<UserObject>>& live_objects() {
  static auto& all = *new std::unordered_map<const UserObject*, std::unique_ptr<UserObject>>;
  return all;
}
std::unordered_set<const GraphNode*>& live_nodes() {
  static auto& all = *new std::unordered_set<const GraphNode*>;
  return all;
}
std::unordered_map<const Graph*, std::shared_ptr<Graph>>& graphs_of_program() {
  static auto& all = *new std::unordered_map<const Graph*, std::shared_ptr<Graph>>;
  return all;
}

/// The dependents of each node, by index.
struct Dependents {
  std::vector<size_t> counts;  ///< numbers of dependencies
  std::vector<std::vector<size_t>> of;
};
Dependents dependents_of(const Graph& graph) {
  std::unordered_map<const GraphNode*, size_t> index;
  for (size_t i = 0; i < graph.nodes.size(); ++i) index[graph.nodes[i].get()] = i;
  Dependents all{{}, std::vector<std::vector<size_t>>(graph.nodes.size())};
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    all.counts.push_back(graph.nodes[i]->dependencies.size());
    for (const GraphNode::Dependency& dependency : graph.nodes[i]->dependencies)
      all.of[index.at(dependency.on)].push_back(i);
  }
  return all;
}

/// Indices of nodes in topological order. choose(ready) returns which of the ready nodes, in ascending order, comes
/// next: an index into `ready`. Nodes of a cycle are left out.
template <class Choose>
std::vector<size_t> sorted(const Dependents& all, Choose choose) {
  std::vector<size_t> missing = all.counts, ready, order;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const auto at = ready.begin() + static_cast<ptrdiff_t>(choose(ready));
    const size_t next = *at;
    ready.erase(at);
    order.push_back(next);
    for (const size_t dependent : all.of[next]) {
      if (--missing[dependent] == 0) ready.insert(std::lower_bound(ready.begin(), ready.end(), dependent), dependent);
    }
  }
  return order;
}

std::vector<size_t> order_of(const Graph& graph, SchedulePolicy policy, Random& random) {
  using Ready = std::vector<size_t>;
  const Dependents all = dependents_of(graph);
  const std::vector<size_t> as_added = sorted(all, [](const Ready&) { return size_t{0}; });
  if (as_added.size() != graph.nodes.size())
    refuse(cudaErrorInvalidValue, "the dependencies of the graph's nodes form a cycle.");
  if (policy == SchedulePolicy::Default) return as_added;
  if (policy == SchedulePolicy::Seeded)
    return sorted(all, [&](const Ready& ready) { return random.below(ready.size()); });
  // The latest schedule: nodes with the fewest dependents come last.
  std::vector<size_t> behind(graph.nodes.size());
  for (auto node = as_added.rbegin(); node != as_added.rend(); ++node) {
    for (const size_t dependent : all.of[*node]) behind[*node] = std::max(behind[*node], behind[dependent] + 1);
  }
  return sorted(all, [&](const Ready& ready) {
    const auto longest =
        std::max_element(ready.begin(), ready.end(), [&](size_t a, size_t b) { return behind[a] < behind[b]; });
    return static_cast<size_t>(longest - ready.begin());
  });
}

class Planner {
 public:
  Planner(SchedulePolicy policy, uint64_t seed) : policy_(policy), random_(seed) {}

  /// Appends the graph's steps, which come after `before`; returns those for which others must wait.
  std::vector<size_t> add(const Graph& graph, const std::vector<size_t>& before) {
    std::unordered_map<const GraphNode*, std::vector<size_t>> ends;
    std::unordered_set<const GraphNode*> awaited;
    std::vector<size_t> last;
    for (const size_t index : order_of(graph, policy_, random_)) {
      const std::shared_ptr<GraphNode>& node = graph.nodes[index];
      std::vector<size_t> after;
      for (const GraphNode::Dependency& dependency : node->dependencies) {
        const std::vector<size_t>& end = ends[dependency.on];
        after.insert(after.end(), end.begin(), end.end());
        awaited.insert(dependency.on);
      }
      if (node->dependencies.empty()) after = before;
      if (node->type == cudaGraphNodeTypeGraph && node->enabled) {
        ends[node.get()] = add(*node->child, after);
      } else {
        ends[node.get()] = {steps.size()};
        steps.push_back({node, std::move(after), 0});
        choose_lane(steps.back());
      }
    }
    for (const auto& node : graph.nodes) {
      if (!awaited.contains(node.get())) last.insert(last.end(), ends[node.get()].begin(), ends[node.get()].end());
    }
    return last.empty() ? before : last;
  }

  std::vector<Step> steps;

 private:
  /// The lane of a preceding step that no other step continues, or a new one.
  void choose_lane(Step& step) {
    is_last_.push_back(true);
    for (const size_t before : step.after) {
      if (!is_last_[before]) continue;
      is_last_[before] = false;
      step.lane = steps[before].lane;
      return;
    }
    step.lane = lanes_++;
  }

  SchedulePolicy policy_;
  Random random_;
  std::vector<bool> is_last_;  // by step: whether it is the last of its lane
  uint64_t lanes_ = 0;
};

}  // namespace

KernelWork::KernelWork(Process& process, Kernel& of, const LaunchRequest& how) : kernel(&of), launch(how) {
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

Condition::Condition(Process& process, unsigned default_value, bool is_assigned)
    : value_(static_cast<uint32_t*>(
          allocate(process, sizeof(uint32_t), "cudaGraphConditionalHandleCreate", GlobalMemory::Kind::Device))),
      default_value_(default_value),
      is_assigned_(is_assigned) {
  assign(process);
}
Condition::~Condition() {
  Process& process = Process::get();
  if (process.recorder() != nullptr) process.recorder()->released(value_);
  process.memory().release(value_);
}

void Condition::start() const {
  if (is_assigned_) assign(Process::get());
}

void Condition::assign(Process& process) const {
  *value_ = default_value_;
  if (process.recorder() != nullptr) process.recorder()->wrote(value_, sizeof *value_);
}

unsigned Condition::value(Process& process) const {
  unsigned answer = 0;
  copy(process, sim::runtime::copy_of(&answer, value_, sizeof answer, cudaMemcpyDeviceToHost));
  return answer;
}

std::shared_ptr<Condition> find_condition(cudaGraphConditionalHandle handle) {
  for (const Graph* const graph : live_graphs()) {
    for (const auto& condition : graph->conditions) {
      if (condition->handle() == handle) return condition;
    }
  }
  refuse(cudaErrorInvalidValue, "0x%llx is not a condition's handle (cudaGraphConditionalHandleCreate).", handle);
}

void start_conditions(const Graph& graph) {
  for (const auto& condition : graph.conditions) condition->start();
  for (const auto& node : graph.nodes) {
    if (node->child) start_conditions(*node->child);
    for (const auto& body : node->conditional.bodies) start_conditions(*body);
  }
}

Graph::Graph() { live_graphs().insert(this); }
Graph::~Graph() {
  live_graphs().erase(this);
  for (const auto& node : nodes) live_nodes().erase(node.get());
  for (UserObject* const object : objects) release(*object, 1);
}

GraphNode& Graph::add(cudaGraphNodeType type) {
  nodes.push_back(std::make_shared<GraphNode>());
  GraphNode& node = *nodes.back();
  node.type = type;
  node.graph = this;
  live_nodes().insert(&node);
  return node;
}

void Graph::remove(GraphNode& node) {
  for (const auto& other : nodes)
    std::erase_if(other->dependencies, [&](const GraphNode::Dependency& each) { return each.on == &node; });
  live_nodes().erase(&node);
  std::erase_if(nodes, [&](const auto& each) { return each.get() == &node; });
}

std::shared_ptr<Graph> Graph::clone() {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const GraphNode*, GraphNode*> same;
  for (const auto& node : nodes) {
    GraphNode& fresh = copy->add(node->type);
    fresh = *node;
    fresh.graph = copy.get();
    fresh.origin = node;
    if (node->child) {
      fresh.child = node->child->clone();
      fresh.child->is_owned = true;
    }
    fresh.conditional.handles.clear();
    for (auto& body : fresh.conditional.bodies) {
      body = body->clone();
      body->is_owned = true;
      fresh.conditional.handles.push_back(handle_of(*body));
    }
    same[node.get()] = &fresh;
  }
  for (const auto& node : copy->nodes) {
    for (GraphNode::Dependency& dependency : node->dependencies) dependency.on = same.at(dependency.on);
  }
  copy->conditions = conditions;
  for (UserObject* const object : objects) {
    ++object->references;
    copy->objects.push_back(object);
  }
  return copy;
}

GraphNode* Graph::copy_of(const GraphNode& origin) {
  for (const auto& node : nodes) {
    for (const GraphNode* from = node.get(); from != nullptr; from = from->origin.get()) {
      if (from == &origin) return node.get();
    }
    std::vector<std::shared_ptr<Graph>> inner = node->conditional.bodies;
    if (node->child) inner.push_back(node->child);
    for (const auto& graph : inner) {
      if (GraphNode* const inside = graph->copy_of(origin)) return inside;
    }
  }
  return nullptr;
}

Graph& find_graph(cudaGraph_t handle) {
  auto* const graph = reinterpret_cast<Graph*>(handle);
  if (!live_graphs().contains(graph))
    refuse(cudaErrorInvalidValue, "%p is not a graph, or one that has been destroyed.", static_cast<void*>(graph));
  return *graph;
}

GraphNode& find_node(cudaGraphNode_t handle) {
  auto* const node = reinterpret_cast<GraphNode*>(handle);
  if (!live_nodes().contains(node))
    refuse(cudaErrorInvalidValue, "%p is not a node of a graph.", static_cast<void*>(node));
  return *node;
}

GraphNode& find_node(cudaGraphNode_t handle, cudaGraphNodeType type) {
  GraphNode& node = find_node(handle);
  if (node.type != type)
    refuse(cudaErrorInvalidValue, "the node has type %d; a node of type %d is required.", node.type, type);
  return node;
}

cudaGraph_t keep(std::shared_ptr<Graph> graph) {
  const cudaGraph_t handle = handle_of(*graph);
  const Graph* const key = graph.get();
  graphs_of_program()[key] = std::move(graph);
  return handle;
}

void forget(Graph& graph) {
  if (graph.is_owned) refuse(cudaErrorInvalidValue, "the graph belongs to a node, which destroys it with itself.");
  graphs_of_program().erase(&graph);
}

std::vector<Step> steps_of(Process& process, const Graph& graph) {
  const Options& options = process.device().options();
  Planner planner(options.schedule, options.seed);
  planner.add(graph, {});
  return std::move(planner.steps);
}

void execute(Process& process, GraphNode& node) {
  switch (node.type) {
    case cudaGraphNodeTypeKernel: {
      std::vector<void*> arguments = node.kernel.arguments();
      LaunchRequest how = node.kernel.launch;
      how.arguments = arguments.data();
      return launch(process, *node.kernel.kernel, how);
    }
    case cudaGraphNodeTypeMemcpy: return copy(process, node.copy);
    case cudaGraphNodeTypeMemset: return fill(process, node.fill);
    case cudaGraphNodeTypeEventRecord: return record_event(process, node.event, process.work.stream);
    case cudaGraphNodeTypeWaitEvent: return wait_for_event(process, node.event, process.work.stream);
    default: return;  // an empty node
  }
}

UserObject& create_object(void* data, cudaHostFn_t destroy, unsigned references) {
  auto object = std::make_unique<UserObject>(UserObject{data, destroy, references});
  UserObject& created = *object;
  live_objects().emplace(&created, std::move(object));
  return created;
}

UserObject& find_object(cudaUserObject_t handle) {
  const auto found = live_objects().find(reinterpret_cast<const UserObject*>(handle));
  if (found == live_objects().end())
    refuse(cudaErrorInvalidValue, "%p is not a live user object (cudaUserObjectCreate).",
           static_cast<const void*>(handle));
  return *found->second;
}

void release(UserObject& object, unsigned count) {
  if (count > object.references)
    refuse(cudaErrorInvalidValue, "%u references cannot be released: the object has only %u.", count,
           object.references);
  object.references -= count;
  if (object.references > 0) return;
  object.destroy(object.data);
  live_objects().erase(&object);
}

}  // namespace sim::runtime
