// The MMA warp: one thread of the leader multiplies for the pair.
#pragma once

#include "common/mma/instruction_descriptor.h"
#include "common/mma/smem_descriptor.h"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tcgen05.cuh"
#include "level08_deep_pipeline/production/sm100/cta.cuh"

namespace production {

/// Executed by one thread of the leader.
template <class Config>
__device__ __forceinline__ void multiply(const Cta<Config>& cta) {
  constexpr mma::InstructionDescriptor instruction{.m = Config::UMMA_M, .n = Config::UMMA_N};
  mma::SmemDescriptorSm100 descriptor{.start_address = cta.stage_a(0),
                                      .stride_byte_offset = 8 * 128,  // from 8 rows of 128 bytes to the next 8
                                      .swizzle = mma::Swizzle::B128};
  const uint64_t a_desc = descriptor.encode();
  descriptor.start_address = cta.stage_b(0);
  const uint64_t b_desc = descriptor.encode();
  int stage = 0, buffer = 0;
  uint32_t phase = 0, tmem_phase = 0;
  for (auto walk = cta.tile_walk(); walk.has_tile(); walk.next()) {
    ptx::mbarrier_wait(cta.tmem_empty(buffer),
                       tmem_phase ^ 1);      // [L06] the epilogue has read it; the first pass does not block
    ptx::tcgen05_fence_after_thread_sync();  // orders the MMAs after the epilogue's loads; so does the next fence
    const uint32_t accumulator = cta.tmem + buffer * Config::ACCUMULATOR_COLUMNS;
    for (int k_block = 0; k_block < cta.k_blocks; ++k_block) {
      ptx::mbarrier_wait(cta.smem_full(stage), phase);  // both CTAs' operands have arrived
      ptx::tcgen05_fence_after_thread_sync();           // orders the MMAs after the wait
      const uint32_t stage_bytes = stage * Config::STAGE_BYTES;
      for (int i = 0; i < Config::M_SUBTILES; ++i) {
        for (int kk = 0; kk < Config::BLOCK_K / Config::UMMA_K; ++kk) {
          const uint32_t bytes = stage_bytes + kk * Config::UMMA_K * 2;
          ptx::tcgen05_mma_f16<Config::CTA_GROUP>(
              accumulator + i * Config::BLOCK_N, mma::advance(a_desc, bytes + i * Config::SUBTILE_BYTES),
              mma::advance(b_desc, bytes), instruction.encode(), k_block > 0 || kk > 0);
        }
      }
      ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(cta.smem_empty(stage),
                                                       0b11);  // both CTAs may refill the stage
      if (++stage == Config::NUM_STAGES) stage = 0, phase ^= 1;
    }
    ptx::tcgen05_commit_multicast<Config::CTA_GROUP>(cta.tmem_full(buffer), 0b11);  // [L07] both tiles
    if (++buffer == Config::NUM_ACCUMULATORS) buffer = 0, tmem_phase ^= 1;
  }
}

}  // namespace production
