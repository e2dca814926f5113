#include "exec/core/report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "common/base/align.h"
#include "common/base/text.h"
#include "exec/core/program.h"
#include "machine/address.h"

namespace sim {

namespace {

const Program& program_of(const Cluster& cluster) { return *cluster.launch->program; }

std::string triple(const std::array<uint32_t, 3>& v) {
  std::string text = "(" + std::to_string(v[0]);
  if (v[1] != 0 || v[2] != 0) text += ", " + std::to_string(v[1]);
  if (v[2] != 0) text += ", " + std::to_string(v[2]);
  return text + ")";
}

std::string lanes_text(Mask mask, Mask live) {
  if (mask == live) return "all lanes";
  if (std::has_single_bit(mask)) return "lane " + std::to_string(std::countr_zero(mask));
  return "lanes " + base::hex(mask);
}

/// The calls that a lane is in, the innermost first; of many the last is the outermost.
void add_calls(Finding& finding, const Program& program, const CallStack& calls, int lane) {
  constexpr size_t kMost = 6;
  const std::vector<Activation>& stack = calls.lanes[static_cast<size_t>(lane) % 32];
  for (size_t i = stack.size(); i-- > 0;) {
    if (stack.size() - i == kMost && i > 0) finding.calls_left_out = std::exchange(i, 0);
    finding.calls.push_back(
        {readable_name(program.routines[stack[i].routine].function->name), program.locate(stack[i].call)});
  }
}

std::vector<Contribution> contributions(const Cluster& cluster, const std::vector<Mbarrier::Event>& events) {
  std::vector<Contribution> all;
  for (const Mbarrier::Event& event : events) {
    all.push_back({.kind = event.kind,
                   .amount = event.amount,
                   .rank = event.cta_rank,
                   .warp = event.warp,
                   .at = program_of(cluster).locate(event.pc)});
  }
  return all;
}

/// What the sentence of a wait names.
std::vector<Detail> details_of(const Cluster& cluster, const Cta& cta, const Warp& warp, const Split& split) {
  const uint32_t first = split.arguments[0], second = split.arguments[1];
  switch (split.wait) {
    case Wait::Gather: return {first & warp.live & ~split.mask};
    case Wait::Mbarrier: return {name_of_shared(cta, first & kSharedOffsetMask), second};
    case Wait::CtaBarrier: {
      const CtaBarrier& barrier = cta.named[first];
      return {first, barrier.arrived, barrier.expected != 0 ? barrier.expected : cta.live_warps * 32};
    }
    case Wait::ClusterBarrier: return {cluster.barrier.arrived, cluster.live_threads};
    case Wait::TmemAllocation: return {first, cta.tmem.describe()};
    case Wait::Registers: return {first, second, cta.register_pool, (first - second) * 32};
    default: return {};
  }
}

/// Without its warps.
Waiting waiting(const Cluster& cluster, const Cta& cta, const Split& split, const std::vector<Detail>& details) {
  Waiting result{.side = {.who = name_of(cta), .at = program_of(cluster).locate(split.pc)},
                 .wait = split.wait,
                 .details = details};
  if (split.wait == Wait::Mbarrier) {
    const uint32_t slot = (split.arguments[0] & kSharedOffsetMask) / 8;
    const auto index = slot < cta.barrier_index.size() ? cta.barrier_index[slot] : 0;
    if (index != 0) result.phase = state_of(cluster, cta.barriers[index - 1u]);
  }
  return result;
}

}  // namespace

PhaseState state_of(const Cluster& cluster, const Mbarrier& barrier) {
  return {.phase = barrier.phase,
          .expected = barrier.expected,
          .pending = barrier.pending,
          .bytes = barrier.tx,
          .now = contributions(cluster, barrier.history),
          .before = contributions(cluster, barrier.history_before)};
}

Fault no_mbarrier(const Cta& cta, uint32_t offset, int lane) {
  const std::string name = name_of_shared(cta, offset), owner = name_of(cta);
  const auto invalidated = cta.cluster->invalidated.find({cta.rank, offset});
  if (invalidated == cta.cluster->invalidated.end()) return {faults::no_mbarrier, {name, owner}, lane};
  return {faults::mbarrier_invalidated, {name, owner, program_of(*cta.cluster).source_line(invalidated->second)}, lane};
}

std::string name_of(const Cta& cta) {
  return name_of_cta(cta.index, cta.rank, static_cast<uint32_t>(cta.cluster->ctas.size()));
}

std::string name_of_cta(const std::array<uint32_t, 3>& index, uint32_t rank, uint32_t cluster_size) {
  std::string text = "CTA " + triple(index);
  if (cluster_size > 1) text += ", rank " + std::to_string(rank) + " of its cluster";
  return text;
}

std::string name_of_shared(const Launch& launch, uint32_t offset) {
  const Program& program = *launch.program;
  std::string best;
  uint32_t start = 0;
  for (const auto& [name, at] : program.shared_names) {
    if (at <= offset && at >= start) best = name, start = at;
  }
  const uint32_t dynamic = Gpu::smem_reserved + (program.static_smem + program.dynamic_align - 1) /
                                                    program.dynamic_align * program.dynamic_align;
  if (program.dynamic_smem_used && offset >= dynamic) {
    const uint32_t at = offset - dynamic;
    const std::string place = "dynamic shared memory +" + std::to_string(at);
    for (const SharedName& each : launch.shared_names) {
      if (at < each.offset || at >= each.offset + each.bytes * each.count) continue;
      const uint32_t index = (at - each.offset) / each.bytes, inside = (at - each.offset) % each.bytes;
      return each.name + (each.count > 1 ? "[" + std::to_string(index) + "]" : "") +
             (inside > 0 ? " +" + std::to_string(inside) : "") + " (" + place + ")";
    }
    return place;
  }
  if (best.empty()) return "shared offset " + base::hex(offset);
  return readable_name(best) + (offset > start ? " +" + std::to_string(offset - start) : "");
}

Finding explain_fault(const Cluster& cluster, const Fault& fault, const Warp* warp, const Origin* origin) {
  const Program& program = program_of(cluster);
  Finding finding{.kind = Finding::Kind::Fault, .kernel = readable_name(program.kernel->name)};
  finding.fault = fault.what, finding.details = fault.details, finding.phase = fault.phase;
  if (fault.habit)
    finding.rule = text_of(*fault.habit).name;
  else
    finding.missing.instruction = fault.what->missing;
  if (warp != nullptr) {
    const Split& split = warp->splits[warp->current];
    const Op& op = program.ops[split.pc];
    Mask active = split.mask;
    if (op.guard >= 0) active &= *reinterpret_cast<const Mask*>(warp->registers + op.guard) ^ op.guard_flip;
    const int lane = fault.lane >= 0 ? fault.lane : std::has_single_bit(active) ? std::countr_zero(active) : -1;
    const std::string lanes = lane < 0 ? lanes_text(active, warp->live)
                                       : "lane " + std::to_string(lane) + " (thread " +
                                             std::to_string(warp->index * 32 + static_cast<uint32_t>(lane)) + ")";
    finding.first = {.who = name_of(*warp->cta) + ", warp " + std::to_string(warp->index) + ", " + lanes,
                     .at = program.locate(split.pc)};
    if (warp->calls) add_calls(finding, program, *warp->calls, lane >= 0 ? lane : std::countr_zero(split.mask));
  } else if (origin != nullptr) {
    finding.is_asynchronous = true;
    finding.first = {.who = name_of(cluster.ctas[origin->cta_rank]) + ", warp " + std::to_string(origin->warp) +
                            ", lane " + std::to_string(origin->lane),
                     .at = program.locate(origin->pc)};
  }
  return finding;
}

void tolerate_violation(const Cluster& cluster, Habit habit, const Fault& what, const Warp* warp,
                        const Origin* origin) {
  const Launch& launch = *cluster.launch;
  if (launch.tolerated.contains(habit)) return;
  Fault named = what;
  named.habit = habit;
  if (!launch.lenient) throw named;
  cluster.scheduler->remark(habit, named, warp, origin);
}

Finding explain_deadlock(const Cluster& cluster) {
  const Program& program = program_of(cluster);
  Finding finding{.kind = Finding::Kind::Deadlock, .kernel = readable_name(program.kernel->name)};
  for (const Cta& cta : cluster.ctas) {
    CtaState& state = finding.ctas.emplace_back(CtaState{.name = name_of(cta), .exited = cta.exited});
    std::map<std::tuple<Wait, std::vector<Detail>, uint32_t>, size_t>
        groups;  // warps that wait at one instruction for one thing
    for (const Warp& warp : cta.warps) {
      if (warp.live == 0) ++state.exited_warps;
      for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
        const Split& split = warp.splits[static_cast<size_t>(std::countr_zero(rest))];
        const std::vector<Detail> details = details_of(cluster, cta, warp, split);
        const auto [group, is_new] = groups.try_emplace({split.wait, details, split.pc}, state.waits.size());
        if (is_new) state.waits.push_back(waiting(cluster, cta, split, details));
        Waiting& together = state.waits[group->second];
        together.is_several = !is_new;
        together.warps += (is_new ? "" : ", ") + std::to_string(warp.index) +
                          (split.mask == warp.live ? "" : " (" + lanes_text(split.mask, warp.live) + ")");
      }
    }
  }
  return finding;
}

Finding explain_spin(const Cluster& cluster, const Warp& warp, Finding::Hang how, uint64_t instructions) {
  const Program& program = program_of(cluster);
  Finding finding{.kind = Finding::Kind::Deadlock, .kernel = readable_name(program.kernel->name)};
  finding.first = {.who = name_of(*warp.cta) + ", warp " + std::to_string(warp.index),
                   .at = program.locate(warp.splits[warp.current].pc)};
  finding.hang = how, finding.instructions = instructions;
  return finding;
}

}  // namespace sim
