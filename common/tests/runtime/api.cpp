// The API in one process: fat binaries are registered by hand, as nvcc's static constructors do it, and a device that
// runs nothing takes the launches. Error codes are those that an H200 gave with CUDA 13.0.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "machine/tensor_map.h"
#include "runtime/attributes.h"
#include "runtime/errors.h"
#include "runtime/process.h"
#include "support.h"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
}

namespace sim::runtime {
namespace {

// Stand-ins for the host's shadows of kernels and variables: only their addresses matter.
char plain, none, bounded, paired, greedy, fat_static_kernel, faults, unfit, missing;
char counters[16], scale[4], unregistered;

class Api : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const std::string binary = test::container({test::entry({.payload = test::ptx()})});
    static test::Wrapper wrapper{.data = binary.data()};
    handle = __cudaRegisterFatBinary(&wrapper);
    const auto add = [](char* host, const char* name) {
      __cudaRegisterFunction(handle, host, host, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    };
    add(&plain, "plain");
    add(&none, "none");
    add(&bounded, "bounded");
    add(&paired, "paired");
    add(&greedy, "greedy");
    add(&fat_static_kernel, "fat_static_kernel");
    add(&faults, "faults");
    add(&unfit, "unfit");
    add(&missing, "missing");
    __cudaRegisterVar(handle, counters, counters, "counters", 0, 16, 0, 0);
    __cudaRegisterVar(handle, scale, scale, "scale", 0, 4, 1, 0);
  }
  static void TearDownTestSuite() { __cudaUnregisterFatBinary(handle); }
  void SetUp() override { cudaGetLastError(); }
  void TearDown() override { Process::get().sticky = cudaSuccess; }

  /// What `body` prints on standard error.
  template <typename Body>
  static std::string said(Body&& body) {
    testing::internal::CaptureStderr();
    body();
    return testing::internal::GetCapturedStderr();
  }

  static cudaError_t launch(const void* function, dim3 grid, dim3 block, std::size_t smem = 0, dim3 cluster = {0, 0, 0},
                            bool cooperative = false) {
    cudaGetLastError();
    cudaLaunchAttribute attributes[2];
    unsigned count = 0;
    if (cluster.x + cluster.y + cluster.z > 0) {
      attributes[count++] = {.id = cudaLaunchAttributeClusterDimension,
                             .val = {.clusterDim = {cluster.x, cluster.y, cluster.z}}};
    }
    if (cooperative) attributes[count++] = {.id = cudaLaunchAttributeCooperative, .val = {.cooperative = 1}};
    const cudaLaunchConfig_t config{
        .gridDim = grid, .blockDim = block, .dynamicSmemBytes = smem, .attrs = attributes, .numAttrs = count};
    const cudaError_t error = cudaLaunchKernelExC(&config, function, nullptr);
    EXPECT_EQ(cudaPeekAtLastError(), error);
    EXPECT_EQ(cudaGetLastError(), error);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    return error;
  }

  static inline void** handle = nullptr;
};

// ------------------------------------------------------------------------------------------------------------- devices

TEST_F(Api, DeviceManagement) {
  int value = -1;
  EXPECT_EQ(cudaGetDeviceCount(&value), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaGetDevice(&value), cudaSuccess);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDriverGetVersion(&value), cudaSuccess);
  EXPECT_EQ(value / 1000, 13);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
  size_t limit = 0;
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, 4096), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&limit, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(limit, 4096u);
  EXPECT_EQ(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimeSyncDepth), cudaErrorUnsupportedLimit);
  EXPECT_EQ(cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1), cudaErrorInvalidValue);
}

TEST_F(Api, PropertiesAgreeWithAttributes) {
  cudaDeviceProp p;
  ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
  EXPECT_EQ(std::string(p.name).substr(0, 9), "Simulated");
  EXPECT_EQ(p.major, 10);
  EXPECT_EQ(p.multiProcessorCount, 148);
  EXPECT_EQ(p.sharedMemPerBlockOptin, 232448u);
  EXPECT_EQ(p.sharedMemPerMultiprocessor, 233472u);
  EXPECT_EQ(p.maxGridSize[0], 2147483647);
  EXPECT_EQ(p.maxThreadsDim[2], 64);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_EQ(p.clusterLaunch, 1);
  EXPECT_EQ(p.regsPerMultiprocessor, 65536);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, 0), cudaSuccess);
  EXPECT_EQ(value, p.l2CacheSize);
  for (int attribute = 1; attribute < cudaDevAttrMax; ++attribute) {
    EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(attribute), 0), cudaSuccess) << attribute;
  }
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 3), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceProperties(&p, 1), cudaErrorInvalidDevice);
}

TEST(Attributes, OfAnH200AsMeasured) {
  const Gpu h200 = *find_gpu("h200");
  const std::pair<int, int> measured[] = {
      {1, 1024},      {2, 1024},  {3, 1024},       {4, 64},          {5, 2147483647}, {6, 65535},    {8, 49152},
      {9, 65536},     {10, 32},   {12, 65536},     {13, 1980000},    {16, 132},       {36, 3201000}, {37, 6016},
      {38, 62914560}, {39, 2048}, {75, 9},         {76, 0},          {81, 233472},    {82, 65536},   {95, 1},
      {97, 232448},   {106, 32},  {108, 39321600}, {109, 134217728}, {111, 1024},     {120, 1},      {127, 1}};
  for (const auto& [attribute, value] : measured) EXPECT_EQ(device_attribute(h200, attribute), value) << attribute;
}

