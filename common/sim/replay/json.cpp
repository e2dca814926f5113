// A replay's outcome as JSON for a web page: the reports, split into their parts.
#include <algorithm>
#include <charconv>
#include <limits>

#include "common/base/json.h"
#include "common/base/text.h"
#include "replay/replay.h"

namespace sim::recording {
namespace {

using base::JsonWriter;

/// "mbarrier.try_wait... (PTX line 3, mbarrier.cuh:5, called at kernel_sm90.cuh:7)", parsed.
struct InstructionName {
  std::string text;
  uint64_t ptx_line = 0;
  std::vector<std::pair<std::string, uint64_t>> places;  ///< file and line, the innermost first
};

uint64_t number_in(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

InstructionName read_instruction(std::string_view text) {
  constexpr std::string_view kPtx = " (PTX line ", kCalled = "called at ";
  const std::size_t open = text.find(kPtx), close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return {std::string(text), 0, {}};
  InstructionName found{std::string(text.substr(0, open)), number_in(text.substr(open + kPtx.size())), {}};
  std::string_view rest = text.substr(open, close - open);
  for (std::size_t comma; (comma = rest.find(", ")) != rest.npos;) {
    rest.remove_prefix(comma + 2);
    std::string_view place = rest.substr(0, rest.find(", "));
    if (place.starts_with(kCalled)) place.remove_prefix(kCalled.size());
    const std::size_t colon = place.rfind(':');
    if (colon == place.npos) continue;
    found.places.emplace_back(place.substr(0, colon), number_in(place.substr(colon + 1)));
  }
  return found;
}

void write(JsonWriter& json, const InstructionName& instruction) {
  json.member("instruction", instruction.text);
  json.member("ptx_line", instruction.ptx_line);
  json.array("places", [&] {
    for (const auto& place : instruction.places) {
      json.object([&] {
        json.member("file", place.first);
        json.member("line", place.second);
      });
    }
  });
}

std::string_view trimmed(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

/// Every instruction that a failure's report names, with the line before it, which says what executes it.
void write_waits(JsonWriter& json, std::string_view text) {
  json.array("waits", [&] {
    for (std::string_view before; !text.empty();) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.find("(PTX line ") != line.npos) {
        if (line.starts_with("at ")) line.remove_prefix(3);
        json.object([&] {
          write(json, read_instruction(line));
          json.member("who", before);
        });
      }
      before = line;
    }
  });
}

const char* kind_of(const Report& report, Status status) {
  switch (report.kind) {
    case Report::Kind::Failure: return status == Status::LaunchTimeout ? "deadlock" : "fault";
    case Report::Kind::Warning: return "warning";
    case Report::Kind::Operation: return "error";
    case Report::Kind::Finding: break;
  }
  switch (report.finding.grade) {
    case order::Grade::Error: return "error";
    case order::Grade::Strict: return "strict";
    case order::Grade::Habit: return "habit";
  }
  return "";
}

void write(JsonWriter& json, const Report& report, Status status) {
  const order::Finding& finding = report.finding;
  json.object([&] {
    json.member("kind", kind_of(report, status));
    const bool is_finding = report.kind == Report::Kind::Finding;
    json.member("rule", !is_finding                            ? std::string_view()
                        : finding.grade == order::Grade::Habit ? text_of(finding.habit).name
                                                               : text_of(finding.rule).name);
    json.member("kernel", report.kernel);
    json.array("sides", [&] {
      for (const order::Side* side : {&finding.first, &finding.second}) {
        if (!is_finding || side->instruction.empty()) continue;
        json.object([&] {
          write(json, read_instruction(side->instruction));
          json.member("by", side->who);
        });
      }
    });
    json.member("what", finding.what);
    json.member("where", finding.where);
    json.member("missing", finding.missing);
    json.member("count", finding.count);
    json.member("bytes", finding.bytes);
    write_waits(json, is_finding ? "" : report.text);
    json.member("text", report.text);
  });
}

}  // namespace

std::string to_json(const Replayed& replayed) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    const std::optional<bool> right = replayed.is_right();
    if (right)
      json.member("right", *right);
    else
      json.member("right", std::numeric_limits<double>::quiet_NaN());  // null
    json.member("status", static_cast<int>(replayed.status));
    std::string digests;
    json.array("results", [&] {
      for (const Compared& each : replayed.results) {
        json.object([&] {
          json.member("name", each.name);
          json.member("rows", each.rows);
          json.member("columns", each.columns);
          json.member("tile_rows", each.tile_rows);
          json.member("tile_columns", each.tile_columns);
          json.member("right", each.is_right());
          const std::size_t across = (each.columns + each.tile_columns - 1) / each.tile_columns;
          json.array("wrong", [&] {
            for (std::size_t first = 0; !each.is_right() && first < each.wrong.size(); first += across) {
              json.array([&] {
                for (std::size_t i = first; i < std::min(first + across, each.wrong.size()); ++i)
                  json.value(int{each.wrong[i]});
              });
            }
          });
        });
        if (each.digest != 0) digests = base::format("%016llx", static_cast<unsigned long long>(each.digest));
      }
    });
    json.member("digest", digests);
    json.array("reports", [&] {
      for (const Report& report : replayed.reports) write(json, report, replayed.status);
    });
  });
  return text;
}

}  // namespace sim::recording
