#include "load.h"

#include <algorithm>

#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"
#include "tensor_sm90.cuh"

namespace calibrate {
namespace {

constexpr int MAX_STAGES = 32;
constexpr int MAX_SAMPLES = 1024;
constexpr int STREAM_THREADS = 128;
constexpr int OPERAND_BYTES = (128 + 256) * 128;  // A and B, 64 columns of K each

// Byte offsets from the start of dynamic shared memory.
struct Smem {
  static constexpr int FULL = 0, EMPTY = FULL + 8 * MAX_STAGES, OPERANDS_FULL = EMPTY + 8 * MAX_STAGES;
  static constexpr int STOP = OPERANDS_FULL + 8, VOTE = STOP + 4;  // VOTE: one per warpgroup
  static constexpr int REST = 1024;                                // operands, then the ring
  static_assert(VOTE + 8 <= REST);
};

struct Arguments {
  Walk walk;
  const int2* tiles;
  bool by_sm;
  int tile_count, repeat, stages, pace, warm_blocks;
  const uint8_t* roles;
  int mma_warpgroups, mma_burst, mma_sleep_ns;
  int64_t mma_ns;
  int operand_bytes;  // of shared memory before the ring
  CtaRecord* records;
  ClockSample* samples;
  int sample_ns;
  float* sink;  // never written
};

__device__ ClockSample both_clocks() { return {ptx::globaltimer(), clock64()}; }

__device__ void wait_cycles_until(int64_t cycle) {
  while (clock64() < cycle) {}
}

template <int CLUSTER, int MMA_N>
__global__ void __launch_bounds__(STREAM_THREADS + (MMA_N > 0 ? MMA_THREADS : 0), 1)
    load_kernel(const __grid_constant__ CUtensorMap map, const __grid_constant__ CUtensorMap map_operands,
                const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const uint32_t warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  const int cta = static_cast<int>(blockIdx.x);
  const uint32_t rank = CLUSTER > 1 ? ptx::cluster_ctarank() : 0;
  const int roles = arguments.roles != nullptr ? arguments.roles[ptx::smid()] : STREAMS | MULTIPLIES;
  const uint32_t base = ptx::smem_address(smem);
  const auto full = [&](int stage) { return base + Smem::FULL + 8 * stage; };
  const auto empty = [&](int stage) { return base + Smem::EMPTY + 8 * stage; };
  const uint32_t operands = base + Smem::REST, ring = operands + arguments.operand_bytes;
  volatile int* const stop = reinterpret_cast<int*>(smem + Smem::STOP);
  volatile int* const vote = reinterpret_cast<int*>(smem + Smem::VOTE);
  CtaRecord& record = arguments.records[cta];

  if (threadIdx.x == 0) {
    record.sm = ptx::smid();
    *stop = 0;
    for (int stage = 0; stage < arguments.stages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      ptx::mbarrier_init(empty(stage), 2 * CLUSTER);  // observer and consumer of every CTA
    }
    ptx::mbarrier_init(base + Smem::OPERANDS_FULL, 1);
    ptx::fence_mbarrier_init();  // orders the inits before TMA and the peers use the barriers
  }
  __syncwarp();
  if constexpr (CLUSTER > 1) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  } else {
    __syncthreads();
  }
  const int64_t start_ns = ptx::globaltimer();

  const Walk walk = arguments.walk;
  const bool streams = (roles & STREAMS) != 0 && arguments.tile_count > 0;
  const int blocks = arguments.repeat * arguments.tile_count * walk.k_blocks;
  // Each consumer that is done with a stage notifies all CTAs whose boxes lie in it.
  const auto release = [&](int stage) {
    __syncwarp();
    if constexpr (CLUSTER > 1) {
      if (lane < CLUSTER) ptx::mbarrier_arrive_cluster(ptx::mapa(empty(stage), lane));
    } else {
      if (lane == 0) ptx::mbarrier_arrive(empty(stage));
    }
  };

