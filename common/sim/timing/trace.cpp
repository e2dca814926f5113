#include "timing/trace.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/base/file.h"
#include "common/base/json.h"
#include "exec/core/program.h"

namespace sim {
namespace {

constexpr size_t kMostEvents = 2'000'000;
constexpr size_t kPiece = 1 << 20;  // bytes that are written at a time

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

/// Units come before warps in the picture.
int track_of(const TraceEvent& event) {
  if (event.kind != TraceEvent::Kind::Operation) return 16 + event.warp;
  if (event.name.starts_with("TMA load") || event.name.starts_with("bulk copy")) return 1;
  if (event.name.starts_with("MMA") || event.name.starts_with("wgmma")) return 2;
  if (event.name.starts_with("TMA store") || event.name.starts_with("bulk store")) return 4;
  if (event.name.starts_with("tcgen05.ld") || event.name.starts_with("tcgen05.st")) return 3;
  return 5;
}
std::string track_name(int track) {
  switch (track) {
    case 1: return "TMA load";
    case 2: return "tensor core";
    case 3: return "TMEM load";
    case 4: return "TMA store";
    case 5: return "signals";
    default: return "warp " + std::to_string(track - 16);
  }
}

const char* category_of(TraceEvent::Kind kind) {
  switch (kind) {
    case TraceEvent::Kind::Run: return "run";
    case TraceEvent::Kind::Wait: return "wait";
    case TraceEvent::Kind::Operation: break;
  }
  return "operation";
}

std::string name_of(const TraceEvent& event) {
  switch (event.kind) {
    case TraceEvent::Kind::Run: return "run";
    case TraceEvent::Kind::Wait: return std::string("wait: ") + wait_name(event.wait);
    case TraceEvent::Kind::Operation: break;
  }
  return event.name;
}

}  // namespace

void Trace::add(const Launch& launch, std::vector<TraceEvent> events) {
  const std::lock_guard lock(mutex_);
  if (count_ > kMostEvents) return;
  count_ += events.size();
  parts_.push_back({launch.program, launch.number, std::move(events)});
}

void Trace::write(const std::string& path, const std::string& gpu) const {
  base::FileReplacement file(path);
  std::string text;  // goes into the file piece by piece: traces are long
  base::JsonWriter json(text);
  std::set<std::pair<uint64_t, int>> tracks;
  const auto us = [](uint64_t cycles) { return static_cast<double>(cycles) / 1000.0; };
  const auto name_track = [&](const char* what, uint64_t process, std::optional<int> track, const std::string& name) {
    json.object([&] {
      json.member("ph", "M");
      json.member("name", what);
      json.member("pid", process);
      if (track) json.member("tid", *track);
      json.object("args", [&] { json.member("name", name); });
    });
  };
  const auto write_event = [&](const Part& part, const TraceEvent& event) {
    const uint64_t process = part.launch * 1'000'000 + event.cta;
    const int track = track_of(event);
    if (tracks.emplace(process, track).second) {
      name_track("process_name", process, std::nullopt,
                 "launch " + std::to_string(part.launch) + ", CTA " + std::to_string(event.cta));
      name_track("thread_name", process, track, track_name(track));
    }
    json.object([&] {
      json.member("ph", "X");
      json.member("cat", category_of(event.kind));
      json.member("name", name_of(event));
      json.member("pid", process);
      json.member("tid", track);
      json.member("ts", us(event.begin));
      json.member("dur", us(event.end - event.begin));
      if (event.kind == TraceEvent::Kind::Run) return;
      json.object("args", [&] {
        json.member("source", part.program->source_line(event.pc));
        if (event.kind == TraceEvent::Kind::Operation) json.member("seen", us(event.seen));
      });
    });
    if (text.size() > kPiece) file.write(std::exchange(text, ""));
  };
  json.object([&] {
    json.object("otherData", [&] {
      json.member("gpu", gpu);
      json.member("unit", "modelled cycles, shown as nanoseconds");
    });
    const auto write_all = [&] {
      for (const Part& part : parts_) {
        for (const TraceEvent& event : part.events) write_event(part, event);
      }
    };
    json.array("traceEvents", write_all, base::JsonWriter::Layout::lines);
  });
  file.write(text + "\n");
  file.commit();
}

}  // namespace sim
