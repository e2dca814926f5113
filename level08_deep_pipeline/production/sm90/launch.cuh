// The launches of a product: tensor maps and grids, which each host thread keeps for problems that it has seen.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "common/harness/level.h"
#include "common/mma/tensor_map.h"
#include "level08_deep_pipeline/production/sm90/split_k.cuh"

namespace production {

template <class Config>
__global__ void gemm_sm90(const __grid_constant__ Params params);

/// A launch and its arguments, prepared once per problem and enqueued as often as needed.
struct Launch {
  const void* kernel;
  cudaLaunchConfig_t config;  ///< without the stream and the pointer to `attributes`, which enqueue() sets
  cudaLaunchAttribute attributes[2];
  Params params;

  cudaError_t enqueue(cudaStream_t stream) {
    config.attrs = attributes;
    config.stream = stream;
    void* arguments[] = {&params};
    return cudaLaunchKernelExC(&config, kernel, arguments);
  }
};

/// The tensor maps of A or B, row-major [rows, k], of which a CTA loads `load_rows` x `block_k` elements at a time.
inline cudaError_t encode_operand(CUtensorMap (&maps)[2], Operand* operand, const __nv_bfloat16* matrix, int rows,
                                  int k, int load_rows, int block_k) {
  operand->rows = rows;
  operand->end_rows = (rows - 1) % load_rows + 1;
  const auto encode = [&](CUtensorMap* map, int box_rows) {
    return mma::encode_tensor_map_2d(map, matrix, rows, k, k, box_rows, block_k, mma::Swizzle::B128);
  };
  const cudaError_t status = encode(&maps[0], load_rows);
  return status != cudaSuccess ? status : encode(&maps[1], operand->end_rows);
}

/// The tensor maps of one part of a product, which `problem` describes.
template <class Config>
inline cudaError_t encode_maps(const harness::Problem& problem, Params* params) {
  cudaError_t status =
      encode_operand(params->maps.a, &params->a, problem.a, problem.m, problem.k, Config::A_LOAD_ROWS, Config::BLOCK_K);
  if (status != cudaSuccess) return status;
  status =
      encode_operand(params->maps.b, &params->b, problem.b, problem.n, problem.k, Config::B_LOAD_ROWS, Config::BLOCK_K);
  if (status != cudaSuccess) return status;
  const int rows = Config::SWAPS_AB ? problem.n : problem.m, columns = Config::SWAPS_AB ? problem.m : problem.n;
  return mma::encode_tensor_map_2d(&params->maps.d, problem.d, rows, columns, problem.ldd,
                                   Config::SWAPS_AB ? Config::CD_N : Config::WGMMA_M, Config::CD_SPAN,
                                   Config::CD_SWIZZLE);
}

/// Adds to `launches` one for clusters of Config, which computes the work tiles of `schedule` for its workers from
/// `*worker` on. Sets `*worker` to the first worker that is left over: of clusters that share A, no more are launched
/// than are resident at the same time. `problem` is the schedule's part of the whole.
template <class Config>
inline cudaError_t prepare_part(const harness::Problem& problem, const Schedule& schedule, int* worker, int split_k,
                                std::vector<Launch>* launches) {
  const bool secondary = !launches->empty();
  const int ctas_per_worker = Config::CLUSTER_M * schedule.width * split_k;
  int workers = schedule.workers - *worker;
  Launch launch{
      .kernel = reinterpret_cast<const void*>(gemm_sm90<Config>),
      .config = {.gridDim = static_cast<unsigned>(workers * ctas_per_worker),
                 .blockDim = Config::NUM_THREADS,
                 .dynamicSmemBytes = SmemOf<Config>::BYTES,
                 .numAttrs = secondary ? 2u : 1u},
      .attributes = {{.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {Config::CLUSTER_SIZE, 1, 1}}},
                     {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                      .val = {.programmaticStreamSerializationAllowed = 1}}},
      .params = {.k = problem.k,
                 .schedule = schedule,
                 .first_worker = *worker,
                 .secondary = secondary,
                 .slices = {.count = split_k, .d = problem.d, .m = problem.m, .n = problem.n, .ldd = problem.ldd}}};
  cudaError_t status = encode_maps<Config>(problem, &launch.params);
  if (status != cudaSuccess) return status;
  status = cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SmemOf<Config>::BYTES);
  if (status != cudaSuccess) return status;
  if constexpr (Config::CLUSTER_N > 1 && !Config::WHOLE_CLUSTERS) {
    int resident = 0;
    launch.config.attrs = launch.attributes;
    status = cudaOccupancyMaxActiveClusters(&resident, launch.kernel, &launch.config);
    if (status != cudaSuccess) return status;
    workers = std::min(workers, resident);
    if (workers == 0) return cudaSuccess;
    launch.config.gridDim = static_cast<unsigned>(workers * ctas_per_worker);
  }
  *worker += workers;
  launches->push_back(launch);
  return cudaSuccess;
}

