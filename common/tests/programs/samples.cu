// A program as it stands in many a CUDA course: one small test after the other, each compared with the host's answer.
// Nothing in it knows of the simulated device.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "program.h"

namespace cg = cooperative_groups;

__constant__ float coefficients[4];
__device__ unsigned int blocks_done;
__managed__ int managed_sum;

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// Shuffles inside warps, shared memory between them; the last block to finish adds up the blocks' sums.
__global__ void reduce(const float* in, float* partial, float* out, int n) {
  __shared__ float warp_sums[32];
  __shared__ bool is_last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();  // what the other blocks have told by the counter is visible now
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < gridDim.x; ++i) total += *(volatile float*)&partial[i];
    *out = total;
  }
}

template <int TILE>
__global__ void transpose(const double* in, double* out, int width, int height) {
  __shared__ double tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += blockDim.y) {
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += blockDim.y) {
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
  }
}

__global__ void polynomial(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float y = 0;
  for (int k = 3; k >= 0; --k) y = y * x[i] + coefficients[k];
  x[i] = y / (1.0f + expf(-x[i])) + sqrtf(fabsf(sinf(x[i])));
}

__global__ void histogram(const unsigned char* data, int n, unsigned int* bins) {
  extern __shared__ unsigned int local[];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

// Every block reads what all the others wrote before the barrier of the grid.
__global__ void grid_rounds(int* values, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    const int next = values[(grid.thread_rank() + 1) % grid.size()];
    grid.sync();
    values[grid.thread_rank()] = next + 1;
    grid.sync();
  }
}

__global__ void groups(int* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const int sum = cg::reduce(tile, static_cast<int>(block.thread_rank()), cg::plus<int>());
  if (threadIdx.x % 3 == 0) {
    const auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(&managed_sum, static_cast<int>(active.size()));
  }
  out[threadIdx.x] = sum;
}

__global__ void speak(int n) {
  if (threadIdx.x < n)
    printf("thread %d of block %d says %s, %.2f\n", threadIdx.x, blockIdx.x, "hello", 0.5 * threadIdx.x);
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  report(properties.major >= 9 && properties.warpSize == 32 && properties.sharedMemPerBlockOptin >= 227 * 1024,
         "properties");

  {
    const int n = 50'000;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; ++i) a[i] = 0.5f * i, b[i] = 1.0f / (i + 1);
    float *da = upload(a), *db = upload(b), *dc = allocate<float>(n);
    vector_add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    CHECK(cudaDeviceSynchronize());
    const auto c = download(dc, n);
    bool right = true;
    for (int i = 0; i < n; ++i) right &= c[i] == a[i] + b[i];
    report(right, "vector addition");
    for (float* each : {da, db, dc}) CHECK(cudaFree(each));
  }
  {
    std::vector<float> ones(100'000, 1.0f);
    float *in = upload(ones), *partial = allocate<float>(64), *out = allocate<float>(1);
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    for (int i = 0; i < 2; ++i) reduce<<<64, 256>>>(in, partial, out, 100'000);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    report(download(out, 1)[0] == 100'000.0f && milliseconds > 0, "reduction, timed by events");
  }
  {
    const int width = 100, height = 75;
    std::vector<double> matrix(width * height);
    std::iota(matrix.begin(), matrix.end(), 0.25);
    double* out = allocate<double>(matrix.size());
    transpose<32><<<dim3(4, 3), dim3(32, 8)>>>(upload(matrix), out, width, height);
    const auto result = download(out, matrix.size());
    bool right = true;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) right &= result[x * height + y] == matrix[y * width + x];
    }
    report(right, "transposition");
  }
  {
    const float values[4] = {1, -2, 0.5f, 0.25f};
    CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof values));
    std::vector<float> x(1000);
    for (int i = 0; i < 1000; ++i) x[i] = 0.01f * (i - 500);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    float *pinned, *device;
    CHECK(cudaMallocHost(&pinned, 4000));
    CHECK(cudaMallocAsync(&device, 4000, stream));
    std::memcpy(pinned, x.data(), 4000);
    CHECK(cudaMemcpyAsync(device, pinned, 4000, cudaMemcpyHostToDevice, stream));
    polynomial<<<8, 128, 0, stream>>>(device, 1000);
    CHECK(cudaMemcpyAsync(pinned, device, 4000, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    bool right = true;
    for (int i = 0; i < 1000; ++i) {
      const double t = x[i], y = ((0.25 * t + 0.5) * t - 2) * t + 1;
      const double expected = y / (1 + std::exp(-t)) + std::sqrt(std::fabs(std::sin(t)));
      right &= std::fabs(pinned[i] - expected) <= 1e-5 * std::fmax(1, std::fabs(expected));
    }
    report(right, "constants, streams, mathematical functions");
    CHECK(cudaFreeAsync(device, stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(pinned));
  }
  {
    std::vector<unsigned char> data(30'000);
    std::vector<unsigned int> expected(256), zeros(256);
    for (size_t i = 0; i < data.size(); ++i) ++expected[data[i] = static_cast<unsigned char>(i * i >> 3)];
    auto* bins = upload(zeros);
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeMaxDynamicSharedMemorySize, 150 * 1024));
    histogram<<<20, 192, 150 * 1024>>>(upload(data), static_cast<int>(data.size()), bins);
    report(download(bins, 256) == expected, "histogram, with much shared memory");
  }
  {
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_rounds, 128, 0));
    const int threads = 128 * 12;
    std::vector<int> values(threads);
    std::iota(values.begin(), values.end(), 0);
    int* device = upload(values);
    int rounds = 5;
    void* arguments[] = {&device, &rounds};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_rounds), dim3(12), dim3(128), arguments));
    const auto result = download(device, threads);
    bool right = blocks > 0;
    for (int i = 0; i < threads; ++i) right &= result[i] == (i + rounds) % threads + rounds;
    report(right, "barriers of a cooperative grid");
  }
  {
    std::vector<int> zeros(64);
    int* out = upload(zeros);
    groups<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    const auto sums = download(out, 64);
    bool right = managed_sum == 22;
    for (int i = 0; i < 64; ++i) right &= sums[i] == 8 * (i / 8 * 8) + 28;
    report(right, "groups of threads, managed memory");
  }
  speak<<<2, 32>>>(2);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
