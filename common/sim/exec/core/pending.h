// Registers that an asynchronous operation (tcgen05.ld, wgmma) has still to write.
//
// Using such a register before the operation is waited for is an error, with one exception: nvcc puts plain moves
// there, which hardware honours as a dependency. A move of a pending register is therefore kept back, its destination
// becomes pending too, and it is executed when the operation completes.
//
// Hardware honours more than that: there are epilogues that compute with what a tcgen05.ld has still to bring. In the
// schedule that resembles hardware (Launch::lenient) such a use waits, and is remarked upon.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/core/op.h"

namespace sim {

struct PendingRegisters {
  static constexpr int32_t kUnit = 64;  ///< slots are multiples of this many bytes

  uint32_t next = 1;          ///< number of the next operation; numbers grow in program order
  int32_t low = 0, high = 0;  ///< bytes between which all of them lie, and what moves that are kept back read
  struct Operation {
    uint32_t number;
    const std::vector<Slot>* slots;  ///< of the program
    bool is_load;                    ///< tcgen05.ld
    /// Registers that it has still to read, and which of them, a bit each, have been given other values since.
    const std::vector<Slot>* reads = nullptr;
    uint32_t* stale = nullptr;
  };
  std::vector<Operation> operations;  ///< unfinished, in program order
  struct Move {
    uint32_t number;
    const Op* op;
    Mask mask;
  };
  std::vector<Move> moves;        ///< kept back, in program order, with the operation they wait for
  std::vector<uint32_t> carrier;  ///< by slot unit: the operation that a move into it waits for, 0: none
};

/// The same bytes as few slots: neighbours become one.
std::vector<Slot> joined(std::vector<Slot> slots);

/// A new operation of this warp, a tcgen05.ld or a wgmma, that will write `slots`, which live as long as the program.
uint32_t begin_pending(Warp& warp, const std::vector<Slot>& slots, bool is_load);
/// The same operation reads these registers late: it is told which of them other instructions than moves overwrite.
void read_late(Warp& warp, const std::vector<Slot>& slots, uint32_t* stale);
/// The operation has written its registers: executes the moves that waited for it.
void complete_pending(Warp& warp, uint32_t number);

enum class PendingCheck : uint8_t { Execute, Deferred, Stall };
/// Called before each instruction of which is_near_pending is true. Throws Fault when the instruction uses one.
/// Deferred: the instruction was kept back. Stall: it must wait until nothing is pending.
PendingCheck check_pending(Warp& warp, const Op& op, Mask mask);

/// Is this slot one that an unfinished operation has still to write?
bool is_pending(const Warp& warp, int32_t slot);

/// Are moves kept back?
inline bool has_moves(const Warp& warp) { return warp.pending != nullptr && !warp.pending->moves.empty(); }

inline bool has_pending(const Warp& warp) { return warp.pending != nullptr && !warp.pending->operations.empty(); }

/// Must check_pending be asked whether the warp may execute this? Not if it deals with pending registers itself, or names
/// only others, before or behind all of them.
inline bool is_near_pending(const Warp& warp, const Op& op) {
  return has_pending(warp) && !op.touches_pending && op.uses != nullptr && op.uses->low < warp.pending->high &&
         op.uses->high > warp.pending->low;
}

}  // namespace sim
