// The launch of a product.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "common/harness/level.h"
#include "common/mma/tensor_map.h"
#include "level08_deep_pipeline/production/sm100/cta.cuh"

namespace production {

template <class Config>
__global__ void __cluster_dims__(Config::CTA_GROUP, 1, 1) __launch_bounds__(Config::NUM_THREADS, 1)
    gemm_sm100(const __grid_constant__ Params params);

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why).
/// Returns the first error that the driver reports for the tensor maps or the launch.
template <Options OPTIONS>
cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  using Config = production::Config<OPTIONS>;
  using Smem = SmemOf<Config>;
  Params params{.m = problem.m, .n = problem.n, .k = problem.k};
  cudaError_t status = mma::encode_tensor_map_2d(&params.map_a, problem.a, problem.m, problem.k, problem.k,
                                                 Config::BLOCK_M, Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status = mma::encode_tensor_map_2d(&params.map_b, problem.b, problem.n, problem.k, problem.k,
                                     Config::BLOCK_N / Config::CTA_GROUP, Config::BLOCK_K, mma::Swizzle::B128);
  if (status != cudaSuccess) return status;
  status =
      mma::encode_tensor_map_2d(&params.map_d, problem.d, problem.m, problem.n, problem.ldd, Config::SUBTILE_M,
                                Config::STORE_BLOCK_N, Config::SWIZZLED_CD ? mma::Swizzle::B128 : mma::Swizzle::None);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(gemm_sm100<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize, Smem::BYTES);
  if (status != cudaSuccess) return status;

  // [L05] As many clusters as fit on the GPU at once, but no more than there are tiles; with CLC as many as there are
  // tiles.
  cudaLaunchAttribute cluster{.id = cudaLaunchAttributeClusterDimension,
                              .val = {.clusterDim = {Config::CTA_GROUP, 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = Config::CTA_GROUP,
                            .blockDim = Config::NUM_THREADS,
                            .dynamicSmemBytes = Smem::BYTES,
                            .stream = stream,
                            .attrs = &cluster,
                            .numAttrs = 1};
  int clusters = 0;
  status = cudaOccupancyMaxActiveClusters(&clusters, gemm_sm100<Config>, &config);
  if (status != cudaSuccess) return status;
  const int m_blocks = padded_m_blocks<Config>(problem.m);
  const int tiles = m_blocks * ((problem.n + Config::BLOCK_N - 1) / Config::BLOCK_N);
  config.gridDim = Config::CLC ? tiles : std::min(Config::CTA_GROUP * clusters, tiles);  // even: both terms are
  return cudaLaunchKernelEx(&config, gemm_sm100<Config>, params);
}

}  // namespace production
