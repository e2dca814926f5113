// Signatures: the forms of each instruction of PTX, as rows of tables.
//
//   {"mad.lo",   "[.cc].{u32|s32|u64|s64}",        "=1, 1, 1, 1"}
//   {"cvt",      ".{rn|rz}[.relu].bf16x2.f32",      "=b32, f32, f32",       "7.0 sm_80"}
//   {"shfl",     ".sync.{up|down|bfly|idx}.b32",    "=b32[|=_pred], b32, b32, b32, b32"}
//
// First column: the opcode with the parts that must follow it at once. Second: modifiers. `.x` is required, `[.x]` may
// be left out, `.{x|y}` is one of several, `.=` the same type again, `[.x.y]` both or neither, `$name` one of the lists
// in signature.cpp, `(8..256/8)` counts. As for ptxas, modifiers may come in any order, but types, state spaces and
// layouts keep theirs. Third column: operands.
//
//   1, 2, ...     as the instruction's first, second type says; `w1`: twice as wide
//   b32           as this type says: a register that fits, or a literal
//   =  result     %  a register, no literal     #  a literal, no register     ~  wider registers fit too
//   =_ result that may be discarded (_)         !  predicate that may be negated
//   &  as mov takes it: special registers and addresses of variables too
//   ^  a variable of the state space that the instruction names too
//   *             a vector in braces if the instruction has .v2, .v4, .v8; else one of it
//   {4 b32}       a vector of four. Counts are numbers, or `v` (of .v4), `x` (.x16), `d` (.3d), `n` (.m64n128k16) with
//                 a factor or divisor: `2x`, `n/2`; `pack`: two or four that together are as wide as the type says
//   =1|=pred      a pair `d|p`; `[|=pred]`: the second may be left out
//   []            an address in the state space that the instruction names; `[shared]`: in this one. In global memory
//                 and generically it has 64 bits; `[~]`: or fewer. `[any]`: 32 or 64 bits. `[wide]`: 64 bits.
//                 `[atomic]`, `[barrier]`: generic addresses may not be those of local variables, or only those of
//                 shared ones
//   [generic, {d b32}]   with more in the brackets
//   b32:0..15     literals are in this range; `0..64/8`: and multiples of 8; `:/32`: any such; `^2`: powers of two;
//                 `{4|8}`: these alone
//   b64 or [tmem] one of both
//   ?b32          it and what follows may be left out     b64@x|y   there exactly if one of these modifiers is
//   u64<policy>   its name, for sentences
//   label, targets, function; sink: `_` alone
//
// Fourth column: since which version of the ISA, and on which GPUs: `sm_90`: there and on newer ones; `sm_90a`: there
// alone; `sm_100f`: on its family.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ptx/module.h"

namespace sim::ptx {

struct Row {
  std::string_view opcode, modifiers, operands, needs = "";
};

/// The target that the text declares.
struct Target {
  int version = 90;    ///< 90 for PTX ISA 9.0
  int arch = 0;        ///< 100 for sm_100a
  char variant = ' ';  ///< 'a', 'f' or ' '
};

/// The error in an instruction's opcode, modifiers or operands, as a sentence; nullopt if it is valid.
std::optional<std::string> check_signature(const Module& module, const Function& function,
                                           const Instruction& instruction, const Target& target);

// The tables, by family.
std::span<const Row> arithmetic_rows();
std::span<const Row> conversion_rows();
std::span<const Row> memory_rows();
std::span<const Row> control_rows();
std::span<const Row> copy_rows();
std::span<const Row> matrix_rows();
std::span<const Row> tcgen05_rows();
std::span<const Row> video_rows();
std::span<const Row> texture_rows();

}  // namespace sim::ptx
