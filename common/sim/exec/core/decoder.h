// Decoding of instructions. Every file of a family has a table of mnemonics, each with the function that decodes such
// an instruction into an Op; the Decoder assigns slots to operands.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/core/op.h"
#include "exec/core/program.h"
#include "ptx/module.h"
#include "report/faults.h"

namespace sim {

class Decoder {
 public:
  virtual ~Decoder() = default;

  const ptx::Instruction* in = nullptr;  ///< the instruction being decoded
  Op* op = nullptr;

  // ---- modifiers. Each function below marks the modifiers that it queries or ignores as known. A form with a modifier
  // that remains unmarked is unknown.
  bool has(std::string_view modifier) const;
  /// The index in `names` of the instruction's modifier; -1 if it has none of them. Of several, the last one counts.
  int which(std::initializer_list<std::string_view> names) const;
  /// The same, as a value; throws `otherwise` if it has none.
  template <class T, size_t N>
  T one_of(const std::pair<std::string_view, T> (&names)[N], const FaultText& otherwise) const {
    for (const auto& [name, value] : names) {
      if (has(name)) return value;
    }
    unsupported(otherwise);
  }
  /// The first type among the modifiers, from `skip` on (cvt has two); Type::None if there is none.
  ptx::Type type(int skip = 0) const;
  /// The last type among the modifiers.
  ptx::Type last_type() const;
  /// Calls f(modifier); those for which it returns true are known.
  template <class F>
  void for_modifiers(F f) const {
    for (size_t i = 0; i < in->modifiers.size(); ++i) {
      if (f(in->modifiers[i])) know(i);
    }
  }
  /// Modifiers without effect here. An entry that ends in `*` stands for all modifiers with that prefix.
  void ignore(std::span<const std::string_view> names) const;
  void ignore(std::initializer_list<std::string_view> names) const {
    ignore(std::span<const std::string_view>(names.begin(), names.size()));
  }
  /// A modifier that the decoder has not read; nullptr if there is none.
  const std::string* unknown_modifier() const;
  /// 1 for no vector modifier, else 2, 4, 8 (.v2 .v4 .v8).
  int vector_size() const;

  // ---- operands (index into in->operands)
  size_t count() const { return in->operands.size(); }
  const ptx::Operand& operand(size_t index) const;
  bool is_vector(size_t index) const { return operand(index).kind == ptx::Operand::Kind::Vector; }
  static bool is_sink(const ptx::Operand& operand) { return operand.kind == ptx::Operand::Kind::Sink; }
  /// The elements of {a, b, ...}; for any other operand, the operand itself.
  static std::span<const ptx::Operand> elements(const ptx::Operand& operand);
  /// Operand `index` in the brackets of [a, b, ...]; throws Fault if there is none.
  const ptx::Operand& inside(const ptx::Operand& address, size_t index) const;

  /// Slot of a register, immediate, special register or variable's address, read as `type` (decides an immediate's
  /// width). Records the read.
  virtual int32_t source(const ptx::Operand& operand, ptx::Type type) = 0;
  /// Slot of a destination register; a scratch slot for `_`. Records the write.
  virtual int32_t destination(const ptx::Operand& operand, int bytes) = 0;
  int32_t source(size_t index, ptx::Type type) { return source(operand(index), type); }
  int32_t destination(size_t index, int bytes) { return destination(operand(index), bytes); }
  /// Slots of a vector's elements, or of the one operand.
  std::vector<int32_t> sources(const ptx::Operand& operand, ptx::Type type);
  std::vector<int32_t> destinations(const ptx::Operand& operand, int bytes);
  /// -1 for `_`.
  int32_t destination_if_any(const ptx::Operand& operand, int bytes) {
    return is_sink(operand) ? -1 : destination(operand, bytes);
  }
  /// A predicate, !predicate, or a constant one.
  virtual PredicateOperand predicate_source(const ptx::Operand& operand) = 0;
  /// Bits of the register behind an operand; 0 if it is not a register.
  virtual int register_bits(const ptx::Operand& operand) const = 0;
  /// A compile-time integer; throws Fault if the operand is not one.
  int64_t immediate(size_t index) const;
  bool is_immediate(size_t index) const { return operand(index).kind == ptx::Operand::Kind::Immediate; }
  /// The slot of a special register, or of the carry, which instructions read and write.
  virtual int32_t special(const SpecialRegister& which) = 0;
  /// A slot holding a constant.
  virtual int32_t constant(uint64_t value, int bytes) = 0;
  /// A slot that no other operand shares.
  virtual int32_t scratch(int bytes) = 0;

