#include "exec/core/decoder.h"

#include <algorithm>

namespace sim {

bool Decoder::has(std::string_view modifier) const {
  for (size_t i = 0; i < in->modifiers.size(); ++i) {
    if (in->modifiers[i] != modifier) continue;
    know(i);
    return true;
  }
  return false;
}

int Decoder::which(std::initializer_list<std::string_view> names) const {
  int found = -1, index = 0;
  for (const std::string_view name : names) {
    if (has(name)) found = index;
    ++index;
  }
  return found;
}

ptx::Type Decoder::type(int skip) const {
  for (size_t i = 0; i < in->modifiers.size(); ++i) {
    const ptx::Type found = ptx::type_of(in->modifiers[i]);
    if (found == ptx::Type::None || skip-- > 0) continue;
    know(i);
    return found;
  }
  return ptx::Type::None;
}

ptx::Type Decoder::last_type() const {
  for (size_t i = in->modifiers.size(); i-- > 0;) {
    const ptx::Type found = ptx::type_of(in->modifiers[i]);
    if (found == ptx::Type::None) continue;
    know(i);
    return found;
  }
  return ptx::Type::None;
}

void Decoder::ignore(std::span<const std::string_view> names) const {
  for_modifiers([&](std::string_view modifier) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return name.ends_with('*') ? modifier.starts_with(name.substr(0, name.size() - 1)) : modifier == name;
    });
  });
}

const std::string* Decoder::unknown_modifier() const {
  for (size_t i = 0; i < in->modifiers.size(); ++i) {
    if (!(known_ >> (i % 64) & 1)) return &in->modifiers[i];
  }
  return nullptr;
}

int Decoder::vector_size() const {
  const int found = which({"v2", "v4", "v8"});
  return found < 0 ? 1 : 2 << found;
}

const ptx::Operand& Decoder::operand(size_t index) const {
  if (index >= in->operands.size()) unsupported(faults::operand_missing);
  return in->operands[index];
}

std::span<const ptx::Operand> Decoder::elements(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::Vector) return operand.elements;
  return {&operand, 1};
}

const ptx::Operand& Decoder::inside(const ptx::Operand& address, size_t index) const {
  if (index >= address.elements.size()) unsupported(faults::other_operands);
  return address.elements[index];
}

std::vector<int32_t> Decoder::sources(const ptx::Operand& operand, ptx::Type type) {
  std::vector<int32_t> slots;
  for (const ptx::Operand& each : elements(operand)) slots.push_back(source(each, type));
  return slots;
}

std::vector<int32_t> Decoder::destinations(const ptx::Operand& operand, int bytes) {
  std::vector<int32_t> slots;
  for (const ptx::Operand& each : elements(operand)) slots.push_back(destination(each, bytes));
  return slots;
}

int64_t Decoder::immediate(size_t index) const {
  if (!is_immediate(index)) unsupported(faults::constant_required, {index + 1});
  return operand(index).value;
}

Address Decoder::wide_address(const ptx::Operand& operand) {
  const Address found = address(operand);
  if (!found.wide) unsupported(faults::wide_address_required);
  return found;
}

const ptx::Variable* Decoder::variable_of(const ptx::Operand& address) {
  const ptx::Operand& base = address.kind == ptx::Operand::Kind::Address ? address.elements[0] : address;
  return base.kind == ptx::Operand::Kind::Variable ? base.variable : nullptr;
}

}  // namespace sim
