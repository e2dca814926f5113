// Split-K: several CTAs multiply a slice of K each of the same tile; the last warp to finish adds up and stores D.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <utility>

#include "common/mma/slices.cuh"
#include "level08_deep_pipeline/production/sm90/ring.cuh"

namespace production {

/// Executed by a whole consumer. Of the warps with the same rows of D, the last to finish stores them.
template <class Config, class Accumulators>
__device__ __forceinline__ void add_up_slices(const Cta<Config>& cta, Accumulators& accumulators, const WorkTile& tile,
                                              int consumer) {
  const mma::Slices& slices = cta.params.slices;
  const int number = cta.worker * Config::CLUSTER_SIZE + static_cast<int>(cta.rank);  // of the tile
  const int thread = static_cast<int>(threadIdx.x) - 128;
  const int row = tile.row + (cta.m_part(consumer) * tile.m_subtiles * 4 + thread / 32 % 4) * 16;
  if (mma::sum_slices<128 * Config::NUM_CONSUMERS>(accumulators, slices, number, cta.slice, thread))
    mma::store_fragments<Config::SWAPS_AB>(accumulators, slices, row,
                                           tile.col + cta.n_part(consumer) * Config::WGMMA_N);
}

/// SMs of the current device; 132, as on an H100 or H200, if the runtime reports none.
inline int count_sms() {
  int device = 0, num_sms = 132;
  if (cudaGetDevice(&device) == cudaSuccess) cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, device);
  return num_sms;
}

/// The split-K workspace, where slices are added up: 128 KB and a few counters for each SM. The launches of a stream
/// share it, since they run one after the other. Returns the driver's error if it cannot allocate the memory.
inline cudaError_t find_workspace(int device, cudaStream_t stream, mma::Slices* slices) {
  constexpr size_t SUMS = 128 * 1024, COUNTERS = 8 * sizeof(uint32_t);
  thread_local std::map<std::pair<int, cudaStream_t>, void*> workspaces;
  void*& workspace = workspaces[{device, stream}];
  const size_t sms = count_sms();
  if (workspace == nullptr) {
    void* found = nullptr;
    cudaError_t status = cudaMalloc(&found, sms * (SUMS + COUNTERS));
    if (status == cudaSuccess) status = cudaMemsetAsync(found, 0, sms * COUNTERS, stream);
    if (status != cudaSuccess) return status;
    workspace = found;
  }
  slices->counters = static_cast<uint32_t*>(workspace);
  slices->sums = reinterpret_cast<float4*>(static_cast<uint8_t*>(workspace) + sms * COUNTERS);
  return cudaSuccess;
}

}  // namespace production
