// without_LEVEL [--config NAME] [--launches N] --sizes LIST: how often is D wrong? One line of CSV per size.
//
// This `run` stands in for the harness's: a level's main.cu calls it with its description. Every launch finds D
// poisoned and is compared on the GPU, bit for bit, with the exact product of whole numbers.
// needed.py --device gpu takes copies of this program whose PTX has been changed.
#include <cuda_bf16.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "common/harness/arguments.h"
#include "common/harness/device.h"
#include "common/harness/failure.h"
#include "common/harness/inputs.h"
#include "common/harness/level.h"
#include "common/harness/text.h"

namespace harness {
namespace {

constexpr int TILE = 32, THREADS = 16;   // each of 16 x 16 threads computes 2 x 2 elements of a tile of D
constexpr double MAX_EXACT_K = 1 << 22;  // products of numbers up to 2: sums up to 4K are exact in FP32

/// D = A * B^T in FP32, rounded to BF16, as plainly as a tiled kernel can: each wait is beyond doubt.
__global__ void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* d, int m, int n, int k) {
  __shared__ float rows[TILE][TILE + 1], columns[TILE][TILE + 1];
  const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  float sums[2][2] = {};
  for (int start = 0; start < k; start += TILE) {
    for (int i = threadIdx.y; i < TILE; i += THREADS) {
      for (int j = threadIdx.x; j < TILE; j += THREADS) {
        const bool inside = start + j < k;
        const int row = first_row + i, column = first_column + i;
        rows[i][j] = inside && row < m ? __bfloat162float(a[size_t(row) * k + start + j]) : 0.0f;
        columns[i][j] = inside && column < n ? __bfloat162float(b[size_t(column) * k + start + j]) : 0.0f;
      }
    }
    __syncthreads();
    for (int j = 0; j < TILE; ++j) {
      for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 2; ++x)
          sums[y][x] += rows[threadIdx.y + y * THREADS][j] * columns[threadIdx.x + x * THREADS][j];
      }
    }
    __syncthreads();
  }
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 2; ++x) {
      const int row = first_row + threadIdx.y + y * THREADS, column = first_column + threadIdx.x + x * THREADS;
      if (row < m && column < n) d[size_t(row) * n + column] = __float2bfloat16_rn(sums[y][x]);
    }
  }
}

/// Adds to `wrong` how many elements differ. `elements` is a multiple of 8.
__global__ void count_wrong(const uint4* d, const uint4* expected, size_t elements, unsigned* wrong) {
  unsigned mine = 0;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < elements / 8; i += step) {
    const uint4 found = d[i], right = expected[i];
    const unsigned differences[] = {found.x ^ right.x, found.y ^ right.y, found.z ^ right.z, found.w ^ right.w};
    for (const unsigned difference : differences) mine += ((difference & 0xFFFF) != 0) + ((difference >> 16) != 0);
  }
  if (mine > 0) atomicAdd(wrong, mine);
}

struct Settings {
  std::string config;
  int launches = 300;
  std::vector<Shape> sizes;
};

int parse_launches(const char* text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end != '\0' || value < 0 || value > 1'000'000)
    throw usage_error(format("--launches takes a number from 0 to 1000000, not '%s'.", text));
  return value;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  std::string sizes;
  for (int i = 1; i < argc; ++i) {
    if (i + 1 < argc && std::strcmp(argv[i], "--config") == 0)
      settings.config = argv[++i];
    else if (i + 1 < argc && std::strcmp(argv[i], "--launches") == 0)
      settings.launches = parse_launches(argv[++i]);
    else if (i + 1 < argc && std::strcmp(argv[i], "--sizes") == 0)
      sizes = argv[++i];
    else
      throw usage_error(format("'%s' is not one of --config NAME, --launches N, --sizes LIST.", argv[i]));
  }
  if (sizes.empty()) throw usage_error("--sizes is missing: which products?");
  settings.sizes = parse_sizes(sizes);
  for (const Shape& shape : settings.sizes) {
    require_legal(shape);
    if (shape.k > MAX_EXACT_K) throw usage_error(format("Sums of %d products are not exact in FP32.", shape.k));
  }
  return settings;
}

