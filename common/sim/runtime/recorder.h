// Records the program's requests to the device as they are made (sim.sh --record).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "replay/recording.h"

namespace sim::runtime {

class Recorder {
 public:
  /// `results_of`: another recording with the right results for this program; empty: its own results are right.
  Recorder(std::string file, std::string results_of) : file_(std::move(file)), results_of_(std::move(results_of)) {}

  void made(const Gpu& gpu);
  void loaded(const DeviceModule* module, const std::vector<std::string>& texts, const std::string& name,
              Device::PtxValidation judged);
  void allocated(const void* pointer, uint64_t bytes, const std::string& label, GlobalMemory::Kind kind);
  void adopted(const void* pointer, uint64_t bytes, const std::string& label);
  void released(const void* pointer);
  /// A __managed__ variable: memory that the host accesses without copies.
  void shared_with_host(const void* pointer, uint64_t bytes);

  /// Called before a copy, with flags for the sides that are device memory.
  void copies(const recording::MemoryBox& to, bool to_device, const recording::MemoryBox& from, bool from_device);
  void fills(const recording::MemoryBox& to, uint32_t value, uint32_t unit);
  /// The runtime itself has written to this memory.
  void wrote(const void* pointer, uint64_t bytes);
  void orders(recording::OrderStep step) { add(std::move(step)); }

  /// Called before a launch; `info` has the resources of the machine code.
  void launches(const DeviceModule* module, const KernelInfo& info, const LaunchConfig& config, void* const* arguments);
  /// Called before waiting launches must run; false if there has been no launch since the last call.
  bool settles();
  /// Called after a launch, a copy or a fill, or after settling: records memory that the host can read without a copy.
  void took_effect();

  void names(std::string lines) { add(recording::NamesStep{std::move(lines)}); }
  void useful_flops(uint64_t flops) { add(recording::UsefulFlops{flops}); }
  /// These bytes of the host come from the harness's generator, unless the program has changed them since.
  void generated(const void* host, uint64_t bytes, uint64_t init, uint64_t seed, uint64_t operand);
  void describes(recording::ResultStep result);

  /// Writes the file. Throws base::FileError, and the exceptions of recording::from_file for the other recording.
  void finish(int exit_code);

 private:
  /// Memory that the host can access without a copy, with its content after the device's last operation.
  struct Visible {
    uint64_t bytes;
    std::string known;
  };
  template <class Step>
  void add(Step step) {
    recording_.steps.emplace_back(std::move(step));
  }
  uint32_t content(recording::Content content);
  recording::Content described(std::string bytes, const void* host) const;
  void host_changes();
  void read(const recording::MemoryBox& from);

  const std::string file_, results_of_;
  recording::Recording recording_;
  std::map<recording::Content, uint32_t> known_;
  std::map<const DeviceModule*, uint32_t> modules_;
  std::map<uint64_t, Visible> visible_;               // by address
  std::map<uint64_t, recording::Content> generated_;  // by host address
  std::vector<recording::ResultStep> results_;
  bool settled_ = true;
};

}  // namespace sim::runtime