  /// The address operand [reg + imm] or [variable + imm].
  virtual Address address(const ptx::Operand& operand) = 0;
  Address address(size_t index) { return address(operand(index)); }
  /// A 64-bit address, as global memory requires; throws Fault if it is narrower.
  Address wide_address(const ptx::Operand& operand);
  /// The variable that an address names; nullptr if the address is in a register.
  static const ptx::Variable* variable_of(const ptx::Operand& address);
  /// Whether this is one of the kernel's own parameters, not an argument of a call, which is in local memory.
  virtual bool is_kernel_parameter(const ptx::Variable* variable) const = 0;
  /// Offset in local memory of a .local variable or of an argument of a call.
  virtual uint32_t local_offset(const ptx::Variable* variable) = 0;
  /// The table of branch targets with this name; nullptr if there is none.
  virtual const ptx::BranchTargets* branch_targets(std::string_view name) const = 0;

  // ---- results
  /// Makes F with these operands the op's handler.
  template <auto F>
  void emit(OperandsOf<F> operands) {
    emit(execution<F>, std::move(operands));
  }
  template <class T>
  void emit(Execution<T> how, T operands) {
    op->run = how.run;
    if constexpr (kFitsOp<T>) {
      static_assert(alignof(T) <= 8);
      std::memcpy(op->operands, &operands, sizeof operands);
    } else {
      auto kept = std::make_shared<const T>(std::move(operands));
      const T* const at = kept.get();
      std::memcpy(op->operands, &at, sizeof at);
      program().operands.push_back(std::move(kept));
    }
  }
  /// The registers that the instruction names so far.
  virtual RegisterUse& uses() = 0;
  virtual Program& program() = 0;
  /// Throws for an unknown form. The instruction is reported when it is executed.
  [[noreturn]] void unsupported(const FaultText& reason, std::vector<Detail> details = {}) const {
    throw Fault{reason, std::move(details)};
  }

 protected:
  void forget_modifiers() { known_ = 0; }

 private:
  void know(size_t index) const { known_ |= uint64_t{1} << (index % 64); }
  mutable uint64_t known_ = 0;  // by index of the modifier
};

using Decode = void (*)(Decoder&);

/// One line of a family's table: the opcode and the modifiers that identify an instruction, in order. Other modifiers
/// may stand between them. Of several lines that match, the one with the most words is chosen.
struct Mnemonic {
  std::string_view name;  ///< "cp.async.bulk.tensor.global.shared::cta"
  Decode decode;
  std::optional<Manner> manner = {};  ///< otherwise the family's
};

/// The last type of an instruction, where the decoder depends on it.
enum class Types : uint8_t { Any, Integer, Real, Half, Predicate };

/// The instructions that one file implements.
struct Family {
  std::span<const Mnemonic> mnemonics;
  std::span<const std::string_view> ignored = {};  ///< modifiers without effect on any of them
  Types types = Types::Any;
  bool pure = false, touches_pending = false;  ///< Op::pure, Op::touches_pending of all of them
  Manner manner = {};
};

/// Decodes the decoder's current instruction. Throws Fault.
void decode_instruction(Decoder& d);
/// What the instruction's mnemonic says.
Manner manner_of(const ptx::Instruction& instruction);

}  // namespace sim
