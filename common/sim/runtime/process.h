// The state of one simulated process, and the frame around every API call: one lock, the sticky error of a kernel that
// faulted, the last error of each thread, and sentences for what is refused.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/device.h"
#include "runtime/api.h"
#include "runtime/host_order.h"
#include "runtime/message.h"
#include "runtime/options.h"
#include "runtime/recorder.h"
#include "runtime/registry.h"

namespace sim::runtime {

/// Thrown by the body of an API call that cannot be done: the error that the real runtime gives, and why.
struct Refusal {
  cudaError_t error;
  std::string sentence;  ///< empty: the error speaks for itself
};
[[noreturn]] void refuse(cudaError_t error, const char* pattern, ...) __attribute__((format(printf, 2, 3)));

/// PTX that `--ptx FILE` puts in the place of the embedded one.
struct Replacement {
  std::string file, text;
  std::vector<std::string> kernels;
};

class Process {
 public:
  /// The one instance. It is never destroyed: static destructors of the program may still call the API.
  static Process& get();
  /// Has anything of the API been called?
  static bool exists();

  /// The simulated device, made at first use: by then the program has registered the code that decides which GPU it is.
  Device& device();
  const Gpu& gpu() { return device().gpu(); }
  GlobalMemory& memory() { return device().memory(); }
  HostOrder& order() { return device(), order_; }
  /// Null unless --record was asked for.
  Recorder* recorder() { return recorder_.get(); }

  bool aborts_on_error() const { return settings_.device.abort_on_error; }
  const Replacement* replacement() const { return replacement_ ? &*replacement_ : nullptr; }

  /// Runs launches that wait for a dependent one. What goes wrong becomes the sticky error.
  void settle();
  /// What came of launches: says it, and returns the error.
  cudaError_t conclude(const Outcome& outcome);

  /// A kernel stopped with this report: every later call that needs the context returns `error`.
  void fault(cudaError_t error, const std::string& report);
  /// A kernel could not be simulated, which the program's own exit code must not hide.
  void fail() { failed_ = true; }
  /// A launch was refused, and the program was not handed the error: it has to ask for it.
  void refuse_unseen() { unseen_refusal_ = true; }
  void see_errors() { unseen_refusal_ = false; }

  /// A kernel of this name is about to be launched.
  void launching(const std::string& kernel) {
    has_checked_ |= settings_.device.checks(kernel);
    if (!settings_.device.checked_kernels.empty()) launched_.insert(readable_name(kernel));
  }
  /// If --check was asked for, and nothing has come that it could have checked: that, in a sentence.
  std::string nothing_checked() const;

  /// What the process must say before it ends with code 0; empty if every launch was carried out and
  /// every file written.
  std::string verdict() const;
  /// Writes counters, traces and the recording, once.
  void finish(int exit_code);
  /// Ends the program, as --abort asks for.
  [[noreturn]] void abort();

  std::mutex mutex;  ///< held by every API call
  /// Where the call at hand puts its work, and whether the host waits until that is done.
  struct Work {
    order::StreamName stream;
    bool host_waits = true;
  } work;
  Registry registry;
  cudaError_t sticky = cudaSuccess;
  std::size_t stack_limit = 1024;  ///< cudaLimitStackSize: bytes for the calls of a thread

 private:
  Process();
  Settings settings_;
  std::optional<Replacement> replacement_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Recorder> recorder_;
  HostOrder order_;
  bool finished_ = false;
  bool written_ = true;
  bool failed_ = false;
  bool unseen_refusal_ = false;
  bool has_checked_ = false;
  std::set<std::string> launched_;  ///< names, if only some kernels are checked
};

/// The last error of the calling thread, as cudaGetLastError sees it.
cudaError_t& last_error();

/// Turns the exception in flight into the error to return, and says its sentence, prefixed with the call's name.
cudaError_t explain(const char* call);

/// While it lives, messages of this thread name the function that the program called, and not the one that does it.
/// `name` is a function of the driver as the library defines it, perhaps with its version.
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

/// The frame of an API call that needs the context, which a fault of a kernel takes away. Launches that waited for a
/// dependent one have run before it.
template <typename Body>
cudaError_t call(const char* name, Body&& body) {
  return detail::run(name, true, true, body);
}
/// The frame of a launch, and of what a program asks and sets between launches: those go on waiting.
template <typename Body>
cudaError_t prepare(const char* name, Body&& body) {
  return detail::run(name, false, true, body);
}
/// The frame of an API call that works even after a fault, and has nothing to do with launches.
template <typename Body>
cudaError_t query(const char* name, Body&& body) {
  return detail::run(name, false, false, body);
}

/// Refuses a device number other than 0: there is one device.
void check_device(int device);

/// Refuses a null pointer for a parameter that must point at something.
void require_pointer(const void* pointer, const char* parameter);

/// What a pointer parameter points at: where a result is to be written, for example.
template <typename T>
T& result(T* pointer, const char* parameter) {
  require_pointer(pointer, parameter);
  return *pointer;
}

}  // namespace sim::runtime
