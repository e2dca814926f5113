#include "report/text.h"

#include "common/base/text.h"
#include "machine/missing.h"
#include "machine/violation.h"
#include "machine/warp.h"

namespace sim::report {
namespace {

using base::grouped;

std::string title(const Finding& finding) {
  if (finding.is_tolerated) return "habit " + finding.rule;
  return "error (" + finding.rule + ")" + (finding.is_strict ? ", strict" : "");
}

std::string predicate(const Finding& finding) {
  return std::string(finding.second.at.instruction.empty() ? "It " : "The second ") + what(finding) +
         (finding.where.empty() ? "" : ", at " + finding.where) + ".";
}

std::string by(const Side& side) { return side.noun.empty() ? side.who : side.noun + " by " + side.who; }

std::string of_check(const Finding& finding) {
  if (finding.missing.what == MissingLink::What::WaitForWork) {
    return "sim: check: " + title(finding) + ": " + finding.second.at.instruction + " " + what(finding) +
           ", and nothing waits for it: " + describe(finding.first.at) + ", " + finding.first.who + "\n";
  }
  std::string text = "sim: check: " + title(finding) + " in kernel " + finding.kernel + "\n";
  for (const Side* side : {&finding.first, &finding.second}) {
    if (!side->at.instruction.empty()) text += "  " + describe(side->at) + "\n    " + by(*side) + "\n";
  }
  text += "  " + predicate(finding) + "\n  Missing: " + missing(finding) + ".\n";
  if (finding.count > 1) {
    text += "  " + grouped(finding.count) + " times";
    if (finding.bytes > 0) text += ", " + grouped(finding.bytes) + " bytes";
    text += " in all.\n";
  }
  if (finding.followers > 0) {
    text += "  " + std::string(finding.followers == 1 ? "One error" : grouped(finding.followers) + " errors") +
            " below may follow from this one.\n";
  }
  return text;
}

/// Where a warp or an asynchronous operation has failed.
std::string place_of(const Finding& finding) {
  if (finding.first.at.instruction.empty()) return "";
  std::string text = finding.is_asynchronous ? "  in an asynchronous operation that was issued at " : "  at ";
  text += describe(finding.first.at) + "\n  by " + finding.first.who + "\n";
  for (size_t i = 0; i < finding.calls.size(); ++i) {
    if (finding.calls_left_out > 0 && i + 1 == finding.calls.size())
      text += "    ... and " + grouped(finding.calls_left_out) + " more calls\n";
    text += "  in " + finding.calls[i].function + ", called at " + describe(finding.calls[i].at) + "\n";
  }
  return text;
}

constexpr const char* kLimit =
    "  On a GPU, a kernel of another stream or the host may end a wait. Not here: launches of other streams "
    "begin, and the host continues, only after this launch.\n";

std::string hang_sentence(const Finding& finding) {
  const std::string patience = " If the kernel would end eventually, scripts/sim.sh --patience N raises the limit.\n";
  switch (finding.hang) {
    case Finding::Hang::NothingCanRun: break;
    case Finding::Hang::Repeats:
      return "A warp repeats the same instructions with the same registers, and no other warp can run.\n";
    case Finding::Hang::Idles:
      return "A warp has executed " + grouped(finding.instructions) +
             " instructions, or the equivalent, without a new effect that others can observe: at most it wrote where "
             "it had written before." +
             patience;
    case Finding::Hang::Meets:
      return "For " + grouped(finding.instructions) +
             " instructions, or the equivalent, all warps have met at barriers without any other effect: no memory "
             "has changed, no copy or tensor operation has begun, nothing was printed." +
             patience;
  }
  return "";
}

/// The plural of a sentence: "waits for registers of its warp" becomes "wait for registers of their warp".
std::string of_several(std::string what) {
  what.erase(what.find(' ') - 1, 1);
  const size_t its = what.find(" its ");
  return its == std::string::npos ? what : what.replace(its, 5, " their ");
}

std::string waits_of(const CtaState& cta) {
  std::string text = "  " + cta.name + (cta.exited ? ": exited\n" : ":\n");
  for (const Waiting& each : cta.waits) {
    text += (each.is_several ? "    warps " : "    warp ") + each.warps + " " +
            (each.is_several ? of_several(wait(each)) : wait(each)) + "\n      at " + describe(each.side.at) + "\n";
  }
  if (cta.exited_warps > 0 && !cta.exited)
    text +=
        "    " + std::to_string(cta.exited_warps) + (cta.exited_warps == 1 ? " warp has" : " warps have") + " exited\n";
  return text;
}

std::string of_hang(const Finding& finding) {
  if (finding.hang != Finding::Hang::NothingCanRun) {
    return "sim: kernel " + finding.kernel + " spins for ever\n  " + hang_sentence(finding) + place_of(finding) +
           (finding.hang == Finding::Hang::Repeats ? "" : kLimit);
  }
  std::string text =
      "sim: deadlock in kernel " + finding.kernel + ": no warp of this cluster can go on, and nothing is in flight\n";
  bool polls = false;
  for (const CtaState& cta : finding.ctas) {
    text += waits_of(cta);
    for (const Waiting& each : cta.waits) polls |= each.wait == Wait::Poll;
  }
  return text + (polls ? kLimit : "");
}

}  // namespace

std::string what(const Finding& finding) {
  if (finding.violation != Violation::None) return violation(finding);
  if (finding.fault == nullptr) return finding.what;
  std::string text = sentence(*finding.fault, finding.details, finding.phase);
  if (finding.fault->is_unknown)
    text = "the simulated device does not know the instruction '" + finding.first.at.instruction + "': " + text;
  if (finding.rule.empty()) return text;
  return text + " (habit " + finding.rule +
         (finding.is_tolerated ? ")" : ", which hardware lets pass; so does --tolerate " + finding.rule + ")");
}

std::string text(const Finding& finding) {
  const std::string launch = finding.launched_at ? "  launched at " + places({*finding.launched_at}) + "\n" : "";
  if (finding.is_of_check()) return of_check(finding) + launch;
  switch (finding.kind) {
    case Finding::Kind::Deadlock: return of_hang(finding) + launch;
    case Finding::Kind::Refused: {
      const std::string place = place_of(finding);
      return "sim: " + what(finding) + (place.empty() ? "" : "\n" + place + launch);
    }
    default: break;
  }
  return std::string("sim: ") + (finding.is_tolerated ? "warning" : "error") + " in kernel " + finding.kernel + "\n  " +
         what(finding) + "\n" + place_of(finding) + launch;
}

std::string text(const std::vector<Finding>& findings) {
  std::string all;
  for (const Finding& finding : findings) {
    const bool is_warning = finding.is_tolerated && !finding.is_of_check();
    all += (is_warning && !all.empty() ? "\n" : "") + text(finding);
  }
  return all;
}

std::string sentence(const Finding& finding) {
  if (finding.is_of_check()) return title(finding) + ": " + predicate(finding) + " Missing: " + missing(finding) + ".";
  if (finding.kind == Finding::Kind::Deadlock) return "deadlock: no warp can go on, and nothing is in flight";
  return (finding.is_tolerated ? "warning: " : "") + what(finding);
}

std::string describe(const Location& at) {
  if (at.ptx_line == 0) return at.instruction;
  const std::string source = places(at.frames);
  return at.instruction + " (PTX line " + std::to_string(at.ptx_line) + (source.empty() ? "" : ", " + source) + ")";
}

std::string places(const std::vector<SourceLine>& frames) {
  std::string text;
  for (const SourceLine& frame : frames)
    text += (text.empty() ? "" : ", called at ") + frame.file + ":" + std::to_string(frame.line);
  return text;
}

const char* word_of(Finding::Kind kind) {
  constexpr const char* kWords[] = {"race", "convergence", "deadlock", "fault", "refused", "wrong", "habit", "right"};
  return kWords[static_cast<size_t>(kind)];
}

}  // namespace sim::report
