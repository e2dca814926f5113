// The GPU, real or simulated: finding one that can run a level, and its memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bf16.h"
#include "shape.h"

namespace harness {

/// Throws a CUDA failure with the error's name, its text and what was being done, e.g. "copying A to the device".
void check(cudaError_t status, const std::string& doing);

struct Device {
  int index;
  cudaDeviceProp properties;
  bool simulated;  ///< its name starts with "Simulated": its speed means nothing, and its memory is the host's

  std::string name() const { return properties.name; }
  std::string pci_bus_id() const;

  /// Bytes that can be allocated on it now.
  double free_memory() const;
};

/// Selects the first GPU whose compute capability is exactly `arch` (90 or 100): machine code for sm_90a and sm_100a
/// runs on nothing else. If there is none, throws Failure(EXIT_SKIPPED) with one sentence that says what there is
/// instead and how to run `command` on the simulated device; `program` names the executable.
Device select_device(int arch, const std::string& program, const std::string& command);

/// Bytes of host memory that programs can still get, or infinity if the system does not say.
double available_host_memory();

class Stream {
 public:
  Stream() { check(cudaStreamCreate(&stream_), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }
  void synchronize(const std::string& doing) const { check(cudaStreamSynchronize(stream_), doing); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Uninitialised device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::size_t bytes, const std::string& purpose);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// A row-major BF16 matrix on the device, as it was given in host memory.
class DeviceInput {
 public:
  DeviceInput(const Bf16* values, std::int64_t elements, const std::string& name);

  const Bf16* data() const { return reinterpret_cast<const Bf16*>(memory_.data()); }

  /// Is it still what it was? If not, it is made so again.
  bool restore();

 private:
  void upload();

  const Bf16* values_;
  std::size_t bytes_;
  std::string name_;
  DeviceMemory memory_;
};

/// D on the device with row pitch `ldd`, between two guard bands large enough for a row of tiles, all of it poisoned.
class GuardedOutput {
 public:
  GuardedOutput(const Shape& shape, int ldd);

  static std::size_t bytes(const Shape& shape, int ldd);  ///< in total, with guard bands

  Bf16* data() const { return reinterpret_cast<Bf16*>(memory_.data() + guard_bytes_); }
  void poison();

  /// A copy in host memory.
  struct Copy {
    std::unique_ptr<std::byte[]> bytes;
    std::span<const std::byte> before, after;
    const Bf16* d;
  };
  Copy download() const;

 private:
  std::size_t guard_bytes_, d_bytes_;
  DeviceMemory memory_;
};

}  // namespace harness
