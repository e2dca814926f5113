// The simulated device as the runtime sees it: memory, modules, launches. This is the only header of the simulator that
// runtime/ needs beside machine/gpu.h, machine/global_memory.h and machine/tensor_map.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/demangle.h"
#include "engine/schedule.h"
#include "machine/finding.h"
#include "machine/global_memory.h"
#include "machine/gpu.h"
#include "machine/habit.h"
#include "machine/shared_name.h"
#include "machine/status.h"
#include "report/suppressions.h"
#include "timing/contents.h"
#include "timing/power_setting.h"

namespace sim {

/// The user's options of scripts/sim.sh. runtime/options.h reads them from the environment.
struct Options {
  using Schedule = SchedulePolicy;
  enum class Arithmetic { Automatic, Exact, Fast };
  std::string gpu;  ///< key of a description; empty: by the first program's architecture
  int sms = 0;      ///< number of SMs; 0: the description's
  Schedule schedule = Schedule::Default;
  uint64_t seed = 0;              ///< for Schedule::Seeded
  uint64_t patience = kPatience;  ///< instructions after which a warp without visible progress is reported
  Arithmetic arithmetic = Arithmetic::Automatic;  ///< Automatic: exact up to 2^34 multiply-adds a launch, then fast
  int threads = 0;                                ///< host threads; 0: as many as there are processors
  /// Whether to check that every access is ordered after conflicting ones (check/order).
  enum class Check { Off, On, Strict };
  Check check = Check::Off;
  std::vector<std::string>
      checked_kernels;  ///< parts of kernel names, readable or mangled; none: all kernels are checked
  std::vector<std::string> unchecked_kernels;  ///< the same for kernels that are not checked
  bool checks(const std::string& kernel) const {
    const std::string name = base::readable_name(kernel);
    const auto is_in = [&](const std::vector<std::string>& parts) {
      return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
        return name.find(part) != name.npos || kernel.find(part) != kernel.npos;
      });
    };
    return check != Check::Off && (checked_kernels.empty() || is_in(checked_kernels)) && !is_in(unchecked_kernels);
  }
  std::shared_ptr<report::Suppressions> suppressions;  ///< findings that are only counted; null: none
  Habits tolerated;                                    ///< tolerated violations that are not reported
  bool abort_on_error = false;                         ///< exit at the first report instead of failing the launch
  std::string counters_file;                           ///< the file for counters, written at exit; empty: do not count
  std::string trace_file;                              ///< the file for the trace, written at exit; empty: do not trace
  std::optional<Contents> trace_contents;              ///< with trace_file: what operations read
  bool timing = false;                                 ///< predict times; data is neither moved nor computed
  std::vector<timing::PowerSetting> powers;            ///< the power settings to predict for; none: the GPU's limit
  std::string prediction_file;  ///< the file to which predictions are appended; empty: standard output, as text
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};     ///< CTAs
  std::array<uint32_t, 3> block{1, 1, 1};    ///< threads
  std::array<uint32_t, 3> cluster{0, 0, 0};  ///< CTAs; 0: not given, then the kernel's own size or 1
  std::size_t dynamic_smem = 0;              ///< bytes
  std::size_t stack_bytes = 1024;            ///< of each thread, for calls that are not inlined (cudaLimitStackSize)
  std::size_t max_dynamic_smem = 48 * 1024;  ///< the limit that cudaFuncSetAttribute set for this kernel
  bool nonportable_cluster = false;          ///< cudaFuncAttributeNonPortableClusterSizeAllowed
  bool cooperative = false;                  ///< its CTAs may synchronise at a barrier of the grid
  uint64_t stream = 0;                       ///< number of its stream; 0: the legacy default stream
  bool blocking_stream = true;               ///< the stream and the default stream wait for one another
  uint64_t number = 0;                       ///< of the launch in the process, in findings
  bool overlaps = false;                     ///< it may start before its predecessor in the stream has ended
};

/// The properties of a kernel that the host needs.
struct KernelInfo {
  std::string name;  ///< mangled
  struct Parameter {
    uint32_t offset, size, align;
  };
  std::vector<Parameter> parameters;  ///< layout for copying the arguments
  std::size_t static_smem = 0;        ///< bytes
  std::size_t local_bytes = 0;        ///< per thread
  std::size_t constant_bytes = 0;     ///< total of its module
  int max_threads = 1024;             ///< limit from launch bounds
  int registers = 0;                  ///< per thread; 0: unknown (PTX implies only the limit from launch bounds)
  std::array<uint32_t, 3> required_cluster{0, 0, 0};
  bool explicit_cluster = false;
  int target = 0;  ///< 100 for sm_100a
};

