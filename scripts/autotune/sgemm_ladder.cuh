// SGEMM from kernel 9 to the speed of cuBLAS: C[M,N] = A[M,K] * B[K,N] in FP32, row-major, on ordinary arithmetic
// units.
//
// The kernel of sgemm_kernel9.cuh, which should be read first, with the steps of spaces/sgemm_ladder.space as further
// parameters. Every parameter is a macro, set with -DSGEMM_..., and the defaults are kernel 9:
//
//   SGEMM_BM/BN/BK, SGEMM_TM/TN   those of kernel 9
//   SGEMM_THREADS    threads that multiply
//   SGEMM_PAD        floats between the columns of A's slice, against bank conflicts of the transposing stores
//   SGEMM_K_OUTER    1: a thread loads all that it needs for one k, then multiplies; 0: sub-tile by sub-tile, each over
//                    all k
//   SGEMM_WARP_M/N   each warp owns a rectangle of the tile; 0: all threads form a grid of 16 x 16 over all of it
//   SGEMM_COPY       how slices get to shared memory: 0 through registers, 1 cp.async, 2 TMA, 3 TMA, issued by a
//                    producer, of an A that an earlier kernel has transposed
//   SGEMM_STAGES     slices in flight; 1: none is copied while another is multiplied
//   SGEMM_A_ROWS     1: A's slice keeps its layout of global memory, swizzled, and is read 4 k at a time; 0: it is
//                    transposed
//   SGEMM_LANES_Z    1: lanes are numbered so that a load of 16 bytes per lane takes fewer wavefronts
//   SGEMM_STREAM_K   1: a persistent CTA per slot of the GPU; the tiles beyond whole waves are split along K, so that
//                    all CTAs end together
//   SGEMM_GROUP      tile rows side by side before n advances, for L2; 0: row after row
//   SGEMM_MIN_CTAS   per SM, that the compiler must leave registers for
//   SGEMM_UNROLL     of the loop over k inside a slice
//   SGEMM_SNAKE      1: the products of one k go down one column of the sub-tile and up the next; 0: row by row
//   SGEMM_C_WIDTH    floats that one store writes: 4, which must lie in neighbouring registers, or 1, which may lie
//                    anywhere
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/mma/swizzle.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/cp_async.cuh"
#include "common/ptx/flag.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"

#ifndef SGEMM_BM
#define SGEMM_BM 128
#endif
#ifndef SGEMM_BN
#define SGEMM_BN 128
#endif
#ifndef SGEMM_BK
#define SGEMM_BK 16
#endif
#ifndef SGEMM_TM
#define SGEMM_TM 8
#endif
#ifndef SGEMM_TN
#define SGEMM_TN 8
#endif
#ifndef SGEMM_THREADS
#define SGEMM_THREADS 256
#endif
#ifndef SGEMM_PAD
#define SGEMM_PAD 0
#endif
#ifndef SGEMM_K_OUTER
#define SGEMM_K_OUTER 0
#endif
#ifndef SGEMM_WARP_M
#define SGEMM_WARP_M 0
#endif
#ifndef SGEMM_WARP_N
#define SGEMM_WARP_N 0
#endif
#ifndef SGEMM_COPY
#define SGEMM_COPY 0
#endif
#ifndef SGEMM_STAGES
#define SGEMM_STAGES 1
#endif
#ifndef SGEMM_A_ROWS
#define SGEMM_A_ROWS 0
#endif
#ifndef SGEMM_LANES_Z
#define SGEMM_LANES_Z 0
#endif
#ifndef SGEMM_STREAM_K
#define SGEMM_STREAM_K 0
#endif
#ifndef SGEMM_GROUP
#define SGEMM_GROUP 0
#endif
#ifndef SGEMM_MIN_CTAS
#define SGEMM_MIN_CTAS 1
#endif
#ifndef SGEMM_UNROLL
#define SGEMM_UNROLL 8
#endif
#ifndef SGEMM_SNAKE
#define SGEMM_SNAKE 0
#endif
#ifndef SGEMM_C_WIDTH
#define SGEMM_C_WIDTH 4
#endif

