#include "report/records.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/base/file.h"
#include "report/text.h"

namespace sim::report {
namespace {

using base::JsonWriter;

void write_members(JsonWriter& json, const SourceLine& frame) {
  json.member("file", frame.file);
  json.member("line", frame.line);
}

void write_place(JsonWriter& json, const Location& at) {
  json.member("instruction", at.instruction);
  json.member("ptx_line", at.ptx_line);
  json.array("frames", [&] {
    for (const SourceLine& frame : at.frames) json.object([&] { write_members(json, frame); });
  });
  json.member("body", at.body);
}

/// "mbarrier.try_wait" of an instruction with all its qualifiers: what precedes types, scopes and spaces.
std::string_view mnemonic_of(std::string_view instruction) {
  constexpr std::string_view kQualifiers[] = {"parity",  "shared",    "sync", "aligned", "global", "release",
                                              "acquire", "cta_group", "1d",   "2d",      "3d",     "4d",
                                              "5d",      "b4",        "b6",   "b8"};
  const std::size_t end = std::min(instruction.find("::"), instruction.size());
  for (std::size_t dot = instruction.find('.'); dot < end; dot = instruction.find('.', dot + 1)) {
    const std::string_view part = instruction.substr(dot + 1, instruction.find_first_of(".: ", dot + 1) - dot - 1);
    if (std::find(std::begin(kQualifiers), std::end(kQualifiers), part) != std::end(kQualifiers))
      return instruction.substr(0, dot);
  }
  return instruction.substr(0, end);
}

void write_members(JsonWriter& json, const Side& side) {
  json.member("noun", side.noun.empty() ? mnemonic_of(side.at.instruction) : std::string_view(side.noun));
  write_place(json, side.at);
  json.member("who", side.who);
}
void write(JsonWriter& json, const Side& side) {
  json.object([&] { write_members(json, side); });
}

void write(JsonWriter& json, const MissingLink& missing, const std::string& sentence) {
  json.member("what", word_of(missing.what));
  json.member("instruction", instruction_of(missing));
  json.member("sentence", sentence);
  const std::pair<const char*, const std::optional<Location>*> places[] = {
      {"from", &missing.from}, {"to", &missing.to}, {"also", &missing.also}};
  for (const auto& [name, at] : places) {
    if (*at)
      json.object(name, [&, &at = at] { write_members(json, {.at = **at}); });
    else
      json.member(name, nullptr);
  }
  json.array("names", [&] {
    for (const std::string& name : missing.names) json.value(name);
  });
}

void write(JsonWriter& json, const CtaState& cta, const Waiting& waiting) {
  json.object([&] {
    write_members(json, {waiting.side.noun, cta.name + (waiting.is_several ? ", warps " : ", warp ") + waiting.warps,
                         waiting.side.at});
    json.member("wait", word_of(waiting.wait));
    json.member("what", wait(waiting));
    json.member("barrier", waiting.phase ? waiting.details[0].name : "");
    json.array("arrivals", [&] {
      if (!waiting.phase) return;
      for (const Contribution& each : waiting.phase->now) {
        const std::string warp = each.warp < 0 ? "" : ", warp " + std::to_string(each.warp);
        write(json, Side{.who = "rank " + std::to_string(each.rank) + warp, .at = each.at});
      }
    });
  });
}

}  // namespace

void write(JsonWriter& json, const Finding& finding) {
  json.member("kind", word_of(finding.kind));
  json.member("rule", finding.rule);
  json.member("strict", finding.is_strict);
  json.member("tolerated", finding.is_tolerated);
  json.member("kernel", finding.kernel);
  json.member("launch", finding.launch);
  json.member("stream", finding.stream);
  if (finding.launched_at)
    json.object("launched_at", [&] { write_members(json, *finding.launched_at); });
  else
    json.member("launched_at", nullptr);
  json.array("sides", [&] {
    for (const Side* side : {&finding.first, &finding.second}) {
      if (!side->at.instruction.empty()) write(json, *side);
    }
  });
  json.member("fault", finding.fault == nullptr ? "" : word_of(*finding.fault));
  json.member("violation", word_of(finding.violation));
  json.array("details", [&] {
    for (const Detail& each : finding.details) {
      if (each.is_number)
        json.value(each.number);
      else
        json.value(each.name);
    }
  });
  json.member("what", what(finding));
  json.member("memory", finding.where);
  json.object("missing", [&] { write(json, finding.missing, missing(finding)); });
  json.array("waits", [&] {
    for (const CtaState& cta : finding.ctas) {
      for (const Waiting& each : cta.waits) write(json, cta, each);
    }
  });
  json.member("count", std::max<uint64_t>(finding.count, 1));
  json.member("bytes", finding.bytes);
  json.member("followers", finding.followers);
  json.member("text", text(finding));
}

void Tally::add(const Finding& finding) {
  ++(finding.is_tolerated ? warnings_ : errors_);
  if (finding.is_of_check() && !finding.is_tolerated) ++check_errors_;
  const bool is_a_probe = finding.kind == Finding::Kind::Refused && finding.is_tolerated;
  if (!is_a_probe) worst_ = std::min(worst_, finding.kind);
}

namespace {

int open_to_append(const std::string& file) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (opened < 0) throw base::FileError(std::strerror(errno));
  return opened;
}

void write_all(int file, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t written = ::write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Records::Records(const std::string& file, std::string schedule, const std::string& known)
    : schedule_(std::move(schedule)) {
  if (!file.empty()) file_ = file == "-" ? dup(STDOUT_FILENO) : open_to_append(file);
  if (known.empty()) return;
  const std::string texts = base::read_file(known);
  for (std::size_t at = 0, end; (end = texts.find('\0', at)) != texts.npos; at = end + 1)
    known_.insert(texts.substr(at, end - at));
  known_file_ = open_to_append(known);
}

std::string Records::key(Finding finding) const {
  finding.launched_at.reset();
  return test() + '\n' + text(finding);
}

std::string Records::test() {
  const char* const name = std::getenv("LADDER_SIM_TEST");
  return name == nullptr ? "" : name;
}

bool Records::add(const Finding& finding) {
  std::string said = key(finding);
  if (!written_.insert(said).second) return false;
  tally_.add(finding);
  if (known_.contains(said)) return false;
  if (known_file_ >= 0) write_all(known_file_, said += '\0');
  if (file_ < 0) return true;
  std::string line;
  JsonWriter json(line);
  json.object([&] {
    json.member("record", "finding");
    json.member("schedule", schedule_);
    if (const std::string name = test(); !name.empty()) json.member("test", name);
    write(json, finding);
  });
  write_line(std::move(line));
  return true;
}

void Records::end(Finding::Kind kind, int exit_code, const Suppressions* suppressions) {
  if (file_ < 0) return;
  std::string line;
  JsonWriter json(line);
  json.object([&] {
    json.member("record", "end");
    json.member("schedule", schedule_);
    json.member("kind", word_of(std::min(kind, tally_.worst())));
    json.member("errors", tally_.errors());
    json.member("warnings", tally_.warnings());
    json.member("suppressed", suppressions == nullptr ? 0 : suppressions->taken());
    json.member("exit_code", exit_code);
  });
  write_line(std::move(line));
}

void Records::write_line(std::string line) const {
  std::fflush(stdout);  // what the program has printed comes first
  write_all(file_, line += '\n');
}

}  // namespace sim::report
