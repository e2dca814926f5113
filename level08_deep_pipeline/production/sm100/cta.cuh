// State that all roles of a CTA share: its position in the pair, its tiles, barriers and memory.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/ptx/registers.cuh"
#include "level08_deep_pipeline/production/sm100/config.cuh"
#include "level08_deep_pipeline/production/sm100/tile_walk.cuh"

namespace production {

struct Params {
  CUtensorMap map_a, map_b, map_d;
  int m, n, k;
};

template <class Config>
struct Cta {
  using Smem = SmemOf<Config>;
  const Params& params;
  uint8_t* smem;
  uint32_t base;   // shared address of `smem`
  uint32_t rank;   // in the pair
  bool is_leader;  // the CTA of the pair whose thread issues the MMAs
  int m_blocks, n_blocks, k_blocks;
  uint32_t tmem = 0;  // the address of tensor memory, once it is allocated

  __device__ __forceinline__ Cta(const Params& params, uint8_t* smem)
      : params(params), smem(smem), base(ptx::smem_address(smem)), rank(ptx::cluster_ctarank()), is_leader(rank == 0) {
    m_blocks = padded_m_blocks<Config>(params.m);
    n_blocks = (params.n + Config::BLOCK_N - 1) / Config::BLOCK_N;
    k_blocks = (params.k + Config::BLOCK_K - 1) / Config::BLOCK_K;
  }

  __device__ __forceinline__ uint32_t smem_full(int stage) const { return base + Smem::SMEM_FULL + 8 * stage; }
  __device__ __forceinline__ uint32_t smem_empty(int stage) const { return base + Smem::SMEM_EMPTY + 8 * stage; }
  __device__ __forceinline__ uint32_t stage_a(int stage) const {
    return base + Smem::STAGES + stage * Config::STAGE_BYTES;
  }
  __device__ __forceinline__ uint32_t stage_b(int stage) const { return stage_a(stage) + Config::A_BYTES; }
  __device__ __forceinline__ uint32_t tmem_full(int buffer) const { return base + Smem::TMEM_FULL + 8 * buffer; }
  __device__ __forceinline__ uint32_t tmem_empty(int buffer) const { return base + Smem::TMEM_EMPTY + 8 * buffer; }

  // [L07] Tiles are dealt to CTAs; those of a pair get t and t + 1, t even.
  __device__ __forceinline__ auto tile_walk() const {
    const int first_tile = blockIdx.x, tiles = m_blocks * n_blocks;
    if constexpr (Config::CLC) {
      return TileWalk<Config, true>{first_tile,           tiles, base + Smem::TILE_FULL, base + Smem::TILE_EMPTY,
                                    base + Smem::ANSWERS, rank};
    } else {
      return TileWalk<Config, false>{first_tile, tiles, static_cast<int>(gridDim.x)};
    }
  }
};

}  // namespace production
