#include "arguments.h"

#include <charconv>
#include <cmath>
#include <set>
#include <span>
#include <string_view>

#include "failure.h"
#include "text.h"

namespace harness {
namespace {

/// The whole of `text` as a number of type T: no sign, no spaces, nothing after it.
template <typename T>
std::optional<T> number(std::string_view text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return {};
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return {};
  if (error == std::errc::result_out_of_range) throw std::out_of_range("number");
  return value;
}

int whole_number(const std::string& what, std::string_view text, std::int64_t max) {
  std::optional<std::int64_t> value;
  try {
    value = number<std::int64_t>(text);
  } catch (const std::out_of_range&) { value = max + 1; }
  if (!value) {
    throw usage_error(format("%s needs a positive whole number, not '%.*s'.", what.c_str(),
                             static_cast<int>(text.size()), text.data()));
  }
  if (*value < 1) throw usage_error(format("%s must be at least 1.", what.c_str()));
  if (*value > max) {
    throw usage_error(format("%s must be at most %lld, and %.*s is more.", what.c_str(), static_cast<long long>(max),
                             static_cast<int>(text.size()), text.data()));
  }
  return static_cast<int>(*value);
}

int extent(const std::string& what, std::string_view text) { return whole_number(what, text, MAX_EXTENT); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1)) {
    parts.push_back(text.substr(0, end));
  }
  parts.push_back(text);
  return parts;
}

/// The position of `text` among `names`.
template <typename Enum>
Enum choice(const char* flag, std::string_view text, std::span<const std::string_view> names) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
    list += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    list += names[i];
  }
  throw usage_error(
      format("%s must be %s, not '%.*s'.", flag, list.c_str(), static_cast<int>(text.size()), text.data()));
}

std::uint64_t seed_number(std::string_view text) {
  std::optional<std::uint64_t> value;
  try {
    value = number<std::uint64_t>(text);
  } catch (const std::out_of_range&) {}
  if (value) return *value;
  throw usage_error(format("--seed needs a whole number from 0 to 2^64 - 1, not '%.*s'.", static_cast<int>(text.size()),
                           text.data()));
}

double seconds(std::string_view text) {
  std::optional<double> value;
  try {
    value = number<double>(text);
  } catch (const std::out_of_range&) {}
  if (value && *value > 0 && *value <= 3600) return *value;
  throw usage_error(format("--budget needs a number of seconds above 0 and up to 3600, not '%.*s'.",
                           static_cast<int>(text.size()), text.data()));
}

std::string file_name(const char* flag, std::string_view text) {
  if (text.empty()) throw usage_error(format("%s needs the name of a file.", flag));
  return std::string(text);
}

struct Flag {
  std::string_view name;
  bool has_value;
  void (*apply)(Options&, std::string_view value);
};

constexpr Flag FLAGS[] = {
    {"--m", true, [](Options& o, std::string_view v) { o.m = extent("--m", v); }},
    {"--n", true, [](Options& o, std::string_view v) { o.n = extent("--n", v); }},
    {"--k", true, [](Options& o, std::string_view v) { o.k = extent("--k", v); }},
    {"--sizes", true, [](Options& o, std::string_view v) { o.sizes = parse_sizes(v); }},
    {"--config", true, [](Options& o, std::string_view v) { o.config = v; }},
    {"--verify", true, [](Options& o, std::string_view v) { o.verify = choice<Verify>("--verify", v, VERIFY_NAMES); }},
    {"--init", true, [](Options& o, std::string_view v) { o.init = parse_init(v); }},
    {"--seed", true, [](Options& o, std::string_view v) { o.seed = seed_number(v); }},
    {"--launches", true, [](Options& o, std::string_view v) { o.launches = whole_number("--launches", v, 1000); }},
    {"--digest", false, [](Options& o, std::string_view) { o.digest = true; }},
    {"--bench", false, [](Options& o, std::string_view) { o.bench = true; }},
    {"--burst", false, [](Options& o, std::string_view) { o.bench = o.burst = true; }},
    {"--apart", false, [](Options& o, std::string_view) { o.bench = o.apart = true; }},
    {"--rounds", true, [](Options& o, std::string_view v) { o.rounds = whole_number("--rounds", v, 1000); }},
    {"--budget", true, [](Options& o, std::string_view v) { o.budget_s = seconds(v); }},
    {"--json", true, [](Options& o, std::string_view v) { o.json = file_name("--json", v); }},
    {"--csv", true, [](Options& o, std::string_view v) { o.csv = file_name("--csv", v); }},
    {"--list-configs", false, [](Options& o, std::string_view) { o.action = Options::Action::list_configs; }},
    {"--list-choices", false, [](Options& o, std::string_view) { o.action = Options::Action::list_choices; }},
    {"--explain", false, [](Options& o, std::string_view) { o.action = Options::Action::explain; }},
    {"--version", false, [](Options& o, std::string_view) { o.action = Options::Action::version; }},
    {"--help", false, [](Options& o, std::string_view) { o.action = Options::Action::help; }},
    {"-h", false, [](Options& o, std::string_view) { o.action = Options::Action::help; }},
};

}  // namespace

