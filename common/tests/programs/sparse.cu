// Products with a matrix of which two of four elements are zero, as programs that prune their weights have them: with
// mma.sp, and on Hopper with wgmma.mma_async.sp. Nothing in it knows of the simulated device.
#include <cuda_bf16.h>

#include <cstdint>

#include "program.h"

constexpr int M = 128, N = 128, K = 192;

// A as it is stored: half of each row, and four bits for each four elements of it, 16 elements to a word of 16 bits.
struct Pruned {
  const __nv_bfloat16* elements;  // [M][K / 2]
  const uint16_t* metadata;       // [M][K / 16]
};

/// The metadata of rows `row` and `row` + 8 for 16 elements from `k` on.
__device__ uint32_t metadata_of(const Pruned& a, int row, int k) {
  return a.metadata[row * (K / 16) + k / 16] | static_cast<uint32_t>(a.metadata[(row + 8) * (K / 16) + k / 16]) << 16;
}

// ---- a warp for each 16 x 8 elements of D, fragments straight from memory

__global__ void by_warps(Pruned a, const __nv_bfloat16* b, float* d) {
  const int row = blockIdx.y * 16 + threadIdx.x / 4, column = blockIdx.x * 8 + threadIdx.x / 4, q = threadIdx.x % 4;
  float sum[4] = {};
  for (int k = 0; k < K; k += 32) {
    uint32_t fa[4], fb[4];
    for (int i = 0; i < 4; ++i) {
      const __nv_bfloat16* const from = a.elements + (row + 8 * (i % 2)) * (K / 2) + k / 2 + 8 * (i / 2) + 2 * q;
      fa[i] = *reinterpret_cast<const uint32_t*>(from);
      fb[i] = *reinterpret_cast<const uint32_t*>(b + column * K + k + 8 * i + 2 * q);
    }
    // Of each four lanes, the first two tell: one of 16 elements, the other of the 16 behind them.
    const uint32_t metadata = metadata_of(a, row, k + 16 * (q % 2));
    asm volatile(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0;"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]), "r"(fb[2]), "r"(fb[3]),
          "r"(metadata));
  }
  for (int i = 0; i < 4; ++i) d[(row + 8 * (i / 2)) * N + blockIdx.x * 8 + 2 * q + i % 2] = sum[i];
}

// ---- a warpgroup for each 64 x 64 elements of D: 64 elements of K at a time, of which A's rows hold 64 bytes

__global__ void __launch_bounds__(128) by_warpgroups(Pruned a, const __nv_bfloat16* b, float* d) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ __align__(1024) uint8_t sa[64 * 64], sb[64 * 128];
  const int thread = threadIdx.x, row = blockIdx.y * 64 + thread / 32 * 16 + thread % 32 / 4, q = thread % 4;
  const auto at = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  float sum[32] = {};
  for (int k = 0; k < K; k += 64) {
    for (int i = thread; i < 64 * 4; i += 128) {  // 16 bytes each, in the 64-byte swizzle
      const int r = i / 4, chunk = i % 4;
      *reinterpret_cast<uint4*>(sa + 64 * r + 16 * (chunk ^ r / 2 % 4)) =
          *reinterpret_cast<const uint4*>(a.elements + (blockIdx.y * 64 + r) * (K / 2) + k / 2 + 8 * chunk);
    }
    for (int i = thread; i < 64 * 8; i += 128) {  // in the 128-byte swizzle
      const int r = i / 8, chunk = i % 8;
      *reinterpret_cast<uint4*>(sb + 128 * r + 16 * (chunk ^ r % 8)) =
          *reinterpret_cast<const uint4*>(b + (blockIdx.x * 64 + r) * K + k + 8 * chunk);
    }
    asm volatile("fence.proxy.async;");
    __syncthreads();
    const uint32_t metadata[2] = {metadata_of(a, row, k + 16 * (q % 2)), metadata_of(a, row, k + 32 + 16 * (q % 2))};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int half = 0; half < 2; ++half) {
      const uint64_t da =
          (at(sa) + 32 * half) >> 4 | 1ull << 16 | 32ull << 32 | 2ull << 62;  // 512 bytes to the next rows
      const uint64_t db = (at(sb) + 64 * half) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;  // 1024
      asm volatile(
          "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.bf16.bf16 "
          "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
          "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
          "%32, %33, %34, 0, 1, 1, 1, 0, 0;"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
            "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
            "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]),
            "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]),
            "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
          : "l"(da), "l"(db), "r"(metadata[half]));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();  // the tiles are not read any more
  }
  for (int i = 0; i < 32; ++i) d[(row + 8 * (i / 2 % 2)) * N + blockIdx.x * 64 + 8 * (i / 4) + 2 * q + i % 2] = sum[i];
#endif
}

int main() {
  // Small whole numbers: sums are exact in any order. Of four elements of A, two that lie somewhere are kept.
  std::vector<float> a(M * K), b(N * K);
  std::vector<__nv_bfloat16> kept(M * K / 2), b_elements(N * K);
  std::vector<uint16_t> metadata(M * K / 16);
  unsigned random = 1;
  const auto dice = [&](unsigned sides) { return ((random = random * 1664525 + 1013904223) >> 16) % sides; };
  for (int i = 0; i < N * K; ++i) b_elements[i] = __float2bfloat16(b[i] = static_cast<float>(dice(9)) - 4);
  const int places[6][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};
  for (int four = 0; four < M * K / 4; ++four) {
    const auto& place = places[dice(6)];
    for (int i = 0; i < 2; ++i) {
      const float value = static_cast<float>(dice(7)) - 3;
      a[4 * four + place[i]] = value, kept[2 * four + i] = __float2bfloat16(value);
      metadata[four / 4] |= static_cast<uint16_t>(place[i] << (four % 4 * 4 + 2 * i));
    }
  }
  std::vector<float> expected(M * N);
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      for (int k = 0; k < K; ++k) expected[m * N + n] += a[m * K + k] * b[n * K + k];
    }
  }

  const Pruned pruned{upload(kept), upload(metadata)};
  const __nv_bfloat16* const db = upload(b_elements);
  float* const dd = allocate<float>(M * N);
  by_warps<<<dim3(N / 8, M / 16), 32>>>(pruned, db, dd);
  report(download(dd, M * N) == expected, "sparse product with mma.sp");

  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  if (properties.major != 9) return 0;
  CHECK(cudaMemset(dd, 0, M * N * sizeof(float)));
  by_warpgroups<<<dim3(N / 64, M / 64), 128>>>(pruned, db, dd);
  report(download(dd, M * N) == expected, "sparse product with wgmma.sp");
  return 0;
}
