// What kernels use of CUDA's language and runtime. Structures are aligned as CUDA's: a store of a uint2 is one access.
// The host's functions are declared, since the files hold launches, too, but only device code is compiled.
#pragma once

#include <cstdint>

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((annotate("cluster_dims", __VA_ARGS__)))  // the driver reads both
#define __grid_constant__ __attribute__((annotate("grid_constant")))
#define __restrict__ __restrict
#define alignas(...) __attribute__((aligned(__VA_ARGS__)))  // C++'s may not stand behind __shared__

struct uint2 {
  unsigned x, y;
} __attribute__((aligned(8)));
struct uint3 {
  unsigned x, y, z;
};
struct uint4 {
  unsigned x, y, z, w;
} __attribute__((aligned(16)));
struct int2 {
  int x, y;
} __attribute__((aligned(8)));
struct int4 {
  int x, y, z, w;
} __attribute__((aligned(16)));
struct float2 {
  float x, y;
} __attribute__((aligned(8)));
struct float4 {
  float x, y, z, w;
} __attribute__((aligned(16)));
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
__host__ __device__ constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
__host__ __device__ constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
__host__ __device__ constexpr int2 make_int2(int x, int y) { return {x, y}; }
__host__ __device__ constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
__host__ __device__ constexpr float2 make_float2(float x, float y) { return {x, y}; }
__host__ __device__ constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

#define LADDER_SPECIAL(name, register)                                                   \
  struct __ladder_##name {                                                               \
    __declspec(property(get = get_x)) unsigned x;                                        \
    __declspec(property(get = get_y)) unsigned y;                                        \
    __declspec(property(get = get_z)) unsigned z;                                        \
    __device__ static unsigned get_x() { return __nvvm_read_ptx_sreg_##register##_x(); } \
    __device__ static unsigned get_y() { return __nvvm_read_ptx_sreg_##register##_y(); } \
    __device__ static unsigned get_z() { return __nvvm_read_ptx_sreg_##register##_z(); } \
    __device__ operator dim3() const { return {get_x(), get_y(), get_z()}; }             \
  };                                                                                     \
  extern const __device__ __attribute__((weak)) __ladder_##name name;
LADDER_SPECIAL(threadIdx, tid)
LADDER_SPECIAL(blockIdx, ctaid)
LADDER_SPECIAL(blockDim, ntid)
LADDER_SPECIAL(gridDim, nctaid)
inline constexpr int warpSize = 32;

__device__ inline void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
__device__ inline unsigned __activemask() { return __nvvm_activemask(); }
__device__ inline unsigned __ballot_sync(unsigned mask, int value) { return __nvvm_vote_ballot_sync(mask, value); }
__device__ inline int __all_sync(unsigned mask, int value) { return __nvvm_vote_all_sync(mask, value); }
__device__ inline int __any_sync(unsigned mask, int value) { return __nvvm_vote_any_sync(mask, value); }
template <typename T>
__device__ inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  static_assert(sizeof(T) == 4);
  return __builtin_bit_cast(
      T, __nvvm_shfl_sync_idx_i32(mask, __builtin_bit_cast(int, value), lane, ((32 - width) << 8) | 31));
}
template <typename T>
__device__ inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  static_assert(sizeof(T) == 4);
  return __builtin_bit_cast(
      T, __nvvm_shfl_sync_down_i32(mask, __builtin_bit_cast(int, value), by, ((32 - width) << 8) | 31));
}
template <typename T>
__device__ inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  static_assert(sizeof(T) == 4);
  return __builtin_bit_cast(
      T, __nvvm_shfl_sync_bfly_i32(mask, __builtin_bit_cast(int, value), lanes, ((32 - width) << 8) | 31));
}

__device__ inline void __threadfence_block() { __nvvm_membar_cta(); }
__device__ inline void __threadfence() { __nvvm_membar_gl(); }
__device__ inline void __threadfence_system() { __nvvm_membar_sys(); }
__device__ inline void __trap() { asm volatile("trap;"); }
__device__ inline void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }
__device__ inline long long clock64() {
  long long now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
  return now;
}
__device__ inline size_t __cvta_generic_to_shared(const void* address) {
  return reinterpret_cast<size_t>((const __attribute__((address_space(3))) void*)address);
}
__device__ inline void* __cluster_map_shared_rank(const void* address, unsigned rank) {
  return __nvvm_mapa(const_cast<void*>(address), static_cast<int>(rank));
}
__device__ inline unsigned atomicAdd(unsigned* at, unsigned value) {
  return __nvvm_atom_add_gen_i(reinterpret_cast<int*>(at), value);
}
__device__ inline int atomicAdd(int* at, int value) { return __nvvm_atom_add_gen_i(at, value); }
__device__ inline float atomicAdd(float* at, float value) { return __nvvm_atom_add_gen_f(at, value); }
__device__ inline float __ldg(const float* at) { return __nvvm_ldg_f(at); }
__device__ inline int __ldg(const int* at) { return __nvvm_ldg_i(at); }
__device__ inline unsigned __ldg(const unsigned* at) { return __nvvm_ldg_ui(at); }
template <typename T>
__host__ __device__ constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
__host__ __device__ constexpr T max(T a, T b) {
  return a < b ? b : a;
}

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorNotSupported = 801 };
typedef struct CUstream_st* cudaStream_t;
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 13
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16 };
enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension = 4 };
union cudaLaunchAttributeValue {
  struct {
    unsigned x, y, z;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
inline constexpr unsigned long long cudaEnableDefault = 0;

cudaError_t cudaGetLastError();
cudaError_t cudaGetDevice(int*);
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult*);
template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int);
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveClusters(int*, Kernel*, const cudaLaunchConfig_t*);
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t*, void (*)(Parameters...), Arguments&&...);
extern "C" cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void* = nullptr);
