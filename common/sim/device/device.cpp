#include "device/device.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "check/observer.h"
#include "check/order/launches.h"
#include "check/order_names.h"
#include "common/base/align.h"
#include "common/base/file.h"
#include "common/base/text.h"
#include "engine/grid.h"
#include "exec/core/call_graph.h"
#include "exec/core/op.h"
#include "exec/core/program.h"
#include "exec/core/report.h"
#include "machine/address.h"
#include "ptx/link.h"
#include "ptx/module.h"
#include "ptx/rules/rules.h"
#include "report/text.h"
#include "timing/counters.h"
#include "timing/demands.h"
#include "timing/prediction.h"
#include "timing/trace.h"
#include "timing/trace_watcher.h"

namespace sim {
namespace {

constexpr uint64_t kExactLimit = uint64_t{1} << 34;  // multiply-adds of a launch up to which arithmetic is exact

class LoadedModule final : public DeviceModule {
 public:
  std::unique_ptr<ptx::Module> image;
  Placement placement;
  std::map<std::string, KernelInfo, std::less<>> kernels;
  std::map<std::string, std::unique_ptr<Program>, std::less<>> programs;  // decoded on first launch
  std::map<std::string, std::pair<void*, size_t>, std::less<>> variables;

  const KernelInfo* kernel(std::string_view name) const override {
    const auto found = kernels.find(name);
    return found == kernels.end() ? nullptr : &found->second;
  }
  void* variable(std::string_view name, size_t* bytes) const override {
    const auto found = variables.find(name);
    if (found == variables.end()) return nullptr;
    if (bytes != nullptr) *bytes = found->second.second;
    return found->second.first;
  }
  const Program& program(const std::string& name) {
    auto& slot = programs[name];
    if (!slot) slot = decode(*image, *image->find(name), placement);
    return *slot;
  }
};

KernelInfo describe(const ptx::Module& module, const ptx::Function& function) {
  KernelInfo info;
  info.name = function.name;
  for (const ptx::Variable* parameter : function.parameters) {
    info.parameters.push_back(
        {static_cast<uint32_t>(parameter->offset), static_cast<uint32_t>(parameter->bytes), parameter->align});
  }
  if (function.max_threads[0] != 0) {
    uint64_t threads = 1;
    for (const uint32_t extent : function.max_threads)
      threads = std::min<uint64_t>(threads * extent, std::numeric_limits<int>::max());
    info.max_threads = static_cast<int>(threads);
  }
  const bool shares = std::any_of(function.instructions.begin(), function.instructions.end(),
                                  [](const ptx::Instruction& each) { return each.opcode == "setmaxnreg"; });
  info.registers =
      static_cast<int>(shares ? function.registers_to_share(Gpu::registers_per_sm) : function.max_registers);
  for (size_t i = 0; i < 3; ++i) info.required_cluster[i] = function.cluster[i];
  info.explicit_cluster = function.explicit_cluster;
  if (module.target.starts_with("sm_")) info.target = std::atoi(module.target.c_str() + 3);
  for (const ptx::Variable* variable : function.variables) {
    if (variable->space == ptx::Space::Shared && !variable->external) info.static_smem += variable->bytes;
    if (variable->space == ptx::Space::Local) info.local_bytes += variable->bytes;
  }
  for (const auto& variable : module.variables) {
    if (variable->space == ptx::Space::Const && !variable->external) info.constant_bytes += variable->bytes;
  }
  return info;
}

/// The address of a variable or function; 0: it has none.
uint64_t address_of(const LoadedModule& module, const std::string& symbol) {
  const auto found = [](const auto& places, const auto* what) {
    const auto at = places.find(what);
    return at == places.end() ? 0 : at->second;
  };
  const auto variable = module.image->globals.find(symbol);
  if (variable != module.image->globals.end()) return found(module.placement.address, variable->second);
  return found(module.placement.functions, find_body(*module.image, symbol));
}

/// Assigns the module's functions addresses that are unique on this device.
void place_functions(LoadedModule& module, uint64_t* next) {
  for (const auto& function : module.image->functions) {
    if (function->has_body) module.placement.functions[function.get()] = kCodeWindow + (*next += 16);
  }
}

/// The definition to which a declaration (.extern, or a second .weak one) of a variable in device memory refers; null
/// if it is a definition itself.
const ptx::Variable* stands_for(const ptx::Module& image, const ptx::Variable& variable) {
  if (variable.space != ptx::Space::Global && variable.space != ptx::Space::Const) return nullptr;
  const auto known = image.globals.find(variable.name);
  return known == image.globals.end() || known->second == &variable ? nullptr : known->second;
}

/// Allocates device memory for the module's variables. Uninitialised variables are zero, as PTX requires.
bool place_variables(LoadedModule& module, GlobalMemory& memory, Outcome* outcome) {
  constexpr size_t kMostVariables = 16'384;  // each has pages of its own, so that an access beyond it is detected
  const ptx::Module& image = *module.image;
  const auto fail = [&](const std::string& why) {
    *outcome = {Status::MemoryAllocation, image.name + ": " + why};
    return false;
  };
  for (const auto& variable : image.variables) {
    if (variable->space != ptx::Space::Global && variable->space != ptx::Space::Const) continue;
    if (stands_for(image, *variable) != nullptr) continue;
    if (module.placement.address.size() == kMostVariables)
      return fail("more than " + base::grouped(kMostVariables) + " variables in .global and .const space");
    // The alignment of pages suffices for all but extreme requests.
    constexpr uint64_t kPage = 4096;
    const uint64_t slack = variable->align > kPage ? variable->align : 0;
    auto* at = static_cast<uint8_t*>(memory.allocate_zeroed(std::max<uint64_t>(variable->bytes, 1) + slack,
                                                            "variable " + variable->name,
                                                            variable->space == ptx::Space::Const));
    if (at == nullptr)
      return fail("no device memory is left for the " + base::in_bytes(variable->bytes) + " of the variable '" +
                  variable->name + "'");
    if (slack != 0) at = host_pointer((device_address(at) + slack - 1) / variable->align * variable->align);
    std::copy_n(variable->initial.begin(), std::min<size_t>(variable->initial.size(), variable->bytes), at);
    module.placement.address[variable.get()] = device_address(at);
    module.variables[variable->name] = {at, variable->bytes};
  }
  for (const auto& variable : image.variables) {
    const ptx::Variable* const meant = stands_for(image, *variable);
    if (meant != nullptr) module.placement.address[variable.get()] = module.placement.address[meant];
  }
  for (const auto& variable : image.variables) {
    const auto here = module.placement.address.find(variable.get());
    if (here == module.placement.address.end()) continue;
    for (const ptx::Variable::Relocation& relocation : variable->relocations) {
      const uint64_t target = address_of(module, relocation.symbol);
      if (target == 0) continue;
      const uint64_t value = (target + static_cast<uint64_t>(relocation.addend)) >> relocation.shift;
      std::memcpy(host_pointer(here->second) + relocation.at, &value, relocation.bytes);
    }
  }
  return true;
}

constexpr uint64_t kMostLocalBytes = 512 * 1024;  // per thread

/// The part of each thread's local memory for calls of routines. It is the host's limit, raised to allow one call of
/// each routine, so that only recursion can exceed it. It never exceeds a thread's maximum: thousands of routines (nvcc
/// -G) do not all call one another.
uint64_t stack_bytes(const Program& program, uint64_t allowed) {
  if (program.routines.empty()) return 0;
  uint64_t frames = 0;
  for (const Routine& routine : program.routines)
    frames += base::round_up<uint64_t>(routine.frame_bytes, routine.frame_align) + routine.frame_align;
  const uint64_t most = kMostLocalBytes - std::min<uint64_t>(program.local_bytes, kMostLocalBytes);
  return base::round_up<uint64_t>(std::max(allowed, std::min(frames, most)), 16);
}

/// The requested number of host threads; 0: one per processor.
int host_threads(int asked) {
  return asked > 0 ? asked : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Adds the executed clusters to the launch's trace, at the times of the timing model.
void add_executed(const Launch& launch, uint32_t number, const timing::GridDemands& demands,
                  const timing::ContentionLog& log, std::vector<Trace::Part>& executed, Trace& trace) {
  for (size_t kind = 0; kind < executed.size(); ++kind) {
    const timing::ClusterLog* const cluster = log.of(number, demands.executed[kind]);
    if (cluster == nullptr || cluster->kind != kind) continue;
    Trace::Part part = timing::events_of(*cluster, demands.kinds[kind], std::move(executed[kind]));
    trace.add(launch, std::move(part.ctas), std::move(part.events));
  }
}

/// Faults, errors of order, then habits: a wait that an error asks for often ends the habit, too, also one that has
/// ended the kernel.
int rank(const Finding& finding) {
  if (finding.is_tolerated) return 3;
  if (finding.is_of_check()) return 1;
  return finding.rule.empty() ? 0 : 2;
}

}  // namespace

/// A requested launch, with all its state until it has run.
struct Device::Pending {
  std::string kernel;  ///< readable
  LaunchConfig config;
  Launch launch;
  uint64_t useful_flops = 0;
  GridLaunch grid;
  std::unique_ptr<order::LaunchCheck> check;  ///< if the order of accesses is checked
  // Watchers.
  std::unique_ptr<CountersWatcher> counters;
  std::unique_ptr<TraceWatcher> tracer;
  std::unique_ptr<OrderWatcher> orderer;
};

struct Device::Impl {
  std::vector<std::unique_ptr<LoadedModule>> modules;
  std::vector<std::unique_ptr<Pending>> pending;  ///< each may overlap its predecessor
  uint64_t launches = 0;
  uint64_t functions_end = 0;      // the end of the functions' addresses in kCodeWindow
  void* grid_workspace = nullptr;  // for cooperative launches
  Trace trace;
  std::vector<LaunchRecord> records;
  std::vector<LaunchWatcher*> watchers;  // added by the program
  uint64_t useful_flops = 0;             // for the next launch
  std::vector<SharedName> shared_names;
  Outcome remarks;  // on pending launches that ran before the requested one
};

Device::Device(Gpu gpu, Options options)
    : gpu_(std::move(gpu)),
      options_(std::move(options)),
      memory_(gpu_.global_bytes, options_.timing),
      impl_(std::make_unique<Impl>()) {
  if (options_.sms > 0) gpu_.sm_count = options_.sms;
  impl_->trace.contents = options_.trace_contents;
  gpu_.costs = timing::order_costs(timing::built_in_constants(gpu_.key));
  if (options_.check != Options::Check::Off) launches_ = std::make_unique<order::Launches>();
}
Device::~Device() = default;

DeviceModule* Device::load(std::string_view text, std::string name, Outcome* outcome, PtxValidation judged) {
  return load(std::span(&text, 1), std::move(name), outcome, judged);
}

DeviceModule* Device::load(std::span<const std::string_view> texts, std::string name, Outcome* outcome,
                           PtxValidation judged) {
  auto module = std::make_unique<LoadedModule>();
  const auto refuse = [&](uint32_t line, const std::string& why) {
    *outcome = {Status::InvalidPtx, name + ":" + std::to_string(line) + ": " + why};
    return nullptr;
  };
  try {
    std::vector<std::unique_ptr<ptx::Module>> units;
    for (const std::string_view text : texts) units.push_back(ptx::parse(text, name));
    module->image = ptx::link(std::move(units));
  } catch (const ptx::SyntaxError& error) { return refuse(error.line, error.message); }
  if (judged == PtxValidation::Whole) {
    const std::vector<ptx::RuleViolation> findings = ptx::check(*module->image);
    if (!findings.empty()) {
      const std::string source = report::places(module->image->frames(findings[0].location));
      return refuse(findings[0].line,
                    findings[0].message + (source.empty() ? "" : " (" + source + ")") +
                        (findings.size() > 1 ? "; and " + std::to_string(findings.size() - 1) + " more" : ""));
    }
  }
  place_functions(*module, &impl_->functions_end);
  if (!place_variables(*module, memory_, outcome)) return nullptr;
  module->placement.keeps_uses = options_.timing;
  for (const auto& function : module->image->functions) {
    if (function->is_entry && function->has_body) module->kernels[function->name] = describe(*module->image, *function);
  }
  impl_->modules.push_back(std::move(module));
  return impl_->modules.back().get();
}

std::vector<KernelInfo> Device::kernels_of(std::string_view text) {
  std::vector<KernelInfo> kernels;
  try {
    const std::unique_ptr<ptx::Module> image = ptx::parse(text, "");
    for (const auto& function : image->functions) {
      if (function->is_entry && function->has_body) kernels.push_back(describe(*image, *function));
    }
  } catch (const ptx::SyntaxError&) { kernels.clear(); }
  return kernels;
}

int Device::max_active_blocks_per_sm(const KernelInfo& kernel, int threads, std::size_t dynamic_smem) const {
  if (threads <= 0 || threads > kernel.max_threads) return 0;
  constexpr size_t kSmemUnit = 128;
  const size_t smem = base::round_up(size_t{Gpu::smem_reserved} + kernel.static_smem + dynamic_smem, kSmemUnit);
  const int by_threads =
      gpu_.threads_with(kernel.registers) / static_cast<int>(base::round_up(static_cast<uint32_t>(threads), 32));
  const int by_smem = static_cast<int>(static_cast<size_t>(gpu_.smem_per_sm) / smem);
  return std::max(0, std::min({by_threads, by_smem, gpu_.blocks_per_sm}));
}

int Device::max_active_clusters(const KernelInfo& kernel, const LaunchConfig& config) const {
  uint32_t size = 1;
  for (size_t i = 0; i < 3; ++i) size *= std::max({config.cluster[i], kernel.required_cluster[i], 1u});
  const int threads = static_cast<int>(config.block[0] * config.block[1] * config.block[2]);
  int per_sm = max_active_blocks_per_sm(kernel, threads, config.dynamic_smem);
  if (size == 1) return per_sm * gpu_.sm_count;
  // CUDA guide, "Thread Block Clusters": on a GPU with fewer SMs than 8, the largest cluster has as many blocks as SMs.
  if (size > static_cast<uint32_t>(gpu_.sm_count)) return 0;
  per_sm = std::min(per_sm, gpu_.cluster_blocks_per_sm);
  if (gpu_.sm_groups.empty()) return per_sm * gpu_.sm_count / static_cast<int>(size);
  int clusters = 0, sms_left = gpu_.sm_count;
  for (const auto& [sms, gpc, l2_half] : gpu_.sm_groups) {
    clusters += per_sm * std::min(sms, sms_left) / static_cast<int>(size);
    sms_left -= std::min(sms, sms_left);
  }
  return clusters;
}

Outcome Device::launch(DeviceModule& module, const KernelInfo& kernel, const LaunchConfig& config,
                       void* const* arguments) {
  const bool overlaps =
      config.overlaps && !impl_->pending.empty() && impl_->pending.back()->config.stream == config.stream;
  if (!overlaps) {
    Outcome before = settle();
    if (before.status != Status::Success) return before;
    std::move(before.findings.begin(), before.findings.end(), std::back_inserter(impl_->remarks.findings));
  }
  auto pending = std::make_unique<Pending>();
  pending->kernel = readable_name(kernel.name);
  pending->config = config;
  pending->launch.program = &static_cast<LoadedModule&>(module).program(kernel.name);
  try {
    validate(*pending, kernel);
    bind(*pending, kernel, arguments);
  } catch (Outcome& refused) {
    refused.report = "launch of " + pending->kernel + ": " + refused.report;
    return std::move(refused);
  }
  if (overlaps) pending->launch.predecessor = &impl_->pending.back()->launch;
  watch(*pending, kernel);
  const bool may_have_dependents = pending->launch.program->lets_dependents_start;
  impl_->pending.push_back(std::move(pending));
  // Only a kernel that executes launch_dependents can overlap the next launch, so it waits for that one. The order
  // checker knows which launches may overlap even if they run one after the other.
  if (may_have_dependents && !launches_) return {};
  return settle();
}

/// Computes the launch's size in CTAs, threads and bytes. Throws Outcome if it exceeds a limit.
void Device::validate(Pending& pending, const KernelInfo& kernel) const {
  const LaunchConfig& config = pending.config;
  Launch& launch = pending.launch;
  const Program& program = *launch.program;
  launch.grid = config.grid;
  launch.block = config.block;
  for (size_t i = 0; i < 3; ++i)
    launch.cluster[i] = config.cluster[i] != 0 ? config.cluster[i] : std::max(kernel.required_cluster[i], 1u);
  if (const auto& fault = program.impossible)
    throw Outcome{fault->what->status, report::sentence(*fault->what, fault->details)};
  const uint64_t local_bytes = program.local_bytes + stack_bytes(program, config.stack_bytes);
  if (local_bytes > kMostLocalBytes) {
    throw Outcome{Status::LaunchOutOfResources, "it needs " + base::in_bytes(local_bytes) +
                                                    " of local memory per thread; the limit is " +
                                                    base::grouped(kMostLocalBytes)};
  }
  launch.local_bytes = static_cast<uint32_t>(local_bytes);
  launch.dynamic_smem = static_cast<uint32_t>(config.dynamic_smem);
  const uint32_t statics = Gpu::smem_reserved + program.static_smem;
  launch.smem_bytes =
      (program.dynamic_smem_used ? base::round_up(statics, program.dynamic_align) : statics) + launch.dynamic_smem;
  if (launch.smem_bytes - Gpu::smem_reserved > static_cast<uint32_t>(gpu_.smem_per_block)) {
    throw Outcome{Status::InvalidValue, "it needs " + base::grouped(launch.smem_bytes - Gpu::smem_reserved) +
                                            " bytes of shared memory per block; the limit is " +
                                            base::grouped(gpu_.smem_per_block)};
  }
}

/// Sets GPU, memory, arguments, and the user's options. Throws Outcome if memory is exhausted.
void Device::bind(Pending& pending, const KernelInfo& kernel, void* const* arguments) {
  const LaunchConfig& config = pending.config;
  Launch& launch = pending.launch;
  launch.gpu = &gpu_;
  launch.memory = &memory_;
  launch.parameters.assign(launch.program->parameter_bytes, 0);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    std::memcpy(launch.parameters.data() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].size);
  }
  launch.number = impl_->launches++;
  if (config.cooperative) {  // the workspace's size, and the word in which the CTAs count
    constexpr size_t kWorkspace = 8;
    if (impl_->grid_workspace == nullptr) impl_->grid_workspace = memory_.allocate(kWorkspace, "barrier of the grid");
    if (impl_->grid_workspace == nullptr) throw Outcome{Status::MemoryAllocation, "no memory for the grid's barrier"};
    std::memset(impl_->grid_workspace, 0, kWorkspace);
    launch.grid_workspace = device_address(impl_->grid_workspace);
  }
  launch.lenient = options_.schedule == SchedulePolicy::Default;
  launch.tolerated = options_.tolerated;
  launch.warpgroups_as_one = launch.lenient || options_.tolerated.contains(Habit::WarpgroupRelease);
  launch.elects_last = options_.check == Options::Check::Strict;
  launch.warpgroups_begin_as_one = launch.warpgroups_as_one || options_.tolerated.contains(Habit::WarpgroupAcquire);
  switch (options_.arithmetic) {
    case Options::Arithmetic::Exact: launch.exact_budget = ~0ull; break;
    case Options::Arithmetic::Fast: launch.exact_budget = 0; break;
    // Tiles are distributed evenly; some clusters get one more than others.
    case Options::Arithmetic::Automatic: launch.exact_budget = 2 * kExactLimit / launch.cluster_count(); break;
  }
  pending.useful_flops = std::exchange(impl_->useful_flops, 0);
  launch.shared_names = impl_->shared_names;
  const int per_sm = max_active_blocks_per_sm(kernel, static_cast<int>(launch.threads_per_cta()), config.dynamic_smem);
  pending.grid = {
      .launch = &launch,
      .resident = static_cast<uint32_t>(std::max(1, max_active_clusters(kernel, config))),
      .room_per_cluster = launch.cluster_size() * GridLaunch::kSm / static_cast<uint64_t>(std::clamp(per_sm, 1, 32))};
}

