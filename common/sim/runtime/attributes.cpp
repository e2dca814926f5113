#include "runtime/attributes.h"

#include <algorithm>
#include <cstring>

namespace sim::runtime {
namespace {

constexpr int KiB = 1024;

/// The share of L2 that may be set aside for persisting accesses: five eighths, as an H200 reports.
int persisting_l2(const Gpu& gpu) { return static_cast<int>(gpu.l2_bytes / 8 * 5); }

}  // namespace

std::optional<int> device_attribute(const Gpu& gpu, int attribute) {
  const int last = std::max<int>(cudaDevAttrMax, CU_DEVICE_ATTRIBUTE_MAX);
  if (attribute < 1 || attribute >= last) return std::nullopt;
  switch (attribute) {
    // Shape of launches.
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return 1024;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 2'147'483'647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65'535;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrComputePreemptionSupported: return 1;

    // The SMs.
    case cudaDevAttrComputeCapabilityMajor: return gpu.major;
    case cudaDevAttrComputeCapabilityMinor: return gpu.minor;
    case cudaDevAttrMultiProcessorCount: return gpu.sm_count;
    case cudaDevAttrClockRate: return gpu.clock_khz;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return gpu.threads_per_sm;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return gpu.blocks_per_sm;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: return gpu.registers_per_sm;
    case cudaDevAttrMaxSharedMemoryPerBlock: return 48 * KiB;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return gpu.smem_per_block;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return gpu.smem_per_sm;
    case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(Gpu::smem_reserved);
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return 2;
    case cudaDevAttrMemSyncDomainCount: return 4;
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED: return gpu.major >= 9;

    // Memory.
    case cudaDevAttrTotalConstantMemory: return 64 * KiB;
    case cudaDevAttrMemoryClockRate: return gpu.memory_clock_khz;
    case cudaDevAttrGlobalMemoryBusWidth: return gpu.memory_bus_bits;
    case cudaDevAttrL2CacheSize: return static_cast<int>(gpu.l2_bytes);
    case cudaDevAttrMaxPersistingL2CacheSize: return persisting_l2(gpu);
    case cudaDevAttrMaxAccessPolicyWindowSize: return 128 * KiB * KiB;
    case cudaDevAttrMaxPitch: return 2'147'483'647;
    case cudaDevAttrEccEnabled:
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrStreamPrioritiesSupported: return 1;
    case cudaDevAttrAsyncEngineCount: return 3;
    case cudaDevAttrNumaId: return -1;

    // Textures and surfaces: the hardware's limits, since programs print them. Their use is refused.
    case cudaDevAttrTextureAlignment:
    case cudaDevAttrSurfaceAlignment: return 512;
    case cudaDevAttrTexturePitchAlignment: return 32;
    case cudaDevAttrMaxTexture1DWidth:
    case cudaDevAttrMaxTexture2DWidth:
    case cudaDevAttrMaxSurface2DWidth:
    case cudaDevAttrMaxTexture2DLinearWidth: return 131'072;
    case cudaDevAttrMaxTexture2DHeight:
    case cudaDevAttrMaxSurface2DHeight: return 65'536;
    case cudaDevAttrMaxTexture2DLinearHeight: return 65'000;
    case cudaDevAttrMaxTexture2DLinearPitch: return 2'097'120;
    case cudaDevAttrMaxTexture1DLinearWidth: return 268'435'456;
    case cudaDevAttrMaxTexture3DWidth:
    case cudaDevAttrMaxTexture3DHeight:
    case cudaDevAttrMaxTexture3DDepth:
    case cudaDevAttrMaxSurface3DWidth:
    case cudaDevAttrMaxSurface3DHeight:
    case cudaDevAttrMaxSurface3DDepth: return 16'384;
    case cudaDevAttrMaxTexture3DWidthAlt:
    case cudaDevAttrMaxTexture3DHeightAlt: return 8192;
    case cudaDevAttrMaxTexture3DDepthAlt:
    case cudaDevAttrMaxTexture1DLayeredWidth:
    case cudaDevAttrMaxTexture1DMipmappedWidth:
    case cudaDevAttrMaxTexture2DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredHeight:
    case cudaDevAttrMaxTexture2DGatherWidth:
    case cudaDevAttrMaxTexture2DGatherHeight:
    case cudaDevAttrMaxTexture2DMipmappedWidth:
    case cudaDevAttrMaxTexture2DMipmappedHeight:
    case cudaDevAttrMaxTextureCubemapWidth:
    case cudaDevAttrMaxTextureCubemapLayeredWidth:
    case cudaDevAttrMaxSurface1DWidth:
    case cudaDevAttrMaxSurface1DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredHeight:
    case cudaDevAttrMaxSurfaceCubemapWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredWidth: return 32'768;
    case cudaDevAttrMaxTexture1DLayeredLayers:
    case cudaDevAttrMaxTexture2DLayeredLayers:
    case cudaDevAttrMaxSurface1DLayeredLayers:
    case cudaDevAttrMaxSurface2DLayeredLayers: return 2048;
    case cudaDevAttrMaxTextureCubemapLayeredLayers:
    case cudaDevAttrMaxSurfaceCubemapLayeredLayers: return 2046;

    // All other attributes describe other machines and operating systems, or features that are not simulated.
    default: return 0;
  }
}

cudaDeviceProp device_properties(const Gpu& gpu) {
  const auto get = [&](int attribute) { return device_attribute(gpu, attribute).value_or(0); };
  cudaDeviceProp p;
  std::memset(&p, 0, sizeof p);
  gpu.name.copy(p.name, sizeof p.name - 1);
  std::memcpy(p.uuid.bytes, "SIMULATED DEVICE", sizeof p.uuid.bytes);
  p.totalGlobalMem = gpu.global_bytes;
  p.major = gpu.major;
  p.minor = gpu.minor;

  p.maxThreadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = get(cudaDevAttrMaxBlockDimX + i);
    p.maxGridSize[i] = get(cudaDevAttrMaxGridDimX + i);
  }
  p.warpSize = get(cudaDevAttrWarpSize);
  p.clusterLaunch = get(cudaDevAttrClusterLaunch);
  p.cooperativeLaunch = get(cudaDevAttrCooperativeLaunch);
  p.concurrentKernels = get(cudaDevAttrConcurrentKernels);
  p.computePreemptionSupported = get(cudaDevAttrComputePreemptionSupported);