/// The launches of a product, up to three that run side by side.
template <TileShape SHAPE>
inline cudaError_t prepare(harness::Problem problem, std::vector<Launch>* launches) {
  if (SHAPE.swap_ab) std::swap(problem.m, problem.n), std::swap(problem.a, problem.b);  // and D keeps its address
  const Plan plan = make_plan(SHAPE, problem.m, problem.n, problem.k, count_sms());
  harness::Problem main = problem, remainder = problem;
  main.n = plan.main_n;
  remainder.n -= plan.main_n;
  remainder.b += static_cast<size_t>(plan.main_n) * problem.k;
  remainder.d += plan.main_n * (SHAPE.swap_ab ? problem.ldd : 1);
  // Of the workers, whole clusters are as many as are resident. Single columns of clusters are the others, and those of
  // the N remainder.
  cudaError_t status = cudaSuccess;
  int worker = 0, remainder_worker = 0;
  if (plan.main.workers > 0) status = prepare_part<Config<SHAPE>>(main, plan.main, &worker, plan.split_k, launches);
  if constexpr (!SHAPE.whole_clusters) {
    using Column = Config<SHAPE.column()>;
    if (status == cudaSuccess && worker < plan.main.workers)
      status = prepare_part<Column>(main, plan.main, &worker, 1, launches);
    if (status == cudaSuccess && plan.remainder.workers > 0)
      status = prepare_part<Column>(remainder, plan.remainder, &remainder_worker, 1, launches);
  }
  // A single launch may start before the launch in front of it has ended. The first of several may not: its secondary
  // launches start with it, and wait only for its end.
  if (launches->size() == 1) launches->front().config.numAttrs = 2;
  return status;
}

/// Enqueues D = A * B^T on `stream`. Any m >= 1; n, k, ldd multiples of 8 (harness::Problem says why). Returns the
/// first error that the driver reports for tensor maps, launches or, with split-K, memory for the workspace, which a
/// host thread keeps for each stream. A problem that this thread has seen before costs the host only its launches.
template <TileShape SHAPE>
inline cudaError_t launch(const harness::Problem& problem, cudaStream_t stream) {
  constexpr size_t MOST_REMEMBERED = 1024;
  thread_local std::map<std::pair<int, harness::Problem>, std::vector<Launch>> remembered;  // by device and problem
  int device = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status != cudaSuccess) return status;
  const auto key = std::make_pair(device, problem);
  auto found = remembered.find(key);
  if (found == remembered.end()) {
    std::vector<Launch> launches;
    status = prepare<SHAPE>(problem, &launches);
    if (status != cudaSuccess) return status;
    if (remembered.size() == MOST_REMEMBERED) remembered.clear();
    found = remembered.emplace(key, std::move(launches)).first;
  }
  for (Launch& launch : found->second) {
    if (launch.params.slices.count > 1) status = find_workspace(device, stream, &launch.params.slices);
    if (status == cudaSuccess) status = launch.enqueue(stream);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace production
