// The tensor core of Hopper, without memory: how long MMAs take, alone, in rows, from one warpgroup and from two, and
// with the barriers of a ring around them.
#include <algorithm>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/mma/smem_descriptor.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/wgmma.cuh"
#include "tensor_sm90.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int SMEM_BYTES = 120 * 1024;  // one CTA per SM
constexpr int STAGES = 4;
constexpr int OPERANDS = 1024;  // two chains of A for each of two warpgroups, then B

/// One warpgroup's accumulators and operands.
template <int N, int CHAINS>
struct Core {
  uint64_t a, b;
  float accumulators[CHAINS][N / 2];

  __device__ Core(uint32_t base, int warpgroup) {
    mma::SmemDescriptorSm90 descriptor{.start_address = base + OPERANDS + warpgroup * CHAINS * 64 * 128,
                                       .stride_byte_offset = 8 * 128,
                                       .swizzle = mma::Swizzle::B128};
    a = descriptor.encode();
    descriptor.start_address = base + OPERANDS + 4 * 64 * 128;
    b = descriptor.encode();
  }
  __device__ __forceinline__ void step(int kk, bool accumulate) {
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain)
      ptx::wgmma_m64k16_bf16(accumulators[chain], mma::advance(a, chain * 64 * 128 + kk * 32), mma::advance(b, kk * 32),
                             accumulate);
  }
  __device__ __forceinline__ void k_block(bool accumulate) {
    ptx::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < 4; ++kk) step(kk, accumulate || kk > 0);
    ptx::wgmma_commit_group();
  }
};

enum class Pattern {
  ROW,            ///< `depth` MMAs, then wait for them
  WAIT_FOR_ALL,   ///< K blocks, each waited for: wait_group 0
  WAIT_FOR_LAST,  ///< K blocks, the one before waited for: wait_group 1
  BLOCK_BARRIER,  ///< wait_group 0 and a barrier of the warpgroup after each, as in level 01
  RING,           ///< a producer warp arrives at full barriers without bytes, and waits for empty ones
  OWN_RING,       ///< the same by one of the warpgroup's own threads, as in level 02
};

/// Cycles of every repetition, by warpgroup: of `count` K blocks, or of one row of `depth` MMAs after a pause of `gap`
/// cycles.
template <int N, int CHAINS>
__global__ void __launch_bounds__(384, 1) time_mma(Pattern pattern, int warpgroups, int count, int depth, int gap,
                                                   int repetitions, int* cycles, float* sink) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const uint32_t warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  const uint32_t base = ptx::smem_address(smem);
  const auto full = [&](int stage) { return base + 8 * stage; };
  const auto empty = [&](int stage) { return base + 8 * (STAGES + stage); };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      ptx::mbarrier_init(empty(stage), 4 * warpgroups);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (warp < 4) {
    ptx::setmaxnreg_dec<40>();
    if (pattern == Pattern::RING && warp == 0 && ptx::elect_sync()) {
      int stage = 0;
      uint32_t phase = 0;
      for (int i = 0; i < count * repetitions; ++i) {
        ptx::mbarrier_wait(empty(stage), phase ^ 1);
        ptx::mbarrier_arrive(full(stage));
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
    }
    return;
  }
  ptx::setmaxnreg_inc<232>();
  const int warpgroup = static_cast<int>(warp) / 4 - 1;
  if (warpgroup >= warpgroups) return;
  Core<N, CHAINS> core(base, warpgroup);
  int stage = 0;
  uint32_t phase = 0;
  int* const my_cycles = cycles + warpgroup * repetitions;
  const bool ring = pattern == Pattern::RING || pattern == Pattern::OWN_RING;
  const bool fills = pattern == Pattern::OWN_RING && threadIdx.x == 128;
  if (fills) {
    for (int i = 0; i < STAGES; ++i) ptx::mbarrier_arrive(full(i));
  }
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    ptx::bar_sync(1, 128 * warpgroups);  // together
    const int64_t pause = clock64();
    while (clock64() - pause < gap) {}
    __syncwarp();
    const int64_t start = clock64();
    if (pattern == Pattern::ROW) {
      ptx::wgmma_fence();
      for (int i = 0; i < depth; ++i) core.step(0, i > 0);
      ptx::wgmma_commit_group();
    } else {
      for (int block = 0; block < count; ++block) {
        if (ring) {
          ptx::mbarrier_wait(full(stage), phase);
          __syncwarp();
        }
        core.k_block(block > 0);
        if (pattern == Pattern::WAIT_FOR_ALL || pattern == Pattern::BLOCK_BARRIER) {
          ptx::wgmma_wait_group<0>();
          if (pattern == Pattern::BLOCK_BARRIER) ptx::bar_sync(2 + warpgroup, 128);
        } else {
          ptx::wgmma_wait_group<1>();
        }
        if (ring) {
          const bool first = repetition == 0 && block == 0;  // no stage is done yet
          const int done = stage == 0 ? STAGES - 1 : stage - 1;
          const uint32_t done_phase = stage == 0 ? phase ^ 1 : phase;
          if (!first) {
            if (lane == 0) ptx::mbarrier_arrive(empty(done));
            if (fills) {
              ptx::mbarrier_wait(empty(done), done_phase);
              ptx::mbarrier_arrive(full(done));
            }
          }
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
      }
    }
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) ptx::wgmma_wait_group<0>(core.accumulators[chain]);
    const int64_t end = clock64();
    if (threadIdx.x % 128 == 0) my_cycles[repetition] = static_cast<int>(end - start);
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) keep(core.accumulators[chain], sink);
  }
}

