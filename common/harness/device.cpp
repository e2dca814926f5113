#include "device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "failure.h"
#include "text.h"

namespace harness {
namespace {

/// No driver, no device, or only the stub library that CUDA programs are linked with: all of these mean "no GPU".
bool means_no_gpu(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary;
}

const char* examples_of(int arch) { return arch == 90 ? "H100, H200" : "B200, GB200"; }

/// 256 rows, the most that a level computes at once, so that a whole tile too many still lands in the band.
std::size_t guard_bytes_for(int ldd) {
  constexpr std::size_t MIN = std::size_t{64} << 10, MAX = std::size_t{16} << 20, ALIGNMENT = 1024;
  const std::size_t rows = std::size_t{256} * static_cast<std::size_t>(ldd) * sizeof(Bf16);
  return std::clamp(rows, MIN, MAX) / ALIGNMENT * ALIGNMENT;
}

std::size_t d_bytes_for(const Shape& shape, int ldd) {
  return static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(ldd) * sizeof(Bf16);
}

}  // namespace

void check(cudaError_t status, const std::string& doing) {
  if (status == cudaSuccess) return;
  throw Failure(EXIT_CUDA,
                format("%s (%s) while %s.", cudaGetErrorName(status), cudaGetErrorString(status), doing.c_str()));
}

std::string Device::pci_bus_id() const {
  return format("%08x:%02x:%02x.0", static_cast<unsigned>(properties.pciDomainID),
                static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
}

double Device::free_memory() const {
  if (simulated) return std::min(static_cast<double>(properties.totalGlobalMem), available_host_memory());
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the free memory of the GPU");
  return static_cast<double>(free);
}

Device select_device(int arch, const std::string& program, const std::string& command) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (means_no_gpu(status) || (status == cudaSuccess && count == 0)) {
    throw Failure(EXIT_SKIPPED, format("There is no GPU here, but the simulated device can run it: scripts/sim.sh %s",
                                       command.c_str()));
  }
  check(status, "looking for a GPU");
  std::string found, twin;
  for (int index = 0; index < count; ++index) {
    Device device{.index = index, .properties = {}, .simulated = false};
    check(cudaGetDeviceProperties(&device.properties, index), format("asking for the properties of GPU %d", index));
    if (device.properties.major == arch / 10 && device.properties.minor == arch % 10) {
      device.simulated = device.name().starts_with("Simulated");
      check(cudaSetDevice(index), format("selecting GPU %d", index));
      return device;
    }
    const int other = device.properties.major * 10 + device.properties.minor;
    if (other == 90 || other == 100) twin = format("the _sm%d executable runs on it, and ", other);
    if (!found.empty()) found += ", ";
    found += format("%s (%d.%d)", device.properties.name, device.properties.major, device.properties.minor);
  }
  throw Failure(
      EXIT_SKIPPED,
      format("%s needs a GPU of compute capability %d.%d (%s), but here is only %s: %sthe simulated device runs "
             "this one: scripts/sim.sh %s",
             program.c_str(), arch / 10, arch % 10, examples_of(arch), found.c_str(), twin.c_str(), command.c_str()));
}

double available_host_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    unsigned long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kilobytes) == 1)
      return 1024.0 * static_cast<double>(kilobytes);
  }
  return std::numeric_limits<double>::infinity();
}

DeviceMemory::DeviceMemory(std::size_t bytes, const std::string& purpose) {
  check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes),
        format("allocating %s for %s", short_bytes(static_cast<double>(bytes)).c_str(), purpose.c_str()));
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) cudaFree(data_);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}

DeviceInput::DeviceInput(const Bf16* values, std::int64_t elements, const std::string& name)
    : values_(values), bytes_(sizeof(Bf16) * static_cast<std::size_t>(elements)), name_(name), memory_(bytes_, name) {
  upload();
}

void DeviceInput::upload() {
  check(cudaMemcpy(memory_.data(), values_, bytes_, cudaMemcpyHostToDevice), "copying " + name_ + " to the device");
}

bool DeviceInput::restore() {
  constexpr std::size_t PIECE = std::size_t{16} << 20;
  const auto* expected = reinterpret_cast<const std::byte*>(values_);
  const auto copy = std::make_unique_for_overwrite<std::byte[]>(std::min(PIECE, bytes_));
  for (std::size_t done = 0; done < bytes_; done += PIECE) {
    const std::size_t count = std::min(PIECE, bytes_ - done);
    check(cudaMemcpy(copy.get(), memory_.data() + done, count, cudaMemcpyDeviceToHost),
          "copying " + name_ + " to the host");
    if (std::memcmp(copy.get(), expected + done, count) != 0) {
      upload();
      return false;
    }
  }
  return true;
}

GuardedOutput::GuardedOutput(const Shape& shape, int ldd)
    : guard_bytes_(guard_bytes_for(ldd)), d_bytes_(d_bytes_for(shape, ldd)), memory_(bytes(shape, ldd), "D") {
  poison();
}

std::size_t GuardedOutput::bytes(const Shape& shape, int ldd) {
  return d_bytes_for(shape, ldd) + 2 * guard_bytes_for(ldd);
}

void GuardedOutput::poison() { check(cudaMemset(memory_.data(), 0xFF, d_bytes_ + 2 * guard_bytes_), "poisoning D"); }

GuardedOutput::Copy GuardedOutput::download() const {
  const std::size_t total = d_bytes_ + 2 * guard_bytes_;
  Copy copy;
  copy.bytes = std::make_unique_for_overwrite<std::byte[]>(total);
  check(cudaMemcpy(copy.bytes.get(), memory_.data(), total, cudaMemcpyDeviceToHost), "copying D to the host");
  copy.before = {copy.bytes.get(), guard_bytes_};
  copy.after = {copy.bytes.get() + guard_bytes_ + d_bytes_, guard_bytes_};
  copy.d = reinterpret_cast<const Bf16*>(copy.bytes.get() + guard_bytes_);
  return copy;
}

}  // namespace harness
