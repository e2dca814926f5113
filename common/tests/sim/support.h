// What the tests of the simulated device share: a device, kernels made from a few lines of PTX, tensor maps, random
// numbers.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "machine/tensor_map.h"
#include "machine/warp.h"
#include "report/faults.h"

namespace sim::test {

/// Sanitizers make everything about ten times slower: what counts instructions to see that something never ends may
/// count fewer then.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr uint64_t kSlowdown = 10;
#else
inline constexpr uint64_t kSlowdown = 1;
#endif

/// A kernel `k` with these parameters (".param .u64 p0, ...") and this body, in which %r0.., %rd0.., %h0.., %f0..,
/// %fd0.., %p0.., %q0.. are declared. %r60 is the thread's index in the grid. `prologue` is text at module scope,
/// `directives` stands between the parameters and the body.
struct Source {
  std::string body;
  std::string parameters = "";
  std::string prologue = "";
  std::string directives = "";
  std::string target = "sm_100a";
  std::string text() const;
};

/// A simulated GPU with its memory.
class Bench {
 public:
  explicit Bench(Options options = {}, std::string_view gpu = "b200");

  Device& device() { return *device_; }

  /// Device memory with these contents.
  template <class T>
  T* upload(const std::vector<T>& values, std::string label = "buffer") {
    auto* memory = static_cast<T*>(device_->memory().allocate(values.size() * sizeof(T), std::move(label)));
    std::memcpy(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }
  template <class T>
  T* allocate(size_t count, std::string label = "buffer") {
    return static_cast<T*>(device_->memory().allocate(count * sizeof(T), std::move(label)));
  }

  /// Loads and launches; each argument is copied as it is.
  template <class... A>
  Outcome launch(const std::string& ptx, const LaunchConfig& config, const A&... arguments) {
    const void* pointers[] = {static_cast<const void*>(&arguments)..., nullptr};
    return launch_kernel(ptx, config, const_cast<void* const*>(pointers));
  }
  template <class... A>
  Outcome launch(const Source& source, const LaunchConfig& config, const A&... arguments) {
    return launch(source.text(), config, arguments...);
  }

 private:
  Outcome launch_kernel(const std::string& ptx, const LaunchConfig& config, void* const* arguments);
  std::unique_ptr<Device> device_;
};

/// Fails the test unless the launch succeeded, without a warning.
void expect_success(const Outcome& outcome);
/// The launch failed with this status and its report holds all these texts. Status::Success: there was a warning.
void expect_failure(const Outcome& outcome, Status status, std::initializer_list<std::string_view> texts);

/// The launch failed with this fault, or went on if it is tolerated. Its details include these; of a name, a part.
void expect_fault(const Outcome& outcome, const FaultText& fault, const std::vector<Detail>& details = {});
/// The launch failed in a deadlock. Returns the first wait of this kind.
Waiting expect_wait(const Outcome& outcome, Wait wait);

/// What was found, a line each: "error (read after write): reads written: link", without sentences of report/.
std::string found_in(const Outcome& outcome);

/// The default schedule, the latest, and a few seeded ones.
std::vector<Options> all_schedules();

/// Values of one thread: inputs or outputs, zero-extended to 64 bits.
using Row = std::vector<uint64_t>;
using Rows = std::vector<Row>;

/// Runs `instructions` once per row, each in a thread of its own. `inputs` and `outputs` declare registers: "b32 a, f32
/// b, pred p". Inputs are filled from the row, outputs returned; b128 takes two values. Registers %r0.. and so on are
/// there for the rest.
Rows evaluate(const std::string& instructions, const std::string& inputs, const std::string& outputs, const Rows& rows,
              const std::string& prologue = "");

/// Expects of instructions with one output what `model` says, row by row.
void expect_value(const std::string& instructions, const std::string& inputs, const std::string& outputs,
                  const Rows& rows, const std::function<uint64_t(const Row&)>& model);

/// Values that go wrong most easily, of so many bits.
std::vector<uint64_t> edge_integers(int bits);
std::vector<uint64_t> edge_floats();  ///< FP32 patterns, NaNs included
Rows pairs(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b);
Rows singles(const std::vector<uint64_t>& a);

/// A small generator of random numbers, the same everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545'F491'4F6C'DD1D;
  }
  uint32_t word() { return static_cast<uint32_t>(next() >> 32); }
  int between(int low, int high) { return low + static_cast<int>(next() % static_cast<uint64_t>(high - low + 1)); }
  /// A float of random bits with an exponent between these.
  float real(int low_exponent, int high_exponent) {
    return std::bit_cast<float>((word() & 0x807F'FFFF) |
                                static_cast<uint32_t>(between(low_exponent, high_exponent) + 127) << 23);
  }

 private:
  uint64_t state_;
};

inline uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
inline float float_of(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

/// A tensor map of a dense tensor; `strides` (bytes, of dimensions 1..) are computed if empty.
struct MapSpec {
  const void* address = nullptr;
  int data_type = 9;  ///< CUtensorMapDataType: BFLOAT16
  int element_bytes = 2;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> strides = {};
  std::vector<uint32_t> box;
  std::vector<uint32_t> element_strides = {};
  int swizzle = 0;
  bool nan_fill = false;
};
TensorMap make_map(const MapSpec& spec);

/// A tensor map as a kernel parameter wants it: 64-byte aligned, 128 bytes.
inline constexpr const char* kMapParameter = ".param .align 64 .b8 map[128]";

}  // namespace sim::test