namespace sgemm_ladder {

/// C[m,n] = A[m,k] * B[k,n], FP32, row-major, in device memory, 16-byte aligned. Row pitches are k, n and `ldc` >= n
/// elements. Any m, n, k >= 1.
struct Problem {
  int m, n, k;
  const float* a;
  const float* b;
  float* c;
  int ldc;
};

// ------------------------------------------------------------------------------------------------------- configuration

enum class Copy { registers, async, tma, producer };

struct Config {
  static constexpr int BM = SGEMM_BM, BN = SGEMM_BN, BK = SGEMM_BK;  // the tile of C, and how deep a slice is
  static constexpr int TM = SGEMM_TM, TN = SGEMM_TN;                 // the sub-tile of a thread
  static constexpr int THREADS = SGEMM_THREADS;
  static constexpr Copy COPY = static_cast<Copy>(SGEMM_COPY);
  static constexpr int STAGES = SGEMM_STAGES;
  static constexpr bool A_ROWS = SGEMM_A_ROWS, K_OUTER = SGEMM_K_OUTER, LANES_Z = SGEMM_LANES_Z, SNAKE = SGEMM_SNAKE;
  static constexpr int GROUP = SGEMM_GROUP, MIN_CTAS = SGEMM_MIN_CTAS, UNROLL = SGEMM_UNROLL, C_WIDTH = SGEMM_C_WIDTH;

  static constexpr bool STREAM_K = SGEMM_STREAM_K;
  static constexpr int MAX_CTAS = 1024;  // with STREAM_K

  // The copying threads: all, one of them, or a producer warpgroup. One thread would be enough for TMA, but setmaxnreg
  // works on warpgroups: the producer needs few registers and leaves the others to the warpgroups that multiply.
  static constexpr bool PRODUCER = COPY == Copy::producer;
  static constexpr int COPIERS = 128, CTA_THREADS = THREADS + (PRODUCER ? COPIERS : 0);
  static constexpr int PRODUCER_REGISTERS = 24, SM_REGISTERS = 65'536;
  static constexpr int LAUNCHED_REGISTERS = SM_REGISTERS / (CTA_THREADS * MIN_CTAS) / 8 * 8 * CTA_THREADS;  // of a CTA
  static constexpr int CONSUMER_REGISTERS = (LAUNCHED_REGISTERS - PRODUCER_REGISTERS * COPIERS) / THREADS / 8 * 8;
  static_assert(!PRODUCER || (THREADS % 128 == 0 && CTA_THREADS * MIN_CTAS > 256 && CONSUMER_REGISTERS <= 256),
                "setmaxnreg moves registers between whole warpgroups");

  // Where threads stand. Without warp tiles they are a grid of 16 x 16 and step over the whole tile; with them the 32
  // lanes are a grid, and step over their warp's rectangle. A step covers WM x WN results.
  static constexpr bool WARP_TILES = SGEMM_WARP_M > 0;
  static constexpr int AREA_M = WARP_TILES ? SGEMM_WARP_M : BM, AREA_N = WARP_TILES ? SGEMM_WARP_N : BN;
  static constexpr int ACROSS_M = WARP_TILES ? 8 : 16, ACROSS_N = WARP_TILES ? 4 : 16;  // lanes of a warp, or threads
  static constexpr int WM = ACROSS_M * TM, WN = ACROSS_N * TN;
  static constexpr int WMITER = AREA_M / WM, WNITER = AREA_N / WN;
  static_assert(AREA_M % WM == 0 && AREA_N % WN == 0, "the area of the threads must be whole steps of WM x WN");
  static_assert(BM % AREA_M == 0 && BN % AREA_N == 0, "the tile must be whole areas");
  static_assert(BM / AREA_M * (BN / AREA_N) * ACROSS_M * ACROSS_N == THREADS, "every thread must have a sub-tile");

