// The simulated device as the runtime sees it: memory, modules, launches. This is the only header of the simulator that
// runtime/ needs beside machine/gpu.h, machine/global_memory.h and machine/tensor_map.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/order/finding.h"
#include "common/base/demangle.h"
#include "engine/schedule.h"
#include "machine/global_memory.h"
#include "machine/gpu.h"
#include "machine/habit.h"
#include "machine/shared_name.h"
#include "machine/status.h"
#include "timing/power_setting.h"

namespace sim {

/// What the user of scripts/sim.sh chooses. runtime/options.h fills it from the environment.
struct Options {
  using Schedule = SchedulePolicy;
  enum class Arithmetic { Automatic, Exact, Fast };
  std::string gpu;  ///< key of a description; empty: by the first program's architecture
  int sms = 0;      ///< SM count to pretend; 0: the description's
  Schedule schedule = Schedule::Default;
  uint64_t seed = 0;                              ///< for Schedule::Seeded
  uint64_t patience = kPatience;                  ///< instructions before a warp without effect is reported
  Arithmetic arithmetic = Arithmetic::Automatic;  ///< Automatic: exact up to 2^34 multiply-adds a launch, then fast
  int threads = 0;                                ///< host threads; 0: as many as there are processors
  /// Is every access ordered after those it conflicts with? (check/order)
  enum class Check { Off, On, Strict };
  Check check = Check::Off;
  std::vector<std::string> checked_kernels;  ///< parts of their names, readable or mangled; none: all are checked
  bool checks(const std::string& kernel) const {
    if (check == Check::Off || checked_kernels.empty()) return check != Check::Off;
    const std::string name = base::readable_name(kernel);
    return std::any_of(checked_kernels.begin(), checked_kernels.end(), [&](const std::string& part) {
      return name.find(part) != name.npos || kernel.find(part) != kernel.npos;
    });
  }
  Habits tolerated;                          ///< tolerated violations that are not reported
  bool abort_on_error = false;               ///< exit at the first report instead of failing the launch
  std::string counters_file;                 ///< where to write counters at exit; empty: do not count
  std::string trace_file;                    ///< where to write a trace at exit; empty: do not trace
  bool timing = false;                       ///< predict times; data is neither moved nor computed
  std::vector<timing::PowerSetting> powers;  ///< of predictions; none: the GPU's limit
  std::string prediction_file;               ///< where to add predictions, a line each; empty: standard output, as text
};

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1};     ///< CTAs
  std::array<uint32_t, 3> block{1, 1, 1};    ///< threads
  std::array<uint32_t, 3> cluster{0, 0, 0};  ///< CTAs; 0: not given, the kernel's own or 1
  std::size_t dynamic_smem = 0;              ///< bytes
  std::size_t stack_bytes = 1024;            ///< of each thread, for calls that are not inlined (cudaLimitStackSize)
  std::size_t max_dynamic_smem = 48 * 1024;  ///< what cudaFuncSetAttribute allowed this kernel
  bool nonportable_cluster = false;          ///< cudaFuncAttributeNonPortableClusterSizeAllowed
  bool cooperative = false;                  ///< its CTAs may meet at a barrier of the grid
  uint64_t stream = 0;                       ///< number of the stream that it belongs to; 0: the legacy default stream
  bool blocking_stream = true;               ///< it waits for the default stream, and that one for it
  bool overlaps = false;                     ///< it may start before the launch before it in its stream has ended
};

/// A kernel as far as the host needs to know it.
struct KernelInfo {
  std::string name;  ///< mangled
  struct Parameter {
    uint32_t offset, size, align;
  };
  std::vector<Parameter> parameters;  ///< how to copy the arguments
  std::size_t static_smem = 0;        ///< bytes
  std::size_t local_bytes = 0;        ///< per thread
  std::size_t constant_bytes = 0;     ///< of its module
  int max_threads = 1024;             ///< by launch bounds
  int registers = 0;                  ///< per thread; 0: unknown (PTX tells only what launch bounds leave)
  std::array<uint32_t, 3> required_cluster{0, 0, 0};
  bool explicit_cluster = false;
  int target = 0;  ///< 100 for sm_100a
};