TEST(Errors, EveryCodeHasANameAndAText) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorStreamCaptureMerge), "stream capture merge");
  EXPECT_STREQ(cudaGetErrorName(cudaSuccess), "cudaSuccess");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(12345)), "unrecognized error code");
  int known = 0;
  for (int code = 0; code < 1000; ++code) known += error_name(code) != nullptr;
  EXPECT_GT(known, 120);
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_VALUE");
  EXPECT_EQ(cuGetErrorString(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
}

// -------------------------------------------------------------------------------------------------------------- memory

TEST_F(Api, Allocation) {
  void* pointer = &pointer;
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaMalloc(nullptr, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  size_t free_before = 0, free_after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_before, &total), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&pointer, 1 << 20), cudaSuccess);
  cudaMemGetInfo(&free_after, &total);
  EXPECT_EQ(free_before - free_after, 1u << 20);
  EXPECT_EQ(cudaFree(static_cast<char*>(pointer) + 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(&total), cudaErrorInvalidValue);
  const std::string report = said([&] { EXPECT_EQ(cudaMalloc(&pointer, 1ull << 50), cudaErrorMemoryAllocation); });
  EXPECT_NE(report.find("asks for 1,125,899,906,842,624 bytes"), std::string::npos) << report;
  EXPECT_NE(report.find("are free"), std::string::npos) << report;

  ASSERT_EQ(cudaMallocHost(&pointer, 100), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  void* same = nullptr;
  EXPECT_EQ(cudaHostGetDevicePointer(&same, pointer, 0), cudaSuccess);
  EXPECT_EQ(same, pointer);
  EXPECT_EQ(cudaFreeHost(pointer), cudaSuccess);
  size_t pitch = 0;
  EXPECT_EQ(cudaMallocPitch(&pointer, &pitch, 100, 10), cudaSuccess);
  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&pointer, 64, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(pointer, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(&total, nullptr), cudaErrorInvalidValue);
}

TEST_F(Api, PointerAttributes) {
  cudaPointerAttributes answer;
  int on_host = 0;
  EXPECT_EQ(cudaPointerGetAttributes(&answer, &on_host), cudaSuccess);
  EXPECT_EQ(answer.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(answer.device, -2);
  void *device = nullptr, *host = nullptr, *managed = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 8), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&host, 8), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 8, cudaMemAttachGlobal), cudaSuccess);
  const struct {
    cudaMemoryType type;
    void* pointer;
    cudaError_t (*release)(void*);
  } cases[] = {{cudaMemoryTypeDevice, device, cudaFree},
               {cudaMemoryTypeHost, host, cudaFreeHost},
               {cudaMemoryTypeManaged, managed, cudaFree}};
  for (const auto& one : cases) {
    EXPECT_EQ(cudaPointerGetAttributes(&answer, one.pointer), cudaSuccess);
    EXPECT_EQ(answer.type, one.type);
    EXPECT_EQ(answer.device, 0);
    EXPECT_EQ(answer.devicePointer, one.pointer);
    EXPECT_EQ(answer.hostPointer, one.type == cudaMemoryTypeDevice ? nullptr : one.pointer);
    EXPECT_EQ(one.release(one.pointer), cudaSuccess);
  }
}

TEST_F(Api, AdviceIsRemembered) {
  char* memory = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&memory), 4096), cudaSuccess);
  const cudaMemLocation device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
  const auto ask = [&](cudaMemRangeAttribute attribute, std::size_t from, std::size_t bytes) {
    int answer = 99;
    EXPECT_EQ(cudaMemRangeGetAttribute(&answer, sizeof answer, attribute, memory + from, bytes), cudaSuccess);
    return answer;
  };
  EXPECT_EQ(ask(cudaMemRangeAttributeReadMostly, 0, 4096), 0);
  EXPECT_EQ(ask(cudaMemRangeAttributeLastPrefetchLocation, 0, 4096), cudaInvalidDeviceId);
  EXPECT_EQ(cudaMemAdvise(memory, 2048, cudaMemAdviseSetReadMostly, device), cudaSuccess);
  EXPECT_EQ(ask(cudaMemRangeAttributeReadMostly, 0, 2048), 1);
  EXPECT_EQ(ask(cudaMemRangeAttributeReadMostly, 0, 2049), 0);  // not all of it
  EXPECT_EQ(cudaMemAdvise(memory, 1024, cudaMemAdviseUnsetReadMostly, device), cudaSuccess);
  EXPECT_EQ(ask(cudaMemRangeAttributeReadMostly, 1024, 1024), 1);
  EXPECT_EQ(ask(cudaMemRangeAttributeReadMostly, 512, 1024), 0);
  EXPECT_EQ(cudaMemPrefetchAsync(memory, 4096, host, 0, nullptr), cudaSuccess);
  EXPECT_EQ(ask(cudaMemRangeAttributeLastPrefetchLocation, 0, 4096), cudaCpuDeviceId);
  EXPECT_EQ(ask(cudaMemRangeAttributeLastPrefetchLocationType, 0, 4096), cudaMemLocationTypeHost);
  EXPECT_EQ(cudaMemAdvise(memory, 4096, cudaMemAdviseSetAccessedBy, device), cudaSuccess);
  int devices[2] = {};
  EXPECT_EQ(cudaMemRangeGetAttribute(devices, sizeof devices, cudaMemRangeAttributeAccessedBy, memory, 4096),
            cudaSuccess);
  EXPECT_EQ(devices[0], 0);
  EXPECT_EQ(devices[1], cudaInvalidDeviceId);
  EXPECT_EQ(cudaMemRangeGetAttribute(devices, 3, cudaMemRangeAttributeReadMostly, memory, 4096), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 64), cudaSuccess);
  const std::string report =
      said([&] { EXPECT_EQ(cudaMemAdvise(memory, 64, cudaMemAdviseSetReadMostly, device), cudaErrorInvalidValue); });
  EXPECT_NE(report.find("are not managed memory (cudaMallocManaged)"), std::string::npos) << report;
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  cudaGetLastError();
}

TEST_F(Api, RegisteredHostMemory) {
  static char host[8192];
  EXPECT_EQ(cudaHostRegister(host, 4096, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host, 4096, 0), cudaErrorHostMemoryAlreadyRegistered);
  cudaPointerAttributes answer;
  EXPECT_EQ(cudaPointerGetAttributes(&answer, host), cudaSuccess);
  EXPECT_EQ(answer.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaMemset(host, 3, 4096), cudaSuccess);
  EXPECT_EQ(host[4095], 3);
  EXPECT_EQ(cudaHostUnregister(host), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaMemset(host, 3, 16), cudaErrorInvalidValue);
}

