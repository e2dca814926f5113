// Barriers, fences and single instructions: what they cost the thread that executes them, and the latency of a signal.
#include <algorithm>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int SMEM_BYTES = 120 * 1024;
constexpr int COUNT = 32;        // of one instruction in a row
constexpr int REPETITIONS = 24;  // the first is not used

enum class What {
  NOTHING,
  ARRIVE,
  WAIT,
  ARRIVE_AND_WAIT,
  BAR_SYNC,
  FENCE_PROXY_ASYNC,
  FENCE_MBARRIER_INIT,
  THREADFENCE,
  THREADFENCE_BLOCK,
  SYNCWARP,
  SHFL,
  ELECT,
  CONVERT,
  FMA,
  FMA_CHAIN,
  INTEGER_CHAIN,
  STORE_SHARED,
  GLOBALTIMER,
  COMMIT_BULK,
  WAIT_BULK,
};

__device__ __forceinline__ float here(float value) {
  int bits = __float_as_int(value);
  ptx::compute_here(bits);
  return __int_as_float(bits);
}

/// COUNT of the same by all warps. Cycles that thread 0 sees, for all of them together.
template <What WHAT>
__global__ void repeat_instruction(int* cycles, float* sink) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const uint32_t base = ptx::smem_address(smem), mine = base + 8 * (threadIdx.x / 32);
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_init(mine, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (WHAT == What::WAIT && threadIdx.x % 32 == 0) ptx::mbarrier_arrive(mine);
  __syncthreads();
  float x = static_cast<float>(threadIdx.x), y[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) y[i] = here(x + static_cast<float>(i));
  int integer = static_cast<int>(threadIdx.x);
  uint32_t phase = 0;
  for (int repetition = 0; repetition < REPETITIONS; ++repetition) {
    __syncthreads();
    const int64_t start = clock64();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      if constexpr (WHAT == What::ARRIVE) {
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(mine);
      }
      if constexpr (WHAT == What::WAIT) ptx::mbarrier_wait(mine, 0);
      if constexpr (WHAT == What::ARRIVE_AND_WAIT) {
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(mine);
        ptx::mbarrier_wait(mine, phase);
        __syncwarp();  // else lane 0 could arrive again before the others have seen this phase
        phase ^= 1;
      }
      if constexpr (WHAT == What::BAR_SYNC) ptx::bar_sync(1, blockDim.x);
      if constexpr (WHAT == What::FENCE_PROXY_ASYNC) ptx::fence_proxy_async_shared();
      if constexpr (WHAT == What::FENCE_MBARRIER_INIT) ptx::fence_mbarrier_init();
      if constexpr (WHAT == What::THREADFENCE) __threadfence();
      if constexpr (WHAT == What::THREADFENCE_BLOCK) __threadfence_block();
      if constexpr (WHAT == What::SYNCWARP) __syncwarp();
      if constexpr (WHAT == What::SHFL) integer = __shfl_sync(0xFFFFFFFF, integer, integer & 31);
      if constexpr (WHAT == What::ELECT) integer += ptx::elect_sync();
      // Plain arithmetic stays between the two clocks only if it is computed here.
      if constexpr (WHAT == What::CONVERT) {
        int packed = static_cast<int>(ptx::cvt_rn_bf16x2_f32(here(y[i % 8]), here(y[(i + 1) % 8])));
        ptx::compute_here(packed);
        integer = packed;
      }
      if constexpr (WHAT == What::FMA) y[i % 8] = here(fmaf(y[i % 8], 1.0001f, 1.0f));
      if constexpr (WHAT == What::FMA_CHAIN) x = here(fmaf(x, 1.0001f, 1.0f));
      if constexpr (WHAT == What::INTEGER_CHAIN) {
        integer = integer * 3 + 1;
        ptx::compute_here(integer);
      }
      if constexpr (WHAT == What::STORE_SHARED) *reinterpret_cast<volatile int*>(smem + 4096 + 4 * threadIdx.x) = i;
      if constexpr (WHAT == What::GLOBALTIMER) integer += static_cast<int>(ptx::globaltimer());
      if constexpr (WHAT == What::COMMIT_BULK) ptx::cp_async_bulk_commit_group();
      if constexpr (WHAT == What::WAIT_BULK) ptx::cp_async_bulk_wait_group_read<0>();
    }
    const int64_t end = clock64();
    if (threadIdx.x == 0) cycles[repetition] = static_cast<int>(end - start);
  }
  for (const float value : y) x += value;
  if (x == 0.123f || integer == 0x12345679) *sink = x;
}

template <What WHAT>
void repeat(Context& context, const char* name) {
  const auto kernel = repeat_instruction<WHAT>;
  harness::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  for (const int threads : {32, 128, 256, 384}) {
    const DeviceArray<int> cycles(REPETITIONS);
    const DeviceArray<float> sink(1);
    kernel<<<1, threads, SMEM_BYTES, context.stream>>>(cycles.data(), sink.data());
    harness::check(cudaGetLastError(), std::string("launching ") + name);
    context.synchronize(std::string("timing ") + name);
    std::vector<double> values;
    const std::vector<int> measured = cycles.read();
    for (size_t i = 1; i < measured.size(); ++i) values.push_back(static_cast<double>(measured[i]) / COUNT);
    context.results.add(format("instruction=%s warps=%d", name, threads / 32), "one of a row", "cycles",
                        Summary(values));
    if (context.quick) break;
  }
}

enum class Signal { LOCAL, REMOTE, REMOTE_RELEASE, NAMED_BARRIER, CLUSTER_BARRIER };

