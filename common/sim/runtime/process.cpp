#include "runtime/process.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <sstream>
#include <stdexcept>

#include "common/base/file.h"
#include "report/text.h"
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
  if (!log_to(settings_.log_file)) {
    say(format("--log-file: %s cannot be written (%s).", settings_.log_file.c_str(), std::strerror(errno)));
    stop(kExitUsage);
  }
  try {
    records_ = std::make_unique<report::Records>(settings_.reports_file, schedule_name(settings_.device),
                                                 settings_.known_findings);
  } catch (const base::FileError& error) {
    say(format("--reports: %s cannot be written (%s).", settings_.reports_file.c_str(), error.what()));
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
    // Code for no GPU of its own selects the newest.
    const int newest = replacement_ ? parse_target(ptx_target(replacement_->text)).arch : registry.newest_arch();
    if (newest == 0) registry.say_what_is_unreadable();
    key = default_gpu(newest / 10);
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
  if (error != cudaSuccess && !is_fault(outcome.status)) {
    refused(outcome.report, "the launch before");
    fault(error);
  }
  if (error != cudaSuccess && aborts_on_error()) abort();
}

cudaError_t Process::conclude(const Outcome& outcome) {
  const auto error = static_cast<cudaError_t>(outcome.status);
  std::vector<Finding> fresh;
  for (Finding finding : outcome.findings) {
    if (!records_->is_new(finding)) continue;
    finding.launched_at = host_line(launch_calls_[finding.launch % launch_calls_.size()]);
    if (records_->add(finding)) fresh.push_back(std::move(finding));
  }
  if (is_fault(outcome.status)) fault(error);
  if (!fresh.empty()) say(report::text(fresh));
  return error;
}

void Process::refused(const std::string& sentence, const std::string& kernel) {
  records_->add({.kind = Finding::Kind::Refused, .is_tolerated = kernel.empty(), .kernel = kernel, .what = sentence});
  say(sentence);
}

void Process::tell(const Finding& finding) {
  if (settings_.device.suppressions && settings_.device.suppressions->take(finding)) return;
  if (records_->add(finding)) say(report::text(finding));
}

void Process::fault(cudaError_t error) {
  sticky = error;
  fail();
}

std::string Process::verdict() const {
  std::string text;
  const auto add = [&](bool holds, const std::string& what) {
    if (holds) text += (text.empty() ? "" : ", and ") + what;
  };
  const uint64_t errors = records_->tally().check_errors();
  add(sticky != cudaSuccess, "a kernel failed");
  add(failed_ && sticky == cudaSuccess, "a kernel could not be simulated");
  add(errors > 0, "--check found " + grouped(errors) + (errors == 1 ? " error" : " errors"));
  add(unseen_refusal_, "a kernel launch was refused and the program never asked for the error");
  add(!written_, "a requested file could not be written");
  return text;
}

int Process::exit_code(int programs) const {
  if (verdict().empty()) return programs;
  if (settings_.error_exit_code) return *settings_.error_exit_code != 0 ? *settings_.error_exit_code : programs;
  return programs != 0 ? programs : kExitSimulationFailed;
}

std::string Process::suppressed() const {
  const report::Suppressions* const known = settings_.device.suppressions.get();
  if (known == nullptr) return "";
  std::string text =
      "--suppressions: " + grouped(known->taken()) + (known->taken() == 1 ? " finding" : " findings") + " suppressed";
  for (const std::string& entry : known->unmatched()) text += "\n  matched nothing: " + entry;
  return text;
}

std::string Process::nothing_checked() const {
  const Options& options = settings_.device;
  if (options.check == Options::Check::Off || has_checked_ || failed_ || records_->tally().errors() > 0) return "";
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
  finish(128 + SIGABRT);
  std::fflush(nullptr);
  std::abort();  // a debugger stops here
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
  if (const std::string known = suppressed(); !known.empty()) say(known);
  records_->end(Finding::Kind::Right, this->exit_code(exit_code), settings_.device.suppressions.get());
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
    if (refusal.sentence.empty()) return refusal.error;
    const std::string sentence = call + ": " + refusal.sentence;
    Process::get().refused(sentence, refusal.kernel);
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