template <int N, int CHAINS>
struct Bench {
  Context& context;

  Summary measure(Pattern pattern, int warpgroups, int count, int depth, int gap, double per) {
    const int repetitions = context.scaled(24, 2);
    const DeviceArray<int> cycles(static_cast<size_t>(warpgroups) * repetitions);
    const DeviceArray<float> sink(1);
    const auto kernel = time_mma<N, CHAINS>;
    harness::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                   "asking for shared memory");
    kernel<<<1, 384, SMEM_BYTES, context.stream>>>(pattern, warpgroups, count, depth, gap, repetitions, cycles.data(),
                                                   sink.data());
    harness::check(cudaGetLastError(), "launching MMAs");
    context.synchronize("timing MMAs");
    std::vector<double> values;
    const std::vector<int> measured = cycles.read();
    for (size_t i = 0; i < measured.size(); ++i) {
      if (i % repetitions > 0) values.push_back(measured[i] / per);  // the first finds cold instructions
    }
    return Summary(values);
  }

  void run() {
    Results& out = context.results;
    const std::string shape = format("n=%d chains=%d", N, CHAINS);
    const int blocks = context.scaled(512, 8);
    for (const int warpgroups : {1, 2}) {
      const std::string setting = shape + format(" warpgroups=%d", warpgroups);
      for (const int depth : {1, 2, 3, 4, 8, 16, 32})
        out.add(setting + format(" depth=%d", depth), "row of MMAs", "cycles",
                measure(Pattern::ROW, warpgroups, 0, depth, 200, 1));
      if (!context.quick) {
        for (const int gap : {0, 100, 1000, 5000})
          out.add(setting + format(" depth=4 gap=%d", gap), "row of MMAs after a pause", "cycles",
                  measure(Pattern::ROW, warpgroups, 0, 4, gap, 1));
      }
      const std::pair<const char*, Pattern> patterns[] = {{"wait_for_all", Pattern::WAIT_FOR_ALL},
                                                          {"wait_for_last", Pattern::WAIT_FOR_LAST},
                                                          {"block_barrier", Pattern::BLOCK_BARRIER},
                                                          {"ring", Pattern::RING},
                                                          {"own_ring", Pattern::OWN_RING}};
      for (const auto& [name, pattern] : patterns) {
        if (pattern == Pattern::OWN_RING && warpgroups > 1) continue;
        out.add(setting + format(" pattern=%s", name), "K block of 64", "cycles",
                measure(pattern, warpgroups, blocks, 0, 0, blocks));
      }
    }
  }
};

}  // namespace

void run_tensor(Context& context) {
  Bench<128, 1>{context}.run();
  Bench<128, 2>{context}.run();
  if (context.quick) return;
  Bench<176, 1>{context}.run();
  Bench<192, 1>{context}.run();
  Bench<192, 2>{context}.run();
  Bench<256, 1>{context}.run();
}

}  // namespace calibrate
