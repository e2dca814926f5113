// Registers that an asynchronous operation (tcgen05.ld, wgmma) has still to write.
//
// Using such a register before waiting for the operation is an error, with one exception: nvcc puts plain moves before
// the wait, and hardware honours the dependency. A move of a pending register is therefore deferred: its destination
// becomes pending too, and the move is executed when the operation completes.
//
// Hardware honours more dependencies: some epilogues compute with the result of an unfinished tcgen05.ld. In the
// default schedule (Launch::lenient) such a use waits, and is reported as a remark.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/core/op.h"

namespace sim {

struct PendingRegisters {
  static constexpr int32_t kUnit = 64;  ///< slots are multiples of this many bytes

  uint32_t next = 1;          ///< number of the next operation; numbers grow in program order
  int32_t low = 0, high = 0;  ///< bounds of all pending registers and of those that deferred moves read
  struct Operation {
    uint32_t number;
    const std::vector<Slot>* slots;  ///< of the program
    bool is_load;                    ///< tcgen05.ld
    /// Registers that it has still to read; a bit for each tells whether it has been overwritten since.
    const std::vector<Slot>* reads = nullptr;
    uint32_t* stale = nullptr;
  };
  std::vector<Operation> operations;  ///< unfinished, in program order
  struct Move {
    uint32_t number;
    const Op* op;
    Mask mask;
  };
  std::vector<Move> moves;        ///< deferred, in program order, each with the operation that it waits for
  std::vector<uint32_t> carrier;  ///< by slot unit: the operation that a move into it waits for, 0: none
};

/// The same bytes as few slots: neighbours become one.
std::vector<Slot> joined(std::vector<Slot> slots);

/// A new operation of this warp, a tcgen05.ld or a wgmma, that will write `slots`, which live as long as the program.
uint32_t begin_pending(Warp& warp, const std::vector<Slot>& slots, bool is_load);
/// The same operation reads these registers late. `stale` gets a bit for each that an instruction other than a move
/// overwrites.
void read_late(Warp& warp, const std::vector<Slot>& slots, uint32_t* stale);
/// The operation has written its registers: executes the moves that waited for it.
void complete_pending(Warp& warp, uint32_t number);

enum class PendingCheck : uint8_t { Execute, Deferred, Stall };
/// Called before each instruction for which is_near_pending is true. Throws Fault when the instruction uses a pending
/// register. Deferred: the instruction will be executed later. Stall: it must wait until nothing is pending.
PendingCheck check_pending(Warp& warp, const Op& op, Mask mask);

/// Whether an unfinished operation has still to write this slot.
bool is_pending(const Warp& warp, int32_t slot);

/// Whether moves are deferred.
inline bool has_moves(const Warp& warp) { return warp.pending != nullptr && !warp.pending->moves.empty(); }

inline bool has_pending(const Warp& warp) { return warp.pending != nullptr && !warp.pending->operations.empty(); }

/// Whether check_pending must be called before this instruction. Not if the instruction handles pending registers
/// itself, or names only registers outside the bounds of the pending ones.
inline bool is_near_pending(const Warp& warp, const Op& op) {
  return has_pending(warp) && !op.touches_pending && op.uses != nullptr && op.uses->low < warp.pending->high &&
         op.uses->high > warp.pending->low;
}

}  // namespace sim