  // Slices in shared memory. B's is as in memory. A's is transposed, [BK][BM + PAD], or as in memory, [BM][BK], with
  // the 16-byte chunks of its rows swizzled; then a thread reads 4 k of a row at once.
  static constexpr int PITCH = A_ROWS ? BK : BM + SGEMM_PAD;
  static constexpr int A_BYTES = (A_ROWS ? BM : BK) * PITCH * 4, B_BYTES = BK * BN * 4;
  static constexpr int STAGE_BYTES = (A_BYTES + B_BYTES + 1023) / 1024 * 1024;  // the swizzle repeats every 1,024 bytes
  static constexpr int BARRIERS = STAGES * STAGE_BYTES;                         // behind the slices
  static constexpr int SMEM_BYTES = BARRIERS + (COPY >= Copy::tma ? 2 * 8 * STAGES : 0);
  static constexpr int K_STEP = A_ROWS ? 4 : 1;
  static constexpr mma::Swizzle SWIZZLE = BK == 8    ? mma::Swizzle::B32
                                          : BK == 16 ? mma::Swizzle::B64
                                                     : mma::Swizzle::B128;
  static_assert(SMEM_BYTES <= 232'448, "more shared memory than a CTA can have");
  static_assert(TN % 4 == 0 && (A_ROWS || (TM % 4 == 0 && SGEMM_PAD % 4 == 0)), "shared memory is read by float4");
  static_assert(!A_ROWS || (K_OUTER && BK <= 32 && TM == 1 && WM % 8 == 0),
                "rows of A are read by k, and a step over them must not change the swizzle");
  static_assert(COPY < Copy::tma || (BM <= 256 && BN <= 256 && SGEMM_PAD == 0), "TMA copies boxes");
  static_assert(COPY != Copy::tma || A_ROWS, "TMA does not transpose");
  static_assert(!PRODUCER || (K_OUTER && !A_ROWS && UNROLL % 2 == 0),
                "columns of A are read ahead, those of one k at a time");
  static_assert(!STREAM_K || PRODUCER, "the producer runs ahead into the next tile");
  static_assert((COPY == Copy::registers) == (STAGES == 1), "several slices in flight are what the others are for");

  // One copy of all threads is a whole number of rows, and a slice is a whole number of copies.
  static_assert(PRODUCER || (BM * BK % (4 * THREADS) == 0 && BN * BK % (4 * THREADS) == 0));
  static_assert(PRODUCER || (4 * THREADS % BK == 0 && 4 * THREADS % BN == 0));
};

/// Where a CTA's tile begins in C. GROUP tiles below each other, then the next n: neighbours in this order share
/// columns of B, and a group as a whole comes back to the same rows of A while they are still in L2.
struct Tile {
  int m, n;
};
__device__ __forceinline__ Tile tile_at(int index, int m, int n) {
  const int n_tiles = (n + Config::BN - 1) / Config::BN;
  if constexpr (Config::GROUP == 0) return {index / n_tiles * Config::BM, index % n_tiles * Config::BN};
  const int m_tiles = (m + Config::BM - 1) / Config::BM, per_group = Config::GROUP * n_tiles;
  const int first = index / per_group * Config::GROUP, in_group = index % per_group;
  const int rows = min(m_tiles - first, Config::GROUP);  // the last group may be smaller
  return {(first + in_group % rows) * Config::BM, in_group / rows * Config::BN};
}

/// What a CTA computes at a time: slices [begin, end) of a tile, in the order of tile_at().
struct Work {
  int tile, begin, end;
};

/// The work of this CTA. Without STREAM_K it is one tile. With it every CTA takes the same number of whole tiles; the
/// slices of the remaining tiles, one or two tiles per CTA, form one sequence that is cut into equal parts. So a tile
/// may begin in one CTA and end in the next. A CTA goes through its part from the end to the beginning: its neighbour
/// waits for what it computes first, and it waits for its other neighbour last.
class Works {
 public:
  __device__ __forceinline__ Works(int m, int n, int slices) : slices_(slices) {
    if constexpr (Config::STREAM_K) {
      const int tiles = (m + Config::BM - 1) / Config::BM * ((n + Config::BN - 1) / Config::BN), ctas = gridDim.x;
      waves_ = tiles % ctas == 0 ? tiles / ctas : max(tiles / ctas - 1, 0);
      const int64_t rest = static_cast<int64_t>(tiles - waves_ * ctas) * slices;
      first_ = rest * blockIdx.x / ctas, at_ = rest * (blockIdx.x + 1) / ctas;
    }
  }

  /// The next unit of work; false if there is none.
  __device__ __forceinline__ bool next(Work& work) {
    if constexpr (!Config::STREAM_K) {
      work = {static_cast<int>(blockIdx.x), 0, slices_};
      return wave_++ == 0;
    }
    if (wave_ < waves_) {
      work = {static_cast<int>(wave_++ * gridDim.x + blockIdx.x), 0, slices_};
      return true;
    }
    if (at_ == first_) return false;
    const int tile = static_cast<int>((at_ - 1) / slices_);
    const int64_t tile_begin = static_cast<int64_t>(tile) * slices_, from = max(first_, tile_begin);
    work = {static_cast<int>(waves_ * gridDim.x) + tile, static_cast<int>(from - tile_begin),
            static_cast<int>(at_ - tile_begin)};
    at_ = from;
    return true;
  }

