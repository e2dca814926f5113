#include "ptx/rules/notation.h"

#include <charconv>
#include <stdexcept>
#include <utility>

namespace sim::ptx {
namespace {

/// Lists of modifiers that many instructions share, by name.
constexpr std::pair<std::string_view, std::string_view> kLists[] = {
    {"int", "u16|u32|u64|s16|s32|s64"},
    {"signed_cmp", "eq|ne|lt|le|gt|ge"},
    {"unsigned_cmp", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"},
    {"float_cmp", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"bool", "and|or|xor"},
    {"round", "rn|rz|rm|rp"},
    {"rounding_integer", "rni|rzi|rmi|rpi"},
    {"scope", "cta|cluster|gpu|sys"},
    {"shared", "shared|shared::cta|shared::cluster"},
    {"own_shared", "shared|shared::cta"},
    {"value", "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"small_value", "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"evict1", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"},
    {"evict2", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"prefetch", "L2::64B|L2::128B|L2::256B"},
};

[[noreturn]] void mistake(const Row& row, const std::string& what) {
  throw std::logic_error("signature '" + std::string(row.opcode) + " " + std::string(row.modifiers) + " " +
                         std::string(row.operands) + "': " + what);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int64_t number(const Row& row, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    mistake(row, "'" + std::string(text) + "' is no number");
  return value;
}

/// "8..256/8"
CountRange parse_between(const Row& row, std::string_view text) {
  CountRange range;
  range.kind = CountRange::Kind::Between;
  if (text.ends_with("^2")) {
    range.kind = CountRange::Kind::PowersOfTwo;
    text.remove_suffix(2);
  }
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    range.multiple = number(row, text.substr(slash + 1));
    text = text.substr(0, slash);
  }
  if (text.empty()) {
    range.low = kAnyNumber;
    range.high = std::numeric_limits<int64_t>::max();
    return range;
  }
  const size_t dots = text.find("..");
  range.low = number(row, text.substr(0, dots));
  range.high = dots == std::string_view::npos ? range.low : number(row, text.substr(dots + 2));
  return range;
}

// ---- modifiers

/// The names that `text` stands for: itself, a list, or what it counts.
void add_names(const Row& row, std::string_view text, std::vector<std::string>& names) {
  if (text.starts_with('$')) {
    for (const auto& [name, list] : kLists) {
      if (name != text.substr(1)) continue;
      for (const std::string_view each : split(list, '|')) names.emplace_back(each);
      return;
    }
    mistake(row, "there is no list '" + std::string(text) + "'");
  }
  const size_t open = text.find('(');
  if (open == std::string_view::npos) {
    names.emplace_back(text);
    return;
  }
  const size_t close = text.find(')', open);
  const CountRange range = parse_between(row, text.substr(open + 1, close - open - 1));
  for (int64_t i = range.low; i <= range.high; i += range.multiple)
    names.push_back(std::string(text.substr(0, open)) + std::to_string(i) + std::string(text.substr(close + 1)));
}

void parse_modifiers(const Row& row, Signature& signature) {
  std::string_view text = row.modifiers;
  int bracket = -1;
  while (!text.empty()) {
    if (text[0] == '[') {
      bracket = signature.brackets++;
      text.remove_prefix(1);
    } else if (text[0] == ']') {
      bracket = -1;
      text.remove_prefix(1);
    } else if (text.starts_with(".{")) {
      const size_t end = text.find('}');
      if (end == std::string_view::npos) mistake(row, "a '{' is never closed");
      ModifierGroup group;
      for (const std::string_view each : split(text.substr(2, end - 2), '|')) add_names(row, each, group.names);
      group.bracket = bracket;
      signature.groups.push_back(std::move(group));
      text.remove_prefix(end + 1);
    } else if (text.starts_with(".=")) {
      ModifierGroup group = signature.groups.back();
      group.repeats = true;
      signature.groups.push_back(std::move(group));
      text.remove_prefix(2);
    } else if (text[0] == '.') {
      size_t end = std::min(text.find_first_of(".[](", 1), text.size());
      if (end < text.size() && text[end] == '(') {  // a count may hold dots
        end = text.find(')', end);
        end = std::min(text.find_first_of(".[]", end), text.size());
      }
      ModifierGroup group;
      add_names(row, text.substr(1, end - 1), group.names);
      group.bracket = bracket;
      signature.groups.push_back(std::move(group));
      text.remove_prefix(end);
    } else {
      mistake(row, "'" + std::string(text) + "' is not a modifier");
    }
  }
  for (ModifierGroup& group : signature.groups) group.is_type = find_operand_type(group.names.front()) != nullptr;
}

// ---- operands
class OperandReader {
 public:
  explicit OperandReader(const Row& row) : row_(row), text_(row.operands) {}

  std::vector<OperandPattern> run() {
    std::vector<OperandPattern> operands;
    skip_blanks();
    while (!text_.empty()) {
      operands.push_back(operand());
      skip_blanks();
      if (!text_.empty()) expect(',');
      skip_blanks();
    }
    return operands;
  }

 private:
  void skip_blanks() {
    while (!text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
  }
  bool accept(std::string_view what) {
    if (!text_.starts_with(what)) return false;
    text_.remove_prefix(what.size());
    return true;
  }
  void expect(char c) {
    if (!accept(std::string_view(&c, 1)))
      mistake(row_, std::string("'") + c + "' is missing at '" + std::string(text_) + "'");
  }
  std::string_view until(std::string_view stops) {
    const size_t end = std::min(text_.find_first_of(stops), text_.size());
    const std::string_view part = text_.substr(0, end);
    text_.remove_prefix(end);
    return part;
  }

  OperandPattern operand() {
    const bool optional = accept("?");
    OperandPattern pattern = core();
    skip_blanks();
    if (accept("or ")) pattern.other.push_back(core());
    pattern.optional = optional;
    if (accept("<")) {
      pattern.name = until(">");
      expect('>');
    }
    if (accept("@")) {
      for (const std::string_view each : split(until(", "), '|')) pattern.conditions.emplace_back(each);
    }
    return pattern;
  }

  OperandPattern core() {
    if (accept("[")) return address();
    if (text_.starts_with("={") || text_.starts_with("{")) return vector();
    OperandPattern first = value();
    const bool optional = accept("[|");
    if (!optional && !accept("|")) return first;
    OperandPattern pair;
    pair.kind = OperandPattern::Kind::Pair;
    pair.second_optional = optional;
    pair.more.push_back(std::move(first));
    pair.more.push_back(value());
    if (optional) expect(']');
    return pair;
  }

  OperandPattern address() {
    OperandPattern pattern;
    pattern.kind = OperandPattern::Kind::Address;
    pattern.space = until("~,]");
    pattern.relaxed = accept("~");
    while (accept(",")) {
      skip_blanks();
      pattern.more.push_back(core());
    }
    expect(']');
    return pattern;
  }

  OperandPattern vector() {
    const bool is_result = accept("=");
    expect('{');
    const Count count = parse_count(until(" }"));
    skip_blanks();
    OperandPattern pattern = text_.starts_with("}") ? OperandPattern{} : value();
    pattern.kind = OperandPattern::Kind::Vector;
    pattern.count = count;
    pattern.is_result = is_result;
    expect('}');
    return pattern;
  }

  Count parse_count(std::string_view text) {
    Count count;
    if (text == "pack") {
      count.variable = 'p';
      return count;
    }
    const size_t letter = text.find_first_of("vxdn");
    if (letter == std::string_view::npos) {
      count.factor = static_cast<int>(number(row_, text));
      return count;
    }
    count.variable = text[letter];
    if (letter > 0) count.factor = static_cast<int>(number(row_, text.substr(0, letter)));
    const std::string_view rest = text.substr(letter + 1);
    if (rest.starts_with("/")) count.divisor = static_cast<int>(number(row_, rest.substr(1)));
    if (rest.starts_with("-")) count.offset = -static_cast<int>(number(row_, rest.substr(1)));
    return count;
  }

  OperandPattern value() {
    OperandPattern pattern;
    for (; !text_.empty(); text_.remove_prefix(1)) {
      switch (text_[0]) {
        case '=': pattern.is_result = true; continue;
        case '_': pattern.may_discard = true; continue;
        case '%': pattern.register_only = true; continue;
        case '#': pattern.literal_only = true; continue;
        case '~': pattern.relaxed = true; continue;
        case '!': pattern.may_negate = true; continue;
        case '&': pattern.like_mov = true; continue;
        case '.': pattern.may_select = true; continue;
        case '-': pattern.may_minus = true; continue;
        case '^': pattern.symbol = true; continue;
        case '*': pattern.by_vector = true; continue;
        default: break;
      }
      break;
    }
    const std::string_view name = until(",:|@[]}< ");
    if (name == "sink") {
      pattern.kind = OperandPattern::Kind::Sink;
    } else if (name == "label") {
      pattern.kind = OperandPattern::Kind::Label;
    } else if (name == "targets") {
      pattern.kind = OperandPattern::Kind::Targets;
    } else if (name == "function") {
      pattern.kind = OperandPattern::Kind::Function;
    } else if (const OperandType* const type = find_operand_type(name)) {
      pattern.type = type;
    } else {
      pattern.doubled = name.starts_with('w');
      pattern.type_index = static_cast<int>(number(row_, pattern.doubled ? name.substr(1) : name));
    }
    if (accept(":")) pattern.range = range();
    return pattern;
  }

  CountRange range() {
    if (!accept("{")) return parse_between(row_, until(", ]}|@<"));
    CountRange list;
    list.kind = CountRange::Kind::List;
    for (const std::string_view each : split(until("}"), '|')) list.values.push_back(number(row_, each));
    expect('}');
    return list;
  }

  const Row& row_;
  std::string_view text_;
};

/// "sm_90", "sm_90a", "sm_100f"
Target parse_target_name(std::string_view text) {
  Target target;
  const char* const first = text.data() + 3;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), target.arch);
  if (error == std::errc() && end != text.data() + text.size()) target.variant = *end;
  return target;
}

/// Architectures that share the features of a family.
int family_of(int arch) { return arch / 10 * 10 + (arch / 10 == 10 && arch % 10 == 1 ? 10 : 0); }

}  // namespace

Needs parse_needs(std::string_view text) {
  Needs needs;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (word.starts_with("sm_")) {
      for (const std::string_view target : split(word, ',')) needs.targets.push_back(parse_target_name(target));
    } else {
      const size_t dot = word.find('.');
      int major = 0, minor = 0;
      std::from_chars(word.data(), word.data() + dot, major);
      std::from_chars(word.data() + dot + 1, word.data() + word.size(), minor);
      needs.version = 10 * major + minor;
    }
  }
  return needs;
}

bool runs_on(const Target& target, const std::vector<Target>& wanted) {
  if (wanted.empty()) return true;
  for (const Target& each : wanted) {
    const bool has = each.variant == 'a'   ? target.variant == 'a' && target.arch == each.arch
                     : each.variant == 'f' ? target.variant != ' ' && target.arch >= each.arch &&
                                                 family_of(target.arch) == family_of(each.arch)
                                           : target.arch >= each.arch;
    if (has) return true;
  }
  return false;
}

std::string describe(const Target& target) {
  std::string text = "sm_" + std::to_string(target.arch);
  if (target.variant != ' ') text += target.variant;
  return text;
}

std::string describe(const std::vector<Target>& wanted) {
  std::string text;
  for (const Target& each : wanted) {
    text += (text.empty() ? "" : " or ") + describe(each);
    if (each.variant == ' ') text += " and newer ones";
    if (each.variant == 'f') text += " and its family";
  }
  return text;
}

Signature parse_signature(const Row& row) {
  Signature signature;
  signature.row = &row;
  parse_modifiers(row, signature);
  signature.operands = OperandReader(row).run();
  signature.needs = parse_needs(row.needs);
  return signature;
}

}  // namespace sim::ptx
