// Findings as sentences.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fault.h"
#include "machine/global_memory.h"

namespace sim::report {

/// A finding as it is printed: one or more lines, the first with the prefix "sim: ".
std::string text(const Finding& finding);
/// Several findings, of one or more launches.
std::string text(const std::vector<Finding>& findings);
/// The same in one line, for a trace.
std::string sentence(const Finding& finding);
/// What has happened: the predicate of a sentence, or the sentence of a fault.
std::string what(const Finding& finding);
/// A fault, without its place. Parameters: {0} is the first detail, {0:x} in hexadecimal, {0:g} in groups of three
/// digits, {0:,} with a comma after it if it has one inside; {phase}, what the phase of an mbarrier needs.
std::string sentence(const FaultText& fault, const std::vector<Detail>& details,
                     const std::optional<PhaseState>& phase = {});
/// "waits for the mbarrier at ..."
std::string wait(const Waiting& waiting);
/// The sentence with the values of its parameters, each in braces.
std::string filled(std::string_view sentence, const std::function<std::string(std::string_view)>& value_of);
/// The value of a parameter: "0", "1:x".
std::string value(std::string_view parameter, const std::vector<Detail>& details);
/// The predicate of a sentence.
std::string violation(const Finding& finding);
/// What is missing.
std::string missing(const Finding& finding);
/// "13 bytes past the end of cudaMalloc #3 (1,024 bytes at 0x200000000000)"
std::string place(const GlobalMemory::Place& place);

/// "st.shared.v4.b32 (PTX line 77, ptx/copy.cuh:3, called at level05/kernel.cuh:201)"
std::string describe(const Location& at);
/// "ptx/copy.cuh:3, called at level05/kernel.cuh:201"; empty without line information.
std::string places(const std::vector<SourceLine>& frames);
/// The line of the kernel's body: "kernel.cuh:201".
std::string line(const Location& at);

/// The word for a kind, in records.
const char* word_of(Finding::Kind kind);
/// A fault, in records: "no mbarrier".
std::string word_of(const FaultText& fault);
const char* word_of(Violation violation);
/// What is waited for, in records: "mbarrier".
const char* word_of(Wait wait);
/// What is missing, in records.
const char* word_of(MissingLink::What what);
/// The instruction that would do; empty: there are several.
std::string instruction_of(const MissingLink& missing);

}  // namespace sim::report