 private:
  int slices_, wave_ = 0, waves_ = 0;
  int64_t first_ = 0, at_ = 0;  // of that sequence: where this CTA's part begins, and where its remainder ends
};

/// With STREAM_K: has the CTA of this number stored its sums of the tile that the next CTA completes?
[[maybe_unused]] static __device__ uint32_t begun[Config::MAX_CTAS];

/// Where this thread's first sub-tile begins in the tile. The next begins WM rows or WN columns on.
struct Position {
  int m, n;
};
__device__ __forceinline__ Position my_position() {
  const int thread = threadIdx.x;
  if constexpr (!Config::WARP_TILES) return {thread / 16 * Config::TM, thread % 16 * Config::TN};
  const int warp = thread / 32, lane = thread % 32;
  constexpr int WARPS_N = Config::BN / Config::AREA_N;
  int lane_m = lane / Config::ACROSS_N, lane_n = lane % Config::ACROSS_N;
  // 16-byte loads take a half-warp at a time if lanes that differ in bit 0, or in bit 1, read the same.
  if constexpr (Config::LANES_Z) lane_m = (lane & 1) | (lane >> 1 & 6), lane_n = (lane >> 1 & 1) | (lane >> 3 & 2);
  return {warp / WARPS_N * Config::AREA_M + lane_m * Config::TM, warp % WARPS_N * Config::AREA_N + lane_n * Config::TN};
}

/// Where an element of A lies in its slice, in floats. Eight rows on, everything repeats.
__device__ __forceinline__ int a_index(int row, int k) {
  if constexpr (!Config::A_ROWS) return k * Config::PITCH + row;
  return static_cast<int>(mma::swizzle_address(Config::SWIZZLE, (row * Config::BK + k) * 4)) / 4;
}

// -------------------------------------------------------------------------------------------------------------- copies

/// Calls copy(row, i, column) for each V floats of a ROWS x COLUMNS slice that this thread copies: they begin at
/// `column` of row `row + i`, where `i` is known at compile time. WIDTH / V threads stand side by side in a row.
template <int ROWS, int COLUMNS, int V, int WIDTH, class Body>
__device__ __forceinline__ void for_each_copy(Body copy) {
  constexpr int SIDE_BY_SIDE = WIDTH / V, ROWS_AT_ONCE = Config::THREADS / SIDE_BY_SIDE;
  static_assert(COLUMNS % WIDTH == 0 && ROWS % ROWS_AT_ONCE == 0);
  const int row = threadIdx.x / SIDE_BY_SIDE, column = threadIdx.x % SIDE_BY_SIDE * V;
#pragma unroll
  for (int i = 0; i < ROWS; i += ROWS_AT_ONCE) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j += WIDTH) copy(row, i, j + column);
  }
}

/// Copies V floats to shared memory, or zeros if they are not `valid`. With STRIDE > 1 they are scattered.
template <Copy COPY, int V, int STRIDE = 1>
__device__ __forceinline__ void copy_floats(float* to, const float* from, bool valid) {
  static_assert(STRIDE == 1 || V == 1 || COPY == Copy::registers);
  if constexpr (COPY == Copy::async) {
    ptx::cp_async<4 * V>(ptx::smem_address(to), from, valid ? 4 * V : 0);
  } else if constexpr (V == 1) {
    *to = valid ? *from : 0;
  } else {
    const float4 values = valid ? *reinterpret_cast<const float4*>(from) : float4{0, 0, 0, 0};
    if constexpr (STRIDE == 1) {
      *reinterpret_cast<float4*>(to) = values;
    } else {
      to[0 * STRIDE] = values.x;
      to[1 * STRIDE] = values.y;
      to[2 * STRIDE] = values.z;
      to[3 * STRIDE] = values.w;
    }
  }
}

/// COUNT floats of shared memory, a multiple of 4, 16-byte aligned.
template <int COUNT>
__device__ __forceinline__ void load_floats(float* values, const float* from) {
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
    const float4 four = *reinterpret_cast<const float4*>(from + i);
    values[i] = four.x, values[i + 1] = four.y, values[i + 2] = four.z, values[i + 3] = four.w;
  }
}

// -------------------------------------------------------------------------------------------------------------- kernel

