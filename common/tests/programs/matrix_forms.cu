// Forms of Blackwell that move parts of matrices: TMA loads and stores of four rows (tile::gather4, tile::scatter4),
// 8-bit ldmatrix and stmatrix, and tcgen05.cp with packed elements. Nothing in it knows of the simulated device.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                        \
  do {                                                                                                     \
    const cudaError_t status = (call);                                                                     \
    if (status != cudaSuccess) {                                                                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)), std::exit(1); \
    }                                                                                                      \
  } while (0)

constexpr int ROWS = 64, COLUMNS = 64, BOX = 32, TAKEN = 4;

__device__ uint32_t at(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void wait(uint64_t* barrier) {
  asm volatile(
      "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" ::"r"(at(barrier))
      : "memory");
}

/// Rows `from` of one matrix become rows `to` of another.
__global__ void move_rows(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int column,
                          int4 from, int4 to) {
  __shared__ alignas(128) float tile[TAKEN * BOX];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x != 0) return;
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)));
  asm volatile("fence.mbarrier_init.release.cluster;");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full)), "r"(int(sizeof tile)));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
      "%5, %6}], [%7];" ::"r"(at(tile)),
      "l"(&in), "r"(column), "r"(from.x), "r"(from.y), "r"(from.z), "r"(from.w), "r"(at(&full))
      : "memory");
  wait(&full);
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(
          &out),
      "r"(column), "r"(to.x), "r"(to.y), "r"(to.z), "r"(to.w), "r"(at(tile))
      : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

CUtensorMap map_of(float* data) {
  decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", reinterpret_cast<void**>(&encode), 12000,
                                         cudaEnableDefault, &found));
  CUtensorMap map;
  const cuuint64_t dims[] = {COLUMNS, ROWS}, strides[] = {COLUMNS * sizeof(float)};
  const cuuint32_t box[] = {BOX, 1}, steps[] = {1, 1};
  if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    std::puts("cuTensorMapEncodeTiled failed"), std::exit(1);
  }
  return map;
}

bool test_rows() {
  std::vector<float> in(ROWS * COLUMNS), out(in.size(), -1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  float *a, *b;
  const std::size_t bytes = in.size() * sizeof in[0];
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMemcpy(a, in.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, out.data(), bytes, cudaMemcpyHostToDevice));
  const int from[] = {5, 63, 64, 7}, to[] = {3, 70, 1, 2};  // row 64 is outside and reads as zeros; 70 goes nowhere
  constexpr int COLUMN = 16;
  move_rows<<<1, 32>>>(map_of(a), map_of(b), COLUMN, {from[0], from[1], from[2], from[3]},
                       {to[0], to[1], to[2], to[3]});
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(out.data(), b, bytes, cudaMemcpyDeviceToHost));
  std::vector<float> expected(out.size(), -1);
  for (int i = 0; i < TAKEN; ++i) {
    for (int x = COLUMN; x < COLUMN + BOX && to[i] < ROWS; ++x)
      expected[to[i] * COLUMNS + x] = from[i] < ROWS ? in[from[i] * COLUMNS + x] : 0;
  }
  return out == expected;
}

/// 16 x 16 bytes through registers, transposed on the way out of shared memory and on the way back. Between the two the
/// bytes change places, and the rows are given in the order that goes with it, as CUTLASS does it (SM100_U8x8_LDSM_T).
__global__ void through_registers(const uint8_t* in, uint8_t* out) {
  __shared__ alignas(16) uint8_t a[16][16], b[16][16];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) a[i / 16][i % 16] = in[i];
  __syncwarp();
  uint32_t r0, r1;
  const int row = lane % 2 + lane / 2 % 2 * 8 + lane / 4 % 4 * 2;
  asm volatile("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0, %1}, [%2];"
               : "=r"(r0), "=r"(r1)
               : "r"(at(a[row]))
               : "memory");
  const uint32_t s0 = __byte_perm(r0, r1, 0x5410), s1 = __byte_perm(r0, r1, 0x7632);
  asm volatile("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%0], {%1, %2};" ::"r"(at(b[lane % 16])), "r"(s0),
               "r"(s1)
               : "memory");
  __syncwarp();
  for (int i = lane; i < 256; i += 32) out[i] = b[i / 16][i % 16];
}

