#include "ptx/module.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sim::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  Type type;
  int bits;
};
// In the order of the enumeration.
constexpr std::array<TypeRow, 29> kTypes{{
    {"", Type::None, 0},          {"b8", Type::B8, 8},          {"b16", Type::B16, 16},     {"b32", Type::B32, 32},
    {"b64", Type::B64, 64},       {"b128", Type::B128, 128},    {"u8", Type::U8, 8},        {"u16", Type::U16, 16},
    {"u32", Type::U32, 32},       {"u64", Type::U64, 64},       {"s8", Type::S8, 8},        {"s16", Type::S16, 16},
    {"s32", Type::S32, 32},       {"s64", Type::S64, 64},       {"f16", Type::F16, 16},     {"f16x2", Type::F16x2, 32},
    {"bf16", Type::BF16, 16},     {"bf16x2", Type::BF16x2, 32}, {"tf32", Type::TF32, 32},   {"f32", Type::F32, 32},
    {"f32x2", Type::F32x2, 64},   {"f64", Type::F64, 64},       {"e4m3", Type::E4M3, 8},    {"e5m2", Type::E5M2, 8},
    {"e4m3x2", Type::E4M3x2, 16}, {"e5m2x2", Type::E5M2x2, 16}, {"u16x2", Type::U16x2, 32}, {"s16x2", Type::S16x2, 32},
    {"pred", Type::Pred, 1},
}};
const TypeRow& row_of(Type type) { return kTypes[static_cast<size_t>(type)]; }
static_assert(kTypes[static_cast<size_t>(Type::Pred)].type == Type::Pred);

}  // namespace

int bits(Type type) { return row_of(type).bits; }

std::string_view name_of(Type type) { return row_of(type).name; }

std::string_view name_of(Space space) {
  switch (space) {
    case Space::Generic: return "generic";
    case Space::Register: return ".reg";
    case Space::Special: return ".sreg";
    case Space::Param: return ".param";
    case Space::Global: return ".global";
    case Space::Const: return ".const";
    case Space::Shared: return ".shared";
    case Space::Local: return ".local";
  }
  return "";
}

bool is_float(Type type) {
  switch (type) {
    case Type::F16:
    case Type::F16x2:
    case Type::BF16:
    case Type::BF16x2:
    case Type::TF32:
    case Type::F32:
    case Type::F32x2:
    case Type::F64:
    case Type::E4M3:
    case Type::E5M2:
    case Type::E4M3x2:
    case Type::E5M2x2: return true;
    default: return false;
  }
}

bool is_signed(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 || type == Type::S64 || type == Type::S16x2;
}

Type type_of(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (!row.name.empty() && row.name == name) return row.type;
  }
  return Type::None;
}

bool Instruction::has(std::string_view modifier) const {
  for (const std::string& candidate : modifiers) {
    if (candidate == modifier) return true;
  }
  return false;
}

std::string Instruction::form() const {
  std::string text = opcode;
  for (const std::string& modifier : modifiers) text += "." + modifier;
  return text;
}

void Module::add(std::unique_ptr<Function> function) {
  Function*& known = function_index[function->name];
  if (known == nullptr || function->has_body) known = function.get();
  functions.push_back(std::move(function));
}

uint32_t Function::registers_to_share(uint32_t per_sm) const {
  constexpr uint32_t unit = 8, most = 256;
  if (max_registers != 0) return max_registers;
  const uint32_t threads = max_threads[0] * max_threads[1] * max_threads[2];
  return threads == 0 ? 0 : std::min(per_sm / (threads * std::max(min_ctas, 1u)) / unit * unit, most);
}

Function* Module::find(std::string_view wanted) const {
  const auto found = function_index.find(std::string(wanted));
  return found == function_index.end() ? nullptr : found->second;
}

std::vector<SourceLine> Module::frames(int32_t location) const {
  std::vector<SourceLine> all;
  while (location >= 0) {
    const SourceLocation& at = locations[static_cast<size_t>(location)];
    const auto file = files.find(at.file);
    std::string path = file == files.end() ? "?" : file->second;
    // The last two parts say enough, whatever directory the program was compiled in.
    size_t cut = path.rfind('/');
    if (cut != std::string::npos && cut > 0) cut = path.rfind('/', cut - 1);
    if (cut != std::string::npos) path.erase(0, cut + 1);
    all.push_back({std::move(path), static_cast<uint32_t>(at.line)});
    location = at.inlined_at;
  }
  return all;
}

}  // namespace sim::ptx
