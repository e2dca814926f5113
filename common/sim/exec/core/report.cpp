#include "exec/core/report.h"

#include <algorithm>
#include <map>

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

std::string events_text(const Cluster& cluster, const std::vector<Mbarrier::Event>& events) {
  std::string text;
  for (const Mbarrier::Event& event : events) {
    if (!text.empty()) text += ", ";
    switch (event.kind) {
      case Mbarrier::Event::Kind::Arrive:
        text += std::to_string(event.amount) + (event.amount == 1 ? " arrival" : " arrivals");
        break;
      case Mbarrier::Event::Kind::ExpectTx: text += "expect_tx " + base::grouped(event.amount); break;
      case Mbarrier::Event::Kind::CompleteTx: text += base::grouped(event.amount) + " bytes"; break;
    }
    text += (event.warp < 0 ? " by an operation that rank " : " by rank ") + std::to_string(event.cta_rank) +
            (event.warp < 0 ? " issued at " : " warp " + std::to_string(event.warp) + " at ") +
            program_of(cluster).source_line(event.pc);
  }
  return text;
}

std::string history_of(const Cluster& cluster, const Mbarrier& barrier) {
  return barrier.history.empty() ? "; no thread has arrived in this phase"
                                 : "; so far: " + events_text(cluster, barrier.history);
}

std::string needs_of(const Mbarrier& barrier) {
  std::string text = "phase " + std::to_string(barrier.phase) + " still needs ";
  if (barrier.pending > 0) text += std::to_string(barrier.pending) + (barrier.pending == 1 ? " arrival" : " arrivals");
  if (barrier.pending > 0 && barrier.tx != 0) text += " and ";
  if (barrier.tx > 0) text += base::grouped(static_cast<uint64_t>(barrier.tx)) + " bytes";
  if (barrier.tx < 0)
    text += "an expect_tx of the " + base::grouped(static_cast<uint64_t>(-int64_t{barrier.tx})) +
            " bytes that were delivered beyond what it expects";
  if (barrier.pending == 0 && barrier.tx == 0) text += "nothing";
  return text + " (of " + std::to_string(barrier.expected) + (barrier.expected == 1 ? " arrival)" : " arrivals)");
}

std::string describe_barrier(const Cluster& cluster, const Cta& cta, uint32_t address, uint32_t parity) {
  const uint32_t offset = address & kSharedOffsetMask;
  std::string text = "the mbarrier at " + name_of_shared(cta, offset) + ", parity " + std::to_string(parity);
  const auto index = offset / 8 < cta.barrier_index.size() ? cta.barrier_index[offset / 8] : 0;
  if (index == 0) return text;
  const Mbarrier& barrier = cta.barriers[index - 1u];
  text += ": " + needs_of(barrier);
  if ((barrier.phase & 1) == (parity & 1) && barrier.phase > parity + 1) {
    // The wait names the parity of the current phase. An earlier phase may have had the same parity, so the waiter may
    // be late.
    text += "; phases 0 to " + std::to_string(barrier.phase - 1) +
            " have completed, so a waiter for an earlier one has been lapped";
  }
  text += history_of(cluster, barrier);
  if (!barrier.history_before.empty())
    text += "; in the previous phase: " + events_text(cluster, barrier.history_before);
  return text;
}

std::string describe_wait(const Cluster& cluster, const Cta& cta, const Warp& warp, const Split& split) {
  switch (split.wait) {
    case Wait::None: return "can run";
    case Wait::Gather: {
      const Mask missing = split.arguments[0] & warp.live & ~split.mask;
      return "waits for lanes " + base::hex(missing) + " of its warp, which have not reached this instruction";
    }
    case Wait::Mbarrier: return "waits for " + describe_barrier(cluster, cta, split.arguments[0], split.arguments[1]);
    case Wait::CtaBarrier: {
      const CtaBarrier& barrier = cta.named[split.arguments[0]];
      const uint32_t expected = barrier.expected != 0 ? barrier.expected : cta.live_warps * 32;
      return "waits at barrier " + std::to_string(split.arguments[0]) + ": " + std::to_string(barrier.arrived) +
             " of " + std::to_string(expected) + " threads have arrived";
    }
    case Wait::ClusterBarrier:
      return "waits at the cluster barrier: " + std::to_string(cluster.barrier.arrived) + " of " +
             std::to_string(cluster.live_threads) + " threads have arrived";
    case Wait::BulkGroup: return "waits for bulk copy groups";
    case Wait::CopyGroup: return "waits for cp.async groups";
    case Wait::WgmmaGroup: return "waits for wgmma groups: another warp of its warpgroup has not issued its part";
    case Wait::TmemLoad: return "waits for tcgen05.ld";
    case Wait::TmemStore: return "waits for tcgen05.st";
    case Wait::TmemAllocation:
      return "waits to allocate " + std::to_string(split.arguments[0]) +
             " columns of tensor memory (allocated here: " + cta.tmem.describe() +
             "; with cta_group::2 both CTAs must allocate)";
    case Wait::TmemDeallocation: return "waits for its peer to deallocate tensor memory as well";
    case Wait::Registers:
      return "waits in setmaxnreg for " + std::to_string(split.arguments[0]) + " registers per thread, holding " +
             std::to_string(split.arguments[1]) + "; the CTA's pool has " + std::to_string(cta.register_pool) +
             " left and " + std::to_string((split.arguments[0] - split.arguments[1]) * 32) + " are needed";
    case Wait::Scoreboard: return "waits for registers that an unfinished operation has still to write";
    case Wait::Launch: return "waits for the preceding launch to end";
    case Wait::Signals: return "waits for its signals to other CTAs to arrive";
    case Wait::Poll: return "polls without seeing anything change";
  }
  return "";
}

