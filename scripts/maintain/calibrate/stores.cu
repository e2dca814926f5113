// What an epilogue is made of: stores of single elements to global memory, as in levels 01 and 02, and TMA stores.
#include <algorithm>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int TILE = 128;  // rows and columns
constexpr int TILES = 16, THREADS = 128;
constexpr int SMEM_BYTES = 120 * 1024;  // one CTA per SM

/// One CTA stores tiles of fragments, 2 bytes per thread and store: 8 rows of 8 bytes each. Cycles until a tile's last
/// store was issued by the last warp.
__global__ void store_elements(__nv_bfloat16* d, int ldd, int columns, int stride, int* cycles) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const float value = static_cast<float>(threadIdx.x) * 0.37f;
  for (int tile = 0; tile < TILES; ++tile) {
    const int index = tile * stride;
    const int m = index / columns * TILE, n = index % columns * TILE;
    __syncthreads();
    const int64_t start = clock64();
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < TILE / 2; ++i) {
        const int row = m + half * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
        const int col = n + i / 4 * 8 + lane % 4 * 2 + i % 2;
        d[static_cast<int64_t>(row) * ldd + col] = __float2bfloat16_rn(value + static_cast<float>(i));
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) cycles[tile] = static_cast<int>(clock64() - start);
  }
}

void measure_elements(Context& context, const Field& field) {
  std::vector<double> later;
  for (int repeat = 0; repeat < context.scaled(7, 1); ++repeat) {
    const DeviceArray<int> cycles(TILES);
    store_elements<<<1, THREADS, SMEM_BYTES, context.stream>>>(field.data(), Field::WIDE, Field::WIDE / TILE,
                                                               context.sms(), cycles.data());
    harness::check(cudaGetLastError(), "launching stores");
    context.synchronize("timing stores");
    const std::vector<int> measured = cycles.read();
    later.insert(later.end(), measured.begin() + TILES / 2, measured.end());
  }
  context.results.add(format("pattern=elements threads=%d sms=1 tiles=%d", THREADS, TILES), "later tile of 128x128",
                      "cycles", Summary(later));
}

/// One TMA store at a time in each CTA: cycles until its source has been read.
__global__ void time_tma_store(const __grid_constant__ CUtensorMap map, int turns, int column_blocks, int stride,
                               int rows, int cols, int* read) {
  extern __shared__ __align__(1024) uint8_t smem[];
  if (threadIdx.x != 0) return;
  ptx::fence_proxy_async_shared();
  for (int turn = 0; turn < turns; ++turn) {
    const int box = turn * stride + static_cast<int>(blockIdx.x);
    const int64_t start = clock64();
    ptx::cp_async_bulk_tensor_2d_s2g(&map, box % column_blocks * cols, box / column_blocks * rows,
                                     ptx::smem_address(smem));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read<0>();
    read[static_cast<int>(blockIdx.x) * turns + turn] = static_cast<int>(clock64() - start);
    ptx::cp_async_bulk_wait_group<0>();
  }
}

void measure_tma_stores(Context& context, const Field& field) {
  struct Store {
    int rows, cols, sms;
  };
  for (const auto& [rows, cols, sms] : {Store{64, 128, 1}, Store{128, 128, 1}, Store{128, 256, context.sms()}}) {
    if (context.quick && sms > 1) continue;
    const CUtensorMap map = field.map(Field::WIDE, rows, cols, mma::Swizzle::None);
    const int turns = context.scaled(16, 2);
    const DeviceArray<int> read(static_cast<size_t>(sms) * turns);
    for (int repeat = 0; repeat < 2; ++repeat) {  // the second time everything is in its place
      time_tma_store<<<sms, 32, SMEM_BYTES, context.stream>>>(map, turns, Field::WIDE / cols, context.sms(), rows, cols,
                                                              read.data());
      harness::check(cudaGetLastError(), "launching TMA stores");
      context.synchronize("timing TMA stores");
    }
    std::vector<double> reads;
    const std::vector<int> measured = read.read();
    for (int i = 0; i < sms * turns; ++i) {
      if (i % turns > 0) reads.push_back(measured[static_cast<size_t>(i)]);
    }
    context.results.add(format("rows=%d cols=%d swizzled=0 sms=%d", rows, cols, sms), "TMA store: source read",
                        "cycles", Summary(reads));
  }
}

}  // namespace

void run_stores(Context& context) {
  const Field field(context, context.scaled(std::size_t{512} << 20, std::size_t{16} << 20));
  harness::check(cudaFuncSetAttribute(store_elements, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  harness::check(cudaFuncSetAttribute(time_tma_store, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  measure_elements(context, field);
  measure_tma_stores(context, field);
}

}  // namespace calibrate
