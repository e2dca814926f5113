#include "ptx/rules/types.h"

#include <algorithm>
#include <iterator>

namespace sim::ptx {
namespace {

using Class = OperandType::Class;

constexpr OperandType kTypes[] = {
    {"u8", Class::Integer, 8},   {"u16", Class::Integer, 16},    {"u32", Class::Integer, 32},
    {"u64", Class::Integer, 64}, {"s8", Class::Integer, 8},      {"s16", Class::Integer, 16},
    {"s32", Class::Integer, 32}, {"s64", Class::Integer, 64},    {"b8", Class::Bits, 8},
    {"b16", Class::Bits, 16},    {"b32", Class::Bits, 32},       {"b64", Class::Bits, 64},
    {"b128", Class::Bits, 128},  {"f16", Class::Float, 16},      {"f32", Class::Float, 32},
    {"f64", Class::Float, 64},   {"f16x2", Class::Pair, 32},     {"u16x2", Class::Pair, 32},
    {"s16x2", Class::Pair, 32},  {"bf16", Class::Raw, 16},       {"bf16x2", Class::Raw, 32},
    {"tf32", Class::Raw, 32},    {"f32x2", Class::Raw, 64},      {"e4m3x2", Class::Raw, 16},
    {"e5m2x2", Class::Raw, 16},  {"e2m3x2", Class::Raw, 16},     {"e3m2x2", Class::Raw, 16},
    {"e2m1x2", Class::Raw, 8},   {"ue8m0x2", Class::Raw, 16},    {"e4m3x4", Class::Raw, 32},
    {"e5m2x4", Class::Raw, 32},  {"e2m3x4", Class::Raw, 32},     {"e3m2x4", Class::Raw, 32},
    {"e2m1x4", Class::Raw, 16},  {"e4m3", Class::Raw, 8},        {"e5m2", Class::Raw, 8},
    {"e2m3", Class::Raw, 8},     {"e3m2", Class::Raw, 8},        {"e2m1", Class::Raw, 8},
    {"ue8m0", Class::Raw, 8},    {"ue4m3", Class::Raw, 8},       {"b1", Class::Raw, 1},
    {"u2", Class::Raw, 2},       {"s2", Class::Raw, 2},          {"u4", Class::Raw, 4},
    {"s4", Class::Raw, 4},       {"b4x16_p64", Class::Raw, 128}, {"b6x16_p32", Class::Raw, 128},
    {"b1024", Class::Raw, 0},    {"pred", Class::Predicate, 1},  {"b8x16", Class::Raw, 128},
    {"i16", Class::Plain, 16},   {"i32", Class::Plain, 32},      {"i64", Class::Plain, 64},
    {"bits32", Class::Raw, 32},
};

bool is_bits(Type type) { return type >= Type::B8 && type <= Type::B128; }
bool is_integer(Type type) { return type >= Type::U8 && type <= Type::S64; }

}  // namespace

const OperandType* find_operand_type(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const OperandType& type) { return type.name == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

bool fits(const OperandType& type, Type reg, bool relaxed) {
  const int has = bits(reg);
  const bool same = has == type.bits, wide_enough = relaxed ? has >= type.bits : same;
  switch (type.kind) {
    case Class::Predicate: return reg == Type::Pred;
    case Class::Integer: return (is_integer(reg) || is_bits(reg) || reg == Type::F16x2) && wide_enough;
    case Class::Bits: return reg != Type::Pred && wide_enough && (type.bits < 128 || is_bits(reg));
    case Class::Float: return (is_bits(reg) && wide_enough) || (same && name_of(reg) == type.name);
    case Class::Pair: return same && (is_bits(reg) || reg == Type::F16x2);
    case Class::Raw: return same && is_bits(reg);
    case Class::Plain: return same && (is_integer(reg) || is_bits(reg));
  }
  return false;
}

bool fits_literal(const OperandType& type, const Operand& literal) {
  switch (type.kind) {
    case Class::Integer:
    case Class::Predicate: return !literal.is_float_literal;
    case Class::Bits: return !literal.is_float_literal || (type.bits == literal.literal_bits);
    case Class::Float: return literal.is_float_literal && type.bits >= 32;
    case Class::Pair: return !literal.is_float_literal && type.name != "f16x2";
    case Class::Raw: return false;
    case Class::Plain: return !literal.is_float_literal;
  }
  return false;
}

std::string describe(const OperandType& type, bool relaxed) {
  const std::string size = std::to_string(type.bits);
  const std::string bit = relaxed ? ".b" + size + " or wider" : ".b" + size;
  switch (type.kind) {
    case Class::Predicate: return "a predicate register";
    case Class::Integer:
    case Class::Plain:
      return "an integer register of " + size + (relaxed ? " or more bits" : " bits") + " (" + bit + ", .u" + size +
             ", .s" + size + ")";
    case Class::Bits: return "a register of " + size + (relaxed ? " or more bits" : " bits") + " that is no predicate";
    case Class::Float:
      return "a register for ." + std::string(type.name) + " (" + bit + ", ." + std::string(type.name) + ")";
    case Class::Pair: return "a register of 32 bits for ." + std::string(type.name) + " (.b32)";
    case Class::Raw: return "a register for ." + std::string(type.name) + " (.b" + size + ")";
  }
  return "";
}

}  // namespace sim::ptx
