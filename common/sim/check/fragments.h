// The registers of wgmma, its accumulators and A fragments: those that other instructions have accessed since the
// warp's last wgmma.fence, and those of A that a wgmma in flight still reads.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "machine/warp.h"

namespace sim {

struct Program;

/// How each instruction of a kernel accesses such registers. Derived once per kernel.
class Fragments {
 public:
  explicit Fragments(const Program& program);
  /// By instruction: whether it accesses any. Null: none does.
  const uint8_t* steps() const { return touches_.empty() ? nullptr : touches_.data(); }

 private:
  friend class FragmentWatch;
  /// Numbers of registers, in units of the register file.
  struct Action {
    bool moves = false;
    std::vector<uint32_t> reads, writes;
  };
  std::vector<Action> actions_;
  std::vector<uint8_t> touches_;
  uint32_t units_ = 0;
};

/// The warps of one cluster.
class FragmentWatch {
 public:
  explicit FragmentWatch(const Fragments& fragments) : fragments_(&fragments) {}

  /// The wgmma in flight of whose A registers this instruction overwrites one. (A move may only rename a value.)
  std::optional<uint32_t> executed(const Warp& warp, uint32_t pc);
  void fenced(const Warp& warp);
  void issued(const Warp& warp, uint32_t pc);
  void committed(const Warp& warp) { ++state_of(warp).committed; }
  /// At most `pending` of the newest groups are incomplete.
  void waited(const Warp& warp, uint32_t pending);
  /// The warp is about to execute the wgmma at `pc`. Returns the obstacle, if any: the instruction that has accessed
  /// one of its registers since the last fence, or the wgmma itself if the warp has never executed a fence.
  std::optional<uint32_t> obstacle(const Warp& warp, uint32_t pc);

 private:
  struct State {
    bool has_fenced = false;
    std::vector<uint32_t> touched;  ///< by register: 1 + the instruction that accessed it last; 0: none since the fence
    uint64_t committed = 0;         ///< number of committed groups
    struct Read {
      uint32_t unit, wgmma;
      uint64_t group;
    };
    std::vector<Read> reads;  ///< registers of A, read by wgmmas for which no wait has finished
  };
  State& state_of(const Warp& warp);

  const Fragments* fragments_;
  std::unordered_map<const Warp*, State> states_;
};

}  // namespace sim
