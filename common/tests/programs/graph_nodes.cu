// CUDA graphs built node by node: kernels, copies, fills, host functions, events and graphs within graphs, joined by
// dependencies; looked at, copied, changed, launched; and those that decide what is done. Every result is compared on
// the host.
#include <cstring>

#include "program.h"

constexpr int N = 1000;
constexpr size_t BYTES = N * sizeof(int);

__global__ void add(int* x, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) x[i] += value;
}
__global__ void sum(const int* x, const int* y, int* z) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) z[i] = x[i] + y[i];
}
__device__ int factor = 1;
__global__ void scale(int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) x[i] *= factor;
}

static cudaKernelNodeParams kernel_of(void* function, void** list) {
  cudaKernelNodeParams p{};
  p.func = function;
  p.gridDim = dim3((N + 127) / 128), p.blockDim = dim3(128);
  p.kernelParams = list;
  return p;
}

struct Diamond {
  int *x, *y, *z;
  std::vector<int> result = std::vector<int>(N);
  int calls = 0;
  cudaGraph_t graph;
  cudaGraphNode_t fill, copy, left, right, join, back, host;

  static cudaKernelNodeParams add_to(int** memory, int* value, void** list) {
    list[0] = memory, list[1] = value;
    return kernel_of(reinterpret_cast<void*>(add), list);
  }

  /// x = 0 + left; y = 1, 2, 3... + right; z = x + y comes back. `joined`: the sum waits for both.
  void build(const std::vector<int>& from, int left_value, int right_value, bool joined = true) {
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams zero{};
    zero.dst = x, zero.value = 0, zero.elementSize = 4, zero.width = N, zero.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, y, from.data(), BYTES, cudaMemcpyHostToDevice));
    void* list[3];
    cudaKernelNodeParams p = add_to(&x, &left_value, list);
    CHECK(cudaGraphAddKernelNode(&left, graph, &fill, 1, &p));
    p = add_to(&y, &right_value, list);
    CHECK(cudaGraphAddKernelNode(&right, graph, nullptr, 0, &p));
    CHECK(cudaGraphAddDependencies(graph, &copy, &right, nullptr, 1));
    list[0] = &x, list[1] = &y, list[2] = &z;
    p = kernel_of(reinterpret_cast<void*>(sum), list);
    const cudaGraphNode_t both[] = {left, right};
    CHECK(cudaGraphAddKernelNode(&join, graph, both, joined ? 2 : 1, &p));
    cudaMemcpy3DParms out{};
    out.srcPtr = make_cudaPitchedPtr(z, BYTES, BYTES, 1),
    out.dstPtr = make_cudaPitchedPtr(result.data(), BYTES, BYTES, 1);
    out.extent = make_cudaExtent(BYTES, 1, 1), out.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaGraphAddMemcpyNode(&back, graph, &join, 1, &out));
    cudaHostNodeParams called{[](void* calls) { ++*static_cast<int*>(calls); }, &calls};
    CHECK(cudaGraphAddHostNode(&host, graph, &back, 1, &called));
  }
  void expect_sum(const std::vector<int>& from, int constant) {
    for (int i = 0; i < N; ++i) EXPECT(result[i] == from[i] + constant);
  }
};

static void questions(Diamond& d) {
  size_t count = 0;
  CHECK(cudaGraphGetNodes(d.graph, nullptr, &count));
  EXPECT(count == 7);
  CHECK(cudaGraphGetRootNodes(d.graph, nullptr, &count));
  EXPECT(count == 2);
  CHECK(cudaGraphGetEdges(d.graph, nullptr, nullptr, nullptr, &count));
  EXPECT(count == 6);
  std::vector<cudaGraphNode_t> from(count), to(count);
  CHECK(cudaGraphGetEdges(d.graph, from.data(), to.data(), nullptr, &count));
  bool found = false;
  for (size_t i = 0; i < count; ++i) found |= from[i] == d.copy && to[i] == d.right;
  EXPECT(found);
  cudaGraphNode_t two[2];
  count = 2;
  CHECK(cudaGraphNodeGetDependencies(d.join, two, nullptr, &count));
  EXPECT(count == 2 && two[0] == d.left && two[1] == d.right);
  CHECK(cudaGraphNodeGetDependentNodes(d.left, two, nullptr, &count));
  EXPECT(count == 1 && two[0] == d.join);
  cudaMemsetParams fill;
  CHECK(cudaGraphMemsetNodeGetParams(d.fill, &fill));
  EXPECT(fill.dst == d.x && fill.width == N && fill.elementSize == 4);
  cudaMemcpy3DParms copy;
  CHECK(cudaGraphMemcpyNodeGetParams(d.copy, &copy));
  EXPECT(copy.dstPtr.ptr == d.y && copy.extent.width == BYTES);
  // A cycle can be built, and not instantiated.
  CHECK(cudaGraphAddDependencies(d.graph, &d.join, &d.copy, nullptr, 1));
  cudaGraphExec_t none;
  EXPECT(cudaGraphInstantiate(&none, d.graph, 0) == cudaErrorInvalidValue);
  CHECK(cudaGraphRemoveDependencies(d.graph, &d.join, &d.copy, nullptr, 1));
  EXPECT(cudaGraphAddDependencies(d.graph, &d.copy, &d.right, nullptr, 1) == cudaErrorInvalidValue);
  EXPECT(cudaGraphAddDependencies(d.graph, &d.copy, &d.copy, nullptr, 1) == cudaErrorInvalidValue);
  cudaGetLastError();
}

