// The consumers: warpgroups that multiply, each its own rows or columns of the tile.
#pragma once

#include "common/ptx/barrier.cuh"
#include "common/ptx/wgmma.cuh"
#include "level08_deep_pipeline/production/sm90/epilogue.cuh"
#include "level08_deep_pipeline/production/sm90/ring.cuh"
#include "level08_deep_pipeline/production/sm90/split_k.cuh"

namespace production {

template <class Config>
using Accumulators = float[Config::M_SUBTILES][Config::WGMMA_N / 2];  // [upper or lower 64 rows][fragment]

// A consumer's walk through the ring, from K block to K block.
template <class Config>
struct Consumer {
  static constexpr uint32_t A_SUBTILE_BYTES =
      Config::WGMMA_M * Config::BLOCK_K * 2;  // from one M sub-tile of A to the next

  const Cta<Config>& cta;
  int number;
  uint32_t lane;
  uint64_t a_desc, b_desc;
  RingPosition<Config> ring;
  int last_stage = 0;     // of the K block whose MMAs were issued last
  bool released = false;  // whether that stage has been released

  __device__ __forceinline__ Consumer(const Cta<Config>& cta, int number, uint32_t lane)
      : cta(cta), number(number), lane(lane) {
    mma::SmemDescriptorSm90 descriptor{.start_address = cta.stage_a(0),
                                       .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                       .swizzle = mma::Swizzle::B128};
    a_desc = descriptor.encode();
    descriptor.start_address = cta.stage_b(0) + cta.n_part(number) * Config::WGMMA_N * Config::BLOCK_K * 2;
    b_desc = descriptor.encode();
  }

  // Each warp reports for itself: the end of its own MMAs says nothing about the other warps'. [L07] In a cluster it
  // reports to the whole multicast group, a lane for each CTA. No data is passed on: the arrivals need no release at
  // cluster scope.
  __device__ __forceinline__ void release(int stage) const {
    if (lane < Config::MULTICAST_GROUP) cta.arrive_at(static_cast<int>(lane), cta.smem_empty(stage), 1);
  }

  // The MMAs of one work tile. The number of M sub-tiles is known at compile time: accumulators are registers.
  template <int M_SUBTILES>
  __device__ __forceinline__ void multiply(Accumulators<Config>& accumulators, bool first_tile) {
    const uint64_t a_mine = mma::advance(a_desc, cta.m_part(number) * M_SUBTILES * A_SUBTILE_BYTES);
    for (int k_block = 0; k_block < cta.k_blocks; ++k_block) {
      ptx::mbarrier_wait(cta.smem_full(ring.stage), ring.phase);  // the operands have arrived
      __syncwarp();                                               // wgmma requires converged warps
      ptx::wgmma_fence();  // orders earlier accesses of the accumulators before the MMAs
      const uint64_t a_stage = mma::advance(a_mine, ring.stage * Config::STAGE_BYTES);
      const uint64_t b_stage = mma::advance(b_desc, ring.stage * Config::STAGE_BYTES);
#pragma unroll
      for (int kk = 0; kk < Config::BLOCK_K / Config::WGMMA_K; ++kk) {
        const uint32_t k_bytes = kk * Config::WGMMA_K * 2;  // inside the swizzle span: just move the start address
#pragma unroll
        for (int i = 0; i < M_SUBTILES; ++i) {
          ptx::wgmma_m64k16_bf16(accumulators[i], mma::advance(a_stage, i * A_SUBTILE_BYTES + k_bytes),
                                 mma::advance(b_stage, k_bytes), k_block > 0 || kk > 0);
        }
      }
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();  // [L02] this K block's MMAs run on; those of the block before are done
      if (k_block > 0 && !released) release(last_stage);
      last_stage = ring.stage;
      ring += 1;
      released = false;
      if (k_block + 1 == cta.distance && !first_tile) {  // the stages of the previous tile's D come here
        ring += Config::D_STAGES;
        // With two stages for D, few are left for loads: the producer gets this one back before the next MMAs, not
        // after them.
        if constexpr (Config::D_STAGES > 1) {
          ptx::wgmma_wait_group<0>();
          release(last_stage);
          released = true;
        }
      }
    }
  }
};

/// Executed by a whole warpgroup.
template <class Config>
__device__ __forceinline__ void consume(const Cta<Config>& cta, int number, uint32_t warp, uint32_t lane) {
  const Schedule& schedule = cta.params.schedule;
  Consumer<Config> consumer(cta, number, lane);
  Accumulators<Config> accumulators = {};
  for (int index = cta.worker; index < schedule.work_tiles; index += schedule.workers) {
    const WorkTile tile = cta.work_tile(index);
    if (!Config::CUTS_LAST_WAVE || tile.m_subtiles == Config::M_SUBTILES)
      consumer.template multiply<Config::M_SUBTILES>(accumulators, cta.is_first(index));
    else
      consumer.template multiply<Config::HALF_M_SUBTILES>(accumulators, cta.is_first(index));
    ptx::wgmma_wait_group<0>(accumulators[0], accumulators[Config::M_SUBTILES - 1]);  // the accumulators are readable
    if (!consumer.released) consumer.release(consumer.last_stage);
    if constexpr (Config::SPLITS_K)
      add_up_slices<Config>(cta, accumulators, tile, number);
    else
      write_d<Config>(cta, accumulators, tile, consumer.ring, index, number, warp, lane);
  }
}

}  // namespace production
