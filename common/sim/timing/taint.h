// Taint tracking for a run without data. Values from uninitialised memory, and all values computed from them, are
// unknown; they are tracked through registers and memory. Kernels may compute with them and store them. If one decides
// a branch or an address, the run ends with an error, because the kernel's demands cannot be determined.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/core/op.h"
#include "machine/watcher.h"

namespace sim {

struct Program;

class TaintTracker final : public Watcher {
 public:
  /// `alone`: each warp is executed by itself, so that other warps' stores are unknown, too.
  TaintTracker(const Program& program, bool alone);

  /// Throws Fault where an unknown value would decide something.
  void on(const LifeEvent& event) override;
  void on(const StepEvent& event) override;
  void on(const AccessEvent& event) override;
  void on(const FillEvent& event) override;

 private:
  void before(const Warp& warp, const Op& op, Mask standing, Mask mask);
  void after(const Warp& warp, const Op& op, Mask mask);
  void start(const Cluster& cluster);

  /// Throws Fault if an address of these lanes depends on an unknown value.
  void require_known(const Warp& warp, int32_t address_slot, Mask mask) const;
  /// One lane's ordinary access of shared or of its local memory.
  void loads_shared(uint32_t rank, uint32_t offset, uint32_t bytes, int lane);
  void stores_shared(const Warp& warp, uint32_t rank, uint32_t offset, uint32_t bytes, int lane, int32_t address_slot);
  void loads_local(const Warp& warp, uint32_t offset, uint32_t bytes, int lane);
  void stores_local(const Warp& warp, uint32_t offset, uint32_t bytes, int lane, int32_t address_slot);
  /// Arguments and results of a call.
  void moves_local(const Warp& warp, uint32_t to, uint32_t from, uint64_t bytes, int lane);
  /// Registers that tensor cores or tensor memory will write.
  void will_write(const Warp& warp, const std::vector<Slot>& slots);
  void mark(uint32_t rank, uint32_t first, uint32_t count, bool unknown);
  struct OfWarp {
    std::vector<Mask> registers;  ///< by 4 bytes of the register block: lanes in which the slot there is unknown
    std::vector<bool> local;      ///< by byte, lane after lane
  };
  OfWarp& of(const Warp& warp) { return warps_[warp.cta->rank][warp.index]; }
  const OfWarp& of(const Warp& warp) const { return warps_[warp.cta->rank][warp.index]; }
  static size_t index(int32_t slot) { return static_cast<size_t>(slot) / 4; }
  /// Lanes in which a slot that `op` reads is unknown; the slot `but` is ignored.
  Mask read_by(const Warp& warp, const Op& op, int32_t but = -1) const;

  const Program& program_;
  const bool alone_;
  uint32_t local_bytes_ = 0;                ///< of a lane
  std::vector<std::vector<OfWarp>> warps_;  ///< by rank and index
  std::vector<std::vector<bool>> shared_;   ///< by rank and byte
  const Op* op_ = nullptr;                  ///< being executed
  Mask loaded_ = 0, read_ = 0;              ///< by it
};

}  // namespace sim
