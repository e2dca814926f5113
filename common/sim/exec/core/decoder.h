// How the instruction families decode: each registers its opcodes with a function that turns a parsed instruction into
// an Op. The Decoder gives operands their slots.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "exec/core/op.h"
#include "exec/core/program.h"
#include "ptx/module.h"

namespace sim {

/// Thrown by a family that does not know a form. The instruction becomes a report when it is executed.
struct Unsupported {
  std::string reason;
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  const ptx::Instruction* in = nullptr;  ///< the instruction being decoded
  Op* op = nullptr;

  // ---- modifiers. A form is known only if every one of its modifiers is: whatever asks for a modifier, or says that
  // it may be ignored, takes note of it, and what is left over makes the instruction an unknown one.
  bool has(std::string_view modifier) const;
  /// The modifier at this place, "" if there is none.
  const std::string& modifier(size_t index) const;
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
  /// Modifiers that make no difference here. An entry that ends in `*` stands for all with that beginning.
  void ignore(std::initializer_list<std::string_view> names) const;
  /// A modifier that nobody has asked for; nullptr if there is none.
  const std::string* unknown_modifier() const;
  /// 1 for no vector modifier, else 2, 4, 8 (.v2 .v4 .v8).
  int vector_size() const;

  // ---- operands (index into in->operands)
  size_t count() const { return in->operands.size(); }
  const ptx::Operand& operand(size_t index) const;
  bool is_vector(size_t index) const { return operand(index).kind == ptx::Operand::Kind::Vector; }
  bool is_sink(const ptx::Operand& operand) const { return operand.kind == ptx::Operand::Kind::Sink; }

  /// Slot of a register, immediate, special register or variable's address, read as `type` (decides an immediate's
  /// width). Records the read.
  virtual int32_t source(const ptx::Operand& operand, ptx::Type type) = 0;
  /// Slot of a destination register; a scratch slot for `_`. Records the write.
  virtual int32_t destination(const ptx::Operand& operand, int bytes) = 0;
  int32_t source(size_t index, ptx::Type type) { return source(operand(index), type); }
  int32_t destination(size_t index, int bytes) { return destination(operand(index), bytes); }
  /// Predicate slots. A negated source gets a slot of its own, refreshed by `op->flags`; see control.cpp.
  virtual int32_t predicate_source(const ptx::Operand& operand, bool* negated) = 0;
  /// Bits of the register behind an operand; 0 if it is not a register.
  virtual int register_bits(const ptx::Operand& operand) const = 0;
  /// A compile-time integer; Unsupported if the operand is none.
  int64_t immediate(size_t index) const;
  bool is_immediate(size_t index) const { return operand(index).kind == ptx::Operand::Kind::Immediate; }
  /// The slot of a special register; of the carry, too, which instructions read and write.
  virtual int32_t special(const SpecialRegister& which) = 0;
  /// A slot holding a constant.
  virtual int32_t constant(uint64_t value, int bytes) = 0;
  /// A slot that nobody else uses.
  virtual int32_t scratch(int bytes) = 0;

  /// The address operand [reg + imm] or [variable + imm].
  struct Address {
    int32_t slot;  ///< base
    int64_t offset;
    bool wide;         ///< the slot holds 64-bit lanes, else 32-bit ones
    ptx::Space space;  ///< of the variable, if one was named; else Generic
  };
  virtual Address address(const ptx::Operand& operand) = 0;
  /// Is this one of the kernel's own parameters (and not an argument of a call, which lives in local memory)?
  virtual bool is_kernel_parameter(const ptx::Variable* variable) const = 0;
  /// Offset in local memory of a .local variable or of an argument of a call.
  virtual uint32_t local_offset(const ptx::Variable* variable) = 0;

  virtual OpExtra& extra() = 0;
  virtual Program& program() = 0;
  [[noreturn]] void unsupported(const std::string& reason) const { throw Unsupported{reason}; }

 protected:
  void forget_modifiers() { known_ = 0; }

 private:
  void know(size_t index) const { known_ |= uint64_t{1} << (index % 64); }
  mutable uint64_t known_ = 0;  // by index of the modifier
};

using Decode = void (*)(Decoder&);

/// The families, one file each. They fill in `op->run` and the operands.
void decode_arithmetic(Decoder&);
void decode_convert(Decoder&);
void decode_address(Decoder&);
void decode_memory(Decoder&);
void decode_control(Decoder&);
void decode_warp(Decoder&);
void decode_barrier(Decoder&);
void decode_mbarrier(Decoder&);
void decode_bulk(Decoder&);
void decode_tcgen05(Decoder&);
void decode_wgmma(Decoder&);
void decode_mma(Decoder&);
void decode_wmma(Decoder&);

/// The family of an opcode; nullptr if nobody knows it.
Decode family_of(std::string_view opcode, const ptx::Instruction& instruction);

}  // namespace sim
