// What the program asks of the device, noted while it does (sim.sh --record).
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
  /// `results_of`: another recording, whose results are the right ones of this program; empty: its own are.
  Recorder(std::string file, std::string results_of) : file_(std::move(file)), results_of_(std::move(results_of)) {}

  void made(const Gpu& gpu);
  void loaded(const DeviceModule* module, const std::vector<std::string>& texts, const std::string& name,
              Device::PtxValidation judged);
  void allocated(const void* pointer, uint64_t bytes, const std::string& label, GlobalMemory::Kind kind);
  void adopted(const void* pointer, uint64_t bytes, const std::string& label);
  void released(const void* pointer);
  /// A __managed__ variable: memory that the host uses as it likes.
  void shared_with_host(const void* pointer, uint64_t bytes);

  /// Before the copy. Sides that are device memory are said to be.
  void copies(const recording::MemoryBox& to, bool to_device, const recording::MemoryBox& from, bool from_device);
  void fills(const recording::MemoryBox& to, uint32_t value, uint32_t unit);
  /// The runtime itself has written there.
  void wrote(const void* pointer, uint64_t bytes);
  void orders(recording::OrderStep step) { add(std::move(step)); }

  /// Before the launch; `info` with the resources that the machine code says.
  void launches(const DeviceModule* module, const KernelInfo& info, const LaunchConfig& config, void* const* arguments);
  /// Before launches that wait for a dependent one have to run; false if there has been none since the last time.
  bool settles();
  /// After a launch, a copy or a fill, or after settling: what the host can see of it without a copy.
  void took_effect();

  void names(std::string lines) { add(recording::NamesStep{std::move(lines)}); }
  void useful_flops(uint64_t flops) { add(recording::UsefulFlops{flops}); }
  /// These bytes of the host are what the harness's generator makes, unless the program has changed them since.
  void generated(const void* host, uint64_t bytes, uint64_t init, uint64_t seed, uint64_t operand);
  void describes(recording::ResultStep result);

  /// Writes the file. Throws base::FileError, and if the other recording cannot be used what recording::from_file does.
  void finish(int exit_code);

 private:
  /// Memory that the host reaches without a copy, as it was when the device was done with it.
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
