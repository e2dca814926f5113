#include "check/order/finding.h"

#include <algorithm>

namespace sim::order {

namespace {

/// A barrier that is used wrongly orders nothing, so all accesses that it should have ordered are found as well.
bool is_about_a_barrier(const Findings::Key& key) {
  if (key.grade != Grade::Error) return false;
  const auto rule = static_cast<Rule>(key.kind);
  const bool is_named = rule == Rule::PhaseKnown && key.second == 0;
  return is_named || rule == Rule::BarrierExists || rule == Rule::BarrierLifetime || rule == Rule::Begun;
}

/// Whether `later` may be a consequence of `cause`.
bool may_follow(const Findings::Key& later, const Findings::Key& cause) {
  if (later.grade != cause.grade) return false;
  if (is_about_a_barrier(cause)) return true;
  const auto has = [&](uint32_t line) { return line != 0 && (line == cause.first || line == cause.second); };
  return has(later.first) || has(later.second);
}

}  // namespace

std::vector<Finding> Findings::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<const std::pair<const Key, Entry>*> sorted;
  for (const auto& each : entries_) {
    // If the same pair also lacks order between warps, that error covers the lanes that rely on lockstep.
    const Key& key = each.first;
    const bool is_contained = key.grade == Grade::Habit && static_cast<Habit>(key.kind) == Habit::WarpSynchronous &&
                              std::any_of(entries_.begin(), entries_.end(), [&](const auto& other) {
                                return other.first.grade == Grade::Error && other.first.first == key.first &&
                                       other.first.second == key.second;
                              });
    if (!is_contained) sorted.push_back(&each);
  }
  // Bytes that no phase expects let it complete too early, which is found at its barrier, too.
  const auto rank = [](const auto& each) {
    return each.second.finding.missing.what == MissingLink::What::ExpectTx ? 0 : is_about_a_barrier(each.first) ? 1 : 2;
  };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) {
    if (a->first.grade != b->first.grade) return a->first.grade < b->first.grade;
    const int first = rank(*a), second = rank(*b);
    return first != second ? first < second : a->second.first < b->second.first;
  });
  std::vector<Finding> result;
  std::vector<bool> follows(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    result.push_back(sorted[i]->second.finding);
    if (follows[i] || sorted[i]->first.grade == Grade::Habit) continue;
    for (size_t k = i + 1; k < sorted.size(); ++k) {
      if (follows[k] || !may_follow(sorted[k]->first, sorted[i]->first)) continue;
      follows[k] = true;
      ++result.back().followers;
    }
  }
  return result;
}

Finding Findings::graded(Finding finding, const Key& key) {
  using Kind = Finding::Kind;
  if (key.grade != Grade::Habit) {
    finding.kind = Kind::Race, finding.is_strict = key.grade == Grade::Strict;
    finding.rule = text_of(static_cast<Rule>(key.kind)).name;
    return finding;
  }
  const auto habit = static_cast<Habit>(key.kind);
  const bool is_of_lanes = habit == Habit::ImplicitReconvergence || habit == Habit::WarpSynchronous;
  finding.kind = is_of_lanes ? Kind::Convergence : Kind::Habit, finding.is_tolerated = true;
  finding.rule = text_of(habit).name;
  return finding;
}

}  // namespace sim::order
