#include "ptx/link.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace sim::ptx {
namespace {

using Names = std::unordered_map<std::string, std::string>;

bool is_own(Linkage linkage, bool is_defined) { return linkage == Linkage::None && is_defined; }

/// New names for local symbols whose names other units use, too.
Names clashing(const Module& unit, const std::set<std::string>& taken, size_t number) {
  Names renamed;
  const auto consider = [&](const std::string& name) {
    if (taken.count(name) != 0) renamed[name] = name + "@" + std::to_string(number);  // no name in a text has an @
  };
  for (const auto& [name, variable] : unit.globals) {
    if (is_own(variable->linkage, !variable->external)) consider(name);
  }
  for (const auto& [name, function] : unit.function_index) {
    if (is_own(function->linkage, function->has_body)) consider(name);
  }
  return renamed;
}

void rename(const Names& renamed, std::string& name) {
  if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
}

void rename(const Names& renamed, Operand& operand) {
  if (operand.kind == Operand::Kind::Function) rename(renamed, operand.text);
  for (Operand& element : operand.elements) rename(renamed, element);
}

void rename(const Names& renamed, Module& unit) {
  for (const auto& variable : unit.variables) {
    if (const auto known = unit.globals.find(variable->name);
        known != unit.globals.end() && known->second == variable.get())
      rename(renamed, variable->name);
    for (Variable::Relocation& relocation : variable->relocations) rename(renamed, relocation.symbol);
  }
  for (const auto& function : unit.functions) {
    rename(renamed, function->name);
    for (Instruction& instruction : function->instructions) {
      for (Operand& operand : instruction.operands) rename(renamed, operand);
    }
    for (CallPrototype& prototype : function->prototypes) {
      for (std::string& target : prototype.targets) rename(renamed, target);
    }
  }
  for (auto& [alias, aliased] : unit.aliases) rename(renamed, aliased);
  Module entered;  // under the new names
  for (const auto& [name, variable] : unit.globals) entered.globals[variable->name] = variable;
  for (const auto& [name, function] : unit.function_index) entered.function_index[function->name] = function;
  unit.globals = std::move(entered.globals);
  unit.function_index = std::move(entered.function_index);
}

/// Appends source files and locations to those of the whole module.
void move_locations(Module& unit, Module& whole) {
  uint32_t first_file = 0;
  for (const auto& [number, path] : whole.files) first_file = std::max(first_file, number + 1);
  for (auto& [number, path] : unit.files) whole.files[first_file + number] = std::move(path);
  const auto first = static_cast<int32_t>(whole.locations.size());
  for (SourceLocation location : unit.locations) {
    location.file += first_file;
    if (location.inlined_at >= 0) location.inlined_at += first;
    whole.locations.push_back(location);
  }
  for (const auto& function : unit.functions) {
    for (Instruction& instruction : function->instructions) {
      if (instruction.location >= 0) instruction.location += first;
    }
  }
}

void move_into(Module& whole, Module& unit) {
  move_locations(unit, whole);
  for (const auto& [name, variable] : unit.globals) {
    const auto [known, is_new] = whole.globals.try_emplace(name, variable);
    if (!is_new && known->second->external && !variable->external) known->second = variable;
  }
  for (const auto& [name, function] : unit.function_index) {
    const auto [known, is_new] = whole.function_index.try_emplace(name, function);
    if (!is_new && !known->second->has_body && function->has_body) known->second = function;
  }
  std::move(unit.variables.begin(), unit.variables.end(), std::back_inserter(whole.variables));
  std::move(unit.functions.begin(), unit.functions.end(), std::back_inserter(whole.functions));
  std::move(unit.aliases.begin(), unit.aliases.end(), std::back_inserter(whole.aliases));
}

}  // namespace

std::unique_ptr<Module> link(std::vector<std::unique_ptr<Module>> units) {
  std::set<std::string> taken;
  std::unique_ptr<Module> whole;
  for (size_t number = 0; number < units.size(); ++number) {
    Module& unit = *units[number];
    if (const Names renamed = clashing(unit, taken, number); !renamed.empty()) rename(renamed, unit);
    for (const auto& [name, variable] : unit.globals) taken.insert(name);
    for (const auto& [name, function] : unit.function_index) taken.insert(name);
    if (whole == nullptr)
      whole = std::move(units[number]);
    else
      move_into(*whole, unit);
  }
  return whole;
}

}  // namespace sim::ptx