bool test_bytes() {
  std::vector<uint8_t> in(256), out(256);
  for (int i = 0; i < 256; ++i) in[i] = static_cast<uint8_t>(i * 37 + 11);
  uint8_t *a, *b;
  CHECK(cudaMalloc(&a, 256));
  CHECK(cudaMalloc(&b, 256));
  CHECK(cudaMemcpy(a, in.data(), 256, cudaMemcpyHostToDevice));
  through_registers<<<1, 32>>>(a, b);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(out.data(), b, 256, cudaMemcpyDeviceToHost));
  return out == in;
}

/// The same numbers of four bits by two ways: unpacked by ldmatrix, and by tcgen05.cp, which leaves them two bits
/// higher.
__global__ void unpack(const uint8_t* in, uint32_t* by_ldmatrix, uint32_t* by_copy) {
  __shared__ alignas(128) uint8_t rows[128][16];
  __shared__ alignas(8) uint64_t done;
  __shared__ uint32_t tmem;
  const uint32_t thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  for (int i = 0; i < 16; ++i) rows[thread][i] = in[16 * thread + i];
  if (thread == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&done)));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncwarp();
  if (warp == 0)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(at(&tmem)) : "memory");
  asm volatile("fence.proxy.async.shared::cta; tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  uint32_t r[4];
  asm volatile("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at(rows[thread]))
               : "memory");
  for (int i = 0; i < 4; ++i)  // rows of 8 lanes a quarter each
    by_ldmatrix[(warp * 32 + i * 8 + lane / 4) * 4 + lane % 4] = r[i];
  if (thread == 0) {
    const uint64_t descriptor = (at(rows) & 0x3FFFF) >> 4 | uint64_t{8} << 16 | uint64_t{8} << 32 | uint64_t{1} << 46;
    asm volatile("tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64 [%0], %1;" ::"r"(tmem), "l"(descriptor) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(&done))
                 : "memory");
  }
  wait(&done);
  __syncwarp();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(tmem + (warp << 21)));
  asm volatile("tcgen05.wait::ld.sync.aligned;" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])::"memory");
  for (int i = 0; i < 4; ++i) by_copy[thread * 4 + i] = r[i];
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(tmem) : "memory");
}

bool test_packed() {
  constexpr int COUNT = 128 * 16;
  std::vector<uint8_t> in(COUNT), loaded(COUNT), copied(COUNT);
  for (int i = 0; i < COUNT; ++i) in[i] = static_cast<uint8_t>(i * 29 + i / 16);
  uint8_t* a;
  uint32_t *b, *c;
  CHECK(cudaMalloc(&a, COUNT));
  CHECK(cudaMalloc(&b, COUNT));
  CHECK(cudaMalloc(&c, COUNT));
  CHECK(cudaMemcpy(a, in.data(), COUNT, cudaMemcpyHostToDevice));
  unpack<<<1, 128>>>(a, b, c);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(loaded.data(), b, COUNT, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(copied.data(), c, COUNT, cudaMemcpyDeviceToHost));
  for (int i = 0; i < COUNT; ++i) {
    const int nibble = in[i / 16 * 16 + i % 16 / 2] >> (i % 2 * 4) & 15;
    if (loaded[i] != nibble || copied[i] != nibble << 2) return false;
  }
  return true;
}

int main() {
  const bool rows = test_rows(), bytes = test_bytes(), packed = test_packed();
  std::printf("four rows: %s\n8-bit matrices: %s\npacked elements: %s\n", rows ? "PASSED" : "FAILED",
              bytes ? "PASSED" : "FAILED", packed ? "PASSED" : "FAILED");
  return rows && bytes && packed ? 0 : 1;
}