/// VECTOR: rows begin at multiples of 16 bytes, and global memory is read and written by float4.
template <bool VECTOR>
__global__ void __launch_bounds__(Config::CTA_THREADS, Config::MIN_CTAS)
    sgemm(const Problem p, const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b) {
  constexpr Copy COPY = VECTOR || Config::COPY != Copy::tma ? Config::COPY : Copy::async;  // TMA needs such rows
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM, TN = Config::TN;
  extern __shared__ __align__(1024) float smem[];
  const auto a_slice = [&](int stage) { return smem + stage * (Config::STAGE_BYTES / 4); };
  const auto b_slice = [&](int stage) { return a_slice(stage) + Config::A_BYTES / 4; };

  // Step 1: which tile does this CTA compute, and where do this thread's sub-tiles begin in it?
  Tile tile = tile_at(blockIdx.x, p.m, p.n);
  const int slices = (p.k + BK - 1) / BK;
  const bool inside = tile.m + BM <= p.m && tile.n + BN <= p.n;
  const Position my = my_position();

  // Step 2: how slices of A and B come to shared memory.
  // Each thread copies parts of both. A slice that lies wholly inside A and B needs no bounds checks.
  const auto copy_slice_checked = [&]<bool CHECK>(int slice, int stage) {
    constexpr bool SCATTER = !Config::A_ROWS;
    constexpr int V = VECTOR ? 4 : 1, V_A = SCATTER && COPY != Copy::registers ? 1 : V;
    const int k0 = slice * BK;
    for_each_copy<BM, BK, V_A, V_A == 1 ? 8 : BK>([&](int row, int i, int k) {
      const float* from = p.a + static_cast<int64_t>(tile.m + row) * p.k + k0 + k + static_cast<int64_t>(i) * p.k;
      float* to = a_slice(stage) + a_index(row, k) + (SCATTER ? i : i * Config::PITCH);
      const bool valid = !CHECK || (tile.m + row + i < p.m && k0 + k < p.k);
      copy_floats<COPY, V_A, SCATTER ? Config::PITCH : 1>(to, from, valid);
    });
    for_each_copy<BK, BN, V, BN>([&](int row, int i, int n) {
      const float* from = p.b + static_cast<int64_t>(k0 + row) * p.n + tile.n + n + static_cast<int64_t>(i) * p.n;
      const bool valid = !CHECK || (k0 + row + i < p.k && tile.n + n < p.n);
      copy_floats<COPY, V>(b_slice(stage) + (row + i) * BN + n, from, valid);
    });
  };
  const auto copy_slice = [&](int slice, int stage) {
    if (inside && (slice + 1) * BK <= p.k)
      copy_slice_checked.template operator()<false>(slice, stage);
    else
      copy_slice_checked.template operator()<true>(slice, stage);
  };

  // Step 3: what a thread does with a slice.
  float c[Config::WMITER * TM][Config::WNITER * TN] = {};

  // The products of one k, in an order in which two in a row share what is read from the register file once.
  const auto multiply_k = [&](const float* a_k, const float* b_k) {
    constexpr int ROWS = Config::WMITER * TM, COLUMNS = Config::WNITER * TN;
#pragma unroll
    for (int step = 0; step < ROWS * COLUMNS; ++step) {
      int i = step / COLUMNS, j = step % COLUMNS;
      if constexpr (Config::SNAKE) j = step / ROWS, i = j % 2 == 1 ? ROWS - 1 - step % ROWS : step % ROWS;
      c[i][j] += a_k[i * Config::K_STEP] * b_k[j];
    }
  };
  const auto multiply = [&](int stage) {
    const float* const a = a_slice(stage);
    const float* const b = b_slice(stage) + my.n;
    if constexpr (!Config::K_OUTER) {
#pragma unroll
      for (int wm = 0; wm < Config::WMITER; ++wm) {
#pragma unroll
        for (int wn = 0; wn < Config::WNITER; ++wn) {
#pragma unroll(Config::UNROLL)
          for (int k = 0; k < BK; ++k) {
            float a_k[TM], b_k[TN];
            load_floats<TM>(a_k, a + my.m + k * Config::PITCH + wm * Config::WM);
            load_floats<TN>(b_k, b + k * BN + wn * Config::WN);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
              for (int j = 0; j < TN; ++j) c[wm * TM + i][wn * TN + j] += a_k[i] * b_k[j];
            }
          }
        }
      }
    } else {
#pragma unroll(Config::UNROLL / Config::K_STEP)
      for (int k = 0; k < BK; k += Config::K_STEP) {
        float a_k[Config::WMITER * TM][Config::K_STEP];
#pragma unroll
        for (int wm = 0; wm < Config::WMITER; ++wm) {
          if constexpr (Config::A_ROWS) {
            load_floats<4>(a_k[wm], a + (a_index(my.m, 0) ^ k) + wm * Config::WM * Config::PITCH);
          } else {
            load_floats<TM>(&a_k[wm * TM][0], a + my.m + k * Config::PITCH + wm * Config::WM);
          }
        }
#pragma unroll
        for (int s = 0; s < Config::K_STEP; ++s) {
          float b_k[Config::WNITER * TN];
#pragma unroll
          for (int wn = 0; wn < Config::WNITER; ++wn) {
            load_floats<TN>(b_k + wn * TN, b + (k + s) * BN + wn * Config::WN);
          }
          multiply_k(&a_k[0][s], b_k);
        }
      }
    }
  };

  // Step 4: from registers to C, or, if the tile's first slices are in it, on top of them.
  const auto store_c = [&](bool add) {
#pragma unroll
    for (int i = 0; i < Config::WMITER * TM; ++i) {
      const int row = tile.m + my.m + i / TM * Config::WM + i % TM;
      if (row >= p.m) continue;
      float* const c_row = p.c + static_cast<int64_t>(row) * p.ldc;
#pragma unroll
      for (int j = 0; j < Config::WNITER * TN; j += 4) {
        const int column = tile.n + my.n + j / TN * Config::WN + j % TN;
        if constexpr (VECTOR && Config::C_WIDTH == 4) {
          if (column >= p.n) continue;
          auto* const to = reinterpret_cast<float4*>(c_row + column);
          float4 sum = {c[i][j], c[i][j + 1], c[i][j + 2], c[i][j + 3]};
          if (add) sum.x += to->x, sum.y += to->y, sum.z += to->z, sum.w += to->w;
          *to = sum;
        } else {
#pragma unroll
          for (int v = 0; v < 4; ++v) {
            if (column + v < p.n) c_row[column + v] = add ? c_row[column + v] + c[i][j + v] : c[i][j + v];
          }
        }
      }
    }
  };

  // Step 5: the main loop.
  // Barriers between the copying and the multiplying threads: full[s]: slice s has arrived; empty[s]: all warps have
  // read it.
  const uint32_t barriers = ptx::smem_address(smem) + Config::BARRIERS;
  const auto full = [&](int stage) { return barriers + 16 * stage; };
  const auto empty = [&](int stage) { return barriers + 16 * stage + 8; };
  const auto init_barriers = [&] {
    for (int stage = 0; stage < Config::STAGES; ++stage) {
      ptx::mbarrier_init(full(stage), 1);                      // the requesting thread, and the bytes
      ptx::mbarrier_init(empty(stage), Config::THREADS / 32);  // an arrival per warp
    }
    ptx::fence_mbarrier_init();  // orders the inits before asynchronous copies use the barriers
  };
  // One thread asks TMA for whole slices: an arrival at full[s], and the bytes.
  const auto request = [&](int slice, int stage) {
    ptx::mbarrier_arrive_expect_tx(full(stage), Config::A_BYTES + Config::B_BYTES);
    const int k = slice * BK, x = Config::A_ROWS ? k : tile.m, y = Config::A_ROWS ? tile.m : k;
    ptx::cp_async_bulk_tensor_2d_g2s(ptx::smem_address(a_slice(stage)), &map_a, x, y, full(stage));
    ptx::cp_async_bulk_tensor_2d_g2s(ptx::smem_address(b_slice(stage)), &map_b, tile.n, k, full(stage));
  };
  if constexpr (COPY == Copy::registers) {
    for (int slice = 0; slice < slices; ++slice) {
      copy_slice(slice, 0);
      __syncthreads();  // orders all threads' copies before the reads of the slice
      multiply(0);
      __syncthreads();  // orders all reads before the next copies
    }
  } else if constexpr (COPY == Copy::async) {
    // A group of copies per slice, also where there is no slice left, so that the count of groups stays the same.
    for (int slice = 0; slice < Config::STAGES - 1; ++slice) {
      if (slice < slices) copy_slice(slice, slice);
      ptx::cp_async_commit_group();
    }
    int stage = 0, free_stage = Config::STAGES - 1;
    for (int slice = 0; slice < slices; ++slice) {
      ptx::cp_async_wait_group<Config::STAGES - 2>();
      __syncthreads();  // all copies of this slice have arrived, and all threads have read the slice before
      if (slice + Config::STAGES - 1 < slices) copy_slice(slice + Config::STAGES - 1, free_stage);
      ptx::cp_async_commit_group();
      multiply(stage);
      free_stage = stage;
      if (++stage == Config::STAGES) stage = 0;
    }
  } else if constexpr (COPY == Copy::producer) {
    // The consumers only multiply: they neither compute addresses nor wait for each other.
    constexpr int CONSUMERS = 1;  // their barrier
    if (threadIdx.x == 0) init_barriers();
    __syncthreads();  // the barriers exist before any thread waits on them
    int stage = 0;
    uint32_t phase = 0;
    const auto advance = [&] {
      if (++stage == Config::STAGES) stage = 0, phase ^= 1;
    };
    Works works(p.m, p.n, slices);
    if (threadIdx.x >= Config::THREADS) {
      ptx::setmaxnreg_dec<Config::PRODUCER_REGISTERS>();
      if (threadIdx.x > Config::THREADS) return;
      for (Work work; works.next(work);) {
        tile = tile_at(work.tile, p.m, p.n);
        for (int slice = work.begin; slice < work.end; ++slice) {
          ptx::mbarrier_wait(empty(stage), phase ^ 1);  // the first pass through the ring finds every stage empty
          request(slice, stage);
          advance();
        }
      }
      return;
    }
    ptx::setmaxnreg_inc<Config::CONSUMER_REGISTERS>();
    // While one k is multiplied, the values of the next come to registers, also out of the next slice.
    float a_k[2][Config::WMITER * TM], b_k[2][Config::WNITER * TN];
    const auto load_k = [&](int k, float* a_next, float* b_next) {
      const float* const a = a_slice(stage) + my.m + k * Config::PITCH;
      const float* const b = b_slice(stage) + my.n + k * BN;
#pragma unroll
      for (int wm = 0; wm < Config::WMITER; ++wm) load_floats<TM>(a_next + wm * TM, a + wm * Config::WM);
#pragma unroll
      for (int wn = 0; wn < Config::WNITER; ++wn) load_floats<TN>(b_next + wn * TN, b + wn * Config::WN);
    };
    for (Work work; works.next(work);) {
      tile = tile_at(work.tile, p.m, p.n);
#pragma unroll
      for (auto& row : c) {
#pragma unroll
        for (float& value : row) value = 0;
      }
      ptx::mbarrier_wait(full(stage), phase);
      load_k(0, a_k[0], b_k[0]);
      for (int slice = work.begin; slice < work.end; ++slice) {
#pragma unroll(Config::UNROLL)
        for (int k = 0; k < BK; ++k) {
          const int next = (k + 1) % 2;
          if (k + 1 < BK) {
            load_k(k + 1, a_k[next], b_k[next]);
          } else {
            __syncwarp();  // all lanes have read the slice
            if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty(stage));
            advance();
            if (slice + 1 < work.end) {
              ptx::mbarrier_wait(full(stage), phase);
              load_k(0, a_k[next], b_k[next]);
            }
          }
          multiply_k(a_k[k % 2], b_k[k % 2]);
        }
      }
      const bool begins = work.begin == 0, ends = work.end == slices;
      if (!begins) {
        if (threadIdx.x == 0) {
          ptx::flag_wait(&begun[blockIdx.x - 1]);
          begun[blockIdx.x - 1] = 0;  // for the next launch
        }
        __syncwarp();
        ptx::bar_sync(CONSUMERS, Config::THREADS);  // the sums of the tile's first slices are in C
      }
      store_c(!begins);
      if (!ends) {
        __syncwarp();
        ptx::bar_sync(CONSUMERS, Config::THREADS);  // all consumers' sums are in C
        if (threadIdx.x == 0) ptx::flag_store(&begun[blockIdx.x], 1);
      }
    }
  } else {
    if (threadIdx.x == 0) {
      init_barriers();
      for (int stage = 0; stage < Config::STAGES && stage < slices; ++stage) request(stage, stage);
    }
    __syncthreads();  // the barriers exist before any thread waits on them
    int stage = 0;
    uint32_t phase = 0;
    for (int slice = 0; slice < slices; ++slice) {
      // The stage of the slice before is free, or about to be: most warps have read it already.
      if (threadIdx.x == 0 && slice >= 1 && slice - 1 + Config::STAGES < slices) {
        const bool wrapped = stage == 0;  // the slice before lies at the other end of the ring, in its phase before
        const int before = wrapped ? Config::STAGES - 1 : stage - 1;
        ptx::mbarrier_wait(empty(before), wrapped ? phase ^ 1 : phase);
        request(slice - 1 + Config::STAGES, before);
      }
      ptx::mbarrier_wait(full(stage), phase);
      multiply(stage);
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty(stage));
      if (++stage == Config::STAGES) stage = 0, phase ^= 1;
    }
  }

  if constexpr (COPY != Copy::producer) store_c(false);
}

