// D = A * B^T, one tile of 128 x 128 and any K, on a Blackwell tensor core in three ways. NVFP4 with a factor for every
// 16 elements, FP8 times FP4 with a power of two for every 32, and BF16 with a sparse A. Operands come by TMA, factors
// and metadata by bulk copies and tcgen05.cp. The host computes the same. Nothing in it knows of the simulated device.
#include <cmath>
#include <cstring>

#include "program.h"
#include "ptx.cuh"

enum Way { NVFP4, MXFP8, SPARSE };
constexpr int ROWS = 128, COLUMNS = 128, ROW_BYTES = 128;  // of A, of D, and of a stage's row in shared memory
constexpr int TILE = ROWS * ROW_BYTES;
constexpr int SIDE = 2048;  // bytes of factors of A or B, or of metadata, that a stage has room for
constexpr int BLOCKS = 2;   // stages that the K loop takes one after the other
constexpr uint32_t D_COLUMN = 0, A_SIDE_COLUMN = 128, B_SIDE_COLUMN = 160;

/// What a stage brings.
template <Way WAY>
struct Stage {
  static constexpr int k = WAY == NVFP4 ? 256 : 128;        // elements of K
  static constexpr int b_tiles = WAY == SPARSE ? 2 : 1;     // 128 bytes of a column each
  static constexpr int a_side = WAY == MXFP8 ? 512 : 2048;  // factors, or metadata
  static constexpr int b_side = WAY == SPARSE ? 0 : a_side;
  static constexpr int b_bytes = WAY == MXFP8 ? TILE / 2 : b_tiles * TILE;  // as TMA counts: packed ones
};

struct __align__(1024) Shared {
  uint8_t a[TILE], b[2 * TILE], a_side[SIDE], b_side[SIDE];
  uint64_t full, done;
  uint32_t tmem;
};

/// Of operands in 128-byte rows, with the swizzle; of sides, in core matrices without one.
__device__ uint64_t tmem_descriptor(const void* p, int offset, uint64_t swizzle) {
  const uint64_t stride = swizzle == 0 ? 128 : 1024;
  return (at(p) + offset) >> 4 | uint64_t{8} << 16 | stride >> 4 << 32 | uint64_t{1} << 46 | swizzle << 61;
}

template <Way WAY>
__device__ void multiply(uint32_t tmem, const Shared& s, int step, bool accumulates) {
  constexpr uint64_t SWIZZLE_128 = 2;
  constexpr uint32_t SHAPE = COLUMNS / 8 << 17 | ROWS / 16 << 24;
  const uint64_t a = tmem_descriptor(s.a, 32 * step, SWIZZLE_128);
  const uint32_t d = tmem + D_COLUMN;
  if constexpr (WAY == NVFP4) {  // E2M1 = 1, factors UE4M3
    const uint64_t b = tmem_descriptor(s.b, 32 * step, SWIZZLE_128);
    const uint32_t a_side = tmem + A_SIDE_COLUMN + 4 * step, b_side = tmem + B_SIDE_COLUMN + 4 * step;
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %6, 0; tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], "
        "%1, %2, %3, [%4], [%5], p; }" ::"r"(d),
        "l"(a), "l"(b), "r"(SHAPE | 1 << 7 | 1 << 10), "r"(a_side), "r"(b_side), "r"(int{accumulates}));
  } else if constexpr (WAY == MXFP8) {  // E4M3 = 0, E2M1 = 5, factors UE8M0; a byte of each cell for each step
    const uint64_t b = tmem_descriptor(s.b, 32 * step, SWIZZLE_128);
    const uint32_t instruction = SHAPE | 5 << 10 | 1 << 23 | step << 29 | step << 4;
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %6, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%0], "
        "%1, %2, %3, [%4], [%5], p; }" ::"r"(d),
        "l"(a), "l"(b), "r"(instruction), "r"(tmem + A_SIDE_COLUMN), "r"(tmem + B_SIDE_COLUMN), "r"(int{accumulates}));
  } else {  // BF16, F32; 64 bytes of B for 32 of A; a column of metadata, selected from a pair
    const uint64_t b = tmem_descriptor(s.b, step / 2 * TILE + step % 2 * 64, SWIZZLE_128);
    const uint32_t instruction = SHAPE | 1 << 4 | 1 << 7 | 1 << 10 | 1 << 2 | step % 2;
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%3], %4, p; }" ::
            "r"(d),
        "l"(a), "l"(b), "r"(tmem + A_SIDE_COLUMN + step / 2 * 2), "r"(instruction), "r"(int{accumulates}));
  }
}