/// One PTX image, parsed and its variables placed. Owned by the Device.
class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  /// nullptr if this image has no such kernel.
  virtual const KernelInfo* kernel(std::string_view mangled_name) const = 0;
  /// Device address and size of a __device__ or __constant__ variable; nullptr if there is none of that name.
  virtual void* variable(std::string_view name, std::size_t* bytes) const = 0;
};

/// One paragraph of what is said of a launch.
struct Report {
  enum class Kind { Failure, Warning, Finding, Operation };  ///< Operation: a copy or a fill that is not ordered
  Kind kind;
  std::string kernel;  ///< readable; of a failure it is in the text
  std::string text;
  order::Finding finding = {};  ///< if it is one
};

/// An error together with the sentence or report that explains it (already complete; may span lines). After a success,
/// a report is a warning, or what the order checker has found.
struct Outcome {
  Status status = Status::Success;
  std::string report;
  bool is_unordered = false;      ///< the order checker has found errors, whatever became of the launch
  std::vector<Report> reports{};  ///< the same as `report`, one by one
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

  /// How strictly a text is judged. A fat binary holds kernels and branches that never run, for this GPU or another: in
  /// it an instruction that is none counts when it is executed. A text that somebody wrote is judged as ptxas would.
  enum class PtxValidation { WhenExecuted, Whole };
  /// Parses `text` (not NUL-terminated necessarily). If it cannot be used, returns nullptr and says where and why in
  /// `outcome`. `name` is a file's, or the program's.
  DeviceModule* load(std::string_view text, std::string name, Outcome* outcome,
                     PtxValidation judged = PtxValidation::WhenExecuted);
  /// The same of the texts of several translation units, which may use one another's functions and variables. At least one.
  DeviceModule* load(std::span<const std::string_view> texts, std::string name, Outcome* outcome,
                     PtxValidation judged = PtxValidation::WhenExecuted);

  /// The kernels that `text` defines, none if it is no PTX: what a program expects of a text that replaces its own.
  static std::vector<KernelInfo> kernels_of(std::string_view text);

  /// The order of launches, copies and the host; null if it is not checked.
  order::Launches* launches() { return launches_.get(); }

  /// A further watcher (machine/watcher.h) of the launches that follow. It must outlive them.
  void watch(LaunchWatcher& watcher);

  /// For the counters: how many tensor FLOPs the next launch is asked for, whatever it executes. Hardware cannot know.
  void note_useful_flops(uint64_t flops);
  /// What the program calls the parts of dynamic shared memory in the launches that follow: reports use it.
  void name_shared(std::vector<SharedName> names);

  /// Runs the kernel to its end. `arguments[i]` points at the i-th argument's value. Never throws; never hangs. Grid,
  /// block and cluster must be such that hardware takes them: runtime/launch.cpp sees to that.
  Outcome launch(DeviceModule& module, const KernelInfo& kernel, const LaunchConfig& config, void* const* arguments);

  /// Runs to their ends all launches that still wait.
  Outcome settle();

  /// How many clusters of this configuration fit on the device at once (cudaOccupancyMaxActiveClusters), and how many
  /// CTAs on one SM.
  int max_active_clusters(const KernelInfo& kernel, const LaunchConfig& config) const;
  int max_active_blocks_per_sm(const KernelInfo& kernel, int threads, std::size_t dynamic_smem) const;

  /// Writes counters and trace files, if asked for. Called once, at exit. What cannot be written is said, and the answer
  /// is false; a file of that name is then as it was.
  bool finish();

 private:
  struct Impl;
  struct Pending;
  // The steps of a launch.
  void validate(Pending& pending, const KernelInfo& kernel) const;
  void bind(Pending& pending, const KernelInfo& kernel, void* const* arguments);
  void watch(Pending& pending, const KernelInfo& kernel);
  /// In the place of running them, says how long these launches, of one call, would take.
  Outcome predict(const std::vector<std::unique_ptr<Pending>>& pending);
  Gpu gpu_;
  Options options_;
  GlobalMemory memory_;
  std::unique_ptr<order::Launches> launches_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sim
