// The state of one simulated process, and the frame around every API call: one lock, the sticky error of a kernel that
// faulted, the last error of each thread, and messages for refused calls.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/device.h"
#include "report/records.h"
#include "runtime/api.h"
#include "runtime/host_line.h"
#include "runtime/host_order.h"
#include "runtime/message.h"
#include "runtime/options.h"
#include "runtime/recorder.h"
#include "runtime/registry.h"

namespace sim::runtime {

/// Thrown by the body of an API call that fails: the error that the real runtime returns, and the reason.
struct Refusal {
  cudaError_t error;
  std::string sentence;     ///< empty: the error code is explanation enough, or has been explained
  std::string kernel = {};  ///< of a launch
};
[[noreturn]] void refuse(cudaError_t error, const char* pattern, ...) __attribute__((format(printf, 2, 3)));

/// The PTX of `--ptx FILE`, which replaces the embedded PTX.
struct Replacement {
  std::string file, text;
  std::vector<std::string> kernels;
};

class Process {
 public:
  /// The only instance. It is never destroyed, since static destructors of the program may still call the API.
  static Process& get();
  /// Whether any API function has been called.
  static bool exists();

  /// The simulated device. It is created at first use, when the program has registered the code that decides the GPU.
  Device& device();
  const Gpu& gpu() { return device().gpu(); }
  GlobalMemory& memory() { return device().memory(); }
  HostOrder& order() { return device(), order_; }
  /// Null without --record.
  Recorder* recorder() { return recorder_.get(); }

  bool aborts_on_error() const { return settings_.device.abort_on_error; }
  const Replacement* replacement() const { return replacement_ ? &*replacement_ : nullptr; }

  /// Runs launches that wait for a dependent one. A failure becomes the sticky error.
  void settle();
  /// Reports the outcome of launches, and returns its error.
  cudaError_t conclude(const Outcome& outcome);
  /// Writes a finding of the order checker on work that is no launch.
  void tell(const Finding& finding);
  /// Writes why a call, or the launch of this kernel, is refused.
  void refused(const std::string& sentence, const std::string& kernel);

  /// A kernel has stopped: every later call that needs the context returns `error`.
  void fault(cudaError_t error);
  /// Notes that a kernel could not be simulated.
  void fail() { failed_ = true; }
  /// Notes that a launch was refused in a call without a return value: the program has to query the error.
  void refuse_unseen() { unseen_refusal_ = true; }
  void see_errors() { unseen_refusal_ = false; }

  /// Notes that a kernel of this name is about to be launched.
  void launching(const std::string& kernel, LaunchConfig& config) {
    config.number = launches_++;
    launch_calls_[config.number % launch_calls_.size()] = host_calls();
    has_checked_ |= settings_.device.checks(kernel);
    if (!settings_.device.checked_kernels.empty()) launched_.insert(readable_name(kernel));
  }
  /// A sentence if --check was given but no launch has been checked; else empty.
  std::string nothing_checked() const;

  /// What went wrong; empty if every launch was executed, every file written, and --check found no error.
  std::string verdict() const;
  /// The exit code for a program that ends with this one.
  int exit_code(int programs) const;
  /// Findings that were suppressed, and entries of --suppressions that have matched nothing; else empty.
  std::string suppressed() const;
  /// Writes counters, traces and the recording, once.
  void finish(int exit_code);
  /// Ends the program, for --abort.
  [[noreturn]] void abort();

  std::mutex mutex;  ///< held by every API call
  /// The stream of the current call's work, and whether the host waits until that is done.
  struct Work {
    order::StreamName stream;
    bool host_waits = true;
  } work;
  Registry registry;
  cudaError_t sticky = cudaSuccess;
  std::size_t stack_limit = 1024;  ///< cudaLimitStackSize: bytes per thread for calls

 private:
  Process();
  Settings settings_;
  std::optional<Replacement> replacement_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<report::Records> records_;
  HostOrder order_;
  bool finished_ = false;
  bool written_ = true;
  bool failed_ = false;  ///< a kernel has failed or could not be simulated
  bool unseen_refusal_ = false;
  bool has_checked_ = false;
  std::array<HostCalls, 64> launch_calls_{};  ///< of the last launches; any that is pending is among them
  uint64_t launches_ = 0;
  std::set<std::string> launched_;  ///< kernel names, if only some kernels are checked
};

/// The last error of the calling thread, as cudaGetLastError sees it.
cudaError_t& last_error();

/// Converts the current exception into the error to return, and writes its sentence after the call's name.
cudaError_t explain(const char* call);

/// During its lifetime, messages of this thread name the function that the program called, not the one that executes
/// it. `name` is a function of the driver as the library defines it, possibly with a version suffix.
class CalledAs {
 public:
  explicit CalledAs(const char* name);
  ~CalledAs();
  CalledAs(const CalledAs&) = delete;
  CalledAs& operator=(const CalledAs&) = delete;

 private:
  std::string before_;
};

namespace detail {
template <typename Body>
cudaError_t run(const char* call, bool settles, bool needs_context, Body&& body) {
  Process& process = Process::get();
  std::lock_guard lock(process.mutex);
  if (settles) process.settle();
  process.work = {};
  cudaError_t error = needs_context ? process.sticky : cudaSuccess;
  if (error == cudaSuccess) {
    try {
      body(process);
    } catch (...) { error = explain(call); }
  }
  if (error != cudaSuccess) last_error() = error;
  return error;
}
}  // namespace detail

/// The frame of an API call that needs the context, which is lost by a fault of a kernel. Launches that wait for a
/// dependent one run before it.
template <typename Body>
cudaError_t call(const char* name, Body&& body) {
  return detail::run(name, true, true, body);
}
/// The frame of a launch, and of queries and settings between launches: waiting launches continue to wait.
template <typename Body>
cudaError_t prepare(const char* name, Body&& body) {
  return detail::run(name, false, true, body);
}
/// The frame of an API call that works even after a fault, and is unrelated to launches.
template <typename Body>
cudaError_t query(const char* name, Body&& body) {
  return detail::run(name, false, false, body);
}

/// Refuses a device number other than 0: there is one device.
void check_device(int device);

/// Refuses a null pointer for a parameter that must point at something.
void require_pointer(const void* pointer, const char* parameter);

/// The object to which a pointer parameter points, usually the place for a result; refuses a null pointer.
template <typename T>
T& result(T* pointer, const char* parameter) {
  require_pointer(pointer, parameter);
  return *pointer;
}

}  // namespace sim::runtime