/// Assembles the launch's watchers: the only code that names them.
void Device::watch(Pending& pending, const KernelInfo& kernel) {
  const LaunchConfig& config = pending.config;
  if (launches_) {
    pending.check = launches_->begin(
        {config.stream, config.blocking_stream}, config.overlaps, pending.launch.program->lets_dependents_start,
        std::make_unique<KernelNames>(pending.launch), options_.tolerated, options_.check == Options::Check::Strict);
  }
  if (options_.timing) return;  // predict() uses its own watchers
  std::vector<LaunchWatcher*>& watchers = pending.launch.watchers;
  const auto add = [&](auto& owner, auto watcher) {
    owner = std::move(watcher);
    watchers.push_back(owner.get());
  };
  const bool traces = !options_.trace_file.empty();
  if (!options_.counters_file.empty()) add(pending.counters, std::make_unique<CountersWatcher>(memory_));
  if (traces) add(pending.tracer, std::make_unique<TraceWatcher>(impl_->trace));
  // If a launch is not checked, its accesses are unknown.
  if (pending.check && options_.checks(kernel.name))
    add(pending.orderer, std::make_unique<OrderWatcher>(*pending.check, *pending.launch.program, traces));
  watchers.insert(watchers.end(), impl_->watchers.begin(), impl_->watchers.end());
}

