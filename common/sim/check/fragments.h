// The registers of wgmma, its accumulators and A fragments: which of them other instructions have touched since the
// warp's last wgmma.fence, and which of A's a wgmma in flight still reads.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "machine/warp.h"

namespace sim {

struct Program;

/// What each instruction of a kernel does to such registers. Read once per kernel.
class Fragments {
 public:
  explicit Fragments(const Program& program);
  /// By instruction: does it touch any? Null: none does.
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

  /// The wgmma in flight one of whose A registers this instruction overwrites. (A move may only rename a value.)
  std::optional<uint32_t> executed(const Warp& warp, uint32_t pc);
  void fenced(const Warp& warp);
  void issued(const Warp& warp, uint32_t pc);
  void committed(const Warp& warp) { ++state_of(warp).committed; }
  /// At most `pending` of the newest groups are not complete.
  void waited(const Warp& warp, uint32_t pending);
  /// The warp is about to execute the wgmma at `pc`. What is in the way: the instruction that has touched one of its
  /// registers since the last fence, or the wgmma itself if the warp has never executed a fence.
  std::optional<uint32_t> obstacle(const Warp& warp, uint32_t pc);

 private:
  struct State {
    bool has_fenced = false;
    std::vector<uint32_t> touched;  ///< by register: 1 + the instruction that touched it last, 0: none since the fence
    uint64_t committed = 0;         ///< groups
    struct Read {
      uint32_t unit, wgmma;
      uint64_t group;
    };
    std::vector<Read> reads;  ///< of A, by wgmmas that have not been waited for
  };
  State& state_of(const Warp& warp);

  const Fragments* fragments_;
  std::unordered_map<const Warp*, State> states_;
};

}  // namespace sim
