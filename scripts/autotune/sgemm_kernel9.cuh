// SGEMM, kernel 9: C[M,N] = A[M,K] * B[K,N] in FP32, row-major, on ordinary arithmetic units. The kernel that is tuned
// here.
//
// A CTA computes a tile of BM x BN and walks along K in slices of BK. For one k, a thread multiplies TM values of A by
// TN values of B, from registers. The five sizes are macros, set with -DK9_BM=64 and so on; the space that the notes
// sweep is spaces/sgemm_notes.space. The patches in steps/ lead from here to what the fastest libraries do.
//
//   tile of C:  BM x BN           one CTA
//   step:       WM x WN           all 256 threads once, as a grid of 16 x 16: WM = 16 TM, WN = 16 TN
//   sub-tile:   TM x TN           one thread in one step
//   the tile is WMITER x WNITER steps; a thread has WMITER * TM x WNITER * TN accumulators
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#ifndef K9_BM
#define K9_BM 128
#endif
#ifndef K9_BN
#define K9_BN 128
#endif
#ifndef K9_BK
#define K9_BK 16
#endif
#ifndef K9_TM
#define K9_TM 8
#endif
#ifndef K9_TN
#define K9_TN 8
#endif

namespace kernel9 {

/// C[m,n] = A[m,k] * B[k,n], FP32, row-major, in device memory, 16-byte aligned. Row pitches are k, n and `ldc` >= n
/// elements. Any m, n, k >= 1.
struct Problem {
  int m, n, k;
  const float* a;
  const float* b;
  float* c;
  int ldc;
};

struct Config {
  static constexpr int BM = K9_BM, BN = K9_BN, BK = K9_BK;  // the tile of C, and the depth of a slice
  static constexpr int TM = K9_TM, TN = K9_TN;              // the sub-tile of a thread
  static constexpr int THREADS = 256, GRID = 16;            // GRID x GRID threads
  static constexpr int WM = GRID * TM, WN = GRID * TN;
  static constexpr int WMITER = BM / WM, WNITER = BN / WN;
  static constexpr int SMEM_BYTES = (BM + BN) * BK * 4;

  static_assert(BM % WM == 0 && BN % WN == 0, "the tile must be a whole number of steps of WM x WN");
  static_assert(TM % 4 == 0 && TN % 4 == 0, "shared memory is read by float4");
  // Each thread copies whole float4, and all threads together whole rows of a slice.
  static_assert(BM * BK % (4 * THREADS) == 0 && BN * BK % (4 * THREADS) == 0);
  static_assert(4 * THREADS % BK == 0 && 4 * THREADS % BN == 0);
  static_assert(SMEM_BYTES <= 232'448, "more shared memory than a CTA can have");
};

/// Calls copy(row, i, column) for each V floats of a ROWS x COLUMNS slice that this thread copies: they begin at
/// `column` of row `row + i`, where `i` is known at compile time. WIDTH / V threads stand side by side in a row.
template <int ROWS, int COLUMNS, int V, int WIDTH, class Copy>
__device__ __forceinline__ void for_each_copy(Copy copy) {
  constexpr int SIDE_BY_SIDE = WIDTH / V, ROWS_AT_ONCE = Config::THREADS / SIDE_BY_SIDE;
  static_assert(COLUMNS % WIDTH == 0 && ROWS % ROWS_AT_ONCE == 0);
  const int row = threadIdx.x / SIDE_BY_SIDE, column = threadIdx.x % SIDE_BY_SIDE * V;
#pragma unroll
  for (int i = 0; i < ROWS; i += ROWS_AT_ONCE) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j += WIDTH) copy(row, i, j + column);
  }
}

