#include "replay/replay.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "check/order/launches.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "replay/host_memory.h"
#include "report/text.h"

namespace sim::recording {
namespace {

using base::format;
using base::grouped;
using base::in_bytes;
using Why = Refused::Why;

std::string with_edits(std::string text, uint32_t unit, const std::vector<Edit>& edits) {
  std::map<uint32_t, const Edit*> by_line;
  for (const Edit& edit : edits) {
    if (edit.unit == unit) by_line[edit.line] = &edit;
  }
  if (by_line.empty()) return text;
  std::string edited;
  std::size_t at = 0;
  uint32_t line = 1;
  for (const auto& [number, edit] : by_line) {
    for (; line < number && at < text.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      edited.append(text, at, end - at);
      at = end;
    }
    if (number == 0 || line < number || at >= text.size()) {
      throw Refused(Why::Request, "an edit is for line " + grouped(number) + " of the PTX, which has fewer lines");
    }
    edited += edit->text;
    at = std::min(text.find('\n', at), text.size());
  }
  return edited.append(text, at);
}

/// The elements of a tile, row after row; empty if there is no such tile.
std::string elements_of(const ResultStep& result, uint32_t number) {
  const uint32_t tile = result.tile(), across = (result.columns + tile - 1) / tile;
  const uint32_t column = number % across * tile;
  std::string elements;
  for (uint32_t row = number / across * tile; row < std::min(number / across * tile + tile, result.rows); ++row) {
    const uint64_t first = result.address + row * result.pitch + uint64_t{column} * result.element;
    elements.append(reinterpret_cast<const char*>(host_pointer(first)),
                    std::size_t{std::min(tile, result.columns - column)} * result.element);
  }
  return elements;
}

class Player {
 public:
  Player(const Recording& recording, const Request& request, const std::function<void(const std::string&)>& say)
      : recording_(recording), request_(request), say_(say), device_(gpu_of(recording, request), request.options) {}

  Replayed play() {
    for (const Step& step : recording_.steps) {
      const bool goes_on = std::visit([&](const auto& each) { return take(each); }, step);
      if (!goes_on) break;
      result_.is_complete = &step == &recording_.steps.back();
    }
    if (!is_fault(result_.status)) conclude(device_.settle());
    device_.finish();
    for (auto& [name, each] : compared_) result_.results.push_back(std::move(each));
    return std::move(result_);
  }

 private:
  static Gpu gpu_of(const Recording& recording, const Request& request) {
    const std::string& key = request.options.gpu.empty() ? recording.gpu : request.options.gpu;
    std::optional<Gpu> gpu = find_gpu(key);
    if (!gpu) throw Refused(Why::Request, "there is no description of a GPU '" + key + "'");
    if (request.options.sms > gpu->sm_count)
      throw Refused(Why::Request, format("the %s has only %d SMs", gpu->name.c_str(), gpu->sm_count));
    if (request.options.sms == 0) gpu->sm_count = static_cast<int>(recording.sms);
    return *gpu;
  }

  /// Adds the outcome of launches. Returns whether the program could have continued.
  bool conclude(Outcome outcome) {
    if (!outcome.report.empty()) say_(outcome.report);
    if (result_.status == Status::Success) result_.status = outcome.status;
    result_.is_unordered |= outcome.is_unordered;
    std::move(outcome.findings.begin(), outcome.findings.end(), std::back_inserter(result_.findings));
    return !is_fault(outcome.status);
  }

  bool take(const LoadStep& load) {
    std::vector<std::string> texts;
    auto judged = load.whole ? Device::PtxValidation::Whole : Device::PtxValidation::WhenExecuted;
    std::string name = load.name;
    for (const uint32_t text : load.texts) {
      const uint32_t unit = units_++;
      if (unit == 0 && request_.ptx) {
        texts.push_back(*request_.ptx);
        judged = Device::PtxValidation::Whole;
        name = "PTX";
      } else {
        texts.push_back(with_edits(bytes_of(recording_.contents[text]), unit, request_.edits));
      }
    }
    texts_.push_back(std::move(texts));
    const std::vector<std::string_view> views(texts_.back().begin(), texts_.back().end());
    Outcome outcome;
    DeviceModule* const module = device_.load(views, name, &outcome, judged);
    if (module == nullptr) throw Refused(Why::Ptx, outcome.report);
    modules_.push_back(module);
    return true;
  }

  bool take(const AllocateStep& step) {
    const void* const pointer =
        device_.memory().allocate(step.bytes, step.label, false, static_cast<GlobalMemory::Kind>(step.kind));
    if (pointer == nullptr) throw Refused(Why::Memory, "out of memory: " + in_bytes(step.bytes) + " of " + step.label);
    require_address(device_address(pointer), step.address, step.label);
    return true;
  }
  bool take(const AdoptStep& step) {
    void* const pointer = host_memory(step.address, step.bytes);
    if (pointer == nullptr || !device_.memory().adopt(pointer, step.bytes, step.label)) {
      throw Refused(Why::Memory, "the program has registered " + in_bytes(step.bytes) + " of host memory at " +
                                     base::hex(step.address) + ", and this address is not available here");
    }
    return true;
  }
  bool take(const ReleaseStep& step) {
    require(step.address, 0);
    device_.memory().release(host_pointer(step.address));
    return true;
  }

