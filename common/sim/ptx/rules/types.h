// The types that instructions name, and which registers and literals may stand for them.
#pragma once

#include <string>
#include <string_view>

#include "ptx/module.h"

namespace sim::ptx {

/// More than ptx::Type knows: instructions name formats that no register is declared with.
struct OperandType {
  enum class Class : uint8_t {
    Integer,    ///< u8 .. s64: registers of integers or bits
    Bits,       ///< b8 .. b128: any register of that size but a predicate
    Float,      ///< f16, f32, f64: registers of that type or of bits
    Pair,       ///< f16x2, u16x2: registers of 32 bits that hold bits or .f16x2
    Raw,        ///< bf16, f32x2, e4m3x2: registers of bits
    Plain,      ///< i16, i32, i64: registers of integers or bits, where .f16x2 does not pass for one of 32 bits
    Predicate,  ///< pred
  };
  std::string_view name;
  Class kind;
  uint8_t bits;
};

/// nullptr if `name` (without a dot) is no type.
const OperandType* find_operand_type(std::string_view name);

/// Does a register of this type fit? `relaxed`: loads, stores and conversions take wider registers too.
bool fits(const OperandType& type, Type reg, bool relaxed);

/// Does an integer or floating-point literal fit?
bool fits_literal(const OperandType& type, const Operand& literal);

/// "a register of 32 bits (.b32, .u32 or .s32)".
std::string describe(const OperandType& type, bool relaxed);

}  // namespace sim::ptx