/// Two parties answer each other: warps 0 and 4 of a CTA, or warp 0 of two CTAs. Cycles of each round trip.
template <Signal SIGNAL>
__global__ void ping_pong(int rounds, int* cycles) {
  extern __shared__ __align__(1024) uint8_t smem[];
  constexpr bool REMOTE =
      SIGNAL == Signal::REMOTE || SIGNAL == Signal::REMOTE_RELEASE || SIGNAL == Signal::CLUSTER_BARRIER;
  const uint32_t base = ptx::smem_address(smem), warp = threadIdx.x / 32;
  const uint32_t rank = REMOTE ? ptx::cluster_ctarank() : 0;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(base, 1);
    ptx::mbarrier_init(base + 8, 1);
    ptx::fence_mbarrier_init();
  }
  __syncwarp();
  if constexpr (REMOTE) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  } else {
    __syncthreads();
  }
  const bool serves = REMOTE ? rank == 0 : warp == 0;
  const uint32_t mine = REMOTE ? base : base + (serves ? 0 : 8);
  const uint32_t other = REMOTE ? ptx::mapa(base, rank ^ 1) : base + (serves ? 8 : 0);
  const auto signal = [&] {
    if (threadIdx.x % 32 != 0) return;
    if constexpr (SIGNAL == Signal::LOCAL) ptx::mbarrier_arrive(other);
    if constexpr (SIGNAL == Signal::REMOTE) ptx::mbarrier_arrive_cluster(other);
    if constexpr (SIGNAL == Signal::REMOTE_RELEASE) ptx::mbarrier_arrive_release_cluster(other);
  };
  if (warp == 0 || (!REMOTE && warp == 4) || SIGNAL == Signal::CLUSTER_BARRIER || SIGNAL == Signal::NAMED_BARRIER) {
    for (int round = 0; round < rounds; ++round) {
      const int64_t start = clock64();
      if constexpr (SIGNAL == Signal::CLUSTER_BARRIER) {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_wait();
      } else if constexpr (SIGNAL == Signal::NAMED_BARRIER) {  // one warpgroup waits, the other only arrives
        if (warp < 4) {
          ptx::bar_arrive(1, 256);
          ptx::bar_sync(2, 256);
        } else {
          ptx::bar_sync(1, 256);
          ptx::bar_arrive(2, 256);
        }
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
  if constexpr (REMOTE) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
}

template <Signal SIGNAL>
void measure_signal(Context& context, const char* name, int cluster) {
  const int rounds = context.scaled(64, 4);
  const DeviceArray<int> cycles(static_cast<size_t>(rounds));
  const auto kernel = ping_pong<SIGNAL>;
  harness::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  cudaLaunchAttribute attribute{.id = cudaLaunchAttributeClusterDimension,
                                .val = {.clusterDim = {static_cast<unsigned>(cluster), 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = static_cast<unsigned>(cluster),
                            .blockDim = 256,
                            .dynamicSmemBytes = SMEM_BYTES,
                            .stream = context.stream,
                            .attrs = &attribute,
                            .numAttrs = 1};
  harness::check(cudaLaunchKernelEx(&config, kernel, rounds, cycles.data()), std::string("launching ") + name);
  context.synchronize(std::string("timing ") + name);
  std::vector<double> values;
  const std::vector<int> measured = cycles.read();
  for (size_t i = 1; i < measured.size(); ++i) values.push_back(measured[i]);
  context.results.add(format("signal=%s ctas=%d", name, cluster), "round trip", "cycles", Summary(values));
}

}  // namespace

void run_sync(Context& context) {
  repeat<What::NOTHING>(context, "nothing");
  repeat<What::ARRIVE>(context, "mbarrier_arrive");
  repeat<What::WAIT>(context, "mbarrier_wait_done");
  repeat<What::ARRIVE_AND_WAIT>(context, "mbarrier_arrive_and_wait");
  repeat<What::BAR_SYNC>(context, "bar_sync");
  repeat<What::FENCE_PROXY_ASYNC>(context, "fence_proxy_async_shared");
  repeat<What::FENCE_MBARRIER_INIT>(context, "fence_mbarrier_init");
  repeat<What::THREADFENCE>(context, "threadfence");
  repeat<What::THREADFENCE_BLOCK>(context, "threadfence_block");
  repeat<What::SYNCWARP>(context, "syncwarp");
  repeat<What::SHFL>(context, "shfl_chain");
  repeat<What::ELECT>(context, "elect_sync");
  repeat<What::CONVERT>(context, "cvt_bf16x2");
  repeat<What::FMA>(context, "fma");
  repeat<What::FMA_CHAIN>(context, "fma_chain");
  repeat<What::INTEGER_CHAIN>(context, "imad_chain");
  repeat<What::STORE_SHARED>(context, "st_shared");
  repeat<What::GLOBALTIMER>(context, "globaltimer");
  repeat<What::COMMIT_BULK>(context, "bulk_commit");
  repeat<What::WAIT_BULK>(context, "bulk_wait");
  measure_signal<Signal::LOCAL>(context, "mbarrier", 1);
  measure_signal<Signal::REMOTE>(context, "mbarrier_cluster", 2);
  measure_signal<Signal::REMOTE_RELEASE>(context, "mbarrier_release_cluster", 2);
  measure_signal<Signal::NAMED_BARRIER>(context, "named_barriers", 1);
  measure_signal<Signal::CLUSTER_BARRIER>(context, "cluster_barrier", 2);
  measure_signal<Signal::CLUSTER_BARRIER>(context, "cluster_barrier", 4);
}

}  // namespace calibrate