/// to[k][m] = from[m][k]: A as the multiplication reads it, rows `pitch` floats apart. A thread transposes 4 x 4 of
/// them; the rows that eight neighbours read, and those that four write, are contiguous.
template <bool VECTOR>
__global__ void __launch_bounds__(256) transpose(const float* from, float* to, int m, int k, int pitch) {
  const int m0 = (blockIdx.y * 32 + threadIdx.x / 8) * 4, k0 = (blockIdx.x * 8 + threadIdx.x % 8) * 4;
  if (m0 >= m || k0 >= k) return;
  float rows[4][4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (m0 + i >= m) continue;
    const float* const row = from + static_cast<int64_t>(m0 + i) * k + k0;
    if constexpr (VECTOR) {
      load_floats<4>(rows[i], row);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) rows[i][j] = k0 + j < k ? row[j] : 0;
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (k0 + j >= k) continue;
    auto* const row = reinterpret_cast<float4*>(to + static_cast<int64_t>(k0 + j) * pitch + m0);
    *row = {rows[0][j], rows[1][j], rows[2][j], rows[3][j]};
  }
}

// -------------------------------------------------------------------------------------------------------------- launch

/// What TMA copies from: A and B, or what stands in their place, with row pitches in floats.
struct Sources {
  const float *a, *b;
  int a_pitch, b_pitch;
};

