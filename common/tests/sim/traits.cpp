// What watchers are told of each instruction beyond its own effect: the traits of every mnemonic that is no arithmetic,
// in data/traits.txt. A new one has to be added there, by a reader who has compared it with its relatives.
#include "exec/core/traits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "exec/core/families.h"

namespace sim::test {
namespace {

ptx::Instruction instruction(std::string_view name) {
  ptx::Instruction result;
  std::istringstream words{std::string(name)};
  std::getline(words, result.opcode, '.');
  for (std::string word; std::getline(words, word, '.');) result.modifiers.push_back(word);
  return result;
}

std::string in_words(const Traits& traits) {
  constexpr const char* kUses[] = {"computes", "carries", "steers", "decides"};
  constexpr const char* kCosts[] = {"", "mma.sync", "cp.async", "global atomic"};
  constexpr const char* kFences[] = {
      "", "fence", "proxy fence", "init fence", "fence before", "fence after", "tensor map fence", "fence of the grid"};
  std::string text = kUses[static_cast<size_t>(traits.use)];
  const auto add = [&](bool is_so, const char* words) {
    if (is_so && *words != '\0') text += std::string(", ") + words;
  };
  add(true, kCosts[static_cast<size_t>(traits.cost)]);
  add(true, kFences[static_cast<size_t>(traits.ordering.fence)]);
  add(traits.ordering.strong, "strong");
  add(traits.ordering.acquires, "acquires");
  add(traits.ordering.releases, "releases");
  add(traits.transfers_control, "transfers control");
  add(traits.may_wait, "waits");
  add(traits.alone != nullptr, "alone");
  return text;
}

TEST(Traits, OfEveryMnemonic) {
  std::map<std::string, std::vector<std::string>> names;
  for (const Family* family : families::kAll) {
    if (family->pure) continue;
    for (const Mnemonic& each : family->mnemonics)
      names[in_words(traits_of(instruction(each.name), each.manner.value_or(family->manner), false))].emplace_back(
          each.name);
  }
  std::map<std::string, std::vector<std::string>> expected;
  std::ifstream file(SIM_TRAITS);
  std::vector<std::string>* group = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (line.starts_with("  "))
      group->insert(group->end(), std::istream_iterator<std::string>(words), {});
    else if (!line.starts_with('#'))
      group = &expected[line];
  }
  for (auto* each : {&names, &expected}) {
    for (auto& [words, list] : *each) std::sort(list.begin(), list.end());
  }
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace sim::test