/// Adds what a launch has been found to do.
void Device::add(Outcome& outcome, const Pending& pending, Finding finding) const {
  if (finding.kernel.empty()) finding.kernel = pending.kernel;
  finding.launch = pending.config.number;
  finding.stream = pending.config.stream;
  if (options_.suppressions && options_.suppressions->take(finding)) return;
  outcome.is_unordered |= finding.is_of_check() && !finding.is_tolerated;
  outcome.findings.push_back(std::move(finding));
}

Outcome Device::settle() {
  const std::vector<std::unique_ptr<Pending>> pending = std::exchange(impl_->pending, {});
  Outcome outcome = std::exchange(impl_->remarks, {});
  if (pending.empty()) return outcome;
  if (options_.timing) return predict(pending);
  std::vector<GridLaunch> grids;
  for (const auto& each : pending) grids.push_back(each->grid);
  std::optional<Failure> failure =
      run_launches(grids, {options_.schedule, options_.seed, options_.patience, !options_.trace_contents},
                   host_threads(options_.threads));
  for (const auto& each : pending) {
    const Launch& launch = each->launch;
    if (each->counters) {
      impl_->records.push_back({each->kernel, launch.grid, launch.block, launch.cluster, launch.program,
                                each->useful_flops, std::move(each->counters->total)});
    }
    for (const auto& [habit, remark] : launch.remarks) add(outcome, *each, remark.finding);
  }
  if (failure) {
    outcome = {.status = failure->status};
    add(outcome, *pending.back(), std::move(failure->finding));
  }
  for (const auto& each : pending) {
    if (!each->check) continue;
    launches_->end(*each->check, {each->config.stream, each->config.blocking_stream});
    for (Finding& finding : each->check->findings.all()) add(outcome, *each, std::move(finding));
  }
  std::stable_sort(outcome.findings.begin(), outcome.findings.end(),
                   [](const Finding& one, const Finding& other) { return rank(one) < rank(other); });
  outcome.report = report::text(outcome.findings);
  return outcome;
}

