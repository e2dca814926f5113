// Who did what when: intervals of warps and of hardware units, in modelled cycles, for Perfetto and
// scripts/timeline.py.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "machine/warp.h"

namespace sim {

struct Launch;

struct TraceEvent {
  enum class Kind : uint8_t {
    Run,        ///< a warp executes
    Wait,       ///< a warp is blocked: `wait` says in what
    Operation,  ///< a unit works on an asynchronous operation
  };
  Kind kind = Kind::Run;
  Wait wait = Wait::None;
  uint32_t cta = 0;             ///< linear index in the grid
  int32_t warp = -1;            ///< of Run and Wait
  uint64_t begin = 0, end = 0;  ///< cycles
  uint32_t pc = 0;              ///< of the wait, or of the instruction that issued the operation
  uint64_t seen =
      0;  ///< Operation: cycle at which its effect could be seen (completion), `end` is when the unit is free
  std::string name;  ///< of the operation
};

class Trace {
 public:
  /// Events of one cluster, in any order. Thread-safe. Beyond a limit further clusters are left out.
  void add(const Launch& launch, std::vector<TraceEvent> events);
  /// Chrome trace format: a process per CTA, a thread per unit and warp; a cycle is shown as a nanosecond. Throws
  /// base::FileError.
  void write(const std::string& path, const std::string& gpu) const;

 private:
  struct Part {
    const struct Program* program;
    uint64_t launch;
    std::vector<TraceEvent> events;
  };
  std::mutex mutex_;
  std::vector<Part> parts_;
  size_t count_ = 0;
};

}  // namespace sim
