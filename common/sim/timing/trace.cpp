#include "timing/trace.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "exec/core/program.h"

namespace sim {
namespace {

constexpr size_t kMostEvents = 2'000'000;

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

}  // namespace

void Trace::add(const Launch& launch, std::vector<TraceEvent> events) {
  const std::lock_guard lock(mutex_);
  if (count_ > kMostEvents) return;
  count_ += events.size();
  parts_.push_back({launch.program, launch.number, std::move(events)});
}

bool Trace::write(const std::string& path, const std::string& gpu) const {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(
      file,
      "{\"otherData\": {\"gpu\": \"%s\", \"unit\": \"modelled cycles, shown as nanoseconds\"},\n\"traceEvents\": [",
      gpu.c_str());
  bool first = true;
  const auto separator = [&] {
    std::fputs(first ? "\n" : ",\n", file);
    first = false;
  };
  std::set<std::pair<uint64_t, int>> tracks;
  const auto us = [](uint64_t cycles) { return static_cast<double>(cycles) / 1000.0; };
  for (const Part& part : parts_) {
    for (const TraceEvent& event : part.events) {
      const uint64_t process = part.launch * 1'000'000 + event.cta;
      const int track = track_of(event);
      if (tracks.emplace(process, track).second) {
        separator();
        std::fprintf(file,
                     "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %llu, \"args\": {\"name\": \"launch %llu, "
                     "CTA %u\"}},\n",
                     static_cast<unsigned long long>(process), static_cast<unsigned long long>(part.launch), event.cta);
        std::fprintf(
            file,
            "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %llu, \"tid\": %d, \"args\": {\"name\": \"%s\"}}",
            static_cast<unsigned long long>(process), track, track_name(track).c_str());
      }
      separator();
      const char* category = event.kind == TraceEvent::Kind::Run    ? "run"
                             : event.kind == TraceEvent::Kind::Wait ? "wait"
                                                                    : "operation";
      const std::string name = event.kind == TraceEvent::Kind::Run    ? "run"
                               : event.kind == TraceEvent::Kind::Wait ? std::string("wait: ") + wait_name(event.wait)
                                                                      : event.name;
      std::fprintf(
          file,
          "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %llu, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f",
          category, name.c_str(), static_cast<unsigned long long>(process), track, us(event.begin),
          us(event.end - event.begin));
      if (event.kind != TraceEvent::Kind::Run) {
        std::fprintf(file, ", \"args\": {\"source\": \"%s\"", part.program->source_line(event.pc).c_str());
        if (event.kind == TraceEvent::Kind::Operation) std::fprintf(file, ", \"seen\": %.3f", us(event.seen));
        std::fputc('}', file);
      }
      std::fputc('}', file);
    }
  }
  std::fputs("\n]}\n", file);
  return std::fclose(file) == 0;
}

}  // namespace sim
