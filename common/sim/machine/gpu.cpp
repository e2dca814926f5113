#include "machine/gpu.h"

#include <algorithm>
#include <array>

#include "common/base/align.h"

namespace sim {
namespace {

constexpr int KiB = 1024;
constexpr uint64_t MiB = 1024 * KiB;

Gpu b200() {
  Gpu gpu;
  gpu.key = "b200";
  gpu.name = "Simulated B200";
  gpu.major = 10;
  gpu.minor = 0;
  gpu.sm_count = 148;
  gpu.clock_khz = 1'965'000;
  gpu.memory_clock_khz = 3'996'000;  // two transfers a cycle on 8,192 bits: 8.2 TB/s
  gpu.memory_bus_bits = 8192;
  gpu.global_bytes = 182'642 * MiB;
  gpu.l2_bytes = 126 * MiB;
  gpu.smem_per_sm = 228 * KiB;
  gpu.smem_per_block = 227 * KiB;
  gpu.tmem_columns = 512;
  gpu.has_tcgen05 = true;
  return gpu;
}

Gpu h200() {
  Gpu gpu;
  gpu.key = "h200";
  gpu.name = "Simulated H200";
  gpu.major = 9;
  gpu.minor = 0;
  gpu.sm_count = 132;
  // As found on one, by scripts/maintain/calibrate.py's `topology`: four SMs or more of a GPC are in no larger cluster
  // than of two.
  gpu.sm_groups = {{18, 6, 0}, {18, 7, 1}, {2, 0, 0},  {2, 0, 0},  {2, 0, 0}, {2, 0, 0},
                   {16, 1, 1}, {16, 2, 1}, {16, 3, 1}, {16, 4, 0}, {8, 0, 0}, {16, 5, 0}};
  gpu.clock_khz = 1'980'000;
  gpu.memory_clock_khz = 3'201'000;  // two transfers a cycle on 6,016 bits: 4.8 TB/s
  gpu.memory_bus_bits = 6016;
  gpu.global_bytes = 150'109'880'320;  // what cudaMemGetInfo reports on the real one
  gpu.l2_bytes = 60 * MiB;
  gpu.smem_per_sm = 228 * KiB;
  gpu.smem_per_block = 227 * KiB;
  gpu.has_wgmma = true;
  return gpu;
}

const std::array<Gpu, 2>& descriptions() {
  static const std::array<Gpu, 2> all = {b200(), h200()};
  return all;
}

}  // namespace

std::optional<Gpu> find_gpu(std::string_view key) {
  for (const Gpu& gpu : descriptions()) {
    if (gpu.key == key) return gpu;
  }
  return std::nullopt;
}

int Gpu::threads_with(int registers) const {
  constexpr unsigned kParts = 4, kUnit = 256, kWarp = 32;
  const unsigned each = static_cast<unsigned>(registers > 0 ? registers : assumed_registers);
  const unsigned warps = registers_per_sm / kParts / base::round_up(each * kWarp, kUnit) * kParts;
  return std::min(static_cast<int>(warps * kWarp), threads_per_sm);
}

std::vector<std::string> gpu_keys() {
  std::vector<std::string> keys;
  for (const Gpu& gpu : descriptions()) keys.push_back(gpu.key);
  return keys;
}

}  // namespace sim
