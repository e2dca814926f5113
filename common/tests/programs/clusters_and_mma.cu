// A program as it stands in many a code base: a matrix product with mma.sync, ldmatrix and cp.async; fragments of all
// types with wmma; a histogram in distributed shared memory; and what the occupancy calculator says of clusters.
// Nothing in it knows of the simulated device.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>
#include <string>

#include "program.h"

namespace cg = cooperative_groups;

// ---- C[64x64 per block] = A * B^T, in steps of 32 of K through two buffers

constexpr int TILE = 64, STEP = 32, PITCH = STEP + 8;  // the padding keeps ldmatrix free of bank conflicts

__device__ void load_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from));
}

__global__ void __launch_bounds__(128) gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, int k) {
  __shared__ __align__(16) __nv_bfloat16 sa[2][TILE][PITCH], sb[2][TILE][PITCH];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  a += static_cast<size_t>(blockIdx.y) * TILE * k, b += static_cast<size_t>(blockIdx.x) * TILE * k;
  const auto prefetch = [&](int step) {
    for (int i = threadIdx.x; i < TILE * STEP / 8; i += 128) {
      const int row = i / (STEP / 8), column = i % (STEP / 8) * 8;
      load_async(&sa[step % 2][row][column], a + static_cast<size_t>(row) * k + step * STEP + column);
      load_async(&sb[step % 2][row][column], b + static_cast<size_t>(row) * k + step * STEP + column);
    }
    asm volatile("cp.async.commit_group;");
  };
  float sum[8][4] = {};
  prefetch(0);
  const int steps = k / STEP;
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) {
      prefetch(step + 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    for (int kk = 0; kk < STEP; kk += 16) {
      uint32_t fa[4];
      const auto at = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                   : "r"(at(&sa[step % 2][warp * 16 + lane % 16][kk + lane / 16 * 8])));
      for (int j = 0; j < 8; ++j) {
        uint32_t fb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(at(&sb[step % 2][j * 8 + lane % 8][kk + lane / 8 % 2 * 8])));
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
            : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j) {
    for (int half = 0; half < 2; ++half) {
      const int row = blockIdx.y * TILE + warp * 16 + lane / 4 + 8 * half,
                column = blockIdx.x * TILE + 8 * j + lane % 4 * 2;
      *reinterpret_cast<float2*>(&c[static_cast<size_t>(row) * n + column]) =
          make_float2(sum[j][2 * half], sum[j][2 * half + 1]);
    }
  }
}

static void matrix_product() {
  const int m = 128, n = 192, k = 160;
  std::vector<__nv_bfloat16> a(m * k), b(n * k);
  for (int i = 0; i < m * k; ++i) a[i] = __float2bfloat16(static_cast<float>(i * 7 % 11 - 5));
  for (int i = 0; i < n * k; ++i) b[i] = __float2bfloat16(static_cast<float>(i * 5 % 13 - 6));
  float* dc = allocate<float>(m * n);
  gemm<<<dim3(n / TILE, m / TILE), 128>>>(upload(a), upload(b), dc, n, k);
  const std::vector<float> c = download(dc, m * n);
  bool right = true;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += __bfloat162float(a[i * k + l]) * __bfloat162float(b[j * k + l]);
      right &= c[i * n + j] == sum;  // small integers: exact in any order
    }
  }
  report(right, "matrix product with mma.sync");
}

// ---- one warp, one product of fragments: D = 2 * (A * B + C), B by columns

template <int M, int N, int K, class Fragment, class Element, class Sum>
__global__ void fragments(const Element* a, const Element* b, Sum* d) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, M, N, K, Fragment, row_major> fa;
  fragment<matrix_b, M, N, K, Fragment, col_major> fb;
  fragment<accumulator, M, N, K, Sum> sum;
  load_matrix_sync(fa, a, K);
  load_matrix_sync(fb, b, K);
  load_matrix_sync(sum, d, N, mem_row_major);
  mma_sync(sum, fa, fb, sum);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
  store_matrix_sync(d, sum, N, mem_row_major);
}

