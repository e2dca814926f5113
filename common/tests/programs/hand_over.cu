// Each argument is a way to hand data from one thread to another without a barrier of the CTA, as it is done in the
// wild.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <cuda/atomic>
#include <numeric>
#include <vector>

namespace cg = cooperative_groups;

constexpr int BLOCKS = 6, THREADS = 64, COUNT = BLOCKS * THREADS;

__device__ int block_sum(const int* values) {
  __shared__ int sums[THREADS];
  sums[threadIdx.x] = values[threadIdx.x];
  for (int width = THREADS / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
  }
  __syncthreads();
  return sums[0];
}

/// Everybody waits for everybody.
__global__ void grid_sync(const int* in, int* parts, unsigned*, int* out) {
  const int sum = block_sum(in + blockIdx.x * THREADS);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  cg::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (int i = 0; i < BLOCKS; ++i) *out += parts[i];
  }
}

/// The CTA that arrives last adds up. The count is read by an atomic operation that acquires nothing; with `FENCE` a
/// fence follows.
template <bool FENCE>
__global__ void last_block(const int* in, int* parts, unsigned* count, int* out) {
  __shared__ bool is_last;
  const int sum = block_sum(in + blockIdx.x * THREADS);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    if (FENCE) __threadfence();
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    for (int i = 0; i < BLOCKS; ++i) *out += parts[i];
  }
}

/// Each block adds what the one before it has, and says so by a flag.
template <class Publish, class Wait>
__device__ void chain(const int* in, int* parts, int* out, Publish publish, Wait wait) {
  const int sum = block_sum(in + blockIdx.x * THREADS);
  if (threadIdx.x != 0) return;
  int before = 0;
  if (blockIdx.x > 0) {
    wait(blockIdx.x - 1);
    before = parts[blockIdx.x - 1];
  }
  parts[blockIdx.x] = before + sum;
  publish(blockIdx.x);
  if (blockIdx.x == BLOCKS - 1) *out = before + sum;
}
__global__ void volatile_flags(const int* in, int* parts, unsigned* flags, int* out) {
  chain(
      in, parts, out, [&](int i) { __threadfence(), static_cast<volatile unsigned*>(flags)[i] = 1; },
      [&](int i) {
        while (static_cast<volatile unsigned*>(flags)[i] == 0) {}
        __threadfence();
      });
}
__global__ void acquire_release(const int* in, int* parts, unsigned* flags, int* out) {
  const auto flag = [&](int i) { return cuda::atomic_ref<unsigned, cuda::thread_scope_device>(flags[i]); };
  chain(
      in, parts, out, [&](int i) { flag(i).store(1, cuda::memory_order_release); },
      [&](int i) {
        while (flag(i).load(cuda::memory_order_acquire) == 0) {}
      });
}
__global__ void no_fence(const int* in, int* parts, unsigned* flags, int* out) {
  chain(
      in, parts, out, [&](int i) { atomicExch(flags + i, 1); },
      [&](int i) {
        while (atomicAdd(flags + i, 0) == 0) {}
        __threadfence();
      });
}
__global__ void narrow_fence(const int* in, int* parts, unsigned* flags, int* out) {
  chain(
      in, parts, out, [&](int i) { __threadfence_block(), atomicExch(flags + i, 1); },
      [&](int i) {
        while (atomicAdd(flags + i, 0) == 0) {}
        __threadfence();
      });
}

/// Sum and flag are one word: nothing else is handed over.
__global__ void look_back(const int* in, int*, unsigned long long* states, int* out) {
  const int sum = block_sum(in + blockIdx.x * THREADS);
  if (threadIdx.x != 0) return;
  constexpr unsigned long long OWN = 1ull << 32, WHOLE = 2ull << 32;
  const auto state = [&](int i) { return cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(states[i]); };
  state(blockIdx.x).store((blockIdx.x == 0 ? WHOLE : OWN) | unsigned(sum), cuda::memory_order_relaxed);
  unsigned total = sum;
  for (int i = int(blockIdx.x) - 1; i >= 0; --i) {
    unsigned long long seen;
    while ((seen = state(i).load(cuda::memory_order_relaxed)) < OWN) {}
    total += unsigned(seen);
    if (seen >= WHOLE) break;
  }
  state(blockIdx.x).store(WHOLE | total, cuda::memory_order_relaxed);
  if (blockIdx.x == BLOCKS - 1) *out = int(total);
}

/// A warp that counts on lockstep, as one did before there was __syncwarp().
__global__ void lockstep(const int* in, int*, unsigned*, int* out) {
  __shared__ volatile int sums[32];
  const unsigned lane = threadIdx.x;
  if (blockIdx.x > 0 || lane >= 32) return;
  int sum = 0;
  for (int i = int(lane); i < COUNT; i += 32) sum += in[i];
  sums[lane] = sum;
  for (unsigned width = 16; width > 0; width /= 2) sums[lane] = sums[lane] + (lane < width ? sums[lane + width] : 0);
  if (lane == 0) *out = sums[0];
}

/// A group of two warps, whose barrier lies in the part of shared memory that belongs to the system. One lane of the
/// last warp acquires what the other warp has stored, and tells its own warp by a shfl.
__global__ void two_warps(const int* in, int*, unsigned*, int* out) {
  __shared__ cg::block_tile_memory<THREADS> memory;
  const auto pair = cg::tiled_partition<THREADS>(cg::this_thread_block(memory));
  int sum = 0;
  for (int i = int(threadIdx.x); i < COUNT; i += THREADS) sum += in[i];
  sum = cg::reduce(pair, sum, cg::plus<int>());
  if (blockIdx.x == 0 && threadIdx.x == 0) *out = sum;
}

int main(int, char** arguments) {
  std::vector<int> values(COUNT);
  std::iota(values.begin(), values.end(), 1);
  int *in = nullptr, *parts = nullptr, *out = nullptr, result = 0;
  void* flags = nullptr;
  cudaMalloc(&in, sizeof(int) * COUNT);
  cudaMalloc(&parts, sizeof(int) * BLOCKS);
  cudaMalloc(&flags, 8 * BLOCKS);
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(in, values.data(), sizeof(int) * COUNT, cudaMemcpyHostToDevice);
  cudaMemset(flags, 0, 8 * BLOCKS);
  cudaMemset(out, 0, sizeof(int));

  const struct {
    const char* name;
    const void* kernel;
  } kernels[] = {{"grid_sync", (const void*)grid_sync},
                 {"last_block", (const void*)last_block<false>},
                 {"last_block_fenced", (const void*)last_block<true>},
                 {"volatile_flags", (const void*)volatile_flags},
                 {"acquire_release", (const void*)acquire_release},
                 {"no_fence", (const void*)no_fence},
                 {"narrow_fence", (const void*)narrow_fence},
                 {"look_back", (const void*)look_back},
                 {"lockstep", (const void*)lockstep},
                 {"two_warps", (const void*)two_warps}};
  void* parameters[] = {&in, &parts, &flags, &out};
  for (const auto& each : kernels) {
    if (std::strcmp(arguments[1], each.name) == 0)
      cudaLaunchCooperativeKernel(each.kernel, BLOCKS, THREADS, parameters, 0, nullptr);
  }
  cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%s: %s\n", arguments[1], result == COUNT * (COUNT + 1) / 2 ? "PASSED" : "FAILED");
  return 0;
}
