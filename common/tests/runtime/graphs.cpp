// Graphs through the driver, of what needs no kernel. common/tests/programs/graph_nodes.cu has the runtime's, with
// kernels.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/api.h"

namespace sim::runtime {
namespace {

TEST(DriverGraphs, BuiltLaunchedAndChanged) {
  constexpr size_t kCount = 64;
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, kCount * sizeof(int)), CUDA_SUCCESS);
  std::vector<int> values(kCount), back(kCount);
  std::iota(values.begin(), values.end(), 1);

  CUgraph graph;
  CUgraphNode in, fill, out, host;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = values.data();
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = memory;
  copy.WidthInBytes = kCount * sizeof(int), copy.Height = copy.Depth = 1;
  ASSERT_EQ(cuGraphAddMemcpyNode(&in, graph, nullptr, 0, &copy, nullptr), CUDA_SUCCESS);
  CUDA_MEMSET_NODE_PARAMS half{memory, 0, 7, 4, kCount / 2, 1};
  ASSERT_EQ(cuGraphAddMemsetNode(&fill, graph, &in, 1, &half, nullptr), CUDA_SUCCESS);
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = memory;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = back.data();
  ASSERT_EQ(cuGraphAddMemcpyNode(&out, graph, &fill, 1, &copy, nullptr), CUDA_SUCCESS);
  int calls = 0;
  const CUDA_HOST_NODE_PARAMS call{[](void* data) { ++*static_cast<int*>(data); }, &calls};
  ASSERT_EQ(cuGraphAddHostNode(&host, graph, &out, 1, &call), CUDA_SUCCESS);
  size_t edges = 0;
  EXPECT_EQ(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges), CUDA_SUCCESS);
  EXPECT_EQ(edges, 3u);
  const std::string picture = testing::TempDir() + "graphs_" + std::to_string(getpid()) + ".dot";
  EXPECT_EQ(cudaGraphDebugDotPrint(graph, picture.c_str(), 0), cudaSuccess);
  std::stringstream drawn;
  drawn << std::ifstream(picture).rdbuf();
  std::remove(picture.c_str());
  EXPECT_NE(drawn.str().find("n0 -> n1;"), std::string::npos) << drawn.str();
  EXPECT_EQ(cudaGraphDebugDotPrint(graph, "/nowhere/graph.dot", 0), cudaErrorOperatingSystem);
  cudaGetLastError();

  CUgraphExec executable;
  ASSERT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(back[i], i < kCount / 2 ? 7 : values[i]);
  half.value = 9;
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, fill, &half, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(back[0], 9);
  EXPECT_EQ(calls, 2);

  EXPECT_EQ(cuGraphDestroyNode(fill), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroyNode(fill), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddDependencies(graph, &in, &out, nullptr, 1), CUDA_SUCCESS);
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(cuGraphExecUpdate(executable, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);  // it has copies of its own
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST(DriverGraphs, ObjectsThatTheyHold) {
  int destroyed = 0;
  cudaUserObject_t object;
  ASSERT_EQ(cudaUserObjectCreate(
                &object, &destroyed, [](void* data) { ++*static_cast<int*>(data); }, 1, cudaUserObjectNoDestructorSync),
            cudaSuccess);
  cudaGraph_t graph, copy;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  EXPECT_EQ(cudaGraphClone(&copy, graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(cudaGraphDestroy(copy), cudaSuccess);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue);  // it is no more
}

}  // namespace
}  // namespace sim::runtime