template <int M, int N, int K, class Fragment, class Element, class Sum>
static bool product_of_fragments() {
  Element *a, *b;
  Sum* d;
  CHECK(cudaMallocManaged(&a, M * K * sizeof(Element)));
  CHECK(cudaMallocManaged(&b, N * K * sizeof(Element)));
  CHECK(cudaMallocManaged(&d, M * N * sizeof(Sum)));
  for (int i = 0; i < M * K; ++i) a[i] = static_cast<Element>(static_cast<float>(i * 5 % 7));
  for (int i = 0; i < N * K; ++i) b[i] = static_cast<Element>(static_cast<float>(i * 3 % 5));
  for (int i = 0; i < M * N; ++i) d[i] = static_cast<Sum>(static_cast<float>(i % 9));
  fragments<M, N, K, Fragment><<<1, 32>>>(a, b, d);
  CHECK(cudaDeviceSynchronize());
  bool right = true;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = static_cast<float>((i * N + j) % 9);
      for (int l = 0; l < K; ++l) sum += static_cast<float>(a[i * K + l]) * static_cast<float>(b[j * K + l]);
      right &= static_cast<float>(d[i * N + j]) == 2 * sum;
    }
  }
  return right;
}

static void fragment_types() {
  namespace wmma = nvcuda::wmma;
  report(product_of_fragments<16, 16, 16, half, half, float>() && product_of_fragments<32, 8, 16, half, half, half>() &&
             product_of_fragments<8, 32, 16, __nv_bfloat16, __nv_bfloat16, float>() &&
             product_of_fragments<16, 16, 8, wmma::precision::tf32, float, float>() &&
             product_of_fragments<16, 16, 16, signed char, signed char, int>() &&
             product_of_fragments<8, 32, 16, unsigned char, unsigned char, int>() &&
             product_of_fragments<8, 8, 4, double, double, double>(),
         "fragments of every type with wmma");
}

// ---- every block of a cluster holds a part of the bins

__global__ void cluster_histogram(int* bins, int bin_count, const int* input, int size) {
  extern __shared__ int local[];
  const cg::cluster_group cluster = cg::this_cluster();
  const int per_block = bin_count / static_cast<int>(cluster.num_blocks());
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) local[i] = 0;
  cluster.sync();  // all blocks run, and their bins are empty
  for (int i = cg::this_grid().thread_rank(); i < size; i += blockDim.x * gridDim.x) {
    const int bin = input[i];
    atomicAdd(cluster.map_shared_rank(local, bin / per_block) + bin % per_block, 1);
  }
  cluster.sync();  // no CTA exits while others count in its bins
  for (int i = threadIdx.x; i < per_block; i += blockDim.x)
    atomicAdd(&bins[cluster.block_rank() * per_block + i], local[i]);
}

/// Blocks of 128 threads in clusters.
struct Clusters {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
  Clusters(unsigned blocks, unsigned cluster_size, std::size_t dynamic_smem) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster_size, 1, 1};
    config.gridDim = blocks, config.blockDim = 128, config.dynamicSmemBytes = dynamic_smem;
    config.attrs = &attribute, config.numAttrs = 1;
  }
};

static void histogram(unsigned cluster_size) {
  const int bin_count = 1024, size = 20'000;
  std::vector<int> input(size), expected(bin_count), zeros(bin_count);
  for (int i = 0; i < size; ++i)
    ++expected[input[i] = static_cast<int>(static_cast<unsigned>(i) * 2654435761u % bin_count)];
  int* const bins = upload(zeros);
  const Clusters launch(2 * cluster_size, cluster_size, bin_count / cluster_size * sizeof(int));
  CHECK(cudaLaunchKernelEx(&launch.config, cluster_histogram, bins, bin_count, static_cast<const int*>(upload(input)),
                           size));
  report(download(bins, bin_count) == expected, "histogram in distributed shared memory");
}

static void occupancy() {
  CHECK(cudaFuncSetAttribute(cluster_histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CHECK(cudaFuncSetAttribute(cluster_histogram, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  std::string line = "clusters that fit:";
  for (const unsigned size : {2u, 4u, 8u, 16u}) {
    const Clusters launch(size, size, 227 * 1024);
    int clusters = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, cluster_histogram, &launch.config));
    line += ' ' + std::to_string(clusters);
  }
  std::printf("%s\n", line.c_str());
}

int main() {
  matrix_product();
  fragment_types();
  histogram(2);
  histogram(8);
  occupancy();
  return 0;
}
