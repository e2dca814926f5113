// Sentences of faults, and of what warps wait for; places in memory.
#include "report/faults.h"

#include <algorithm>
#include <iterator>

#include "common/base/text.h"
#include "machine/warp.h"
#include "report/text.h"

namespace sim::report {
namespace {

using base::grouped;

struct WaitText {
  const char* word;      ///< in records
  const char* sentence;  ///< with the details of Waiting; of one warp
};
constexpr WaitText kWaits[] = {
    {"none", "can run"},
    {"lanes", "waits for lanes {0:x} of its warp, which have not reached this instruction"},
    {"mbarrier", "waits for the mbarrier at {0}, parity {1}"},
    {"CTA barrier", "waits at barrier {0}: {1} of {2} threads have arrived"},
    {"cluster barrier", "waits at the cluster barrier: {0} of {1} threads have arrived"},
    {"bulk groups", "waits for bulk copy groups"},
    {"cp.async groups", "waits for cp.async groups"},
    {"wgmma groups", "waits for wgmma groups: another warp of its warpgroup has not issued its part"},
    {"tcgen05.ld", "waits for tcgen05.ld"},
    {"tcgen05.st", "waits for tcgen05.st"},
    {"tcgen05.alloc",
     "waits to allocate {0} columns of tensor memory (allocated here: {1}; with cta_group::2 both CTAs must allocate)"},
    {"tcgen05.dealloc", "waits for its peer to deallocate tensor memory as well"},
    {"setmaxnreg",
     "waits in setmaxnreg for {0} registers per thread, holding {1}; the CTA's pool has {2} left and {3} are needed"},
    {"scoreboard", "waits for registers that an unfinished operation has still to write"},
    {"signals", "waits for its signals to other CTAs to arrive"},
    {"launch", "waits for the preceding launch to end"},
    {"poll", "polls without seeing anything change"},
};
static_assert(std::size(kWaits) == static_cast<size_t>(Wait::Poll) + 1);

std::string arrivals(int64_t count) { return std::to_string(count) + (count == 1 ? " arrival" : " arrivals"); }

std::string list(const std::vector<Contribution>& contributions) {
  std::string text;
  for (const Contribution& each : contributions) {
    if (!text.empty()) text += ", ";
    switch (each.kind) {
      case Contribution::Kind::Arrive: text += arrivals(each.amount); break;
      case Contribution::Kind::ExpectTx: text += "expect_tx " + grouped(each.amount); break;
      case Contribution::Kind::CompleteTx: text += grouped(each.amount) + " bytes"; break;
    }
    text += (each.warp < 0 ? " by an operation that rank " : " by rank ") + std::to_string(each.rank) +
            (each.warp < 0 ? " issued at " : " warp " + std::to_string(each.warp) + " at ") + line(each.at);
  }
  return text;
}

std::string needs(const PhaseState& state) {
  std::string text = "phase " + std::to_string(state.phase) + " still needs ";
  if (state.pending > 0) text += arrivals(state.pending);
  if (state.pending > 0 && state.bytes != 0) text += " and ";
  if (state.bytes > 0) text += grouped(static_cast<uint64_t>(state.bytes)) + " bytes";
  if (state.bytes < 0)
    text += "an expect_tx of the " + grouped(static_cast<uint64_t>(-int64_t{state.bytes})) +
            " bytes that were delivered beyond what it expects";
  if (state.pending == 0 && state.bytes == 0) text += "nothing";
  return text + " (of " + arrivals(state.expected) + ")";
}

std::string history(const PhaseState& state) {
  return state.now.empty() ? "; no thread has arrived in this phase" : "; so far: " + list(state.now);
}

}  // namespace

std::string value(std::string_view parameter, const std::vector<Detail>& details) {
  const Detail& detail = details.at(static_cast<size_t>(parameter[0] - '0'));
  switch (parameter.size() > 2 ? parameter[2] : ' ') {
    case 'x': return base::hex(static_cast<uint64_t>(detail.number));
    case 'g': return grouped(static_cast<uint64_t>(detail.number));
    case ',': return detail.name + (detail.name.find(',') == std::string::npos ? "" : ",");
    default: return detail.is_number ? std::to_string(detail.number) : detail.name;
  }
}

std::string filled(std::string_view sentence, const std::function<std::string(std::string_view)>& value_of) {
  std::string text;
  for (size_t at = 0; at < sentence.size();) {
    const size_t begin = std::min(sentence.find('{', at), sentence.size());
    text += sentence.substr(at, begin - at);
    if (begin == sentence.size()) break;
    const size_t end = sentence.find('}', begin);
    text += value_of(sentence.substr(begin + 1, end - begin - 1));
    at = end + 1;
  }
  return text;
}

std::string place(const GlobalMemory::Place& place) {
  using State = GlobalMemory::Place::State;
  const auto& [state, address, to] = place;
  std::string where = "at byte " + grouped(address - to.begin) + " of ";
  if (address < to.begin) where = base::in_bytes(to.begin - address) + " before ";
  if (address >= to.end) where = base::in_bytes(address - to.end) + " past the end of ";
  where += to.label + " (" + base::in_bytes(to.end - to.begin) + " at " + base::hex(to.begin) + ")";
  switch (state) {
    case State::Null:
      return std::string("a null pointer") + (address == 0 ? "" : " plus " + std::to_string(address)) +
             "; did its allocation succeed, and was it handed to the kernel?";
    case State::Live: break;
    case State::Unmapped: return where + ", where nothing is mapped that kernels may access (cuMemMap, cuMemSetAccess)";
    case State::Freed: return where + ", which has been freed";
    case State::Foreign:
      return base::hex(address) +
             ", which is not device memory; the host's own has to be copied to the device, or registered";
    case State::Free: return base::hex(address) + ", where nothing is allocated";
  }
  return where;
}

std::string sentence(const FaultText& fault, const std::vector<Detail>& details,
                     const std::optional<PhaseState>& phase) {
  return filled(fault.sentence, [&](std::string_view parameter) {
    return parameter == "phase" ? needs(*phase) + history(*phase) : value(parameter, details);
  });
}

std::string word_of(const FaultText& fault) {
  std::string word = fault.name;
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

const char* word_of(Wait wait) { return kWaits[static_cast<size_t>(wait)].word; }

std::string wait(const Waiting& waiting) {
  std::string text = filled(kWaits[static_cast<size_t>(waiting.wait)].sentence,
                            [&](std::string_view parameter) { return value(parameter, waiting.details); });
  if (!waiting.phase) return text;
  const PhaseState& state = *waiting.phase;
  const int64_t parity = waiting.details[1].number;
  text += ": " + needs(state);
  // The wait names the parity of the current phase. An earlier phase may have had the same parity, so the waiter may
  // be late.
  if ((state.phase & 1) == (parity & 1) && state.phase > parity + 1) {
    text += "; phases 0 to " + std::to_string(state.phase - 1) +
            " have completed, so a waiter for an earlier one has been lapped";
  }
  text += history(state);
  return text + (state.before.empty() ? "" : "; in the previous phase: " + list(state.before));
}

}  // namespace sim::report
