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

const std::string& Decoder::modifier(size_t index) const {
  static const std::string none;
  if (index >= in->modifiers.size()) return none;
  know(index);
  return in->modifiers[index];
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

void Decoder::ignore(std::initializer_list<std::string_view> names) const {
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
  if (has("v2")) return 2;
  if (has("v4")) return 4;
  if (has("v8")) return 8;
  return 1;
}

const ptx::Operand& Decoder::operand(size_t index) const {
  if (index >= in->operands.size()) unsupported("an operand is missing");
  return in->operands[index];
}

int64_t Decoder::immediate(size_t index) const {
  if (!is_immediate(index))
    unsupported("operand " + std::to_string(index + 1) + " must be a number known when compiling");
  return operand(index).value;
}

}  // namespace sim