TEST_F(Api, CopiesAreChecked) {
  char *a = nullptr, *b = nullptr;
  static char host[8192];
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&a), 4096), cudaSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&b), 4096), cudaSuccess);
  std::strcpy(host, "hello");
  EXPECT_EQ(cudaMemcpy(a, host, 4096, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(b, a, 4096, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host + 4096, b, 4096, cudaMemcpyDefault), cudaSuccess);
  EXPECT_STREQ(host + 4096, "hello");

  const auto fails = [&](void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    EXPECT_EQ(cudaMemcpy(to, from, bytes, kind), cudaErrorInvalidValue);
  };
  fails(a, host, 4097, cudaMemcpyHostToDevice);
  fails(nullptr, host, 16, cudaMemcpyHostToDevice);
  fails(a, nullptr, 16, cudaMemcpyHostToDevice);
  fails(host, host + 64, 16, cudaMemcpyHostToDevice);
  fails(host, host + 64, 16, cudaMemcpyDeviceToHost);
  fails(host, a, 16, cudaMemcpyHostToDevice);
  fails(a, host, 16, cudaMemcpyDeviceToHost);
  fails(a, host, 16, cudaMemcpyDeviceToDevice);
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice), cudaSuccess);
  for (const auto kind : {cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost}) {
    EXPECT_EQ(cudaMemcpy(a, b, 16, kind), cudaSuccess);  // unified addresses: both are the device's
  }
  EXPECT_EQ(cudaMemcpy(host, a, 16, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(a, 1, 4096), cudaSuccess);
  EXPECT_EQ(cudaMemset(a, 1, 4097), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(nullptr, 1, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(nullptr, 1, 0), cudaSuccess);
  EXPECT_EQ(cudaMemset(host, 1, 4), cudaErrorInvalidValue);

  const std::string report = said([&] { fails(a + 4000, host, 100, cudaMemcpyHostToDevice); });
  EXPECT_NE(
      report.find("cudaMemcpy: the destination is not valid for 100 bytes: it starts at byte 4,000 of cudaMalloc #"),
      std::string::npos)
      << report;
  EXPECT_NE(report.find("its last byte is 3 bytes past the end of"), std::string::npos) << report;
  cudaFree(a);
  cudaFree(b);
}

TEST_F(Api, TwoDimensions) {
  char* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), 128), cudaSuccess);
  char host[30], back[30] = {};
  for (int i = 0; i < 30; ++i) host[i] = static_cast<char>(i);
  EXPECT_EQ(cudaMemcpy2D(device, 64, host, 10, 10, 2, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(back, 15, device, 64, 10, 2, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back[9], 9);
  EXPECT_EQ(back[10], 0);
  EXPECT_EQ(back[15], 10);
  EXPECT_EQ(cudaMemcpy2D(device, 64, host, 64, 65, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2D(device, 64, host, 64, 64, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(device, 64, host, 1, 1, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset2D(device, 64, 5, 2, 2), cudaSuccess);
  EXPECT_EQ(cudaMemset2D(device, 32, 0, 64, 2), cudaErrorInvalidValue);
  EXPECT_EQ(device[0], 5);
  EXPECT_EQ(device[2], 2);
  EXPECT_EQ(device[65], 5);
  cudaFree(device);
}

TEST_F(Api, Symbols) {
  const char text[17] = "0123456789abcdef";
  char back[17] = {};
  EXPECT_EQ(cudaMemcpyToSymbol(counters, text, 16, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyFromSymbol(back, counters, 8, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_STREQ(back, "89abcdef");
  EXPECT_EQ(cudaMemcpyToSymbol(counters, text, 17, 0, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(counters, text, 8, 12, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&unregistered, text, 1, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyFromSymbol(back, counters, 1, 0, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
  void* pointer = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(cudaGetSymbolAddress(&pointer, scale), cudaSuccess);
  EXPECT_EQ(cudaGetSymbolSize(&bytes, scale), cudaSuccess);
  EXPECT_EQ(bytes, 4u);
  EXPECT_TRUE(Process::get().memory().find(reinterpret_cast<uintptr_t>(pointer), 4)->constant);
}

// -------------------------------------------------------------------------------------------------- streams and events

TEST_F(Api, Streams) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100), cudaSuccess);
  int priority = 0;
  unsigned flags = 0;
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, -5);
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusActive;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &capture), cudaSuccess);
  EXPECT_EQ(capture, cudaStreamCaptureStatusNone);
  int calls = 0;
  EXPECT_EQ(cudaLaunchHostFunc(
                stream,
                [](void* data) {
                  ++*static_cast<int*>(data);
                  cudaGetLastError();
                },
                &calls),
            cudaSuccess);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  for (cudaStream_t standard : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    EXPECT_EQ(cudaStreamSynchronize(standard), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 77), cudaErrorInvalidValue);
}

TEST_F(Api, Events) {
  cudaEvent_t start = nullptr, end = nullptr, timeless = nullptr;
  float elapsed = -1;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&timeless, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(start), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, start, end), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(start, nullptr), cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(cudaEventRecord(end, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(timeless, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, start, end), cudaSuccess);
  EXPECT_GE(elapsed, 5.0f);  // the host's own time
  EXPECT_EQ(cudaEventElapsedTime(&elapsed, start, timeless), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(start, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(nullptr, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventCreateWithFlags(&start, 99), cudaErrorInvalidValue);
}

// ------------------------------------------------------------------------------------------------------------ launches

TEST_F(Api, TripleChevrons) {
  EXPECT_EQ(__cudaPushCallConfiguration({2, 3, 1}, {32, 1, 1}, 64, nullptr), 0u);
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(__cudaGetKernel(&kernel, &none), cudaSuccess);
  dim3 grid, block;
  size_t smem = 0;
  cudaStream_t stream = cudaStreamLegacy;
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &smem, &stream), cudaSuccess);
  EXPECT_EQ(grid.y, 3u);
  EXPECT_EQ(smem, 64u);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(__cudaLaunchKernel(kernel, grid, block, nullptr, smem, stream), cudaSuccess);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &smem, &stream), cudaErrorMissingConfiguration);
}

TEST_F(Api, GridsAndBlocks) {
  EXPECT_EQ(launch(&none, {1, 1, 1}, {1024, 1, 1}), cudaSuccess);
  EXPECT_EQ(launch(&none, {2147483647u, 65535, 65535}, {1, 1, 64}), cudaSuccess);
  const dim3 bad_grids[] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {2147483648u, 1, 1}, {1, 65536, 1}, {1, 1, 65536}};
  for (const dim3& grid : bad_grids) EXPECT_EQ(launch(&none, grid, {32, 1, 1}), cudaErrorInvalidConfiguration);
  const dim3 bad_blocks[] = {{0, 1, 1}, {1, 1, 65}};
  for (const dim3& block : bad_blocks) EXPECT_EQ(launch(&none, {1, 1, 1}, block), cudaErrorInvalidConfiguration);
  const dim3 great_blocks[] = {{1025, 1, 1}, {64, 32, 1}, {65536, 65536, 1}};  // an H100's answer
  for (const dim3& block : great_blocks) EXPECT_EQ(launch(&none, {1, 1, 1}, block), cudaErrorInvalidValue);
  EXPECT_EQ(launch(&bounded, {1, 1, 1}, {64, 1, 1}), cudaSuccess);
  const std::string report = said([] { EXPECT_EQ(launch(&bounded, {1, 1, 1}, {65, 1, 1}), cudaErrorInvalidValue); });
  EXPECT_EQ(report,
            "sim: cudaLaunchKernelEx: bounded is launched with blocks of 65 threads but compiled for at most 64 "
            "(__launch_bounds__).\n");
  EXPECT_EQ(launch(&greedy, {1, 1, 1}, {512, 1, 1}), cudaSuccess);
  EXPECT_EQ(launch(&greedy, {1, 1, 1}, {1024, 1, 1}), cudaErrorLaunchOutOfResources);
  EXPECT_EQ(launch(&unfit, {1, 1, 1}, {1, 1, 1}), cudaErrorLaunchOutOfResources);  // what the device itself refuses
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);                                 // none of these is sticky
}

TEST_F(Api, SharedMemory) {
  EXPECT_EQ(launch(&none, {1, 1, 1}, {32, 1, 1}, 48 * 1024), cudaSuccess);
  const std::string report = said([] {
    EXPECT_EQ(launch(&none, {1, 1, 1}, {32, 1, 1}, 48 * 1024 + 1), cudaErrorInvalidValue);
  });
  EXPECT_NE(report.find("cudaFuncAttributeMaxDynamicSharedMemorySize, 49153"), std::string::npos) << report;
  EXPECT_EQ(launch(&fat_static_kernel, {1, 1, 1}, {32, 1, 1}, 16384), cudaSuccess);
  EXPECT_EQ(launch(&fat_static_kernel, {1, 1, 1}, {32, 1, 1}, 16385), cudaErrorInvalidValue);

  const auto allow = [](const void* function, int bytes) {
    return cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  };
  EXPECT_EQ(allow(&none, 232449), cudaErrorInvalidValue);
  EXPECT_EQ(allow(&none, -1), cudaErrorInvalidValue);
  EXPECT_EQ(allow(&none, 232448), cudaSuccess);
  EXPECT_EQ(allow(&fat_static_kernel, 232448 - 32768 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(allow(&fat_static_kernel, 232448 - 32768), cudaSuccess);
  EXPECT_EQ(launch(&none, {1, 1, 1}, {32, 1, 1}, 232448), cudaSuccess);
  EXPECT_EQ(launch(&none, {1, 1, 1}, {32, 1, 1}, 232449), cudaErrorInvalidValue);
  EXPECT_EQ(allow(&none, 49152), cudaSuccess);
}

TEST_F(Api, Clusters) {
  EXPECT_EQ(launch(&none, {4, 1, 1}, {32, 1, 1}, 0, {2, 1, 1}), cudaSuccess);
  EXPECT_EQ(launch(&none, {3, 1, 1}, {32, 1, 1}, 0, {2, 1, 1}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&none, {6, 1, 1}, {32, 1, 1}, 0, {3, 1, 1}), cudaSuccess);
  EXPECT_EQ(launch(&none, {4, 4, 4}, {32, 1, 1}, 0, {2, 2, 2}), cudaSuccess);
  EXPECT_EQ(launch(&none, {4, 1, 1}, {32, 1, 1}, 0, {2, 0, 1}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&none, {16, 1, 1}, {32, 1, 1}, 0, {16, 1, 1}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaFuncSetAttribute(&none, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), cudaSuccess);
  EXPECT_EQ(launch(&none, {16, 1, 1}, {32, 1, 1}, 0, {16, 1, 1}), cudaSuccess);
  EXPECT_EQ(launch(&none, {32, 1, 1}, {32, 1, 1}, 0, {32, 1, 1}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaFuncSetAttribute(&none, cudaFuncAttributeNonPortableClusterSizeAllowed, 0), cudaSuccess);

  EXPECT_EQ(launch(&paired, {4, 1, 1}, {32, 1, 1}), cudaSuccess);
  EXPECT_EQ(launch(&paired, {3, 1, 1}, {32, 1, 1}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(&paired, {4, 1, 1}, {32, 1, 1}, 0, {2, 1, 1}), cudaSuccess);
  EXPECT_EQ(launch(&paired, {4, 1, 1}, {32, 1, 1}, 0, {4, 1, 1}), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaFuncSetAttribute(&paired, cudaFuncAttributeRequiredClusterWidth, 4), cudaErrorInvalidValue);
}

TEST_F(Api, Cooperative) {
  EXPECT_EQ(launch(&none, {148, 1, 1}, {1024, 1, 1}, 0, {0, 0, 0}, true), cudaSuccess);
  EXPECT_EQ(launch(&none, {4096, 1, 1}, {1024, 1, 1}, 0, {0, 0, 0}, true), cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(Api, LaunchAttributes) {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{.gridDim = {2, 1, 1}, .blockDim = {32, 1, 1}, .attrs = &attribute, .numAttrs = 1};
  const auto launch_with = [&](int id) {
    attribute.id = static_cast<cudaLaunchAttributeID>(id);
    return cudaLaunchKernelExC(&config, &none, nullptr);
  };
  for (const int hint : {0, 1, 3, 5, 6, 8, 9, 10, 14, 16}) EXPECT_EQ(launch_with(hint), cudaSuccess) << hint;
  EXPECT_EQ(launch_with(77), cudaErrorInvalidValue);
  EXPECT_EQ(launch_with(cudaLaunchAttributePreferredClusterDimension), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch_with(cudaLaunchAttributeDeviceUpdatableKernelNode), cudaErrorNotSupported);
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  attribute.val.programmaticEvent.event = event;
  EXPECT_EQ(launch_with(cudaLaunchAttributeProgrammaticEvent), cudaSuccess);
  cudaEventDestroy(event);
  EXPECT_EQ(launch_with(cudaLaunchAttributeProgrammaticEvent), cudaErrorInvalidResourceHandle);
  config.attrs = nullptr;
  EXPECT_EQ(cudaLaunchKernelExC(&config, &none, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernelExC(nullptr, &none, nullptr), cudaErrorInvalidValue);
}

TEST_F(Api, FunctionsThatAreNoKernels) {
  void* no_arguments[1] = {nullptr};
  const dim3 one(1, 1, 1);
  EXPECT_EQ(cudaLaunchKernel(&unregistered, one, one, no_arguments, 0, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaLaunchKernel(nullptr, one, one, no_arguments, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&missing, one, one, no_arguments, 0, nullptr), cudaErrorInvalidDeviceFunction);
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &unregistered), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFuncSetAttribute(nullptr, cudaFuncAttributeMaxDynamicSharedMemorySize, 1),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&plain, one, one, nullptr, 0, nullptr), cudaErrorInvalidValue);       // two parameters,
  EXPECT_EQ(cudaLaunchKernel(&plain, one, one, no_arguments, 0, nullptr), cudaErrorInvalidValue);  // no arguments
}

TEST_F(Api, KernelAttributes) {
  cudaFuncAttributes a;
  ASSERT_EQ(cudaFuncGetAttributes(&a, &bounded), cudaSuccess);
  EXPECT_EQ(a.maxThreadsPerBlock, 64);
  EXPECT_EQ(a.ptxVersion, 100);
  EXPECT_EQ(a.binaryVersion, 100);
  EXPECT_EQ(a.maxDynamicSharedSizeBytes, 49152);
  EXPECT_EQ(a.preferredShmemCarveout, -1);
  ASSERT_EQ(cudaFuncGetAttributes(&a, &paired), cudaSuccess);
  EXPECT_EQ(a.clusterDimMustBeSet, 1);
  EXPECT_EQ(a.requiredClusterWidth, 2);
  EXPECT_EQ(a.requiredClusterDepth, 1);
  const auto set = [](cudaFuncAttribute attribute, int value) { return cudaFuncSetAttribute(&none, attribute, value); };
  EXPECT_EQ(set(cudaFuncAttributePreferredSharedMemoryCarveout, 100), cudaSuccess);
  EXPECT_EQ(set(cudaFuncAttributePreferredSharedMemoryCarveout, 101), cudaErrorInvalidValue);
  EXPECT_EQ(set(cudaFuncAttributePreferredSharedMemoryCarveout, -2), cudaErrorInvalidValue);
  EXPECT_EQ(set(static_cast<cudaFuncAttribute>(99), 1), cudaErrorInvalidValue);
  const char* name = nullptr;
  EXPECT_EQ(cudaFuncGetName(&name, &plain), cudaSuccess);
  EXPECT_STREQ(name, "plain");
  size_t offset = 0, bytes = 0;
  EXPECT_EQ(cudaFuncGetParamInfo(&plain, 1, &offset, &bytes), cudaSuccess);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cudaFuncGetParamInfo(&plain, 2, &offset, &bytes), cudaErrorInvalidValue);
}

TEST_F(Api, Occupancy) {
  int blocks = -1;
  const auto ask = [&](int threads, size_t smem) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &none, threads, smem);
  };
  EXPECT_EQ(ask(1024, 0), cudaSuccess);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(ask(2048, 0), cudaSuccess);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(ask(32, 100'000), cudaSuccess);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(ask(0, 0), cudaErrorInvalidValue);
  size_t bytes = 0;
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &none, 2, 32), cudaSuccess);
  EXPECT_EQ(bytes, 116736u);
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &fat_static_kernel, 1, 32), cudaSuccess);
  EXPECT_EQ(bytes, 199680u);

  cudaLaunchAttribute cluster{.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {2, 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = {16, 1, 1}, .blockDim = {1024, 1, 1}, .attrs = &cluster, .numAttrs = 1};
  int clusters = -1;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &none, &config), cudaSuccess);
  EXPECT_EQ(clusters, 148);
  config.dynamicSmemBytes = 300'000;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &none, &config), cudaSuccess);
  EXPECT_EQ(clusters, 0);
  config.dynamicSmemBytes = 0;
  config.gridDim.x = 3;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &none, &config), cudaErrorInvalidClusterSize);
  config.gridDim.x = 16;
  int size = 0;
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&size, &none, &config), cudaSuccess);
  EXPECT_EQ(size, 8);
}

