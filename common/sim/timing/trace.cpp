#include "timing/trace.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "common/base/align.h"
#include "common/base/demangle.h"
#include "common/base/file.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "exec/core/program.h"
#include "machine/cluster.h"

namespace sim {
namespace {

constexpr size_t kMostEvents = 2'000'000;
constexpr size_t kPiece = 1 << 20;  // bytes per write

const char* wait_name(Wait wait) {
  switch (wait) {
    case Wait::Gather: return "lanes of its warp";
    case Wait::Mbarrier: return "mbarrier";
    case Wait::CtaBarrier: return "CTA barrier";
    case Wait::ClusterBarrier: return "cluster barrier";
    case Wait::BulkGroup: return "bulk stores";
    case Wait::CopyGroup: return "cp.async";
    case Wait::WgmmaGroup: return "wgmma";
    case Wait::TmemLoad: return "tcgen05.ld";
    case Wait::TmemStore: return "tcgen05.st";
    case Wait::TmemAllocation:
    case Wait::TmemDeallocation: return "TMEM allocation";
    case Wait::Registers: return "registers";
    case Wait::Scoreboard: return "pending registers";
    case Wait::Signals: return "signals";
    case Wait::Launch: return "the launch before";
    case Wait::Poll: return "polling";
    case Wait::None: break;
  }
  return "";
}

/// The viewer shows units above warps.
enum Track : int { kLoads = 1, kTensorCore, kTensorMemory, kStores, kSignals, kBarriers, kReports, kFirstWarp = 16 };

int track_of(const TraceEvent& event) {
  using Kind = TraceEvent::Kind;
  if (event.kind == Kind::Barrier) return kBarriers;
  if (event.kind == Kind::Report) return kReports;
  if (event.kind != Kind::Operation) return kFirstWarp + event.warp;
  switch (event.unit) {
    case OperationUnit::Loads: return kLoads;
    case OperationUnit::Stores: return kStores;
    case OperationUnit::TensorMemory: return kTensorMemory;
    case OperationUnit::TensorCore:
    case OperationUnit::TensorCoreOfWarpgroup: return kTensorCore;
    case OperationUnit::Signals: break;
  }
  return kSignals;
}
std::string track_name(int track) {
  switch (track) {
    case kLoads: return "TMA load";
    case kTensorCore: return "tensor core";
    case kTensorMemory: return "TMEM load";
    case kStores: return "TMA store";
    case kSignals: return "signals";
    case kBarriers: return "barriers";
    case kReports: return "reports";
    default: return "warp " + std::to_string(track - kFirstWarp);
  }
}

const char* category_of(TraceEvent::Kind kind) {
  switch (kind) {
    case TraceEvent::Kind::Run: return "run";
    case TraceEvent::Kind::Wait: return "wait";
    case TraceEvent::Kind::Operation: return "operation";
    case TraceEvent::Kind::Barrier: return "barrier";
    case TraceEvent::Kind::Report: break;
  }
  return "report";
}

std::string name_of(const TraceEvent& event) {
  if (event.kind == TraceEvent::Kind::Run) return "run";
  if (event.kind == TraceEvent::Kind::Wait) return std::string("wait: ") + wait_name(event.wait);
  return event.name;
}

constexpr uint64_t kQueues = kProcessesPerLaunch - 1, kSms = kProcessesPerLaunch - 2;
constexpr uint32_t kPlaces = 32;  // slots for CTAs of an SM

double microseconds(uint64_t cycles, double ghz) { return static_cast<double>(cycles) / (1000.0 * ghz); }

/// The events of one cluster, as JSON.
class PartWriter {
 public:
  PartWriter(base::JsonWriter& json, const Program& program, const std::vector<uint32_t>& ctas, uint32_t dynamic_smem,
             double ghz, size_t first)
      : json_(json), program_(program), ctas_(ctas), dynamic_smem_(dynamic_smem), ghz_(ghz), first_(first) {}

  double us(uint64_t cycles) const { return microseconds(cycles, ghz_); }

