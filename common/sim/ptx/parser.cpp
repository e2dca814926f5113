// Module scope: the header, declarations, functions.
#include <algorithm>
#include <charconv>
#include <optional>

#include "ptx/body.h"
#include "ptx/declarations.h"
#include "ptx/tokens.h"

namespace sim::ptx {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string name) : tokens_(text), module_(std::make_unique<Module>()) {
    module_->name = std::move(name);
  }

  std::unique_ptr<Module> run() {
    header();
    while (!tokens_.at_end()) declaration();
    return std::move(module_);
  }

 private:
  using Kind = Token::Kind;

  void header() {
    if (!tokens_.accept_dotted(".version")) tokens_.require("'.version' at the start of the text");
    version();
    if (!tokens_.is_dotted(".target")) tokens_.require("'.target' behind the version");
    while (tokens_.accept_dotted(".target")) target();
    if (!tokens_.accept_dotted(".address_size")) return;
    const uint64_t bits = tokens_.number("the size of an address");
    if (bits != 64) tokens_.fail(".address_size must be 64: these GPUs have no other");
  }

  // "9.0" reads as a real number.
  void version() {
    const Token& number = tokens_.peek();
    const size_t dot = number.text.find('.');
    const char* const end = number.text.data() + number.text.size();
    if (!tokens_.is(Kind::Float) || number.float_bits != 64 || dot == std::string_view::npos || dot == 0 ||
        std::from_chars(number.text.data(), end, module_->version_major).ec != std::errc() ||
        std::from_chars(number.text.data() + dot + 1, end, module_->version_minor).ec != std::errc())
      tokens_.require("a version such as 9.0");
    tokens_.take();
  }

  void target() {
    std::string architecture;
    do {
      const std::string_view word = tokens_.name("a target, such as sm_100a,");
      if (word.starts_with("sm_") || word.starts_with("compute_")) {
        architecture = word;
      } else if (word == "debug") {
        module_->for_debugging = true;
      } else if (word != "texmode_unified" && word != "texmode_independent" && word != "map_f64_to_f32") {
        tokens_.fail("'" + std::string(word) + "' is not a target");
      }
    } while (tokens_.accept(","));
    if (architecture.empty()) tokens_.fail("the target names no architecture, such as sm_100a");
    if (module_->target.empty()) module_->target = architecture;
  }

  void declaration() {
    const std::string_view directive = tokens_.dotted("a directive, such as .entry,");
    if (directive == ".file") {
      file();
    } else if (directive == ".section") {
      section();
    } else if (directive == ".pragma") {
      skip_pragma(tokens_);
    } else if (directive == ".alias") {
      alias();
    } else if (const auto linkage = linkage_of(directive)) {
      linked(tokens_.dotted("a declaration behind its linkage"), *linkage);
    } else {
      linked(directive, Linkage::None);
    }
  }

  static std::optional<Linkage> linkage_of(std::string_view directive) {
    if (directive == ".extern") return Linkage::Extern;
    if (directive == ".visible") return Linkage::Visible;
    if (directive == ".weak") return Linkage::Weak;
    if (directive == ".common") return Linkage::Common;
    return std::nullopt;
  }

  void linked(std::string_view directive, Linkage linkage) {
    const auto space = space_of(directive);
    if (space == Space::Register) {
      tokens_.fail(".reg variables are declared inside functions");
    } else if (space) {
      if (tokens_.is("[")) tokens_.fail("banks of constants are no longer part of PTX");
      parse_variables(tokens_, *module_, *space, linkage, nullptr);
    } else if ((directive == ".entry" || directive == ".func") && linkage != Linkage::Common) {
      function(directive == ".entry", linkage);
    } else {
      tokens_.fail("the directive '" + std::string(directive) + "' does not belong here");
    }
  }

  void file() {
    const uint64_t index = tokens_.number("the index of a file");
    const std::string_view path = tokens_.string("the path of a file");
    if (!module_->files.emplace(static_cast<uint32_t>(index), path).second)
      tokens_.fail("the file index " + std::to_string(index) + " is in use");
    while (tokens_.accept(",")) tokens_.number("the time or size of a file");
  }

  // Debug information: data directives, labels, numbers.
  void section() {
    if (!tokens_.is(Kind::Dotted) && !tokens_.is(Kind::Word)) tokens_.require("the name of a section");
    tokens_.take();
    tokens_.expect("{", "behind the name of a section");
    while (!tokens_.accept("}")) {
      const Token& token = tokens_.peek();
      const bool is_data = token.kind == Kind::Dotted && type_of(token.text.substr(1)) != Type::None;
      const bool is_known = is_data || token.kind == Kind::Word || token.kind == Kind::Integer ||
                            token.kind == Kind::Float || tokens_.is("{") || tokens_.is(",") || tokens_.is(":") ||
                            tokens_.is("+") || tokens_.is("-") || token.kind == Kind::Dotted;
      if (!is_known || (token.kind == Kind::Dotted && (token.text == ".entry" || token.text == ".func")))
        tokens_.require("'}' at the end of a section");
      tokens_.take();
    }
  }

  void alias() {
    const std::string name(tokens_.name("the name of an alias"));
    tokens_.expect(",", "behind the name of an alias");
    const std::string aliased(tokens_.name("the function that an alias stands for"));
    tokens_.expect(";", "behind an alias");
    for (const std::string& function : {name, aliased}) {
      if (module_->find(function) == nullptr)
        tokens_.fail("the function '" + function + "' of an alias is not declared");
    }
    if (!module_->find(aliased)->has_body) tokens_.fail("'" + aliased + "' has no body that an alias could stand for");
    module_->aliases.emplace_back(name, aliased);
  }

  // ---- functions
  void function(bool is_entry, Linkage linkage) {
    auto owned = std::make_unique<Function>();
    Function& function = *owned;
    function.is_entry = is_entry;
    function.linkage = linkage;
    function.line = tokens_.line();
    if (!is_entry && tokens_.is("(")) function.results = parse_parameters(tokens_, *module_, ParameterOf::Function);
    if (function.results.size() > 1) tokens_.fail("a function has at most one result in .param space");
    function.name = tokens_.name("the name of a function");
    if (tokens_.is("("))
      function.parameters = parse_parameters(tokens_, *module_, is_entry ? ParameterOf::Entry : ParameterOf::Function);
    check_parameter_names(function);
    const bool has_directives = tokens_.is(Kind::Dotted);
    if (is_entry)
      entry_directives(function);
    else
      function_directives();
    function.has_body = tokens_.is("{");
    compare_with_earlier(function);
    if (function.has_body) {
      if (linkage == Linkage::Extern) tokens_.fail("'" + function.name + "' is .extern and cannot have a body");
      // A function may call itself, so it is declared before its body is parsed.
      module_->add(std::move(owned));
      parse_body(tokens_, *module_, function);
      return;
    }
    if (has_directives && is_entry) tokens_.require("the body of '" + function.name + "'");
    tokens_.expect(";", "or a body behind the declaration of a function");
    module_->add(std::move(owned));
  }

  void check_parameter_names(const Function& function) const {
    std::vector<std::string_view> names;
    for (const auto* list : {&function.results, &function.parameters}) {
      for (const Variable* parameter : *list) names.push_back(parameter->name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      tokens_.fail("'" + function.name + "' has two parameters of the name '" + std::string(*twice) + "'");
  }

  void compare_with_earlier(const Function& function) const {
    if (module_->globals.count(function.name) != 0)
      tokens_.fail("'" + function.name + "' is declared already, as a variable");
    const Function* const earlier = module_->find(function.name);
    if (earlier == nullptr) return;
    const std::string before = "'" + function.name + "' is declared already, on line " + std::to_string(earlier->line);
    if (earlier->is_entry != function.is_entry) tokens_.fail(before + ", once .entry and once .func");
    if (earlier->has_body && function.has_body) tokens_.fail(before + ", and has a body there");
    if (function.has_body && earlier->linkage == Linkage::Extern) tokens_.fail(before + ", as .extern");
    compare(before, "parameters", earlier->parameters, function.parameters);
    compare(before, "results", earlier->results, function.results);
  }

  void compare(const std::string& before, const char* what, const std::vector<Variable*>& earlier,
               const std::vector<Variable*>& later) const {
    bool same = earlier.size() == later.size();
    for (size_t i = 0; same && i < earlier.size(); ++i) {
      same = earlier[i]->type == later[i]->type && earlier[i]->bytes == later[i]->bytes &&
             earlier[i]->align == later[i]->align;
    }
    if (!same) tokens_.fail(before + ", with other " + what);
  }

  uint32_t positive(std::string_view directive) {
    const uint64_t value = tokens_.number("a number");
    if (value == 0 || value > 0xFFFF'FFFF) tokens_.fail(std::string(directive) + " must be 1 or more");
    return static_cast<uint32_t>(value);
  }

  void triple(std::string_view directive, uint32_t (&values)[3], bool may_be_zero) {
    values[1] = values[2] = 1;
    for (int i = 0; i < 3; ++i) {
      if (i > 0 && !tokens_.accept(",")) return;
      values[i] = may_be_zero ? static_cast<uint32_t>(tokens_.number("a number")) : positive(directive);
    }
  }

  void entry_directives(Function& function) {
    bool maximum = false, exact = false, rank = false, whole_clusters = false;
    while (tokens_.is(Kind::Dotted)) {
      const std::string_view directive = tokens_.take().text;
      if (directive == ".maxntid" || directive == ".reqntid") {
        triple(directive, function.max_threads, false);
        (directive == ".reqntid" ? exact : maximum) = true;
      } else if (directive == ".minnctapersm") {
        function.min_ctas = positive(directive);
      } else if (directive == ".maxnreg") {
        function.max_registers = positive(directive);
      } else if (directive == ".explicitcluster") {
        function.explicit_cluster = true;
      } else if (directive == ".reqnctapercluster") {
        triple(directive, function.cluster, true);
      } else if (directive == ".maxclusterrank") {
        tokens_.number("a number");
        rank = true;
      } else if (directive == ".blocksareclusters") {
        whole_clusters = true;
      } else if (directive == ".pragma") {
        skip_pragma(tokens_);
      } else {
        tokens_.fail("'" + std::string(directive) + "' is not a directive of a kernel");
      }
    }
    function.exact_threads = exact;
    if (maximum && exact) tokens_.fail(".maxntid and .reqntid cannot both be given");
    if (rank && function.cluster[0] != 0) tokens_.fail(".maxclusterrank and .reqnctapercluster cannot both be given");
    if (whole_clusters && (!exact || function.cluster[0] == 0))
      tokens_.fail(".blocksareclusters needs .reqntid and .reqnctapercluster beside it");
  }

  void function_directives() {
    while (tokens_.is(Kind::Dotted)) {
      const std::string_view directive = tokens_.take().text;
      if (directive == ".noreturn") {
      } else if (directive == ".abi_preserve" || directive == ".abi_preserve_control") {
        tokens_.number("a number of registers");
      } else if (directive == ".attribute") {
        tokens_.expect("(", "behind .attribute");
        while (!tokens_.accept(")")) {
          if (tokens_.at_end()) tokens_.require("')' behind the attributes");
          tokens_.take();
        }
      } else if (directive == ".pragma") {
        skip_pragma(tokens_);
      } else {
        tokens_.fail("'" + std::string(directive) + "' is not a directive of a function");
      }
    }
  }

  TokenStream tokens_;
  std::unique_ptr<Module> module_;
};

}  // namespace

std::unique_ptr<Module> parse(std::string_view text, std::string name) { return Parser(text, std::move(name)).run(); }

}  // namespace sim::ptx
