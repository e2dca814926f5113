// Findings as sentences.
#pragma once

#include <string>
#include <vector>

#include "machine/finding.h"

namespace sim::report {

/// A finding as it is printed: one or more lines, the first with the prefix "sim: ".
std::string text(const Finding& finding);
/// Several findings, of one or more launches.
std::string text(const std::vector<Finding>& findings);
/// The same in one line, for a trace.
std::string sentence(const Finding& finding);
/// What is missing.
std::string missing(const Finding& finding);

/// "st.shared.v4.b32 (PTX line 77, ptx/copy.cuh:3, called at level05/kernel.cuh:201)"
std::string describe(const Location& at);
/// "ptx/copy.cuh:3, called at level05/kernel.cuh:201"; empty without line information.
std::string places(const std::vector<SourceLine>& frames);
/// The line of the kernel's body: "kernel.cuh:201".
std::string line(const Location& at);

/// The word for a kind, in records.
const char* word_of(Finding::Kind kind);
/// What is missing, in records.
const char* word_of(MissingLink::What what);
/// The instruction that would do; empty: there are several.
std::string instruction_of(const MissingLink& missing);

}  // namespace sim::report