/// Copies V floats to addresses STRIDE floats apart, or zeros if they are not `valid`.
template <int V, int STRIDE>
__device__ __forceinline__ void copy_floats(float* to, const float* from, bool valid) {
  if constexpr (V == 1) {
    *to = valid ? *from : 0;
  } else {
    const float4 values = valid ? *reinterpret_cast<const float4*>(from) : float4{0, 0, 0, 0};
    if constexpr (STRIDE == 1) {
      *reinterpret_cast<float4*>(to) = values;
    } else {
      to[0 * STRIDE] = values.x, to[1 * STRIDE] = values.y, to[2 * STRIDE] = values.z, to[3 * STRIDE] = values.w;
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

/// VECTOR: rows begin at multiples of 16 bytes, and global memory is read and written by float4.
template <bool VECTOR>
__global__ void __launch_bounds__(Config::THREADS) sgemm(const Problem p) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM, TN = Config::TN;
  extern __shared__ __align__(1024) float smem[];
  float* const a_slice = smem;            // [BK][BM]: transposed, so that the column of A for one k is contiguous
  float* const b_slice = smem + BM * BK;  // [BK][BN]

  // Step 1: which tile does this CTA compute, and where does this thread's first sub-tile begin in it?
  const int n_tiles = (p.n + BN - 1) / BN;
  const int tile_m = static_cast<int>(blockIdx.x) / n_tiles * BM, tile_n = static_cast<int>(blockIdx.x) % n_tiles * BN;
  const int my_m = static_cast<int>(threadIdx.x) / Config::GRID * TM;
  const int my_n = static_cast<int>(threadIdx.x) % Config::GRID * TN;

  // Step 2: all threads copy a slice of A and one of B. A slice that lies wholly inside of A and B needs no bounds
  // checks.
  const auto copy_slice = [&]<bool CHECK>(int slice) {
    constexpr int V = VECTOR ? 4 : 1;
    const int k0 = slice * BK;
    for_each_copy<BM, BK, V, VECTOR ? BK : 8>([&](int row, int i, int k) {
      const float* from = p.a + static_cast<int64_t>(tile_m + row) * p.k + k0 + k + static_cast<int64_t>(i) * p.k;
      copy_floats<V, BM>(a_slice + k * BM + row + i, from, !CHECK || (tile_m + row + i < p.m && k0 + k < p.k));
    });
    for_each_copy<BK, BN, V, BN>([&](int row, int i, int n) {
      const float* from = p.b + static_cast<int64_t>(k0 + row) * p.n + tile_n + n + static_cast<int64_t>(i) * p.n;
      copy_floats<V, 1>(b_slice + (row + i) * BN + n, from, !CHECK || (k0 + row + i < p.k && tile_n + n < p.n));
    });
  };

  // Step 3: multiply slice by slice.
  float c[Config::WMITER * TM][Config::WNITER * TN] = {};
  const bool inside = tile_m + BM <= p.m && tile_n + BN <= p.n;
  const int slices = (p.k + BK - 1) / BK;
  for (int slice = 0; slice < slices; ++slice) {
    if (inside && (slice + 1) * BK <= p.k)
      copy_slice.template operator()<false>(slice);
    else
      copy_slice.template operator()<true>(slice);
    __syncthreads();  // orders all threads' copies before the reads below
#pragma unroll
    for (int wm = 0; wm < Config::WMITER; ++wm) {
#pragma unroll
      for (int wn = 0; wn < Config::WNITER; ++wn) {
#pragma unroll(8)
        for (int k = 0; k < BK; ++k) {
          float a_k[TM], b_k[TN];
          load_floats<TM>(a_k, a_slice + my_m + k * BM + wm * Config::WM);
          load_floats<TN>(b_k, b_slice + my_n + k * BN + wn * Config::WN);
#pragma unroll
          for (int i = 0; i < TM; ++i) {
#pragma unroll
            for (int j = 0; j < TN; ++j) c[wm * TM + i][wn * TN + j] += a_k[i] * b_k[j];
          }
        }
      }
    }
    __syncthreads();  // orders all threads' reads before the next slice overwrites what they read
  }

  // Step 4: store the accumulators; rows and columns beyond C are left out.
#pragma unroll
  for (int i = 0; i < Config::WMITER * TM; ++i) {
    const int row = tile_m + my_m + i / TM * Config::WM + i % TM;
    if (row >= p.m) continue;
    float* const c_row = p.c + static_cast<int64_t>(row) * p.ldc;
#pragma unroll
    for (int j = 0; j < Config::WNITER * TN; j += 4) {
      const int column = tile_n + my_n + j / TN * Config::WN + j % TN;
      if constexpr (VECTOR) {
        if (column >= p.n) continue;
        *reinterpret_cast<float4*>(c_row + column) = {c[i][j], c[i][j + 1], c[i][j + 2], c[i][j + 3]};
      } else {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          if (column + v < p.n) c_row[column + v] = c[i][j + v];
        }
      }
    }
  }
}

/// Enqueues the product on `stream`. Returns what CUDA says of the launch.
inline cudaError_t launch(const Problem& p, cudaStream_t stream) {
  const bool vector = p.n % 4 == 0 && p.k % 4 == 0 && p.ldc % 4 == 0;
  const auto kernel = vector ? sgemm<true> : sgemm<false>;
  const cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::SMEM_BYTES);
  if (status != cudaSuccess) return status;
  const int64_t tiles = int64_t{(p.m + Config::BM - 1) / Config::BM} * ((p.n + Config::BN - 1) / Config::BN);
  kernel<<<static_cast<unsigned>(tiles), Config::THREADS, Config::SMEM_BYTES, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace kernel9