static void changes(Diamond& d, const std::vector<int>& from, cudaStream_t stream) {
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, d.graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  d.expect_sum(from, 3 + 4);
  EXPECT(d.calls == 1);

  int five = 5;
  void* list[2];
  const cudaKernelNodeParams p = Diamond::add_to(&d.x, &five, list);
  CHECK(cudaGraphExecKernelNodeSetParams(executable, d.left, &p));
  cudaMemsetParams ones{};
  ones.dst = d.x, ones.value = 1, ones.elementSize = 4, ones.width = N, ones.height = 1;
  CHECK(cudaGraphExecMemsetNodeSetParams(executable, d.fill, &ones));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  d.expect_sum(from, 1 + 5 + 4);

  CHECK(cudaGraphNodeSetEnabled(executable, d.left, 0));
  std::vector<int> others(N, 100);
  CHECK(cudaGraphExecMemcpyNodeSetParams1D(executable, d.copy, d.y, others.data(), BYTES, cudaMemcpyHostToDevice));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  d.expect_sum(others, 1 + 4);
  unsigned enabled = 1;
  CHECK(cudaGraphNodeGetEnabled(executable, d.left, &enabled));
  EXPECT(enabled == 0);
  CHECK(cudaGraphNodeSetEnabled(executable, d.left, 1));

  // The whole graph again, with other values; one with another dependency is refused.
  Diamond other = d;
  other.build(from, 10, 20);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(executable, other.graph, &info));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  other.expect_sum(from, 10 + 20);
  CHECK(cudaGraphExecKernelNodeSetParams(executable, d.left, &p));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  other.expect_sum(from, 5 + 20);
  CHECK(cudaGraphAddDependencies(other.graph, &other.fill, &other.copy, nullptr, 1));
  EXPECT(cudaGraphExecUpdate(executable, other.graph, &info) == cudaErrorGraphExecUpdateFailure);
  EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged && info.errorNode == other.copy);
  cudaGetLastError();
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(other.graph));
}

/// The diamond twice, one after the other, with a factor between them that the host gives, and an event at the end.
static void graphs_within(Diamond& d, const std::vector<int>& from, cudaStream_t stream) {
  cudaGraph_t graph, copy;
  CHECK(cudaGraphClone(&copy, d.graph));
  cudaGraphNode_t same;
  CHECK(cudaGraphNodeFindInClone(&same, d.left, copy));
  EXPECT(same != d.left);
  int seven = 7;
  void* list[2];
  cudaKernelNodeParams p = Diamond::add_to(&d.x, &seven, list);
  CHECK(cudaGraphKernelNodeSetParams(same, &p));
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t child, symbol, scaled, back, record;
  CHECK(cudaGraphAddChildGraphNode(&child, graph, nullptr, 0, copy));
  CHECK(cudaGraphDestroy(copy));
  const int six = 6;
  cudaGraphNode_t start;
  CHECK(cudaGraphAddEmptyNode(&start, graph, nullptr, 0));
  CHECK(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, &start, 1, factor, &six, sizeof six, 0, cudaMemcpyHostToDevice));
  void* of_scale[] = {&d.z};
  p = kernel_of(reinterpret_cast<void*>(scale), of_scale);
  cudaGraphNodeParams any{};
  any.type = cudaGraphNodeTypeKernel;
  any.kernel.func = p.func, any.kernel.gridDim = p.gridDim, any.kernel.blockDim = p.blockDim;
  any.kernel.kernelParams = p.kernelParams;
  const cudaGraphNode_t both[] = {child, symbol};
  CHECK(cudaGraphAddNode(&scaled, graph, both, nullptr, 2, &any));
  CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &scaled, 1, d.result.data(), d.z, BYTES, cudaMemcpyDeviceToHost));
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaGraphAddEventRecordNode(&record, graph, &back, 1, event));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiateWithFlags(&executable, graph, cudaGraphInstantiateFlagUseNodePriority));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaEventSynchronize(event));
  for (int i = 0; i < N; ++i) EXPECT(d.result[i] == 6 * (from[i] + 7 + 4));
  any.type = cudaGraphNodeTypeMemAlloc;
  EXPECT(cudaGraphAddNode(&scaled, graph, nullptr, nullptr, 0, &any) == cudaErrorNotSupported);
  EXPECT(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagDeviceLaunch) == cudaErrorNotSupported);
  cudaGetLastError();
}