  void arguments(const TraceEvent& event) {
    using Kind = TraceEvent::Kind;
    if (event.pc != ~0u) json_.member("source", program_.source_line(event.pc));
    if (event.kind == Kind::Run) json_.member("last_source", program_.source_line(event.last_pc));
    if (event.is_open && (event.kind == Kind::Wait || event.kind == Kind::Operation)) json_.member("open", true);
    if (event.barrier.kind != BarrierName::Kind::None) barrier(event);
    if (event.kind == Kind::Wait) actor("released_by", event.actor);
    if (event.kind == Kind::Barrier) actor("by", event.actor);
    if (event.kind == Kind::Report) report(event);
    if (event.kind == Kind::Operation) operation(event);
  }

 private:
  void report(const TraceEvent& event) {
    if (event.warp >= 0) json_.member("warp", event.warp);
    if (event.sides.empty()) return;
    json_.array("sides", [&] {
      for (const Spot& side : event.sides) {
        json_.object([&] {
          json_.member("cta", side.cta);
          json_.member("warp", uint32_t{side.warp});
          json_.member("source", program_.source_line(side.pc));
          json_.member("at", us(side.time));
        });
      }
    });
  }

  void barrier(const TraceEvent& event) {
    json_.object("barrier", [&] {
      switch (event.barrier.kind) {
        case BarrierName::Kind::Mbarrier:
          json_.member("cta", ctas_[event.barrier.cta]);
          json_.member("offset", int64_t{event.barrier.id} - int64_t{dynamic_smem_});
          break;
        case BarrierName::Kind::Named:
          json_.member("cta", ctas_[event.barrier.cta]);
          json_.member("number", event.barrier.id);
          break;
        default: json_.member("cluster", true);
      }
    });
    if (event.kind == TraceEvent::Kind::Wait) {
      if (event.barrier.kind == BarrierName::Kind::Mbarrier) json_.member("parity", event.amount);
      return;
    }
    json_.member("amount", event.amount);
    json_.member("phase", event.state.phase);
    json_.member("pending", event.state.pending);
    json_.member("tx", event.state.tx);
    json_.member("completes", event.state.completes);
  }

  void actor(const char* name, const Actor& who) {
    if (who.operation == Actor::kNone && who.warp == Actor::kNone) return;
    json_.object(name, [&] {
      if (who.operation != Actor::kNone) return json_.member("operation", first_ + who.operation);
      json_.member("cta", ctas_[who.cta]);
      json_.member("warp", who.warp);
      json_.member("source", program_.source_line(who.pc));
      json_.member("at", us(who.time));
    });
  }

  void operation(const TraceEvent& event) {
    json_.member("warp", event.warp);
    json_.member("issued", us(event.issued));
    json_.member("seen", us(event.seen));
    if (event.actor.operation != Actor::kNone) json_.member("after", first_ + event.actor.operation);
    const Footprint& moved = *event.footprint;
    if (moved.bytes > 0) json_.member("bytes", moved.bytes);
    if (!event.rests.empty()) {
      json_.object("rests", [&] {
        for (const auto& [part, cycles] : event.rests) json_.member(part, us(cycles));
      });
    }
    if (moved.overwrites) json_.member("overwrites", true);
    if (!moved.descriptors.empty()) {
      json_.array("descriptors", [&] {
        for (const uint64_t bits : moved.descriptors) json_.value(base::hex(bits));
      });
    }
    if (!moved.coordinates.empty()) {
      json_.member("tensor", moved.tensor);
      list("coordinates", moved.coordinates);
      list("extent", moved.extent);
    }
    if (event.read) json_.member("read", *event.read);
    if (!event.bytes.empty()) json_.member("contents", base::in_hex(event.bytes));
    if (moved.places.empty()) return;
    json_.array("places", [&] {
      for (const Footprint::Place& place : moved.places) json_.object([&] { write(place); });
    });
  }
  void write(const Footprint::Place& place) {
    using Space = Footprint::Place::Space;
    json_.member("cta", ctas_[place.rank]);
    switch (place.space) {
      case Space::Shared: json_.member("offset", int64_t{place.first} - int64_t{dynamic_smem_}); break;
      case Space::Tensor: json_.member("column", place.first); break;
      case Space::Registers: json_.member("warp", place.first); break;
    }
    json_.member("count", place.count);
    if (place.written) json_.member("written", true);
  }
  void list(const char* name, const auto& values) {
    json_.array(name, [&] {
      for (const auto value : values) json_.value(value);
    });
  }