/// One PTX image, parsed, with memory for its variables. Owned by the Device.
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  /// nullptr if this image has no such kernel.
  virtual const KernelInfo* kernel(std::string_view mangled_name) const = 0;
  /// Device address and size of a __device__ or __constant__ variable; nullptr if no variable has that name.
  virtual void* variable(std::string_view name, std::size_t* bytes) const = 0;
};

/// An error with the sentence or report that explains it (complete; may span lines). After a success, a report is a
/// warning or the findings of the order checker.
struct Outcome {
  Status status = Status::Success;
  std::string report;
  bool is_unordered = false;        ///< the order checker has found errors, even if the launch succeeded
  std::vector<Finding> findings{};  ///< what `report` says
};

class LaunchWatcher;
namespace order {
class Launches;
}

class Device {
 public:
  Device(Gpu gpu, Options options);
  ~Device();

  const Gpu& gpu() const { return gpu_; }
  const Options& options() const { return options_; }
  GlobalMemory& memory() { return memory_; }

  /// How strictly a text is validated. A fat binary contains kernels and branches that never run, for this GPU or
  /// another: there an invalid instruction is an error only when it is executed. A text that the user wrote is
  /// validated as a whole, as ptxas does.
  enum class PtxValidation { WhenExecuted, Whole };
  /// Parses `text`, which need not be NUL-terminated. If it cannot be used, returns nullptr and explains where and why
  /// in `outcome`. `name` is the name of a file or of the program.
  DeviceModule* load(std::string_view text, std::string name, Outcome* outcome,
                     PtxValidation judged = PtxValidation::WhenExecuted);
  /// The same for the texts of one or more translation units, which may use one another's functions and variables.
  DeviceModule* load(std::span<const std::string_view> texts, std::string name, Outcome* outcome,
                     PtxValidation judged = PtxValidation::WhenExecuted);

  /// The kernels that `text` defines; none if it is not PTX. A text that replaces the program's own must define the
  /// same ones.
  static std::vector<KernelInfo> kernels_of(std::string_view text);

  /// The order of launches, copies and the host; null if it is not checked.
  order::Launches* launches() { return launches_.get(); }

  /// Adds a watcher (machine/watcher.h) for all later launches. It must outlive them.
  void watch(LaunchWatcher& watcher);

  /// For the counters: the number of tensor FLOPs that the next launch's result requires, regardless of how many it
  /// executes.
  void note_useful_flops(uint64_t flops);
  /// Sets the program's names for the parts of dynamic shared memory in later launches, for reports.
  void name_shared(std::vector<SharedName> names);

  /// Runs the kernel to its end. `arguments[i]` points at the i-th argument's value. Never throws; never hangs. Grid,
  /// block and cluster must be valid for hardware: runtime/launch.cpp checks that.
  Outcome launch(DeviceModule& module, const KernelInfo& kernel, const LaunchConfig& config, void* const* arguments);

  /// Runs all pending launches to their ends.
  Outcome settle();

  /// The number of clusters of this configuration that fit on the device at once (cudaOccupancyMaxActiveClusters), and
  /// of CTAs that fit on one SM.
  int max_active_clusters(const KernelInfo& kernel, const LaunchConfig& config) const;
  int max_active_blocks_per_sm(const KernelInfo& kernel, int threads, std::size_t dynamic_smem) const;

  /// Writes counters and trace files, if requested. Called once, at exit. If a file cannot be written, reports it and
  /// returns false; an existing file of that name is then unchanged.
  bool finish();

 private:
  struct Impl;
  struct Pending;
  // The steps of a launch.
  void validate(Pending& pending, const KernelInfo& kernel) const;
  void bind(Pending& pending, const KernelInfo& kernel, void* const* arguments);
  void watch(Pending& pending, const KernelInfo& kernel);
  /// Predicts the duration of these launches, which belong to one call, instead of running them.
  Outcome predict(const std::vector<std::unique_ptr<Pending>>& pending);
  void add(Outcome& outcome, const Pending& pending, Finding finding) const;
  Gpu gpu_;
  Options options_;
  GlobalMemory memory_;
  std::unique_ptr<order::Launches> launches_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sim
