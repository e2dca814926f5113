// CUDA graphs as programs use them: a stream is captured, with a fork and a join, and the graph launched, updated and
// launched again. Every result is compared on the host.
#include "program.h"

constexpr int N = 1000;

__global__ void axpy(float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] += a * x[i];
}
__global__ void double_all(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) x[i] *= 2;
}

struct Data {
  float *x, *y, *z;
  std::vector<float> host_x = std::vector<float>(N), host_y = std::vector<float>(N), host_z = std::vector<float>(N);
  int calls = 0;
};

/// y = a x, in one stream; z = 2 z in another; both come back to the host.
static cudaGraph_t capture(Data& data, cudaStream_t stream, cudaStream_t side, float a) {
  cudaEvent_t fork, join;
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpyAsync(data.x, data.host_x.data(), N * sizeof(float), cudaMemcpyHostToDevice, stream));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  double_all<<<(N + 127) / 128, 128, 0, side>>>(data.z);
  CHECK(cudaMemsetAsync(data.y, 0, N * sizeof(float), stream));
  axpy<<<(N + 127) / 128, 128, 0, stream>>>(a, data.x, data.y);
  CHECK(cudaLaunchHostFunc(
      stream, [](void* calls) { ++*static_cast<int*>(calls); }, &data.calls));
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(stream, join, 0));
  CHECK(cudaMemcpyAsync(data.host_y.data(), data.y, N * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaMemcpyAsync(data.host_z.data(), data.z, N * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaGetLastError());
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  return graph;
}

static void expect_results(const Data& data, float a, float z) {
  for (int i = 0; i < N; ++i) EXPECT(data.host_y[i] == a * data.host_x[i] && data.host_z[i] == z);
}

int main() {
  Data data;
  for (int i = 0; i < N; ++i) data.host_x[i] = static_cast<float>(i), data.host_z[i] = 1;
  data.x = allocate<float>(N), data.y = allocate<float>(N), data.z = upload(data.host_z);
  cudaStream_t stream, side;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&side));

  cudaGraph_t graph = capture(data, stream, side, 3);
  for (int i = 0; i < N; ++i) EXPECT(data.host_y[i] == 0);  // nothing has been done yet
  EXPECT(data.calls == 0);
  size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 7);
  std::vector<cudaGraphNode_t> nodes(count);
  CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));

  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int launch = 1; launch <= 3; ++launch) {
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect_results(data, 3, static_cast<float>(1 << launch));
    EXPECT(data.calls == launch);
  }

  // Another factor in the node, by its own parameters.
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams parameters;
    CHECK(cudaGraphKernelNodeGetParams(node, &parameters));
    if (*static_cast<float*>(parameters.kernelParams[0]) != 3) continue;
    float a = 5;
    void* arguments[] = {&a, parameters.kernelParams[1], parameters.kernelParams[2]};
    parameters.kernelParams = arguments;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, node, &parameters));
  }
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  expect_results(data, 5, 16);

  // A graph of the same shape takes its place; one of another does not.
  cudaGraph_t other = capture(data, stream, side, 7);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(executable, other, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  expect_results(data, 7, 32);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  double_all<<<8, 128, 0, stream>>>(data.z);
  cudaGraph_t small;
  CHECK(cudaStreamEndCapture(stream, &small));
  EXPECT(cudaGraphExecUpdate(executable, small, &info) == cudaErrorGraphExecUpdateFailure);
  EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);

  // What cannot be.
  EXPECT(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(stream, &small) == cudaErrorIllegalState);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(stream, &small) == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(stream, &small) == cudaErrorStreamCaptureInvalidated);
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaStreamWaitEvent(side, event, 0));
  EXPECT(cudaStreamEndCapture(stream, &small) == cudaErrorStreamCaptureUnjoined);
  cudaGetLastError();

  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaDeviceSynchronize());
  std::puts("graphs PASSED");
  return 0;
}
