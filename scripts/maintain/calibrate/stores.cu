// What an epilogue is made of: stores of fragments and of rows to global memory, stmatrix and rows in shared memory,
// TMA stores.
#include <algorithm>

#include "calibrate.h"
#include "common/harness/text.h"
#include "common/mma/tensor_map.h"
#include "common/ptx/barrier.cuh"
#include "common/ptx/memory.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/tma.cuh"

namespace calibrate {
namespace {

using harness::format;

constexpr int TILE = 128;               // rows and columns
constexpr int SMEM_BYTES = 120 * 1024;  // one CTA per SM
constexpr int MAX_TILES = 64;

enum class Pattern {
  ELEMENTS,  ///< 2 bytes per thread: 8 rows of 8 bytes each, as in levels 01 and 02
  PAIRS,     ///< 4 bytes per thread: 8 rows of 16 bytes, as in level 03
  ROWS,      ///< 16 bytes per thread from shared memory: 2 rows of 256 bytes, as in level 04
  TMA,       ///< 64 rows of 128 columns, by one thread of each four warps, as in level 05
};

/// Cycles until the tile's last store was issued by this CTA's last warp; for TMA, until its source had been read.
template <Pattern PATTERN>
__global__ void store_tiles(const __grid_constant__ CUtensorMap map, __nv_bfloat16* d, int ldd, int columns, int tiles,
                            int active, int* cycles, int* drained) {
  extern __shared__ __align__(1024) uint8_t smem[];
  if (static_cast<int>(blockIdx.x) >= active) return;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const uint32_t base = ptx::smem_address(smem);
  const float value = static_cast<float>(threadIdx.x) * 0.37f;
  for (uint32_t i = threadIdx.x; i < TILE * TILE / 2; i += blockDim.x)
    reinterpret_cast<uint32_t*>(smem)[i] = 0x9E3779B9 * (i + 1);
  ptx::fence_proxy_async_shared();
  __syncthreads();
  for (int tile = 0; tile < tiles; ++tile) {
    const int index = tile * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    const int m = index / columns * TILE, n = index % columns * TILE;
    const int64_t start = clock64();
    if constexpr (PATTERN == Pattern::ELEMENTS) {
#pragma unroll 1
      for (int half = warp / 4; half < 2; half += warps / 4) {
#pragma unroll
        for (int i = 0; i < TILE / 2; ++i) {
          const int row = m + half * 64 + warp % 4 * 16 + lane / 4 + i / 2 % 2 * 8;
          const int col = n + i / 4 * 8 + lane % 4 * 2 + i % 2;
          d[static_cast<int64_t>(row) * ldd + col] = __float2bfloat16_rn(value + static_cast<float>(i));
        }
      }
    } else if constexpr (PATTERN == Pattern::PAIRS) {
#pragma unroll 1
      for (int half = warp / 4; half < 2; half += warps / 4) {
#pragma unroll
        for (int i = 0; i < TILE / 2; i += 2) {
          const int row = m + half * 64 + warp % 4 * 16 + lane / 4 + i / 2 % 2 * 8;
          const int col = n + i / 4 * 8 + lane % 4 * 2;
          *reinterpret_cast<uint32_t*>(d + static_cast<int64_t>(row) * ldd + col) =
              ptx::cvt_rn_bf16x2_f32(value + static_cast<float>(i), value);
        }
      }
    } else if constexpr (PATTERN == Pattern::ROWS) {
#pragma unroll 4
      for (int row = warp * 2 + lane / 16; row < TILE; row += warps * 2) {
        const uint4 values = ptx::ld_shared_v4(base + row * TILE * 2 + lane % 16 * 16);
        *reinterpret_cast<uint4*>(d + static_cast<int64_t>(m + row) * ldd + n + lane % 16 * 8) = values;
      }
    } else {
      if (warp % 4 == 0 && warp < 8 && ptx::elect_sync()) {
        for (int half = warp / 4; half < 2; half += warps / 4) {
          ptx::cp_async_bulk_tensor_2d_s2g(&map, n, m + half * 64, base + half * 64 * TILE * 2);
          ptx::cp_async_bulk_commit_group();
        }
        ptx::cp_async_bulk_wait_group_read<0>();
      }
      __syncwarp();
    }
    __syncthreads();
    if (threadIdx.x == 0) cycles[static_cast<int>(blockIdx.x) * MAX_TILES + tile] = static_cast<int>(clock64() - start);
  }
  // Until everything has arrived, as far as a thread can tell.
  const int64_t start = clock64();
  if (PATTERN == Pattern::TMA)
    ptx::cp_async_bulk_wait_group<0>();
  else
    __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) drained[blockIdx.x] = static_cast<int>(clock64() - start);
}

struct Variant {
  const char* name;
  int threads;
  void (*kernel)(const CUtensorMap, __nv_bfloat16*, int, int, int, int, int*, int*);
};

void measure_tiles(Context& context, const Field& field) {
  const Variant variants[] = {{"elements", 128, store_tiles<Pattern::ELEMENTS>},
                              {"elements", 256, store_tiles<Pattern::ELEMENTS>},
                              {"pairs", 256, store_tiles<Pattern::PAIRS>},
                              {"rows", 256, store_tiles<Pattern::ROWS>},
                              {"tma", 256, store_tiles<Pattern::TMA>}};
  const CUtensorMap map = field.map(Field::WIDE, 64, TILE, mma::Swizzle::None);
  for (const Variant& variant : variants) {
    harness::check(cudaFuncSetAttribute(variant.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                   "asking for shared memory");
    for (const int active : {1, 16, 66, context.sms()}) {
      for (const int tiles : {1, 16}) {
        if (active > context.sms() || (context.quick && (active > 1 || tiles > 1))) continue;
        std::vector<double> first, later, drain;
        for (int repeat = 0; repeat < context.scaled(7, 1); ++repeat) {
          const DeviceArray<int> cycles(static_cast<size_t>(context.sms()) * MAX_TILES), drained(context.sms());
          variant.kernel<<<context.sms(), variant.threads, SMEM_BYTES, context.stream>>>(
              map, field.data(), Field::WIDE, Field::WIDE / TILE, tiles, active, cycles.data(), drained.data());
          harness::check(cudaGetLastError(), "launching stores");
          context.synchronize("timing stores");
          const std::vector<int> measured = cycles.read(), waits = drained.read();
          for (int cta = 0; cta < active; ++cta) {
            const int* const mine = measured.data() + static_cast<ptrdiff_t>(cta) * MAX_TILES;
            first.push_back(mine[0]), drain.push_back(waits[static_cast<size_t>(cta)]);
            for (int tile = tiles / 2; tile < tiles; ++tile) later.push_back(mine[tile]);
          }
        }
        const std::string setting =
            format("pattern=%s threads=%d sms=%d tiles=%d", variant.name, variant.threads, active, tiles);
        context.results.add(setting, "first tile of 128x128", "cycles", Summary(first));
        if (tiles > 1) context.results.add(setting, "later tile of 128x128", "cycles", Summary(later));
        context.results.add(setting, "until the stores have arrived", "cycles", Summary(drain));
      }
    }
  }
}

/// One instruction over and over by all warps, at addresses that are `pitch` bytes apart from row to row.
enum class Access { STMATRIX_X4, STMATRIX_X2, ROWS, CONVERT_AND_STMATRIX };

template <Access ACCESS>
__global__ void time_shared(int pitch, int swizzle, int* cycles) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t base = ptx::smem_address(smem) + warp % 4 * 16 * pitch + warp / 4 * 64 * pitch;
  constexpr int COUNT = 8;  // per row of 128 columns
  const uint32_t row = lane % 16;
  float value = static_cast<float>(threadIdx.x);
  uint32_t sum = 0;
  int64_t took = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    __syncthreads();
    const int64_t start = clock64();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const uint32_t chunk = (2 * i + lane / 16) ^ (swizzle ? row % 8 : 0);
      const uint32_t address = base + row * pitch + chunk * 16;
      if constexpr (ACCESS == Access::STMATRIX_X4) ptx::stmatrix_x4(address, row, row + 1, row + 2, row + 3);
      if constexpr (ACCESS == Access::STMATRIX_X2) ptx::stmatrix_x2(address, row, row + 1);
      if constexpr (ACCESS == Access::CONVERT_AND_STMATRIX) {
        const auto pair = [&](int j) { return ptx::cvt_rn_bf16x2_f32(value + static_cast<float>(8 * i + j), value); };
        ptx::stmatrix_x4(address, pair(0), pair(2), pair(4), pair(6));
      }
      if constexpr (ACCESS == Access::ROWS) {
        const uint4 v = ptx::ld_shared_v4(base + (2 * i + lane / 16) * pitch + lane % 16 * 16);
        sum += v.x ^ v.w;
      }
    }
    __syncthreads();
    took = clock64() - start;
    value += 1.0f;
  }
  if (threadIdx.x == 0) cycles[0] = static_cast<int>(took);
  if (sum == 0x12345679) cycles[1] = 1;
}

