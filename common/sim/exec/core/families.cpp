// Finds the family of an instruction.
#include "exec/core/families.h"

#include <unordered_map>

namespace sim {
namespace {

struct Line {
  const Family* family;
  Decode decode;
  Manner manner;
  std::vector<std::string_view> words;  // after the opcode
};

const std::unordered_map<std::string_view, std::vector<Line>>& lines_by_opcode() {
  static const auto lines = [] {
    std::unordered_map<std::string_view, std::vector<Line>> map;
    for (const Family* family : families::kAll) {
      for (const Mnemonic& mnemonic : family->mnemonics) {
        Line line{family, mnemonic.decode, mnemonic.manner.value_or(family->manner), {}};
        std::string_view rest = mnemonic.name;
        const auto word = [&] {
          const size_t dot = rest.find('.');
          const std::string_view first = rest.substr(0, dot);
          rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
          return first;
        };
        const std::string_view opcode = word();
        while (!rest.empty()) line.words.push_back(word());
        map[opcode].push_back(std::move(line));
      }
    }
    return map;
  }();
  return lines;
}

Types types_of(ptx::Type type) {
  switch (type) {
    case ptx::Type::F16:
    case ptx::Type::F16x2:
    case ptx::Type::BF16:
    case ptx::Type::BF16x2: return Types::Half;
    case ptx::Type::F32:
    case ptx::Type::F32x2:
    case ptx::Type::F64: return Types::Real;
    case ptx::Type::Pred: return Types::Predicate;
    default: return Types::Integer;
  }
}

/// Whether these words occur among the modifiers in this order.
bool fits(const std::vector<std::string_view>& words, const std::vector<std::string>& modifiers) {
  size_t found = 0;
  for (const std::string& modifier : modifiers) {
    if (found < words.size() && modifier == words[found]) ++found;
  }
  return found == words.size();
}

/// Features of the ISA that this device lacks, each with a name for messages. The words occur among the modifiers.
struct Missing {
  std::string_view opcode, words, what;  ///< `what`: in the plural
};
constexpr Missing kMissing[] = {
    {"mma", "block_scale", "products with scaled blocks"},
    {"tcgen05", "mma.ashift", "products with shifted rows of A (tcgen05.mma .ashift)"},
    {"tcgen05", "mma.ws.sp", "products of a sparse A with B at rest (tcgen05.mma.ws.sp)"},
    {"multimem", "", "accesses to multicast memory (multimem)"},
    {"tex", "", "textures"},
    {"tld4", "", "textures"},
    {"txq", "", "textures"},
    {"suld", "", "surfaces"},
    {"sust", "", "surfaces"},
    {"sured", "", "surfaces"},
    {"suq", "", "surfaces"},
};

/// Throws Fault if the instruction needs one of these features.
void refuse_missing(const Decoder& d) {
  for (const Missing& missing : kMissing) {
    if (d.in->opcode != missing.opcode) continue;
    std::vector<std::string_view> words;
    for (std::string_view rest = missing.words; !rest.empty();) {
      const size_t dot = rest.find('.');
      words.push_back(rest.substr(0, dot));
      rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    if (fits(words, d.in->modifiers)) d.unsupported(faults::not_simulated, {std::string(missing.what)});
  }
}

/// The line with the most words of those that apply; nullptr if there is none.
const Line* best_of(const std::vector<Line>& lines, const ptx::Instruction& in, auto is_of_type) {
  const Line* best = nullptr;
  for (const Line& line : lines) {
    if (!is_of_type(line.family->types)) continue;
    if (best != nullptr && best->words.size() >= line.words.size()) continue;
    if (fits(line.words, in.modifiers)) best = &line;
  }
  return best;
}

}  // namespace

void decode_instruction(Decoder& d) {
  refuse_missing(d);
  const auto known = lines_by_opcode().find(d.in->opcode);
  if (known == lines_by_opcode().end()) d.unsupported(faults::unknown_opcode);
  const Line* const best = best_of(
      known->second, *d.in, [&](Types types) { return types == Types::Any || types == types_of(d.last_type()); });
  if (best == nullptr) d.unsupported(faults::unknown_form);
  d.ignore(best->words);
  d.ignore(best->family->ignored);
  best->decode(d);
  d.op->pure |= best->family->pure;
  d.op->touches_pending |= best->family->touches_pending;
}

Manner manner_of(const ptx::Instruction& in) {
  const auto known = lines_by_opcode().find(in.opcode);
  if (known == lines_by_opcode().end()) return {};
  const Line* const best = best_of(known->second, in, [](Types) { return true; });
  return best == nullptr ? Manner() : best->manner;
}

}  // namespace sim