// ---- nodes that decide: while, if, else and switch, one inside the other, by values that kernels set
__global__ void count_down(int* rounds, cudaGraphConditionalHandle again) {
  --*rounds;
  cudaGraphSetConditional(again, *rounds > 0);
}
__global__ void choose(const int* rounds, cudaGraphConditionalHandle odd, cudaGraphConditionalHandle which) {
  cudaGraphSetConditional(odd, *rounds % 2);
  cudaGraphSetConditional(which, *rounds);
}
__global__ void bump(int* counter) { ++*counter; }

static cudaGraph_t* decide(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                           cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t* made = nullptr) {
  cudaGraphNodeParams p{};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = handle, p.conditional.type = type, p.conditional.size = size;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddNode(&node, graph, after != nullptr ? &after : nullptr, nullptr, after != nullptr ? 1 : 0, &p));
  if (made != nullptr) *made = node;
  return p.conditional.phGraph_out;
}

static void bump_in(cudaGraph_t graph, int* counter) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  bump<<<1, 1, 0, stream>>>(counter);
  CHECK(cudaStreamEndCapture(stream, nullptr));
  CHECK(cudaStreamDestroy(stream));
}

static void decisions() {
  enum { ROUNDS, ODD, EVEN, AT_0, AT_1, AT_2, COUNTERS };
  int* memory = allocate<int>(COUNTERS);
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle again, odd, which;
  CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
  const cudaGraph_t body = decide(graph, nullptr, again, cudaGraphCondTypeWhile, 1)[0];
  CHECK(cudaGraphConditionalHandleCreate(&odd, body, 0, 0));
  CHECK(cudaGraphConditionalHandleCreate(&which, body, 0, 0));

  int* rounds = memory + ROUNDS;
  void* of_choose[] = {&rounds, &odd, &which};
  cudaKernelNodeParams p{};
  p.func = reinterpret_cast<void*>(choose), p.gridDim = p.blockDim = dim3(1), p.kernelParams = of_choose;
  cudaGraphNode_t first, last;
  CHECK(cudaGraphAddKernelNode(&first, body, nullptr, 0, &p));
  cudaGraph_t* ways = decide(body, first, odd, cudaGraphCondTypeIf, 2);
  bump_in(ways[0], memory + ODD);
  bump_in(ways[1], memory + EVEN);
  ways = decide(body, first, which, cudaGraphCondTypeSwitch, 3, &last);
  for (int i = 0; i < 3; ++i) bump_in(ways[i], memory + AT_0 + i);
  void* of_count[] = {&rounds, &again};
  p.func = reinterpret_cast<void*>(count_down), p.kernelParams = of_count;
  CHECK(cudaGraphAddKernelNode(&first, body, &last, 1, &p));

  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (int launch = 0; launch < 2; ++launch) {  // the second begins with the default again
    int counters[COUNTERS] = {5};
    CHECK(cudaMemcpy(memory, counters, sizeof counters, cudaMemcpyHostToDevice));
    CHECK(cudaGraphLaunch(executable, nullptr));
    CHECK(cudaMemcpy(counters, memory, sizeof counters, cudaMemcpyDeviceToHost));
    const int expected[COUNTERS] = {0, 3, 2, 0, 1, 1};  // rounds 5, 4, 3, 2, 1: a switch beyond its graphs does nothing
    for (int i = 0; i < COUNTERS; ++i) EXPECT(counters[i] == expected[i]);
  }
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaFree(memory));
}

int main(int count, char** arguments) {
  const bool is_race = count > 1 && std::strcmp(arguments[1], "race") == 0;
  std::vector<int> from(N);
  for (int i = 0; i < N; ++i) from[i] = i + 1;
  Diamond d;
  d.x = allocate<int>(N), d.y = upload(std::vector<int>(N)), d.z = allocate<int>(N);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  d.build(from, 3, 4, !is_race);
  if (is_race) {
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, d.graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    bool right = true;
    for (int i = 0; i < N; ++i) right &= d.result[i] == from[i] + 7;
    std::puts(right ? "race: right" : "race: wrong");
    return 0;
  }
  questions(d);
  changes(d, from, stream);
  graphs_within(d, from, stream);
  decisions();
  std::puts("graph nodes PASSED");
  return 0;
}