std::vector<Shape> parse_sizes(std::string_view text) {
  std::vector<Shape> list;
  for (const std::string_view item : split(text, ',')) {
    const auto extents = split(item, 'x');
    if (extents.size() != 1 && extents.size() != 3) {
      throw usage_error(
          format("--sizes needs a list such as 4096,1024x512x2048, and '%.*s' is neither an edge nor MxNxK.",
                 static_cast<int>(item.size()), item.data()));
    }
    const auto get = [&](size_t i) { return extent("A size in --sizes", extents[extents.size() == 1 ? 0 : i]); };
    list.push_back({get(0), get(1), get(2)});
  }
  return list;
}

Init parse_init(std::string_view text) { return choice<Init>("--init", text, INIT_NAMES); }

Options parse_arguments(int argc, const char* const* argv) {
  Options options;
  std::set<std::string_view> seen;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string_view::npos;
    const std::string_view name = argument.substr(0, equals);
    const Flag* flag = nullptr;
    for (const Flag& f : FLAGS) {
      if (f.name == name) flag = &f;
    }
    if (flag == nullptr) {
      throw usage_error(format("There is no %s '%s': --help lists what there is.",
                               argument.starts_with('-') ? "option" : "argument", std::string(name).c_str()));
    }
    if (!seen.insert(flag->name).second) throw usage_error(format("%s is given twice.", std::string(name).c_str()));
    std::string_view value;
    if (equals != std::string_view::npos) {
      if (!flag->has_value) throw usage_error(format("%s takes no value.", std::string(name).c_str()));
      value = argument.substr(equals + 1);
    } else if (flag->has_value) {
      if (++i == argc) throw usage_error(format("%s needs a value.", std::string(name).c_str()));
      value = argv[i];
    }
    flag->apply(options, value);
  }
  if (!options.sizes.empty() && (options.m || options.n || options.k)) {
    throw usage_error("Give either --sizes or --m, --n and --k, not both.");
  }
  return options;
}

std::vector<Shape> shapes(const Options& options, int default_edge) {
  std::vector<Shape> list = options.sizes;
  if (list.empty()) {
    list.push_back(
        {options.m.value_or(default_edge), options.n.value_or(default_edge), options.k.value_or(default_edge)});
  }
  for (const Shape& shape : list) {
    require_legal(shape);
    if (options.action == Options::Action::run && options.verify != Verify::off)
      require_verifiable(shape, options.init);
  }
  return list;
}

std::string help_text(const std::string& program) {
  const Options defaults;
  return format(R"(%s [options]: D[M,N] = A[M,K] * B[N,K]^T, BF16 with FP32 accumulation

Problem
  --m M --n N --k K    one problem; default %d each, or %d on the simulated device.
                       N and K must be multiples of 8 (TMA: row pitches of 16 bytes)
  --sizes LIST         several problems: cubes and MxNxK, e.g. 4096,8192,1000x520x2048
  --init KIND          normal (default), uniform in [-1, 1), int (-2 to 2), zeros
  --seed S             of the inputs, default %llu: the same values on every machine
  --config NAME        one of --list-configs instead of the level's own choice; or all: each of them, timed in the
                       same rounds

Verification
  --verify MODE        full (default): every element; sample: some in FP64; off
  --launches N         launch the product N times in a row before D is verified: they may overlap if the level
                       permits it
  --digest             also print a 64-bit hash of D (FNV-1a over its rows, whatever the pitch)

Timing (on a GPU)
  --bench              time the level, cublasGemmEx and the best of cublasLt, interleaved
  --rounds R           default %d; every round gives one ratio, their median is reported
  --budget SECONDS     per problem, default %g
  --burst              also time short bursts on a cool chip: 0.5 s idle, then 8 ms of work
  --apart              also time calls with an event between them, so that no launch overlaps the one before

Results
  --csv FILE           append a row per problem
  --json FILE          append an object per problem, one on each line

About the level
  --explain            tile, shared-memory map, barriers and roles of a configuration; with --json of all of them, or of
                       one that is named: an object with constants and the order of tiles, too
  --list-configs       what --config accepts
  --list-choices       which of them the level chooses for each of --sizes
  --version  --help

Exit codes: 0 right, 1 wrong result, 2 usage or unsupported shape, 3 CUDA error, 77 no suitable device.
)",
                program.c_str(), DEFAULT_EDGE, DEFAULT_SIMULATED_EDGE, static_cast<unsigned long long>(defaults.seed),
                defaults.rounds, defaults.budget_s);
}

}  // namespace harness