/// Enqueues what must be done to A and B before TMA can copy slices that are read by columns of A: A is transposed, and
/// B copied if its rows do not begin at multiples of 16 bytes. Both go to memory that stays, as much as the largest
/// problem so far needed.
inline cudaError_t prepare(const Problem& p, bool vector, cudaStream_t stream, Sources& sources) {
  static float* space = nullptr;
  static size_t space_bytes = 0;
  const int a_pitch = (p.m + 3) / 4 * 4, b_pitch = (p.n + 3) / 4 * 4;
  const size_t a_floats = size_t(p.k) * a_pitch, b_floats = vector ? 0 : size_t(p.k) * b_pitch;
  if (const size_t bytes = (a_floats + b_floats) * sizeof(float); bytes > space_bytes) {
    cudaFree(space);  // waits for launches that still read it
    space = nullptr, space_bytes = 0;
    if (const cudaError_t status = cudaMalloc(&space, bytes); status != cudaSuccess) return status;
    space_bytes = bytes;
  }
  sources = {space, vector ? p.b : space + a_floats, a_pitch, vector ? p.n : b_pitch};
  const dim3 blocks((p.k + 31) / 32, (p.m + 127) / 128);
  (vector ? transpose<true> : transpose<false>)<<<blocks, 256, 0, stream>>>(p.a, space, p.m, p.k, a_pitch);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess || vector) return status;
  return cudaMemcpy2DAsync(space + a_floats, sizeof(float) * b_pitch, p.b, sizeof(float) * p.n, sizeof(float) * p.n,
                           p.k, cudaMemcpyDeviceToDevice, stream);
}