/// Factors and metadata: from shared to tensor memory.
template <Way WAY>
__device__ void copy_sides(uint32_t tmem, const Shared& s) {
  if constexpr (WAY == SPARSE) {
    asm volatile("tcgen05.cp.cta_group::1.128x128b [%0], %1;" ::"r"(tmem + A_SIDE_COLUMN),
                 "l"(tmem_descriptor(s.a_side, 0, 0)));
  } else {
    for (int i = 0; i < Stage<WAY>::a_side / 512; ++i) {  // 128 rows of four factors
      asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(tmem + A_SIDE_COLUMN + 4 * i),
                   "l"(tmem_descriptor(s.a_side, 512 * i, 0)));
      asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(tmem + B_SIDE_COLUMN + 4 * i),
                   "l"(tmem_descriptor(s.b_side, 512 * i, 0)));
    }
  }
}

template <Way WAY>
__global__ void __launch_bounds__(128)
    product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, const uint8_t* a_side,
            const uint8_t* b_side, float* d) {
  extern __shared__ __align__(1024) uint8_t memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  using S = Stage<WAY>;
  if (threadIdx.x < 32) {
    tmem_alloc<1>(at(&s.tmem), 256);
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    before_sync();
  }
  if (threadIdx.x == 0) {
    init(at(&s.full), 1), init(at(&s.done), 1);
    fence_init();
  }
  __syncthreads();
  after_sync();
  const uint32_t tmem = s.tmem;

  if (threadIdx.x == 0) {
    for (int block = 0; block < BLOCKS; ++block) {
      const uint32_t full = at(&s.full);
      arrive_expect(full, TILE + S::b_bytes + S::a_side + S::b_side);
      // Elements as the maps count them: A has half of its own if it is sparse.
      tma_load(at(s.a), &a, block * S::k / (WAY == SPARSE ? 2 : 1), 0, full);
      for (int i = 0; i < S::b_tiles; ++i)
        tma_load(at(s.b + i * TILE), &b, block * S::k + i * (S::k / S::b_tiles), 0, full);
      bulk_load(at(s.a_side), a_side + block * S::a_side, S::a_side, full);
      if (S::b_side != 0) bulk_load(at(s.b_side), b_side + block * S::b_side, S::b_side, full);
      wait(full, block % 2);
      after_sync();
      copy_sides<WAY>(tmem, s);
      for (int step = 0; step < 4; ++step) multiply<WAY>(tmem, s, step, block + step > 0);
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(at(&s.done))
                   : "memory");
      wait(at(&s.done), block % 2);
      after_sync();
    }
    before_sync();
  }
  __syncthreads();
  after_sync();
  for (int column = 0; column < COLUMNS; column += 4) {
    uint32_t x[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4]; tcgen05.wait::ld.sync.aligned;"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(tmem + D_COLUMN + column + (threadIdx.x / 32 << 21)));
    for (int i = 0; i < 4; ++i) d[threadIdx.x * COLUMNS + column + i] = __uint_as_float(x[i]);
  }
  before_sync();
  __syncthreads();
  after_sync();
  if (threadIdx.x < 32) tmem_dealloc<1>(tmem, 256);
}

// ---- the host's side

static uint32_t random_bits() {
  static uint32_t state = 1;
  state ^= state << 13, state ^= state >> 17, state ^= state << 5;
  return state;
}
static float e2m1(uint32_t code) {
  const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code & 8 ? -values[code & 7] : values[code & 7];
}
static float e4m3(uint32_t code) {  // normal numbers
  const float magnitude = std::ldexp(1 + static_cast<float>(code & 7) / 8, static_cast<int>(code >> 3 & 15) - 7);
  return code & 0x80 ? -magnitude : magnitude;
}

struct Operand {
  std::vector<uint8_t> bytes;                ///< as in global memory, row after row
  std::vector<std::vector<double>> numbers;  ///< what they stand for, zeros and factors included
  std::vector<uint8_t> side;                 ///< factors or metadata
};

/// Factor `f` of a row: 32 rows of 16 bytes hold four factors each of 128 rows, 512 bytes for each four factors of K.
static size_t place_of_factor(int row, int f) {
  return static_cast<size_t>(f / 4 * 512 + row % 32 * 16 + row / 32 * 4 + f % 4);
}

