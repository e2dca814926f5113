// Forms of Blackwell that move parts of matrices: TMA loads and stores of four rows (tile::gather4, tile::scatter4),
// 8-bit ldmatrix and stmatrix, and tcgen05.cp with packed elements. Nothing in it knows of the simulated device.
#include "program.h"
#include "ptx.cuh"

constexpr int ROWS = 64, COLUMNS = 64, BOX = 32, TAKEN = 4;

/// Rows `from` of one matrix become rows `to` of another.
__global__ void move_rows(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int column,
                          int4 from, int4 to) {
  __shared__ alignas(128) float tile[TAKEN * BOX];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x != 0) return;
  init(at(&full), 1);
  fence_init();
  arrive_expect(at(&full), sizeof tile);
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
      "%5, %6}], [%7];" ::"r"(at(tile)),
      "l"(&in), "r"(column), "r"(from.x), "r"(from.y), "r"(from.z), "r"(from.w), "r"(at(&full))
      : "memory");
  wait(at(&full), 0);
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(
          &out),
      "r"(column), "r"(to.x), "r"(to.y), "r"(to.z), "r"(to.w), "r"(at(tile))
      : "memory");
  bulk_commit();
  bulk_wait();
}

bool test_rows() {
  std::vector<float> in(ROWS * COLUMNS), out(in.size(), -1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  float *a = upload(in), *b = upload(out);
  const auto rows = [](float* data) {
    return tensor_map(data, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, COLUMNS, ROWS, COLUMNS * sizeof(float), BOX, 1);
  };
  const int from[] = {5, 63, 64, 7}, to[] = {3, 70, 1, 2};  // row 64 is outside and reads as zeros; 70 goes nowhere
  constexpr int COLUMN = 16;
  move_rows<<<1, 32>>>(rows(a), rows(b), COLUMN, {from[0], from[1], from[2], from[3]}, {to[0], to[1], to[2], to[3]});
  std::vector<float> expected(out.size(), -1);
  for (int i = 0; i < TAKEN; ++i) {
    for (int x = COLUMN; x < COLUMN + BOX && to[i] < ROWS; ++x)
      expected[to[i] * COLUMNS + x] = from[i] < ROWS ? in[from[i] * COLUMNS + x] : 0;
  }
  return download(b, out.size()) == expected;
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
  std::vector<uint8_t> in(256);
  for (int i = 0; i < 256; ++i) in[i] = static_cast<uint8_t>(i * 37 + 11);
  uint8_t* const out = allocate<uint8_t>(256);
  through_registers<<<1, 32>>>(upload(in), out);
  return download(out, 256) == in;
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
    init(at(&done), 1);
    fence_init();
  }
  __syncwarp();
  if (warp == 0) tmem_alloc<1>(at(&tmem), 32);
  fence_async();
  before_sync();
  __syncthreads();
  after_sync();
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
  wait(at(&done), 0);
  __syncwarp();
  after_sync();
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(tmem + (warp << 21)));
  asm volatile("tcgen05.wait::ld.sync.aligned;" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])::"memory");
  for (int i = 0; i < 4; ++i) by_copy[thread * 4 + i] = r[i];
  before_sync();
  __syncthreads();
  after_sync();
  if (warp == 0) tmem_dealloc<1>(tmem, 32);
}

bool test_packed() {
  constexpr int COUNT = 128 * 16;
  std::vector<uint8_t> in(COUNT);
  for (int i = 0; i < COUNT; ++i) in[i] = static_cast<uint8_t>(i * 29 + i / 16);
  uint32_t *by_ldmatrix = allocate<uint32_t>(COUNT / 4), *by_copy = allocate<uint32_t>(COUNT / 4);
  unpack<<<1, 128>>>(upload(in), by_ldmatrix, by_copy);
  const std::vector<uint32_t> loaded = download(by_ldmatrix, COUNT / 4), copied = download(by_copy, COUNT / 4);
  for (int i = 0; i < COUNT; ++i) {
    const uint32_t nibble = in[i / 16 * 16 + i % 16 / 2] >> (i % 2 * 4) & 15, shift = i % 4 * 8;
    if ((loaded[i / 4] >> shift & 255) != nibble || (copied[i / 4] >> shift & 255) != nibble << 2) return false;
  }
  return true;
}

int main() {
  report(test_rows(), "four rows");
  report(test_bytes(), "8-bit matrices");
  report(test_packed(), "packed elements");
}
