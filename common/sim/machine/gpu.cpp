#include "machine/gpu.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "common/base/align.h"
#include "machine/gpu_files.h"

namespace sim {
namespace {

constexpr int KiB = 1024;

template <class Number>
void read(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::runtime_error("'" + text + "' in a GPU's file is not a whole number");
}
void read(const std::string& text, std::string& value) { value = text; }
void read(const std::string& text, bool& value) { value = text == "1"; }
/// "18/6/0 2/0/0": SMs, GPC and half of L2 of each group.
void read(const std::string& text, std::vector<SmGroup>& groups) {
  std::istringstream words(text);
  for (SmGroup group; words >> group.sms;) {
    char slash = 0;
    if (!(words >> slash >> group.gpc >> slash >> group.l2_half))
      throw std::runtime_error("'" + text + "' in a GPU's file is not a list of SMs/GPC/half");
    groups.push_back(group);
  }
}

std::vector<Gpu> read_descriptions() {
  std::vector<Gpu> all;
  for (const auto& [key, text] : gpu_files()) all.push_back(describe(key, read_gpu_file(text)));
  return all;
}

const std::vector<Gpu>& descriptions() {
  static const std::vector<Gpu> all = read_descriptions();
  return all;
}

}  // namespace

Gpu describe(std::string_view key, const std::vector<GpuFact>& facts) {
  Gpu gpu;
  gpu.key = key;
  auto unread =
      std::count_if(facts.begin(), facts.end(), [](const GpuFact& each) { return each.name.starts_with(kDescribes); });
  const auto find = [&](const char* field, auto& value) {
    const std::string name = std::string(kDescribes) + field;
    const auto fact = std::find_if(facts.begin(), facts.end(), [&](const GpuFact& each) { return each.name == name; });
    if (fact == facts.end()) throw std::runtime_error("the file of the GPU '" + gpu.key + "' has no " + name);
    read(fact->value, value);
    --unread;
  };
  find("name", gpu.name), find("major", gpu.major), find("minor", gpu.minor), find("is_default", gpu.is_default);
  find("sm_count", gpu.sm_count), find("sm_groups", gpu.sm_groups);
  find("clock_khz", gpu.clock_khz), find("memory_clock_khz", gpu.memory_clock_khz);
  find("memory_bus_bits", gpu.memory_bus_bits);
  find("global_bytes", gpu.global_bytes), find("l2_bytes", gpu.l2_bytes);
  if (unread != 0)
    throw std::runtime_error("the file of the GPU '" + gpu.key + "' describes what no GPU has, or twice");
  gpu.smem_per_sm = 228 * KiB;
  gpu.smem_per_block = 227 * KiB;
  gpu.has_wgmma = gpu.major == 9;
  gpu.has_tcgen05 = gpu.major == 10;
  return gpu;
}

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

std::string default_gpu(int major) {
  const Gpu* newest = nullptr;
  for (const Gpu& gpu : descriptions()) {
    if (!gpu.is_default) continue;
    if (gpu.major == major) return gpu.key;
    if (newest == nullptr || gpu.major > newest->major) newest = &gpu;
  }
  return newest == nullptr ? "" : newest->key;
}

std::vector<std::string> gpu_keys() {
  std::vector<std::string> keys;
  for (const Gpu& gpu : descriptions()) keys.push_back(gpu.key);
  return keys;
}

}  // namespace sim