static Operand fp4_operand(int k, int block, bool ue4m3) {
  Operand o;
  o.side.resize(static_cast<size_t>(128 * k / block));
  for (int row = 0; row < 128; ++row) {
    o.numbers.emplace_back();
    for (int i = 0; i < k; i += 2) {
      const uint32_t low = random_bits() & 15, high = random_bits() & 15;
      o.bytes.push_back(static_cast<uint8_t>(high << 4 | low));
      o.numbers.back().push_back(e2m1(low)), o.numbers.back().push_back(e2m1(high));
    }
    for (int f = 0; f < k / block; ++f) {
      const uint32_t code = ue4m3 ? 0x30 + random_bits() % 17 : 125 + random_bits() % 4;
      o.side[place_of_factor(row, f)] = static_cast<uint8_t>(code);
      for (int i = 0; i < block; ++i)
        o.numbers.back()[static_cast<size_t>(f * block + i)] *=
            ue4m3 ? e4m3(code) : std::ldexp(1.0, static_cast<int>(code) - 127);
    }
  }
  return o;
}
static Operand fp8_operand(int k) {
  Operand o;
  o.side.resize(static_cast<size_t>(128 * k / 32));
  for (int row = 0; row < 128; ++row) {
    o.numbers.emplace_back();
    for (int i = 0; i < k; ++i) {
      const uint32_t code = (random_bits() & 0x87) | (6 + random_bits() % 3) << 3;
      o.bytes.push_back(static_cast<uint8_t>(code));
      o.numbers.back().push_back(e4m3(code));
    }
    for (int f = 0; f < k / 32; ++f) {
      const uint32_t code = 126 + random_bits() % 3;
      o.side[place_of_factor(row, f)] = static_cast<uint8_t>(code);
      for (int i = 0; i < 32; ++i)
        o.numbers.back()[static_cast<size_t>(f * 32 + i)] *= std::ldexp(1.0, static_cast<int>(code) - 127);
    }
  }
  return o;
}
/// Small whole numbers. Sparse: two of four, and which they are.
static Operand bf16_operand(int k, bool sparse) {
  Operand o;
  if (sparse) o.side.resize(static_cast<size_t>(128 * k / 8));
  const auto push = [&](int number) {
    const float value = static_cast<float>(number);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    o.bytes.push_back(static_cast<uint8_t>(bits >> 16)), o.bytes.push_back(static_cast<uint8_t>(bits >> 24));
  };
  for (int row = 0; row < 128; ++row) {
    std::vector<double> numbers(static_cast<size_t>(k));
    for (int i = 0; i < k; i += sparse ? 4 : 1) {
      if (!sparse) {
        const int number = static_cast<int>(random_bits() % 9) - 4;
        push(number);
        numbers[static_cast<size_t>(i)] = number;
        continue;
      }
      const uint32_t choices[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0xE};
      const uint32_t nibble = choices[random_bits() % 6];
      for (const uint32_t index : {nibble & 3, nibble >> 2}) {
        const int number = static_cast<int>(random_bits() % 9) - 4;
        push(number);
        numbers[static_cast<size_t>(i) + index] = number;
      }
      // 128 lanes of 16 bytes for each 128 of K; a column of four bytes for each 32, in which rows lie in pairs.
      const int group = i % 32 / 4, lane = row / 16 * 16 + group / 4 * 8 + row % 8;
      const size_t at =
          static_cast<size_t>(i / 128 * 2048 + lane * 16 + i % 128 / 32 * 4 + row / 8 % 2 * 2 + group % 4 / 2);
      o.side[at] = static_cast<uint8_t>(o.side[at] | nibble << group % 2 * 4);
    }
    o.numbers.push_back(numbers);
  }
  return o;
}

template <Way WAY>
static void run(const char* name) {
  constexpr int k = Stage<WAY>::k * BLOCKS;
  const Operand a = WAY == NVFP4 ? fp4_operand(k, 16, true) : WAY == MXFP8 ? fp8_operand(k) : bf16_operand(k, true);
  const Operand b = WAY == NVFP4   ? fp4_operand(k, 16, true)
                    : WAY == MXFP8 ? fp4_operand(k, 32, false)
                                   : bf16_operand(k, false);
  const auto type_a = WAY == NVFP4   ? CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B
                      : WAY == MXFP8 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                     : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto type_b = WAY == MXFP8 ? CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B : type_a;
  const auto map = [&](const Operand& o, CUtensorMapDataType type, int elements, int box) {
    return tensor_map(upload(o.bytes), type, elements, 128, o.bytes.size() / 128, box, 128, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const CUtensorMap map_a = map(a, type_a, WAY == SPARSE ? k / 2 : k, WAY == NVFP4 ? 256 : WAY == MXFP8 ? 128 : 64);
  const CUtensorMap map_b = map(b, type_b, k, WAY == NVFP4 ? 256 : WAY == MXFP8 ? 128 : 64);
  float* const d = allocate<float>(ROWS * COLUMNS);
  CHECK(cudaFuncSetAttribute(product<WAY>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  product<WAY><<<1, 128, sizeof(Shared)>>>(map_a, map_b, upload(a.side), upload(b.side), d);
  const std::vector<float> result = download(d, ROWS * COLUMNS);
  int wrong = 0;
  for (size_t m = 0; m < ROWS; ++m) {
    for (size_t n = 0; n < COLUMNS; ++n) {
      double sum = 0;
      for (size_t i = 0; i < k; ++i) sum += a.numbers[m][i] * b.numbers[n][i];
      const float got = result[m * COLUMNS + n];
      if (std::fabs(static_cast<double>(got) - sum) <= 1e-4 * std::fmax(1, std::fabs(sum))) continue;
      if (++wrong <= 3) std::printf("%s: D[%zu][%zu] = %g, not %g\n", name, m, n, got, sum);
    }
  }
  report(wrong == 0, name);
}

int main() {
  run<NVFP4>("NVFP4 times NVFP4, a factor for every 16");
  run<MXFP8>("MXFP8 times MXFP4, a power of two for every 32");
  run<SPARSE>("BF16 with a sparse A");
}