  base::JsonWriter& json_;
  const Program& program_;
  const std::vector<uint32_t>& ctas_;
  uint32_t dynamic_smem_;
  double ghz_;
  size_t first_;  // number in the file of the cluster's first event
};

}  // namespace

void Trace::add(const Cluster& cluster, std::vector<TraceEvent> events) {
  const Launch& launch = *cluster.launch;
  std::vector<uint32_t> ctas;
  for (const Cta& cta : cluster.ctas)
    ctas.push_back(cta.index[0] + launch.grid[0] * (cta.index[1] + launch.grid[1] * cta.index[2]));
  add(launch, std::move(ctas), std::move(events));
}

void Trace::add(const Launch& launch, std::vector<uint32_t> ctas, std::vector<TraceEvent> events) {
  const std::lock_guard lock(mutex_);
  if (count_ > kMostEvents) {
    left_out_ += events.size();
    return;
  }
  count_ += events.size();
  size_t index = launches_.size();
  while (index > 0 && launches_[index - 1].number != launch.number) --index;
  if (index == 0) {
    const Program& program = *launch.program;
    launches_.push_back({&program, launch.number, launch.grid, launch.block, launch.cluster,
                         Gpu::smem_reserved + base::round_up(program.static_smem, program.dynamic_align)});
    index = launches_.size();
  }
  parts_.push_back({index - 1, std::move(ctas), std::move(events)});
}

void Trace::predicted(const Launch& launch, double ghz, std::vector<Residence> residences,
                      std::vector<QueueSample> queues) {
  std::ranges::sort(residences, {},
                    [](const Residence& each) { return std::tuple(each.sm, each.begin, each.cluster); });
  const std::lock_guard lock(mutex_);
  for (LaunchInfo& each : launches_) {
    if (each.number == launch.number)
      each.ghz = ghz, each.residences = std::move(residences), each.queues = std::move(queues);
  }
}

Trace::Part Trace::take() {
  const std::lock_guard lock(mutex_);
  Part part = std::move(parts_.back());
  parts_.pop_back();
  count_ -= part.events.size();
  return part;
}

void Trace::write(const std::string& path, const std::string& gpu) const {
  base::FileReplacement file(path);
  std::string text;  // written to the file in parts, because traces are long
  base::JsonWriter json(text);
  std::set<std::pair<uint64_t, int>> tracks;
  const auto name_track = [&](const char* what, uint64_t process, std::optional<int> track, const std::string& name) {
    json.object([&] {
      json.member("ph", "M");
      json.member("name", what);
      json.member("pid", process);
      if (track) json.member("tid", *track);
      json.object("args", [&] { json.member("name", name); });
    });
  };
  const auto write_event = [&](const LaunchInfo& launch, PartWriter& writer, const TraceEvent& event, size_t number) {
    const uint64_t process = launch.number * kProcessesPerLaunch + event.cta;
    const int track = track_of(event);
    if (tracks.emplace(process, track).second) {
      name_track("process_name", process, std::nullopt,
                 "launch " + std::to_string(launch.number) + ", CTA " + std::to_string(event.cta));
      name_track("thread_name", process, track, track_name(track));
    }
    const bool is_instant = event.kind == TraceEvent::Kind::Barrier || event.kind == TraceEvent::Kind::Report;
    json.object([&] {
      json.member("ph", is_instant ? "i" : "X");
      json.member("cat", category_of(event.kind));
      json.member("name", name_of(event));
      json.member("id", number);
      json.member("pid", process);
      json.member("tid", track);
      json.member("ts", writer.us(event.begin));
      if (is_instant)
        json.member("s", "t");
      else
        json.member("dur", writer.us(event.end - event.begin));
      json.object("args", [&] { writer.arguments(event); });
    });
    if (text.size() > kPiece) file.write(std::exchange(text, ""));
  };
  const auto write_residences = [&](const LaunchInfo& launch) {
    const uint64_t process = launch.number * kProcessesPerLaunch + kSms;
    if (!launch.residences.empty())
      name_track("process_name", process, std::nullopt, "launch " + std::to_string(launch.number) + ", SMs");
    std::map<uint32_t, uint64_t> free_from;  // by track: a slot for a CTA of an SM
    for (const Residence& each : launch.residences) {
      uint32_t place = 0;
      while (place + 1 < kPlaces && free_from[each.sm * kPlaces + place] > each.begin) ++place;
      const uint32_t track = each.sm * kPlaces + place;
      if (std::exchange(free_from[track], each.end) == 0) {
        const std::string sm = "SM " + std::to_string(each.sm);
        name_track("thread_name", process, static_cast<int>(track),
                   place == 0 ? sm : sm + ", place " + std::to_string(place + 1));
      }
      json.object([&] {
        json.member("ph", "X");
        json.member("cat", "residence");
        json.member("name", "cluster " + std::to_string(each.cluster));
        json.member("pid", process);
        json.member("tid", track);
        json.member("ts", microseconds(each.begin, launch.ghz));
        json.member("dur", microseconds(each.end - each.begin, launch.ghz));
        json.object("args", [&] { json.member("rank", each.rank); });
      });
      if (text.size() > kPiece) file.write(std::exchange(text, ""));
    }
  };
  const auto write_queues = [&](const LaunchInfo& launch) {
    const uint64_t process = launch.number * kProcessesPerLaunch + kQueues;
    if (!launch.queues.empty())
      name_track("process_name", process, std::nullopt,
                 "launch " + std::to_string(launch.number) + ", queues of L2 and DRAM");
    for (const QueueSample& sample : launch.queues) {
      json.object([&] {
        json.member("ph", "C");
        json.member("name", "busy for so many cycles");
        json.member("pid", process);
        json.member("ts", microseconds(sample.cycle, launch.ghz));
        json.object("args", [&] {
          json.member("L2", sample.l2);
          json.member("halves of L2", sample.fill);
          json.member("DRAM", sample.dram);
        });
      });
      if (text.size() > kPiece) file.write(std::exchange(text, ""));
    }
  };
  const auto triple = [&](const char* name, const std::array<uint32_t, 3>& values) {
    json.array(name, [&] {
      for (const uint32_t value : values) json.value(value);
    });
  };
  const auto write_launch = [&](const LaunchInfo& launch) {
    json.object([&] {
      json.member("launch", launch.number);
      json.member("kernel", base::readable_name(launch.program->kernel->name));
      triple("grid", launch.grid);
      triple("block", launch.block);
      triple("cluster", launch.cluster);
      json.member("dynamic_smem", launch.dynamic_smem);
      if (launch.ghz != 1) json.member("ghz", launch.ghz);
      json.array("files", [&] {
        const auto& files = launch.program->module->files;
        for (const auto& [number, path] : std::map(files.begin(), files.end())) json.value(path);
      });
    });
  };
  json.object([&] {
    json.object("otherData", [&] {
      json.member("version", kVersion);
      json.member("gpu", gpu);
      json.member("unit", "modelled cycles: of the launch's clock in GHz, or shown as nanoseconds");
      if (left_out_ > 0) json.member("events_left_out", left_out_);
      json.array("launches", [&] {
        for (const LaunchInfo& launch : launches_) write_launch(launch);
      });
    });
    const auto write_all = [&] {
      std::vector<const Part*> parts;  // in an order that does not depend on the host's threads
      for (const Part& part : parts_) parts.push_back(&part);
      std::ranges::sort(parts, {}, [](const Part* part) { return std::pair(part->launch, part->ctas.front()); });
      size_t number = 0;
      for (const Part* part : parts) {
        const LaunchInfo& launch = launches_[part->launch];
        PartWriter writer(json, *launch.program, part->ctas, launch.dynamic_smem, launch.ghz, number);
        for (const TraceEvent& event : part->events) write_event(launch, writer, event, number++);
      }
      for (const LaunchInfo& launch : launches_) write_residences(launch), write_queues(launch);
    };
    json.array("traceEvents", write_all, base::JsonWriter::Layout::lines);
  });
  file.write(text + "\n");
  file.commit();
}

}  // namespace sim
