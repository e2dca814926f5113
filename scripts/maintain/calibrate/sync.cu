// Barriers: what they cost the thread that executes them, and the latency of a signal.
#include <algorithm>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int SMEM_BYTES = 120 * 1024;
constexpr int COUNT = 32;        // of one instruction in a row
constexpr int REPETITIONS = 24;  // the first is not used

enum class Instruction { ARRIVE, BAR_SYNC };

/// COUNT of the same by all warps. Cycles that thread 0 sees, for all of them together.
template <Instruction INSTRUCTION>
__global__ void repeat_instruction(int* cycles) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const uint32_t mine = ptx::smem_address(smem) + 8 * (threadIdx.x / 32);
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_init(mine, 1);
    ptx::fence_mbarrier_init();  // orders the init before the arrivals
  }
  for (int repetition = 0; repetition < REPETITIONS; ++repetition) {
    __syncthreads();
    const int64_t start = clock64();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if constexpr (INSTRUCTION == Instruction::BAR_SYNC)
        ptx::bar_sync(1, blockDim.x);
      else if (threadIdx.x % 32 == 0)
        ptx::mbarrier_arrive(mine);
    }
    const int64_t end = clock64();
    if (threadIdx.x == 0) cycles[repetition] = static_cast<int>(end - start);
  }
}

template <Instruction INSTRUCTION>
void repeat(Context& context, const char* name, int warps) {
  const auto kernel = repeat_instruction<INSTRUCTION>;
  harness::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  const DeviceArray<int> cycles(REPETITIONS);
  kernel<<<1, 32 * warps, SMEM_BYTES, context.stream>>>(cycles.data());
  harness::check(cudaGetLastError(), std::string("launching ") + name);
  context.synchronize(std::string("timing ") + name);
  std::vector<double> values;
  const std::vector<int> measured = cycles.read();
  for (size_t i = 1; i < measured.size(); ++i) values.push_back(static_cast<double>(measured[i]) / COUNT);
  context.results.add(format("instruction=%s warps=%d", name, warps), "one of a row", "cycles", Summary(values));
}

enum class Signal { LOCAL, REMOTE, CLUSTER_BARRIER };

/// Two parties answer each other: warps 0 and 4 of a CTA, or warp 0 of two CTAs. Cycles of each round trip.
template <Signal SIGNAL>
__global__ void ping_pong(int rounds, int* cycles) {
  extern __shared__ __align__(1024) uint8_t smem[];
  constexpr bool REMOTE = SIGNAL != Signal::LOCAL;
  const uint32_t base = ptx::smem_address(smem), warp = threadIdx.x / 32;
  const uint32_t rank = REMOTE ? ptx::cluster_ctarank() : 0;
  const auto meet = [] {
    if constexpr (REMOTE) {
      ptx::barrier_cluster_arrive();
      ptx::barrier_cluster_wait();
    } else {
      __syncthreads();
    }
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(base, 1);
    ptx::mbarrier_init(base + 8, 1);
    ptx::fence_mbarrier_init();  // orders the inits before the peer's arrivals
  }
  __syncwarp();
  meet();
  const bool serves = REMOTE ? rank == 0 : warp == 0;
  const uint32_t mine = REMOTE ? base : base + (serves ? 0 : 8);
  const uint32_t other = REMOTE ? ptx::mapa(base, rank ^ 1) : base + (serves ? 8 : 0);
  const auto signal = [&] {
    if (threadIdx.x % 32 != 0) return;
    if constexpr (SIGNAL == Signal::LOCAL) ptx::mbarrier_arrive(other);
    if constexpr (SIGNAL == Signal::REMOTE) ptx::mbarrier_arrive_cluster(other);
  };
  if (warp == 0 || (!REMOTE && warp == 4) || SIGNAL == Signal::CLUSTER_BARRIER) {
    for (int round = 0; round < rounds; ++round) {
      const int64_t start = clock64();
      if constexpr (SIGNAL == Signal::CLUSTER_BARRIER) {
        meet();
      } else {
        if (serves) signal();
        ptx::mbarrier_wait(mine, round & 1);
        __syncwarp();
        if (!serves) signal();
      }
      if (threadIdx.x == 0 && rank == 0) cycles[round] = static_cast<int>(clock64() - start);
    }
  }
  __syncwarp();
  meet();  // no CTA may exit while its peer still arrives at its barriers
}

template <Signal SIGNAL>
void measure_signal(Context& context, const char* name) {
  const int rounds = context.scaled(64, 4);
  const unsigned ctas = SIGNAL == Signal::LOCAL ? 1 : 2;
  const DeviceArray<int> cycles(static_cast<size_t>(rounds));
  const auto kernel = ping_pong<SIGNAL>;
  harness::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  cudaLaunchAttribute attribute{.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {ctas, 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = ctas,
                            .blockDim = 256,
                            .dynamicSmemBytes = SMEM_BYTES,
                            .stream = context.stream,
                            .attrs = &attribute,
                            .numAttrs = 1};
  harness::check(cudaLaunchKernelEx(&config, kernel, rounds, cycles.data()), std::string("launching ") + name);
  context.synchronize(std::string("timing ") + name);
  const std::vector<int> measured = cycles.read();
  context.results.add(format("signal=%s ctas=%u", name, ctas), "round trip", "cycles",
                      Summary({measured.begin() + 1, measured.end()}));
}

}  // namespace

void run_sync(Context& context) {
  repeat<Instruction::ARRIVE>(context, "mbarrier_arrive", 1);
  repeat<Instruction::BAR_SYNC>(context, "bar_sync", 4);
  measure_signal<Signal::LOCAL>(context, "mbarrier");
  measure_signal<Signal::REMOTE>(context, "mbarrier_cluster");
  measure_signal<Signal::CLUSTER_BARRIER>(context, "cluster_barrier");
}

}  // namespace calibrate
