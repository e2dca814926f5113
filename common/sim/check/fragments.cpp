#include "check/fragments.h"

#include <algorithm>
#include <utility>

#include "exec/core/pending.h"
#include "exec/core/program.h"

namespace sim {
namespace {

std::vector<uint32_t> units_of(const std::vector<Slot>& slots) {
  std::vector<uint32_t> units;
  for (const Slot& slot : slots) {
    for (int32_t at = slot.offset; at < slot.offset + slot.bytes; at += PendingRegisters::kUnit)
      units.push_back(static_cast<uint32_t>(at / PendingRegisters::kUnit));
  }
  return units;
}

}  // namespace

Fragments::Fragments(const Program& program) {
  if (std::none_of(program.traits.begin(), program.traits.end(), [](const Traits& each) { return each.is_wgmma; }))
    return;
  units_ = program.register_bytes / PendingRegisters::kUnit + 1;
  std::vector<bool> is_fragment(units_);
  actions_.resize(program.ops.size());
  for (size_t pc = 0; pc < program.ops.size(); ++pc) {
    const Op& op = program.ops[pc];
    if (op.uses == nullptr) continue;
    actions_[pc].reads = units_of(op.uses->reads), actions_[pc].writes = units_of(op.uses->writes);
    actions_[pc].moves = op.is_move;
    if (!program.traits[pc].is_wgmma) continue;
    std::vector<Slot> a = op.uses->reads;  // without descriptors and predicates
    std::erase_if(a, [](const Slot& slot) { return slot.bytes != 4 * 32; });
    actions_[pc].reads = units_of(a);
    for (const uint32_t unit : actions_[pc].writes) is_fragment[unit] = true;
    for (const uint32_t unit : actions_[pc].reads) is_fragment[unit] = true;
  }
  // A move renames a value: accesses to the source count as accesses to the destination.
  for (bool grows = true; grows;) {
    grows = false;
    for (const Action& action : actions_) {
      if (!action.moves) continue;
      for (const uint32_t to : action.writes) {
        if (!is_fragment[to]) continue;
        for (const uint32_t from : action.reads) {
          grows |= !is_fragment[from];
          is_fragment[from] = true;
        }
      }
    }
  }
  const auto others = [&](uint32_t unit) { return !is_fragment[unit]; };
  for (size_t pc = 0; pc < actions_.size(); ++pc) {
    std::erase_if(actions_[pc].reads, others), std::erase_if(actions_[pc].writes, others);
    touches_.push_back(!program.traits[pc].is_wgmma && !(actions_[pc].reads.empty() && actions_[pc].writes.empty()));
  }
}

FragmentWatch::State& FragmentWatch::state_of(const Warp& warp) {
  State& state = states_[&warp];
  if (state.touched.empty()) state.touched.resize(fragments_->units_);
  return state;
}

std::optional<uint32_t> FragmentWatch::executed(const Warp& warp, uint32_t pc) {
  State& state = state_of(warp);
  const Fragments::Action& action = fragments_->actions_[pc];
  if (action.moves) {
    uint32_t last = 0;
    for (const uint32_t from : action.reads) last = std::max(last, state.touched[from]);
    for (const uint32_t to : action.writes) state.touched[to] = last;
    return std::nullopt;
  }
  for (const uint32_t unit : action.reads) state.touched[unit] = pc + 1;
  for (const uint32_t unit : action.writes) state.touched[unit] = pc + 1;
  const auto overwritten = std::find_if(state.reads.begin(), state.reads.end(), [&](const State::Read& read) {
    return std::find(action.writes.begin(), action.writes.end(), read.unit) != action.writes.end();
  });
  if (overwritten == state.reads.end()) return std::nullopt;
  return overwritten->wgmma;
}

void FragmentWatch::issued(const Warp& warp, uint32_t pc) {
  State& state = state_of(warp);
  const Fragments::Action& action = fragments_->actions_[pc];
  for (const uint32_t unit : action.reads) {
    if (std::find(action.writes.begin(), action.writes.end(), unit) == action.writes.end())
      state.reads.push_back({unit, pc, state.committed + 1});
  }
}

void FragmentWatch::waited(const Warp& warp, uint32_t pending) {
  State& state = state_of(warp);
  std::erase_if(state.reads, [&](const State::Read& read) { return read.group + pending <= state.committed; });
}

void FragmentWatch::fenced(const Warp& warp) {
  State& state = state_of(warp);
  state.has_fenced = true;
  std::fill(state.touched.begin(), state.touched.end(), 0);
}

std::optional<uint32_t> FragmentWatch::obstacle(const Warp& warp, uint32_t pc) {
  State& state = state_of(warp);
  if (!std::exchange(state.has_fenced, true)) return pc;
  for (const auto* units : {&fragments_->actions_[pc].writes, &fragments_->actions_[pc].reads}) {
    for (const uint32_t unit : *units) {
      if (state.touched[unit] != 0) return std::exchange(state.touched[unit], 0) - 1;
    }
  }
  return std::nullopt;
}

}  // namespace sim