  if (warp == 0) {  // producer
    if (ptx::elect_sync()) {
      if (MMA_N > 0 && (roles & MULTIPLIES) != 0) {
        ptx::mbarrier_arrive_expect_tx(base + Smem::OPERANDS_FULL, OPERAND_BYTES);
        for (int box = 0; box < 3; ++box)
          ptx::cp_async_bulk_tensor_2d_g2s(operands + box * 128 * 128, &map_operands, 0, box * 128,
                                           base + Smem::OPERANDS_FULL);
      }
      if (streams) {
        const int mine = arguments.by_sm ? static_cast<int>(ptx::smid()) : cta;
        int stage = 0, tile = 0;
        uint32_t phase = 0;
        const int box_bytes = walk.box_bytes(), stage_bytes = walk.stage_bytes();
        for (int turn = 0; turn < arguments.repeat * arguments.tile_count; ++turn) {
          const int2 rows = arguments.tiles[tile * static_cast<int>(gridDim.x) + mine];
          if (++tile == arguments.tile_count) tile = 0;
          for (int block = 0; block < walk.k_blocks; ++block) {
            ptx::mbarrier_wait(empty(stage), phase ^ 1);  // the first pass through the ring passes
            ptx::mbarrier_arrive_expect_tx(full(stage), stage_bytes);
            // In the order of their places in the stage, without a division: a producer should take no longer than one
            // of the levels does.
            uint32_t to = ring + stage * stage_bytes;
            int turn_of = 0;  // whose box it is
            for (int operand = 0; operand < 2; ++operand) {
              const int y = (operand == 0 ? rows.x : rows.y) + block * walk.row_step;
              int x = block * walk.x_step;
              for (int slab = 0; slab < walk.slabs; ++slab, x += walk.box_cols, to += box_bytes) {
                if constexpr (CLUSTER > 1) {
                  if (turn_of == static_cast<int>(rank))
                    ptx::cp_async_bulk_tensor_2d_g2s_multicast(to, &map, x, y, full(stage), (1 << CLUSTER) - 1);
                  if (++turn_of == CLUSTER) turn_of = 0;
                } else {
                  ptx::cp_async_bulk_tensor_2d_g2s(to, &map, x, y, full(stage));
                }
              }
            }
            if (++stage == arguments.stages) stage = 0, phase ^= 1;
          }
        }
      }
    }
    __syncwarp();
  } else if (warp == 1) {  // observer: sees each stage arrive, whatever the consumer does
    if (streams) {
      int stage = 0;
      uint32_t phase = 0;
      ClockSample begin{};
      for (int i = 0; i < blocks; ++i) {
        ptx::mbarrier_wait(full(stage), phase);
        if (i + 1 == arguments.warm_blocks) begin = both_clocks();
        release(stage);
        if (++stage == arguments.stages) stage = 0, phase ^= 1;
      }
      const ClockSample end = both_clocks();
      __syncwarp();
      if (lane == 0) {
        record.begin_ns = begin.nanoseconds, record.begin_cycle = begin.cycle;
        record.end_ns = end.nanoseconds, record.end_cycle = end.cycle;
        record.blocks = blocks - arguments.warm_blocks;
      }
    }
  } else if (warp == 2) {  // consumer: uses each stage for a while; or the one that signals when the time is up
    if (streams) {
      int stage = 0;
      uint32_t phase = 0;
      int64_t done = 0;
      for (int i = 0; i < blocks; ++i) {
        ptx::mbarrier_wait(full(stage), phase);
        if (arguments.pace > 0) {
          const int64_t now = clock64();
          done = (done > now ? done : now) + arguments.pace;
          wait_cycles_until(done);
        }
        release(stage);
        if (++stage == arguments.stages) stage = 0, phase ^= 1;
      }
    } else {
      while (ptx::globaltimer() < start_ns + arguments.mma_ns) __nanosleep(1000);
    }
    __syncwarp();
    if (lane == 0) *stop = 1;
  } else if (warp == 3) {  // in CTA 0, reads the clocks
    if (cta == 0 && arguments.sample_ns > 0 && ptx::elect_sync()) {
      int samples = 0;
      for (int64_t next = start_ns; *stop == 0 && samples < MAX_SAMPLES;) {
        if (ptx::globaltimer() < next) {
          __nanosleep(20'000);
          continue;
        }
        next += arguments.sample_ns;
        arguments.samples[samples++] = both_clocks();
      }
    }
    __syncwarp();
  } else if constexpr (MMA_N > 0) {  // the tensor core, until the consumer says that it is enough
    const int warpgroup = static_cast<int>(warp) / 4 - 1;
    if ((roles & MULTIPLIES) != 0 && warpgroup < arguments.mma_warpgroups) {
      ptx::mbarrier_wait(base + Smem::OPERANDS_FULL, 0);
      __syncwarp();
      const TensorCore core(operands, warpgroup);
      const ClockSample begin = both_clocks();
      int64_t count = 0;
      for (;;) {
        if (threadIdx.x % 128 == 0) vote[warpgroup] = *stop;  // one reads, so that all decide alike
        ptx::bar_sync(1 + warpgroup, 128);
        const bool enough = vote[warpgroup] != 0;
        ptx::bar_sync(1 + warpgroup, 128);
        if (enough) break;
        core.multiply<MMA_N>(arguments.mma_burst, arguments.sink);
        count += arguments.mma_burst;
        if (arguments.mma_sleep_ns > 0) __nanosleep(arguments.mma_sleep_ns);
      }
      const ClockSample end = both_clocks();
      if (threadIdx.x == STREAM_THREADS) {
        record.multiplications = count * arguments.mma_warpgroups, record.mma_cycles = end.cycle - begin.cycle;
        if (!streams) {
          record.begin_ns = begin.nanoseconds, record.begin_cycle = begin.cycle;
          record.end_ns = end.nanoseconds, record.end_cycle = end.cycle;
        }
      }
    }
  }

  // No CTA may exit while a peer still loads into it, or arrives at its barriers.
  __syncwarp();
  if constexpr (CLUSTER > 1) {
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
  }
}

using Kernel = decltype(&load_kernel<1, 0>);

Kernel choose_kernel(int cluster, int mma_n) {
  const auto by_n = [&]<int CLUSTER>() -> Kernel {
    switch (mma_n) {
      case 0: return load_kernel<CLUSTER, 0>;
      case 128: return load_kernel<CLUSTER, 128>;
      case 192: return load_kernel<CLUSTER, 192>;
      default: return load_kernel<CLUSTER, 256>;
    }
  };
  return cluster == 1 ? by_n.template operator()<1>() : by_n.template operator()<2>();
}

}  // namespace

WorkResult do_work(const Context& context, const Work& work, const CUtensorMap& map, const Field& operands) {
  const int ctas = context.sms() / work.cluster * work.cluster;
  const int blocks = work.repeat * static_cast<int>(work.tiles.size()) / ctas * work.walk.k_blocks;
  const DeviceArray<CtaRecord> records(ctas);
  const DeviceArray<int2> tiles(work.tiles.empty() ? std::vector<int2>(1) : work.tiles);
  const DeviceArray<uint8_t> roles(work.roles.empty() ? std::vector<uint8_t>(1) : work.roles);
  const DeviceArray<ClockSample> samples(MAX_SAMPLES);
  const DeviceArray<float> sink(1);
  const CUtensorMap map_operands = operands.map(Field::WIDE, 128, 64, mma::Swizzle::B128);

  Arguments arguments{.walk = work.walk,
                      .tiles = tiles.data(),
                      .by_sm = work.by_sm,
                      .tile_count = static_cast<int>(work.tiles.size()) / ctas,
                      .repeat = work.repeat,
                      .stages = work.stages,
                      .pace = work.pace,
                      .warm_blocks = std::min(work.warm_blocks, blocks - 1),
                      .roles = work.roles.empty() ? nullptr : roles.data(),
                      .mma_warpgroups = work.mma_warpgroups,
                      .mma_burst = work.mma_burst,
                      .mma_sleep_ns = work.mma_sleep_ns,
                      .mma_ns = work.mma_ns,
                      .operand_bytes = work.mma_n > 0 ? OPERAND_BYTES : 0,
                      .records = records.data(),
                      .samples = samples.data(),
                      .sample_ns = work.sample_ns,
                      .sink = sink.data()};
  const int ring_bytes = work.tiles.empty() ? 0 : work.stages * work.walk.stage_bytes();
  const int needed = Smem::REST + arguments.operand_bytes + ring_bytes;
  const int smem_bytes = std::max(needed, 120 * 1024);  // one CTA per SM

  const Kernel kernel = choose_kernel(work.cluster, work.mma_n);
  harness::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes),
                 "asking for shared memory");
  cudaLaunchAttribute cluster{.id = cudaLaunchAttributeClusterDimension,
                              .val = {.clusterDim = {static_cast<unsigned>(work.cluster), 1, 1}}};
  cudaLaunchConfig_t config{.gridDim = static_cast<unsigned>(ctas),
                            .blockDim = static_cast<unsigned>(STREAM_THREADS + (work.mma_n > 0 ? MMA_THREADS : 0)),
                            .dynamicSmemBytes = static_cast<size_t>(smem_bytes),
                            .stream = context.stream,
                            .attrs = &cluster,
                            .numAttrs = 1};
  harness::check(cudaLaunchKernelEx(&config, kernel, map, map_operands, arguments), "launching the load");
  context.synchronize("running the load");

  WorkResult result{.ctas = records.read(), .samples = samples.read()};
  std::erase_if(result.ctas, [](const CtaRecord& r) { return r.blocks == 0 && r.multiplications == 0; });
  std::erase_if(result.samples, [](const ClockSample& s) { return s.nanoseconds == 0; });
  return result;
}

double WorkResult::seconds() const {
  int64_t begin = INT64_MAX, end = 0;
  for (const CtaRecord& r : ctas) {
    if (r.end_ns > r.begin_ns) begin = std::min(begin, r.begin_ns), end = std::max(end, r.end_ns);
  }
  return end > begin ? 1e-9 * static_cast<double>(end - begin) : 0;
}

double WorkResult::bytes_per_cycle(const Walk& walk) const {
  double sum = 0;
  int count = 0;
  for (const CtaRecord& r : ctas) {
    if (r.blocks == 0) continue;
    sum += static_cast<double>(r.blocks) * walk.stage_bytes() / static_cast<double>(r.end_cycle - r.begin_cycle);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

double WorkResult::mhz() const {
  double cycles = 0, nanoseconds = 0;
  for (const CtaRecord& r : ctas) {
    cycles += static_cast<double>(r.end_cycle - r.begin_cycle);
    nanoseconds += static_cast<double>(r.end_ns - r.begin_ns);
  }
  return nanoseconds > 0 ? 1e3 * cycles / nanoseconds : 0;
}

}  // namespace calibrate
