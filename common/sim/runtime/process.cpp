#include "runtime/process.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>
#include <stdexcept>

#include "runtime/fatbin.h"

namespace sim::runtime {
namespace {

Replacement read_replacement(const std::string& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  if (!stream) {
    say(format("--ptx: %s cannot be read (%s).", file.c_str(), std::strerror(errno)));
    stop(kExitUsage);
  }
  Replacement replacement{file, text.str(), ptx_kernels(text.str())};
  if (replacement.kernels.empty() || parse_target(ptx_target(replacement.text)).arch == 0) {
    say(format("--ptx: %s is not PTX that defines a kernel: it has no .target sm_... or no .entry.", file.c_str()));
    stop(kExitUsage);
  }
  return replacement;
}

}  // namespace

void refuse(cudaError_t error, const char* pattern, ...) {
  std::va_list args;
  va_start(args, pattern);
  Refusal refusal{error, format_list(pattern, args)};
  va_end(args);
  throw refusal;
}

namespace {
std::atomic<bool> process_exists = false;
}

Process& Process::get() {
  static auto& process = *new Process;
  return process;
}

bool Process::exists() { return process_exists; }

Process::Process() {
  if (const std::string problem = read_settings(&std::getenv, &settings_); !problem.empty()) {
    say(problem);
    stop(kExitUsage);
  }
  if (!settings_.record_file.empty())
    recorder_ = std::make_unique<Recorder>(settings_.record_file, settings_.results_of);
  if (!settings_.ptx_file.empty()) replacement_ = read_replacement(settings_.ptx_file);
  process_exists = true;
}

Device& Process::device() {
  if (device_) return *device_;
  std::string key = settings_.device.gpu;
  if (key.empty()) {
    // Code for Hopper only selects a Hopper GPU; all other code selects Blackwell.
    const int newest = replacement_ ? parse_target(ptx_target(replacement_->text)).arch : registry.newest_arch();
    if (newest == 0) registry.say_what_is_unreadable();
    key = newest / 10 == 9 ? "h200" : "b200";
  }
  const Gpu gpu = *find_gpu(key);
  if (settings_.device.sms > gpu.sm_count) {
    say(format("--sms: the %s has only %d SMs.", gpu.name.c_str(), gpu.sm_count));
    stop(kExitUsage);
  }
  settings_.device.gpu = key;
  device_ = std::make_unique<Device>(gpu, settings_.device);
  order_ = HostOrder(device_->launches(), recorder_.get());
  if (recorder_) recorder_->made(device_->gpu());
  return *device_;
}

void Process::settle() {
  if (!device_) return;
  const bool is_recorded = recorder_ && recorder_->settles();
  const Outcome outcome = device_->settle();
  if (is_recorded) recorder_->took_effect();
  const cudaError_t error = conclude(outcome);
  // The launch was accepted earlier, so only the next call can report a refusal.
  if (error != cudaSuccess && !is_fault(outcome.status)) fault(error, outcome.report);
  if (error != cudaSuccess && aborts_on_error()) abort();
}

cudaError_t Process::conclude(const Outcome& outcome) {
  const auto error = static_cast<cudaError_t>(outcome.status);
  if (outcome.is_unordered) fail();
  if (is_fault(outcome.status))
    fault(error, outcome.report);
  else if (error == cudaSuccess && !outcome.report.empty())
    say(outcome.report);
  return error;
}

void Process::fault(cudaError_t error, const std::string& report) {
  sticky = error;
  fail();
  say(report);
}

std::string Process::verdict() const {
  if (failed_) return "a kernel failed or could not be simulated, so the program's exit code 0 becomes 86.";
  if (unseen_refusal_) {
    return "a kernel launch was refused and the program never asked for the error, so its exit code 0 becomes 86.";
  }
  if (!written_) return "a requested file could not be written, so the program's exit code 0 becomes 86.";
  return "";
}

std::string Process::nothing_checked() const {
  const Options& options = settings_.device;
  if (options.check == Options::Check::Off || has_checked_ || failed_) return "";
  if (launched_.empty()) return "No kernel was launched, so --check has checked nothing.";
  constexpr std::size_t kMost = 8;
  std::string names;
  std::size_t named = 0;
  for (auto name = launched_.begin(); name != launched_.end() && named < kMost; ++name, ++named)
    names += (named == 0 ? "" : ", ") + *name;
  if (named < launched_.size()) names += " and others";
  return "No kernel was launched that --check-kernels names, so --check has checked nothing. Launched were: " + names +
         ".";
}

void Process::abort() {
  finish(kExitSimulationFailed);
  stop(kExitSimulationFailed);
}

void Process::finish(int exit_code) {
  if (finished_) return;
  settle();
  if (device_) written_ = device_->finish();
  if (recorder_ && !device_) {
    say("--record: the program has not used the device, so there is no recording.");
    written_ = false;
  } else if (recorder_) {
    try {
      recorder_->finish(exit_code);
    } catch (const std::runtime_error& error) {
      say(format("--record: %s cannot be written: %s.", settings_.record_file.c_str(), error.what()));
      written_ = false;
    }
  }
  finished_ = true;
}

cudaError_t& last_error() {
  static thread_local cudaError_t error = cudaSuccess;
  return error;
}

void check_device(int device) {
  if (device != 0) refuse(cudaErrorInvalidDevice, "there is no device %d: the simulated one is device 0.", device);
}

void require_pointer(const void* pointer, const char* parameter) {
  if (pointer == nullptr) refuse(cudaErrorInvalidValue, "%s is a null pointer.", parameter);
}

namespace {

/// The function that the program has called on this thread, if another function does the work.
std::string& called_as() {
  static thread_local std::string name;
  return name;
}

}  // namespace

CalledAs::CalledAs(const char* name) : before_(called_as()) {
  if (!before_.empty()) return;  // the program called the outermost function
  std::string_view plain = name;
  if (const std::size_t version = plain.rfind("_v"); version != plain.npos) plain = plain.substr(0, version);
  called_as() = plain;
}

CalledAs::~CalledAs() { called_as() = before_; }

cudaError_t explain(const char* function) {
  const std::string call = called_as().empty() ? function : called_as();
  try {
    throw;
  } catch (const Refusal& refusal) {
    if (!refusal.sentence.empty()) say(call + ": " + refusal.sentence);
    return refusal.error;
  } catch (const std::bad_alloc&) {
    say(call + ": the host is out of memory.");
    return cudaErrorMemoryAllocation;
  } catch (const std::exception& error) {
    say(call + ": " + error.what() + ".");
    return cudaErrorUnknown;
  }
}

}  // namespace sim::runtime