/// How many elements were wrong in each launch.
std::vector<unsigned> count(const Level& level, const Settings& settings, const Shape& shape, int sms) {
  const Inputs inputs(shape, Init::integer, 1);
  const DeviceInput a(inputs.a.get(), shape.a_elements(), "A"), b(inputs.b.get(), shape.b_elements(), "B");
  const std::size_t bytes = static_cast<std::size_t>(shape.d_elements()) * sizeof(Bf16);
  const DeviceMemory d(bytes, "D"), expected(bytes, "the right D");
  const auto input = [](const DeviceInput& memory) { return reinterpret_cast<const __nv_bfloat16*>(memory.data()); };
  const auto output = [](const DeviceMemory& memory) { return reinterpret_cast<__nv_bfloat16*>(memory.data()); };
  const dim3 tiles((shape.n + TILE - 1) / TILE, (shape.m + TILE - 1) / TILE);
  const Stream stream;
  multiply<<<tiles, dim3(THREADS, THREADS), 0, stream>>>(input(a), input(b), output(expected), shape.m, shape.n,
                                                         shape.k);
  check(cudaGetLastError(), "launching the plain product");
  stream.synchronize("running the plain product");

  std::vector<unsigned> wrong(static_cast<std::size_t>(settings.launches));
  const std::size_t counters_bytes = std::max<std::size_t>(1, wrong.size()) * sizeof(unsigned);
  const DeviceMemory counters(counters_bytes, "counters");
  check(cudaMemsetAsync(counters.data(), 0, counters_bytes, stream), "clearing the counters");
  const Problem problem{
      .m = shape.m, .n = shape.n, .k = shape.k, .a = input(a), .b = input(b), .d = output(d), .ldd = shape.n};
  const auto* config = level.select != nullptr ? level.select(problem) : &level.configs[0];
  for (const Config& one : level.configs) {
    if (one.name == settings.config) config = &one;
  }
  for (int i = 0; i < settings.launches; ++i) {
    check(cudaMemsetAsync(d.data(), 0xFF, bytes, stream), "poisoning D");
    check(config->launch(problem, stream), "launching the level");
    count_wrong<<<4 * sms, 256, 0, stream>>>(
        reinterpret_cast<const uint4*>(d.data()), reinterpret_cast<const uint4*>(expected.data()),
        static_cast<std::size_t>(shape.d_elements()), reinterpret_cast<unsigned*>(counters.data()) + i);
    check(cudaGetLastError(), "launching the comparison");
  }
  stream.synchronize("running the level");
  if (!wrong.empty())
    check(cudaMemcpy(wrong.data(), counters.data(), counters_bytes, cudaMemcpyDeviceToHost), "reading the counters");
  return wrong;
}

int act(int argc, char** argv, const Level& level) {
  const Settings settings = parse(argc, argv);
  if (!settings.config.empty() &&
      std::ranges::none_of(level.configs, [&](const Config& config) { return config.name == settings.config; })) {
    throw usage_error(format("There is no configuration '%s' (the level's --list-configs).", settings.config.c_str()));
  }
  const std::string program = format("without_%s_sm%d", std::string(level.name).c_str(), level.arch);
  const Device device = select_device(level.arch, program, program + " --launches 1 --sizes 256");
  std::printf("# gpu: %s\nm,n,k,runs,wrong,worst\n", device.name().c_str());
  std::fflush(stdout);
  for (const Shape& shape : settings.sizes) {
    const std::vector<unsigned> wrong = count(level, settings, shape, device.properties.multiProcessorCount);
    const auto bad = std::ranges::count_if(wrong, [](unsigned elements) { return elements > 0; });
    const unsigned worst = wrong.empty() ? 0 : *std::ranges::max_element(wrong);
    std::printf("%d,%d,%d,%zu,%td,%u\n", shape.m, shape.n, shape.k, wrong.size(), bad, worst);
    std::fflush(stdout);
  }
  return EXIT_RIGHT;
}

}  // namespace

int run(int argc, char** argv, const Level& level) {
  return end_at_failure(argv[0], [&] { return act(argc, argv, level); });
}

}  // namespace harness
