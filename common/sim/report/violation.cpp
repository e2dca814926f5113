// What violates a rule of order: the name of each in records, and the predicate of its sentence.
#include "machine/violation.h"

#include <iterator>

#include "machine/missing.h"
#include "report/text.h"

namespace sim::report {
namespace {

struct ViolationText {
  const char* word;      ///< in records
  const char* sentence;  ///< {first}: the other instruction; {0}: a detail
};

constexpr ViolationText kViolations[] = {
    {"", ""},
    {"reads written", "reads what {first} wrote"},
    {"overwrites written", "overwrites what {first} wrote"},
    {"overwrites read", "overwrites what {first} reads"},
    {"reads through cache", "reads what the first wrote in the same launch, through a cache that is not coherent"},
    {"reads of other cluster", "reads what the first writes"},
    {"writes written by other cluster", "writes what the first writes"},
    {"writes read by other cluster", "writes what the first reads"},
    {"lanes write different values", "writes different values from several lanes to one address"},
    {"uses uninitialised", "uses an mbarrier without knowing that it has been initialised"},
    {"uses unfenced", "uses an mbarrier, from another CTA or asynchronously, whose initialisation was not fenced"},
    {"initialises again", "initialises an mbarrier that the first has initialised and that is still valid"},
    {"waits for unknown phase", "waits for phase {0} without knowing that the phase before it is complete"},
    {"arrives in unknown phase", "arrives in phase {0} without knowing that the phase before it is complete"},
    {"arrives at unknown barrier", "arrives at barrier {0} without knowing that its last phase is complete"},
    {"may miss initial phase",
     "finds the newly initialised barrier free, and nothing ensures that the wait ends before the next phase "
     "completes"},
    {"may miss phase", "waits for phase {0}, and nothing ensures that the wait ends before the next phase completes"},
    {"invalidates under wait", "ends the lifetime of an mbarrier that the first may still be waiting for"},
    {"invalidates under signal", "ends the lifetime of an mbarrier to which the first may have still to report"},
    {"reads unwritten", "reads tensor memory into which nothing has been written since the first has allocated it"},
    {"deallocates before allocation",
     "deallocates tensor memory of the pair, and the peer's allocation may not be complete"},
    {"uses unacquired map", "uses a tensor map in global memory that this launch has not acquired"},
    {"uses changed map", "uses the tensor map that the first changes"},
    {"first unfenced wgmma", "is the warp's first wgmma, and no wgmma.fence has come before it"},
    {"uses accessed registers", "uses registers that the first has accessed"},
    {"overwrites registers of A", "overwrites registers of A that the first may still read"},
    {"sets other registers", "sets {0} registers, but warp {1} of its warpgroup sets {2} at {3}"},
    {"sets registers alone", "sets {0} registers, but warp {1} of its warpgroup does not"},
    {"excludes first", "does not include the first, of another lane; elect.sync has elected the {0} of the two lanes"},
    {"lanes may have parted", "is executed by lanes that may have taken different paths"},
    {"accesses unstarted", "accesses shared memory of {0}, which may not have started"},
    {"allocates with unstarted", "allocates tensor memory together with {0}, which may not have started"},
    {"signals at exit", "may still be in flight to the mbarrier when the CTA that holds it exits"},
    {"accesses at exit", "may still use the CTA's shared memory when the CTA exits"},
};
static_assert(std::size(kViolations) == static_cast<size_t>(Violation::kCount));

const char* text_of(Finding::Circumstance circumstance) {
  switch (circumstance) {
    case Finding::Circumstance::None: break;
    case Finding::Circumstance::ExecutedBefore: return ", and was executed before it";
    case Finding::Circumstance::OtherLane: return ", by another lane of the same instruction";
    case Finding::Circumstance::EitherOrder:
      return " in this execution; nothing establishes which of them is to come first";
  }
  return "";
}

}  // namespace

const char* word_of(Violation violation) { return kViolations[static_cast<size_t>(violation)].word; }

std::string violation(const Finding& finding) {
  const std::string text =
      filled(kViolations[static_cast<size_t>(finding.violation)].sentence, [&](std::string_view parameter) {
        if (parameter == "first")
          return std::string(finding.missing.what == MissingLink::What::WaitForWork ? "this" : "the first");
        return value(parameter, finding.details);
      });
  return text + text_of(finding.circumstance);
}

}  // namespace sim::report
