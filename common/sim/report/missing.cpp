// What is missing: its code in records, the instruction that would do, and its sentence.
#include <algorithm>
#include <iterator>

#include "machine/missing.h"
#include "report/text.h"

namespace sim::report {
namespace {

struct MissingText {
  const char* word;         ///< in records
  const char* instruction;  ///< if it is always the same
  /// {from}, {to}, {also}, {second}: lines; {between}: "between A and B", "after A"; {link}: a synchronisation that
  /// reaches the second access; {0}: a name; {0 has}: the verb after it, for "lane 3" or "lanes 0 to 7". A part in
  /// brackets is left out if one of its parameters is empty.
  const char* sentence;
};

constexpr MissingText kMissing[] = {
    {"", "", ""},
    {"proxy fence", "fence.proxy.async",
     "ordered, but not across proxies: fence.proxy.async [(of {0} memory) ]by the {1}, {between}"
     "[; or, after the one at {also}, {link} before {second}]"},
    {"fence before thread sync", "tcgen05.fence::before_thread_sync",
     "ordered, but not for tcgen05: tcgen05.fence::before_thread_sync by warp {0}, {between}"
     "[; or, after the one at {also}, {link} before {second}]"},
    {"fence after thread sync", "tcgen05.fence::after_thread_sync",
     "ordered, but not for tcgen05: tcgen05.fence::after_thread_sync by warp {0}, after its wait and before {to}"},
    {"fence after flag", "ld.acquire",
     "the flag that announces it was read by a relaxed or volatile access: ld.acquire, or a fence (__threadfence()) "
     "after the read of the flag and before {to}"},
    {"fence before flag", "fence.acq_rel",
     "its own thread has executed a fence (__threadfence()), but the thread that writes the flag after a barrier has "
     "not fenced since the barrier: __threadfence() between them"},
    {"acquiring wait", "mbarrier.try_wait",
     "it has happened, but is not visible: the wait for it is relaxed; a wait that acquires, or a fence between the "
     "wait and {to}, is required"},
    {"visible link", "", "it has happened, but is not visible: {link} {between}"},
    {"release and acquire", "",
     "it has happened, but is not visible: the signal at {from} is relaxed; a release and an acquire are required"},
    {"wider scope", "",
     "it has happened, but is not visible: the signal at {from} is received in another CTA: release and acquire at {0} "
     "scope are required on both sides"},
    {"whole fence", "fence.acq_rel",
     "it has happened, but is not visible: a fence on the way is restricted (.sync_restrict) to shared memory[ of "
     "{0}]: the same fence without .sync_restrict"},
    {"ordinary load", "ld.global",
     "an ordinary load (ld.global; no __ldg, no const __restrict__) instead of ld.global.nc at {to}"},
    {"one lane", "elect.sync",
     "each lane that executes it starts an operation: execution by one lane (elect.sync), or an address of its own for "
     "each lane"},
    {"one thread", "",
     "nothing orders them: both warps execute {to}, each once. Execution by one of them, or an address of its own for "
     "each"},
    {"expected bytes", "mbarrier.arrive.expect_tx",
     "phase {0} of the mbarrier at {1} is to count the bytes of the load at {from}, and it completed before all of "
     "them had arrived: mbarrier.arrive.expect_tx (or expect_tx) for all bytes, before the last arrival of that phase"},
    {"signal of all lanes", "bar.warp.sync",
     "{0} of that warp {0 has} signalled, {1} {1 has} not: __syncwarp()[ before {to}], or an arrival by each lane"},
    {"sync of lanes", "bar.warp.sync",
     "{0} of this warp {0 knows} that it has finished, {1} {1 does} not: __syncwarp() before {to}"},
    {"wait for phase", "mbarrier.try_wait",
     "the mbarrier at {0} would order them[ ({also})]: a wait (mbarrier.try_wait) for that phase, before {to}"},
    {"wait at barrier", "bar.sync", "barrier {0} would order them: bar.sync there, before {to}"},
    {"wait at cluster barrier", "barrier.cluster.wait",
     "the cluster barrier would order them[ ({also})]: barrier.cluster.wait, which this warp has not executed there, "
     "before {to}"},
    {"signal that arrives", "",
     "{0} knows that it has finished, but its signal at {from} has not reached {to}: a barrier, or an arrival and a "
     "wait, is missing between them"},
    {"signal", "",
     "{0} knows that it has finished, but no signal from there has reached {to}: a barrier, or an arrival and a wait, "
     "is missing between them"},
    {"completion", "",
     "nothing waits for its completion in time, {between}: {done}[ by {0}, then {link} before {second}]"
     "[; or, after the one at {also}, {link} before {second}]"},
    {"link", "", "nothing orders them; no arrival or barrier of its warp follows it: {link} {between}"},
    {"link", "",
     "nothing orders them; its warp signals at {also}, but this signal does not reach the second access: {link} "
     "{between}"},
    {"barrier of the warpgroup", "bar.sync",
     "nothing orders the four warps: a barrier of the warpgroup (bar.sync), after fence.proxy.async, {between}"},
    {"reconvergence", "bar.warp.sync",
     "__syncwarp() (bar.warp.sync) by all lanes of the warp, which have parted, {between}"},
    {"barrier after init", "", "a barrier of the {0} between {from} and {to}"},
    {"invalidation", "mbarrier.inval", "mbarrier.inval of it, after its last use and before {to}"},
    {"init fence", "fence.mbarrier_init",
     "fence.mbarrier_init by the initialising thread, after {from} and before the barrier that lets other threads use "
     "it"},
    {"earlier phase", "mbarrier.try_wait",
     "a phase two earlier has the same parity and would satisfy this wait as well: a wait (mbarrier.try_wait) for "
     "phase {0}, or for something that comes after it, before {to}"},
    {"wait before arrival", "mbarrier.try_wait",
     "in another interleaving this arrival is counted in the phase before: a wait or a barrier, before {to}, for "
     "something that comes after that phase"},
    {"wait before arrival", "bar.sync",
     "in another interleaving this arrival is counted in the phase before: a wait or a barrier, before {to}, for "
     "something that comes after that phase.[ Warps that wait at barrier {0}: {1}][ No warp waits (bar.sync) at "
     "barrier {2}][; others are shared with {3}]"},
    {"signal of waiter", "",
     "a late waiter is lapped: it finds the parity flipped again; {0} must signal, by an arrival or a barrier, after "
     "{from}[, before the next phase is completed ({1})]"},
    {"barrier before inval", "bar.sync", "a barrier of the CTA (bar.sync) {between}"},
    {"wait before inval", "mbarrier.try_wait",
     "a wait (mbarrier.try_wait) for the phase of {0} in which it arrives, by this thread or by one that signals to "
     "it, "
     "before {to}[; or a barrier after {from} and before that]"},
    {"cluster start", "barrier.cluster", "a barrier of the cluster before {to}"},
    {"map acquire", "fence.proxy.tensormap::generic.acquire",
     "fence.proxy.tensormap::generic.acquire of these 128 bytes by a thread of this CTA, before {to}, or the map as a "
     "__grid_constant__ parameter"},
    {"map acquire", "fence.proxy.tensormap::generic.acquire",
     "fence.proxy.tensormap::generic.acquire{0} of these 128 bytes by this warp, before {to}"},
    {"map release", "fence.proxy.tensormap::generic.release",
     "fence.proxy.tensormap::generic.release{0} by the thread that changes it, after {from}"},
    {"wgmma fence", "wgmma.fence", "wgmma.fence before {to}"},
    {"wgmma fence", "wgmma.fence", "wgmma.fence between {from} and {to}"},
    {"wgmma wait", "wgmma.wait_group", "wgmma.wait_group for the group of the first, before {to}"},
    {"same registers", "setmaxnreg", "the same setmaxnreg in all four warps of a warpgroup (warps {0} to {1})"},
    {"same lane", "elect.sync", "execution of {from} and {to} by the same lane: both by the elected one, or neither"},
    {"first write", "tcgen05.st", "an MMA that does not accumulate (scale-d), tcgen05.st or tcgen05.cp before {to}"},
    {"phase before exit", "mbarrier.try_wait",
     "a wait (mbarrier.try_wait) for the phase of {0} in which it arrives, by a thread of {1}[, which {2} waits there]"
     "[, which last waits there at {also}], before its end[ at {to}][; or a barrier of the cluster after {from}]"},
    {"release before exit", "barrier.cluster.arrive.release",
     "the cluster barrier after it is relaxed: barrier.cluster.arrive.release"},
    {"completion before exit", "", "{done}, before the CTA exits"},
    {"barrier before exit", "barrier.cluster", "a barrier of the cluster after it"},
    {"address per lane", "elect.sync", "an address of its own for each lane, or a store by one lane only"},
    {"order of clusters", "",
     "nothing orders them: they are in different clusters, and these have not waited for one another"},
    {"grid wait", "griddepcontrol.wait", "this launch may overlap the one before it: griddepcontrol.wait before {to}"},
    {"order of launches", "",
     "nothing waits for the first: an event between the streams, griddepcontrol.wait in the launch between them, or a "
     "wait by the host"},
    {"wait for work", "", "a wait for it, by an event or by the host"},
};
static_assert(std::size(kMissing) == static_cast<size_t>(MissingLink::What::kCount));

const MissingText& text_of(const MissingLink& missing) { return kMissing[static_cast<size_t>(missing.what)]; }

std::string last_part(const SourceLine& frame) {
  const size_t slash = frame.file.rfind('/');
  return frame.file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" + std::to_string(frame.line);
}

/// Two places. Of calls on one line of the kernel's body, the outermost lines that differ.
std::pair<std::string, std::string> lines(const Location& one, const Location& other) {
  for (size_t depth = 0; !one.frames.empty() && !other.frames.empty() && depth <= std::min(one.body, other.body);
       ++depth) {
    const SourceLine &first = one.frames[one.body - depth], &second = other.frames[other.body - depth];
    if (first != second) return {last_part(first), last_part(second)};
  }
  return {line(one), line(other)};
}

std::string between(const MissingLink& missing) {
  if (!missing.to) return "after " + line(*missing.from);
  const auto [first, second] = lines(*missing.from, *missing.to);
  const uint32_t from = missing.from->ptx_line, to = missing.to->ptx_line;
  if (first == second && from != to)  // all of a kernel's code may have one line
    return "between PTX line " + std::to_string(from) + " and PTX line " + std::to_string(to) + " (" + first + ")";
  if (first != second) return "between " + first + " and " + second;
  if (missing.from->instruction != missing.to->instruction)
    return "between " + missing.from->instruction + " and " + missing.to->instruction + " (" + first + ")";
  return "between one iteration of " + first + " and the next";
}

const char* link_text(MissingLink::Reach reach) {
  switch (reach) {
    case MissingLink::Reach::Warp: return "__syncwarp() (bar.warp.sync)";
    case MissingLink::Reach::Cta: return "a barrier of the CTA (bar.sync), or an arrival and a wait,";
    case MissingLink::Reach::Cluster:
      return "a barrier of the cluster, or an arrival at one of its mbarriers and a wait,";
    case MissingLink::Reach::Grid: break;
  }
  return "a flag that is released and acquired at .gpu scope (__threadfence() before its write and after its read)";
}

/// How a thread learns that an operation is complete.
std::string completion(const std::string& instruction) {
  if (instruction == "mbarrier.try_wait")
    return "a wait (mbarrier.try_wait) for the phase of the mbarrier that counts its bytes";
  if (instruction == "tcgen05.commit") return "tcgen05.commit after it, and a wait for the mbarrier that it arrives at";
  if (instruction == "cp.async.bulk.commit_group") return instruction + " and wait_group.read by its thread";
  return instruction;
}

std::string verb(const std::string& subject, std::string_view singular) {
  if (subject.starts_with("lane ")) return std::string(singular);
  return singular == "has" ? "have" : singular == "does" ? "do" : "know";
}

/// The value of one parameter of a sentence.
std::string parameter(std::string_view name, const Finding& finding) {
  const MissingLink& missing = finding.missing;
  const auto line_of = [](const std::optional<Location>& at) { return at ? line(*at) : ""; };
  if (missing.from && missing.to && (name == "from" || name == "to")) {
    const auto both = lines(*missing.from, *missing.to);
    return name == "from" ? both.first : both.second;
  }
  if (name == "from") return line_of(missing.from);
  if (name == "to") return line_of(missing.to);
  if (name == "also") return line_of(missing.also);
  if (name == "second") return line(finding.second.at);
  if (name == "between") return between(missing);
  if (name == "link") return link_text(missing.reach);
  if (name == "done") return completion(missing.instruction);
  const auto index = static_cast<size_t>(name[0] - '0');
  const std::string named = index < missing.names.size() ? missing.names[index] : "";
  return name.size() == 1 ? named : verb(named, name.substr(2));
}

}  // namespace

std::string missing(const Finding& finding) {
  std::string text;
  std::string_view rest = text_of(finding.missing).sentence;
  for (bool in_brackets = false; !rest.empty(); in_brackets = !in_brackets) {
    const std::string_view part = rest.substr(0, rest.find_first_of("[]"));
    bool is_empty = false;
    const std::string said = filled(part, [&](std::string_view name) {
      std::string value = parameter(name, finding);
      is_empty |= value.empty();
      return value;
    });
    if (!in_brackets || !is_empty) text += said;
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  return text;
}

std::string line(const Location& at) {
  if (!at.frames.empty()) return last_part(at.frames[at.body]);
  return at.ptx_line != 0 ? "PTX line " + std::to_string(at.ptx_line) : at.instruction;
}

const char* word_of(MissingLink::What what) { return kMissing[static_cast<size_t>(what)].word; }

std::string instruction_of(const MissingLink& missing) {
  if (!missing.instruction.empty()) return missing.instruction;
  const MissingText& text = text_of(missing);
  const std::string_view sentence = text.sentence;
  if (text.instruction[0] != '\0' || sentence.find("{link}") == sentence.npos) return text.instruction;
  constexpr const char* kLinks[] = {"bar.warp.sync", "bar.sync", "barrier.cluster", "fence.acq_rel"};
  return kLinks[static_cast<size_t>(missing.reach)];
}

}  // namespace sim::report