Outcome Device::predict(const std::vector<std::unique_ptr<Pending>>& pending) {
  const int threads = host_threads(options_.threads);
  std::vector<timing::GridDemands> demands;
  std::vector<std::vector<Trace::Part>> traced(pending.size());
  timing::ContentionLog log;
  const bool traces = !options_.trace_file.empty();
  double flops = 0;
  // Nothing is computed in any case: a program goes on after a launch whose time cannot be predicted, and is told.
  const auto leave_out = [&](Finding finding) {
    finding.kind = Finding::Kind::Refused, finding.is_tolerated = true;
    finding.what = "--timing leaves out " + pending.back()->kernel +
                   (pending.size() > 1 ? ", and the launches that it may overlap: " : ": ") + report::what(finding);
    finding.fault = nullptr;  // its sentence is a part of this one
    Outcome outcome;
    add(outcome, *pending.back(), std::move(finding));
    outcome.report = report::text(outcome.findings);
    return outcome;
  };
  timing::Constants constants;
  try {
    constants = timing::constants_of(gpu_.key);
  } catch (const std::runtime_error& error) { return {Status::NotSupported, std::string("--timing: ") + error.what()}; }
  try {
    for (const auto& each : pending) {
      const size_t launch = demands.size();
      demands.push_back(demands_of(each->grid, threads, traces ? &traced[launch] : nullptr));
      if (traces) {
        for (const uint32_t cluster : demands.back().executed) log.want(static_cast<uint32_t>(launch), cluster);
      }
      flops += static_cast<double>(each->useful_flops);
    }
    std::vector<timing::PowerSetting> powers = options_.powers;
    if (powers.empty()) powers.emplace_back();
    const bool prints = options_.prediction_file.empty();
    std::ofstream file;
    if (!prints) file.open(options_.prediction_file, std::ios::app);
    double ghz = 0;  // of the first prediction, which is traced
    for (timing::Prediction& prediction :
         timing::predict(demands, gpu_, constants, powers, flops, traces ? &log : nullptr)) {
      prediction.kernel = pending.front()->kernel;
      if (ghz == 0) ghz = prediction.ghz;
      if (prints)
        std::fputs(timing::to_text(prediction).c_str(), stdout);
      else
        file << timing::to_json(prediction) << "\n";
    }
    if (!prints && !file.flush())
      return {Status::NotSupported, "--predictions: " + options_.prediction_file + " cannot be written"};
    for (size_t launch = 0; traces && launch < pending.size(); ++launch) {
      Launch& each = pending[launch]->launch;
      add_executed(each, static_cast<uint32_t>(launch), demands[launch], log, traced[launch], impl_->trace);
      impl_->trace.predicted(each, ghz, log.residences(static_cast<uint32_t>(launch)),
                             launch == 0 ? log.queues() : std::vector<QueueSample>());
    }
  } catch (const Failure& failure) {
    if (failure.status == Status::NotSupported) return leave_out(failure.finding);
    Outcome outcome{.status = failure.status};
    add(outcome, *pending.back(), failure.finding);
    outcome.report = report::text(outcome.findings);
    return outcome;
  } catch (const std::runtime_error& error) { return leave_out({.what = error.what()}); }
  return {};
}

void Device::watch(LaunchWatcher& watcher) { impl_->watchers.push_back(&watcher); }
void Device::note_useful_flops(uint64_t flops) { impl_->useful_flops = flops; }
void Device::name_shared(std::vector<SharedName> names) { impl_->shared_names = std::move(names); }

bool Device::finish() {
  bool written = true;
  const auto attempt = [&](const char* what, const std::string& file, const auto& write) {
    if (file.empty()) return;
    try {
      write(file);
    } catch (const base::FileError& error) {
      std::fprintf(stderr, "sim: the %s cannot be written to '%s': %s\n", what, file.c_str(), error.what());
      written = false;
    }
  };
  attempt("trace", options_.trace_file, [&](const std::string& file) { impl_->trace.write(file, gpu_.name); });
  attempt("counters", options_.counters_file,
          [&](const std::string& file) { base::write_file(file, to_json(gpu_.name, gpu_.sm_count, impl_->records)); });
  return written;
}

}  // namespace sim
