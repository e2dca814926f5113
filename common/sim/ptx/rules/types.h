// The types that instructions name, and the registers and literals that match them.
#pragma once

#include <string>
#include <string_view>

#include "ptx/module.h"

namespace sim::ptx {

/// More types than ptx::Type has: instructions name formats with which no register can be declared.
struct OperandType {
  enum class Class : uint8_t {
    Integer,    ///< u8 .. s64: registers of integers or bits
    Bits,       ///< b8 .. b128: any register of that size except a predicate
    Float,      ///< f16, f32, f64: registers of that type or of bits
    Pair,       ///< f16x2, u16x2: registers of 32 bits that hold bits or .f16x2
    Raw,        ///< bf16, f32x2, e4m3x2: registers of bits
    Plain,      ///< i16, i32, i64: registers of integers or bits, but not .f16x2
    Predicate,  ///< pred
  };
  std::string_view name;
  Class kind;
  uint8_t bits;
};

/// The type of this name (without a dot); nullptr if there is none.
const OperandType* find_operand_type(std::string_view name);

/// Whether a register of this type matches. `relaxed`: loads, stores and conversions also take wider registers.
bool fits(const OperandType& type, Type reg, bool relaxed);

/// Whether an integer or floating-point literal matches.
bool fits_literal(const OperandType& type, const Operand& literal);

/// "a register of 32 bits (.b32, .u32 or .s32)".
std::string describe(const OperandType& type, bool relaxed);

}  // namespace sim::ptx
