// What the experiments of calibrate.py share: a device, rows of results, memory full of random numbers.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/harness/device.h"
#include "common/harness/nvml.h"
#include "common/mma/swizzle.h"

namespace calibrate {

/// A set of values in three numbers: the middle one, and those with a tenth of all below and above.
struct Summary {
  double median = 0, low = 0, high = 0;
  int samples = 0;

  Summary() = default;
  Summary(double value) : median(value), low(value), high(value), samples(1) {}
  explicit Summary(std::vector<double> values);
};

/// Rows of CSV on standard output, complete as soon as they are written.
class Results {
 public:
  explicit Results(std::string experiment) : experiment_(std::move(experiment)) {}
  static void header();
  /// `setting`: what was chosen, as "name=value name=value". `quantity`: what came out of it, in `unit`.
  void add(const std::string& setting, const std::string& quantity, const std::string& unit, const Summary& value);

 private:
  std::string experiment_;
};

struct Context {
  harness::Device device;
  const harness::Nvml& nvml;
  Results results;
  bool quick;  ///< a little of everything: shows that it works, for the simulated device
  cudaStream_t stream;

  int sms() const { return device.properties.multiProcessorCount; }
  /// The first argument, or the second where little is enough.
  template <typename T>
  T scaled(T full, T little) const {
    return quick ? little : full;
  }
  void synchronize(const std::string& doing) const;
};

/// Device memory for `count` values that the host reads after a launch. Zeros at first.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count), memory_(count * sizeof(T), "results of a kernel") {
    clear();
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    harness::check(cudaMemcpy(data(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copying settings");
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  void clear() { harness::check(cudaMemset(data(), 0, count_ * sizeof(T)), "clearing results"); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    harness::check(cudaMemcpy(values.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost), "reading results");
    return values;
  }

 private:
  std::size_t count_;
  harness::DeviceMemory memory_;
};

/// Device memory that holds normally distributed BF16 values, to be seen as a matrix of any row length.
class Field {
 public:
  Field(const Context& context, std::size_t bytes);

  static constexpr int WIDE = 8192;  ///< elements per row of a matrix such as GEMMs read: rows are 16 KiB apart
  static constexpr int FLAT = 64;    ///< 128 bytes: rows follow one another without gaps

  __nv_bfloat16* data() const { return reinterpret_cast<__nv_bfloat16*>(memory_.data()); }
  std::size_t bytes() const { return bytes_; }
  int rows(int columns) const { return static_cast<int>(bytes_ / 2 / static_cast<std::size_t>(columns)); }
  /// For boxes of `box_rows` x `box_cols` elements of the matrix with rows of `columns` elements.
  CUtensorMap map(int columns, int box_rows, int box_cols, mma::Swizzle swizzle) const;

 private:
  std::size_t bytes_;
  harness::DeviceMemory memory_;
};

/// Which SMs there are, by the groups (GPCs) that a cluster cannot leave.
std::vector<std::vector<int>> find_gpcs(const Context& context);
/// In which half of L2 an SM's GPC is, 0 or 1, by SM. All 0 where there is only one.
std::vector<int> find_halves(const Context& context);

/// One experiment: what it measures in a few words, and how.
struct Experiment {
  std::string_view name, purpose;
  void (*run)(Context&);
};
void run_topology(Context& context);
void run_latency(Context& context);
void run_load(Context& context);
void run_residency(Context& context);
void run_clocks(Context& context);
void run_halves(Context& context);
void run_stores(Context& context);
void run_sync(Context& context);
void run_launch(Context& context);
void run_power(Context& context);

}  // namespace calibrate
