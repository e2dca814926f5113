// Parsed PTX. Names are resolved (registers to numbers, labels to instruction indices, variables to objects).
// Instructions keep their opcode and modifiers as text; exec/ decodes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "machine/finding.h"

namespace sim::ptx {

enum class Space : uint8_t { Generic, Register, Special, Param, Global, Const, Shared, Local };
/// The name in PTX: ".shared", "register".
std::string_view name_of(Space space);

enum class Linkage : uint8_t { None, Extern, Visible, Weak, Common };

/// PTX fundamental types. `bits(type)` and the predicates below describe them.
enum class Type : uint8_t {
  None,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  U16x2,
  S16x2,
  Pred
};
int bits(Type type);
bool is_float(Type type);
bool is_signed(Type type);
/// The type a modifier or directive such as ".u32" (given without the dot) names; Type::None if it names none.
Type type_of(std::string_view name);
/// "u32"; empty for Type::None.
std::string_view name_of(Type type);

/// A module-scope or function-scope variable (.global, .const, .shared, .local, .param of a function call).
struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::None;  ///< of an element; None for textures, surfaces and samplers
  uint32_t vector = 1;     ///< elements of a .v2 or .v4
  bool is_array = false;
  Linkage linkage = Linkage::None;
  uint32_t line = 0;
  uint32_t align = 1;
  uint64_t bytes = 0;
  bool external = false;         ///< defined elsewhere; `.extern .shared x[]` is dynamic shared memory
  std::vector<uint8_t> initial;  ///< missing bytes at the end are zeros
  struct Relocation {
    uint64_t at;
    std::string symbol;
    int64_t addend;
    uint8_t bytes;
    uint8_t shift;  ///< which byte of the address, if `bytes` is 1: 0, 8, 16, ...
  };
  std::vector<Relocation> relocations;
  uint64_t offset = 0;  ///< in its space; set when the space is laid out
};

/// The elements of a vector register (.reg .v4 .f32 v) are registers of their own: v.x, v.y, v.z, v.w.
struct Register {
  std::string name;
  Type type = Type::None;
};

struct Operand {
  enum class Kind : uint8_t {
    None,
    Register,   ///< reg; value: what is added, `%r1+4`; text: the selector of a video instruction, `%r1.b0`
    Immediate,  ///< value (integers: two's complement; floats: their bits, see `is_float_literal`)
    Variable,   ///< address of variable + value
    Label,      ///< instruction index in value
    Function,   ///< name in text: a function's, or an undeclared one
    Special,    ///< %tid.x and the like: name in text, without the %
    Address,    ///< [elements[0] + value]; elements[1..]: the rest of the brackets (TMA coordinates)
    Vector,     ///< {elements}, or (elements) of a call
    Pair,       ///< elements[0] | elements[1]
    Sink,       ///< _
  };
  Kind kind = Kind::None;
  bool negated = false;           ///< !%p
  bool minus = false;             ///< -%r1
  bool has_offset = false;        ///< a register plus an offset
  bool is_indexed = false;        ///< a variable with an index, `x[2]`
  bool is_float_literal = false;  ///< 0f.. (value: 32 bits) or 0d.. / 1.5 (value: 64 bits)
  uint8_t literal_bits = 64;      ///< 32 for 0f
  bool is_list = false;           ///< a Vector in parentheses
  uint32_t reg = 0;               ///< index into Function::registers
  int64_t value = 0;
  const Variable* variable = nullptr;
  std::string text;
  std::vector<Operand> elements;
};

/// The position of an instruction in the CUDA source: `line` of `file`, and, if it was inlined, the chain of call
/// sites.
struct SourceLocation {
  uint32_t file = 0, line = 0;
  int32_t inlined_at = -1;  ///< index into Module::locations, or -1
};

struct Instruction {
  std::string opcode;                  ///< "cp", "mbarrier", "add": up to the first dot
  std::vector<std::string> modifiers;  ///< in order, without dots: "async", "bulk", ...; "::" kept
  uint32_t glued = 0;                  ///< number of modifiers that follow without a blank, as parts of the opcode must
  std::vector<Operand> operands;       ///< destinations first
  int32_t guard = -1;                  ///< predicate register, or -1
  bool guard_negated = false;
  uint32_t line = 0;      ///< of the PTX text, from 1
  int32_t location = -1;  ///< index into Module::locations
  bool has(std::string_view modifier) const;
  /// "add.s32" and so on, as in the text.
  std::string form() const;
};

struct BranchTargets {
  std::string name;
  std::vector<uint32_t> targets;  ///< instruction indices
};

/// The possible targets of a call through a pointer: `p: .callprototype (results) _ (parameters);`, or `t: .calltargets
/// f, g;`.
struct CallPrototype {
  std::string name;
  std::vector<Variable*> results, parameters;
  std::vector<std::string> targets;
  bool is_target_list = false;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::None;
  uint32_t line = 0;
  std::vector<Variable*> parameters;  ///< Space::Param, offsets laid out in order
  std::vector<Variable*> results;     ///< of a .func
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<Variable*> variables;  ///< local, shared and param variables declared in the body
  std::vector<BranchTargets> branch_targets;
  std::vector<CallPrototype> prototypes;
  uint32_t max_threads[3] = {0, 0, 0};       ///< .maxntid or .reqntid; 0: not given
  bool exact_threads = false;                ///< .reqntid
  uint32_t min_ctas = 0, max_registers = 0;  ///< .minnctapersm, .maxnreg
  bool explicit_cluster = false;
  uint32_t cluster[3] = {0, 0, 0};  ///< .reqnctapercluster
  /// Registers per thread, of `per_sm` of an SM, of a kernel whose warps exchange registers (setmaxnreg): with launch
  /// bounds, the compiler assigns each thread as many as fit. 0: the kernel has no launch bounds.
  uint32_t registers_to_share(uint32_t per_sm) const;
};

struct Module {
  std::string name;
  int version_major = 0, version_minor = 0;
  std::string target;          ///< "sm_100a"
  bool for_debugging = false;  ///< `.target sm_90a, debug`, of nvcc -G
  std::vector<std::pair<std::string, std::string>> aliases;
  std::unordered_map<uint32_t, std::string> files;
  std::vector<SourceLocation> locations;
  std::vector<std::unique_ptr<Variable>> variables;
  std::unordered_map<std::string, Variable*> globals;  ///< module scope, by name
  std::vector<std::unique_ptr<Function>> functions;
  std::unordered_map<std::string, Function*> function_index;  ///< by name: the one with a body, if there is one
  void add(std::unique_ptr<Function> function);
  Function* find(std::string_view name) const;
  /// The innermost line of a location, and the lines that call it; none without line information.
  std::vector<SourceLine> frames(int32_t location) const;
};

/// The text cannot be used at all: it is not PTX, or its declarations contradict one another.
struct SyntaxError {
  uint32_t line;
  std::string message;
};

/// Parses one PTX image: its grammar, declarations and names. rules/rules.h validates the instructions. Throws
/// SyntaxError.
std::unique_ptr<Module> parse(std::string_view text, std::string name);

}  // namespace sim::ptx