  bool take(const WriteStep& step) {
    const std::string bytes = bytes_of(recording_.contents[step.content]);
    if (bytes.size() != step.to.bytes()) throw Damaged("a write and its content differ in size");
    require(step.to);
    const char* from = bytes.data();
    step.to.for_rows([&](uint64_t row) {
      std::memcpy(host_pointer(row), std::exchange(from, from + step.to.width), step.to.width);
    });
    return true;
  }
  bool take(const FillStep& step) {
    require(step.to);
    step.to.for_rows([&](uint64_t row) {
      for (uint64_t at = 0; at + step.unit <= step.to.width; at += step.unit)
        std::memcpy(host_pointer(row + at), &step.value, step.unit);
    });
    return true;
  }
  bool take(const MoveStep& step) {
    require(step.to);
    require(step.from);
    if (step.to.bytes() != step.from.bytes()) throw Damaged("source and destination of a copy differ in size");
    std::vector<uint64_t> targets;
    step.to.for_rows([&](uint64_t row) { targets.push_back(row); });
    auto target = targets.begin();
    step.from.for_rows(
        [&](uint64_t row) { std::memmove(host_pointer(*target++), host_pointer(row), step.from.width); });
    return true;
  }

  bool take(const ResultStep& step) {
    std::erase_if(described_, [&](const ResultStep& old) { return old.address == step.address; });
    described_.push_back(step);
    return true;
  }
  bool take(const ReadStep& step) {
    require(step.from);
    const Digests found = digests_of(step.from, described_);
    if (found.parts.size() != step.digests.size())
      throw Damaged("the number of digests does not fit the compared memory");
    std::size_t at = 0;
    const auto compare = [&](const std::string& name, uint32_t rows, uint32_t columns, uint32_t tile_rows,
                             uint32_t tile_columns, uint64_t digest) {
      Compared each{name, rows, columns, tile_rows, tile_columns, {}, digest};
      const std::size_t tiles =
          std::size_t{(rows + tile_rows - 1) / tile_rows} * ((columns + tile_columns - 1) / tile_columns);
      for (std::size_t i = 0; i < tiles; ++i, ++at) each.wrong.push_back(found.parts[at] != step.digests[at]);
      compared_[name] = std::move(each);
    };
    for (std::size_t i = 0; i < found.results.size(); ++i) {
      const ResultStep& result = *found.results[i];
      compare(result.name, result.rows, result.columns, result.tile(), result.tile(), found.whole[i]);
      if (request_.tile) compared_[result.name].elements = elements_of(result, *request_.tile);
    }
    const auto rest = static_cast<uint32_t>(found.parts.size() - at);
    const GlobalMemory::Allocation* const allocation = device_.memory().find(step.from.address, 0);
    if (rest > 0) {
      compare((found.results.empty() ? "" : "around it, ") + (allocation == nullptr ? "memory" : allocation->label), 1,
              static_cast<uint32_t>(std::min<uint64_t>(step.from.bytes(), UINT32_MAX)), 1, kRestBytes, 0);
    }
    return true;
  }

  bool take(const OrderStep& step) {
    order::Launches* const launches = device_.launches();
    const auto what = static_cast<OrderStep::What>(step.what);
    const order::StreamName stream{step.stream, step.blocking};
    if (what == OrderStep::What::RecordEvent) {
      events_.push_back(launches == nullptr ? order::Ended() : launches->record(stream));
      return true;
    }
    if (launches == nullptr) return true;
    const auto ranges = [](const std::vector<uint64_t>& ends) {
      std::vector<order::Range> found;
      for (std::size_t i = 0; i + 1 < ends.size(); i += 2) found.push_back({ends[i], ends[i + 1]});
      return found;
    };
    switch (what) {
      case OrderStep::What::Operation: {
        std::optional<Finding> wrong =
            launches->operation(stream, step.host_waits, step.name, ranges(step.reads), ranges(step.writes));
        if (wrong && !(request_.options.suppressions && request_.options.suppressions->take(*wrong))) {
          say_(report::text(*wrong));
          result_.is_unordered = true;
          result_.findings.push_back(std::move(*wrong));
        }
        break;
      }
      case OrderStep::What::HostWaits: launches->wait_for(stream); break;
      case OrderStep::What::HostWaitsForAll: launches->wait_for_all(); break;
      case OrderStep::What::HostWaitsFor: launches->wait_for(events_[step.event]); break;
      case OrderStep::What::StreamWaits: launches->wait_for(stream, events_[step.event]); break;
      case OrderStep::What::Forget: launches->forget(step.writes[0], step.writes[1]); break;
      case OrderStep::What::RecordEvent: break;
    }
    return true;
  }

  bool take(const NamesStep& step) {
    device_.name_shared(read_shared_names(step.lines));
    return true;
  }
  bool take(const UsefulFlops& step) {
    device_.note_useful_flops(step.flops);
    return true;
  }
  bool take(const SettleStep&) { return conclude(device_.settle()); }
  bool take(const EndStep&) { return true; }