/// Without its warps.
Waiting waiting(const Cluster& cluster, const Cta& cta, const Split& split, const std::string& what) {
  Waiting result{.side = {.who = name_of(cta), .at = program_of(cluster).locate(split.pc)}, .what = what};
  if (split.wait != Wait::Mbarrier) return result;
  const uint32_t offset = split.arguments[0] & kSharedOffsetMask;
  result.barrier = name_of_shared(cta, offset);
  const auto index = offset / 8 < cta.barrier_index.size() ? cta.barrier_index[offset / 8] : 0;
  if (index == 0) return result;
  for (const Mbarrier::Event& event : cta.barriers[index - 1u].history) {
    result.arrivals.push_back({.who = "rank " + std::to_string(event.cta_rank) +
                                      (event.warp < 0 ? "" : ", warp " + std::to_string(event.warp)),
                               .at = program_of(cluster).locate(event.pc)});
  }
  return result;
}

}  // namespace

std::string describe_phase(const Cluster& cluster, const Mbarrier& barrier) {
  return needs_of(barrier) + history_of(cluster, barrier);
}

std::string why_not_valid(const Cta& cta, uint32_t offset) {
  const auto invalidated = cta.cluster->invalidated.find({cta.rank, offset});
  if (invalidated == cta.cluster->invalidated.end())
    return "mbarrier.init must come first, fence.mbarrier_init, and a barrier of all threads concerned";
  return "it has been invalidated (mbarrier.inval) at " + program_of(*cta.cluster).source_line(invalidated->second) +
         ", and a wait for the phase in which this arrives must come before that";
}

std::string name_of(const Cta& cta) {
  return name_of_cta(cta.index, cta.rank, static_cast<uint32_t>(cta.cluster->ctas.size()));
}

std::string subject(const Cta& cta) { return name_of(cta) + (cta.cluster->ctas.size() > 1 ? "," : ""); }

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
  Finding finding{.kind = Finding::Kind::Fault, .kernel = readable_name(program.kernel->name), .what = fault.message};
  if (fault.habit) finding.rule = text_of(*fault.habit).name;
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
  named.message += std::string(" (habit ") + text_of(habit).name +
                   (launch.lenient ? ")" : ", which hardware lets pass; so does --tolerate)");
  if (!launch.lenient) throw named;
  cluster.scheduler->remark(habit, named, warp, origin);
}

Finding explain_deadlock(const Cluster& cluster) {
  const Program& program = program_of(cluster);
  Finding finding{.kind = Finding::Kind::Deadlock, .kernel = readable_name(program.kernel->name)};
  for (const Cta& cta : cluster.ctas) {
    CtaState& state = finding.ctas.emplace_back(CtaState{.name = name_of(cta), .exited = cta.exited});
    std::map<std::pair<std::string, uint32_t>, size_t> groups;  // warps that wait at one instruction for one thing
    for (const Warp& warp : cta.warps) {
      if (warp.live == 0) ++state.exited_warps;
      for (uint32_t rest = warp.used; rest; rest &= rest - 1) {
        const Split& split = warp.splits[static_cast<size_t>(std::countr_zero(rest))];
        const std::string what = describe_wait(cluster, cta, warp, split);
        const auto [group, is_new] = groups.try_emplace({what, split.pc}, state.waits.size());
        if (is_new) state.waits.push_back(waiting(cluster, cta, split, what));
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
