// A kernel ready to run: a flat list of decoded instructions, with every name replaced by a slot or an offset. Calls
// are inlined, except recursive ones and those through pointers: their functions are routines after the kernel's own
// instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exec/core/op.h"
#include "exec/core/routine.h"
#include "exec/core/special.h"
#include "exec/core/traits.h"
#include "ptx/module.h"

namespace sim {

/// Addresses of a module's variables on the device.
struct Placement {
  std::unordered_map<const ptx::Variable*, uint64_t> address;    ///< .global and .const: generic addresses
  std::unordered_map<const ptx::Function*, uint64_t> functions;  ///< functions with a body, in kCodeWindow
  bool keeps_uses = false;  ///< Op::uses is filled for all instructions, not only where execution needs it
};

/// A function that is called (exec/core/routine.h).
struct Routine {
  const ptx::Function* function = nullptr;
  uint32_t entry = 0;                       ///< index into Program::ops
  uint32_t frame_bytes = 0;                 ///< of local memory, for each call
  uint32_t frame_align = 16;                ///< bytes
  std::vector<Passed> parameters, results;  ///< in the frame
  struct Kept {
    int32_t slot;
    uint8_t bytes;  ///< of a lane; 0: a predicate
  };
  std::vector<Kept> registers;
  struct FrameAddress {
    int32_t slot;
    uint32_t offset;
    bool wide;  ///< 64 bits
  };
  std::vector<FrameAddress> addresses;  ///< slots with the addresses of its variables, filled in at each call
};

struct Program {
  const ptx::Module* module = nullptr;
  const ptx::Function* kernel = nullptr;
  std::vector<Op> ops;
  std::vector<Traits> traits;                         ///< by op
  std::vector<const ptx::Instruction*> instructions;  ///< by Op::source
  std::vector<std::shared_ptr<const void>> operands;  ///< those that do not fit their Op
  std::vector<std::unique_ptr<RegisterUse>> uses;
  std::vector<Fault> unknown;                        ///< the faults of instructions that could not be decoded
  std::vector<std::vector<uint32_t>> branch_tables;  ///< of brx.idx: indices into ops
  std::vector<Routine> routines;
  std::unordered_map<uint64_t, uint32_t> routine_at;  ///< by address: index into routines
  uint32_t kernel_end = 0;                            ///< ops from here on are of routines

  uint32_t register_bytes = 0;  ///< of a warp's register block
  struct Constant {
    int32_t slot;
    uint8_t bytes;
    uint64_t value;
  };
  std::vector<Constant> constants;  ///< slots that hold the same value in every lane
  struct Special {
    int32_t slot;
    SpecialRegister which;
  };
  std::vector<Special> specials;

  uint32_t local_bytes = 0;                                    ///< of the kernel's own frame, per thread
  uint32_t smem_begin = Gpu::smem_reserved;                    ///< 0 if it asks for the reserved part, too
  uint32_t static_smem = 0;                                    ///< bytes
  uint32_t dynamic_align = 16;                                 ///< of the `extern __shared__` arrays
  std::vector<std::pair<std::string, uint32_t>> shared_names;  ///< static variables and their offsets, for reports
  uint32_t parameter_bytes = 0;

  std::optional<Fault> impossible;  ///< why the kernel can never be launched (a limit is exceeded)

  bool needs_order = false;       ///< clusters can affect one another: run them in order on one host thread
  bool needs_others = false;      ///< and by more than counters and sums: they cannot be predicted one by one
  bool counts_clusters = false;   ///< by atom.inc: the last cluster continues with data that the others have written
  bool cancels_clusters = false;  ///< clusters take over others' work (launch control)
  bool lets_dependents_start = false;  ///< has griddepcontrol.launch_dependents
  bool dynamic_smem_used = false;

  /// The body is the outermost of an inlining chain. Where the entry function does hardly more than call one function,
  /// that function counts as the kernel.
  Location locate(uint32_t pc) const;
  /// The line of the body: "kernel_sm100.cuh:160".
  std::string source_line(uint32_t pc) const;
  /// The chain, from the outermost on; empty without line information.
  std::vector<const ptx::SourceLocation*> calls_of(uint32_t pc) const;
  /// Counts `entry_calls`. Called when all instructions are decoded.
  void find_body();
  size_t entry_calls = 0;  ///< depth of the calls that contain nearly all instructions
};

/// Decodes `kernel`. An instruction that cannot be decoded gets a handler that reports it when it is executed.
std::unique_ptr<Program> decode(const ptx::Module& module, const ptx::Function& kernel, const Placement& placement);

}  // namespace sim