/// Enqueues the product on `stream`. Returns what CUDA says of the launch and, with TMA, of memory and the tensor maps.
/// With a producer not on two streams at a time: launches share memory, with STREAM_K also `begun`.
inline cudaError_t launch(const Problem& p, cudaStream_t stream) {
  const bool vector = p.n % 4 == 0 && p.k % 4 == 0 && p.ldc % 4 == 0;
  CUtensorMap map_a{}, map_b{};
  if (Config::PRODUCER || (Config::COPY == Copy::tma && vector)) {
    Sources from{p.a, p.b, p.k, p.n};
    if (Config::PRODUCER) {
      if (const cudaError_t status = prepare(p, vector, stream, from); status != cudaSuccess) return status;
    }
    cudaError_t status = Config::A_ROWS ? mma::encode_tensor_map_2d(&map_a, from.a, p.m, p.k, from.a_pitch, Config::BM,
                                                                    Config::BK, Config::SWIZZLE)
                                        : mma::encode_tensor_map_2d(&map_a, from.a, p.k, p.m, from.a_pitch, Config::BK,
                                                                    Config::BM, mma::Swizzle::None);
    if (status != cudaSuccess) return status;
    status =
        mma::encode_tensor_map_2d(&map_b, from.b, p.k, p.n, from.b_pitch, Config::BK, Config::BN, mma::Swizzle::None);
    if (status != cudaSuccess) return status;
  }
  const auto kernel = vector ? sgemm<true> : sgemm<false>;
  const cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::SMEM_BYTES);
  if (status != cudaSuccess) return status;
  int64_t ctas = int64_t{(p.m + Config::BM - 1) / Config::BM} * ((p.n + Config::BN - 1) / Config::BN);
  if constexpr (Config::STREAM_K) {
    // A CTA waits only for those of lower numbers, which start before it.
    static const int slots = [kernel] {
      int device = 0, sms = 0, per_sm = 0;
      cudaGetDevice(&device);
      cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, Config::CTA_THREADS, Config::SMEM_BYTES);
      return per_sm * sms;
    }();
    const int64_t all_slices = ctas * ((p.k + Config::BK - 1) / Config::BK);  // every CTA needs at least one
    ctas = std::min<int64_t>({all_slices, slots, Config::MAX_CTAS});
  }
  kernel<<<static_cast<unsigned>(ctas), Config::CTA_THREADS, Config::SMEM_BYTES, stream>>>(p, map_a, map_b);
  return cudaGetLastError();
}

}  // namespace sgemm_ladder