  p.multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
  p.maxThreadsPerMultiProcessor = get(cudaDevAttrMaxThreadsPerMultiProcessor);
  p.maxBlocksPerMultiProcessor = get(cudaDevAttrMaxBlocksPerMultiprocessor);
  p.regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  p.regsPerMultiprocessor = get(cudaDevAttrMaxRegistersPerMultiprocessor);
  p.sharedMemPerBlock = static_cast<std::size_t>(get(cudaDevAttrMaxSharedMemoryPerBlock));
  p.sharedMemPerBlockOptin = static_cast<std::size_t>(get(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  p.sharedMemPerMultiprocessor = static_cast<std::size_t>(get(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  p.reservedSharedMemPerBlock = static_cast<std::size_t>(get(cudaDevAttrReservedSharedMemoryPerBlock));

  p.totalConstMem = static_cast<std::size_t>(get(cudaDevAttrTotalConstantMemory));
  p.memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = get(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = get(cudaDevAttrMaxPersistingL2CacheSize);
  p.accessPolicyMaxWindowSize = get(cudaDevAttrMaxAccessPolicyWindowSize);
  p.memPitch = static_cast<std::size_t>(get(cudaDevAttrMaxPitch));
  p.ECCEnabled = get(cudaDevAttrEccEnabled);
  p.canMapHostMemory = get(cudaDevAttrCanMapHostMemory);
  p.unifiedAddressing = get(cudaDevAttrUnifiedAddressing);
  p.globalL1CacheSupported = get(cudaDevAttrGlobalL1CacheSupported);
  p.localL1CacheSupported = get(cudaDevAttrLocalL1CacheSupported);
  p.managedMemory = get(cudaDevAttrManagedMemory);
  p.concurrentManagedAccess = get(cudaDevAttrConcurrentManagedAccess);
  p.canUseHostPointerForRegisteredMem = get(cudaDevAttrCanUseHostPointerForRegisteredMem);
  p.hostRegisterSupported = get(cudaDevAttrHostRegisterSupported);
  p.memoryPoolsSupported = get(cudaDevAttrMemoryPoolsSupported);
  p.streamPrioritiesSupported = get(cudaDevAttrStreamPrioritiesSupported);
  p.asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
  p.deviceNumaId = get(cudaDevAttrNumaId);

  p.textureAlignment = static_cast<std::size_t>(get(cudaDevAttrTextureAlignment));
  p.texturePitchAlignment = static_cast<std::size_t>(get(cudaDevAttrTexturePitchAlignment));
  p.surfaceAlignment = static_cast<std::size_t>(get(cudaDevAttrSurfaceAlignment));
  p.maxTexture1D = get(cudaDevAttrMaxTexture1DWidth);
  p.maxTexture1DMipmap = get(cudaDevAttrMaxTexture1DMipmappedWidth);
  p.maxTexture2D[0] = get(cudaDevAttrMaxTexture2DWidth);
  p.maxTexture2D[1] = get(cudaDevAttrMaxTexture2DHeight);
  p.maxTexture2DMipmap[0] = get(cudaDevAttrMaxTexture2DMipmappedWidth);
  p.maxTexture2DMipmap[1] = get(cudaDevAttrMaxTexture2DMipmappedHeight);
  p.maxTexture2DLinear[0] = get(cudaDevAttrMaxTexture2DLinearWidth);
  p.maxTexture2DLinear[1] = get(cudaDevAttrMaxTexture2DLinearHeight);
  p.maxTexture2DLinear[2] = get(cudaDevAttrMaxTexture2DLinearPitch);
  p.maxTexture2DGather[0] = get(cudaDevAttrMaxTexture2DGatherWidth);
  p.maxTexture2DGather[1] = get(cudaDevAttrMaxTexture2DGatherHeight);
  for (int i = 0; i < 3; ++i) {
    p.maxTexture3D[i] = get(cudaDevAttrMaxTexture3DWidth + i);
    p.maxTexture3DAlt[i] = get(cudaDevAttrMaxTexture3DWidthAlt + i);
    p.maxSurface3D[i] = get(cudaDevAttrMaxSurface3DWidth + i);
  }
  p.maxTextureCubemap = get(cudaDevAttrMaxTextureCubemapWidth);
  p.maxTexture1DLayered[0] = get(cudaDevAttrMaxTexture1DLayeredWidth);
  p.maxTexture1DLayered[1] = get(cudaDevAttrMaxTexture1DLayeredLayers);
  p.maxTexture2DLayered[0] = get(cudaDevAttrMaxTexture2DLayeredWidth);
  p.maxTexture2DLayered[1] = get(cudaDevAttrMaxTexture2DLayeredHeight);
  p.maxTexture2DLayered[2] = get(cudaDevAttrMaxTexture2DLayeredLayers);
  p.maxTextureCubemapLayered[0] = get(cudaDevAttrMaxTextureCubemapLayeredWidth);
  p.maxTextureCubemapLayered[1] = get(cudaDevAttrMaxTextureCubemapLayeredLayers);
  p.maxSurface1D = get(cudaDevAttrMaxSurface1DWidth);
  p.maxSurface2D[0] = get(cudaDevAttrMaxSurface2DWidth);
  p.maxSurface2D[1] = get(cudaDevAttrMaxSurface2DHeight);
  p.maxSurface1DLayered[0] = get(cudaDevAttrMaxSurface1DLayeredWidth);
  p.maxSurface1DLayered[1] = get(cudaDevAttrMaxSurface1DLayeredLayers);
  p.maxSurface2DLayered[0] = get(cudaDevAttrMaxSurface2DLayeredWidth);
  p.maxSurface2DLayered[1] = get(cudaDevAttrMaxSurface2DLayeredHeight);
  p.maxSurface2DLayered[2] = get(cudaDevAttrMaxSurface2DLayeredLayers);
  p.maxSurfaceCubemap = get(cudaDevAttrMaxSurfaceCubemapWidth);
  p.maxSurfaceCubemapLayered[0] = get(cudaDevAttrMaxSurfaceCubemapLayeredWidth);
  p.maxSurfaceCubemapLayered[1] = get(cudaDevAttrMaxSurfaceCubemapLayeredLayers);
  return p;
}

}  // namespace sim::runtime