// --------------------------------------------------------------------------------------------------- faults and errors

TEST_F(Api, AFaultIsSticky) {
  void *before = nullptr, *after = nullptr;
  int value = 0;
  cudaDeviceProp properties;
  cudaPointerAttributes pointer;
  ASSERT_EQ(cudaMalloc(&before, 16), cudaSuccess);
  ASSERT_EQ(launch(&none, {1, 1, 1}, {1, 1, 1}), cudaSuccess);  // the first launch announces the device
  const std::string report = said([] { EXPECT_EQ(launch(&faults, {1, 1, 1}, {1, 1, 1}), cudaErrorIllegalAddress); });
  EXPECT_EQ(report, "sim: error in kernel faults\n  a store went astray\n\n");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&after, 16), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFree(before), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorIllegalAddress);
  EXPECT_EQ(launch(&none, {1, 1, 1}, {1, 1, 1}), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetDevice(&value), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(cudaPointerGetAttributes(&pointer, before), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&after, 16), cudaErrorDevicesUnavailable);
}

TEST_F(Api, LastErrorsBelongToThreads) {
  EXPECT_EQ(cudaSetDevice(5), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);  // a success takes no error away
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(Api, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        void* pointer = nullptr;
        ASSERT_EQ(cudaMalloc(&pointer, 1000), cudaSuccess);
        ASSERT_EQ(cudaMemset(pointer, 1, 1000), cudaSuccess);
        ASSERT_EQ(launch(&none, {1, 1, 1}, {1, 1, 1}), cudaSuccess);
        ASSERT_EQ(cudaFree(pointer), cudaSuccess);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --------------------------------------------------------------------------------------------- code that cannot be run

/// Registers `binary` with one kernel and launches it.
cudaError_t launch_from(const std::string& binary, std::string* report) {
  static char host;
  test::Wrapper wrapper{.data = binary.data()};
  void** const handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, &host, &host, "none", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  testing::internal::CaptureStderr();
  const cudaError_t error = cudaLaunchKernel(&host, dim3(1), dim3(1), nullptr, 0, nullptr);
  *report = testing::internal::GetCapturedStderr();
  __cudaUnregisterFatBinary(handle);
  cudaGetLastError();
  return error;
}

TEST_F(Api, CodeThatCannotBeRun) {
  std::string report;
  using test::container;
  using test::entry;
  EXPECT_EQ(launch_from(container({entry({.payload = test::ptx()})}), &report), cudaSuccess);
  EXPECT_EQ(launch_from(container({entry({.arch = 90, .payload = test::ptx("sm_90a")})}), &report),
            cudaErrorNoKernelImageForDevice);
  EXPECT_NE(report.find("--gpu h200"), std::string::npos) << report;
  EXPECT_EQ(launch_from(container({entry({.kind = 2, .payload = "ELF"})}), &report), cudaErrorNoKernelImageForDevice);
  EXPECT_NE(report.find("no PTX"), std::string::npos) << report;
  EXPECT_EQ(launch_from(container({}), &report), cudaErrorNoKernelImageForDevice);
  EXPECT_EQ(launch_from("rubbish that is no container", &report), cudaErrorInvalidKernelImage);
  EXPECT_NE(report.find("cannot be used: its container does not start with the magic number of one"), std::string::npos)
      << report;
  EXPECT_EQ(launch_from(container({entry({.flags = test::LZ4 | test::VARIANT_A,
                                          .payload = "\xFF\xFF",
                                          .compressed_bytes = 2,
                                          .uncompressed_bytes = 9})}),
                        &report),
            cudaErrorInvalidKernelImage);
  EXPECT_NE(report.find("LZ4"), std::string::npos) << report;
  EXPECT_EQ(launch_from(container({entry({.payload = "syntax error"})}), &report), cudaErrorInvalidPtx);
  EXPECT_NE(report.find("this is not PTX"), std::string::npos) << report;
  EXPECT_NE(Process::get().verdict(), "");
}

TEST_F(Api, ManagedVariablesArePlaced) {
  const std::string binary = test::container({test::entry({.payload = test::ptx()})});
  test::Wrapper wrapper{.data = binary.data()};
  void* host_pointer = nullptr;
  void** const second = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterManagedVar(second, &host_pointer, nullptr, "counters", 0, 16, 0, 0);
  static char host;
  __cudaRegisterFunction(second, &host, &host, "none", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  EXPECT_EQ(cudaLaunchKernel(&host, dim3(1), dim3(1), nullptr, 0, nullptr), cudaSuccess);
  EXPECT_NE(host_pointer, nullptr);
  __cudaUnregisterFatBinary(second);
}

// ----------------------------------------------------------------------------------------------- libraries, the driver

TEST_F(Api, LibrariesFromText) {
  cudaLibrary_t library = nullptr;
  std::string text = test::ptx();
  const auto load = [&](const void* code) {
    return cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  ASSERT_EQ(load(text.c_str()), cudaSuccess);
  text.assign(text.size(), 'x');  // the library keeps what it needs
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "bounded"), cudaSuccess);
  EXPECT_EQ(launch(kernel, {1, 1, 1}, {64, 1, 1}), cudaSuccess);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "nobody"), cudaErrorSymbolNotFound);
  void* pointer = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(cudaLibraryGetGlobal(&pointer, &bytes, library, "counters"), cudaSuccess);
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  EXPECT_EQ(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(load("neither"), cudaErrorInvalidKernelImage);
  EXPECT_EQ(load("\177ELF machine code"), cudaErrorInvalidKernelImage);
  EXPECT_EQ(load(test::ptx("sm_90a").c_str()), cudaErrorNoKernelImageForDevice);
  EXPECT_EQ(load(nullptr), cudaErrorInvalidValue);
}

TEST_F(Api, MessagesNameTheDriversFunction) {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUfunction function = nullptr;
  const auto says = [&](const char* start, auto&& body) {
    const std::string report = said(body);
    EXPECT_TRUE(report.starts_with(std::string("sim: ") + start + ": ")) << report;
    return report;
  };
  const std::string machine = says("cuModuleLoadData", [&] { cuModuleLoadData(&module, "\177ELF code"); });
  for (const char* remedy : {"CUPY_COMPILE_WITH_PTX=1", "compile(\"ptx\")", "nvrtcGetPTX", "nvJitLink"})
    EXPECT_NE(machine.find(remedy), std::string::npos) << machine;
  says("cuModuleLoadDataEx", [&] { cuModuleLoadDataEx(&module, "\177ELF and", 0, nullptr, nullptr); });
  says("cuLibraryLoadData",
       [&] { cuLibraryLoadData(&library, "\177ELF or", nullptr, nullptr, 0, nullptr, nullptr, 0); });
  const std::string text = test::ptx();
  ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
  says("cuModuleGetFunction", [&] { EXPECT_NE(cuModuleGetFunction(&function, module, "missing"), CUDA_SUCCESS); });
  CUdeviceptr memory = 0;
  says("cuMemAlloc", [&] { EXPECT_EQ(cuMemAlloc(&memory, 1ull << 51), CUDA_ERROR_OUT_OF_MEMORY); });
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

// ------------------------------------------------------------------------------------------------------ virtual memory

constexpr CUmemAllocationProp kOnDevice{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
constexpr CUmemAccessDesc kReadWrite{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

TEST_F(Api, VirtualMemoryGrowsAndMoves) {
  size_t unit = 0, free_before = 0, free_now = 0, total = 0;
  ASSERT_EQ(cuMemGetAllocationGranularity(&unit, &kOnDevice, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), CUDA_SUCCESS);
  int supported = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0), CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
  ASSERT_EQ(cuMemGetInfo(&free_before, &total), CUDA_SUCCESS);
  CUdeviceptr range = 0, other = 0;
  ASSERT_EQ(cuMemAddressReserve(&range, 4 * unit, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(range % unit, 0u);
  CUmemGenericAllocationHandle first = 0, second = 0;
  ASSERT_EQ(cuMemCreate(&first, unit, &kOnDevice, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemCreate(&second, unit, &kOnDevice, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo(&free_now, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_before - free_now, 2 * unit);

  // Two pieces side by side are one piece of memory, once they may be accessed.
  std::vector<char> bytes(2 * unit);
  EXPECT_NE(cuMemcpyHtoD(range, bytes.data(), 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range, unit, 0, first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range + unit, unit, 0, second, 0), CUDA_SUCCESS);
  EXPECT_NE(cuMemcpyHtoD(range, bytes.data(), 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(range, 2 * unit, &kReadWrite, 1), CUDA_SUCCESS);
  unsigned char fresh = 0;
  EXPECT_EQ(cuMemcpyDtoH(&fresh, range + 5, 1), CUDA_SUCCESS);
  EXPECT_EQ(fresh, 0xFF);  // poison
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
  ASSERT_EQ(cuMemcpyHtoD(range, bytes.data(), bytes.size()), CUDA_SUCCESS);
  EXPECT_NE(cuMemcpyHtoD(range + 1, bytes.data(), bytes.size()), CUDA_SUCCESS);
  unsigned long long flags = 0;
  EXPECT_EQ(cuMemGetAccess(&flags, &kReadWrite.location, range + unit + 7), CUDA_SUCCESS);
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, reinterpret_cast<void*>(range + unit)), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_NE(cuMemFree(range), CUDA_SUCCESS);

  // The content belongs to the memory and not to the address; and the memory lives as long as it is mapped.
  EXPECT_EQ(cuMemRelease(second), CUDA_SUCCESS);
  CUmemGenericAllocationHandle again = 0;
  EXPECT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + unit + 100)), CUDA_SUCCESS);
  EXPECT_EQ(again, second);
  ASSERT_EQ(cuMemUnmap(range + unit, unit), CUDA_SUCCESS);
  EXPECT_NE(cuMemcpyDtoH(&fresh, range + unit, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&other, unit, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(other, unit, 0, again, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(other, unit, &kReadWrite, 1), CUDA_SUCCESS);
  std::vector<char> back(unit);
  ASSERT_EQ(cuMemcpyDtoH(back.data(), other, unit), CUDA_SUCCESS);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin() + static_cast<long>(unit)));

  EXPECT_EQ(cuMemUnmap(other, unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(range, unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(again), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 4 * unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(other, unit), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo(&free_now, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_before, free_now);
}

TEST_F(Api, VirtualMemoryIsSharedByFile) {
  constexpr size_t kUnit = size_t{2} << 20;
  CUmemAllocationProp shared = kOnDevice;
  shared.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle first = 0, second = 0;
  ASSERT_EQ(cuMemCreate(&first, kUnit, &shared, 0), CUDA_SUCCESS);
  int file = -1;
  ASSERT_EQ(cuMemExportToShareableHandle(&file, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemImportFromShareableHandle(&second, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  CUdeviceptr range = 0;
  ASSERT_EQ(cuMemAddressReserve(&range, 2 * kUnit, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range, kUnit, 0, first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range + kUnit, kUnit, 0, second, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(range, 2 * kUnit, &kReadWrite, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(nullptr, range + 64, 12345, CU_STREAM_WRITE_VALUE_DEFAULT), CUDA_SUCCESS);
  unsigned value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, range + kUnit + 64, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 12345u);
  EXPECT_EQ(cuMemUnmap(range, 2 * kUnit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(second), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 2 * kUnit), CUDA_SUCCESS);
  const std::string report = said([&] {
    EXPECT_EQ(cuMemImportFromShareableHandle(&second, reinterpret_cast<void*>(intptr_t{999}),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_NE(report.find("999 is not a file descriptor"), std::string::npos) << report;
}

TEST_F(Api, VirtualMemoryRefusesWhatIsWrong) {
  constexpr size_t kUnit = size_t{2} << 20;
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle memory = 0;
  const auto fails = [&](CUresult error, const char* text, auto&& body) {
    const std::string report = said([&] { EXPECT_EQ(body(), error) << text; });
    EXPECT_NE(report.find(text), std::string::npos) << report;
  };
  const CUresult invalid = CUDA_ERROR_INVALID_VALUE;
  fails(invalid, "cuMemAddressReserve: size is 100 bytes; it must be a multiple of 2,097,152",
        [&] { return cuMemAddressReserve(&range, 100, 0, 0, 0); });
  fails(invalid, "alignment is 3; it must be 0 or a power of two",
        [&] { return cuMemAddressReserve(&range, kUnit, 3, 0, 0); });
  fails(invalid, "flags is 1", [&] { return cuMemAddressReserve(&range, kUnit, 0, 0, 1); });
  fails(invalid, "ptr is a null pointer", [&] { return cuMemAddressReserve(nullptr, kUnit, 0, 0, 0); });
  ASSERT_EQ(cuMemAddressReserve(&range, 3 * kUnit, 8 * kUnit, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(range % (8 * kUnit), 0u);

  CUmemAllocationProp other = kOnDevice;
  other.location.id = 1;
  fails(CUDA_ERROR_INVALID_DEVICE, "the only simulated device", [&] { return cuMemCreate(&memory, kUnit, &other, 0); });
  other = kOnDevice, other.location.type = CU_MEM_LOCATION_TYPE_HOST;
  fails(CUDA_ERROR_NOT_SUPPORTED, "location.type", [&] { return cuMemCreate(&memory, kUnit, &other, 0); });
  other = kOnDevice, other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  fails(CUDA_ERROR_NOT_SUPPORTED, "requestedHandleTypes", [&] { return cuMemCreate(&memory, kUnit, &other, 0); });
  fails(invalid, "size is 1 byte", [&] { return cuMemCreate(&memory, 1, &kOnDevice, 0); });
  fails(CUDA_ERROR_OUT_OF_MEMORY, "out of device memory",
        [&] { return cuMemCreate(&memory, size_t{1} << 50, &kOnDevice, 0); });
  ASSERT_EQ(cuMemCreate(&memory, 2 * kUnit, &kOnDevice, 0), CUDA_SUCCESS);

  fails(invalid, "offset is 4096; it must be 0", [&] { return cuMemMap(range, kUnit, 4096, memory, 0); });
  fails(invalid, "it must be that of cuMemCreate", [&] { return cuMemMap(range, 3 * kUnit, 0, memory, 0); });
  fails(invalid, "one cuMemAddressReserve", [&] { return cuMemMap(range + 2 * kUnit, 2 * kUnit, 0, memory, 0); });
  fails(invalid, "is not a live handle from cuMemCreate", [&] { return cuMemMap(range, kUnit, 0, memory + 9, 0); });
  ASSERT_EQ(cuMemMap(range, 2 * kUnit, 0, memory, 0), CUDA_SUCCESS);
  fails(invalid, "mapped already", [&] { return cuMemMap(range + kUnit, kUnit, 0, memory, 0); });
  fails(invalid, "whole mappings", [&] { return cuMemSetAccess(range, kUnit, &kReadWrite, 1); });
  fails(invalid, "whole mappings", [&] { return cuMemSetAccess(range, 3 * kUnit, &kReadWrite, 1); });
  fails(invalid, "whole mappings", [&] { return cuMemUnmap(range + kUnit, kUnit); });
  fails(invalid, "still mapped", [&] { return cuMemAddressFree(range, 3 * kUnit); });
  EXPECT_EQ(cuMemUnmap(range, 2 * kUnit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  fails(invalid, "is not a live handle", [&] { return cuMemRelease(memory); });
  fails(invalid, "not an address and size of cuMemAddressReserve", [&] { return cuMemAddressFree(range, kUnit); });
  EXPECT_EQ(cuMemAddressFree(range, 3 * kUnit), CUDA_SUCCESS);
}

TEST_F(Api, DriverModulesAndLaunches) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const std::string text = test::ptx();
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "plain"), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 64), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32(memory, 0x01020304, 16), CUDA_SUCCESS);
  uint32_t back[16] = {};
  EXPECT_EQ(cuMemcpyDtoH(back, memory, 64), CUDA_SUCCESS);
  EXPECT_EQ(back[15], 0x01020304u);
  int count = 7;
  void* arguments[] = {&memory, &count};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  struct {
    CUdeviceptr pointer;
    int count;
  } packed{memory, count};
  size_t packed_bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                   CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // the driver leaves no trace in the runtime
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  EXPECT_NE(context, nullptr);
}

TEST_F(Api, WhatProgramsThatCompileAtRunTimeAskOfTheDriver) {
  const void* table = this;
  const CUuuid any{};
  EXPECT_EQ(cuGetExportTable(&table, &any), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(table, nullptr);

  std::string text = test::ptx();
  CUlinkState link = nullptr;
  void* image = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_VALUE);  // nothing is there
  const auto add = [&](CUjitInputType type) {
    return cuLinkAddData(link, type, text.data(), text.size(), "text", 0, nullptr, nullptr);
  };
  EXPECT_EQ(add(CU_JIT_INPUT_CUBIN), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(add(CU_JIT_INPUT_PTX), CUDA_SUCCESS);
  EXPECT_EQ(add(CU_JIT_INPUT_PTX), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(cuLinkComplete(link, &image, &bytes), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, image), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "bounded"), CUDA_SUCCESS);

  int grid = 0, block = 0, sms = 0, blocks = 0;
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, block, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), CUDA_SUCCESS);
  EXPECT_EQ(grid, blocks * sms);
  EXPECT_EQ(block % 32, 0);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);

  int calls = 0;
  EXPECT_EQ(cuLaunchHostFunc(
                nullptr, [](void* data) { ++*static_cast<int*>(data); }, &calls),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAddCallback(
                nullptr, [](CUstream, CUresult, void* data) { ++*static_cast<int*>(data); }, &calls, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(calls, 2);
}

TEST_F(Api, DriverCopiesOfRectangles) {
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch(&memory, &pitch, 12, 5, 4), CUDA_SUCCESS);
  char host[5][12], back[3][4] = {};
  for (int i = 0; i < 60; ++i) host[i / 12][i % 12] = static_cast<char>(i);
  CUDA_MEMCPY2D all{};
  all.srcMemoryType = CU_MEMORYTYPE_HOST, all.srcHost = host;  // a pitch of 0: no gaps
  all.dstMemoryType = CU_MEMORYTYPE_DEVICE, all.dstDevice = memory, all.dstPitch = pitch;
  all.WidthInBytes = 12, all.Height = 5;
  EXPECT_EQ(cuMemcpy2D(&all), CUDA_SUCCESS);
  CUDA_MEMCPY2D part{};
  part.srcMemoryType = CU_MEMORYTYPE_DEVICE, part.srcDevice = memory, part.srcPitch = pitch;
  part.srcXInBytes = 5, part.srcY = 2;
  part.dstMemoryType = CU_MEMORYTYPE_HOST, part.dstHost = back;
  part.WidthInBytes = 4, part.Height = 3;
  EXPECT_EQ(cuMemcpy2DAsync(&part, nullptr), CUDA_SUCCESS);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) EXPECT_EQ(back[y][x], host[y + 2][x + 5]);
  }
  part.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuMemcpy2D(&part), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Api, DriverEntryPoints) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status;
  const auto ask = [&](const char* name, unsigned version) {
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &status), cudaSuccess);
  };
  ask("cuTensorMapEncodeTiled", 12000);
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuTensorMapEncodeTiled));
  ask("cuTensorMapEncodeTiled", 11000);
  EXPECT_EQ(status, cudaDriverEntryPointVersionNotSufficent);
  EXPECT_EQ(function, nullptr);
  ask("cuMemAlloc_v2", 13000);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc));
  ask("cuFooBar", 12000);
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(nullptr, &function, 12000, 0, &status), cudaErrorInvalidValue);
  CUdriverProcAddressQueryResult found;
  EXPECT_EQ(cuGetProcAddress("cuDeviceGet", &function, 12000, 0, &found), CUDA_SUCCESS);
  EXPECT_EQ(found, CU_GET_PROC_ADDRESS_SUCCESS);
}

TEST_F(Api, TensorMapThroughTheDriver) {
  char* device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), 1 << 16), cudaSuccess);
  CUtensorMap map;
  const cuuint64_t dim[] = {64, 64}, stride[] = {128};
  const cuuint32_t box[] = {64, 64}, step[] = {1, 1};
  const auto encode = [&](void* address) {
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, address, dim, stride, box, step,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encode(device), CUDA_SUCCESS);
  TensorMap content;
  std::memcpy(&content, &map, sizeof content);
  EXPECT_EQ(content.magic, TensorMap::kMagic);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, device + 256), CUDA_SUCCESS);
  std::memcpy(&content, &map, sizeof content);
  EXPECT_EQ(content.address, reinterpret_cast<uintptr_t>(device + 256));
  const std::string report = said([&] { EXPECT_EQ(encode(device + 8), CUDA_ERROR_INVALID_VALUE); });
  EXPECT_EQ(report.substr(0, 45), "sim: cuTensorMapEncodeTiled: globalAddress is");
  const cuuint64_t images[] = {32, 8, 4}, pitches[] = {64, 512};
  const cuuint32_t steps[] = {1, 1, 1};
  const int lower[] = {-1}, upper[] = {-1};
  const auto encode_im2col = [&](const int* corner) {
    return cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, device, images, pitches, corner, upper,
                                   32, 16, steps, {}, {}, {}, {});
  };
  EXPECT_EQ(encode_im2col(lower), CUDA_SUCCESS);
  std::memcpy(&content, &map, sizeof content);
  EXPECT_TRUE(content.is_im2col);
  const std::string why = said([&] { EXPECT_EQ(encode_im2col(nullptr), CUDA_ERROR_INVALID_VALUE); });
  EXPECT_NE(why.find("sim: cuTensorMapEncodeIm2col: pixelBoxLowerCorner is a null pointer"), std::string::npos) << why;
  EXPECT_EQ(cuTensorMapEncodeIm2colWide(&map, {}, 3, device, images, pitches, 0, 0, 1, 1, steps, {}, {}, {}, {}, {}),
            CUDA_ERROR_NOT_SUPPORTED);
  cudaFree(device);
}

}  // namespace
}  // namespace sim::runtime
