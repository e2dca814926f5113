// A program's requests to the device, as a file: enough to repeat them without the program (replay.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "device/device.h"

namespace sim::recording {

/// The version of the file format and of its contents: tensor maps have the simulator's own layout.
inline constexpr uint32_t kVersion = 1;

/// A recording that cannot be used; `what` is a sentence.
struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct OtherVersion : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Rows of bytes in device memory: `slices` times `rows` times `width` bytes.
struct MemoryBox {
  uint64_t address = 0, width = 0, rows = 1, slices = 1, pitch = 0, slice_pitch = 0;
  uint64_t bytes() const { return width * rows * slices; }
  /// Calls f(address) for every row.
  template <class F>
  void for_rows(F f) const {
    for (uint64_t slice = 0; slice < slices; ++slice)
      for (uint64_t row = 0; row < rows; ++row) f(address + slice * slice_pitch + row * pitch);
  }
};

/// Bytes that the host passes to the device. Equal contents are stored once.
struct Content {
  enum class Kind : uint8_t {
    Literal,    ///< `bytes` itself
    Repeated,   ///< `count` times the one byte in `bytes`
    Generated,  ///< `count` bytes of the harness's inputs (common/harness/inputs.h)
  };
  Kind kind = Kind::Literal;
  std::string bytes;
  uint64_t count = 0;
  uint64_t init = 0, seed = 0, operand = 0;  ///< if generated

  auto operator<=>(const Content&) const = default;
};
std::string bytes_of(const Content& content);

// --- requests, in their order
// -----------------------------------------------------------------------------------------

struct LoadStep {
  std::vector<uint32_t> texts;  ///< contents
  std::string name;
  bool whole = false;  ///< validated as a whole, as ptxas does (Device::PtxValidation)
};
struct AllocateStep {
  uint64_t bytes = 0, address = 0;
  std::string label;
  uint32_t kind = 0;  ///< GlobalMemory::Kind
};
struct AdoptStep {
  uint64_t address = 0, bytes = 0;
  std::string label;
};
struct ReleaseStep {
  uint64_t address = 0;
};
/// A content is written to device memory.
struct WriteStep {
  MemoryBox to;
  uint32_t content = 0;
};
struct FillStep {
  MemoryBox to;
  uint32_t value = 0, unit = 1;
};
struct MoveStep {
  MemoryBox to, from;
};
/// The program reads results. The recording has digests of them (digests_of).
struct ReadStep {
  MemoryBox from;
  std::vector<uint32_t> digests;
  std::vector<uint64_t> whole;  ///< for each result in the box: FNV-1a of its elements in row-major order
};
/// Describes a part of device memory as a result, for all later reads.
struct ResultStep {
  std::string name;
  uint64_t address = 0;
  uint32_t rows = 0, columns = 0, element = 1;  ///< bytes per element
  uint64_t pitch = 0;                           ///< bytes between rows
  uint32_t tile() const;                        ///< edge of the tiles that are compared separately
};
/// Host order (runtime/host_order.h). Events are numbered in the order of their recording, from 0.
struct OrderStep {
  enum class What : uint32_t { Operation, HostWaits, HostWaitsForAll, RecordEvent, HostWaitsFor, StreamWaits, Forget };
  uint32_t what = 0;
  uint64_t stream = 0;
  bool blocking = true, host_waits = true;
  uint64_t event = 0;
  std::string name;                         ///< of the operation
  std::vector<uint64_t> reads{}, writes{};  ///< begin, end, begin, end, ...
};
struct NamesStep {
  std::string lines;  ///< names of shared memory (machine/shared_name.h)
};
struct UsefulFlops {
  uint64_t flops = 0;
};
struct LaunchStep {
  uint32_t module = 0;  ///< number of its LoadStep
  std::string kernel;   ///< mangled
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  uint64_t dynamic_smem = 0, stack_bytes = 0, max_dynamic_smem = 0, stream = 0;
  bool nonportable_cluster = false, cooperative = false, blocking_stream = true, overlaps = false;
  uint64_t registers = 0, local_bytes = 0;  ///< from the machine code, for the timing model
  std::vector<std::string> arguments;       ///< the bytes of each argument
};
/// Launches that wait for a dependent launch must run now.
struct SettleStep {};
/// The program's end.
struct EndStep {
  uint32_t exit_code = 0;
};

using Step = std::variant<LoadStep, AllocateStep, AdoptStep, ReleaseStep, WriteStep, FillStep, MoveStep, ReadStep,
                          ResultStep, OrderStep, NamesStep, UsefulFlops, LaunchStep, SettleStep, EndStep>;

struct Recording {
  std::string gpu;   ///< key
  uint32_t sms = 0;  ///< of that GPU
  std::vector<Content> contents;
  std::vector<Step> steps;

  uint32_t launches() const;
};

/// Replaces the digests by those of `right`, read by read, where their numbers agree.
void take_results(Recording& recording, const Recording& right);

std::string to_file(const Recording& recording);
/// Throws Damaged, OtherVersion.
Recording from_file(std::string_view file);

/// Digests by which results are compared: 32 bits for every tile of each described result in the box, in row-major
/// order, then for every 1,024 bytes of the rest. `whole` has one for each result.
struct Digests {
  std::vector<uint32_t> parts;
  std::vector<uint64_t> whole;
  std::vector<const ResultStep*> results;
};
Digests digests_of(const MemoryBox& box, const std::vector<ResultStep>& described);

}  // namespace sim::recording