  bool take(const LaunchStep& step) {
    DeviceModule& module = *modules_[step.module];
    const KernelInfo* const known = module.kernel(step.kernel);
    const std::string name = base::readable_name(step.kernel);
    const auto refuse = [](const std::string& why) { throw Refused(Why::Ptx, why); };
    if (known == nullptr) refuse("the PTX does not define the kernel " + name);
    KernelInfo info = *known;
    const bool same_parameters =
        std::equal(info.parameters.begin(), info.parameters.end(), step.arguments.begin(), step.arguments.end(),
                   [](const KernelInfo::Parameter& parameter, const std::string& bytes) {
                     return parameter.size == bytes.size();
                   });
    if (!same_parameters)
      refuse("the parameters of the kernel " + name + " differ from the arguments that the program passes");
    LaunchConfig config{.grid = step.grid, .block = step.block, .cluster = step.cluster};
    config.dynamic_smem = static_cast<std::size_t>(step.dynamic_smem);
    config.stack_bytes = static_cast<std::size_t>(step.stack_bytes);
    config.max_dynamic_smem = static_cast<std::size_t>(step.max_dynamic_smem);
    if (request_.threads) config.block = {*request_.threads, 1, 1};
    if (request_.dynamic_smem) config.dynamic_smem = config.max_dynamic_smem = *request_.dynamic_smem;
    config.nonportable_cluster = step.nonportable_cluster, config.cooperative = step.cooperative;
    config.number = launch_, config.stream = step.stream, config.blocking_stream = step.blocking_stream,
    config.overlaps = step.overlaps;
    // The checks of runtime/launch.cpp passed for the recorded kernel. They are repeated for an edited one, and for
    // another number of SMs.
    const auto count = [](const std::array<uint32_t, 3>& dim) { return uint64_t{dim[0]} * dim[1] * dim[2]; };
    if (count(config.block) > static_cast<uint64_t>(info.max_threads)) {
      refuse(name + " is launched with blocks of " + grouped(count(config.block)) +
             " threads but compiled for at most " + grouped(info.max_threads));
    }
    const auto most = static_cast<std::size_t>(device_.gpu().smem_per_block);
    if (info.static_smem + config.dynamic_smem > most) {
      refuse(name + " wants " + grouped(info.static_smem + config.dynamic_smem) +
             " bytes of shared memory: a CTA has at most " + grouped(most));
    }
    const bool other_cluster =
        count(info.required_cluster) > 0 && count(config.cluster) > 0 && info.required_cluster != config.cluster;
    if (other_cluster) refuse(name + " is launched with a cluster size other than the one for which it is compiled");
    if (count(config.cluster) > 1 && device_.max_active_clusters(info, config) == 0)
      throw Refused(Why::Request, "a cluster of " + name + " does not fit on a GPU with so few SMs");
    if (device_.options().timing) {
      info.registers = static_cast<int>(step.registers);
      info.local_bytes = static_cast<std::size_t>(step.local_bytes);
    }
    std::vector<std::string> arguments = step.arguments;
    std::vector<void*> pointers;
    for (std::string& each : arguments) pointers.push_back(each.data());
    if (request_.progress) request_.progress(launch_, recording_.launches(), name);
    ++launch_;
    return conclude(device_.launch(module, device_.options().timing ? info : *known, config, pointers.data()));
  }

  void require_address(uint64_t found, uint64_t wanted, const std::string& what) const {
    if (found == wanted) return;
    throw Refused(Why::Memory, what + " was at " + base::hex(wanted) + " and comes to " + base::hex(found) +
                                   " here: the recording's addresses are not available");
  }
  void require(uint64_t address, uint64_t bytes) {
    if (device_.memory().find(address, bytes) == nullptr) throw Damaged("it uses memory that it has not allocated");
  }
  void require(const MemoryBox& box) {
    box.for_rows([&](uint64_t row) { require(row, box.width); });
  }

  static constexpr uint32_t kRestBytes = 1024;
  const Recording& recording_;
  const Request& request_;
  const std::function<void(const std::string&)>& say_;
  std::vector<std::vector<std::string>> texts_;  // modules refer to them
  Device device_;
  std::vector<DeviceModule*> modules_;
  std::vector<order::Ended> events_;
  std::vector<ResultStep> described_;
  std::map<std::string, Compared> compared_;
  uint32_t units_ = 0, launch_ = 0;
  Replayed result_;
};

}  // namespace

bool Compared::is_right() const { return std::find(wrong.begin(), wrong.end(), 1) == wrong.end(); }

std::optional<bool> Replayed::is_right() const {
  if (!is_complete || is_fault(status) || results.empty()) return std::nullopt;
  return std::all_of(results.begin(), results.end(), [](const Compared& each) { return each.is_right(); });
}

Replayed replay(const Recording& recording, const Request& request,
                const std::function<void(const std::string&)>& say) {
  return Player(recording, request, say).play();
}

}  // namespace sim::recording