template <Access ACCESS>
void measure_shared(Context& context, const char* name) {
  harness::check(cudaFuncSetAttribute(time_shared<ACCESS>, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  struct Layout {
    int pitch, swizzle;
  };
  for (const int threads : {32, 128, 256}) {
    for (const Layout& layout : {Layout{256, 0}, Layout{272, 0}, Layout{176, 0}, Layout{256, 1}}) {
      const DeviceArray<int> cycles(2);
      std::vector<double> values;
      for (int repeat = 0; repeat < context.scaled(5, 1); ++repeat) {
        time_shared<ACCESS><<<1, threads, SMEM_BYTES, context.stream>>>(layout.pitch, layout.swizzle, cycles.data());
        harness::check(cudaGetLastError(), "launching accesses of shared memory");
        context.synchronize("timing shared memory");
        values.push_back(cycles.read()[0]);
      }
      context.results.add(
          format("access=%s warps=%d pitch=%d swizzled=%d", name, threads / 32, layout.pitch, layout.swizzle),
          "8 per warp", "cycles", Summary(values));
    }
  }
}

/// One TMA store at a time: until its source has been read, until it has arrived.
__global__ void time_tma_store(const __grid_constant__ CUtensorMap map, int active, int turns, int column_blocks,
                               int rows, int cols, int* read, int* arrived) {
  extern __shared__ __align__(1024) uint8_t smem[];
  if (static_cast<int>(blockIdx.x) >= active || threadIdx.x != 0) return;
  ptx::fence_proxy_async_shared();
  for (int turn = 0; turn < turns; ++turn) {
    const int box = turn * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    const int64_t start = clock64();
    ptx::cp_async_bulk_tensor_2d_s2g(&map, box % column_blocks * cols, box / column_blocks * rows,
                                     ptx::smem_address(smem));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read<0>();
    read[static_cast<int>(blockIdx.x) * turns + turn] = static_cast<int>(clock64() - start);
    ptx::cp_async_bulk_wait_group<0>();
    arrived[static_cast<int>(blockIdx.x) * turns + turn] = static_cast<int>(clock64() - start);
  }
}

void measure_tma_stores(Context& context, const Field& field) {
  harness::check(cudaFuncSetAttribute(time_tma_store, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES),
                 "asking for shared memory");
  struct Shape {
    int rows, cols;
    mma::Swizzle swizzle;
  };
  for (const Shape& shape :
       {Shape{64, 64, mma::Swizzle::B128}, Shape{64, 64, mma::Swizzle::None}, Shape{64, 88, mma::Swizzle::None},
        Shape{64, 128, mma::Swizzle::None}, Shape{128, 128, mma::Swizzle::None}, Shape{128, 256, mma::Swizzle::None}}) {
    const CUtensorMap map = field.map(Field::WIDE, shape.rows, shape.cols, shape.swizzle);
    for (const int active : {1, context.sms()}) {
      if (context.quick && active > 1) continue;
      const int turns = context.scaled(16, 2);
      const DeviceArray<int> read(static_cast<size_t>(context.sms()) * turns),
          arrived(static_cast<size_t>(context.sms()) * turns);
      for (int repeat = 0; repeat < 2; ++repeat) {  // the second time everything is in its place
        time_tma_store<<<context.sms(), 32, SMEM_BYTES, context.stream>>>(
            map, active, turns, Field::WIDE / shape.cols, shape.rows, shape.cols, read.data(), arrived.data());
        harness::check(cudaGetLastError(), "launching TMA stores");
        context.synchronize("timing TMA stores");
      }
      std::vector<double> reads, arrivals;
      const std::vector<int> r = read.read(), a = arrived.read();
      for (int i = 0; i < active * turns; ++i) {
        if (i % turns > 0) reads.push_back(r[static_cast<size_t>(i)]), arrivals.push_back(a[static_cast<size_t>(i)]);
      }
      const std::string setting = format("rows=%d cols=%d swizzled=%d sms=%d", shape.rows, shape.cols,
                                         shape.swizzle == mma::Swizzle::B128, active);
      context.results.add(setting, "TMA store: source read", "cycles", Summary(reads));
      context.results.add(setting, "TMA store: arrived", "cycles", Summary(arrivals));
    }
  }
}

}  // namespace

void run_stores(Context& context) {
  const Field field(context, context.scaled(std::size_t{512} << 20, std::size_t{16} << 20));
  measure_tiles(context, field);
  measure_shared<Access::STMATRIX_X4>(context, "stmatrix_x4");
  measure_shared<Access::STMATRIX_X2>(context, "stmatrix_x2");
  measure_shared<Access::CONVERT_AND_STMATRIX>(context, "convert_and_stmatrix_x4");
  measure_shared<Access::ROWS>(context, "ld_shared_v4");
  measure_tma_stores(context, field);
}

}  // namespace calibrate
